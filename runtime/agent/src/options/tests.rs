//! Changes against the list that they lead to.

use std::fmt::Write as _;

use expect_test::expect;
use futures::stream::BoxStream;

use super::*;
use crate::model::{ModelError, ModelEvent, ModelRequest};

struct Named(String);

impl Model for Named {
    fn id(&self) -> &str {
        &self.0
    }

    fn stream(&self, _: ModelRequest) -> BoxStream<'_, Result<ModelEvent, ModelError>> {
        Box::pin(futures::stream::empty())
    }
}

/// Any model of the providers `lab` and `zoo`, whose configured ones are the field; begins with the first.
struct Shelf(&'static [&'static str]);

impl ModelSource for Shelf {
    fn list(&self) -> Vec<ModelChoice> {
        let choice = |id: &&str| ModelChoice {
            id: (*id).to_owned(),
            name: id.to_uppercase(),
            group: id.split_once('/').map(|(provider, _)| provider.to_owned()),
        };
        self.0.iter().map(choice).collect()
    }

    fn open(&self, id: Option<&str>) -> Result<Arc<dyn Model>, String> {
        let id = id.unwrap_or(self.0[0]);
        if self.0.contains(&id) || id.starts_with("lab/") {
            Ok(Arc::new(Named(id.to_owned())))
        } else {
            Err(format!("no provider for the model `{id}`"))
        }
    }
}

fn plugin(id: &str) -> PluginChoice {
    PluginChoice { id: PluginId::new(id).unwrap(), title: id.to_uppercase(), description: "Does things.".to_owned() }
}

fn begun(choices: Choices) -> Options {
    let plugins = vec![plugin("aar:notes"), plugin("aar:tasks")];
    Options::new(choices, Arc::new(Shelf(&["lab/small", "zoo/large"])), plugins).unwrap()
}

fn options() -> Options {
    begun(Choices::default())
}

/// Each option with its value and what it can be, one a line.
fn shown(options: &Options) -> String {
    let mut text = String::new();
    for option in options.list() {
        let kind = match &option.kind {
            OptionKind::Flag { on } => on.to_string(),
            OptionKind::Select { current, groups } => {
                let groups = groups.iter().map(|group| {
                    let values: Vec<&str> = group.choices.iter().map(|choice| choice.value.as_str()).collect();
                    let title = group.title.as_ref().map_or(String::new(), |title| format!("{title}: "));
                    format!("{title}{}", values.join(" "))
                });
                format!("{current} of {}", groups.collect::<Vec<_>>().join(" | "))
            }
        };
        let _ = writeln!(text, "{} ({:?}) {kind}", option.id, option.category);
    }
    text
}

/// The mode and the three flags, as a client sees them.
fn flags(options: &Options) -> (&'static str, bool, bool, bool) {
    let on = |id: &str| {
        let option = options.list().into_iter().find(|option| option.id == id).unwrap();
        option.kind == OptionKind::Flag { on: true }
    };
    (options.mode().id(), on(id::AUTO_APPROVE_WRITES), on(id::AUTO_APPROVE_EXECUTE), on(id::READ_ONLY))
}

