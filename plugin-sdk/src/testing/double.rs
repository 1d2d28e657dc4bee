//! What the double holds, and what a test may set and see.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::marker::PhantomData;

use serde_json::Value;

use super::imports::http::Response;
use crate::bindings::imports::host as wire;
use crate::kv::Scope;

thread_local! {
    static STATE: RefCell<State> = RefCell::new(State::default());
}

/// Everything that one thread's double holds.
pub(super) struct State {
    pub(super) kv: BTreeMap<(String, String), wire::kv::Entry>,
    pub(super) rival: Option<(String, String, Vec<u8>)>,
    pub(super) files: Option<BTreeMap<String, String>>,
    pub(super) roots: Vec<wire::workspace::Root>,
    pub(super) settings: Value,
    pub(super) cancelled: bool,
    pub(super) said: Option<Vec<wire::session::Entry>>,
    pub(super) addition: Option<String>,
    pub(super) programs: BTreeMap<Vec<String>, wire::process::Output>,
    pub(super) web: Web,
    pub(super) seen: Seen,
}

/// The network.
#[derive(Default)]
pub(super) struct Web {
    /// By address.
    pub(super) pages: BTreeMap<String, Response>,
    /// Handles of the secrets that are kept.
    pub(super) secrets: BTreeSet<String>,
    pub(super) sent: Vec<wire::http::Request>,
}

/// A request that the plugin sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// The method.
    pub method: String,
    /// The address.
    pub url: String,
    /// The headers that the plugin set.
    pub headers: Vec<(String, String)>,
    /// The handles of the secrets that the host would put in.
    pub secrets: Vec<String>,
    /// The body.
    pub body: Vec<u8>,
}

/// What the plugin told the host.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) log: Vec<(String, String)>,
    pub(super) progress: Vec<(Option<f64>, String)>,
    pub(super) plan: Vec<(String, String)>,
    pub(super) changed: Vec<String>,
    pub(super) runs: Vec<(String, Vec<String>)>,
}

impl Default for State {
    fn default() -> Self {
        let root =
            wire::workspace::Root { path: "/workspace".to_owned(), name: "workspace".to_owned(), extra: Vec::new() };
        Self {
            kv: BTreeMap::new(),
            rival: None,
            files: Some(BTreeMap::new()),
            roots: vec![root],
            settings: Value::Object(serde_json::Map::new()),
            cancelled: false,
            said: None,
            addition: None,
            programs: BTreeMap::new(),
            web: Web::default(),
            seen: Seen::default(),
        }
    }
}

pub(super) fn with<R>(act: impl FnOnce(&mut State) -> R) -> R {
    STATE.with_borrow_mut(act)
}

/// This thread's double.
#[derive(Debug)]
pub struct Host {
    /// It acts on the thread that made it.
    thread: PhantomData<*const ()>,
}

impl Host {
    /// Empties this thread's double: one root `/workspace` without files, no settings, nothing kept.
    pub fn fresh() -> Self {
        with(|state| *state = State::default());
        Self { thread: PhantomData }
    }

    /// Puts a text file into the workspace.
    pub fn put_file(&self, path: &str, text: &str) {
        let path = super::imports::workspace::normalized(path).unwrap_or_else(|_| path.to_owned());
        with(|state| state.files.get_or_insert_default().insert(path, text.to_owned()));
    }

    /// The text of a file in the workspace.
    pub fn file(&self, path: &str) -> Option<String> {
        let path = super::imports::workspace::normalized(path).ok()?;
        with(|state| state.files.as_ref()?.get(&path).cloned())
    }

    /// Refuses every access to files of the workspace from now on, as the host does without a grant.
    pub fn deny_files(&self) {
        with(|state| state.files = None);
    }

