//! The macro that makes a component out of tools, panels, commands and a hook.

/// Exports tools, panels, commands and the hook, each where there is one, in this order. Once in a plugin.
///
/// The component exports the interfaces that are named here and no others. Names are checked when it is built.
///
/// ```
/// # use acp_plugin::{Command, Reply, Result};
/// # struct Hello;
/// # impl Command for Hello {
/// #     const NAME: &str = "hello";
/// #     const DESCRIPTION: &str = "Says hello.";
/// #     fn run(_: &str) -> Result<Reply> { Ok(Reply::text("Hello!")) }
/// # }
/// acp_plugin::export! { commands: [Hello] }
/// ```
#[macro_export]
macro_rules! export {
    (
        $(tools: [$($tool:ty),+ $(,)?] $(,)?)?
        $(panels: [$($panel:ty),+ $(,)?] $(,)?)?
        $(commands: [$($command:ty),+ $(,)?] $(,)?)?
        $(hook: $hook:ty $(,)?)?
    ) => {
        $(const _: () = {
            const ENTRIES: &[$crate::tool::Entry] = &[$($crate::tool::Entry::of::<$tool>()),+];
            $crate::names::check(&[$(<$tool as $crate::Tool>::NAME),+]);
            $crate::__export_interface! { tool ENTRIES }
        };)?
        $(const _: () = {
            const ENTRIES: &[$crate::panel::Entry] = &[$($crate::panel::Entry::of::<$panel>()),+];
            $crate::names::check(&[$(<$panel as $crate::Panel>::NAME),+]);
            $crate::__export_interface! { panel ENTRIES }
        };)?
        $(const _: () = {
            const ENTRIES: &[$crate::command::Entry] = &[$($crate::command::Entry::of::<$command>()),+];
            $crate::names::check(&[$(<$command as $crate::Command>::NAME),+]);
            $crate::__export_interface! { command ENTRIES }
        };)?
        $(const _: () = {
            $crate::__export_interface! { hook $hook }
        };)?
    };
}

/// One exported interface over its table of entries. Outside WebAssembly there is nothing to export, and the table is
/// only named so that the compiler sees it used.
#[doc(hidden)]
#[macro_export]
macro_rules! __export_interface {
    (tool $entries:ident) => {
        #[cfg(target_arch = "wasm32")]
        struct Component;

        #[cfg(target_arch = "wasm32")]
        impl $crate::rt::tool::interface::Guest for Component {
            fn list_tools() -> Vec<$crate::rt::tool::interface::ToolDef> {
                $crate::tool::list($entries)
            }

            fn call(
                name: String,
                arguments: String,
                context: $crate::rt::tool::interface::CallContext,
            ) -> Result<$crate::rt::tool::interface::Outcome, $crate::rt::imports::types::Error> {
                $crate::tool::dispatch($entries, &name, &arguments, context)
            }
        }

        #[cfg(target_arch = "wasm32")]
        $crate::rt::tool::export_tool!(Component with_types_in $crate::rt::tool);

        #[cfg(not(target_arch = "wasm32"))]
        let _ = $entries;
    };
    (panel $entries:ident) => {
        #[cfg(target_arch = "wasm32")]
        struct Component;

        #[cfg(target_arch = "wasm32")]
        impl $crate::rt::panel::interface::Guest for Component {
            fn list_panels() -> Vec<$crate::rt::panel::interface::PanelDef> {
                $crate::panel::list($entries)
            }

            fn snapshot(
                panel: String,
            ) -> Result<$crate::rt::panel::interface::View, $crate::rt::imports::types::Error> {
                $crate::panel::snapshot($entries, &panel)
            }

            fn act(
                panel: String,
                action: String,
                node: $crate::rt::panel::interface::Node,
                arguments: String,
            ) -> Result<Option<String>, $crate::rt::imports::types::Error> {
                $crate::panel::act($entries, &panel, action, node, &arguments)
            }
        }

        #[cfg(target_arch = "wasm32")]
        $crate::rt::panel::export_panel!(Component with_types_in $crate::rt::panel);

        #[cfg(not(target_arch = "wasm32"))]
        let _ = $entries;
    };
    (command $entries:ident) => {
        #[cfg(target_arch = "wasm32")]
        struct Component;

        #[cfg(target_arch = "wasm32")]
        impl $crate::rt::command::interface::Guest for Component {
            fn list_commands() -> Vec<$crate::rt::command::interface::CommandDef> {
                $crate::command::list($entries)
            }

            fn run(
                name: String,
                arguments: String,
            ) -> Result<$crate::rt::command::interface::Reply, $crate::rt::imports::types::Error> {
                $crate::command::run($entries, &name, &arguments)
            }
        }

        #[cfg(target_arch = "wasm32")]
        $crate::rt::command::export_command!(Component with_types_in $crate::rt::command);

        #[cfg(not(target_arch = "wasm32"))]
        let _ = $entries;
    };
    (hook $hook:ty) => {
        #[cfg(target_arch = "wasm32")]
        struct Component;

        #[cfg(target_arch = "wasm32")]
        impl $crate::rt::hooks::interface::Guest for Component {
            fn list_events() -> Vec<String> {
                $crate::hook::list::<$hook>()
            }

            fn handle(
                occurrence: $crate::rt::hooks::interface::Occurrence,
            ) -> Result<$crate::rt::hooks::interface::Decision, $crate::rt::imports::types::Error> {
                $crate::hook::handle::<$hook>(occurrence)
            }
        }

        #[cfg(target_arch = "wasm32")]
        $crate::rt::hooks::export_hooks!(Component with_types_in $crate::rt::hooks);

        #[cfg(not(target_arch = "wasm32"))]
        let _ = <$hook as $crate::Hook>::EVENTS;
    };
}
