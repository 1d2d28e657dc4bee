//! Projects: laid out, built, and what is told where that cannot be.
#![expect(clippy::disallowed_methods, reason = "changes what an author changes, and reads what was built")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use acp_runtime_tests::Runtime;
use acp_runtime_tests::runtime::build_folder;
use expect_test::{Expect, expect};

use super::workshop::{build_elsewhere, run, succeed, travel, with_rust};

/// What is shown of a command that fails.
fn refused(runtime: &Runtime, arguments: &[&str], expected: &Expect) {
    let finished = runtime.run(arguments);
    let place = runtime.project().parent().expect("the project lies in a folder").display().to_string();
    let told = finished.stderr.replace(&place, "…");
    expected.assert_eq(&format!("exit {}\n{told}", finished.code.expect("an exit code")));
    assert_eq!(finished.stdout, "", "{arguments:?}");
}

#[test]
fn a_plugin_in_rust_goes_from_nothing_to_an_answer() {
    let runtime = with_rust();
    let bytes = travel(&runtime, "rust", |_| {});

    // Elsewhere the same source gives the same bytes.
    let again = build_elsewhere(&runtime);
    assert!(bytes == again, "{} bytes, and then {}", bytes.len(), again.len());

    // What the compiler says is shown, and nothing is built.
    let source = runtime.project().join("deep/down/there/src/lib.rs");
    fs::write(&source, fs::read_to_string(&source).unwrap().replace("Hello, {}!", "Hello, {} {}!")).unwrap();
    let failed = run(&runtime, &["plugin", "build", "deep/down/there", "--output", "broken.wasm"]);
    assert_eq!(failed.code, Some(1), "{failed:?}");
    assert!(failed.stderr.contains("2 positional arguments in format string"), "{}", failed.stderr);
    let end = "error: `cargo build --release --target …` failed with exit code 101\nhint: what is wrong stands above\n";
    assert!(failed.stderr.ends_with(end), "{}", failed.stderr);
    assert!(!runtime.project().join("broken.wasm").exists());
}

