//! A server on loopback that speaks TLS and passes what it hears to another one, which does not.
//!
//! Its certificate is for `localhost` and of an authority that nobody trusts, `support/tls/authority.pem`. Both hold for
//! a hundred years and for nothing else.
#![expect(clippy::disallowed_methods, reason = "starts a program")]

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// Python has TLS with it.
const PUMP: &str = r#"
import socket, ssl, sys, threading
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1])
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
def pump(source, sink):
    try:
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass
def serve(client):
    try:
        client = context.wrap_socket(client, server_side=True)
    except OSError:
        return
    target = socket.create_connection(("127.0.0.1", int(sys.argv[2])))
    threading.Thread(target=pump, args=(target, client), daemon=True).start()
    pump(client, target)
while True:
    threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()
"#;

/// The server. It ends when it is dropped.
pub struct TlsDouble {
    port: u16,
    server: Child,
}

impl TlsDouble {
    /// In front of the server at that port.
    pub fn start(port: u16) -> Self {
        let mut command = Command::new("python3");
        command.args(["-c", PUMP]).arg(file("server.pem")).arg(port.to_string());
        let mut server = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("Python is there");
        let mut line = String::new();
        let stdout = server.stdout.take().expect("stdout is a pipe");
        BufReader::new(stdout).read_line(&mut line).expect("it says its port");
        Self { port: line.trim().parse().expect("a port"), server }
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The file with the authority to trust.
    pub fn authority() -> PathBuf {
        file("authority.pem")
    }
}

fn file(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/support/tls")).join(name)
}

impl Drop for TlsDouble {
    fn drop(&mut self) {
        // It has nothing to put in order.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}
