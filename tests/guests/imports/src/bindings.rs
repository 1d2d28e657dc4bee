//! The generated functions: all that the world of plugins with WASI imports.

#![allow(missing_docs, unreachable_pub, clippy::pedantic, reason = "generated from WIT, where the docs are")]
#![allow(unsafe_code, reason = "the canonical ABI passes pointers; the generated code is the only place that does")]

wit_bindgen::generate!({
    path: [
        "../../../wit/deps/io.wit",
        "../../../wit/deps/clocks.wit",
        "../../../wit/deps/random.wit",
        "../../../wit/deps/filesystem.wit",
        "../../../wit/deps/sockets.wit",
        "../../../wit/deps/cli.wit",
        "../../../wit/deps/http.wit",
        "../../../wit/types",
        "../../../wit/host",
        "../../../wit/tool",
        "../../../wit/panel",
        "../../../wit/command",
        "../../../wit/hooks",
        "../../../wit/plugin",
        "../../../wit/plugin-wasi",
    ],
    world: "aar:plugin-wasi/imports@0.1.0",
    generate_all,
});
