//! Which trace of the client's a prompt belongs to, by W3C Trace Context and Baggage: told by whoever calls, passed on to
//! whoever is called.
//!
//! What is malformed is as good as not there, so what is held is safe to show in a line and to send on as it is. Knows
//! nothing about where it came from and where it goes. Tested by tables.

tokio::task_local! {
    /// The trace that the task works for.
    static CURRENT: TraceContext;
}

/// Bytes of a `traceparent` of a version that is still to come; the one that is has 55.
const PARENT: usize = 256;
/// Bytes and members of a `tracestate`.
const STATE: usize = 512;
const STATE_MEMBERS: usize = 32;
/// Bytes of a `baggage`.
const BAGGAGE: usize = 8192;
/// Bytes of a key or a value in a `tracestate`.
const PART: usize = 256;

/// The place of a call in a trace. Empty where the caller said nothing of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TraceContext {
    parent: Option<String>,
    state: Option<String>,
    baggage: Option<String>,
}

impl TraceContext {
    /// Reads what `field` gives for each of the names `traceparent`, `tracestate` and `baggage`. A `tracestate` without a
    /// `traceparent` says nothing.
    pub fn read<'a>(field: impl Fn(&str) -> Option<&'a str>) -> Self {
        let valid = |name, is_valid: fn(&str) -> bool| field(name).filter(|text| is_valid(text)).map(str::to_owned);
        let parent = valid("traceparent", is_parent);
        let state = parent.as_ref().and_then(|_| valid("tracestate", is_state));
        Self { parent, state, baggage: valid("baggage", is_baggage) }
    }

    /// The trace of the task that asks: that of its prompt.
    pub fn current() -> Self {
        CURRENT.try_with(Clone::clone).unwrap_or_default()
    }

    /// Does work as a part of this trace.
    pub fn within<F: Future>(self, work: F) -> impl Future<Output = F::Output> + use<F> {
        CURRENT.scope(self, work)
    }

    /// The `traceparent`: version, trace, parent and flags, in hexadecimal between dashes.
    pub fn parent(&self) -> Option<&str> {
        self.parent.as_deref()
    }

    /// The `tracestate`: `key=value` pairs of those who trace.
    pub fn state(&self) -> Option<&str> {
        self.state.as_deref()
    }

    /// The `baggage`: `key=value` pairs of the caller's own.
    pub fn baggage(&self) -> Option<&str> {
        self.baggage.as_deref()
    }

    /// All that there is, by name.
    pub fn fields(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let fields = [("traceparent", self.parent()), ("tracestate", self.state()), ("baggage", self.baggage())];
        fields.into_iter().filter_map(|(name, text)| Some((name, text?)))
    }
}

fn is_parent(text: &str) -> bool {
    let is_hex = |part: &str| part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let is_id = |part: &str, length| part.len() == length && is_hex(part) && part.bytes().any(|byte| byte != b'0');
    let mut parts = text.splitn(5, '-');
    let mut next = || parts.next().unwrap_or_default();
    let (version, trace, parent, flags) = (next(), next(), next(), next());
    let more = parts.next();
    version.len() == 2
        && is_hex(version)
        && version != "ff"
        && is_id(trace, 32)
        && is_id(parent, 16)
        && flags.len() == 2
        && is_hex(flags)
        && more.is_none_or(|more| version != "00" && more.bytes().all(|byte| byte.is_ascii_graphic()))
        && text.len() <= PARENT
}

fn is_state(text: &str) -> bool {
    let is_key = |key: &str| {
        let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-*/@".contains(&byte);
        let first = key.bytes().next();
        first.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
            && key.len() <= PART
            && key.bytes().all(allowed)
    };
    let is_value = |value: &str| {
        let allowed = |byte: u8| matches!(byte, b' '..=b'~') && byte != b'=';
        !value.is_empty() && value.len() <= PART && value.bytes().all(allowed)
    };
    let members: Vec<&str> = members(text, ',').filter(|member| !member.is_empty()).collect();
    text.len() <= STATE
        && (1..=STATE_MEMBERS).contains(&members.len())
        && members
            .iter()
            .all(|member| member.split_once('=').is_some_and(|(key, value)| is_key(key) && is_value(value)))
}

