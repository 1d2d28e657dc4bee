//! What is wrong with the configured servers, as far as it can be known without starting or asking any.
//!
//! Nothing that is written down is repeated but names, since it may hold secrets. Tested by a table, and over the real
//! binary.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use acp_runtime_agent::capability::ServerName;
use acp_runtime_agent::server::Reach;

use super::connection::{Refusal, check_address, header};
use super::settings::{Place, ServerSettings};
use super::variables::{Environment, filled};
use super::{Mcp, SERVERS, names};
use crate::process::{Program, StartError};

/// How one server is.
#[derive(Debug)]
pub struct Health {
    /// Its name in the configuration.
    pub server: String,
    /// How it would be reached, in a few words; none where it cannot be.
    pub place: Option<String>,
    /// What there is to say of it.
    pub findings: Vec<Finding>,
}

/// Something that is wrong, or odd.
#[derive(Debug)]
pub struct Finding {
    /// The key within the server's table, such as `env.TOKEN`; none for its name.
    pub key: Option<String>,
    /// A sentence without its end.
    pub problem: String,
    /// What to do about it.
    pub hint: String,
    /// Whether it can be used all the same.
    pub is_usable: bool,
}

impl Mcp {
    /// The configured servers that sessions have. A program that is named by a relative path is looked for from `folder`.
    pub fn check(&self, folder: &Path) -> Vec<Health> {
        let mut taken = HashSet::new();
        let used = self.configured.iter().filter(|(_, settings)| settings.enabled());
        used.enumerate()
            .map(|(index, (title, settings))| {
                let (place, mut findings) = self.reached(settings, folder);
                findings.extend(named(title, &mut taken));
                if index >= SERVERS {
                    findings.push(Finding {
                        key: None,
                        problem: format!("a session has at most {SERVERS} servers, and this is one more"),
                        hint: "name fewer, or set `enabled = false` for some".to_owned(),
                        is_usable: false,
                    });
                }
                Health { server: title.clone(), place, findings }
            })
            .collect()
    }

    fn reached(&self, settings: &ServerSettings, folder: &Path) -> (Option<String>, Vec<Finding>) {
        let unset = unset(settings.place(), self.environment);
        if !unset.is_empty() {
            return (None, unset);
        }
        let written = match settings.place() {
            Place::Program { command, .. } => command.as_str(),
            Place::Http { .. } | Place::Unsupported(_) => "",
        };
        let outcome = match settings.reach(self.environment) {
            Reach::Program { program, environment, .. } => self.program(written, &program, environment, folder),
            Reach::Http { url, headers } => http(&url, &headers),
            Reach::Unusable { problem, hint } => Err(vec![broken("type", problem, hint)]),
        };
        match outcome {
            Ok(place) => (Some(place), Vec::new()),
            Err(findings) => (None, findings),
        }
    }

    /// Whether there is such a program. It is shown as it was `written`: a variable in it may be a secret.
    fn program(
        &self,
        written: &str,
        program: &str,
        environment: BTreeMap<String, String>,
        folder: &Path,
    ) -> Result<String, Vec<Finding>> {
        let wanted = Program { environment, ..Program::new(program, folder) };
        let Err(error) = self.launcher.find(&wanted) else { return Ok(format!("the program `{written}`")) };
        let is_relative = Path::new(program).is_relative() && Path::new(program).components().count() > 1;
        let hint = error.hint();
        let error = match error {
            StartError::NotFound(_) => StartError::NotFound(written.to_owned()),
            StartError::NotExecutable(_) => StartError::NotExecutable(written.to_owned()),
            error @ (StartError::NoFolder(_) | StartError::System { .. }) => error,
        };
        let finding = broken("command", error.to_string(), hint);
        Err(vec![match error {
            StartError::NotFound(_) if is_relative => Finding {
                problem: format!("{} from this folder; it is looked for in each session's own", finding.problem),
                hint: "write its whole path".to_owned(),
                is_usable: true,
                ..finding
            },
            _ => finding,
        }])
    }
}

fn broken(key: impl Into<String>, problem: impl Into<String>, hint: impl Into<String>) -> Finding {
    Finding { key: Some(key.into()), problem: problem.into(), hint: hint.into(), is_usable: false }
}

/// Every value that names a variable which is not set.
fn unset(place: &Place, environment: Environment) -> Vec<Finding> {
    let mut values: Vec<(String, &str)> = Vec::new();
    match place {
        Place::Program { command, args, env } => {
            values.push(("command".to_owned(), command.as_str()));
            values.extend(args.iter().enumerate().map(|(index, text)| (format!("args[{index}]"), text.as_str())));
            values.extend(env.iter().map(|(name, value)| (format!("env.{name}"), value.expose())));
        }
        Place::Http { url, headers } => {
            values.push(("url".to_owned(), url.expose()));
            values.extend(headers.iter().map(|(name, value)| (format!("headers.{name}"), value.expose())));
        }
        Place::Unsupported(_) => {}
    }
    let finding = |(key, text): (String, &str)| {
        let variable = filled(text, environment).err()?;
        let hint = format!("set it, or write `${{{variable}:-}}` where it may be empty");
        Some(broken(key, format!("the variable `{variable}` is not set"), hint))
    };
    values.into_iter().filter_map(finding).collect()
}

fn http(url: &str, headers: &BTreeMap<String, String>) -> Result<String, Vec<Finding>> {
    let of = |key: String, Refusal { problem, hint, .. }: Refusal| broken(key, problem, hint);
    let url = check_address(url).err().map(|refusal| of("url".to_owned(), refusal));
    let headers = headers.iter().filter_map(|(name, value)| {
        let refusal = header(name, value).err()?;
        Some(of(format!("headers.{name}"), refusal))
    });
    let findings: Vec<Finding> = url.into_iter().chain(headers).collect();
    if findings.is_empty() { Ok("an address".to_owned()) } else { Err(findings) }
}

/// A name that its tools do not have as it is.
fn named(title: &str, taken: &mut HashSet<ServerName>) -> Option<Finding> {
    let name = names::server(title, taken)?;
    taken.insert(name.clone());
    (name.as_str() != title).then(|| Finding {
        key: None,
        problem: format!("its tools are called `mcp__{name}__…`, and it is `server:{name}` in rules"),
        hint: "use letters, digits, `-` and single `_`, at most 32, in a way that no other server's name is like it"
            .to_owned(),
        is_usable: true,
    })
}
