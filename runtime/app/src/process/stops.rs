//! The signals that ask this process to stop: Ctrl-C, SIGTERM, and SIGHUP when its terminal is closed.
//!
//! One that whoever started us has told to be ignored stays so: `nohup` means it.

use std::io;

/// What asks this process to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// Ctrl-C.
    Interrupt,
    /// SIGTERM.
    Terminate,
    /// SIGHUP.
    HangUp,
}

impl Stop {
    /// As others know it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Interrupt => "SIGINT",
            Self::Terminate => "SIGTERM",
            Self::HangUp => "SIGHUP",
        }
    }

    /// The exit code of a program that ends because of it, as shells report it: 128 and its number.
    pub fn exit_code(self) -> u8 {
        128 + self.number()
    }

    fn number(self) -> u8 {
        match self {
            Self::Interrupt => 2,
            Self::Terminate => 15,
            Self::HangUp => 1,
        }
    }
}

/// Hears what asks this process to stop; from then on none of it ends the process by itself.
#[cfg(unix)]
pub struct Stops(Vec<(Stop, tokio::signal::unix::Signal)>);

#[cfg(unix)]
impl Stops {
    /// Begins to listen. Must be called in a tokio runtime.
    pub fn listen() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let ignored = ignored();
        let heard = [Stop::Interrupt, Stop::Terminate, Stop::HangUp]
            .into_iter()
            .filter(|stop| ignored >> (stop.number() - 1) & 1 == 0)
            .map(|stop| Ok((stop, signal(SignalKind::from_raw(stop.number().into()))?)));
        heard.collect::<io::Result<_>>().map(Self)
    }

    /// Waits for the next one.
    pub async fn next(&mut self) -> Stop {
        std::future::poll_fn(|context| {
            let heard =
                self.0.iter_mut().find_map(|(stop, signal)| signal.poll_recv(context).is_ready().then_some(*stop));
            heard.map_or(std::task::Poll::Pending, std::task::Poll::Ready)
        })
        .await
    }
}

/// The signals that are ignored, one bit each; none where that cannot be found out.
#[cfg(unix)]
#[expect(clippy::disallowed_methods, reason = "only the kernel knows how this process was started")]
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// Hears Ctrl-C.
#[cfg(not(unix))]
pub struct Stops(());

#[cfg(not(unix))]
impl Stops {
    /// Begins to listen.
    pub fn listen() -> io::Result<Self> {
        Ok(Self(()))
    }

    /// Waits for the next one.
    pub async fn next(&mut self) -> Stop {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        Stop::Interrupt
    }
}
