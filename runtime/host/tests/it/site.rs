//! Servers on loopback that answer as they are told, and a network in which every address leads to one of them.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use acp_runtime_host::egress::Reach;
use futures::future::{BoxFuture, FutureExt};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// A piece of an answer.
pub enum Piece {
    /// These bytes.
    Bytes(Vec<u8>),
    /// These bytes again and again, until nobody listens.
    Forever(Vec<u8>),
    /// One byte at a time, with such pauses, without an end.
    Drip(Duration),
    /// Nothing, without an end.
    Stall,
}

/// A server, which ends when it is dropped.
pub struct Site {
    pub port: u16,
    asked: Arc<Mutex<Vec<String>>>,
    /// How many connections are open, and were at once.
    open: Arc<Mutex<(usize, usize)>>,
    server: JoinHandle<()>,
}

impl Site {
    /// Answers each request, which it is shown as it came.
    pub async fn start(answer: impl Fn(&str) -> Vec<Piece> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (asked, open) = (Arc::<Mutex<Vec<String>>>::default(), Arc::<Mutex<(usize, usize)>>::default());
        let (heard, counted, answer) = (asked.clone(), open.clone(), Arc::new(answer));
        let server = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (heard, counted, answer) = (heard.clone(), counted.clone(), answer.clone());
                tokio::spawn(async move {
                    {
                        let mut open = counted.lock().unwrap();
                        open.0 += 1;
                        open.1 = open.1.max(open.0);
                    }
                    if let Ok(request) = read(&mut stream).await {
                        heard.lock().unwrap().push(request.clone());
                        // That the client went away is its right.
                        let _ = write(&mut stream, answer(&request)).await;
                    }
                    counted.lock().unwrap().0 -= 1;
                });
            }
        });
        Self { port, asked, open, server }
    }

    /// The same answer to all.
    pub async fn saying(answer: impl Into<Vec<u8>>) -> Self {
        let answer = answer.into();
        Self::start(move |_| vec![Piece::Bytes(answer.clone())]).await
    }

    /// Its address.
    pub fn url(&self, path: &str) -> String {
        format!("http://localhost:{}{path}", self.port)
    }

    /// What it was asked, as it came.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    /// Whether a connection is open.
    pub fn is_busy(&self) -> bool {
        self.open.lock().unwrap().0 > 0
    }

    /// The most connections that were open at once.
    pub fn most_at_once(&self) -> usize {
        self.open.lock().unwrap().1
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// An answer with a body of that length.
pub fn ok(headers: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let head = format!("HTTP/1.1 200 OK\r\n{headers}content-length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

/// A redirect.
pub fn redirect(status: u16, location: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status} Found\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n").into_bytes()
}

async fn read(stream: &mut TcpStream) -> io::Result<String> {
    let mut heard = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&heard).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length =
                head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
            if body.len() >= length.unwrap_or(0) {
                return Ok(text);
            }
        }
        let mut piece = [0; 4096];
        match stream.read(&mut piece).await? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => heard.extend_from_slice(&piece[..read]),
        }
    }
}

async fn write(stream: &mut TcpStream, answer: Vec<Piece>) -> io::Result<()> {
    for piece in answer {
        match piece {
            Piece::Bytes(bytes) => stream.write_all(&bytes).await?,
            Piece::Forever(bytes) => loop {
                stream.write_all(&bytes).await?;
            },
            Piece::Drip(pause) => loop {
                stream.write_all(b".").await?;
                tokio::time::sleep(pause).await;
            },
            Piece::Stall => {
                // Until the other end goes away: it says nothing more.
                stream.read_u8().await?;
            }
        }
    }
    stream.shutdown().await
}

/// A network of names. Whatever public address is connected to, a site answers.
#[derive(Default)]
pub struct Map {
    /// What a name is answered with, one answer after another, the last for ever.
    pub names: Mutex<HashMap<String, Vec<Vec<IpAddr>>>>,
    /// Where public addresses lead.
    pub site: Mutex<Option<u16>>,
    /// What was looked up, and what was connected to.
    pub looked_up: Mutex<Vec<String>>,
    pub connected: Mutex<Vec<SocketAddr>>,
}

impl Map {
    /// A name with that answer.
    pub fn name(&self, name: &str, answers: &[&[&str]]) {
        let answers = answers.iter().map(|answer| answer.iter().map(|address| address.parse().unwrap()).collect());
        self.names.lock().unwrap().insert(name.to_owned(), answers.collect());
    }
}

impl Reach for Map {
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        self.looked_up.lock().unwrap().push(name.to_owned());
        let mut names = self.names.lock().unwrap();
        let answer = match names.get_mut(name) {
            Some(answers) if answers.len() > 1 => Ok(answers.remove(0)),
            Some(answers) => Ok(answers[0].clone()),
            None => Err(io::Error::new(io::ErrorKind::NotFound, "no such name")),
        };
        async { answer }.boxed()
    }

    fn connect(&self, address: SocketAddr) -> BoxFuture<'_, io::Result<TcpStream>> {
        self.connected.lock().unwrap().push(address);
        let site = *self.site.lock().unwrap();
        async move {
            match site {
                Some(port) if !address.ip().is_loopback() => TcpStream::connect(("127.0.0.1", port)).await,
                _ => TcpStream::connect(address).await,
            }
        }
        .boxed()
    }
}
