//! A server on loopback that is no provider: it answers every request with the same bytes, then with others again and
//! again until the client goes away. It writes from threads of its own, as fast as it can.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;

use tokio::sync::watch;

/// The server. Its threads end with the test's process.
pub struct Flood {
    address: SocketAddr,
    state: watch::Receiver<State>,
}

#[derive(Default)]
struct State {
    /// Bytes of what is sent again and again.
    sent: usize,
    /// Connections that have ended.
    left: usize,
}

/// What is answered.
struct Answer {
    head: String,
    first: Vec<u8>,
    again: Vec<u8>,
}

impl Flood {
    /// Listens on a free port. `head` is the response's first line and its headers, `first` the begin of its body;
    /// `again` comes without an end, or not at all where it is empty.
    pub fn start(head: &str, first: &[u8], again: &[u8]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port on loopback");
        let address = listener.local_addr().expect("a bound address");
        let answer = Arc::new(Answer { head: head.to_owned(), first: first.to_owned(), again: again.to_owned() });
        let (state, watched) = watch::channel(State::default());
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (answer, state) = (answer.clone(), state.clone());
                std::thread::spawn(move || {
                    // The client goes away sooner or later.
                    let _ = answer.give(client, &state);
                    state.send_modify(|state| state.left += 1);
                });
            }
        });
        Self { address, state: watched }
    }

    /// The address for the settings, without a slash at its end.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Waits until this many bytes were sent of what comes again and again.
    pub async fn has_sent(&self, bytes: usize) {
        self.state.clone().wait_for(|state| state.sent >= bytes).await.expect("the server runs");
    }

    /// Waits until a connection has ended.
    pub async fn client_left(&self) {
        self.state.clone().wait_for(|state| state.left > 0).await.expect("the server runs");
    }
}

impl Answer {
    fn give(&self, mut client: TcpStream, state: &watch::Sender<State>) -> io::Result<()> {
        let mut request = Vec::new();
        let mut piece = [0; 4096];
        while !is_whole(&request) {
            match client.read(&mut piece)? {
                0 => return Ok(()),
                size => request.extend_from_slice(&piece[..size]),
            }
        }
        write!(client, "HTTP/1.1 {}\r\nconnection: close\r\n\r\n", self.head)?;
        client.write_all(&self.first)?;
        while !self.again.is_empty() {
            client.write_all(&self.again)?;
            state.send_modify(|state| state.sent += self.again.len());
        }
        Ok(())
    }
}

/// Whether a request has come with its whole body: a connection that ends before is reset, and the answer lost.
fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request).to_ascii_lowercase();
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
    length.is_none_or(|length| length.trim().parse().is_ok_and(|length: usize| body.len() >= length))
}
