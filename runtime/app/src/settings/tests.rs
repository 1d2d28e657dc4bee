//! The text of files against the values or the errors that they give.

use std::time::Duration;

use acp_runtime_agent::capability::{Effect, GrantSet, PathGlob, PathScope, RootId};
use acp_runtime_agent::policy::{Decision, Rule};
use acp_runtime_agent::session::OnBusy;
use acp_runtime_host::limits::{Kind, LIMITS, Unit};

use super::*;
use crate::workspace::RootRegistry;

struct Home {
    folder: tempfile::TempDir,
    paths: Paths,
}

impl Home {
    fn new(config: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let paths = Paths::under(folder.path()).unwrap();
        std::fs::write(paths.config(), config).unwrap();
        Self { folder, paths }
    }

    fn load(&self, overrides: Overrides) -> Result<Settings, String> {
        Settings::load(&self.paths, overrides).map_err(|error| self.shown(&error))
    }

    fn in_project(&self, settings: &Settings, config: &str) -> Result<ProjectSettings, String> {
        let project = self.folder.path().join("project");
        std::fs::create_dir_all(project.join(".acp-runtime")).unwrap();
        std::fs::write(project.join(PROJECT_FILE), config).unwrap();
        let root = RootRegistry::default().open(&project).unwrap();
        settings.in_project(&root).map_err(|error| self.shown(&error))
    }

    /// The message and its hint, without the folder of this test.
    fn shown(&self, error: &SettingsError) -> String {
        format!("{error} ({})", error.hint()).replace(&format!("{}/", self.folder.path().display()), "")
    }
}

fn load(config: &str) -> Result<Settings, String> {
    Home::new(config).load(Overrides::default())
}

#[test]
fn nothing_is_needed() {
    let folder = tempfile::tempdir().unwrap();
    let paths = Paths::under(&folder.path().join("absent")).unwrap();
    let settings = Settings::load(&paths, Overrides::default()).unwrap();
    assert_eq!((settings.model.as_deref(), settings.mode), (None, Mode::Review));
    assert_eq!(settings.prompt.on_busy(), OnBusy::Queue(16));
    assert_eq!(settings.permission.timeout.duration(), None);
    assert_eq!((settings.limits.turn().model_requests, settings.limits.turn().tool_output), (50, 65536));
    assert_eq!(settings.log.level.as_str(), "warn");
    assert_eq!((settings.shell.timeout.get(), settings.shell.max_timeout.get()), (60, 600));
    assert_eq!(settings.shell.containment, Containment::Landlock);
    assert!(settings.plugins.bundled);
    assert_eq!(settings.files.denied().len(), FilesSettings::BUILTIN.len());
}

#[test]
fn every_key_is_read() {
    let home = Home::new(
        r#"
        model = "lab/small"
        mode = "read-only"
        [prompt]
        on_busy = "reject"
        [permission]
        timeout = 2.5
        deny = ["run", "write:migrations/**"]
        [files]
        deny = ["secrets/**"]
        builtin_deny = false
        [shell]
        timeout = 5
        max_timeout = 50
        containment = "none"
        writable = ["cache", "/abs/cache"]
        inherit = ["SSH_AUTH_SOCK"]
        [plugins]
        bundled = false
        disabled = ["aar:tasks"]
        paths = ["mine", "/abs/x.wasm"]
        [plugins.settings."aar:notes"]
        folder = "notes"
        [limits]
        model_requests = 3
        tool_output = 1024
        [log]
        level = "acp_runtime=debug,warn"
        file = "run.log"
        [providers.lab]
        wire = "openai-chat"
        model = "small"
        [mcp.files]
        command = "files"
        "#,
    );
    let settings = home.load(Overrides::default()).unwrap();
    assert_eq!((settings.model.as_deref(), settings.mode), (Some("lab/small"), Mode::ReadOnly));
    assert_eq!(settings.prompt.on_busy(), OnBusy::Reject);
    assert_eq!(settings.permission.timeout.duration(), Some(std::time::Duration::from_millis(2500)));
    assert_eq!(settings.files.denied(), [PathGlob::subtree("secrets")]);
    assert_eq!((settings.shell.timeout.get(), settings.shell.max_timeout.get()), (5, 50));
    assert_eq!(settings.shell.containment, Containment::None);
    assert_eq!(settings.shell.writable, [home.folder.path().join("cache"), PathBuf::from("/abs/cache")]);
    assert_eq!(settings.shell.variables().last(), Some("SSH_AUTH_SOCK"));
    assert_eq!(settings.plugins.disabled.iter().map(|id| id.as_str()).collect::<Vec<_>>(), ["aar:tasks"]);
    assert_eq!(settings.plugins.paths, [home.folder.path().join("mine"), PathBuf::from("/abs/x.wasm")]);
    assert_eq!(settings.plugins.settings.values().next().unwrap()["folder"], "notes");
    assert_eq!(settings.limits.turn().model_requests, 3);
    assert_eq!(settings.log.file, Some(home.folder.path().join("run.log")));
    assert!(settings.providers.contains_key("lab"));
    assert!(settings.mcp.contains_key("files"));
}

