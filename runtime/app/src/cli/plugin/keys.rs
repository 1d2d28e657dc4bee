//! Keys to sign plugins with: `acp-runtime plugin keygen`, and the use of one.

use std::io::{self, Write as _};
use std::path::Path;

use acp_runtime_host::package::signature::{Minisign, PublicKey, Signature, SignatureKind as _, Signed};
use acp_runtime_host::{regular_file, whole_file};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use minisign::{KeyPair, SecretKeyBox};

use super::super::arguments::KeygenArguments;
use super::super::confirm::can_ask;
use super::super::failure::Failure;
use crate::settings::variable;

/// The variable with the password of a key.
const PASSWORD: &str = "ACP_RUNTIME_KEY_PASSWORD";
/// Bytes of a file with a key.
const MOST: u64 = 4 << 10;

/// Characters of a secret key, with a password or without, as it is written.
const SECRET: usize = 212;
/// Bytes at its end by which it is seen whether it is whole, and was opened with the right password.
const CHECKSUM: usize = 32;

/// A secret key that can be used.
pub(super) struct SigningKey {
    pair: minisign::SecretKey,
    public: PublicKey,
}

impl SigningKey {
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let shown = path.display();
        let text = regular_file::read_text(path, MOST).map_err(|error| {
            Failure::usage(format!("`{shown}` cannot be read: {error}"))
                .hint("make a key with `acp-runtime plugin keygen FILE`")
        })?;
        let no_key = || {
            Failure::usage(format!("`{shown}` is no secret key of minisign"))
                .hint("name the file that `acp-runtime plugin keygen` has made, not the one that ends with `.pub`")
        };
        let line = text.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default();
        if line.len() != SECRET {
            return Err(no_key());
        }
        let sealed = || SecretKeyBox::from_string(&text).map_err(|_| no_key());
        // Whether one is needed is known once it was tried without.
        let open = sealed()?.into_unencrypted_secret_key().ok().filter(|pair| !pair.is_encrypted());
        let pair = if let Some(pair) = open.or_else(|| without_checksum(line)) {
            pair
        } else {
            let password = password(&format!("Password of `{shown}`: "))?;
            sealed()?.into_secret_key(Some(password)).map_err(|error| {
                Failure::new(format!("`{shown}` cannot be used: {error}")).hint("see that the password is right")
            })?
        };
        let public = minisign::PublicKey::from_secret_key(&pair).map_err(|_| no_key())?;
        let public = public.to_base64().parse().map_err(|error| {
            Failure::new(format!("`{shown}` cannot be used: {error}")).hint("make another one with `plugin keygen`")
        })?;
        Ok(Self { pair, public })
    }

    pub(super) fn sign(&self, signed: Signed<'_>) -> Result<String, Failure> {
        let statement = signed.statement();
        let offer = Signature::offer(&self.public);
        let refused = |problem: String| Failure::new(format!("`{statement}` cannot be signed: {problem}"));
        let made = minisign::sign(None, &self.pair, signed.bytes, Some(&statement), Some(&offer));
        let text = made.map_err(|error| refused(error.to_string()))?.into_string();
        // A key without a checksum may be damaged, and nobody would take what it signs.
        let holds = Minisign.read(&text).and_then(|made| Minisign.verify(&made, &self.public, signed));
        holds.map_err(|_| {
            refused("the key is damaged".to_owned()).hint("get the key's file from where you keep it safe")
        })?;
        Ok(text)
    }
}

/// A key without a password as `minisign` 0.11 and earlier ones make it (`-W`): the place of its checksum is empty.
fn without_checksum(line: &str) -> Option<minisign::SecretKey> {
    let bytes = STANDARD.decode(line).ok()?;
    let (rest, checksum) = bytes.split_last_chunk::<CHECKSUM>()?;
    let is_one = rest.starts_with(b"Ed\0\0") && *checksum == [0; CHECKSUM];
    is_one.then(|| minisign::SecretKey::from_bytes(&bytes).ok()).flatten()
}

pub(super) fn keygen(arguments: KeygenArguments) -> Result<(), Failure> {
    let KeygenArguments { file, no_password } = arguments;
    let mut beside = file.as_os_str().to_owned();
    beside.push(".pub");
    for path in [file.as_path(), Path::new(&beside)] {
        if path.symlink_metadata().is_ok() {
            return Err(Failure::usage(format!("`{}` is there already", path.display()))
                .hint("a key that is lost cannot be made again: name another file"));
        }
    }
    let broken = |error: minisign::PError| Failure::new(format!("no key could be made: {error}"));
    let pair = if no_password {
        KeyPair::generate_unencrypted_keypair()
    } else {
        let password = new_password()?;
        writeln!(io::stderr(), "Making the key; its password costs a second or two on purpose.")?;
        KeyPair::generate_encrypted_keypair(Some(password))
    };
    let KeyPair { pk, sk } = pair.map_err(broken)?;
    let public: PublicKey =
        pk.to_base64().parse().map_err(|error| Failure::new(format!("no key could be made: {error}")))?;
    let sealed = sk.to_box(Some("minisign secret key of a publisher of plugins")).map_err(broken)?.into_string();
    put_new(&file, &sealed)?;
    put_new(Path::new(&beside), &pk.to_box().map_err(broken)?.into_string())?;
    writeln!(io::stdout(), "{public}\n{}", public.fingerprint())?;
    writeln!(io::stderr(), "hint: sign with `acp-runtime plugin publish PLUGIN oci://… --key {}`", file.display())?;
    Ok(())
}

/// A folder that is not there is made for it, for its owner alone.
fn put_new(path: &Path, text: &str) -> Result<(), Failure> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let made = folder.map_or(Ok(()), regular_file::private_folder);
    made.and_then(|()| whole_file::put_new(path, text.as_bytes())).map_err(|error| Failure::unwritable(path, &error))
}

/// A password for a key that is made: typed twice, since nobody sees it.
fn new_password() -> Result<String, Failure> {
    if variable(PASSWORD).is_none() && !can_ask() {
        return Err(Failure::usage("the key would have a password, and nobody can be asked for it")
            .hint(format!("set {PASSWORD}, or pass `--no-password` to make a key without one")));
    }
    if variable(PASSWORD).is_some() {
        return password("");
    }
    let first = password("Password for the secret key (not shown): ")?;
    if first.is_empty() {
        return Err(Failure::usage("an empty password protects nothing").hint("pass `--no-password` if that is meant"));
    }
    if password("Once more: ")? != first {
        return Err(Failure::usage("the two passwords are not the same").hint("try again"));
    }
    Ok(first)
}

fn password(question: &str) -> Result<String, Failure> {
    if let Some(password) = variable(PASSWORD) {
        return Ok(password);
    }
    if !can_ask() {
        return Err(Failure::usage("the key has a password, and nobody can be asked for it")
            .hint(format!("set {PASSWORD}, or use a key without one")));
    }
    rpassword::prompt_password(question).map_err(|error| {
        Failure::usage(format!("the password cannot be read: {error}")).hint(format!("type it, or set {PASSWORD}"))
    })
}
