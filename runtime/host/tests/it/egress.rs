//! Requests to the network, against resolvers that lie and servers that misbehave.

use std::io::Write as _;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use acp_runtime_agent::capability::{Effect, ToolName};
use acp_runtime_agent::gate::{Approval, Gate, Origin, Permit, Refusal};
use acp_runtime_agent::policy::Mode;
use acp_runtime_agent::transcript::ToolCallId;
use acp_runtime_host::egress::{Desk, Egress, EgressError, Gatekeeper, Manner, Request, Target};
use acp_runtime_host::limits::NetLimits;
use futures::future::{BoxFuture, FutureExt, join_all};

use crate::site::{Map, Piece, Site, ok, redirect};
use crate::support::Runtime;

/// A tool of the runtime's own, in mode `auto`, with a person who agrees.
struct Sender {
    gate: Arc<Gate>,
    desk: Desk,
    map: Arc<Map>,
    undone: Mutex<Vec<String>>,
    admitted: Mutex<Vec<String>>,
    _runtime: Runtime,
}

impl Sender {
    fn new() -> Self {
        Self::with(NetLimits::default())
    }

    fn with(limits: NetLimits) -> Self {
        let runtime = Runtime::new();
        *runtime.person.answer.lock().unwrap() = Approval::AllowOnce;
        let map = Arc::new(Map::default());
        let desk = Egress::new(map.clone()).desk(limits);
        let (undone, admitted) = (Mutex::default(), Mutex::default());
        Self { gate: runtime.gate(), desk, map, undone, admitted, _runtime: runtime }
    }

    fn origin() -> Origin {
        Origin::Model { call: ToolCallId::new("call-1"), tool: ToolName::new("fetch").unwrap() }
    }

    /// The body, or the error.
    async fn get(&self, url: &str) -> Result<String, EgressError> {
        self.send(Request::get(Target::parse(url)?)).await
    }

    async fn send(&self, request: Request) -> Result<String, EgressError> {
        let manner = Manner { follows: true, time: None };
        let mut response = self.desk.send(self, None, request, manner).await?;
        let (body, _) = response.body.read(usize::MAX).await?;
        Ok(format!("{} {}", response.status, String::from_utf8_lossy(&body)))
    }
}

impl Gatekeeper for Sender {
    fn admit(&self, effects: Vec<Effect>) -> BoxFuture<'_, Result<Permit, Refusal>> {
        self.admitted.lock().unwrap().extend(effects.iter().map(Effect::key));
        self.gate.authorize(Self::origin(), effects).boxed()
    }

    fn undone(&self, effect: &Effect, by: &str) {
        self.undone.lock().unwrap().push(format!("{} {by}", effect.key()));
    }
}

#[tokio::test]
async fn what_was_asked_for_comes_back() {
    let site = Site::saying(ok("content-type: text/plain\r\nx-a: b\r\n", "hello")).await;
    let sender = Sender::new();
    let request = Request::get(Target::parse(&site.url("/a/../b?q=1#f")).unwrap()).with_method("POST").unwrap();
    let limits = NetLimits::default();
    let request = request.with_header("X-Mine", b"yes", &limits).unwrap().with_body("the body", &limits).unwrap();
    assert_eq!(sender.send(request).await.unwrap(), "200 hello");
    let port = site.port;
    let sent = format!(
        "POST /b?q=1 HTTP/1.1\r\nhost: localhost:{port}\r\naccept: */*\r\nuser-agent: acp-runtime/0.1.0\r\nx-mine: \
         yes\r\naccept-encoding: gzip\r\ncontent-length: 8\r\n\r\nthe body"
    );
    assert_eq!(site.asked(), [sent]);
    assert_eq!(*sender.admitted.lock().unwrap(), [format!("http://localhost:{port}/b")]);
    assert_eq!(*sender.map.looked_up.lock().unwrap(), Vec::<String>::new(), "this machine is not looked up");
}