#[test]
fn a_broken_file_is_an_error_with_its_place() {
    for (config, error) in [
        ("moddel = 'x'", "config.toml:1:1: unknown key `moddel` (did you mean `model`?)"),
        ("\n[log]\n  levle = 'x'", "config.toml:3:3: unknown key `levle` (did you mean `level`?)"),
        ("colour = 1", "config.toml:1:1: unknown key `colour`"),
        (
            "[providers.x]\nwire='ollama'\nmodel='m'\nbase='y'",
            "config.toml:4:1: unknown key `base` (did you mean `base_url`?)",
        ),
        (
            "mode = 'yolo'",
            "config.toml:1:8: `mode`: unknown value `yolo`, expected one of `review`, `auto-edit`, `auto`, `read-only`, `plan`",
        ),
        ("model = ", "config.toml:1:9: `model`: string values must be quoted, expected literal string"),
        (
            "[permission]\ntimeout = -1",
            "config.toml:2:11: `timeout`: `-1` is not a time to wait: expected seconds, or 0 to wait without end",
        ),
        (
            "[permission]\ntimeout = nan",
            "config.toml:2:11: `timeout`: `NaN` is not a time to wait: expected seconds, or 0 to wait without end",
        ),
        (
            "[permission]\ntimeout = inf",
            "config.toml:2:11: `timeout`: `inf` is not a time to wait: expected seconds, or 0 to wait without end",
        ),
        (
            "[permission]\ntimeout = true",
            "config.toml:2:11: `timeout`: boolean `true` is not what belongs there: expected a number",
        ),
        (
            "[permission]\ntimeout = '5'",
            "config.toml:2:11: `timeout`: string \"5\" is not what belongs there: expected a number",
        ),
        ("[files]\ndeny = ['a', '../b/**']", "config.toml:2:8: `deny`: `../b/**` leaves the workspace"),
        (
            "[plugins]\ndisabled = ['tasks']",
            "config.toml:2:12: `disabled`: `tasks` is not a valid plugin id: expected `namespace:name` of lower-case letters, digits and `-`",
        ),
        (
            "[limits]\nmodel_requests = 0",
            "config.toml:2:18: `model_requests`: integer `0` is not what belongs there: expected a whole number, at least 1",
        ),
        (
            "[log]\nlevel = 'debgu'",
            "config.toml:2:9: `level`: `debgu` is not a log level: expected `off`, `error`, `warn`, `info`, `debug`, `trace`, or `room=level` pairs between commas",
        ),
        (
            "[shell]\ninherit = ['OPENAI_API_KEY']",
            "config.toml:2:11: `inherit`: `OPENAI_API_KEY` is not given to commands: it holds a secret, or is this program's own",
        ),
        (
            "[shell]\ntimeout = 0",
            "config.toml:2:11: `timeout`: integer `0` is not what belongs there: expected a whole number, at least 1",
        ),
        (
            "[shell]\ncontainment = 'docker'",
            "config.toml:2:15: `containment`: unknown value `docker`, expected `landlock` or `none`",
        ),
        ("mode = 'auto'\nmode = 'auto'", "config.toml:2:1: duplicate key"),
        ("model = 5", "config.toml:1:9: `model`: integer `5` is not what belongs there: expected a string"),
        ("prompt = { queue = 1, on_busy = 2 }", "config.toml:1:33: `on_busy`: wanted string or table"),
    ] {
        let general = " (see `acp-runtime config schema` for what can be there)";
        assert_eq!(load(config).unwrap_err().trim_end_matches(general), error, "{config}");
    }
}

