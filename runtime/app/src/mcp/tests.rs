//! Servers over pipes in memory, with a clock that runs only while everybody waits.

mod odd_answers;

use std::collections::VecDeque;
use std::time::Duration;

use acp_runtime_agent::capability::{GrantSet, PluginId, ServerName};
use acp_runtime_agent::event::SessionEvent;
use acp_runtime_agent::gate::{Approval, Approver, Ask, AuditEntry, AuditSink, Gate, GrantBook, Ground, Origin};
use acp_runtime_agent::options::SharedLeeway;
use acp_runtime_agent::policy::{Leeway, Mode, Policy};
use acp_runtime_agent::server::Reach;
use acp_runtime_agent::tool::{ToolArguments, ToolCatalog, ToolError};
use acp_runtime_agent::transcript::{ToolCallId, ToolOutcome};
use rmcp::service::ClientLifecycleMode;
use rmcp::transport::async_rw::AsyncRwTransport;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::connection::{Connection, Refusal, handshake, tools as list_tools};
use super::errors::ErrorLog;
use super::handler::{Handler, ProgressBoard};
use super::server::HELD;
use super::*;

/// What an attempt to connect comes to.
enum Attempt {
    /// A server with these tools, each of which does what its name says.
    Server(&'static [&'static str]),
    Refused(&'static str),
    Hopeless(&'static str),
}

/// Gives the attempts their outcomes, one after another; when there are no more, none ever ends.
struct Attempts {
    left: Mutex<VecDeque<Attempt>>,
    made: Arc<Mutex<Vec<Instant>>>,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Connector for Attempts {
    fn connect<'a>(
        &'a self,
        server: &'a ServerName,
        _reach: &'a Reach,
        _patience: Patience,
    ) -> BoxFuture<'a, Result<(Connection, Vec<rmcp::model::Tool>), Refusal>> {
        self.made.lock().unwrap().push(Instant::now());
        let attempt = self.left.lock().unwrap().pop_front();
        Box::pin(async move {
            match attempt {
                None => std::future::pending().await,
                Some(Attempt::Refused(problem)) => Err(Refusal::passing(problem)),
                Some(Attempt::Hopeless(problem)) => Err(Refusal { lasting: true, ..Refusal::passing(problem) }),
                Some(Attempt::Server(tools)) => {
                    let (ours, theirs) = tokio::io::duplex(64 * 1024);
                    tokio::spawn(serve(theirs, tools, self.heard.clone()));
                    let (output, input) = tokio::io::split(ours);
                    let handler = |changes| Handler {
                        server: server.clone(),
                        roots: vec!["file:///p".to_owned()],
                        progress: Arc::new(ProgressBoard::default()),
                        changes,
                    };
                    let transport = AsyncRwTransport::new_client(output, input);
                    let lifecycle = ClientLifecycleMode::Initialize;
                    let connection = handshake(handler, transport, lifecycle, &ErrorLog::default()).await;
                    let connection = connection.unwrap_or_else(|_| panic!("the double shakes hands"));
                    let tools = list_tools(&connection.link.peer).await.unwrap_or_default();
                    Ok((connection, tools))
                }
            }
        })
    }
}

/// The double: answers line by line until a tool ends it.
async fn serve(stream: DuplexStream, tools: &'static [&'static str], heard: Arc<Mutex<Vec<String>>>) {
    let (input, mut output) = tokio::io::split(stream);
    let mut lines = BufReader::new(input).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let message: Value = serde_json::from_str(&line).unwrap();
        let method = message["method"].as_str().unwrap_or_default();
        let name = message["params"]["name"].as_str().unwrap_or_default();
        heard.lock().unwrap().push(format!("{method} {name}").trim().to_owned());
        let token = message["params"]["_meta"]["progressToken"].clone();
        let progress = |step: u32| {
            let params = json!({ "progressToken": token, "progress": step, "total": 100, "message": "on it" });
            json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params })
        };
        let text = |text: &str| json!({ "content": [{ "type": "text", "text": text }] });
        let result = match (method, name) {
            ("initialize", _) => json!({
                "protocolVersion": message["params"]["protocolVersion"],
                "capabilities": { "tools": {} },
                "serverInfo": { "name": "double", "version": "1" },
            }),
            ("tools/list", _) => {
                let tool = |name: &&str| json!({ "name": name, "inputSchema": { "type": "object" } });
                json!({ "tools": tools.iter().map(tool).collect::<Vec<_>>() })
            }
            ("tools/call", "echo") => text(&message["params"]["arguments"].to_string()),
            ("tools/call", "die") => return,
            ("tools/call", "toil") => {
                for step in 1..=10 {
                    tokio::time::sleep(Duration::from_secs(100)).await;
                    output.write_all(format!("{}\n", progress(step)).as_bytes()).await.unwrap();
                }
                text("toiled")
            }
            _ => continue,
        };
        let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
        output.write_all(format!("{answer}\n").as_bytes()).await.unwrap();
    }
}

