//! Scenarios over the real binary. A module whose name begins with `slow_` belongs to the slow tier.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::too_many_lines,
    clippy::needless_raw_string_hashes,
    reason = "a test fails by panicking, and a table is one function"
)]

mod agent_session;
mod architecture;
mod asking;
mod audit;
mod authoring;
mod cancel;
mod checks;
mod cli;
mod cli_sessions;
mod cli_usage;
mod commands;
mod compaction;
mod compiling;
mod conformance;
mod crash;
mod distribution;
mod doctor;
mod documentation;
mod drafts;
mod encodings;
mod exit;
mod exit_codes;
mod faults;
mod fetch;
mod file_attacks;
mod foreign;
mod full_disk;
mod git_paths;
mod grants;
mod held_store;
mod help_pages;
mod hooks;
mod hostile_guests;
mod hostile_providers;
mod hostile_wire;
mod imports;
mod keys;
mod limits;
mod links;
mod log;
mod malformed;
mod many_plugins;
mod many_sessions;
mod mcp;
mod models;
mod nested_roots;
mod odd_files;
mod one_view;
mod options;
mod own_folders;
mod panels;
mod permissions;
mod plugin_changes;
mod plugin_files;
mod plugin_info;
mod plugin_install;
mod plugin_kept;
mod plugin_network;
mod plugin_programs;
mod plugin_secrets;
mod plugin_stops;
mod plugin_store;
mod plugin_talk;
mod plugin_updates;
mod process;
mod project_files;
mod project_lockfile;
mod project_trust;
mod providers;
mod read_only;
mod run;
mod secret_owners;
mod session;
mod session_files;
mod session_forks;
mod session_history;
mod session_replay;
mod session_setup;
mod shell;
mod slow_languages;
mod slow_local_model;
mod slow_plugin_kills;
mod slow_soak;
mod slow_turns;
mod stops;
mod subagents;
mod unload;
mod updates;
mod wit;
