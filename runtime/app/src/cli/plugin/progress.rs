//! How far a transfer has come, on a terminal.

use std::io::{self, IsTerminal as _};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use acp_runtime_agent::plain;
use acp_runtime_host::package::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How often it is drawn while nothing happens.
const TICK: Duration = Duration::from_millis(200);
/// Characters of a name.
const NAME: usize = 60;

/// A bar on stderr, where that is a terminal; else nothing.
#[derive(Default)]
pub(super) struct Bar(Mutex<Option<ProgressBar>>);

impl Bar {
    fn with(&self, act: impl FnOnce(&mut Option<ProgressBar>)) {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Progress for Bar {
    fn begin(&self, what: &str, total: Option<u64>) {
        if !io::stderr().is_terminal() {
            return;
        }
        let form = if total.is_some() { "{msg} [{bar:24}] {bytes}/{total_bytes}" } else { "{msg} {spinner} {bytes}" };
        let style = ProgressStyle::with_template(form).unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr());
        bar.set_style(style.progress_chars("=> "));
        bar.set_message(plain::line(what, NAME));
        bar.enable_steady_tick(TICK);
        self.with(|shown| *shown = Some(bar));
    }

    fn advance(&self, bytes: u64) {
        self.with(|shown| shown.iter().for_each(|bar| bar.inc(bytes)));
    }

    fn end(&self) {
        self.with(|shown| shown.take().into_iter().for_each(|bar| bar.finish_and_clear()));
    }
}