#[tokio::test]
async fn a17_a_name_that_leads_inside_is_not_reached() {
    let sender = Sender::new();
    for address in [
        "127.0.0.1",
        "169.254.169.254",
        "::1",
        "fd00::1",
        "::ffff:10.0.0.1",
        "64:ff9b::7f00:1",
        "0.0.0.0",
        "10.1.2.3",
        "100.64.0.1",
        "192.168.0.1",
    ] {
        sender.map.name("good.example", &[&[address]]);
        let error = sender.get("http://good.example/x").await.unwrap_err();
        assert!(matches!(&error, EgressError::Forbidden { .. }), "{address}: {error}");
        assert!(error.to_string().starts_with("nothing is sent to `good.example`: its address "), "{error}");
    }
    assert_eq!(*sender.map.connected.lock().unwrap(), []);
    let undone = sender.undone.lock().unwrap();
    assert!(undone.len() == 10 && undone.iter().all(|line| line == "http://good.example/x address"), "{undone:?}");
}

#[tokio::test]
async fn a18_a_name_is_looked_up_once_and_the_connection_goes_to_what_was_judged() {
    let site = Site::saying(ok("", "public")).await;
    let sender = Sender::new();
    *sender.map.site.lock().unwrap() = Some(site.port);
    sender.map.name("good.example", &[&["1.2.3.4"], &["127.0.0.1"]]);
    assert_eq!(sender.get("http://good.example/").await.unwrap(), "200 public");
    assert_eq!(*sender.map.connected.lock().unwrap(), ["1.2.3.4:80".parse().unwrap()]);
    assert_eq!(sender.map.looked_up.lock().unwrap().len(), 1);
    // The next request looks it up anew, and judges anew.
    assert!(matches!(sender.get("http://good.example/").await, Err(EgressError::Forbidden { .. })));
    assert_eq!(sender.map.connected.lock().unwrap().len(), 1);
    assert_eq!(site.asked().len(), 1);
}

#[tokio::test]
async fn a19_one_address_inside_is_enough() {
    let sender = Sender::new();
    sender.map.name("good.example", &[&["1.2.3.4", "10.0.0.1"]]);
    let error = sender.get("http://good.example/").await.unwrap_err();
    assert_eq!(error.to_string(), "nothing is sent to `good.example`: its address 10.0.0.1 is a private network");
    assert_eq!(*sender.map.connected.lock().unwrap(), []);
}

#[tokio::test]
async fn a20_an_address_is_what_it_means_however_it_is_written() {
    let sender = Sender::new();
    for host in ["169.254.169.254", "2852039166", "0xa9fea9fe", "0251.0376.0251.0376", "[::ffff:a9fe:a9fe]", "10.1"] {
        let error = sender.get(&format!("http://{host}/")).await.unwrap_err();
        assert!(matches!(error, EgressError::Forbidden { .. }), "{host}: {error}");
    }
    assert_eq!(*sender.map.connected.lock().unwrap(), []);
    assert_eq!(*sender.map.looked_up.lock().unwrap(), Vec::<String>::new());
    // This machine in another form is this machine: its person is asked about it as such.
    let site = Site::saying(ok("", "local")).await;
    sender.admitted.lock().unwrap().clear();
    for (host, meant) in [
        ("2130706433", "127.0.0.1"),
        ("0x7f.1", "127.0.0.1"),
        ("127.1", "127.0.0.1"),
        ("localhost", "localhost"),
        ("a.localhost", "a.localhost"),
    ] {
        assert_eq!(sender.get(&format!("http://{host}:{}/", site.port)).await.unwrap(), "200 local", "{host}");
        let admitted = std::mem::take(&mut *sender.admitted.lock().unwrap());
        assert_eq!(admitted, [format!("http://{meant}:{}/", site.port)], "{host}");
    }
}

