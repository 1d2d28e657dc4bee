//! Faults that were seen in other agents, a class at a time: each test breaks when ours had the fault.
//!
//! | class | what must hold | tests |
//! |---|---|---|
//! | ORDER | the answer to `session/new` before its updates, the answer to a prompt after its last one, commands again when they change | `order::order_*` |
//! | STDOUT | nothing but messages on stdout, whatever a plugin or the log writes | `lifetime::stdout_*`, `hostile_guests` |
//! | PROCESS | no process outlives its client | `lifetime::process_*`, `exit`, `process` |
//! | LOAD | a load tells everything before its answer, a resume nothing, a failed load nothing at all | `conversation::load_*`, `session_replay` |
//! | CANCEL | a cancelled turn is over within 2 s, is not a failure, and the next one works | `conversation::cancel_*`, `cancel` |
//! | CONCURRENT | every prompt is answered, in order, until the queue is full | `conversation::concurrent_*` |
//! | PERMISSION | one option of each kind; what was not chosen from them is a no | `trust::permission_*`, `permissions` |
//! | MCP | no server keeps a session from being opened | `trust::mcp_*` |
//! | SIZE | updates below 48 KiB, lines below 1 MiB, long output behind a link | `wire::size_*`, `updates` |
//! | PATHS | roots are absolute and are spelled as the client spells them | `trust::paths_*`, `session_setup` |
//! | AUTH | `-32000` only for keys, with the reason; after `authenticate` the same process goes on | `trust::auth_*` |
//! | ERRORS | a failed turn is an error with `details`, `reason` and `retryable`, and what was said stays | `conversation::errors_*` |
//! | SCHEMA | options have the ids and categories that clients look for; every setter answers in full | `wire::schema_*`, `options` |
//! | STARTUP | `initialize` is answered before anything is loaded, terminal or not | `lifetime::startup_*` |
//! | EXTENSION | names are matched whole, with their underscore; every request is answered | `wire::extension_*` |
//! | SECURITY | nothing outside the roots is read or written, through the editor neither | `trust::security_*`, `session_files` |

mod conversation;
mod lifetime;
mod order;
mod trust;
mod wire;