/// Events, kept.
#[derive(Default)]
struct Events(Mutex<Vec<SessionEvent>>);

impl EventSink for Events {
    fn emit(&self, event: SessionEvent) {
        self.0.lock().unwrap().push(event);
    }
}

/// Allows everything.
struct Yes;

impl Approver for Yes {
    fn ask(&self, _ask: Ask) -> BoxFuture<'_, Approval> {
        Box::pin(async { Approval::AllowOnce })
    }
}

impl GrantBook for Yes {
    fn grants(&self, _plugin: &PluginId) -> Option<GrantSet> {
        None
    }
}

impl Ground for Yes {}

impl AuditSink for Yes {
    fn record(&self, _entry: AuditEntry<'_>) {}
}

struct Stage {
    servers: Arc<SessionServers>,
    events: Arc<Events>,
    made: Arc<Mutex<Vec<Instant>>>,
    heard: Arc<Mutex<Vec<String>>>,
}

/// One server, `s`, whose attempts to connect have these outcomes.
fn stage(attempts: Vec<Attempt>) -> Stage {
    let made: Arc<Mutex<Vec<Instant>>> = Arc::default();
    let heard: Arc<Mutex<Vec<String>>> = Arc::default();
    let connector = Attempts { left: Mutex::new(attempts.into()), made: made.clone(), heard: heard.clone() };
    let events = Arc::new(Events::default());
    let servers = Arc::new(SessionServers::new(Box::new(connector), events.clone(), Redaction::default()));
    servers.begin(Wanted {
        entry: ServerEntry {
            name: "s".to_owned(),
            reach: Reach::Http { url: String::new(), headers: BTreeMap::new() },
        },
        patience: Patience { start: Duration::from_secs(20), call: Duration::from_secs(120) },
    });
    Stage { servers, events, made, heard }
}

impl Stage {
    fn state(&self) -> String {
        let state = self.servers.states().remove(0);
        let problem = state.problem.map_or(String::new(), |problem| format!(": {problem}"));
        format!("{} {}{problem}", state.status.as_str(), state.tools)
    }

