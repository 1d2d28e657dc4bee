//! The store over files that are right and wrong, and over keyrings that work, fail and hang.

use std::sync::mpsc::{Receiver, Sender, channel};

use super::*;

/// A keyring in memory.
#[derive(Default)]
struct Memory {
    values: Mutex<HashMap<SecretId, Secret>>,
    asked: Mutex<Vec<String>>,
}

impl Memory {
    fn note(&self, what: &str, name: &SecretId) {
        self.asked.lock().unwrap().push(format!("{what} {name}"));
    }

    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }
}

impl Keyring for Memory {
    fn get(&self, name: &SecretId) -> Result<Option<Secret>, String> {
        self.note("get", name);
        Ok(self.values.lock().unwrap().get(name).cloned())
    }

    fn set(&self, name: &SecretId, secret: &Secret) -> Result<(), String> {
        self.note("set", name);
        self.values.lock().unwrap().insert(name.clone(), secret.clone());
        Ok(())
    }

    fn remove(&self, name: &SecretId) -> Result<(), String> {
        self.note("remove", name);
        self.values.lock().unwrap().remove(name);
        Ok(())
    }
}

/// A keyring that is not there.
struct Absent;

impl Keyring for Absent {
    fn get(&self, _: &SecretId) -> Result<Option<Secret>, String> {
        Err("no service".to_owned())
    }

    fn set(&self, _: &SecretId, _: &Secret) -> Result<(), String> {
        Err("no service".to_owned())
    }

    fn remove(&self, _: &SecretId) -> Result<(), String> {
        Err("no service".to_owned())
    }
}

/// A keyring that does not answer while the other end of its channel is there.
struct Silent(Mutex<Receiver<()>>);

impl Silent {
    fn new() -> (Self, Sender<()>) {
        let (end, waiting) = channel();
        (Self(Mutex::new(waiting)), end)
    }
}

impl Keyring for Silent {
    fn get(&self, _: &SecretId) -> Result<Option<Secret>, String> {
        let _ = self.0.lock().unwrap().recv();
        Ok(None)
    }

    fn set(&self, _: &SecretId, _: &Secret) -> Result<(), String> {
        Ok(())
    }

    fn remove(&self, _: &SecretId) -> Result<(), String> {
        Ok(())
    }
}

struct Folder {
    folder: tempfile::TempDir,
}

impl Folder {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("data/secrets.json")
    }

    fn store(&self, keeping: Keeping, keyring: Arc<dyn Keyring>) -> SecretStore {
        SecretStore::with(self.path(), keeping, Redaction::default(), keyring)
    }

    fn text(&self) -> String {
        std::fs::read_to_string(self.path()).unwrap()
    }
}

fn name(text: &str) -> SecretId {
    SecretId::try_from(text.to_owned()).unwrap()
}

fn value(store: &SecretStore, of: &str) -> Option<String> {
    store.get(&name(of), false).unwrap().map(|secret| secret.expose().to_owned())
}

#[test]
fn the_keyring_keeps_the_values_and_the_file_the_names() {
    let (place, keyring) = (Folder::new(), Arc::new(Memory::default()));
    let store = place.store(Keeping::Auto, keyring.clone());
    assert_eq!(store.list().unwrap(), []);
    assert_eq!(store.get(&name("lab"), false).unwrap(), None);
    assert!(!store.remove(&name("lab")).unwrap());
    assert!(!place.path().exists(), "nothing was kept yet");
    assert_eq!(keyring.asked(), [""; 0], "what the file does not name is not looked for");

    let kept = store.set(&name("lab"), &Secret::new("sk-in-the-keyring")).unwrap();
    assert_eq!(kept, Kept { place: Place::Keyring, no_keyring: None });
    assert!(!place.text().contains("sk-"), "{}", place.text());
    assert_eq!(store.list().unwrap(), [(name("lab"), Place::Keyring)]);
    keyring.asked();
    for _ in 0..3 {
        assert_eq!(value(&store, "lab").as_deref(), Some("sk-in-the-keyring"));
    }
    assert_eq!(keyring.asked(), ["get lab"], "it is asked once");
    store.get(&name("lab"), true).unwrap();
    assert_eq!(keyring.asked(), ["get lab"], "or when what it said is not accepted");

    assert!(store.remove(&name("lab")).unwrap());
    assert_eq!((value(&store, "lab"), keyring.asked()), (None, vec!["remove lab".to_owned()]));
    assert!(keyring.values.lock().unwrap().is_empty());
}