#[tokio::test]
async fn this_machine_is_reached_only_when_its_person_says_so() {
    let site = Site::saying(ok("", "local")).await;
    let runtime = Runtime::new();
    let (gate, person) = (runtime.gate(), runtime.person.clone());
    let sender = Sender { gate, ..Sender::new() };
    for mode in [Mode::Auto, Mode::Review, Mode::ReadOnly, Mode::Plan] {
        runtime.mode.set(mode);
        let error = sender.get(&site.url("/")).await.unwrap_err();
        assert!(matches!(error, EgressError::Refused(_)), "{mode:?}: {error}");
    }
    assert_eq!(person.asked.lock().unwrap().len(), 3, "in mode `plan` nobody is asked");
    assert_eq!(site.asked(), Vec::<String>::new());
}

#[tokio::test]
async fn a21_redirects_are_decided_on_one_by_one() {
    let inner = Site::saying(ok("", "inner")).await;
    let to = inner.url("/inner");
    let site = Site::start(move |request| {
        let path = request.split(' ').nth(1).unwrap();
        let answer = match path {
            "/metadata" => redirect(302, "http://169.254.169.254/latest"),
            "/name" => redirect(302, "http://inside.example/"),
            "/file" => redirect(302, "file:///etc/passwd"),
            "/user" => redirect(302, "http://me:secret@localhost/"),
            "/loop" => redirect(302, "/loop"),
            "/inner" => redirect(302, &to),
            "/post" => redirect(307, "/after"),
            path => ok("", path),
        };
        vec![Piece::Bytes(answer)]
    })
    .await;
    let sender = Sender::new();
    sender.map.name("inside.example", &[&["10.0.0.1"]]);
    assert_eq!(sender.get(&site.url("/inner")).await.unwrap(), "200 inner");
    let admitted = std::mem::take(&mut *sender.admitted.lock().unwrap());
    assert_eq!(admitted, [site.url("/inner"), inner.url("/inner")]);
    for (path, why) in [
        ("/metadata", "nothing is sent to `169.254.169.254`: its address 169.254.169.254 is a link-local address"),
        ("/name", "nothing is sent to `inside.example`: its address 10.0.0.1 is a private network"),
        ("/file", "it redirects: `file:///etc/passwd` does not begin with `http://` or `https://`"),
        ("/user", "it redirects: the address has a user's name in it"),
        ("/loop", "it redirects more than 5 times"),
    ] {
        assert_eq!(sender.get(&site.url(path)).await.unwrap_err().to_string(), why, "{path}");
    }
    // A hop that the gate refuses is not made.
    let runtime = Runtime::new();
    let strict = Sender { gate: runtime.gate(), ..Sender::new() };
    strict.map.name("good.example", &[&["1.2.3.4"]]);
    *strict.map.site.lock().unwrap() = Some(site.port);
    let before = inner.asked().len();
    assert!(matches!(strict.get("http://good.example/inner").await, Err(EgressError::Refused(_))));
    assert_eq!(inner.asked().len(), before);
    // What was sent to one host is sent to no other.
    let limits = NetLimits::default();
    let request = Request::get(Target::parse(&site.url("/inner")).unwrap());
    let request = request.with_header("authorization", b"Bearer mine", &limits).unwrap();
    sender.send(request.with_header("cookie", b"mine", &limits).unwrap()).await.unwrap();
    assert!(site.asked().last().unwrap().contains("Bearer mine"));
    assert!(!inner.asked().last().unwrap().contains("mine"), "{:?}", inner.asked().last());
}

#[tokio::test]
async fn a24_headers_of_an_answer_are_bounded() {
    let sender = Sender::new();
    let many = (0..200).map(|number| format!("x-{number}: a\r\n")).collect::<Vec<_>>().concat();
    let large = format!("x: {}\r\n", "a".repeat(1 << 20));
    for headers in [many, large] {
        let site = Site::saying(ok(&headers, "x")).await;
        let error = sender.get(&site.url("/")).await.unwrap_err();
        assert!(matches!(error, EgressError::Limit(_)), "{error}");
    }
    for answer in
        ["not http at all\r\n\r\n", "HTTP/1.1 200 OK\r\nbad header\r\n\r\n", "HTTP/1.1 200 OK\r\na: b\0c\r\n\r\n", ""]
    {
        let site = Site::saying(answer).await;
        let error = sender.get(&site.url("/")).await.unwrap_err();
        assert!(matches!(error, EgressError::Answer { .. } | EgressError::Unreachable { .. }), "{answer:?}: {error}");
    }
}

