//! Plays a case: lays out its home and its folder, does its steps, and compares.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use acp_runtime_agent::capability::{Grant, SecretName};
use acp_runtime_agent::event::{SessionEvent, ToolCallStatus};
use acp_runtime_agent::near::near;
use acp_runtime_agent::session::{Fault, SessionFactory as _, SessionHandle, SessionRequest};
use acp_runtime_agent::store::SessionSetup;
use acp_runtime_agent::transcript::Part;
use acp_runtime_host::manifest::Manifest;
use acp_runtime_host::package::Package;
use serde_json::{Map, Value};

use super::super::super::failure::Failure;
use super::misplaced;
use super::props::{Client, Props, Seen};
use super::report::Complaint;
use crate::authoring::cases::{Case, Cases, Deed, Step};
use crate::authoring::drawing::{difference, drawn};
use crate::compose::{Keys, Runtime, Stage};
use crate::redaction::Redaction;
use crate::secret::Secret;
use crate::secrets::{Keeping, SecretId};
use crate::settings::{Paths, Place, Settings};

/// What all cases have in common.
pub(super) struct Ensemble {
    /// The built plugin.
    pub(super) plugin: PathBuf,
    /// Where compiled plugins are kept.
    pub(super) compiled: Paths,
    /// Where what panels look like is kept.
    pub(super) snapshots: PathBuf,
    /// Whether it is kept as it is now.
    pub(super) update: bool,
}

/// What came of a step.
#[derive(Default)]
struct Came {
    /// The whole text; of what failed, the reason.
    text: String,
    failed: bool,
    structured: Option<Value>,
    /// What the model was asked.
    prompt: Option<String>,
    /// The panel, drawn.
    panel: Option<String>,
}

impl Ensemble {
    /// Plays a case to its end, or to the first step in which something is not as it says.
    pub(super) async fn play(&self, case: &Case, place: impl Fn(usize) -> Place) -> Result<Vec<Complaint>, Failure> {
        let home = temporary()?;
        let project = temporary()?;
        for (name, text) in &case.files {
            put(&project.path().join(name.get_ref()), text)?;
        }
        let package = Package::read(&self.plugin)?;
        let manifest = package.manifest();
        let (id, granted) = (manifest.id.clone(), granted(case, manifest, &place)?);
        let mut settings = Settings::default();
        settings.mode = case.mode;
        settings.permission.deny.extend(case.deny.iter().cloned());
        settings.secrets.store = Keeping::File;
        if !case.settings.is_empty() {
            settings.plugins.settings.insert(id.clone(), case.settings.clone());
        }
        let paths = Paths::under(home.path())?.compiled_as(&self.compiled);
        let keys = Keys::new(&settings, &paths, Redaction::default());
        for (handle, secret) in &case.secrets {
            let name = SecretName::of_plugin(&id, handle).map_err(|error| Failure::usage(error.to_string()))?;
            keys.secrets().set(&SecretId::lent(name, package.origin()), &Secret::new(secret.clone()))?;
        }
        let props = Props::of(case);
        let stage = Stage { package, granted, network: props.clone(), programs: props.clone() };
        let runtime = Runtime::on_stage(stage, settings, &paths, &keys)?;
        let first = case.steps.first().map_or(0, |step| step.span().start);
        let misfit = runtime.known().iter().find_map(|known| known.misfit(&runtime.settings().plugins));
        if let Some(what) = misfit {
            return Ok(vec![Complaint { place: place(first), what }]);
        }
        let session = open(&runtime, project.path(), &props).await?;
        let mut failures = Vec::new();
        for step in &case.steps {
            props.take();
            let came = perform(&session, &runtime, step.get_ref(), &props).await?;
            let at = place(step.span().start);
            let complaints = self.compare(step.get_ref(), &came, &props.take(), project.path())?;
            failures.extend(complaints.into_iter().map(|what| Complaint { place: at.clone(), what }));
            if !failures.is_empty() {
                break;
            }
        }
        session.close().await;
        runtime.leave().await;
        Ok(failures)
    }

