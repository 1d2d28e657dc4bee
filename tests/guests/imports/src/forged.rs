//! Functions of what the guest was never given: it makes the handles up.
#![allow(unsafe_code, reason = "a handle that nobody has given is what is tried")]

use std::fmt::Debug;
use std::mem::ManuallyDrop;

use crate::bindings::aar::host::http::Response;
use crate::bindings::wasi::filesystem::types::{Descriptor, DirectoryEntryStream};
use crate::bindings::wasi::http::types::{
    FutureTrailers, IncomingBody, IncomingRequest, IncomingResponse, ResponseOutparam,
};
use crate::bindings::wasi::sockets::instance_network::instance_network;
use crate::bindings::wasi::sockets::ip_name_lookup::ResolveAddressStream;
use crate::bindings::wasi::sockets::network::{IpSocketAddress, Ipv4SocketAddress};
use crate::bindings::wasi::sockets::tcp::{ShutdownType, TcpSocket};
use crate::bindings::wasi::sockets::udp::{
    IncomingDatagramStream, OutgoingDatagram, OutgoingDatagramStream, UdpSocket,
};
use crate::files::FUNCTIONS;

/// A handle that nobody has given.
const NOBODY_S: u32 = 4711;

/// A thing of type `$thing` behind a handle that is none of its.
macro_rules! forged {
    ($thing:ty, $handle:expr) => {
        // SAFETY: the host checks every handle; that it does is what is tried.
        ManuallyDrop::new(unsafe { <$thing>::from_handle($handle) })
    };
}

/// What the function answers, if it does. `other` takes a handle of something else, instead of one that there is not.
pub(crate) fn call(function: &str, port: u16, other: bool) -> String {
    let network = instance_network();
    let handle = if other { network.handle() } else { NOBODY_S };
    let answer = match function.split_once(' ') {
        Some(("aar:host/http", function)) => response(function, handle),
        Some(("wasi:filesystem/types", function)) => files(function, handle),
        Some(("wasi:sockets/ip-name-lookup", function)) => lookup(function, handle),
        Some(("wasi:sockets/tcp", function)) => tcp(function, handle, port),
        Some(("wasi:sockets/udp", function)) => udp(function, handle, port),
        Some(("wasi:http/types", function)) => web(function, handle),
        _ => None,
    };
    answer.unwrap_or_else(|| "the guest does not know it".to_owned())
}

#[expect(clippy::unnecessary_wraps, reason = "it stands where a function that is not known is none")]
fn told(answer: impl Debug) -> Option<String> {
    Some(format!("it has answered: {answer:?}"))
}

fn here(port: u16) -> IpSocketAddress {
    IpSocketAddress::Ipv4(Ipv4SocketAddress { port, address: (127, 0, 0, 1) })
}

fn response(function: &str, handle: u32) -> Option<String> {
    let response = forged!(Response, handle);
    match function {
        "response.status" => told(response.status()),
        "response.url" => told(response.url()),
        "response.headers" => told(response.headers()),
        "response.read" => told(response.read(10)),
        _ => None,
    }
}

fn files(function: &str, handle: u32) -> Option<String> {
    if function == "directory-entry-stream.read-directory-entry" {
        return told(forged!(DirectoryEntryStream, handle).read_directory_entry());
    }
    let (_, call) = FUNCTIONS.iter().find(|(name, _)| *name == function)?;
    told(call(&forged!(Descriptor, handle)))
}

fn lookup(function: &str, handle: u32) -> Option<String> {
    let addresses = forged!(ResolveAddressStream, handle);
    match function {
        "resolve-address-stream.resolve-next-address" => told(addresses.resolve_next_address()),
        "resolve-address-stream.subscribe" => told(addresses.subscribe()),
        _ => None,
    }
}

