//! `wasi:sockets`. There is none to go on with.

use crate::Report;
use crate::bindings::wasi::sockets::network::IpAddressFamily;
use crate::bindings::wasi::sockets::{instance_network, ip_name_lookup, tcp_create_socket, udp_create_socket};

pub(crate) fn call(report: &mut Report) {
    let network = instance_network::instance_network();
    report.said("wasi:sockets/instance-network instance-network", &network);
    for name in ["localhost", "127.0.0.1", "a-secret.example.com"] {
        let addresses = ip_name_lookup::resolve_addresses(&network, name);
        report.said("wasi:sockets/ip-name-lookup resolve-addresses", addresses);
    }
    for family in [IpAddressFamily::Ipv4, IpAddressFamily::Ipv6] {
        let socket = tcp_create_socket::create_tcp_socket(family);
        report.said("wasi:sockets/tcp-create-socket create-tcp-socket", socket);
        let socket = udp_create_socket::create_udp_socket(family);
        report.said("wasi:sockets/udp-create-socket create-udp-socket", socket);
    }
}