    /// The session's folders, each a path that `std::fs` understands and a name.
    pub fn set_roots<'a>(&self, roots: impl IntoIterator<Item = (&'a str, &'a str)>) {
        let root = |(path, name): (&str, &str)| wire::workspace::Root {
            path: path.to_owned(),
            name: name.to_owned(),
            extra: Vec::new(),
        };
        with(|state| state.roots = roots.into_iter().map(root).collect());
    }

    /// What [`settings::get`](crate::settings::get) reads.
    pub fn set_settings(&self, settings: Value) {
        with(|state| state.settings = settings);
    }

    /// Lets that command line, the program first, write `stdout` and end with `code`. All others are refused, as the host
    /// does without a grant.
    pub fn put_program<'a>(&self, line: impl IntoIterator<Item = &'a str>, code: i32, stdout: &str) {
        self.put_output(line, code, stdout, "");
    }

    /// [`Host::put_program`], for one that writes to its standard error as well.
    pub fn put_output<'a>(&self, line: impl IntoIterator<Item = &'a str>, code: i32, stdout: &str, stderr: &str) {
        let (stdout, stderr) = (stdout.as_bytes().to_vec(), stderr.as_bytes().to_vec());
        let output = wire::process::Output { code: Some(code), signal: None, stdout, stderr, extra: Vec::new() };
        with(|state| state.programs.insert(line.into_iter().map(str::to_owned).collect(), output));
    }

    /// The programs that were run: the folder and the line of each, the program first. A folder that was not named is
    /// empty.
    pub fn runs(&self) -> Vec<(String, Vec<String>)> {
        with(|state| state.seen.runs.clone())
    }

    /// Lets somebody say something: `role` is `user`, `assistant`, `call` or `result`. Until then the session cannot be read,
    /// as without the right to it.
    pub fn say(&self, role: &str, text: &str) {
        let entry = wire::session::Entry { role: role.to_owned(), text: text.to_owned(), extra: Vec::new() };
        with(|state| state.said.get_or_insert_default().push(entry));
    }

    /// What the plugin adds to what the model is told.
    pub fn addition(&self) -> Option<String> {
        with(|state| state.addition.clone())
    }

    /// Puts a page into the network. All other addresses are refused, as the host does without a grant.
    pub fn put_page(&self, url: &str, status: u16, mime: &str, body: impl Into<Vec<u8>>) {
        let headers = vec![("content-type".to_owned(), mime.as_bytes().to_vec())];
        let page = Response { status, url: url.to_owned(), headers, body: RefCell::new(body.into()) };
        with(|state| state.web.pages.insert(url.to_owned(), page));
    }

    /// Keeps a secret for that handle. Without it, requests that name it are refused.
    pub fn keep_secret(&self, handle: &str) {
        with(|state| state.web.secrets.insert(handle.to_owned()));
    }

    /// The requests that were sent, in order.
    pub fn requests(&self) -> Vec<Sent> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let sent = |request: &wire::http::Request| Sent {
            method: request.method.clone(),
            url: request.url.clone(),
            headers: request.headers.iter().map(|(name, value)| (name.clone(), text(value))).collect(),
            secrets: request.secrets.clone(),
            body: request.body.clone(),
        };
        with(|state| state.web.sent.iter().map(sent).collect())
    }

    /// Cancels the call, so that the plugin sees it at its next look.
    pub fn cancel(&self) {
        with(|state| state.cancelled = true);
    }

    /// Lets another call write that value just before the plugin's next write to `kv`.
    pub fn rival_write(&self, scope: Scope, key: &str, value: &[u8]) {
        with(|state| state.rival = Some((scope.as_str().to_owned(), key.to_owned(), value.to_vec())));
    }

    /// The log: level and message.
    pub fn log(&self) -> Vec<(String, String)> {
        with(|state| state.seen.log.clone())
    }

    /// The progress that was shown: fraction and message.
    pub fn progress(&self) -> Vec<(Option<f64>, String)> {
        with(|state| state.seen.progress.clone())
    }

    /// The plan as it stands: status and content of each line.
    pub fn plan(&self) -> Vec<(String, String)> {
        with(|state| state.seen.plan.clone())
    }

    /// The panels that were said to have changed, in order.
    pub fn changed_panels(&self) -> Vec<String> {
        with(|state| state.seen.changed.clone())
    }
}
