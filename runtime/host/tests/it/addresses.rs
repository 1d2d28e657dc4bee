//! Addresses as strangers write them, against a reader of them that is written another way: what a right allows is sent
//! to the host that a person reads, or to nobody.

use acp_runtime_agent::capability::HostPattern;
use acp_runtime_host::egress::Target;
use proptest::prelude::*;
use proptest::sample::select;

/// The parts of addresses that read as one host and may be taken for another.
const PARTS: [&str; 46] = [
    "good.com",
    "GOOD.com",
    "api.",
    "evil.com",
    ".evil.com",
    "a",
    "com",
    ".",
    "..",
    "@",
    ":",
    ":443",
    ":8443",
    ":0443",
    ":0",
    "/",
    "//",
    "\\",
    "?",
    "#",
    "%2e",
    "%2E",
    "%40",
    "%00",
    "%2f",
    "\0",
    "\t",
    " ",
    "\n",
    "\u{202e}",
    "\u{ad}",
    "\u{ff27}ood.com",
    "good\u{3002}com",
    "good\u{ff0e}com",
    "\u{24d6}ood.com",
    "127.0.0.1",
    "2130706433",
    "0x7f.1",
    "127.1",
    "017700000001",
    "0x7f000001",
    "127.0.0.1.",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "localhost",
    "user:pass",
];

const PATHS: [&str; 12] =
    ["", "/", "/v1", "/v1/x", "/v1/../x", "/v1/%2e%2e/x", "/v1/.%2E/x", "/v1%2f..", "/v1;x", "/V1", "?v1", "#/v1"];

fn address() -> impl Strategy<Value = String> {
    let scheme =
        select(vec!["https://", "https://", "https://", "http://", "HTTPS://", "https:", "https:///", "ftp://", "//"]);
    let authority = prop::collection::vec(select(PARTS.to_vec()), 1..4).prop_map(|parts| parts.concat());
    (scheme, authority, select(PATHS.to_vec()))
        .prop_map(|(scheme, authority, path)| format!("{scheme}{authority}{path}"))
}

/// What a person reads in an address.
struct Read {
    scheme: String,
    host: String,
    port: u16,
    path: Vec<String>,
}

/// The host of an address, as the system's old functions read numbers: up to four parts, the last one fills the rest.
fn dotted(host: &str) -> Option<String> {
    let number = |part: &str| match part.strip_prefix("0x").or_else(|| part.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(if hex.is_empty() { "0" } else { hex }, 16).ok(),
        None if part.len() > 1 && part.starts_with('0') => u64::from_str_radix(part, 8).ok(),
        None => part.parse().ok(),
    };
    let parts: Vec<u64> = host.split('.').map(number).collect::<Option<_>>()?;
    let (last, first) = parts.split_last()?;
    if first.len() > 3 || first.iter().any(|part| *part > 255) {
        return None;
    }
    let bits = 8 * (4 - first.len());
    if *last >= 1 << bits {
        return None;
    }
    let high = first.iter().enumerate().fold(0, |sum, (at, part)| sum | part << (24 - 8 * at));
    Some(std::net::Ipv4Addr::from(u32::try_from(high | last).ok()?).to_string())
}

fn read(text: &str) -> Option<Read> {
    let (scheme, rest) = text.split_once("://")?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    if authority.is_empty() || authority.contains('@') || text.contains(['\\', ' ', '\t', '\n', '\0']) {
        return None;
    }
    let (host, port) = match authority.rfind(':').filter(|at| !authority[*at..].contains(']')) {
        Some(at) => (&authority[..at], authority[at + 1..].parse().ok()),
        None => (authority, None),
    };
    let scheme = scheme.to_ascii_lowercase();
    let usual = if scheme == "https" { 443 } else { 80 };
    // As names are compared: codes, wide letters and wide dots are what they stand for.
    let mut name = host.to_owned();
    for (written, meant) in
        [("%2e", "."), ("%2E", "."), ("\u{ff27}", "g"), ("\u{24d6}", "g"), ("\u{3002}", "."), ("\u{ff0e}", ".")]
    {
        name = name.replace(written, meant);
    }
    let name = name.to_lowercase();
    let name = name.strip_suffix('.').unwrap_or(&name);
    // What ends in a number is an address, or nothing.
    let is_number = name.rsplit('.').next().is_some_and(|last| {
        let hex = last.strip_prefix("0x").is_some_and(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()));
        hex || (!last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit()))
    });
    let host = if is_number { dotted(name)? } else { name.to_owned() };
    let path = path.split(['?', '#']).next().unwrap_or("").replace("%2e", ".").replace("%2E", ".");
    let mut names: Vec<String> = Vec::new();
    for name in path.split('/') {
        match name {
            ".." => drop(names.pop()),
            "." | "" => {}
            name => names.push(name.to_owned()),
        }
    }
    Some(Read { scheme, host, port: port.unwrap_or(usual), path: names })
}

/// Whether the pattern has what was read.
fn has(pattern: &str, read: &Read) -> bool {
    let Some(meant) = self::read(pattern) else { return false };
    let is_address = |host: &str| host.starts_with('[') || host.parse::<std::net::Ipv4Addr>().is_ok();
    let labels = |host: &str| host.split('.').rev().map(str::to_owned).collect::<Vec<_>>();
    let is_host = match meant.host.strip_prefix("*.") {
        Some(below) => {
            let (inner, outer) = (labels(&read.host), labels(below));
            inner.len() > outer.len() && inner.starts_with(&outer) && !is_address(&read.host)
        }
        None if meant.host == "*" => {
            !is_address(&read.host) && labels(&read.host).first().is_some_and(|top| top != "localhost")
        }
        None => meant.host == read.host,
    };
    meant.scheme == read.scheme && meant.port == read.port && is_host && read.path.starts_with(&meant.path)
}

const PATTERNS: [&str; 12] = [
    "https://good.com",
    "https://good.com/v1",
    "https://good.com:8443",
    "http://good.com",
    "https://*.good.com",
    "https://*.com",
    "https://*",
    "https://api.good.com",
    "https://127.0.0.1",
    "http://127.0.0.1",
    "https://[::1]",
    "https://localhost",
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(10_000) })]

    #[test]
    fn a16_a20_an_address_is_sent_to_who_is_read_in_it(address in address()) {
        let Ok(target) = Target::parse(&address) else { return Ok(()) };
        let request = target.request();
        for pattern in PATTERNS {
            if HostPattern::parse(pattern).unwrap().matches(&request) {
                let read = read(&address);
                prop_assert!(read.is_some_and(|read| has(pattern, &read)), "`{}` has `{}` ({})", pattern, address, request);
            }
        }
        // What was judged is read in the same way once more: redirects, logs and questions repeat it.
        prop_assert_eq!(Target::parse(target.as_str()).map(|again| again.request()), Ok(request));
    }
}

/// The generator above would prove nothing if no address of its were allowed.
#[test]
fn of_such_addresses_some_are_allowed() {
    for (pattern, address) in [
        ("https://good.com", "https://GOOD.com./v1/../x"),
        ("https://good.com", "https://\u{ff27}ood.com"),
        ("https://*.good.com", "https://api.good\u{3002}com"),
        ("http://127.0.0.1", "http://0x7f.1/"),
        ("https://good.com/v1", "https://good%2ecom/v1/x"),
    ] {
        let request = Target::parse(address).unwrap().request();
        assert!(HostPattern::parse(pattern).unwrap().matches(&request), "{pattern} {address}");
        assert!(has(pattern, &read(address).unwrap()), "{pattern} {address}");
    }
}
