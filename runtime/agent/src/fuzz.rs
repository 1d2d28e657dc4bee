//! Inputs that nobody would write, for whatever reads what strangers write: made from honest ones by breaking them.
//!
//! For tests. A [`Fuzz`] hands them to a check one after another: a panic is told with the input that it came of and the
//! seed that makes it again, and so is an input that takes too long or too much memory, which [`Scales`] weigh; one that
//! takes for ever ends the process. Each is tried in two ways: [`Fuzz::quick`] always makes the same ones, and few;
//! [`Fuzz::slow`] makes others each time, for a quarter of a minute, unless `PROPTEST_RNG_SEED` says where to begin, as it
//! does for properties.

mod scales;

use std::hint::black_box;
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

pub use self::scales::Scales;

/// Inputs of the quick tier.
const QUICK: usize = 500;
/// The time of the slow tier.
const SLOW: Duration = Duration::from_secs(15);
/// No input may take longer. It is much, since the machine may be busy with other tests.
const SLOWEST: Duration = Duration::from_secs(10);
/// Bytes of memory that an input may cost where nothing is said, and so many more for each of its own.
const HEAVIEST: usize = 1 << 20;
const FOR_EACH: usize = 256;
/// What takes that long takes for ever.
const ENDLESS: Duration = Duration::from_secs(120);

/// A maker of inputs.
#[derive(Debug, Clone)]
pub struct Fuzz {
    honest: Vec<Vec<u8>>,
    words: Vec<Vec<u8>>,
    longest: usize,
    heaviest: usize,
}

impl Fuzz {
    /// From those honest inputs.
    pub fn of<T: AsRef<[u8]>>(honest: impl IntoIterator<Item = T>) -> Self {
        let honest = honest.into_iter().map(|input| input.as_ref().to_vec()).collect();
        Self { honest, words: Vec::new(), longest: 4 << 10, heaviest: HEAVIEST }
    }

    /// With those pieces put into them.
    #[must_use]
    pub fn with_words<T: AsRef<[u8]>>(mut self, words: impl IntoIterator<Item = T>) -> Self {
        self.words.extend(words.into_iter().map(|word| word.as_ref().to_vec()));
        self
    }

    /// Of at most so many bytes; 4 KiB where nothing is said.
    #[must_use]
    pub fn up_to(self, longest: usize) -> Self {
        Self { longest, ..self }
    }

    /// Each of which may cost so many bytes of memory, and 256 more for each of its own; 1 MiB where nothing is said.
    #[must_use]
    pub fn costing(self, heaviest: usize) -> Self {
        Self { heaviest, ..self }
    }

    /// The honest inputs alone, for what must hold of those.
    pub fn each(&self, check: impl Fn(&[u8])) {
        self.honest.iter().for_each(|input| check(input));
    }

    /// Tries the honest inputs and a few others, always the same.
    pub fn quick(&self, check: impl Fn(&[u8])) {
        let watch = Watch::begin(self.heaviest);
        for input in &self.honest {
            watch.attempt("an honest input", input, &check);
        }
        self.go(&watch, 1, |tried| tried < QUICK, check);
    }

    /// Tries others for a while. What fails is made again by [`Fuzz::again`] with the seed that is told.
    pub fn slow(&self, check: impl Fn(&[u8])) {
        #[expect(clippy::disallowed_methods, reason = "not a setting of the program: tests are made again with it")]
        let wanted = std::env::var("PROPTEST_RNG_SEED").ok().and_then(|seed| seed.parse().ok());
        let seed = wanted.unwrap_or_else(|| {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            since.as_secs() ^ u64::from(since.subsec_nanos()) << 32
        });
        let (watch, until) = (Watch::begin(self.heaviest), Instant::now() + SLOW);
        self.go(&watch, seed, |_| Instant::now() < until, check);
    }

    /// The inputs that begin with a seed.
    pub fn again(&self, seed: u64, check: impl Fn(&[u8])) {
        self.go(&Watch::begin(self.heaviest), seed, |tried| tried < 1, check);
    }

    fn go(&self, watch: &Watch, seed: u64, goes_on: impl Fn(usize) -> bool, check: impl Fn(&[u8])) {
        let mut tried = 0;
        while goes_on(tried) {
            let seed = seed.wrapping_add(tried as u64);
            let input = self.input(&mut Chance(seed));
            watch.attempt(&format!("seed {seed}"), &input, &check);
            tried += 1;
        }
    }

    fn input(&self, chance: &mut Chance) -> Vec<u8> {
        let mut input = chance.one_of(&self.honest).cloned().unwrap_or_default();
        for _ in 0..=chance.below(6) {
            self.break_it(&mut input, chance);
            input.truncate(self.longest);
        }
        input
    }