#[test]
fn a_file_that_cannot_be_read_is_an_error() {
    let home = Home::new("");
    std::fs::write(home.paths.config(), [0xFF, 0xFE]).unwrap();
    assert!(
        home.load(Overrides::default()).unwrap_err().starts_with("`config.toml` cannot be read: it is not UTF-8 text")
    );
    std::fs::write(home.paths.config(), vec![b'#'; 2 << 20]).unwrap();
    assert!(home.load(Overrides::default()).unwrap_err().contains("it has more than 1048576 bytes"));
    std::fs::remove_file(home.paths.config()).unwrap();
    std::fs::create_dir(home.paths.config()).unwrap();
    assert!(
        home.load(Overrides::default())
            .unwrap_err()
            .starts_with("`config.toml` cannot be read: it is a folder, not a file")
    );
    let absent = Overrides { config: Some(home.folder.path().join("other.toml")), ..Overrides::default() };
    assert_eq!(home.load(absent).unwrap_err(), "`other.toml` does not exist (check the path, or leave the option out)");
}

#[test]
fn overrides_win() {
    let home = Home::new("model = 'a'\nmode = 'plan'\n[log]\nlevel = 'info'\nfile = 'a.log'");
    let overrides = Overrides {
        model: Some("b".to_owned()),
        mode: Some(Mode::Auto),
        log_level: Some("trace".parse().unwrap()),
        log_file: Some("b.log".into()),
        deny: vec!["fetch".parse().unwrap()],
        ..Overrides::default()
    };
    let settings = home.load(overrides).unwrap();
    assert_eq!((settings.model.as_deref(), settings.mode), (Some("b"), Mode::Auto));
    assert_eq!((settings.log.level.as_str(), settings.log.file.clone()), ("trace", Some("b.log".into())));
    assert_eq!(settings.permission.deny[0].to_string(), "fetch");
    // Not even a project changes what the person has just said.
    assert_eq!(home.in_project(&settings, "mode = 'plan'").unwrap().settings.mode, Mode::Auto);
}

#[test]
fn the_environment_stands_in_for_options() {
    let environment = |name: &str| match name {
        "ACP_RUNTIME_MODEL" => Some("a".to_owned()),
        "ACP_RUNTIME_MODE" => Some("plan".to_owned()),
        "ACP_RUNTIME_LOG" => Some("info".to_owned()),
        "ACP_RUNTIME_CONFIG" => Some("a.toml".to_owned()),
        _ => None,
    };
    let given = Overrides { model: Some("b".to_owned()), ..Overrides::default() };
    let overrides = given.or_environment(environment).unwrap();
    assert_eq!((overrides.model.as_deref(), overrides.mode), (Some("b"), Some(Mode::Plan)));
    assert_eq!((overrides.log_level, overrides.config), (Some("info".parse().unwrap()), Some("a.toml".into())));
    for (variable, problem) in [
        (
            "ACP_RUNTIME_MODE",
            "`ACP_RUNTIME_MODE` in the environment: there is no mode `yolo`: expected one of `review`, `auto-edit`",
        ),
        ("ACP_RUNTIME_LOG", "`ACP_RUNTIME_LOG` in the environment: `yolo` is not a log level"),
    ] {
        let environment = |name: &str| (name == variable).then(|| "yolo".to_owned());
        let error = Overrides::default().or_environment(environment).unwrap_err();
        assert!(error.to_string().starts_with(problem), "{error}");
    }
}

#[test]
fn a_project_narrows() {
    let home = Home::new("[files]\ndeny = ['a/**']\n[plugins]\ndisabled = ['aar:tasks']");
    let user = home.load(Overrides::default()).unwrap();
    let config = r#"
        mode = "read-only"
        files.deny = ["b/**"]
        permission.deny = ["run"]
        plugins.disabled = ["aar:notes"]
        limits.model_requests = 5
        limits.turn_seconds = 60
        limits.turn_tokens = 1000
        limits.turn_cost = 0.5
        limits.same_calls = 2
    "#;
    let ProjectSettings { settings, ignored } = home.in_project(&user, config).unwrap();
    assert!(ignored.is_empty(), "{ignored:?}");
    assert_eq!(settings.mode, Mode::ReadOnly);
    let limits = settings.limits.turn();
    assert_eq!((limits.model_requests, limits.same_calls), (5, 2));
    assert_eq!((limits.time, limits.tokens, limits.cost), (Some(Duration::from_secs(60)), Some(1000), Some(0.5)));
    assert_eq!(settings.plugins.disabled.len(), 2);
    let policy = settings.policy();
    for glob in ["a/x", "b/x", "deep/.env", ".git/hooks/pre-commit", "id_ed25519", "k.pem"] {
        let effect = Effect::Read(PathScope { root: RootId(0), glob: PathGlob::parse(glob).unwrap() });
        let decision = policy.decide(&effect, &GrantSet::native(), Mode::Auto);
        assert!(matches!(decision, Decision::Deny(Rule::DenyList(_))), "{glob}");
    }
}

