//! Uses most of std, so that linking it shows whether the toolchain is whole. It is never run.
use std::{collections::HashMap, fs, io::Write, time::*};
fn main() -> std::io::Result<()> {
    let m: HashMap<_, _> = std::env::args().zip(std::env::vars()).collect();
    let p = fs::canonicalize(".")?;
    for e in fs::read_dir(&p)? {
        println!("{:?} {:?}", e?.metadata()?, m)
    }
    fs::File::create("x")?.write_all(&fs::read("y")?)?;
    fs::set_permissions("x", fs::metadata("x")?.permissions())?;
    fs::rename("x", "y")?;
    fs::copy("x", "z")?;
    fs::hard_link("x", "z")?;
    fs::remove_dir_all("d")?;
    std::thread::Builder::new().spawn(|| ())?.join().unwrap();
    std::net::TcpStream::connect("localhost:1")?.write_all(b"x")?;
    std::net::UdpSocket::bind("127.0.0.1:0")?.send_to(b"x", "127.0.0.1:1")?;
    std::net::TcpListener::bind("127.0.0.1:0")?.accept()?.0.peer_addr()?;
    println!("{:?} {:?}", SystemTime::now(), Instant::now());
    std::thread::sleep(Duration::from_millis(1));
    std::process::exit(1)
}
