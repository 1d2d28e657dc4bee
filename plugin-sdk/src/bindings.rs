//! The generated types and functions.
//!
//! One world for what a plugin imports, and one for each interface that it may export, so that a component exports
//! what it has and nothing else. Imports that a plugin does not use are left out when its component is made.

#![allow(missing_docs, unreachable_pub, clippy::pedantic, reason = "generated from WIT, where the docs are")]
#![allow(unsafe_code, reason = "the canonical ABI passes pointers; the generated code is the only place that does")]

/// `aar:types` and everything in `aar:host`.
pub mod imports {
    wit_bindgen::generate!({
        path: ["../wit/types", "../wit/host"],
        inline: "
            package aar:sdk;
            world imports {
                import aar:types/types@0.1.0;
                import aar:host/log@0.1.0;
                import aar:host/progress@0.1.0;
                import aar:host/http@0.1.0;
                import aar:host/secrets@0.1.0;
                import aar:host/kv@0.1.0;
                import aar:host/workspace@0.1.0;
                import aar:host/plan@0.1.0;
                import aar:host/panel@0.1.0;
                import aar:host/settings@0.1.0;
                import aar:host/process@0.1.0;
                import aar:host/session@0.1.0;
                import aar:host/prompt@0.1.0;
            }
        ",
        generate_all,
        generate_unused_types: true,
    });

    pub use self::aar::host;
    pub use self::aar::types::types;
}

/// The export `aar:tool/tool`.
pub mod tool {
    wit_bindgen::generate!({
        path: ["../wit/types", "../wit/tool"],
        inline: "package aar:sdk; world tool-export { export aar:tool/tool@0.1.0; }",
        with: { "aar:types/types@0.1.0": super::imports::types },
        pub_export_macro: true,
        export_macro_name: "export_tool",
    });

    pub use self::exports::aar::tool::tool as interface;
}

/// The export `aar:panel/panel`.
pub mod panel {
    wit_bindgen::generate!({
        path: ["../wit/types", "../wit/panel"],
        inline: "package aar:sdk; world panel-export { export aar:panel/panel@0.1.0; }",
        with: { "aar:types/types@0.1.0": super::imports::types },
        pub_export_macro: true,
        export_macro_name: "export_panel",
    });

    pub use self::exports::aar::panel::panel as interface;
}

/// The export `aar:command/command`.
pub mod command {
    wit_bindgen::generate!({
        path: ["../wit/types", "../wit/command"],
        inline: "package aar:sdk; world command-export { export aar:command/command@0.1.0; }",
        with: { "aar:types/types@0.1.0": super::imports::types },
        pub_export_macro: true,
        export_macro_name: "export_command",
    });

    pub use self::exports::aar::command::command as interface;
}

/// The export `aar:hooks/hooks`.
pub mod hooks {
    wit_bindgen::generate!({
        path: ["../wit/types", "../wit/hooks"],
        inline: "package aar:sdk; world hooks-export { export aar:hooks/hooks@0.1.0; }",
        with: { "aar:types/types@0.1.0": super::imports::types },
        pub_export_macro: true,
        export_macro_name: "export_hooks",
    });

    pub use self::exports::aar::hooks::hooks as interface;
}
