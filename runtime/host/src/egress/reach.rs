//! Finding hosts and connecting to them: all that this room asks the system for.

use std::io;
use std::net::{IpAddr, SocketAddr};

use futures::future::{BoxFuture, FutureExt};
use tokio::net::TcpStream;

/// Looks up names and opens connections. What it finds is judged before anything is done with it.
pub trait Reach: Send + Sync {
    /// All addresses of `name`, in the order in which to try them.
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>>;

    /// A connection to that address.
    fn connect(&self, address: SocketAddr) -> BoxFuture<'_, io::Result<TcpStream>>;
}

/// The system's way.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemReach;

impl Reach for SystemReach {
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        async move { Ok(tokio::net::lookup_host((name, 0)).await?.map(|address| address.ip()).collect()) }.boxed()
    }

    fn connect(&self, address: SocketAddr) -> BoxFuture<'_, io::Result<TcpStream>> {
        TcpStream::connect(address).boxed()
    }
}
