//! `cargo xtask bench`: what it costs, as one table with the bar that each figure must reach.
//!
//! Figures of one process are medians over fresh processes of the real binary; figures inside the process come from the
//! criterion benches of the crates. Absolute numbers hold for the machine that they were taken on.
#![expect(clippy::disallowed_methods, reason = "lays out folders for the benches")]
#![expect(clippy::print_stdout, reason = "the table is what it is run for")]

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Instant;

use serde_json::{Value, json};

use crate::agent::{Agent, Deaf};
use crate::process::{program, run as run_to_success};
use crate::workspace::{Workspace, cargo};
use crate::{Result, plugins};

/// Fresh processes per figure.
const PROCESSES: usize = 15;
/// Further sessions in each of them.
const SESSIONS: usize = 20;
/// Plugins that are installed when the start is measured.
const PLUGINS: usize = 50;
/// Installed plugins of somebody who has a great many.
const CROWD: usize = 200;
/// Sessions in one process when their memory is measured.
const IDLE: u32 = 500;
/// Chunks of the long answer.
const CHUNKS: u32 = 20_000;

/// Events of the long session, and of each prompt in it: the prompt, what was said twice, a call and its two updates,
/// and the end.
const EVENTS: u32 = 10_000;
const EVENTS_OF_A_PROMPT: u32 = 7;

/// One line of the table.
struct Figure {
    name: &'static str,
    value: f64,
    unit: &'static str,
    bar: Bar,
}

enum Bar {
    AtMost(f64),
    AtLeast(f64),
}

/// Measures and prints.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    plugins::build(workspace)?;
    let mut inside = cargo();
    // The profile and the packages that all else is built with, or the WASM engine would be compiled once more.
    inside.current_dir(&workspace.root).args(["bench", "--profile", "release", "--workspace", "--quiet"]);
    inside.args(["call", "files", "audit"].iter().flat_map(|bench| ["--bench", bench]));
    run_to_success(inside.stdout(Stdio::null()))?;
    let place = tempfile::Builder::new().prefix("acp-runtime-bench-").tempdir()?;
    let (limits, audit) = (
        criterion(workspace, "limited call")? - criterion(workspace, "bare call")?,
        criterion(workspace, "audit of a decision")?,
    );
    let mut figures = vec![
        Figure {
            name: "plugin call through the gate (p50)",
            value: criterion(workspace, "call")? / 1e3,
            unit: "µs",
            bar: Bar::AtMost(50.0),
        },
        Figure {
            name: "hook of a plugin on a tool call (p50)",
            value: criterion(workspace, "hook")? / 1e3,
            unit: "µs",
            bar: Bar::AtMost(50.0),
        },
        Figure {
            name: "cold load from the compile cache",
            value: criterion(workspace, "load from the cache")? / 1e6,
            unit: "ms",
            bar: Bar::AtMost(1.0),
        },
        Figure {
            name: "decision of the gate (p50)",
            value: criterion(workspace, "gate decision")? / 1e3,
            unit: "µs",
            bar: Bar::AtMost(5.0),
        },
        Figure {
            name: "guest that reads 4 KiB, to wasmtime's own WASI",
            value: criterion(workspace, "100 reads")? / criterion(workspace, "100 reads without the view")?,
            unit: "times",
            bar: Bar::AtMost(3.0),
        },
        Figure {
            name: "limits and audit, of a plugin call",
            value: 100.0 * (limits + audit) / (criterion(workspace, "call")? + audit),
            unit: "%",
            bar: Bar::AtMost(10.0),
        },
        Figure {
            name: "`code-stats` over 50,000 files, to wasmtime's own WASI",
            value: criterion(workspace, "code-stats/with the view")?
                / criterion(workspace, "code-stats/without the view")?,
            unit: "times",
            bar: Bar::AtMost(1.5),
        },
    ];
    figures.extend(starts(workspace, place.path())?);
    figures.push(idle(workspace, place.path())?);
    figures.push(stream(workspace, place.path())?);
    figures.extend(long(workspace, place.path())?);
    print(&figures);
    Ok(())
}

/// The median of a criterion bench, in nanoseconds.
fn criterion(workspace: &Workspace, name: &str) -> Result<f64> {
    let path = workspace.target.join("criterion").join(name).join("new/estimates.json");
    let text =
        fs::read_to_string(&path).map_err(|error| format!("no bench `{name}`: `{}`: {error}", path.display()))?;
    let estimates: Value = serde_json::from_str(&text)?;
    let median = estimates.pointer("/median/point_estimate").and_then(Value::as_f64);
    median.ok_or_else(|| format!("`{}` has no median", path.display()).into())
}

