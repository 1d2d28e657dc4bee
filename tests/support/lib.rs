//! What the scenarios stand on: doubles for the world around the real binary.
//!
//! [`Runtime`] is a machine for one test (own home, own project, the built binary). [`EditorDouble`] is an editor on
//! the other end of its pipes: it prompts, answers permission requests, serves files, and checks every line that comes
//! back through the [`Ledger`] and the [`Schemas`]. A scenario that breaks a rule of the wire fails, whatever else it
//! was looking at. [`ModelDouble`] is a provider of models, faults included, [`flood`] a server that sends without an end,
//! [`tls`] one that speaks TLS,
//! [`web_double`] one with pages, and [`RegistryDouble`] one with packages. Nothing here knows how the runtime is built inside. Pure parts are tested beside their code, the rest by being used in `tests/it`.
#![expect(clippy::expect_used, reason = "a double that cannot go on fails its test, loudly")]
#![expect(clippy::missing_panics_doc, reason = "every double panics on what a test must not pass over")]
#![expect(clippy::needless_pass_by_value, reason = "scenarios write `json!` where they call")]

pub mod editor;
pub mod flood;
pub mod ledger;
pub mod mcp_double;
pub mod model_double;
pub mod registry_double;
pub mod runtime;
pub mod schema;
pub mod shop;
pub mod tls;
pub mod turn;
pub mod web_double;

pub use editor::{Answer, EditorDouble, EditorOptions, Filled, Manner, OpenPrompt, Permission, Served};
pub use ledger::{Ledger, Message, RpcError};
pub use model_double::ModelDouble;
pub use registry_double::RegistryDouble;
pub use runtime::{Finished, Runtime};
pub use schema::Schemas;
pub use tls::TlsDouble;
pub use turn::{CallView, Turn};
pub use web_double::{Visit, WebDouble, WebPage};
