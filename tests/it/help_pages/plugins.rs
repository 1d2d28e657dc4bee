//! What `--help` says of the commands about plugins.

use acp_runtime_tests::Runtime;
use expect_test::{Expect, expect};

use super::{assert_narrow, help, own};

/// Each of them.
const COMMANDS: [&str; 12] = [
    "plugin",
    "plugin list",
    "plugin info",
    "plugin install",
    "plugin remove",
    "plugin grant",
    "plugin revoke",
    "plugin doctor",
    "plugin new",
    "plugin build",
    "plugin test",
    "plugin dev",
];

#[test]
fn every_page_about_plugins_reads_well() {
    let runtime = Runtime::new();
    let pages = COMMANDS.map(|command| help(&runtime, command));
    pages.iter().for_each(|page| assert_narrow(page));
    let pages = COMMANDS.iter().zip(&pages).map(|(command, page)| format!("# {command}\n{}", own(page)));
    let expected: Expect = expect![[r#"
        # plugin
        See, install, remove, write and test plugins, and say what they may do

        Usage: acp-runtime plugin <COMMAND>

        Commands:
          list      List the plugins, and what each may do
          info      Say what a plugin offers and what it asks for
          install   Install a plugin, or another version of one, and grant what it asks for
          verify    Check that plugins are what was installed, and who has signed them
          pack      Put a plugin and its signature into one file that can be installed
          publish   Publish a plugin in an OCI registry
          keygen    Make a pair of keys to sign plugins with
          outdated  List the installed plugins of which there is another version
          update    Update installed plugins from where they came
          rollback  Go back to the version that was used before
          remove    Remove an installed plugin, and what it has kept
          grant     Grant a plugin more of what its manifest asks for
          revoke    Take back what a plugin was allowed, also what was granted when it was installed
          doctor    Say what keeps a plugin from its hosts and its secrets, and what did before
          new       Lay out the project of a new plugin, which builds and passes its tests
          build     Compile a project to a plugin: its component with its manifest inside
          test      Play a project's cases, `tests/*.toml`, with the real component in the real host
          dev       Work on a plugin: have it in every session of your running agents, until this ends
          help      Print this message or the help of the given subcommand(s)

        Options:
          -h, --help  Print help

        # plugin list
        List the plugins, and what each may do

        Usage: acp-runtime plugin list [OPTIONS]

        Options:
              --json  Print one JSON object a line
          -h, --help  Print help

        The columns: id, version, where it is from, rights, the beginning of the digest of a plugin that is
        installed or worked on (`DEV`), description. A right with a `?` was not granted, and is asked for
        when it is used.

        # plugin info
        Say what a plugin offers and what it asks for

        Usage: acp-runtime plugin info [OPTIONS] <PLUGIN>

        Arguments:
          <PLUGIN>  Its id, its name where only one has that, or a component file

        Options:
              --json  Print JSON
          -h, --help  Print help

        # plugin install
        Install a plugin, or another version of one, and grant what it asks for

        Usage: acp-runtime plugin install [OPTIONS] [SOURCE]

        Arguments:
          [SOURCE]  What to install

        Options:
              --yes                            Grant all that it asks for without a question
              --trust-publisher <FINGERPRINT>  Trust its publisher, whose key has this fingerprint; the
                                               public key itself will do, too
              --allow-unsigned <DIGEST>        Install the file with this digest even though nobody has
                                               signed it
              --allow-downgrade                Install it even though a newer version is installed
              --locked                         Install exactly what the lockfile names, and change nothing
                                               in it; without a source, all of it
              --offline                        Use nothing but what is on this machine
              --frozen                         `--locked` and `--offline`
              --project                        The lockfile of the project in this folder,
                                               `.acp-runtime/acp-plugins.lock`, in place of your own;
                                               without `--locked` what is installed is noted in both
              --json                           Print JSON
          -h, --help                           Print help

        SOURCE is a component file, the folder with it, a tar file of `acp-runtime plugin pack`,
        `oci://host/path:tag` (or `@sha256:…`), `namespace:name@version`, or `https://…#sha256=…`. The id of
        a plugin that came with the program means that plugin.

        First the signature is checked; see `docs/distribution.md`. Then the plugin is compiled and checked,
        and you are shown the rights that it asks for. Nothing is installed before you agree. Without a
        terminal nobody can be asked, and `--yes` is needed to grant the rights. When you install another
        version of a plugin, you are asked only about what it newly asks for.

        # plugin remove
        Remove an installed plugin, and what it has kept

        Usage: acp-runtime plugin remove [OPTIONS] <PLUGIN>

        Arguments:
          <PLUGIN>  Its id, or its name where only one has that

        Options:
              --keep-data  Leave what it has kept, for when it is installed again
              --json       Print JSON
          -h, --help       Print help

        # plugin grant
        Grant a plugin more of what its manifest asks for

        Usage: acp-runtime plugin grant [OPTIONS] <PLUGIN> <EFFECT>

        Arguments:
          <PLUGIN>  Its id, or its name where only one has that
          <EFFECT>  A class of effects (`read`, `write`, …), with a pattern where wanted (`write:notes/**`)

        Options:
              --scope <SCOPE>  Where it holds: in the project in the current folder, or in all of yours
                               [default: project] [possible values: project, user]
              --json           Print JSON
          -h, --help           Print help

        What you grant is no longer asked about, as far as the session's mode and the deny list allow it;
        only runs of programs still are, each time. It holds as long as the plugin has the same publisher
        and asks for the same rights. To grant something for one session, type `/permissions allow --scope
        session PLUGIN EFFECT` there. What the manifest does not ask for cannot be granted, and events of
        hooks are granted by installing the plugin.

        # plugin revoke
        Take back what a plugin was allowed, also what was granted when it was installed

        Usage: acp-runtime plugin revoke [OPTIONS] <PLUGIN> [EFFECT]

        Arguments:
          <PLUGIN>  Its id, or its name where only one has that
          [EFFECT]  A class of effects, with a pattern where wanted; all by default

        Options:
              --json  Print JSON
          -h, --help  Print help

        It holds at once and in all projects, also in sessions that are open. What was granted when the
        plugin was installed, or when it came with the program, is denied from then on; `plugin grant` with
        the same words takes that back.

        # plugin doctor
        Say what keeps a plugin from its hosts and its secrets, and what did before

        Usage: acp-runtime plugin doctor [OPTIONS] [PLUGIN]

        Arguments:
          [PLUGIN]  Its id, or its name where only one has that; all by default

        Options:
              --json  Print one JSON object a line
          -h, --help  Print help

        Nothing is sent and no secret is read: what is said comes from the manifest, what was granted and
        refused, the rules, the names of the secrets that are kept, and the audit.

        # plugin new
        Lay out the project of a new plugin, which builds and passes its tests

        Usage: acp-runtime plugin new [OPTIONS] --lang <LANGUAGE> <NAME>

        Arguments:
          <NAME>  The plugin: `namespace:name`; without a namespace it is one of your own, `my`

        Options:
              --lang <LANGUAGE>  The language that it is written in [possible values: rust, python, js, c]
              --dir <FOLDER>     The project's folder; by default a new one with the plugin's name
          -h, --help             Print help

        The SDK and the interfaces are put into the project, since no registry has them; the compiler is
        your own. A folder that is not empty is refused.

        # plugin build
        Compile a project to a plugin: its component with its manifest inside

        Usage: acp-runtime plugin build [OPTIONS] [FOLDER]

        Arguments:
          [FOLDER]  The project's folder; the current one by default

        Options:
              --component <FILE>  A component that was compiled already, in place of compiling the project
              --manifest <FILE>   The manifest; by default the project's `plugin.toml`
              --output <FILE>     Where the plugin goes; by default `dist/NAMESPACE-NAME.wasm` in the
                                  project
          -h, --help              Print help

        The language is recognised by a file of the project: `Cargo.toml`, `app.py`, `package.json` or
        `plugin.c`. The component is asked in the sandbox what it offers, and the answer becomes a part of
        its manifest. If a compiler or a part of it is missing, the error says how to get it.

        Exit code:
          0  it was done
          1  it was tried and failed, or was refused: a turn, a tool, a file, a check
          2  it makes no sense as it was typed or configured: an argument, a name that nothing has, a slash
             command that is used in another way, a setting, a prompt where no model is configured
          130, 143, 129  it was stopped by Ctrl-C, SIGTERM, SIGHUP

        # plugin test
        Play a project's cases, `tests/*.toml`, with the real component in the real host

        Usage: acp-runtime plugin test [OPTIONS] [FOLDER]

        Arguments:
          [FOLDER]  The project's folder; the current one by default

        Options:
              --built <FILE>  A plugin that was built already, in place of building the project
              --only <TEXT>   Only the cases with this text in their names
              --update        Keep what panels look like as it is now, in `tests/snapshots`
              --json          Print one JSON object a line
          -h, --help          Print help

        The project is built first. Each case has a session of its own in an empty folder. Nothing of yours
        is used, nothing is sent and no program is run: the case says what servers and programs answer, and
        what the person says yes to. docs/plugins.md explains everything that a case can say.

        Exit code:
          0  it was done
          1  it was tried and failed, or was refused: a turn, a tool, a file, a check
          2  it makes no sense as it was typed or configured: an argument, a name that nothing has, a slash
             command that is used in another way, a setting, a prompt where no model is configured
          130, 143, 129  it was stopped by Ctrl-C, SIGTERM, SIGHUP

        # plugin dev
        Work on a plugin: have it in every session of your running agents, until this ends

        Usage: acp-runtime plugin dev [OPTIONS] [FOLDER]

        Arguments:
          [FOLDER]  The project's folder; the current one by default

        Options:
              --watch  Build it anew whenever its source changes
              --yes    Grant all that it asks for without a question
          -h, --help   Print help

        It takes precedence over an installed plugin of the same id, and whatever is asked or shown for it
        says `DEV`. Sessions that are open have it, and each later build, within a second, as soon as
        nothing runs in them. What is granted holds until this command ends, and no answer about the plugin
        is remembered. If a build fails, the one before stays in use.
    "#]];
    expected.assert_eq(&pages.collect::<Vec<_>>().join("\n"));
}