fn is_baggage(text: &str) -> bool {
    let is_key = |key: &str| {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        let key = key.trim_matches(BLANK);
        !key.is_empty() && key.bytes().all(allowed)
    };
    let is_value = |value: &str| {
        let allowed = |byte: u8| byte.is_ascii_graphic() && !b"\",;\\".contains(&byte);
        value.trim_matches(BLANK).bytes().all(allowed)
    };
    let is_pair = |pair: &str| pair.split_once('=').is_some_and(|(key, value)| is_key(key) && is_value(value));
    let is_member = |member: &str| {
        let mut parts = members(member, ';');
        parts.next().is_some_and(is_pair) && parts.all(|property| is_pair(property) || is_key(property))
    };
    text.len() <= BAGGAGE && members(text, ',').all(is_member)
}

const BLANK: [char; 2] = [' ', '\t'];

fn members(text: &str, separator: char) -> impl Iterator<Item = &str> {
    text.split(separator).map(|member| member.trim_matches(BLANK))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn what_is_well_formed_is_kept_as_it_is() {
        for (name, text) in [
            ("traceparent", PARENT),
            ("traceparent", "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
            ("traceparent", "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what-comes"),
            ("tracestate", "congo=t61rcWkgMzE"),
            ("tracestate", "rojo=00f067aa0ba902b7, congo=t61 rcWk, ,fw529a3039@dt=FfFfFfFf"),
            ("baggage", "userId=alice"),
            ("baggage", "userId = al%20ice;p1;p2 = x , isProduction=false"),
            ("baggage", "empty="),
        ] {
            let read = TraceContext::read(|asked| match asked {
                asked if asked == name => Some(text),
                "traceparent" => Some(PARENT),
                _ => None,
            });
            assert!(read.fields().any(|field| field == (name, text)), "{name}: {text}");
        }
    }

    #[test]
    fn what_is_malformed_is_not_there() {
        let long = |text: &str, times| text.repeat(times);
        for (name, text) in [
            ("traceparent", ""),
            ("traceparent", "00"),
            ("traceparent", "00-00000000000000000000000000000000-00f067aa0ba902b7-01"),
            ("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01"),
            ("traceparent", "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01"),
            ("traceparent", "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
            ("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more"),
            ("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\n"),
            ("traceparent", "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-a\nb"),
            ("traceparent", "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-\u{e9}"),
            ("traceparent", &format!("cc{}-{}", &PARENT[2..], long("x", 256))),
            ("tracestate", ""),
            ("tracestate", "a"),
            ("tracestate", "=a"),
            ("tracestate", "A=a"),
            ("tracestate", "a=b\nc=d"),
            ("tracestate", "a=b=c"),
            ("tracestate", "a=\u{e9}"),
            ("tracestate", &long("a=b,", 33)),
            ("tracestate", &format!("a={}", long("b", 257))),
            ("tracestate", &long("abcdefgh=abcdefghijklmnop,", 20)),
            ("baggage", ""),
            ("baggage", "a"),
            ("baggage", "a=b,"),
            ("baggage", "a=b c"),
            ("baggage", "a=b\r\nc=d"),
            ("baggage", "a=\"b\""),
            ("baggage", "a b=c"),
            ("baggage", "a=b;"),
            ("baggage", "a=\u{202e}"),
            ("baggage", &format!("a={}", long("b", 8192))),
        ] {
            let read = TraceContext::read(|asked| match asked {
                asked if asked == name => Some(text),
                "traceparent" => Some(PARENT),
                _ => None,
            });
            assert!(read.fields().all(|(found, _)| found != name), "{name}: {text}");
        }
    }

    #[test]
    fn a_state_without_a_parent_says_nothing() {
        let read = TraceContext::read(|name| match name {
            "tracestate" => Some("a=b"),
            "baggage" => Some("c=d"),
            _ => None,
        });
        assert_eq!(read.fields().collect::<Vec<_>>(), [("baggage", "c=d")]);
    }

    #[tokio::test]
    async fn work_knows_its_trace() {
        let trace = TraceContext::read(|name| (name == "traceparent").then_some(PARENT));
        assert_eq!(trace.clone().within(async { TraceContext::current() }).await, trace);
        assert_eq!(TraceContext::current(), TraceContext::default());
    }
}
