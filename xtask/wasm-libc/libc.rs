//! What Rust's std for wasm32-wasip2 calls and the wasi-libc of Debian 12 (2022-05) does not have.
//!
//! As in newer versions of wasi-libc there are no threads and no permission bits. Sockets say ENOTSUP, so `std::net`
//! answers `Unsupported`. `realpath` resolves links and `..`, so `fs::canonicalize` works. `wasm-toolchain.sh` compiles
//! this together with Debian's library into one archive; its probe fails where a newer std calls for more.
#![no_std]
#![feature(thread_local)]
use core::ffi::{c_char, c_int, c_void};

type P = *mut c_void;
const EAGAIN: c_int = 6;
const EINVAL: c_int = 28;
const ELOOP: c_int = 32;
const ENAMETOOLONG: c_int = 37;
const ENOENT: c_int = 44;
const ENOSYS: c_int = 52;
const ENOTDIR: c_int = 54;
const ENOTSUP: c_int = 58;
const EAI_FAIL: c_int = -4;

unsafe extern "C" {
    #[thread_local]
    static mut errno: c_int;
    fn lstat(path: *const c_char, st: *mut Stat) -> c_int;
    fn readlink(path: *const c_char, buf: *mut c_char, len: usize) -> isize;
    fn getcwd(buf: *mut c_char, len: usize) -> *mut c_char;
    fn malloc(len: usize) -> P;
}

#[repr(C, align(16))]
struct Stat {
    dev: u64,
    ino: u64,
    nlink: u64,
    mode: u32,
    rest: [u8; 228],
}

fn fail(e: c_int) -> c_int {
    unsafe { errno = e };
    -1
}

macro_rules! stubs { ($($e:expr => $($n:ident($($t:ty),*))*;)*) => { $($(
    #[unsafe(no_mangle)]
    pub extern "C" fn $n($(_: $t),*) -> c_int { $e }
)*)* } }
stubs! {
    fail(ENOTSUP) => socket(c_int, c_int, c_int) bind(c_int, P, u32) connect(c_int, P, u32)
        listen(c_int, c_int) getsockname(c_int, P, P) getpeername(c_int, P, P)
        setsockopt(c_int, c_int, c_int, P, u32) recvfrom(c_int, P, usize, c_int, P, P)
        sendto(c_int, P, usize, c_int, P, u32);
    EAI_FAIL => getaddrinfo(P, P, P, P);
    fail(ENOSYS) => chmod(P, u32) fchmod(c_int, u32);
    EAGAIN => pthread_create(P, P, P, P);
    0 => pthread_attr_init(P) pthread_attr_destroy(P) pthread_attr_setstacksize(P, usize)
        pthread_join(P, P) pthread_detach(P);
}

#[unsafe(no_mangle)]
pub extern "C" fn freeaddrinfo(_: P) {}

#[unsafe(no_mangle)]
pub extern "C" fn gai_strerror(_: c_int) -> *const c_char {
    c"name lookup is not supported".as_ptr()
}

const MAX: usize = 4096;

/// A path under construction; always NUL-terminated when handed to C.
struct Buf {
    b: [u8; MAX],
    n: usize,
}

impl Buf {
    fn push(&mut self, s: &[u8]) -> Result<(), c_int> {
        let end = self.n + s.len();
        self.b.get_mut(self.n..end).ok_or(ENAMETOOLONG)?.copy_from_slice(s);
        self.n = end;
        *self.b.get_mut(end).ok_or(ENAMETOOLONG)? = 0;
        Ok(())
    }
    fn bytes(&self) -> &[u8] {
        self.b.get(..self.n).unwrap_or(&[])
    }
    fn pop(&mut self) {
        while self.n > 0 {
            self.n -= 1;
            if self.b.get(self.n) == Some(&b'/') {
                break;
            }
        }
        if let Some(c) = self.b.get_mut(self.n) {
            *c = 0
        }
    }
}

unsafe fn strlen(s: *const c_char) -> usize {
    let mut n = 0;
    while unsafe { *s.add(n) } != 0 {
        n += 1
    }
    n
}

unsafe fn resolve(path: *const c_char, out: &mut Buf) -> Result<(), c_int> {
    if path.is_null() {
        return Err(EINVAL);
    }
    let len = unsafe { strlen(path) };
    if len == 0 {
        return Err(ENOENT);
    }
    let mut rest = Buf { b: [0; MAX], n: 0 };
    rest.push(unsafe { core::slice::from_raw_parts(path.cast(), len) })?;
    if rest.b[0] != b'/' {
        let cwd = &mut [0u8; MAX];
        if unsafe { getcwd(cwd.as_mut_ptr().cast(), MAX) }.is_null() {
            return Err(unsafe { errno });
        }
        let n = unsafe { strlen(cwd.as_ptr().cast()) };
        if n > 1 {
            out.push(cwd.get(..n).ok_or(ENAMETOOLONG)?)?
        }
    }
    let (mut at, mut links) = (0, 0);
    while let Some(tail) = rest.bytes().get(at..).filter(|t| !t.is_empty()) {
        let l = tail.iter().position(|c| *c == b'/').unwrap_or(tail.len());
        let (name, more) = (tail.get(..l).unwrap_or(&[]), l < tail.len());
        at += l + more as usize;
        match name {
            b"" | b"." => continue,
            b".." => {
                out.pop();
                continue;
            }
            _ => {
                out.push(b"/")?;
                out.push(name)?
            }
        }
        let mut st = Stat { dev: 0, ino: 0, nlink: 0, mode: 0, rest: [0; 228] };
        if unsafe { lstat(out.b.as_ptr().cast(), &mut st) } != 0 {
            return Err(unsafe { errno });
        }
        match st.mode & 0xf000 {
            0xa000 => {
                links += 1;
                if links > 40 {
                    return Err(ELOOP);
                }
                let mut next = Buf { b: [0; MAX], n: 0 };
                let k = unsafe { readlink(out.b.as_ptr().cast(), next.b.as_mut_ptr().cast(), MAX - 1) };
                next.n = usize::try_from(k).map_err(|_| unsafe { errno })?;
                if next.n == 0 {
                    return Err(ENOENT);
                }
                if next.b[0] == b'/' {
                    out.n = 0;
                    out.b[0] = 0
                } else {
                    out.pop()
                }
                if more {
                    next.push(b"/")?;
                    next.push(rest.bytes().get(at..).unwrap_or(&[]))?;
                }
                rest = next;
                at = 0;
            }
            0x4000 => {}
            _ if more => return Err(ENOTDIR),
            _ => {}
        }
    }
    if out.n == 0 {
        out.push(b"/")?
    }
    Ok(())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn realpath(path: *const c_char, resolved: *mut c_char) -> *mut c_char {
    let mut out = Buf { b: [0; MAX], n: 0 };
    match unsafe { resolve(path, &mut out) } {
        Ok(()) => unsafe {
            let to = if resolved.is_null() { malloc(out.n + 1).cast() } else { resolved };
            if !to.is_null() {
                core::ptr::copy_nonoverlapping(out.b.as_ptr().cast(), to, out.n + 1)
            }
            to
        },
        Err(e) => {
            fail(e);
            core::ptr::null_mut()
        }
    }
}

#[link(name = "c", kind = "static")]
unsafe extern "C" {}