#[tokio::test]
async fn a25_what_is_unpacked_is_bounded_as_well() {
    let packed = |text: &[u8]| {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        packer.write_all(text).unwrap();
        packer.finish().unwrap()
    };
    let sender = Sender::new();
    let site = Site::saying(ok("content-encoding: gzip\r\n", packed(b"small"))).await;
    assert_eq!(sender.get(&site.url("/")).await.unwrap(), "200 small");
    let bomb = packed(&vec![0; 64 << 20]);
    assert!(bomb.len() < 128 << 10);
    let site = Site::saying(ok("content-encoding: gzip\r\n", &bomb)).await;
    let error = sender.get(&site.url("/")).await.unwrap_err();
    assert_eq!(error.to_string(), "the answer of `localhost` has more than 8388608 bytes");
    // Bombs in bombs, other packings and broken ones.
    for (packing, body) in [("gzip, gzip", &b"x"[..]), ("br", b"x"), ("gzip", b"not gzip"), ("gzip", &bomb[..100])] {
        let site = Site::saying(ok(&format!("content-encoding: {packing}\r\n"), body)).await;
        let error = sender.get(&site.url("/")).await.unwrap_err();
        assert!(matches!(error, EgressError::Answer { .. }), "{packing}: {error}");
    }
    // And what comes without an end.
    let endless = Site::start(|_| {
        let head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
        let chunk = [b"10000\r\n".to_vec(), vec![b'x'; 65536], b"\r\n".to_vec()].concat();
        vec![Piece::Bytes(head), Piece::Forever(chunk)]
    })
    .await;
    let error = sender.get(&endless.url("/")).await.unwrap_err();
    assert!(matches!(error, EgressError::Limit(_)), "{error}");
}

#[tokio::test]
async fn a6_a_server_that_takes_its_time_is_left() {
    type Answer = fn(Piece) -> Vec<Piece>;
    let mut limits = NetLimits::default();
    limits.time.whole = Duration::from_millis(400);
    limits.time.idle = Duration::from_millis(200);
    let sender = Sender::with(limits);
    let head = || Piece::Bytes(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n".to_vec());
    let ways: [(&str, Answer, f64); 3] = [
        ("no answer", |_| vec![Piece::Stall], 0.4),
        ("no body", |head| vec![head, Piece::Stall], 0.2),
        ("a drip", |head| vec![head, Piece::Drip(Duration::from_millis(20))], 0.4),
    ];
    for (way, answer, time) in ways {
        let site = Site::start(move |_| answer(head())).await;
        let begin = Instant::now();
        let error = sender.get(&site.url("/")).await.unwrap_err();
        assert_eq!(error.to_string(), format!("`localhost` did not answer within {time} s"), "{way}");
        assert!(begin.elapsed() < Duration::from_secs(5), "{way}");
    }
}

#[tokio::test]
async fn a_thousand_requests_take_their_turns() {
    let site = Site::saying(ok("", "x")).await;
    let sender = Sender::new();
    let url = site.url("/");
    let answers = join_all((0..1000).map(|_| sender.get(&url))).await;
    assert!(answers.iter().all(|answer| answer.as_deref() == Ok("200 x")));
    assert_eq!(site.asked().len(), 1000);
    assert!(site.most_at_once() <= 2 * NetLimits::default().requests, "{}", site.most_at_once());
}

#[tokio::test]
async fn a_request_that_nobody_waits_for_ends() {
    let site = Site::start(|_| vec![Piece::Stall]).await;
    let sender = Sender::new();
    let url = site.url("/");
    let waiting = sender.get(&url);
    tokio::select! {
        _ = waiting => panic!("it answered"),
        () = async {
            while site.asked().is_empty() {
                tokio::task::yield_now().await;
            }
        } => {}
    }
    while site.is_busy() {
        tokio::task::yield_now().await;
    }
}
