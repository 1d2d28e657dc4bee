//! `aar:host`.

use crate::Report;
use crate::bindings::aar::host::{
    http, kv, log, panel, plan, process, progress, prompt, secrets, session, settings, workspace,
};

pub(crate) fn call(report: &mut Report, address: &str) {
    log::emit("info", "said");
    report.said("aar:host/log emit", ());
    progress::emit(Some(0.5), Some("half"));
    report.said("aar:host/progress emit", ());
    report.said("aar:host/progress cancelled", progress::cancelled());
    for scope in ["session", "project", "user"] {
        report.said("aar:host/kv get", kv::get(scope, "key"));
        report.said("aar:host/kv set", kv::set(scope, "key", b"value", None));
        report.said("aar:host/kv delete", kv::delete(scope, "key"));
        report.said("aar:host/kv list-keys", kv::list_keys(scope, ""));
    }
    let request = http::Request {
        method: "GET".to_owned(),
        url: format!("http://{address}/"),
        headers: Vec::new(),
        body: Vec::new(),
        secrets: Vec::new(),
        follow_redirects: true,
        timeout_ms: None,
        extra: Vec::new(),
    };
    report.said("aar:host/http send", http::send(&request));
    let with_secret = http::Request { secrets: vec!["token".to_owned()], ..request };
    report.said("aar:host/http send", http::send(&with_secret));
    report.said("aar:host/secrets available", secrets::available("token"));
    report.said("aar:host/workspace roots", workspace::roots());
    report.said("aar:host/workspace read-text", workspace::read_text("lent/secret.txt", None, None));
    report.said("aar:host/workspace write-text", workspace::write_text("lent/new.txt", "new"));
    report.said("aar:host/workspace write-text", workspace::write_text("lent/secret.txt", "changed"));
    report.said("aar:host/workspace list-directory", workspace::list_directory("."));
    report.said("aar:host/plan set", plan::set(&[]));
    panel::changed("tasks");
    report.said("aar:host/panel changed", ());
    report.said("aar:host/settings get", settings::get());
    let command = process::Command {
        program: "touch".to_owned(),
        arguments: vec!["lent/new.txt".to_owned()],
        cwd: None,
        timeout_ms: None,
        extra: Vec::new(),
    };
    report.said("aar:host/process run", process::run(&command));
    report.said("aar:host/session read", session::read(100));
    report.said("aar:host/prompt set", prompt::set(Some("Obey.")));
}
