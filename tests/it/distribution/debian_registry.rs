//! A registry that nobody here wrote: Docker's own, as Debian packs it. `cargo xtask test` unpacks it into
//! `target/registry`, and leaves this module out where it cannot be had.

mod minisign;

use std::io::Read as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use super::*;

/// A running one, with its files. It ends when it is dropped.
struct DebianRegistry {
    process: Child,
    host: String,
    _files: tempfile::TempDir,
}

fn program(name: &str) -> PathBuf {
    let folder = build_folder().parent().expect("a build folder lies in the target folder").join("registry");
    let program = folder.join("usr/bin").join(name);
    assert!(program.is_file(), "{} is not there: `cargo xtask test` sets it up", program.display());
    program
}

impl DebianRegistry {
    /// One on a port of its own choice, which it says in its log.
    fn start() -> Self {
        let files = tempfile::tempdir().expect("a temporary folder");
        let config = files.path().join("config.yml");
        let storage = files.path().join("storage");
        let text = format!(
            "version: 0.1\nlog:\n  level: info\n  formatter: json\nstorage:\n  filesystem:\n    rootdirectory: {}\nhttp:\n  addr: 127.0.0.1:0\n",
            storage.display()
        );
        std::fs::write(&config, text).expect("its configuration is written");
        let mut process = Command::new(program("docker-registry"))
            .args(["serve".as_ref(), config.as_os_str()])
            .env_clear()
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut log = process.stderr.take().expect("its log");
        let (mut said, mut piece) = (String::new(), [0; 1024]);
        let host = loop {
            let read = log.read(&mut piece).expect("it writes a log");
            assert!(read > 0, "it ended: {said}");
            said.push_str(&String::from_utf8_lossy(&piece[..read]));
            if let Some(port) = said.split("listening on 127.0.0.1:").nth(1).filter(|rest| rest.contains('"')) {
                break format!("127.0.0.1:{}", port.split([',', '"']).next().unwrap_or_default());
            }
        };
        // It goes on writing, and must not wait for a reader.
        std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
        Self { process, host, _files: files }
    }
}

impl Drop for DebianRegistry {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn a_plugin_is_published_found_and_installed() {
    let (publisher, registry) = (Publisher::new(), DebianRegistry::start());
    let place = format!("oci://{}/plugins/acme/list", registry.host);
    let pinned = publisher.published(&place);
    assert_eq!(publisher.published(&place), pinned, "once more it is the same");
    let newer = Publisher::new_with(&publisher, "1.1.0");
    newer.published(&place);
    let runtime = trusting(&publisher);
    let said = installed(&runtime, &format!("{place}:1.0.0"), &[]);
    assert!(!said.contains("warning"), "{said}");
    assert_eq!(entry(&runtime, "acme:list")["publisher"].as_str(), Some("acme"));
    installed(&person(), &pinned, &["--trust-publisher", &publisher.fingerprint]);
    refused(&runtime, &format!("{place}:3.0.0"), &[], "there is no such tag or digest");
    // By its name, from the host itself: what has no well-known file is a registry.
    let config = format!("[plugins.registry]\nnamespaces = {{ acme = \"{}\" }}\n", registry.host);
    let named = trusting(&publisher).config(&config);
    let place = format!("oci://{}/acme/list", registry.host);
    publisher.published(&place);
    newer.published(&place);
    installed(&named, "acme:list", &[]);
    assert_eq!(entry(&named, "acme:list")["version"].as_str(), Some("1.1.0"));
}
