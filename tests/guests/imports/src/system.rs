//! `wasi:cli`, `wasi:clocks`, `wasi:random` and `wasi:io`.

use crate::Report;
use crate::bindings::wasi::cli::{
    environment, exit, stderr, stdin, stdout, terminal_stderr, terminal_stdin, terminal_stdout,
};
use crate::bindings::wasi::clocks::{monotonic_clock, wall_clock};
use crate::bindings::wasi::io::poll;
use crate::bindings::wasi::io::streams::{InputStream, OutputStream};
use crate::bindings::wasi::random::{insecure, insecure_seed, random};

/// Ends the instance, where that is wished for.
pub(crate) fn exit(how: &str) {
    match how {
        "exit" => exit::exit(Err(())),
        "exit-with-code" => exit::exit_with_code(7),
        _ => {}
    }
}

pub(crate) fn call(report: &mut Report) {
    report.said("wasi:cli/environment get-environment", environment::get_environment());
    report.said("wasi:cli/environment get-arguments", environment::get_arguments());
    report.said("wasi:cli/environment initial-cwd", environment::initial_cwd());
    report.said("wasi:cli/terminal-stdin get-terminal-stdin", terminal_stdin::get_terminal_stdin());
    report.said("wasi:cli/terminal-stdout get-terminal-stdout", terminal_stdout::get_terminal_stdout());
    report.said("wasi:cli/terminal-stderr get-terminal-stderr", terminal_stderr::get_terminal_stderr());

    let soon = monotonic_clock::subscribe_duration(0);
    report.said("wasi:clocks/monotonic-clock now", monotonic_clock::now());
    report.said("wasi:clocks/monotonic-clock resolution", monotonic_clock::resolution());
    report.said("wasi:clocks/monotonic-clock subscribe-instant", monotonic_clock::subscribe_instant(0));
    report.said("wasi:clocks/monotonic-clock subscribe-duration", &soon);
    report.said("wasi:clocks/wall-clock now", wall_clock::now());
    report.said("wasi:clocks/wall-clock resolution", wall_clock::resolution());
    report.said("wasi:io/poll poll", poll::poll(&[&soon]));
    report.said("wasi:io/poll pollable.ready", soon.ready());
    soon.block();
    report.said("wasi:io/poll pollable.block", ());

    report.said("wasi:random/random get-random-bytes", random::get_random_bytes(1));
    report.said("wasi:random/random get-random-u64", random::get_random_u64());
    report.said("wasi:random/insecure get-insecure-random-bytes", insecure::get_insecure_random_bytes(1));
    report.said("wasi:random/insecure get-insecure-random-u64", insecure::get_insecure_random_u64());
    report.said("wasi:random/insecure-seed insecure-seed", insecure_seed::insecure_seed());

    let (input, output, errors) = (stdin::get_stdin(), stdout::get_stdout(), stderr::get_stderr());
    report.said("wasi:cli/stdin get-stdin", &input);
    report.said("wasi:cli/stdout get-stdout", &output);
    report.said("wasi:cli/stderr get-stderr", &errors);
    read(report, &input);
    for stream in [&output, &errors] {
        write(report, stream, &input);
    }
}

fn read(report: &mut Report, stream: &InputStream) {
    report.said("wasi:io/streams input-stream.read", stream.read(10));
    report.said("wasi:io/streams input-stream.blocking-read", stream.blocking_read(10));
    report.said("wasi:io/streams input-stream.skip", stream.skip(1));
    report.said("wasi:io/streams input-stream.blocking-skip", stream.blocking_skip(1));
    report.said("wasi:io/streams input-stream.subscribe", stream.subscribe());
}

/// Each function that needs room asks for it first, or is ended for it.
fn write(report: &mut Report, stream: &OutputStream, from: &InputStream) {
    report.said("wasi:io/streams output-stream.check-write", stream.check_write());
    report.said("wasi:io/streams output-stream.write", stream.write(b"said\n"));
    report.said("wasi:io/streams output-stream.flush", stream.flush());
    report.said("wasi:io/streams output-stream.blocking-flush", stream.blocking_flush());
    report.said("wasi:io/streams output-stream.blocking-write-and-flush", stream.blocking_write_and_flush(b"said\n"));
    report.said("wasi:io/streams output-stream.subscribe", stream.subscribe());
    if stream.check_write().is_ok_and(|room| room > 0) {
        report.said("wasi:io/streams output-stream.write-zeroes", stream.write_zeroes(1));
    }
    let zeroes = stream.blocking_write_zeroes_and_flush(1);
    report.said("wasi:io/streams output-stream.blocking-write-zeroes-and-flush", zeroes);
    report.said("wasi:io/streams output-stream.splice", stream.splice(from, 1));
    report.said("wasi:io/streams output-stream.blocking-splice", stream.blocking_splice(from, 1));
}