#[test]
fn a_project_never_widens() {
    let home = Home::new("mode = 'review'\n[limits]\nmodel_requests = 5\nturn_cost = 2.5\nturn_tokens = 10");
    let user = home.load(Overrides::default()).unwrap();
    for (config, ignored) in [
        ("mode = 'auto'", "`mode = auto` is ignored: a project may only narrow the user's `review`"),
        ("mode = 'auto-edit'", "`mode = auto-edit` is ignored: a project may only narrow the user's `review`"),
        (
            "limits.model_requests = 6",
            "`limits.model_requests = 6` is ignored: a project may only narrow the user's `5`",
        ),
        ("limits.turn_cost = 0", "`limits.turn_cost = 0.0` is ignored: a project may only narrow the user's `2.5`"),
        ("limits.turn_tokens = 11", "`limits.turn_tokens = 11` is ignored: a project may only narrow the user's `10`"),
        ("limits.same_calls = 0", "`limits.same_calls = 0` is ignored: a project may only narrow the user's `3`"),
    ] {
        let narrowed = home.in_project(&user, config).unwrap();
        assert_eq!(narrowed.ignored.len(), 1, "{config}");
        assert!(narrowed.ignored[0].ends_with(ignored), "{config}: {:?}", narrowed.ignored);
        assert_eq!(narrowed.settings.mode, Mode::Review);
        assert_eq!(narrowed.settings.limits.turn().model_requests, 5);
    }
    for key in [
        "model = 'x'",
        "files.builtin_deny = false",
        "plugins.bundled = true",
        "plugins.paths = ['x']",
        "permission.timeout = 1",
        "shell.containment = 'none'",
        "providers.x.wire = 'ollama'",
        "log.file = 'x'",
    ] {
        let error = home.in_project(&user, key).unwrap_err();
        assert!(error.contains("unknown key `") && error.contains("may only narrow"), "{key}: {error}");
        assert!(error.starts_with("project/.acp-runtime/config.toml:1:"), "{key}: {error}");
    }
}

/// Each limit of the table can be set, for all plugins and, where it is not one for all, for one; and what is set holds.
#[test]
fn every_limit_of_plugins_can_be_set() {
    let id = PluginId::new("test:one").unwrap();
    for limit in LIMITS {
        let (amount, unit) = (*limit.range.end(), if limit.unit == Unit::Seconds { 1000 } else { 1 });
        let line = format!("{} = {}", limit.name, amount / unit);
        let settings = load(&format!("[limits.plugin]\n{line}")).unwrap();
        assert_eq!(limit.of(settings.plugin_limits().usual()), amount, "{line}");
        let single = load(&format!("[plugins.limits.\"test:one\"]\n{line}"));
        match limit.kind {
            Kind::Shared => assert!(single.unwrap_err().contains(&format!("unknown key `{}`", limit.name))),
            Kind::Most | Kind::Least => {
                let single = single.unwrap();
                let own = single.plugins.limits[&id].table().iter().map(|(limit, amount)| (limit.name, amount));
                assert_eq!(own.collect::<Vec<_>>(), [(limit.name, amount)]);
                assert_eq!(limit.of(single.plugin_limits().usual()), limit.default_amount(), "{line}");
            }
        }
    }
    let written =
        "[limits.plugin]\nwall_seconds = 0.5\nmemory = 2097152\n[plugins.limits.\"test:one\"]\ncpu_seconds = 2\n";
    let shown = toml::to_string(&load(written).unwrap()).unwrap();
    assert_eq!(toml::to_string(&load(&shown).unwrap()).unwrap(), shown);
    assert!(shown.contains("wall_seconds = 0.5\n") && shown.contains("memory = 2097152\n"), "{shown}");
}

