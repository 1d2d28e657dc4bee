//! Which addresses are the public network's.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Why nothing is sent to that address; none where it is one of the public network. What is not known to be public is
/// not.
pub(super) fn why_not(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => why_not_v4(address),
        IpAddr::V6(address) => why_not_v6(address),
    }
}

fn why_not_v4(address: Ipv4Addr) -> Option<&'static str> {
    Some(match address.octets() {
        [0, ..] => "an address of no host",
        [127, ..] => "this machine",
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => "a private network",
        [100, 64..=127, ..] => "a provider's own network",
        // A cloud's metadata is among these, and at the other one.
        [169, 254, ..] => "a link-local address",
        [168, 63, 129, 16] => "a cloud's own address",
        [192, 0, 0, _] | [192, 31, 196, _] | [192, 52, 193, _] | [192, 175, 48, _] => "an address of protocols",
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => "an address for documentation",
        [192, 88, 99, _] => "a way into another network",
        [198, 18..=19, ..] => "an address for measurements",
        [224..=239, ..] => "an address of many hosts",
        [240..=255, ..] => "a reserved address",
        _ => return None,
    })
}

fn why_not_v6(address: Ipv6Addr) -> Option<&'static str> {
    Some(match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 1] => "this machine",
        [0, 0, 0, 0, 0, 0, 0, 0] => "an address of no host",
        [0, 0, 0, 0, 0, 0xffff | 0, ..] => "an address of version 4 in another form",
        [0x64, 0xff9b, ..] => "a way into another network",
        [0xfc00..=0xfdff, ..] => "a private network",
        [0xfe80..=0xfebf, ..] => "a link-local address",
        [0xff00..=0xffff, ..] => "an address of many hosts",
        // Teredo and others of protocols; 6to4.
        [0x2001, 0..=0x1ff, ..] => "an address of protocols",
        [0x2002, ..] => "a way into another network",
        [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => "an address for documentation",
        [0x2000..=0x3fff, ..] => return None,
        _ => "a reserved address",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_public_addresses_are_sent_to() {
        for public in ["1.1.1.1", "8.8.8.8", "172.15.0.1", "172.32.0.1", "100.63.0.1", "100.128.0.1", "168.63.129.17"] {
            assert_eq!(why_not(public.parse().unwrap()), None, "{public}");
        }
        for public in ["2606:4700:4700::1111", "2a00:1450::1", "2001:4860:4860::8888", "2001:200::1"] {
            assert_eq!(why_not(public.parse().unwrap()), None, "{public}");
        }
        for other in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "100.100.100.200",
            "127.0.0.1",
            "127.255.255.255",
            "168.63.129.16",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.1",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:10.0.0.1",
            "::ffff:1.1.1.1",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:db8::1",
            "2002:7f00:1::1",
            "3fff::1",
            "4000::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(why_not(other.parse().unwrap()).is_some(), "{other}");
        }
    }
}
