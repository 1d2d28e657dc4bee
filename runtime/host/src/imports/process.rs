//! `aar:host/process`: runs a program that the plugin was granted, in one of the session's folders.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::time::Duration;

use acp_runtime_agent::capability::{CommandLine, Effect, RootId, WorkspacePath};
use acp_runtime_agent::gate::{Exhibit, Permit};
use acp_runtime_agent::plain::{self, exact};
use acp_runtime_agent::transcript::{ToolContent, fenced};
use cap_std::fs::Dir;

use crate::exec::{ProgramEnd, ProgramOutput, ProgramRun, Programs, git};
use crate::links;
use crate::scope::Folders;
use crate::state::{Call, HostError};

/// A command as the guest gives it.
pub(crate) struct Asked {
    pub(crate) program: String,
    pub(crate) arguments: Vec<String>,
    pub(crate) folder: Option<String>,
    pub(crate) milliseconds: Option<u64>,
}

/// Runs it to its end. The guest is not shown secrets in what the program writes.
pub(crate) async fn run(call: &mut Call, asked: Asked) -> Result<ProgramOutput, HostError> {
    let ProgramOutput { end, stdout, stderr } = run_asked(call, asked).await?;
    let filter = call.desks.secrets.filter();
    Ok(ProgramOutput { end, stdout: filter.bytes(stdout), stderr: filter.bytes(stderr) })
}

async fn run_asked(call: &mut Call, asked: Asked) -> Result<ProgramOutput, HostError> {
    let scope = call.session()?.scope.clone();
    let Asked { program, arguments, folder, milliseconds } = asked;
    let line = CommandLine { program, arguments };
    check(&line, call.limits.exec.line)?;
    let folder = match &folder {
        Some(path) if path.len() > 4096 => return Err(HostError::invalid("`cwd` has more than 4096 bytes")),
        Some(path) => scope.folders.resolve(path)?,
        None => WorkspacePath::root_of(RootId(0)),
    };
    let most = call.limits.exec.runs;
    if call.runs >= most {
        return Err(HostError::limit(format!("a call runs at most {most} programs, and this one has run them")));
    }
    call.runs += 1;
    call.refuse_secrets(std::iter::once(&line.program).chain(&line.arguments), "the command")?;
    let shown = scope.folders.names.display(&folder);
    let grants = scope.gate.grants(&call.plugin);
    let inherit: Vec<String> = grants.iter().flat_map(|grants| grants.environment(&line)).map(str::to_owned).collect();
    let with = match inherit.as_slice() {
        [] => String::new(),
        names => format!("\nwith these variables of your environment:\n{}", fenced("", &names.join(" "))),
    };
    let text = format!("{}\nin {}{with}", fenced("sh", &exact(&line.to_string())), fenced("", &exact(&shown)));
    let exhibit = Exhibit { content: vec![ToolContent::Text { text }], ..Exhibit::default() };
    let permit = call.authorize_with(vec![Effect::Run(line.clone())], exhibit).await?;
    let most = call.limits.exec.time;
    let asked = milliseconds.map_or(most, Duration::from_millis);
    let run = ProgramRun {
        arguments: line.arguments.clone(),
        folder: open(&scope.folders, &folder)?,
        path: shown.into(),
        inherit,
        variables: BTreeMap::new(),
        changes: true,
        time: asked.min(most).min(call.deadline.left()),
        output: call.limits.exec.output,
        line,
    };
    if git::is(&run.line.program) {
        let roots = scope.folders.names.iter().map(|root| root.canonical.as_path());
        let variables = git::variables(roots);
        return run_git(&*scope.programs, &permit, ProgramRun { variables, changes: false, ..run }).await;
    }
    Ok(scope.programs.run(&permit, run).await?)
}

/// Looks at what the repository's configuration names, and closes that before git does what it was asked for. What git
/// says of a configuration that it cannot read is its answer.
async fn run_git(programs: &dyn Programs, permit: &Permit, run: ProgramRun) -> Result<ProgramOutput, HostError> {
    let folder = run.folder.try_clone().map_err(|error| HostError::new("std:internal", error.to_string()))?;
    let listing = ProgramRun {
        line: run.line.clone(),
        arguments: git::LIST.map(str::to_owned).to_vec(),
        folder,
        path: run.path.clone(),
        inherit: run.inherit.clone(),
        variables: run.variables.clone(),
        ..run
    };
    let listed = programs.run(permit, listing).await?;
    if listed.end != ProgramEnd::Exited(0) {
        return Ok(ProgramOutput { stdout: Vec::new(), ..listed });
    }
    let mut variables = run.variables;
    git::close(&mut variables, &listed.stdout)
        .map_err(|why| HostError::denied(format!("run `git`: {why} (the user has to look at the repository)")))?;
    let arguments = git::arguments(&run.arguments);
    Ok(programs.run(permit, ProgramRun { arguments, variables, ..run }).await?)
}

fn check(line: &CommandLine, most: usize) -> Result<(), HostError> {
    let all = || std::iter::once(&line.program).chain(&line.arguments);
    let size = all().map(|text| text.len() + 1).sum::<usize>();
    if size > most {
        return Err(HostError::limit(format!("the program's arguments have {size} bytes; at most {most}")));
    }
    match all().find(|text| text.contains('\0')) {
        Some(text) => Err(HostError::invalid(format!("`{}` has a zero byte in it", plain::line(text, 80)))),
        None => Ok(()),
    }
}

/// The folder, wherever its links lead inside of its root.
fn open(folders: &Folders, folder: &WorkspacePath) -> Result<Dir, HostError> {
    let opened = folders.root(folder.root()).and_then(|root| {
        let real = links::real_path(root, folder)?;
        links::open_folder(root, &real)
    });
    opened.map_err(|error| match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => {
            HostError::new("std:not-found", format!("`{folder}` is no folder of the session"))
        }
        ErrorKind::PermissionDenied => HostError::denied(format!("`{folder}` leads out of the session's folders")),
        _ => HostError::new("std:internal", format!("`{folder}` cannot be opened: {error}")),
    })
}
