//! A process, a network and a machine around the plugin.
#![expect(clippy::disallowed_methods, reason = "whatever the standard library offers is tried")]

use std::io::{Read as _, Result, Write as _};
use std::net::{TcpListener, TcpStream, ToSocketAddrs as _, UdpSocket};

pub(crate) fn environment() -> String {
    format!("{} variables", std::env::vars_os().count())
}

pub(crate) fn arguments() -> String {
    format!("{} arguments", std::env::args_os().count())
}

pub(crate) fn stdin() -> Result<String> {
    let mut read = Vec::new();
    std::io::stdin().take(1000).read_to_end(&mut read)?;
    Ok(format!("{} bytes", read.len()))
}

pub(crate) fn connect(address: &str) -> Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(b"from inside")?;
    Ok("connected".to_owned())
}

pub(crate) fn listen() -> Result<String> {
    TcpListener::bind("127.0.0.1:0")?.local_addr().map(|address| address.to_string())
}

pub(crate) fn datagram(address: &str) -> Result<String> {
    UdpSocket::bind("127.0.0.1:0")?.send_to(b"from inside", address).map(|sent| format!("{sent} bytes"))
}

pub(crate) fn resolve(host: &str) -> Result<String> {
    (host, 80).to_socket_addrs().map(|addresses| format!("{} addresses", addresses.count()))
}

pub(crate) fn spawn() -> Result<String> {
    std::process::Command::new("/bin/sh").args(["-c", "true"]).status().map(|status| status.to_string())
}

pub(crate) fn thread() -> Result<String> {
    std::thread::Builder::new().spawn(|| ()).map(|_| "started".to_owned())
}
