//! What `--help` says of the commands about packages and publishers.

use acp_runtime_tests::Runtime;
use expect_test::expect;

use super::{help, own};

/// Each of them.
const COMMANDS: [&str; 9] = [
    "plugin outdated",
    "plugin update",
    "plugin rollback",
    "plugin verify",
    "plugin pack",
    "plugin publish",
    "plugin keygen",
    "trust add publisher",
    "trust remove publisher",
];

#[test]
fn every_page_about_packages_reads_well() {
    let runtime = Runtime::new();
    let pages = COMMANDS.map(|command| format!("# {command}\n{}", own(&help(&runtime, command))));
    let expected = expect![[r#"
        # plugin outdated
        List the installed plugins of which there is another version

        Usage: acp-runtime plugin outdated [OPTIONS]

        Options:
              --offline  Use nothing but what is on this machine
              --json     Print one JSON object a line
          -h, --help     Print help

        The columns: id, installed version, available version, state, source. The states: `ready` is used by
        `acp-runtime plugin update` without a question; `waits` asks for more rights or offers something
        else than what was approved, so `acp-runtime plugin update` asks you; `refused` cannot be used, and
        the reason is shown; `failed` could not be looked for, and the exit code is 1.

        # plugin update
        Update installed plugins from where they came

        Usage: acp-runtime plugin update [OPTIONS] [PLUGIN]...

        Arguments:
          [PLUGIN]...  Their ids, or their names where only one has that

        Options:
              --all                 All that are installed
              --accept-caps <HASH>  Approve the version whose rights and offers have this hash, which is
                                    shown where it waits. May be repeated
              --allow-downgrade     Also accept an older version than the installed one
              --offline             Use nothing but what is on this machine
              --json                Print one JSON object a line
          -h, --help                Print help

        Each plugin is looked up where it came from, checked, and compared with what was approved. A version
        that asks for no more rights and offers nothing new is used at once. Otherwise you are shown what is
        different and asked. If nobody can be asked, the new version waits and the old one is used until
        somebody approves the new one: here, with `--accept-caps` and the hash that is shown, or in a
        session with `/plugins approve`. Sessions that are open keep the version that they began with. What
        was not granted before is not granted by an update.

        # plugin rollback
        Go back to the version that was used before

        Usage: acp-runtime plugin rollback [OPTIONS] <PLUGIN>

        Arguments:
          <PLUGIN>  Its id, or its name where only one has that

        Options:
              --json  Print JSON
          -h, --help  Print help

        # plugin verify
        Check that plugins are what was installed, and who has signed them

        Usage: acp-runtime plugin verify [OPTIONS] [PLUGIN]

        Arguments:
          [PLUGIN]  An installed plugin, by its id or its name, or a file

        Options:
              --all   All installed plugins
              --json  Print one JSON object a line
          -h, --help  Print help

        # plugin pack
        Put a plugin and its signature into one file that can be installed

        Usage: acp-runtime plugin pack [OPTIONS] <PLUGIN>

        Arguments:
          <PLUGIN>  The plugin: a component file with its manifest

        Options:
          -o, --output <FILE>  Where to write it; by default NAME-VERSION.tar here
              --key <FILE>     Sign it with this secret key; the signature is also written beside the plugin
          -h, --help           Print help

        # plugin publish
        Publish a plugin in an OCI registry

        Usage: acp-runtime plugin publish [OPTIONS] <PLUGIN> <PLACE>

        Arguments:
          <PLUGIN>  The plugin: a component file with its manifest, or a tar file of `plugin pack`
          <PLACE>   Where to: `oci://host/path`; the tag is the version, unless you name another one

        Options:
              --key <FILE>  Sign it with this secret key
              --unsigned    Publish it without a signature: others must name its digest to install it
              --replace     Move the tag if it exists and means something else
              --json        Print JSON
          -h, --help        Print help

        Credentials come from the Docker configuration (`docker login`). The password of the key is asked
        for, or comes from ACP_RUNTIME_KEY_PASSWORD. Without `--key`, the signature beside the file or in
        the tar file is published.

        # plugin keygen
        Make a pair of keys to sign plugins with

        Usage: acp-runtime plugin keygen [OPTIONS] <FILE>

        Arguments:
          <FILE>  Where to write the secret key

        Options:
              --no-password  Write it without a password: whoever has the file can sign
          -h, --help         Print help

        Writes the secret key to FILE, which only you can read, and the public key to FILE.pub, both as
        `minisign` does. Keep the secret key to yourself. Publish the public key and its fingerprint in a
        place of your own.

        # trust add publisher
        Trust a publisher of plugins, or add a key or a namespace to one

        Usage: acp-runtime trust add publisher [OPTIONS] <NAME>

        Arguments:
          <NAME>  A name of your choice, such as their namespace

        Options:
              --key <KEY>              Their public key, or the file with it
              --namespace <NAMESPACE>  A namespace that is theirs, in addition to those that they have; by
                                       default the one of their name
              --until <TIME>           Until when the key is trusted: `2027-12-31`, or
                                       `2027-12-31T12:00:00Z`
          -h, --help                   Print help

        # trust remove publisher
        Trust a publisher of plugins no longer; their installed plugins stay

        Usage: acp-runtime trust remove publisher [OPTIONS] <NAME>

        Arguments:
          <NAME>  Their name

        Options:
              --key <FINGERPRINT>  Only this key of theirs, by its fingerprint
          -h, --help               Print help
    "#]];
    expected.assert_eq(&pages.join("\n"));
}