#[test]
fn what_is_there_is_not_overwritten() {
    let runtime = Runtime::new().file("greet/mine.txt", "mine").file("file", "");
    refused(
        &runtime,
        &["plugin", "new", "greet", "--lang", "rust"],
        &expect![[r#"
            exit 2
            error: `greet` is there already
            hint: choose another name, or another folder with `--dir`
        "#]],
    );
    assert_eq!(fs::read_dir(runtime.project().join("greet")).unwrap().count(), 1);
    refused(
        &runtime,
        &["plugin", "new", "greet", "--lang", "rust", "--dir", "file"],
        &expect![[r#"
            exit 2
            error: `file` is there already
            hint: choose another name, or another folder with `--dir`
        "#]],
    );
    succeed(&runtime, &["plugin", "new", "greet", "--lang", "rust", "--dir", "other/place"]);
    assert!(runtime.read("other/place/plugin.toml").contains("id = \"my:greet\"\n"));
}

#[test]
fn names_and_languages_are_checked() {
    let runtime = Runtime::new();
    refused(
        &runtime,
        &["plugin", "new", "Greet", "--lang", "rust"],
        &expect![[r#"
            exit 2
            error: `my:Greet` is not a valid plugin id: expected `namespace:name` of lower-case letters, digits and `-`
            hint: such as `acp-runtime plugin new acme:greet --lang rust`
        "#]],
    );
    refused(
        &runtime,
        &["plugin", "new", "a:../b", "--lang", "rust"],
        &expect![[r#"
            exit 2
            error: `a:../b` is not a valid plugin id: expected `namespace:name` of lower-case letters, digits and `-`
            hint: such as `acp-runtime plugin new acme:greet --lang rust`
        "#]],
    );
    let cobol = runtime.run(&["plugin", "new", "greet", "--lang", "cobol"]);
    assert_eq!(cobol.code, Some(2));
    assert!(cobol.stderr.contains("[possible values: rust, python, js, c]"), "{}", cobol.stderr);
    assert!(!runtime.project().join("greet").exists());
}

#[test]
fn what_is_missing_is_named_with_the_way_to_get_it() {
    let runtime = Runtime::new();
    for (language, name) in [("rust", "r"), ("python", "p"), ("js", "j"), ("c", "c")] {
        succeed(&runtime, &["plugin", "new", name, "--lang", language]);
    }
    // A `rustc` without the target, and nothing else.
    let bin = runtime.outside("bin");
    fs::create_dir(&bin).unwrap();
    for (name, script) in [("cargo", "exit 7"), ("rustc", "echo /nowhere")] {
        let path = bin.join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let runtime = runtime.env("PATH", "/nowhere");
    refused(
        &runtime,
        &["plugin", "build", "r"],
        &expect![[r#"
            exit 1
            error: `cargo` is not there
            hint: install Rust from https://rustup.rs, then `rustup target add wasm32-wasip2`
        "#]],
    );
    refused(
        &runtime,
        &["plugin", "build", "p"],
        &expect![[r#"
            exit 1
            error: `componentize-py` is not there
            hint: in the project's folder: `python3 -m venv .venv && .venv/bin/pip install --requirement requirements.txt`
        "#]],
    );
    refused(
        &runtime,
        &["plugin", "test", "j"],
        &expect![[r#"
            exit 1
            error: `componentize-qjs` is not there
            hint: in the project's folder: `npm install`
        "#]],
    );
    refused(
        &runtime,
        &["plugin", "build", "c"],
        &expect![[r#"
            exit 1
            error: a `clang` for WebAssembly is not there
            hint: on Debian and Ubuntu: `apt install clang lld wasi-libc libclang-rt-dev-wasm32`; elsewhere unpack https://github.com/WebAssembly/wasi-sdk/releases and set `WASI_SDK_PATH` to its folder
        "#]],
    );
    let runtime = runtime.env("WASI_SDK_PATH", "/nowhere");
    refused(
        &runtime,
        &["plugin", "build", "c"],
        &expect![[r#"
            exit 1
            error: `/nowhere/bin/clang`, which is looked for as `WASI_SDK_PATH` says, is not there
            hint: on Debian and Ubuntu: `apt install clang lld wasi-libc libclang-rt-dev-wasm32`; elsewhere unpack https://github.com/WebAssembly/wasi-sdk/releases and set `WASI_SDK_PATH` to its folder
        "#]],
    );
    let runtime = runtime.env("PATH", &bin.display().to_string());
    refused(
        &runtime,
        &["plugin", "build", "r"],
        &expect![[r#"
            exit 1
            error: the target `wasm32-wasip2` is not there
            hint: `rustup target add wasm32-wasip2`; where rustup cannot download, `xtask/wasm-toolchain.sh` of acp-runtime's source makes it, and `wasm-toolchain.sh cargo …` uses it (or set `RUSTC` as `wasm-toolchain.sh env` says)
        "#]],
    );
}

#[test]
fn what_is_no_project_is_not_built() {
    let runtime = Runtime::new()
        .file("two/Cargo.toml", "")
        .file("two/plugin.c", "")
        .file("typo/app.py", "")
        .file("typo/plugin.toml", "id = \"a:b\"\nversio = \"1\"\n")
        .file("bare/app.py", "");
    refused(
        &runtime,
        &["plugin", "build"],
        &expect![[r#"
            exit 2
            error: `.` is no plugin's project: it has none of `Cargo.toml`, `app.py`, `package.json`, `plugin.c`
            hint: name the folder that `acp-runtime plugin new` has made; a component that was compiled otherwise goes in with `--component FILE`
        "#]],
    );
    refused(
        &runtime,
        &["plugin", "build", "lost"],
        &expect![[r#"
            exit 2
            error: `lost` is no plugin's project: there is no such folder
            hint: name the folder that `acp-runtime plugin new` has made; a component that was compiled otherwise goes in with `--component FILE`
        "#]],
    );
    refused(
        &runtime,
        &["plugin", "build", "two"],
        &expect![[r#"
            exit 2
            error: `two` is no plugin's project: it has `Cargo.toml`, `plugin.c`, so its language cannot be told
            hint: name the folder that `acp-runtime plugin new` has made; a component that was compiled otherwise goes in with `--component FILE`
        "#]],
    );
    refused(
        &runtime,
        &["plugin", "build", "typo"],
        &expect![[r#"
        exit 1
        error: `typo/plugin.toml`: TOML parse error at line 2, column 1
          |
        2 | versio = "1"
          | ^^^^^^
        unknown field `versio`, expected one of `id`, `version`, `title`, `description`, `license`, `homepage`, `source`, `minimum-host`, `lifecycle`, `capabilities`, `limits`, `settings`
        hint: correct it in `plugin.toml` and build the plugin again
    "#]],
    );
    refused(
        &runtime,
        &["plugin", "build", "bare"],
        &expect![[r#"
        exit 2
        error: `bare/plugin.toml` cannot be read: No such file or directory (os error 2)
        hint: check the path and its permissions
    "#]],
    );
}

/// The form for components that were compiled otherwise.
#[test]
fn a_component_and_a_manifest_make_a_plugin() {
    let manifest = "id = \"acme:list\"\nversion = \"0.1.0\"\ntitle = \"List\"\ndescription = \"A list.\"\nlicense = \"MIT\"\n\
                    [capabilities]\nkv = { reason = \"remembers\" }\n";
    let runtime = Runtime::new().file("plugin.toml", manifest);
    let component = build_folder().join("plugins/tasks.wasm").display().to_string();
    let built = succeed(&runtime, &["plugin", "build", "--component", &component]);
    assert_eq!(built.stdout, "./dist/acme-list.wasm\n");
    // The project is installed as it is built.
    let installed = succeed(&runtime, &["plugin", "install", ".", "--yes"]);
    assert!(installed.stdout.starts_with("installed acme:list 0.1.0 "), "{installed:?}");
    refused(
        &runtime,
        &["plugin", "build", "--component", "plugin.toml"],
        &expect![[r#"
            exit 1
            error: `plugin.toml`: the file is not a WebAssembly component: it does not begin like one
            hint: build it for `wasm32-wasip2`
        "#]],
    );
    let named = ["plugin", "build", "--component", &component, "--manifest", "plugin.toml", "--output", "list.wasm"];
    succeed(&runtime, &named);
    let same = fs::read(runtime.project().join("list.wasm")).unwrap();
    assert!(same == fs::read(runtime.project().join("dist/acme-list.wasm")).unwrap());
}

/// A project may be anybody's. What is made lies where it is said to, and nothing beside it.
#[cfg(unix)]
#[test]
fn nothing_is_built_through_a_link() {
    let manifest = "id = \"acme:list\"\nversion = \"0.1.0\"\ntitle = \"List\"\ndescription = \"A list.\"\nlicense = \"MIT\"\n\
                    [capabilities]\nkv = { reason = \"remembers\" }\n";
    let runtime = Runtime::new().file("plugin.toml", manifest).file("dist/kept", "");
    let theirs = runtime.outside("theirs");
    fs::write(&theirs, "theirs").unwrap();
    for name in ["acme-list.wasm", "acme-list.new"] {
        std::os::unix::fs::symlink(&theirs, runtime.project().join("dist").join(name)).unwrap();
    }
    let component = build_folder().join("plugins/tasks.wasm").display().to_string();
    succeed(&runtime, &["plugin", "build", "--component", &component]);
    assert_eq!(fs::read_to_string(&theirs).unwrap(), "theirs");
    assert!(runtime.project().join("dist/acme-list.wasm").symlink_metadata().unwrap().is_file());
    let made: Vec<_> =
        fs::read_dir(runtime.project().join("dist")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(made.len(), 3, "{made:?}");
}
