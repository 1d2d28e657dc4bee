//! A guest over wasmtime's own WASI, with nothing of ours in between.

use std::path::Path;

use wasmtime::component::types::ComponentFunc;
use wasmtime::component::{Component, InstancePre, Linker, ResourceTable, Type, Val};
use wasmtime::{Config, Engine, Store, StoreContextMut};
use wasmtime_wasi::{FsPerms, WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};

/// A compiled guest.
pub(crate) struct Stock {
    engine: Engine,
    guest: InstancePre<State>,
}

struct State {
    wasi: WasiCtx,
    table: ResourceTable,
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl Stock {
    pub(crate) fn new(component: &[u8]) -> Self {
        let engine = Engine::new(&Config::new()).unwrap();
        let component = Component::new(&engine, component).unwrap();
        let mut linker = Linker::new(&engine);
        wasmtime_wasi::p2::add_to_linker_async(&mut linker).unwrap();
        own(&mut linker);
        let guest = linker.instantiate_pre(&component).unwrap();
        Self { engine, guest }
    }

    /// Calls a tool in a fresh instance, which sees `root` and may read it, and shows what it answers.
    pub(crate) async fn call(&self, root: &Path, tool: &str, arguments: &str) -> String {
        let mut wasi = WasiCtxBuilder::new();
        wasi.preopened_dir(root, "/workspace", FsPerms::ReadOnly).unwrap();
        let mut store = Store::new(&self.engine, State { wasi: wasi.build(), table: ResourceTable::new() });
        let instance = self.guest.instantiate_async(&mut store).await.unwrap();
        let interface = instance.get_export_index(&mut store, None, "aar:tool/tool@0.1.0").unwrap();
        let call = instance.get_export_index(&mut store, Some(&interface), "call").unwrap();
        let call = instance.get_func(&mut store, call).unwrap();
        let context = call.ty(&store).params().nth(2).map(|(_, context)| least(&context)).unwrap();
        let mut outcome = [Val::Bool(false)];
        let arguments = [Val::String(tool.to_owned()), Val::String(arguments.to_owned()), context];
        call.call_async(&mut store, &arguments, &mut outcome).await.unwrap();
        assert!(matches!(outcome, [Val::Result(Ok(_))]), "{outcome:?}");
        format!("{outcome:?}")
    }
}

/// What plugins import beside WASI, as if there were nothing behind it but one folder.
fn own(linker: &mut Linker<State>) {
    let text = |text: &str| Val::String(text.to_owned());
    let field = |name: &str, value: Val| (name.to_owned(), value);
    let folder =
        vec![field("path", text("/workspace")), field("name", text("project")), field("extra", Val::List(Vec::new()))];
    let roots = Val::List(vec![Val::Record(folder)]);
    for (interface, functions) in [
        ("settings", vec![("get", text("{}"))]),
        (
            "kv",
            vec![
                ("get", Val::Result(Ok(Some(Box::new(Val::Option(None)))))),
                ("set", Val::Result(Ok(Some(Box::new(Val::U64(1)))))),
            ],
        ),
        ("progress", vec![("cancelled", Val::Bool(false)), ("emit", Val::Bool(false))]),
        ("panel", vec![("changed", Val::Bool(false))]),
        ("log", vec![("emit", Val::Bool(false))]),
        ("workspace", vec![("roots", roots)]),
    ] {
        let mut instance = linker.instance(&format!("aar:host/{interface}@0.1.0")).unwrap();
        for (name, value) in functions {
            let answer = move |_: StoreContextMut<'_, State>, _: ComponentFunc, _: &[Val], results: &mut [Val]| {
                results.iter_mut().for_each(|result| *result = value.clone());
                Ok(())
            };
            instance.func_new(name, answer).unwrap();
        }
    }
}

/// The least value of a type, as far as a call's context needs it.
fn least(kind: &Type) -> Val {
    match kind {
        Type::String => Val::String(String::new()),
        // Time that is left, in milliseconds.
        Type::U64 => Val::U64(600_000),
        Type::List(_) => Val::List(Vec::new()),
        Type::Record(record) => {
            Val::Record(record.fields().map(|field| (field.name.to_owned(), least(&field.ty))).collect())
        }
        other => panic!("no value for {other:?}"),
    }
}