/// Start, sessions, memory and end, with many plugins installed.
fn starts(workspace: &Workspace, place: &Path) -> Result<Vec<Figure>> {
    let (home, project) = (folder(place, "home")?, folder(place, "project")?);
    install_many(workspace, &home, place, 0..PLUGINS)?;
    let (mut hello, mut opened, mut further) = (Vec::new(), Vec::new(), Vec::new());
    let (mut memory, mut ended) = (Vec::new(), Vec::new());
    for _ in 0..PROCESSES {
        let begin = Instant::now();
        let mut agent = Agent::start(&workspace.binary(), &home)?;
        agent.initialize()?;
        hello.push(begin.elapsed().as_secs_f64() * 1e3);
        let begin = Instant::now();
        agent.new_session(&project, &[])?;
        opened.push(begin.elapsed().as_secs_f64() * 1e3);
        memory.extend(agent.resident_mebibytes());
        for _ in 0..SESSIONS {
            let begin = Instant::now();
            agent.new_session(&project, &[])?;
            further.push(begin.elapsed().as_secs_f64() * 1e3);
        }
        let begin = Instant::now();
        agent.close()?;
        ended.push(begin.elapsed().as_secs_f64() * 1e3);
    }
    let crowd = crowd(workspace, &home, place)?;
    let mut figures = vec![
        Figure {
            name: "start to `initialize`, 50 plugins installed",
            value: median(hello),
            unit: "ms",
            bar: Bar::AtMost(10.0),
        },
        Figure {
            name: "first `session/new`, at once after that",
            value: median(opened),
            unit: "ms",
            bar: Bar::AtMost(5.0),
        },
        Figure { name: "further `session/new`", value: median(further), unit: "ms", bar: Bar::AtMost(1.0) },
        Figure { name: "memory after `session/new`", value: median(memory), unit: "MiB", bar: Bar::AtMost(25.0) },
        Figure { name: "end after the end of input", value: median(ended), unit: "ms", bar: Bar::AtMost(100.0) },
    ];
    figures.extend(crowd);
    Ok(figures)
}

/// Start and `plugin list` with a great many plugins installed.
fn crowd(workspace: &Workspace, home: &Path, place: &Path) -> Result<[Figure; 2]> {
    install_many(workspace, home, place, PLUGINS..CROWD)?;
    let (mut hello, mut listed) = (Vec::new(), Vec::new());
    for _ in 0..PROCESSES {
        let begin = Instant::now();
        let mut agent = Agent::start(&workspace.binary(), home)?;
        agent.initialize()?;
        hello.push(begin.elapsed().as_secs_f64() * 1e3);
        agent.close()?;
        let mut list = program(workspace.binary());
        list.args(["plugin", "list"]).env("ACP_RUNTIME_HOME", home);
        let begin = Instant::now();
        run_to_success(list.stdout(Stdio::null()).stderr(Stdio::null()))?;
        listed.push(begin.elapsed().as_secs_f64() * 1e3);
    }
    Ok([
        Figure {
            name: "start to `initialize`, 200 plugins installed",
            value: median(hello),
            unit: "ms",
            bar: Bar::AtMost(15.0),
        },
        Figure {
            name: "`plugin list`, 200 plugins installed",
            value: median(listed),
            unit: "ms",
            bar: Bar::AtMost(50.0),
        },
    ])
}

/// Installs copies of one plugin under other names. A name of the same length is put in place of its own.
fn install_many(workspace: &Workspace, home: &Path, place: &Path, numbers: Range<usize>) -> Result<()> {
    const NAME: &[u8] = b"code-stats";
    let plugin = fs::read(workspace.target.join("release/plugins/code-stats.wasm"))?;
    let package = place.join("copy.wasm");
    for number in numbers {
        let name = format!("copy-{number:05}").into_bytes();
        let mut copy = plugin.clone();
        let mut at = 0;
        while let Some(found) = copy.get(at..).and_then(|rest| rest.windows(NAME.len()).position(|part| part == NAME)) {
            at += found;
            copy.splice(at..at + NAME.len(), name.iter().copied());
        }
        fs::write(&package, copy)?;
        let mut install = program(workspace.binary());
        install.args(["plugin", "install", "--yes"]).arg(&package).env("ACP_RUNTIME_HOME", home);
        run_to_success(install.stdout(Stdio::null()).stderr(Stdio::null()))?;
    }
    Ok(())
}

/// What a session costs that has spoken and now waits, beside others in one process.
fn idle(workspace: &Workspace, place: &Path) -> Result<Figure> {
    let (home, project) = (folder(place, "idle")?, folder(place, "project")?);
    script(place, &home, &["chunks = { count = 2000, size = 6 }"])?;
    let mut agent = Agent::start(&workspace.binary(), &home)?;
    agent.initialize()?;
    let speak = |agent: &mut Agent, sessions: u32| -> Result<f64> {
        for _ in 0..sessions {
            let session = agent.new_session(&project, &[])?;
            agent.prompt(&session, "Speak", &mut Deaf)?;
        }
        agent.resident_mebibytes().ok_or_else(|| "this system does not say how much memory a process holds".into())
    };
    let before = speak(&mut agent, 20)?;
    let after = speak(&mut agent, IDLE)?;
    agent.close()?;
    Ok(Figure {
        name: "memory of a further idle session",
        value: (after - before) / f64::from(IDLE),
        unit: "MiB",
        bar: Bar::AtMost(0.5),
    })
}