    /// All that is not as the step says.
    fn compare(&self, step: &Step, came: &Came, seen: &Seen, project: &Path) -> Result<Vec<String>, Failure> {
        let mut wrong = seen.missing.clone();
        match (&step.error, came.failed) {
            (None, true) => wrong.push(format!("it failed: {}", came.text)),
            (Some(error), false) => {
                wrong.push(format!("it should fail with `{error}`, and gave: {}", came.text));
            }
            (Some(error), true) if !came.text.contains(error.as_str()) => {
                wrong.push(format!("it should fail with `{error}`, and failed: {}", came.text));
            }
            (Some(_), true) | (None, false) => {}
        }
        if !came.failed {
            let text =
                step.text.as_deref().and_then(|text| differs("the text", text, came.text.trim_end_matches('\n')));
            wrong.extend(text);
            if let Some(structured) = step.structured.as_ref().filter(|wanted| came.structured.as_ref() != Some(wanted))
            {
                let was = came.structured.as_ref().map_or("nothing".to_owned(), Value::to_string);
                wrong
                    .push(format!("the structured outcome is not as it should be\nexpected: {structured}\nwas: {was}"));
            }
            if let Some(prompt) = &step.prompt {
                wrong.extend(differs("what the model is asked", prompt, came.prompt.as_deref().unwrap_or_default()));
            }
        }
        for piece in step.contains.iter().filter(|piece| !came.text.contains(piece.as_str())) {
            wrong.push(format!("`{piece}` is not in the text: {}", came.text));
        }
        for (what, wanted, was) in [
            ("what the person was asked", &step.asks, &seen.asks),
            ("what was sent", &step.requests, &seen.requests),
            ("what was run", &step.runs, &seen.runs),
        ] {
            let lines = |lines: &[String]| lines.join("\n");
            wrong.extend(wanted.as_ref().and_then(|wanted| differs(what, &lines(wanted), &lines(was))));
        }
        for (name, wanted) in &step.files {
            let was =
                fs::read_to_string(project.join(name)).map_err(|error| format!("`{name}` cannot be read: {error}"));
            wrong.extend(match was {
                Ok(was) => differs(&format!("`{name}`"), wanted, &was),
                Err(problem) => Some(problem),
            });
        }
        wrong.extend(
            step.gone.iter().filter(|name| project.join(name).exists()).map(|name| format!("`{name}` is there")),
        );
        if let (Some(name), Some(panel), true) = (&step.snapshot, &came.panel, wrong.is_empty()) {
            wrong.extend(self.compare_snapshot(name, panel)?);
        }
        Ok(wrong)
    }

    fn compare_snapshot(&self, name: &str, now: &str) -> Result<Option<String>, Failure> {
        let path = self.snapshots.join(format!("{name}.txt"));
        if self.update {
            put(&path, now)?;
            return Ok(None);
        }
        let kept = match fs::read_to_string(&path) {
            Ok(kept) => kept,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let path = path.display();
                return Ok(Some(format!("`{path}` is not there: `--update` keeps the panel as it is now\n{now}")));
            }
            Err(error) => return Err(Failure::unreadable(&path, &error)),
        };
        let hint = "`--update` keeps it as it is now";
        let changed = |how: String| format!("the panel is not as in `{}`: {hint}\n{how}", path.display());
        Ok(difference(&kept, now).map(changed))
    }
}

/// Whether what the cases name is in the plugin.
pub(super) fn check(package: &Package, all: &[(Cases, String)]) -> Result<(), Failure> {
    let manifest = package.manifest();
    let offers = &manifest.inventory;
    let tools: Vec<&str> = offers.tools.iter().map(|tool| tool.name.as_str()).collect();
    let commands: Vec<&str> = offers.commands.iter().map(|command| command.name.as_str()).collect();
    let panels: Vec<&str> = offers.panels.iter().map(|panel| panel.name.as_str()).collect();
    for (cases, text) in all {
        for case in &cases.cases {
            granted(case, manifest, |at| cases.place(text, at))?;
            for step in &case.steps {
                let (what, name, known) = match step.get_ref().deed() {
                    Some(Deed::Tool(tool)) => ("tool", tool, &tools),
                    Some(Deed::Command(line)) => ("command", first_word(line), &commands),
                    Some(Deed::Draw(panel) | Deed::Act { panel, .. }) => ("panel", panel, &panels),
                    None => continue,
                };
                if !known.contains(&name) {
                    let problem = format!("the plugin has no {what} `{name}`{}", meant(name, known));
                    return Err(misplaced(cases.place(text, step.span().start), problem));
                }
            }
        }
    }
    Ok(())
}

/// Does what the step says.
async fn perform(session: &SessionHandle, runtime: &Runtime, step: &Step, props: &Props) -> Result<Came, Failure> {
    match step.deed() {
        Some(Deed::Tool(tool)) => {
            let plugins = runtime.known();
            let name = plugins.iter().find_map(|known| known.plugin.called(tool));
            let name = name.ok_or_else(|| Failure::new(format!("the tool `{tool}` has no name that models take")))?;
            let arguments = Value::Object(step.arguments.clone());
            type_in(session, &format!("/call {name} {arguments}")).await?;
            Ok(call(props))
        }
        Some(Deed::Command(line)) => {
            let fault = type_in(session, &format!("/{line}")).await?;
            Ok(reply(props, fault))
        }
        Some(Deed::Draw(panel)) => Ok(match session.panel_snapshot(panel).await {
            Ok(view) => {
                let panels = session.panels().await;
                let info = panels.iter().map(|(info, _)| info).find(|info| info.name.as_str() == panel);
                Came { panel: Some(drawn(info, &view)), ..Came::default() }
            }
            Err(error) => Came { text: error.to_string(), failed: true, ..Came::default() },
        }),
        Some(Deed::Act { panel, action, node }) => Ok(act(session, (panel, action, node), &step.arguments).await),
        None => Ok(Came::default()),
    }
}