fn tcp(function: &str, handle: u32, port: u16) -> Option<String> {
    let (network, socket) = (instance_network(), forged!(TcpSocket, handle));
    match function.strip_prefix("tcp-socket.")? {
        "start-bind" => told(socket.start_bind(&network, here(0))),
        "finish-bind" => told(socket.finish_bind()),
        "start-connect" => told(socket.start_connect(&network, here(port))),
        "finish-connect" => told(socket.finish_connect()),
        "start-listen" => told(socket.start_listen()),
        "finish-listen" => told(socket.finish_listen()),
        "accept" => told(socket.accept()),
        "local-address" => told(socket.local_address()),
        "remote-address" => told(socket.remote_address()),
        "is-listening" => told(socket.is_listening()),
        "address-family" => told(socket.address_family()),
        "set-listen-backlog-size" => told(socket.set_listen_backlog_size(1)),
        "keep-alive-enabled" => told(socket.keep_alive_enabled()),
        "set-keep-alive-enabled" => told(socket.set_keep_alive_enabled(true)),
        "keep-alive-idle-time" => told(socket.keep_alive_idle_time()),
        "set-keep-alive-idle-time" => told(socket.set_keep_alive_idle_time(1)),
        "keep-alive-interval" => told(socket.keep_alive_interval()),
        "set-keep-alive-interval" => told(socket.set_keep_alive_interval(1)),
        "keep-alive-count" => told(socket.keep_alive_count()),
        "set-keep-alive-count" => told(socket.set_keep_alive_count(1)),
        "hop-limit" => told(socket.hop_limit()),
        "set-hop-limit" => told(socket.set_hop_limit(1)),
        "receive-buffer-size" => told(socket.receive_buffer_size()),
        "set-receive-buffer-size" => told(socket.set_receive_buffer_size(1)),
        "send-buffer-size" => told(socket.send_buffer_size()),
        "set-send-buffer-size" => told(socket.set_send_buffer_size(1)),
        "subscribe" => told(socket.subscribe()),
        "shutdown" => told(socket.shutdown(ShutdownType::Both)),
        _ => None,
    }
}

fn udp(function: &str, handle: u32, port: u16) -> Option<String> {
    let (network, socket) = (instance_network(), forged!(UdpSocket, handle));
    let (incoming, outgoing) = (forged!(IncomingDatagramStream, handle), forged!(OutgoingDatagramStream, handle));
    let datagram = || OutgoingDatagram { data: b"told".to_vec(), remote_address: Some(here(port)) };
    match function {
        "udp-socket.start-bind" => told(socket.start_bind(&network, here(0))),
        "udp-socket.finish-bind" => told(socket.finish_bind()),
        "udp-socket.stream" => told(socket.stream(Some(here(port)))),
        "udp-socket.local-address" => told(socket.local_address()),
        "udp-socket.remote-address" => told(socket.remote_address()),
        "udp-socket.address-family" => told(socket.address_family()),
        "udp-socket.unicast-hop-limit" => told(socket.unicast_hop_limit()),
        "udp-socket.set-unicast-hop-limit" => told(socket.set_unicast_hop_limit(1)),
        "udp-socket.receive-buffer-size" => told(socket.receive_buffer_size()),
        "udp-socket.set-receive-buffer-size" => told(socket.set_receive_buffer_size(1)),
        "udp-socket.send-buffer-size" => told(socket.send_buffer_size()),
        "udp-socket.set-send-buffer-size" => told(socket.set_send_buffer_size(1)),
        "udp-socket.subscribe" => told(socket.subscribe()),
        "incoming-datagram-stream.receive" => told(incoming.receive(1)),
        "incoming-datagram-stream.subscribe" => told(incoming.subscribe()),
        "outgoing-datagram-stream.check-send" => told(outgoing.check_send()),
        "outgoing-datagram-stream.send" => told(outgoing.send(&[datagram()])),
        "outgoing-datagram-stream.subscribe" => told(outgoing.subscribe()),
        _ => None,
    }
}

fn web(function: &str, handle: u32) -> Option<String> {
    let (response, request) = (forged!(IncomingResponse, handle), forged!(IncomingRequest, handle));
    let trailers = forged!(FutureTrailers, handle);
    match function {
        "incoming-response.status" => told(response.status()),
        "incoming-response.headers" => told(response.headers()),
        "incoming-response.consume" => told(response.consume()),
        "incoming-body.stream" => told(forged!(IncomingBody, handle).stream()),
        "incoming-body.finish" => told(IncomingBody::finish(ManuallyDrop::into_inner(forged!(IncomingBody, handle)))),
        "future-trailers.subscribe" => told(trailers.subscribe()),
        "future-trailers.get" => told(trailers.get()),
        "incoming-request.method" => told(request.method()),
        "incoming-request.path-with-query" => told(request.path_with_query()),
        "incoming-request.scheme" => told(request.scheme()),
        "incoming-request.authority" => told(request.authority()),
        "incoming-request.headers" => told(request.headers()),
        "incoming-request.consume" => told(request.consume()),
        "response-outparam.set" => {
            let outparam = ManuallyDrop::into_inner(forged!(ResponseOutparam, handle));
            ResponseOutparam::set(outparam, Err(crate::bindings::wasi::http::types::ErrorCode::InternalError(None)));
            told(())
        }
        _ => None,
    }
}