/// A session of 10,000 events: how long it takes to load, and what a prompt in it costs.
fn long(workspace: &Workspace, place: &Path) -> Result<Vec<Figure>> {
    let (home, project) = (folder(place, "long")?, folder(place, "project")?);
    fs::write(project.join("a.txt"), "a\n")?;
    script(
        place,
        &home,
        &[
            r#"text = "Let me see." }, { call = { tool = "read_file", arguments = { path = "a.txt" } }"#,
            r#"text = "An a.""#,
        ],
    )?;
    let mut agent = Agent::start(&workspace.binary(), &home)?;
    agent.initialize()?;
    let session = agent.new_session(&project, &[])?;
    for _ in 0..EVENTS / EVENTS_OF_A_PROMPT {
        agent.prompt(&session, "Look", &mut Deaf)?;
    }
    agent.close()?;

    let (mut loads, mut ratios) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        let mut agent = Agent::start(&workspace.binary(), &home)?;
        agent.initialize()?;
        let fresh = agent.new_session(&project, &[])?;
        let load = json!({ "sessionId": session, "cwd": project, "mcpServers": [] });
        let begin = Instant::now();
        agent.request("session/load", &load, &mut Deaf)?;
        loads.push(begin.elapsed().as_secs_f64() * 1e3);
        let mut took = [Vec::new(), Vec::new()];
        for _ in 0..50 {
            for (session, took) in [&fresh, &session].into_iter().zip(&mut took) {
                let begin = Instant::now();
                agent.prompt(session, "Look", &mut Deaf)?;
                took.push(begin.elapsed().as_secs_f64());
            }
        }
        let [fresh, loaded] = took.map(median);
        ratios.push(loaded / fresh);
        agent.close()?;
    }
    Ok(vec![
        Figure { name: "load of a 10,000-event session", value: median(loads), unit: "ms", bar: Bar::AtMost(300.0) },
        Figure {
            name: "prompt in it, against one in a fresh session",
            value: median(ratios),
            unit: "×",
            bar: Bar::AtMost(1.1),
        },
    ])
}

/// Makes a model for `home` that gives these replies, one step each, over and over.
fn script(place: &Path, home: &Path, replies: &[&str]) -> Result<()> {
    let name = home.file_name().unwrap_or_default().to_string_lossy();
    let script = place.join(format!("{name}.toml"));
    let replies: Vec<String> = replies.iter().map(|step| format!("[[reply]]\nsteps = [{{ {step} }}]\n")).collect();
    fs::write(&script, format!("repeat = true\nquiet = true\n{}", replies.concat()))?;
    fs::write(home.join("config.toml"), format!("model = \"script:{}\"\n", script.display()))?;
    Ok(())
}

/// A long answer, with the journal on.
fn stream(workspace: &Workspace, place: &Path) -> Result<Figure> {
    let (home, project) = (folder(place, "streaming")?, folder(place, "project")?);
    script(place, &home, &[&format!("chunks = {{ count = {CHUNKS}, size = 6 }}")])?;
    let mut agent = Agent::start(&workspace.binary(), &home)?;
    agent.initialize()?;
    let session = agent.new_session(&project, &[])?;
    let mut rates = Vec::new();
    for _ in 0..5 {
        let begin = Instant::now();
        agent.prompt(&session, "Speak", &mut Deaf)?;
        rates.push(f64::from(CHUNKS) / begin.elapsed().as_secs_f64());
    }
    agent.close()?;
    Ok(Figure {
        name: "20,000-chunk stream, journal on",
        value: median(rates),
        unit: "chunks/s",
        bar: Bar::AtLeast(60_000.0),
    })
}

fn folder(place: &Path, name: &str) -> Result<PathBuf> {
    let folder = place.join(name);
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// The middle value; not a number where there is none.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn print(figures: &[Figure]) {
    println!("| figure | measured | bar | |");
    println!("|---|---|---|---|");
    for Figure { name, value, unit, bar } in figures {
        let (reached, bar) = match bar {
            Bar::AtMost(most) => (value <= most, format!("≤ {most}")),
            Bar::AtLeast(least) => (value >= least, format!("≥ {least}")),
        };
        let verdict = if reached { "pass" } else { "miss" };
        let digits = if *value < 1000.0 { 2 } else { 0 };
        println!("| {name} | {value:.digits$} {unit} | {bar} {unit} | {verdict} |");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle() {
        assert!((median(vec![3.0, 1.0, 2.0]) - 2.0).abs() < f64::EPSILON);
        assert!(median(Vec::new()).is_nan(), "nothing measured reaches no bar");
    }
}