async fn act(
    session: &SessionHandle,
    (panel, action, node): (&str, &str, &str),
    arguments: &Map<String, Value>,
) -> Came {
    match session.panel_act(panel, action, node, arguments.clone()).await {
        Ok(reply) => {
            let panels = session.panels().await;
            let info = panels.iter().map(|(info, _)| info).find(|info| info.name.as_str() == panel);
            Came {
                failed: reply.failure.is_some(),
                text: reply.failure.or(reply.message).unwrap_or_default(),
                panel: Some(drawn(info, &reply.view)),
                ..Came::default()
            }
        }
        Err(error) => Came { text: error.to_string(), failed: true, ..Came::default() },
    }
}

/// The rights that a case grants.
fn granted(case: &Case, manifest: &Manifest, place: impl Fn(usize) -> Place) -> Result<Vec<Grant>, Failure> {
    let ceiling = manifest.ceiling();
    let Some(named) = &case.grants else { return Ok(ceiling) };
    let asked: Vec<String> = ceiling.iter().map(ToString::to_string).collect();
    let right = |name: &toml::Spanned<String>| {
        let found = ceiling.iter().find(|right| right.to_string() == *name.get_ref()).cloned();
        found.ok_or_else(|| {
            let of = if asked.is_empty() { "nothing".to_owned() } else { format!("`{}`", asked.join("`, `")) };
            misplaced(place(name.span().start), format!("the plugin asks for {of}, and not for `{}`", name.get_ref()))
        })
    };
    named.iter().map(right).collect()
}

async fn open(runtime: &Arc<Runtime>, project: &Path, props: &Arc<Props>) -> Result<SessionHandle, Failure> {
    let cwd = project.display().to_string();
    let setup = SessionSetup { cwd, additional: Vec::new(), system_prompt: None };
    let face = Arc::new(Client(props.clone()));
    Ok(runtime.create(SessionRequest { setup, servers: Vec::new(), face }).await?)
}

/// Types a line; why it was not done, where it was not.
async fn type_in(session: &SessionHandle, line: &str) -> Result<Option<Fault>, Failure> {
    let answer = session.prompt(vec![Part::Text { text: line.to_owned() }]).answered().await?;
    Ok(answer.fault)
}

/// What a call gave, as the model is told.
fn call(props: &Props) -> Came {
    let ended = props.seen_so_far().into_iter().rev().find_map(|event| match event {
        SessionEvent::ToolCallUpdated(update) if update.for_model.is_some() => Some(update),
        _ => None,
    });
    let Some(update) = ended else {
        return Came { text: "the call was not made".to_owned(), failed: true, ..Came::default() };
    };
    Came {
        text: update.for_model.unwrap_or_default(),
        failed: update.status == Some(ToolCallStatus::Failed),
        structured: update.structured,
        ..Came::default()
    }
}

/// What a command replied, and what it asks the model.
fn reply(props: &Props, fault: Option<Fault>) -> Came {
    let mut came = Came { failed: matches!(fault, Some(Fault::Misused | Fault::Failed)), ..Came::default() };
    for event in props.seen_so_far() {
        match event {
            SessionEvent::AgentText { text, local: true, .. } if came.prompt.is_none() => came.text.push_str(&text),
            SessionEvent::UserMessage { parts, local: false, .. } => {
                let texts = parts.into_iter().filter_map(|part| match part {
                    Part::Text { text } => Some(text),
                    _ => None,
                });
                came.prompt = Some(texts.collect::<Vec<_>>().join("\n"));
            }
            _ => {}
        }
    }
    came
}

/// What is said of a text that is not the one that should be there.
fn differs(what: &str, wanted: &str, was: &str) -> Option<String> {
    if wanted == was {
        return None;
    }
    let how = if wanted.contains('\n') || was.contains('\n') {
        difference(&format!("{wanted}\n"), &format!("{was}\n"))?
    } else {
        format!("expected: {wanted:?}\nwas:      {was:?}")
    };
    Some(format!("{what} is not as it should be\n{how}"))
}

/// The name of a command.
fn first_word(line: &str) -> &str {
    line.split_whitespace().next().unwrap_or_default()
}

fn meant(name: &str, known: &[&str]) -> String {
    match near(name, known.iter().copied()).first() {
        Some(meant) => format!("; did you mean `{meant}`?"),
        None if known.is_empty() => String::new(),
        None => format!("; it has `{}`", known.join("`, `")),
    }
}

fn temporary() -> Result<tempfile::TempDir, Failure> {
    let folder = tempfile::Builder::new().prefix("acp-runtime-test-").tempdir();
    folder.map_err(|error| Failure::unwritable(&std::env::temp_dir(), &error))
}

fn put(path: &Path, text: &str) -> Result<(), Failure> {
    let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
    folder.and_then(|()| fs::write(path, text)).map_err(|error| Failure::unwritable(path, &error))
}