    fn break_it(&self, input: &mut Vec<u8>, chance: &mut Chance) {
        let at = chance.below(input.len() + 1);
        let to = at + chance.below((input.len() - at).min(64) + 1);
        match chance.below(12) {
            0 => input.truncate(at),
            1 => drop(input.drain(at..to)),
            2 => input.insert(at, chance.byte()),
            3 => {
                if let Some(byte) = input.get_mut(at) {
                    *byte ^= 1 << chance.below(8);
                }
            }
            4 => {
                if let Some(byte) = input.get_mut(at) {
                    *byte = chance.byte();
                }
            }
            // The same once more, or very often.
            5 => {
                let piece = input.get(at..to).unwrap_or_default().to_vec();
                splice(input, at, &piece);
            }
            6 => {
                let piece = input.get(at..to).unwrap_or_default().to_vec();
                let times = chance.below(self.longest / piece.len().max(1) + 1);
                splice(input, at, &piece.repeat(times));
            }
            // What stands in another one.
            7 => {
                let other = chance.one_of(&self.honest).cloned().unwrap_or_default();
                let from = chance.below(other.len() + 1);
                splice(input, at, other.get(from..).unwrap_or_default());
            }
            8 => {
                let number = *chance.one_of(&NUMBERS).unwrap_or(&"0");
                splice(input, at, number.as_bytes());
            }
            _ => {
                let word = chance.one_of(&self.words).cloned().unwrap_or_else(|| vec![chance.byte()]);
                if chance.below(2) == 0 {
                    input.drain(at..to);
                }
                splice(input, at, &word);
            }
        }
    }
}

const NUMBERS: [&str; 9] = [
    "0",
    "-1",
    "65536",
    "4294967296",
    "18446744073709551615",
    "99999999999999999999999",
    "1e999",
    "-0.0",
    "0x7fffffff",
];

fn splice(input: &mut Vec<u8>, at: usize, piece: &[u8]) {
    input.splice(at..at, piece.iter().copied());
}

/// Numbers that look as if they came by chance.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`; 0 where there is none.
    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % (end.max(1) as u64)).unwrap_or(0)
    }

    fn byte(&mut self) -> u8 {
        self.next().to_le_bytes()[0]
    }

    fn one_of<'a, T>(&mut self, several: &'a [T]) -> Option<&'a T> {
        several.get(self.below(several.len()))
    }
}

/// Ends the process when an input takes for ever.
struct Watch {
    told: Sender<Option<String>>,
    heaviest: usize,
}

impl Watch {
    fn begin(heaviest: usize) -> Self {
        let ((), weighed) = Scales::weigh(|| drop(black_box(vec![1_u8; 4096])));
        assert!(weighed >= 4096, "this binary of tests weighs nothing: it needs `Scales` as its global allocator");
        let (told, tells) = channel();
        std::thread::spawn(move || watch(&tells));
        Self { told, heaviest }
    }

    fn attempt(&self, what: &str, input: &[u8], check: &impl Fn(&[u8])) {
        let shown = || input.iter().take(2000).flat_map(|byte| byte.escape_ascii()).map(char::from).collect::<String>();
        // Nobody listens any more only when the process ends.
        let _ = self.told.send(Some(format!("{what}: {}", shown())));
        let began = Instant::now();
        let (done, weighed) = Scales::weigh(|| catch_unwind(AssertUnwindSafe(|| check(input))));
        let took = began.elapsed();
        let _ = self.told.send(None);
        if let Err(panic) = done {
            let told = panic.downcast_ref::<String>().map(String::as_str);
            let told = told.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic");
            panic!("{told}\n{what}, {} bytes: {}", input.len(), shown());
        }
        assert!(took < SLOWEST, "it took {took:?}\n{what}, {} bytes: {}", input.len(), shown());
        let most = self.heaviest + FOR_EACH * input.len();
        assert!(weighed <= most, "it held {weighed} bytes\n{what}, {} bytes: {}", input.len(), shown());
    }
}

fn watch(tells: &Receiver<Option<String>>) {
    let mut tried = None;
    loop {
        match tells.recv_timeout(ENDLESS) {
            Ok(next) => tried = next,
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {
                if let Some(input) = &tried {
                    let _ = writeln!(std::io::stderr(), "an input takes for ever: {input}");
                    std::process::abort();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn a_seed_makes_the_same_again() {
        let fuzz = Fuzz::of(["honest", "another"]).with_words(["word"]).up_to(100);
        let seen = RefCell::new(Vec::new());
        fuzz.again(7, |input| seen.borrow_mut().push(input.to_vec()));
        fuzz.again(7, |input| seen.borrow_mut().push(input.to_vec()));
        fuzz.again(8, |input| seen.borrow_mut().push(input.to_vec()));
        let seen = seen.into_inner();
        assert!(seen[0] == seen[1] && seen[1] != seen[2] && seen.iter().all(|input| input.len() <= 100), "{seen:?}");
    }

    #[test]
    fn what_an_input_costs_is_weighed() {
        let heavy = |input: &[u8]| drop(black_box(vec![1_u8; if input == b"honest" { 100 } else { 100_000_000 }]));
        let broken = catch_unwind(|| Fuzz::of(["honest"]).quick(heavy));
        let told = broken.unwrap_err().downcast_ref::<String>().unwrap().clone();
        assert!(told.starts_with("it held 100000") && told.contains("\nseed "), "{told}");
    }

    #[test]
    fn a_panic_is_told_with_its_input() {
        let broken = catch_unwind(|| Fuzz::of(["honest"]).quick(|input| assert!(input == b"honest", "it broke")));
        let told = broken.unwrap_err().downcast_ref::<String>().unwrap().clone();
        assert!(told.starts_with("it broke\nseed ") && told.contains(" bytes: "), "{told}");
    }
}
