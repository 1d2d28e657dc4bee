//! The tool on the double of the network.

use acp_plugin::ErrorKind;
use acp_plugin::testing::{self, Host};
use serde_json::json;

use crate::HttpFetch;

const REPOSITORY: &str = "https://api.github.com/repos/a/b";

#[test]
fn json_is_laid_out_and_parts_of_it_can_be_named() {
    let host = Host::fresh();
    host.put_page(REPOSITORY, 200, "application/json", r#"{"name":"b","topics":["x","y"]}"#);
    let all = testing::call::<HttpFetch>(&json!({ "url": REPOSITORY })).unwrap().to_text();
    assert_eq!(
        all,
        "https://api.github.com/repos/a/b: status 200\ncontent-type: application/json\n\n{\n  \"name\": \"b\",\n  \
         \"topics\": [\n    \"x\",\n    \"y\"\n  ]\n}"
    );
    let part = testing::call::<HttpFetch>(&json!({ "url": REPOSITORY, "pointer": "/topics/1" })).unwrap().to_text();
    assert!(part.ends_with("\n\n\"y\""), "{part}");
    let missing = testing::call::<HttpFetch>(&json!({ "url": REPOSITORY, "pointer": "/nothing" })).unwrap_err();
    assert_eq!(missing.kind(), &ErrorKind::NotFound);
    assert_eq!(host.requests()[0].headers, [("accept".to_owned(), "application/json".to_owned())]);
}

#[test]
fn the_token_is_for_github_and_only_where_it_is_kept() {
    let host = Host::fresh();
    host.put_page(REPOSITORY, 200, "text/plain", "b");
    host.put_page("https://api.github.com.evil.com/", 200, "text/plain", "e");
    let sent = |url: &str| {
        testing::call::<HttpFetch>(&json!({ "url": url })).unwrap();
        host.requests().pop().unwrap().secrets
    };
    assert!(sent(REPOSITORY).is_empty());
    host.keep_secret("github-token");
    assert_eq!(sent(REPOSITORY), ["github-token"]);
    assert!(sent("https://api.github.com.evil.com/").is_empty());
}

#[test]
fn what_cannot_be_shown_is_said() {
    let host = Host::fresh();
    host.put_page("https://a.com/long", 200, "text/plain", "x".repeat(100_000));
    host.put_page("https://a.com/data", 200, "image/png", [0xff, 0xfe, 0x00].to_vec());
    let long = testing::call::<HttpFetch>(&json!({ "url": "https://a.com/long" })).unwrap().to_text();
    assert!(long.ends_with("[49152 of 100000 bytes are shown: name a part with `pointer`]"), "{}", long.len());
    for (arguments, kind) in [
        (json!({ "url": "https://a.com/data" }), ErrorKind::Limit),
        (json!({ "url": "https://a.com/long", "pointer": "/a" }), ErrorKind::InvalidArgs),
        (json!({ "url": "http://a.com/" }), ErrorKind::InvalidArgs),
        (json!({ "url": "https://b.com/" }), ErrorKind::Denied),
    ] {
        assert_eq!(testing::call::<HttpFetch>(&arguments).unwrap_err().kind(), &kind, "{arguments}");
    }
}