#[test]
fn the_list_has_everything_in_order() {
    expect![[r"
        mode (Mode) review of review auto-edit auto read-only plan
        model (Model) lab/small of lab: lab/small | zoo: zoo/large
        reasoning_effort (ThoughtLevel) default of default none minimal low medium high xhigh max
        auto_approve_writes (Permissions) false
        auto_approve_execute (Permissions) false
        read_only (Permissions) false
        plugin:aar:notes (Plugins) true
        plugin:aar:tasks (Plugins) true
    "]]
    .assert_eq(&shown(&options()));
}

#[test]
fn one_provider_makes_a_flat_list() {
    let one = Options::new(Choices::default(), Arc::new(Shelf(&["lab/small", "lab/large"])), Vec::new()).unwrap();
    assert!(shown(&one).contains("model (Model) lab/small of lab/small lab/large\n"), "{}", shown(&one));
    one.set_model("lab/unlisted").unwrap();
    let listed = shown(&one);
    assert!(listed.contains("lab/unlisted of lab: lab/small lab/large | Other: lab/unlisted\n"), "{listed}");
}

#[test]
fn a_mode_sets_all_flags_and_a_flag_sets_one() {
    let options = options();
    let set = |id: &str, value| options.set(id, value).unwrap();
    for (id, value, expected) in [
        (id::MODE, OptionValue::Id("auto"), ("auto", true, true, false)),
        (id::MODE, OptionValue::Id("read-only"), ("read-only", false, false, true)),
        (id::MODE, OptionValue::Id("review"), ("review", false, false, false)),
        (id::AUTO_APPROVE_EXECUTE, OptionValue::Flag(true), ("review", false, true, false)),
        (id::AUTO_APPROVE_WRITES, OptionValue::Flag(true), ("auto", true, true, false)),
        (id::AUTO_APPROVE_EXECUTE, OptionValue::Id("false"), ("auto-edit", true, false, false)),
        (id::READ_ONLY, OptionValue::Id("true"), ("read-only", false, false, true)),
        (id::AUTO_APPROVE_EXECUTE, OptionValue::Flag(true), ("read-only", false, false, true)),
        (id::READ_ONLY, OptionValue::Flag(false), ("auto", true, true, false)),
        (id::MODE, OptionValue::Id("plan"), ("plan", false, false, true)),
        (id::READ_ONLY, OptionValue::Flag(true), ("plan", false, false, true)),
        (id::READ_ONLY, OptionValue::Flag(false), ("review", false, false, false)),
    ] {
        set(id, value);
        assert_eq!(flags(&options), expected, "after {id} {value:?}");
    }
}

#[test]
fn what_is_not_offered_is_refused_and_changes_nothing() {
    let options = options();
    let before = options.list();
    for (id, value, error) in [
        ("mod", OptionValue::Id("auto"), "there is no option `mod`"),
        ("plugin:aar:absent", OptionValue::Flag(false), "there is no option `plugin:aar:absent`"),
        ("plugin:", OptionValue::Flag(false), "there is no option `plugin:`"),
        (id::MODE, OptionValue::Id("a\u{202e}\nb"), "`mode` does not have the value `a b`"),
        (id::MODE, OptionValue::Id("yolo"), "`mode` does not have the value `yolo`"),
        (id::MODE, OptionValue::Flag(true), "`mode` does not have the value `true`"),
        (id::MODEL, OptionValue::Id("lab/unlisted"), "`model` does not have the value `lab/unlisted`"),
        (id::MODEL, OptionValue::Flag(true), "`model` does not have the value `true`"),
        (id::REASONING_EFFORT, OptionValue::Id("huge"), "`reasoning_effort` does not have the value `huge`"),
        (id::READ_ONLY, OptionValue::Id("yes"), "`read_only` does not have the value `yes`"),
        ("plugin:aar:tasks", OptionValue::Id("off"), "`plugin:aar:tasks` does not have the value `off`"),
    ] {
        assert_eq!(options.set(id, value).unwrap_err().to_string(), error, "{id} {value:?}");
    }
    let OptionError::Value { available, .. } = options.set(id::MODE, OptionValue::Id("yolo")).unwrap_err() else {
        panic!("a value was refused");
    };
    assert_eq!(available, Mode::ALL.map(Mode::id));
    assert_eq!(options.set_model("absent/x"), Err(OptionError::Model("no provider for the model `absent/x`".into())));
    assert_eq!(options.list(), before);
}

#[test]
fn every_listed_value_can_be_chosen_and_then_holds() {
    let options = options();
    for option in options.list() {
        for value in option.values() {
            options.set(&option.id, OptionValue::Id(value)).unwrap();
            let now = options.list().into_iter().find(|now| now.id == option.id).unwrap();
            let holds = match now.kind {
                OptionKind::Select { current, .. } => current,
                OptionKind::Flag { on } => on.to_string(),
            };
            // Approving is not shown while read-only; that one comes after them in the list.
            assert_eq!(holds, value, "{}", option.id);
        }
        options.set_mode(Mode::Review);
    }
}

#[test]
fn the_model_that_is_asked_is_not_opened_anew() {
    let options = options();
    let before = options.seat().get().0;
    options.set(id::MODEL, OptionValue::Id("lab/small")).unwrap();
    assert!(Arc::ptr_eq(&before, &options.seat().get().0));
    options.set(id::MODEL, OptionValue::Id("zoo/large")).unwrap();
    assert_eq!(options.seat().get().0.id(), "zoo/large");
}

#[test]
fn a_fork_begins_with_what_was_chosen() {
    let parent = options();
    parent.set(id::AUTO_APPROVE_EXECUTE, OptionValue::Flag(true)).unwrap();
    parent.set(id::MODEL, OptionValue::Id("zoo/large")).unwrap();
    parent.set(id::REASONING_EFFORT, OptionValue::Id("high")).unwrap();
    parent.set("plugin:aar:tasks", OptionValue::Flag(false)).unwrap();
    let child = begun(parent.choices());
    assert_eq!(child.list(), parent.list());
    let without_plugins = Options::new(parent.choices(), Arc::new(Shelf(&["lab/small", "zoo/large"])), Vec::new());
    assert_eq!(without_plugins.unwrap().bounds(), parent.bounds(), "a plugin that is off comes back off");
    child.set_mode(Mode::Plan);
    assert_eq!(parent.mode(), Mode::Review, "from then on each goes its own way");
    let poorer = Options::new(parent.choices(), Arc::new(Shelf(&["lab/small"])), Vec::new());
    assert!(matches!(poorer, Err(OptionError::Model(_))));
}

#[test]
fn a_switched_off_plugin_has_nothing() {
    let options = options();
    let tasks = PluginId::new("aar:tasks").unwrap();
    let notes = PluginId::new("aar:notes").unwrap();
    options.set("plugin:aar:tasks", OptionValue::Flag(false)).unwrap();
    let lets = |plugin| options.switches().lets(plugin);
    assert_eq!((lets(Some(&tasks)), lets(Some(&notes)), lets(None)), (false, true, true));
    options.set("plugin:aar:tasks", OptionValue::Id("true")).unwrap();
    assert!(options.switches().lets(Some(&tasks)));
}
