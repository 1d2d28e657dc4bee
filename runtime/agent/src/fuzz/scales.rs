//! Weighs what work holds of memory: an allocator that counts for each thread what it has and has not given back.
#![expect(
    unsafe_code,
    reason = "an allocator is made of nothing else; all that is asked of it is asked of the system's"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, which counts. A binary of tests that weighs what inputs cost has it as its own:
/// `#[global_allocator] static SCALES: Scales = Scales;`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Scales;

/// What one thread holds.
#[derive(Debug, Clone, Copy)]
struct Held {
    /// Bytes now. Fewer than none where it gave back what another thread took.
    now: isize,
    /// The most bytes since it was last set.
    most: isize,
}

thread_local! {
    static HELD: Cell<Held> = const { Cell::new(Held { now: 0, most: 0 }) };
}

impl Scales {
    /// The most bytes that `work` has held at once on this thread, beside those that the thread held before. What it
    /// leaves behind is in it; what it has other threads do is not.
    pub fn weigh<T>(work: impl FnOnce() -> T) -> (T, usize) {
        let before = HELD.get();
        HELD.set(Held { most: before.now, ..before });
        let done = work();
        let after = HELD.get();
        HELD.set(Held { most: after.most.max(before.most), ..after });
        (done, usize::try_from(after.most - before.now).unwrap_or(0))
    }
}

/// Notes so many bytes more, or fewer. A thread that ends has nothing to note it in any more.
fn note(more: usize, fewer: usize) {
    let change = isize::try_from(more).unwrap_or(isize::MAX) - isize::try_from(fewer).unwrap_or(isize::MAX);
    let _ = HELD.try_with(|held| {
        let Held { now, most } = held.get();
        let now = now.saturating_add(change);
        held.set(Held { now, most: most.max(now) });
    });
}

// SAFETY: the system's allocator does all of it, with what came; counting allocates nothing.
unsafe impl GlobalAlloc for Scales {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size(), 0);
        // SAFETY: what holds for this holds for that.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size(), 0);
        // SAFETY: what holds for this holds for that.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        note(0, layout.size());
        // SAFETY: what holds for this holds for that.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Where it moves, both are there for a moment.
        note(size, 0);
        note(0, layout.size());
        // SAFETY: what holds for this holds for that.
        unsafe { System.realloc(place, layout, size) }
    }
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    use super::*;

    #[test]
    fn what_is_held_is_weighed() {
        let of = |work: &dyn Fn()| Scales::weigh(work).1;
        let one = of(&|| drop(black_box(vec![1_u8; 10_000])));
        let twice = of(&|| (0..2).for_each(|_| drop(black_box(vec![1_u8; 10_000]))));
        let both = of(&|| drop(black_box((vec![1_u8; 10_000], vec![1_u8; 10_000]))));
        assert_eq!((one, twice, both, of(&|| {})), (10_000, 10_000, 20_000, 0));
        let (inner, outer) = Scales::weigh(|| of(&|| drop(black_box(vec![1_u8; 10_000]))));
        assert_eq!((inner, outer), (10_000, 10_000), "one in the other");
        let kept = black_box(vec![1_u8; 10_000]);
        assert_eq!(Scales::weigh(move || drop(kept)).1, 0, "what is given back costs nothing");
    }
}