#[test]
fn what_another_process_does_is_seen() {
    let (place, keyring) = (Folder::new(), Arc::new(Memory::default()));
    let (ours, theirs) = (place.store(Keeping::Auto, keyring.clone()), place.store(Keeping::Auto, keyring));
    for key in ["sk-first", "sk-second"] {
        theirs.set(&name("lab"), &Secret::new(key)).unwrap();
        assert_eq!(value(&ours, "lab").as_deref(), Some(key));
    }
    theirs.remove(&name("lab")).unwrap();
    assert_eq!(value(&ours, "lab"), None);
}

#[test]
fn without_a_keyring_the_file_has_the_values() {
    let place = Folder::new();
    let store = place.store(Keeping::Auto, Arc::new(Absent));
    let kept = store.set(&name("lab"), &Secret::new("sk-in-the-file")).unwrap();
    assert_eq!(kept, Kept { place: Place::File, no_keyring: Some("no service".to_owned()) });
    store.set(&name("zoo"), &Secret::new("two\nlines, \"quoted\"")).unwrap();
    assert_eq!(store.list().unwrap(), [(name("lab"), Place::File), (name("zoo"), Place::File)]);
    assert_eq!(value(&store, "zoo").as_deref(), Some("two\nlines, \"quoted\""));
    assert!(store.remove(&name("zoo")).unwrap());

    let strict = place.store(Keeping::Keyring, Arc::new(Absent));
    let error = strict.set(&name("lab"), &Secret::new("sk-new")).unwrap_err();
    assert_eq!(error.to_string(), "the system's keyring cannot be used for `lab`: no service");
    assert_eq!(value(&strict, "lab").as_deref(), Some("sk-in-the-file"), "what was there stays");

    let (by_choice, keyring) = (Folder::new(), Arc::new(Memory::default()));
    let kept = by_choice.store(Keeping::File, keyring.clone()).set(&name("lab"), &Secret::new("sk-x")).unwrap();
    assert_eq!((kept.place, kept.no_keyring, keyring.asked().len()), (Place::File, None, 0));
}

#[test]
fn a_value_that_moves_leaves_nothing_behind() {
    let (place, keyring) = (Folder::new(), Arc::new(Memory::default()));
    place.store(Keeping::Auto, keyring.clone()).set(&name("lab"), &Secret::new("sk-old")).unwrap();
    place.store(Keeping::File, keyring.clone()).set(&name("lab"), &Secret::new("sk-new")).unwrap();
    assert!(keyring.values.lock().unwrap().is_empty());
    place.store(Keeping::Auto, keyring).set(&name("lab"), &Secret::new("sk-newer")).unwrap();
    assert!(!place.text().contains("sk-"));
}

#[test]
fn a_keyring_that_does_not_answer_is_not_waited_for() {
    let (silent, end) = Silent::new();
    let bounded = Bounded::new(Arc::new(silent));
    let soon = Duration::from_millis(50);
    for _ in 0..2 {
        let answer = bounded.ask(soon, |keyring| keyring.get(&name("lab")));
        assert_eq!(answer.unwrap_err(), "it did not answer within 0.05 s");
    }
    drop(end);
    let late = Duration::from_secs(60);
    assert_eq!(bounded.ask(late, |keyring| keyring.get(&name("lab"))), Ok(None), "it may come back");
    assert_eq!(bounded.ask(late, |_| -> Result<(), String> { panic!("a broken keyring") }), Err("it broke".to_owned()));
    assert_eq!(bounded.ask(late, |keyring| keyring.get(&name("lab"))), Ok(None));
}