    async fn until(&self, state: &str) {
        let reached = async {
            while self.state() != state {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        let reached = tokio::time::timeout(Duration::from_secs(600), reached).await;
        assert!(reached.is_ok(), "it is `{}`, not `{state}`", self.state());
    }

    /// How long before each attempt was the one before it.
    fn pauses(&self) -> Vec<f64> {
        let made = self.made.lock().unwrap();
        made.windows(2).map(|pair| ((pair[1] - pair[0]).as_secs_f64() * 100.0).round() / 100.0).collect()
    }

    fn notices(&self) -> Vec<String> {
        let events = self.events.0.lock().unwrap();
        let notice = |event: &SessionEvent| match event {
            SessionEvent::Notice(notice) => Some(notice.title.clone()),
            _ => None,
        };
        events.iter().filter_map(notice).collect()
    }

    async fn call(&self, name: &str, cancel: CancellationToken) -> Result<ToolOutcome, ToolError> {
        let mut tools = ToolCatalog::default();
        tools.follow(self.servers.clone());
        let tools = tools.now();
        let tool = tools.get(&format!("mcp__s__{name}")).unwrap_or_else(|| panic!("there is no tool `{name}`"));
        let arguments = ToolArguments::validate(tool.spec(), json!({ "a": 1 }))?;
        let yes = Arc::new(Yes);
        let leeway = SharedLeeway::new(Leeway::from(Mode::Review));
        let gate = Gate::new(Arc::new(Policy::default()), leeway, yes.clone(), yes.clone(), yes.clone(), yes);
        let origin = Origin::Model { call: ToolCallId::new("c"), tool: tool.spec().name.clone() };
        let permit = gate.authorize(origin, tool.effects(&arguments)?).await?;
        tool.run(&permit, arguments, cancel).await
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_is_answered() {
    let stage = stage(vec![Attempt::Server(&["echo"])]);
    stage.servers.settle().await;
    assert_eq!(stage.state(), "connected 1");
    assert_eq!(stage.call("echo", CancellationToken::new()).await, Ok(ToolOutcome::text("{\"a\":1}")));
    let heard = stage.heard.lock().unwrap().clone();
    assert_eq!(heard, ["initialize", "notifications/initialized", "tools/list", "tools/call echo"]);
    assert_eq!(stage.notices(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_call_without_a_word_ends_at_its_time_and_one_that_tells_of_progress_goes_on() {
    let stage = stage(vec![Attempt::Server(&["sleep", "toil", "echo"])]);
    stage.servers.settle().await;
    let begin = Instant::now();
    let error = stage.call("sleep", CancellationToken::new()).await.unwrap_err();
    assert_eq!(
        error.for_model(),
        "Error [timeout]: the MCP server `s` did not answer within 120 s, and was told to stop"
    );
    assert_eq!(begin.elapsed().as_secs(), 120);
    let begin = Instant::now();
    assert_eq!(stage.call("toil", CancellationToken::new()).await, Ok(ToolOutcome::text("toiled")));
    assert_eq!(begin.elapsed().as_secs(), 1000, "every word of progress begins the time anew");
    assert!(stage.heard.lock().unwrap().contains(&"notifications/cancelled".to_owned()));
    let events = stage.events.0.lock().unwrap();
    let shown = events.iter().filter(|event| matches!(event, SessionEvent::ToolCallUpdated(_)));
    assert!((9..=10).contains(&shown.count()), "the answer may overtake the last word");
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_ends_at_once_and_the_server_is_told() {
    let stage = stage(vec![Attempt::Server(&["sleep", "echo"])]);
    stage.servers.settle().await;
    let cancel = CancellationToken::new();
    let begin = Instant::now();
    let (outcome, ()) = tokio::join!(stage.call("sleep", cancel.clone()), async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        cancel.cancel();
    });
    assert!(outcome.unwrap_err().for_model().starts_with("Error [cancelled]"));
    assert_eq!(begin.elapsed().as_secs(), 1);
    // One whose future is dropped is told of in the same way.
    let dropped = tokio::time::timeout(Duration::from_secs(1), stage.call("sleep", CancellationToken::new()));
    assert!(dropped.await.is_err());
    stage.call("echo", CancellationToken::new()).await.unwrap();
    let heard = stage.heard.lock().unwrap().iter().filter(|line| *line == "notifications/cancelled").count();
    assert_eq!(heard, 2);
}

#[tokio::test(start_paused = true)]
async fn a_lost_server_is_connected_again_ever_more_slowly_and_then_given_up() {
    let lost = || Attempt::Refused("it sleeps");
    let stage = stage((0..6).map(|_| lost()).collect());
    stage.until("failed 0: it sleeps").await;
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(stage.pauses(), [0.2, 1.0, 5.0, 15.0, 60.0]);
    assert_eq!(stage.state(), "failed 0: it sleeps");
    assert_eq!(stage.notices(), ["The MCP server `s` does not work: it sleeps"], "told once");
}

#[tokio::test(start_paused = true)]
async fn what_cannot_get_better_is_not_tried_again() {
    let stage = stage(vec![Attempt::Hopeless("there is no such program"), Attempt::Server(&["echo"])]);
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(stage.state(), "failed 0: there is no such program");
    assert_eq!(stage.made.lock().unwrap().len(), 1);
    stage.servers.get("s").unwrap().restart().await;
    assert_eq!(stage.state(), "connected 1");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_dies_in_a_call_fails_it_and_is_back_for_the_next() {
    let stage = stage(vec![Attempt::Server(&["die", "echo"]), Attempt::Server(&["echo"])]);
    stage.servers.settle().await;
    let error = stage.call("die", CancellationToken::new()).await.unwrap_err();
    assert!(error.for_model().starts_with("Error [server]: the MCP server `s` was lost during the call"), "{error}");
    assert_eq!(stage.call("echo", CancellationToken::new()).await, Ok(ToolOutcome::text("{\"a\":1}")));
    assert_eq!(stage.state(), "connected 1");
    assert_eq!(stage.notices(), ["The MCP server `s` does not work: the connection was closed"]);
}

#[tokio::test(start_paused = true)]
async fn a_steady_connection_is_a_new_beginning() {
    let alive = || Attempt::Server(&["die", "echo"]);
    let stage = stage(vec![Attempt::Refused("not yet"), alive(), alive(), alive()]);
    stage.until("connected 2").await;
    stage.call("die", CancellationToken::new()).await.unwrap_err();
    stage.until("connected 2").await;
    assert_eq!(stage.pauses(), [0.2, 1.0], "lost soon, it is tried again more slowly");
    tokio::time::sleep(Duration::from_secs(61)).await;
    stage.call("die", CancellationToken::new()).await.unwrap_err();
    stage.until("connected 2").await;
    let held = HELD.as_secs_f64();
    assert!((stage.pauses()[2] - held - 61.2).abs() < 0.5, "it counts from where it held: {:?}", stage.pauses());
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_lost_again_and_again_counts_as_connected_when_it_holds() {
    let alive = || Attempt::Server(&["die", "echo"]);
    let stage = stage(vec![alive(), alive(), alive()]);
    for losses in 1..=2 {
        stage.until("connected 2").await;
        stage.call("die", CancellationToken::new()).await.unwrap_err();
        stage.until("failed 2: the connection was closed").await;
        assert!(stage.servers.states()[0].next_try.is_some(), "{losses}");
    }
    tokio::time::sleep(Duration::from_millis(1100)).await;
    assert_eq!(stage.made.lock().unwrap().len(), 3);
    assert_eq!(
        stage.call("echo", CancellationToken::new()).await,
        Ok(ToolOutcome::text("{\"a\":1}")),
        "it can be asked"
    );
    assert_eq!(stage.state(), "failed 2: the connection was closed");
    stage.until("connected 2").await;
    assert_eq!(stage.servers.states()[0].next_try, None);
    let told = stage.events.0.lock().unwrap();
    let states = told.iter().filter(|event| matches!(event, SessionEvent::ServersChanged { .. })).count();
    assert_eq!(states, 6, "connecting, then connected and failed twice, then connected");
}

#[tokio::test(start_paused = true)]
async fn tools_of_a_server_that_is_away_are_kept_for_the_moment_and_say_what_is_wrong() {
    let stage = stage(vec![
        Attempt::Server(&["die", "echo"]),
        Attempt::Refused("out"),
        Attempt::Refused("out"),
        Attempt::Hopeless("gone for good"),
    ]);
    stage.servers.settle().await;
    stage.call("die", CancellationToken::new()).await.unwrap_err();
    tokio::time::sleep(Duration::from_secs(4)).await;
    let error = stage.call("echo", CancellationToken::new()).await.unwrap_err();
    assert_eq!(error.for_model(), "Error [server]: the MCP server `s` cannot be asked: out");
    stage.until("failed 0: gone for good").await;
    assert!(stage.servers.tools().is_empty());
}

#[tokio::test(start_paused = true)]
async fn closing_ends_everything_at_once_whatever_it_does() {
    for attempts in [vec![], vec![Attempt::Server(&["echo"])], vec![Attempt::Refused("out")]] {
        let stage = stage(attempts);
        tokio::time::sleep(Duration::from_millis(100)).await;
        let begin = Instant::now();
        stage.servers.close().await;
        assert!(begin.elapsed() < Duration::from_millis(900));
        assert!(stage.servers.tools().is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn names_and_numbers_of_servers_are_bounded() {
    let stage = stage(vec![]);
    let entry =
        |name: &str| ServerEntry { name: name.to_owned(), reach: Reach::unusable("it is made up", "make it real") };
    assert!(stage.servers.add(entry("s")).is_none(), "the name is taken");
    for number in 0..SERVERS {
        stage.servers.add(entry(&format!("server {number}")));
    }
    assert_eq!(stage.servers.lock().len(), SERVERS);
    let notices = stage.notices();
    assert_eq!(notices[0], "The MCP server `s` is not used: another server has that name");
    assert_eq!(notices[1], "The MCP server `server 63` is not used: a session has at most 64 servers");
}

#[test]
fn folders_are_told_of_as_addresses() {
    let roots = Roots::new([("/p/a b", "/p/a b"), ("/ü%", "/ü%")].map(|(a, b)| (a.into(), b.into())));
    assert_eq!(uris(&roots), ["file:///p/a%20b", "file:///%C3%BC%25"]);
}

/// It cannot be told anything, and has said why before.
#[tokio::test]
async fn a_program_that_hears_nothing_is_heard_out() {
    let errors = ErrorLog::default();
    let output = errors.watch(&b"Usage: server --port PORT\n"[..]);
    let (input, gone) = tokio::io::duplex(1);
    drop(gone);
    let handler = |changes| Handler {
        server: ServerName::new("s").unwrap(),
        roots: Vec::new(),
        progress: Arc::new(ProgressBoard::default()),
        changes,
    };
    let transport = AsyncRwTransport::new_client(output.clone(), input);
    let refused = handshake(handler, transport, ClientLifecycleMode::Initialize, &errors).await;
    assert!(refused.is_err(), "nobody listens");
    assert_eq!(errors.quoted("it ended".to_owned()), "it ended", "nothing was read");
    output.look_at_the_rest().await;
    assert!(errors.quoted("it ended".to_owned()).ends_with(": `Usage: server --port PORT`"));
}