#[test]
fn a_limit_of_plugins_out_of_its_range_is_an_error_with_its_place() {
    for (config, error) in [
        ("[limits.plugin]\nmemory = 5", "config.toml:2:10: `memory`: `5` is out of range: 1048576 to 1073741824 bytes"),
        ("[limits.plugin]\ncalls = -1", "config.toml:2:9: `calls`: `-1` is out of range: 1 to 64"),
        (
            "[limits.plugin]\nwall_seconds = 301",
            "config.toml:2:16: `wall_seconds`: `301` is out of range: 0.1 to 300 seconds",
        ),
        (
            "[limits.plugin]\nwall_seconds = nan",
            "config.toml:2:16: `wall_seconds`: `NaN` is out of range: 0.1 to 300 seconds",
        ),
        (
            "[limits.plugin]\nhook_milliseconds = 9",
            "config.toml:2:21: `hook_milliseconds`: `9` is out of range: 10 to 5000 milliseconds",
        ),
        (
            "[limits.plugin]\ncalls = 1.5",
            "config.toml:2:9: `calls`: floating point `1.5` is not what belongs there: expected a whole number",
        ),
        (
            "[limits.plugin]\nmemory = '64 MiB'",
            "config.toml:2:10: `memory`: string \"64 MiB\" is not what belongs there: expected a whole number",
        ),
        ("[limits.plugin]\nmemmory = 5", "config.toml:2:1: unknown key `memmory` (did you mean `memory`?)"),
        ("[plugins.limits.'test:one']\ncompile_secs = 5", "config.toml:2:1: unknown key `compile_secs`"),
        (
            "[plugins.limits.one]\nmemory = 5",
            "config.toml:1:17: `one` is not a valid plugin id: expected `namespace:name` of lower-case letters, digits and `-`",
        ),
        ("[limits]\nhook_payload = 5", "config.toml:2:16: `hook_payload`: `5` is out of range: 1024 to 16777216"),
    ] {
        let general = " (see `acp-runtime config schema` for what can be there)";
        assert_eq!(load(config).unwrap_err().trim_end_matches(general), error, "{config}");
    }
}

#[test]
fn a_project_narrows_the_limits_of_plugins() {
    let home = Home::new("[limits.plugin]\nmemory = 33554432\n[limits]\nhook_payload = 4096");
    let user = home.load(Overrides::default()).unwrap();
    assert!(user.narrowed_limits().is_empty());
    let config = "limits.hook_payload = 8192\n[limits.plugin]\nmemory = 67108864\ncalls = 2\nnotice_milliseconds = 500\n\
                  wall_seconds = 90\n";
    let ProjectSettings { settings, ignored } = home.in_project(&user, config).unwrap();
    let narrowed: Vec<_> = settings.narrowed_limits().iter().map(|(limit, amount)| (limit.name, amount)).collect();
    assert_eq!(narrowed, [("notice_milliseconds", 500), ("calls", 2)]);
    let told = [
        "`limits.hook_payload = 8192` is ignored: a project may only narrow the user's `4096`",
        "`limits.plugin.memory = 67108864` is ignored: a project may only narrow the user's `33554432`",
        "`limits.plugin.wall_seconds = 90` is ignored: a project may only narrow the user's `60`",
    ];
    assert_eq!(ignored.len(), told.len());
    for (ignored, told) in ignored.iter().zip(told) {
        assert!(ignored.ends_with(told), "{ignored}");
    }
    for (key, unknown) in
        [("limits.plugin.stack = 100000", "stack"), ("plugins.limits.'a:b'.memory = 1048576", "limits")]
    {
        let error = home.in_project(&user, key).unwrap_err();
        assert!(error.contains(&format!("unknown key `{unknown}`")), "{key}: {error}");
    }
}

#[test]
fn every_builtin_denial_is_a_pattern() {
    for glob in FilesSettings::BUILTIN {
        assert!(PathGlob::parse_in_any_case(glob).is_ok(), "{glob}");
    }
    let files = FilesSettings::default();
    assert_eq!(files.fixed().count(), FilesSettings::BUILTIN_FIXED.len());
    assert_eq!(FilesSettings { builtin_deny: false, ..files }.fixed().count(), 0);
}

#[test]
fn what_is_shown_can_be_read_again_and_holds_no_secret() {
    let config = "model = 'lab'\n[permission]\ndeny = ['run']\n[providers.lab]\nwire = 'openai-chat'\nmodel = 'm'\napi_key = 'sk-123'\n";
    let shown = toml::to_string(&load(config).unwrap()).unwrap();
    assert!(!shown.contains("sk-123") && shown.contains("****"), "{shown}");
    let again = toml::to_string(&load(&shown).unwrap()).unwrap();
    assert_eq!(again, shown);
}

#[test]
fn the_schema_knows_every_section() {
    let schema = schema();
    for section in [
        "model",
        "mode",
        "prompt",
        "permission",
        "files",
        "shell",
        "exec",
        "plugins",
        "limits",
        "log",
        "providers",
        "mcp",
    ] {
        assert!(schema["properties"].get(section).is_some(), "{section}");
    }
    assert_eq!(schema["additionalProperties"], false);
}
