//! The host's functions, with the signatures that are generated for WebAssembly, over the double.
#![expect(clippy::unnecessary_wraps, reason = "the signatures are the generated ones")]

use crate::bindings::imports::types;
use crate::{Error, ErrorKind};

use super::double::with;

pub(crate) mod log {
    pub(crate) fn emit(level: &str, message: &str) {
        super::with(|state| state.seen.log.push((level.to_owned(), message.to_owned())));
    }
}

pub(crate) mod progress {
    pub(crate) fn emit(fraction: Option<f64>, message: Option<&str>) {
        super::with(|state| state.seen.progress.push((fraction, message.unwrap_or_default().to_owned())));
    }

    pub(crate) fn cancelled() -> bool {
        super::with(|state| state.cancelled)
    }
}

pub(crate) mod settings {
    pub(crate) fn get() -> String {
        super::with(|state| state.settings.to_string())
    }
}

pub(crate) mod panel {
    pub(crate) fn changed(panel: &str) {
        super::with(|state| state.seen.changed.push(panel.to_owned()));
    }
}

pub(crate) mod plan {
    use super::types;
    use crate::bindings::imports::host::plan::Entry;

    pub(crate) fn set(entries: &[Entry]) -> Result<(), types::Error> {
        let line = |entry: &Entry| (entry.status.clone(), entry.content.clone());
        super::with(|state| state.seen.plan = entries.iter().map(line).collect());
        Ok(())
    }
}

pub(crate) mod session {
    use super::{Error, ErrorKind, types, with};
    use crate::bindings::imports::host::session::Entry;

    pub(crate) fn read(limit: u32) -> Result<Vec<Entry>, types::Error> {
        let said = with(|state| state.said.clone());
        let said = said.ok_or_else(|| Error::new(ErrorKind::Denied, "session: the plugin was not granted it"))?;
        let first = said.len().saturating_sub(limit as usize);
        Ok(said.into_iter().skip(first).collect())
    }
}

pub(crate) mod prompt {
    use super::{Error, types, with};

    pub(crate) fn set(text: Option<&str>) -> Result<(), types::Error> {
        if let Some(text) = text.filter(|text| text.len() > 2048) {
            return Err(Error::limit(format_args!("the text has {} bytes; at most 2048", text.len())).into());
        }
        with(|state| state.addition = text.map(str::to_owned));
        Ok(())
    }
}

pub(crate) mod process {
    use super::{Error, ErrorKind, types, with};
    use crate::bindings::imports::host::process::{Command, Output};

    pub(crate) fn run(command: &Command) -> Result<Output, types::Error> {
        let line: Vec<String> = std::iter::once(&command.program).chain(&command.arguments).cloned().collect();
        with(|state| {
            state.seen.runs.push((command.cwd.clone().unwrap_or_default(), line.clone()));
            state.programs.get(&line).cloned().ok_or_else(|| {
                let message = format_args!("run `{}`: the plugin was not granted it", line.join(" "));
                Error::new(ErrorKind::Denied, message).into()
            })
        })
    }
}

pub(crate) mod secrets {
    use super::{types, with};

    pub(crate) fn available(name: &str) -> Result<bool, types::Error> {
        Ok(with(|state| state.web.secrets.contains(name)))
    }
}

pub(crate) mod http {
    use std::cell::RefCell;

    use super::{Error, ErrorKind, types, with};
    use crate::bindings::imports::host::http::Request;

    /// An answer, as the generated one.
    #[derive(Debug, Clone)]
    pub(crate) struct Response {
        pub(in crate::testing) status: u16,
        pub(in crate::testing) url: String,
        pub(in crate::testing) headers: Vec<(String, Vec<u8>)>,
        pub(in crate::testing) body: RefCell<Vec<u8>>,
    }

    impl Response {
        pub(crate) fn status(&self) -> u16 {
            self.status
        }

        pub(crate) fn url(&self) -> String {
            self.url.clone()
        }

        pub(crate) fn headers(&self) -> Vec<(String, Vec<u8>)> {
            self.headers.clone()
        }

        pub(crate) fn read(&self, most: u32) -> Result<Vec<u8>, types::Error> {
            let mut body = self.body.borrow_mut();
            let most = body.len().min(most as usize);
            Ok(body.drain(..most).collect())
        }
    }

    pub(crate) fn send(request: &Request) -> Result<Response, types::Error> {
        with(|state| {
            let missing = request.secrets.iter().find(|handle| !state.web.secrets.contains(*handle));
            if let Some(handle) = missing {
                let message = format_args!("the secret `{handle}` is not sent: none is kept");
                return Err(Error::new(ErrorKind::Denied, message).into());
            }
            state.web.sent.push(request.clone());
            let page = state.web.pages.get(&request.url).cloned();
            page.ok_or_else(|| {
                let message = format_args!("fetch `{}`: the plugin was not granted it", request.url);
                Error::new(ErrorKind::Denied, message).into()
            })
        })
    }
}

