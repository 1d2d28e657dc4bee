//! What the client offers, read from the capabilities in its `initialize`: one table.
//!
//! What a client did not offer is never asked of it and never sent to it. What is missing or malformed is not offered.

use serde_json::Value;

/// Something that a client can offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Offer {
    /// `fs/read_text_file`.
    ReadTextFile,
    /// `fs/write_text_file`.
    WriteTextFile,
    /// `terminal/*`.
    Terminals,
    /// It draws a terminal for output that it is told in `_meta`.
    TerminalOutput,
    /// `elicitation/create` with a form.
    Forms,
    /// `elicitation/create` with a page to open.
    Pages,
    /// The update `notice`.
    Notices,
    /// The updates `compaction_update` and `compaction_summary_chunk`.
    Compactions,
    /// It starts this program once more in a terminal, with more arguments, for a login.
    TerminalLogin,
    /// It starts any command in a terminal for a login, as clients did before.
    CommandLogin,
    /// Options that are on or off; without it each is a select with two values.
    Flags,
    /// The updates `plan_update` and `plan_removed`, in the place of `plan`.
    PlansById,
    /// It draws panels, and wants to know when they change.
    Panels,
}

/// How an offer is written.
#[derive(Debug, Clone, Copy)]
enum Sign {
    /// `true`.
    True,
    /// An object, mostly an empty one.
    Object,
    /// Anything but null and `false`: a version, a list, an object.
    Something,
}

/// Each offer, where it stands in `clientCapabilities`, and how it is written there.
const TABLE: &[(Offer, &str, Sign)] = &[
    (Offer::ReadTextFile, "/fs/readTextFile", Sign::True),
    (Offer::WriteTextFile, "/fs/writeTextFile", Sign::True),
    (Offer::Terminals, "/terminal", Sign::True),
    (Offer::TerminalOutput, "/_meta/terminal_output", Sign::True),
    (Offer::Forms, "/elicitation/form", Sign::Object),
    (Offer::Pages, "/elicitation/url", Sign::Object),
    (Offer::Notices, "/session/notices", Sign::Object),
    (Offer::Compactions, "/session/compaction", Sign::Object),
    (Offer::TerminalLogin, "/auth/terminal", Sign::True),
    (Offer::CommandLogin, "/_meta/terminal-auth", Sign::True),
    (Offer::Flags, "/session/configOptions/boolean", Sign::Object),
    (Offer::PlansById, "/plan", Sign::Object),
    (Offer::Panels, "/_meta/aar/panels", Sign::Something),
];

/// The offers of one client.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Offers(u32);

impl Offers {
    /// Reads `clientCapabilities`.
    pub(super) fn read(capabilities: &Value) -> Self {
        let made =
            TABLE.iter().filter(|(_, pointer, sign)| capabilities.pointer(pointer).is_some_and(|at| sign.is(at)));
        made.fold(Self::default(), |offers, (offer, ..)| offers.with(*offer))
    }

    /// These offers and one more.
    pub(super) fn with(self, offer: Offer) -> Self {
        Self(self.0 | 1 << offer as u8)
    }

    /// Whether the client offered that.
    pub(super) fn has(self, offer: Offer) -> bool {
        self.0 & 1 << offer as u8 != 0
    }
}

impl Sign {
    fn is(self, value: &Value) -> bool {
        match self {
            Self::True => *value == Value::Bool(true),
            Self::Object => value.is_object(),
            Self::Something => !value.is_null() && *value != Value::Bool(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(capabilities: &Value) -> Vec<Offer> {
        let offers = Offers::read(capabilities);
        TABLE.iter().map(|(offer, ..)| *offer).filter(|offer| offers.has(*offer)).collect()
    }

    #[test]
    fn only_what_is_offered_in_the_right_form_counts() {
        let aar = |panels: Value| json!({ "_meta": { "aar": { "panels": panels } } });
        for (capabilities, offers) in [
            (json!(null), vec![]),
            (json!({}), vec![]),
            (json!({ "fs": { "readTextFile": true } }), vec![Offer::ReadTextFile]),
            (json!({ "fs": { "readTextFile": false, "writeTextFile": true } }), vec![Offer::WriteTextFile]),
            (json!({ "fs": { "readTextFile": "true", "writeTextFile": {} } }), vec![]),
            (
                json!({ "terminal": true, "_meta": { "terminal_output": true } }),
                vec![Offer::Terminals, Offer::TerminalOutput],
            ),
            (json!({ "terminal": {}, "_meta": { "terminal_output": 1 } }), vec![]),
            (json!({ "elicitation": {} }), vec![]),
            (json!({ "elicitation": { "form": {}, "url": null } }), vec![Offer::Forms]),
            (json!({ "session": { "notices": {} } }), vec![Offer::Notices]),
            (json!({ "session": { "compaction": {} } }), vec![Offer::Compactions]),
            (json!({ "session": { "notices": true } }), vec![]),
            (json!({ "session": { "notices": null } }), vec![]),
            (json!({ "auth": { "terminal": true } }), vec![Offer::TerminalLogin]),
            (json!({ "auth": { "terminal": {} }, "_meta": { "terminal-auth": true } }), vec![Offer::CommandLogin]),
            (json!({ "plan": {}, "session": null }), vec![Offer::PlansById]),
            (aar(json!(1)), vec![Offer::Panels]),
            (aar(json!(false)), vec![]),
            (aar(Value::Null), vec![]),
        ] {
            assert_eq!(read(&capabilities), offers, "{capabilities}");
        }
    }

    #[test]
    fn no_offer_is_mistaken_for_another() {
        for (offer, pointer, sign) in TABLE {
            let value = if matches!(sign, Sign::Object) { json!({}) } else { json!(true) };
            let nested = pointer.split('/').skip(1).collect::<Vec<_>>();
            let capabilities = nested.into_iter().rev().fold(value, |inner, name| json!({ name: inner }));
            assert_eq!(read(&capabilities), [*offer], "{capabilities}");
        }
    }
}