#[test]
fn a_file_that_is_not_a_persons_own_is_not_used() {
    let place = Folder::new();
    let store = place.store(Keeping::File, Arc::new(Absent));
    store.set(&name("lab"), &Secret::new("sk-in-the-file")).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&place.path()), mode(place.path().parent().unwrap())), (0o600, 0o700));
        for wide in [0o640, 0o604, 0o620, 0o666] {
            std::fs::set_permissions(place.path(), std::fs::Permissions::from_mode(wide)).unwrap();
            let error = store.get(&name("lab"), false).unwrap_err();
            assert!(matches!(error, SecretsError::Exposed { .. }), "{error}");
            assert!(error.to_string().contains(&format!("its mode is {wide:o}")), "{error}");
            assert!(store.set(&name("lab"), &Secret::new("sk-new")).is_err());
        }
        std::fs::remove_file(place.path()).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", place.path()).unwrap();
        let error = store.list().unwrap_err();
        assert!(matches!(error, SecretsError::System { doing: "read", .. }), "{error}");
        assert!(error.to_string().ends_with("it is a link, not a file"), "{error}");
        std::fs::remove_file(place.path()).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, place.path(), rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        assert!(store.list().unwrap_err().to_string().ends_with("it is a named pipe, not a file"));
        std::fs::remove_file(place.path()).unwrap();
    }
    for (text, problem) in [
        ("", "cannot be understood (line 1, column 0)"),
        (r#"{"version":1,"secrets":{"lab":"sk-secret"}}"#, "cannot be understood (line 1, column 41)"),
        (r#"{"version":2,"secrets":{"lab installed":{"value":"sk-secret"}}}"#, "cannot be understood (line 1, column "),
        (r#"{"version":1,"secrets":{"a b":{"value":"sk-secret"}}}"#, "cannot be understood (line 1, column "),
        (r#"{"version":3,"keys":["sk-secret"]}"#, "have the format 3, which this version does not know"),
    ] {
        std::fs::write(place.path(), text).unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            std::fs::set_permissions(place.path(), std::fs::Permissions::from_mode(0o600)).unwrap();
        }
        let error = store.list().unwrap_err();
        assert!(error.to_string().contains(problem), "{error}");
        assert!(!format!("{error:?} {}", error.hint()).contains("sk-secret"), "{error:?}");
        assert!(store.set(&name("lab"), &Secret::new("sk-new")).is_err(), "what cannot be read is not overwritten");
        assert_eq!(place.text(), text);
    }
}

#[test]
fn processes_change_it_one_after_another() {
    let place = Folder::new();
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let store = place.store(Keeping::File, Arc::new(Absent));
            scope.spawn(move || {
                for number in 0..10 {
                    store.set(&name(&format!("s-{writer}-{number}")), &Secret::new("x".repeat(100))).unwrap();
                }
            });
        }
    });
    assert_eq!(place.store(Keeping::File, Arc::new(Absent)).list().unwrap().len(), 80);
    let left: Vec<_> =
        std::fs::read_dir(place.path().parent().unwrap()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "the file and its lock, and nothing else: {left:?}");
}

#[test]
fn what_was_fetched_is_kept_out_of_texts() {
    let place = Folder::new();
    place.store(Keeping::File, Arc::new(Absent)).set(&name("lab"), &Secret::new("a secret of ours")).unwrap();
    let redaction = Redaction::default();
    let store = SecretStore::with(place.path(), Keeping::File, redaction.clone(), Arc::new(Absent));
    assert_eq!(redaction.clean("a secret of ours"), "a secret of ours");
    store.get(&name("lab"), false).unwrap();
    assert_eq!(redaction.clean("a secret of ours"), "****");
}

#[test]
fn what_is_kept_for_one_publisher_s_plugin_is_none_of_another_s() {
    let (place, keyring) = (Folder::new(), Arc::new(Memory::default()));
    for keeping in [Keeping::File, Keeping::Keyring] {
        let store = place.store(keeping, keyring.clone());
        let (theirs, strangers) = ("acme:x/key installed sha256:1", "acme:x/key installed");
        store.set(&name(theirs), &Secret::new("sk-theirs")).unwrap();
        assert_eq!(value(&store, theirs).as_deref(), Some("sk-theirs"));
        for other in [strangers, "acme:x/key installed sha256:2", "acme:x/key bundled", "acme:x/key"] {
            assert_eq!(value(&store, other), None, "{other}");
        }
        store.set(&name(strangers), &Secret::new("sk-stranger")).unwrap();
        assert_eq!(value(&store, theirs).as_deref(), Some("sk-theirs"), "each has its own");
        assert!(store.remove(&name(strangers)).unwrap());
        assert_eq!(value(&store, theirs).as_deref(), Some("sk-theirs"));
        assert!(store.remove(&name(theirs)).unwrap());
    }
    assert!(keyring.values.lock().unwrap().is_empty());
}

#[test]
fn a_file_of_before_is_read_and_says_for_nobody_what_plugins_had() {
    let place = Folder::new();
    let store = place.store(Keeping::File, Arc::new(Absent));
    store.set(&name("lab"), &Secret::new("sk-lab")).unwrap();
    assert!(place.text().contains("\"version\": 1"), "an older version can still read it: {}", place.text());
    let before = r#"{"version":1,"secrets":{"acme:x/key":{"value":"sk-old"},"lab":{"value":"sk-lab"}}}"#;
    std::fs::write(place.path(), before).unwrap();
    assert_eq!(value(&store, "lab").as_deref(), Some("sk-lab"));
    assert!(store.list().unwrap().iter().any(|(id, _)| id.is_orphan()));
    assert_eq!(value(&store, "acme:x/key installed"), None);
    store.set(&name("acme:x/key installed"), &Secret::new("sk-new")).unwrap();
    assert!(place.text().contains("\"version\": 2"), "{}", place.text());
}