pub(crate) mod kv {
    use super::{Error, ErrorKind, types, with};
    use crate::bindings::imports::host::kv::Entry;

    pub(crate) fn get(scope: &str, key: &str) -> Result<Option<Entry>, types::Error> {
        Ok(with(|state| state.kv.get(&(scope.to_owned(), key.to_owned())).cloned()))
    }

    pub(crate) fn set(scope: &str, key: &str, value: &[u8], expected: Option<u64>) -> Result<u64, types::Error> {
        if let Some((scope, key, value)) = with(|state| state.rival.take()) {
            set(&scope, &key, &value, None)?;
        }
        let key = (scope.to_owned(), key.to_owned());
        with(|state| {
            let current = state.kv.get(&key).map_or(0, |entry| entry.version);
            if expected.is_some_and(|expected| expected != current) {
                let message = format_args!("the version of `{}` is {current}", key.1);
                return Err(Error::new(ErrorKind::Conflict, message).retryable().into());
            }
            let version = current + 1;
            state.kv.insert(key, Entry { value: value.to_vec(), version, extra: Vec::new() });
            Ok(version)
        })
    }

    pub(crate) fn delete(scope: &str, key: &str) -> Result<bool, types::Error> {
        Ok(with(|state| state.kv.remove(&(scope.to_owned(), key.to_owned())).is_some()))
    }

    pub(crate) fn list_keys(scope: &str, prefix: &str) -> Result<Vec<String>, types::Error> {
        let keys = with(|state| state.kv.keys().cloned().collect::<Vec<_>>());
        let wanted = keys.into_iter().filter(|(of, key)| of == scope && key.starts_with(prefix));
        Ok(wanted.map(|(_, key)| key).collect())
    }
}

pub(crate) mod workspace {
    use std::collections::BTreeMap;

    use super::{Error, ErrorKind, types, with};
    use crate::bindings::imports::host::workspace::{DirEntry, Root};

    /// The path as the guest sees it, without `.`; `..` and other absolute paths are outside.
    pub(in crate::testing) fn normalized(path: &str) -> crate::Result<String> {
        let inside = match path.strip_prefix("/workspace") {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => rest,
            _ if path.starts_with('/') => return Err(outside(path)),
            _ => path,
        };
        let mut parts = vec!["/workspace"];
        for part in inside.split('/').filter(|part| !matches!(*part, "" | ".")) {
            if part == ".." {
                return Err(outside(path));
            }
            parts.push(part);
        }
        Ok(parts.join("/"))
    }

    fn outside(path: &str) -> Error {
        Error::new(ErrorKind::Denied, format_args!("`{path}` is outside the workspace"))
    }

    fn with_files<R>(act: impl FnOnce(&mut BTreeMap<String, String>) -> crate::Result<R>) -> Result<R, types::Error> {
        let denied = || Error::new(ErrorKind::Denied, "the plugin may not touch these files");
        with(|state| Ok(act(state.files.as_mut().ok_or_else(denied)?)?))
    }

    pub(crate) fn roots() -> Vec<Root> {
        with(|state| state.roots.clone())
    }

    pub(crate) fn read_text(path: &str, line: Option<u32>, limit: Option<u32>) -> Result<String, types::Error> {
        let path = normalized(path)?;
        with_files(|files| {
            let text = files.get(&path).ok_or_else(|| Error::not_found(format_args!("`{path}` does not exist")))?;
            let skipped = line.unwrap_or(1).saturating_sub(1) as usize;
            let taken = limit.map_or(usize::MAX, |limit| limit as usize);
            Ok(text.split_inclusive('\n').skip(skipped).take(taken).collect())
        })
    }

    pub(crate) fn write_text(path: &str, text: &str) -> Result<(), types::Error> {
        let path = normalized(path)?;
        with_files(|files| {
            files.insert(path, text.to_owned());
            Ok(())
        })
    }

    pub(crate) fn list_directory(path: &str) -> Result<Vec<DirEntry>, types::Error> {
        let folder = format!("{}/", normalized(path)?);
        with_files(|files| {
            let mut entries = BTreeMap::new();
            for (path, text) in &*files {
                let Some(inside) = path.strip_prefix(&folder) else { continue };
                let (name, kind, size) = match inside.split_once('/') {
                    Some((name, _)) => (name, "directory", 0),
                    None => (inside, "file", text.len() as u64),
                };
                let entry = DirEntry { name: name.to_owned(), kind: kind.to_owned(), size, extra: Vec::new() };
                entries.insert(name.to_owned(), entry);
            }
            if entries.is_empty() && folder != "/workspace/" {
                return Err(Error::not_found(format_args!("`{path}` does not exist")));
            }
            Ok(entries.into_values().collect())
        })
    }
}
