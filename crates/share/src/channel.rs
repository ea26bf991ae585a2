//! Connects to a server, plain or over TLS, and exchanges whole messages, blocking for each.

use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use socket2::{Domain, Socket, Type};

use crate::error::ShareError;

/// A connection to a server.
#[derive(Debug)]
pub(crate) enum Wire {
    /// Bytes are sent plain.
    Plain(TcpStream),
    /// Bytes are encrypted.
    #[cfg(feature = "s3")]
    Tls(Box<crate::tls::TlsWire>),
}

impl Wire {
    /// The TCP connection below.
    pub fn tcp(&self) -> &TcpStream {
        match self {
            Self::Plain(stream) => stream,
            #[cfg(feature = "s3")]
            Self::Tls(wire) => wire.tcp(),
        }
    }

    /// Whether a read that fills less than its buffer has read everything. With TLS, a read returns at most one record.
    pub fn is_read_whole(&self) -> bool {
        matches!(self, Self::Plain(_))
    }

    /// Whether written bytes are still to be sent.
    pub fn owes(&self) -> bool {
        match self {
            Self::Plain(_) => false,
            #[cfg(feature = "s3")]
            Self::Tls(wire) => wire.owes(),
        }
    }
}

impl Read for Wire {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.read(room),
            #[cfg(feature = "s3")]
            Self::Tls(wire) => wire.read(room),
        }
    }
}

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.write(bytes),
            #[cfg(feature = "s3")]
            Self::Tls(wire) => wire.write(bytes),
        }
    }

    fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.write_vectored(parts),
            #[cfg(feature = "s3")]
            Self::Tls(wire) => wire.write_vectored(parts),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(stream) => stream.flush(),
            #[cfg(feature = "s3")]
            Self::Tls(wire) => wire.flush(),
        }
    }
}

/// Length limit of a message that is read whole.
const MOST_BYTES: usize = 16 << 20;
/// Local ports below 1024 for connections to NFS servers; the others belong to known services.
const RESERVED: std::ops::Range<u16> = 665..1023;
/// Number of these ports that one connection tries.
const TRIED: u16 = 64;
/// Counter from which the next port is computed.
static NEXT: LazyLock<AtomicU16> = LazyLock::new(|| AtomicU16::new(std::process::id() as u16));

/// The other end of a connection.
#[derive(Debug, Clone)]
pub(crate) struct Peer {
    /// The share's address, as errors show it.
    pub address: Arc<str>,
    pub host: Arc<str>,
    pub protocol: &'static str,
    /// How long the server may be silent.
    pub timeout: Duration,
}

/// A connection on which requests and answers alternate.
#[derive(Debug)]
pub(crate) struct Channel {
    pub stream: Wire,
    pub peer: Peer,
}

impl Peer {
    pub fn refused(&self, what: impl Into<String>) -> ShareError {
        ShareError::refused(&self.address, what)
    }

    pub fn garbage(&self, what: impl Into<String>) -> ShareError {
        ShareError::Garbage { address: self.address.to_string(), protocol: self.protocol, what: what.into() }
    }

    pub fn silent(&self, waited: Duration) -> ShareError {
        ShareError::Silent { address: self.address.to_string(), seconds: waited.as_secs_f64() }
    }

    pub fn lost(&self, error: std::io::Error) -> ShareError {
        ShareError::Lost { address: self.address.to_string(), error }
    }

    /// Converts an I/O error of a blocking connection; a timeout means that the server is silent.
    pub fn failed(&self, error: std::io::Error) -> ShareError {
        match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => self.silent(self.timeout),
            _ => self.lost(error),
        }
    }

    /// Connects to this port of the server; with `reserved`, from a local port below 1024 if that is allowed.
    ///
    /// # Errors
    /// If the server is not found, or does not accept the connection.
    pub fn connect(&self, port: u16, reserved: bool) -> Result<Channel, ShareError> {
        let host = &*self.host;
        let found = (host, port)
            .to_socket_addrs()
            .map_err(|error| self.refused(format!("the server {host} cannot be found ({error}); look at its name")))?;
        let mut refusal = std::io::Error::from(ErrorKind::AddrNotAvailable);
        for address in found {
            match self.connect_to(address, reserved) {
                Ok(stream) => return Ok(Channel { stream: Wire::Plain(stream), peer: self.clone() }),
                Err(error) => refusal = error,
            }
        }
        if matches!(refusal.kind(), ErrorKind::TimedOut | ErrorKind::WouldBlock) {
            return Err(self.silent(self.timeout));
        }
        let what = format!("port {port} of {host} takes no connection ({refusal}); see that the server runs there");
        Err(self.refused(what))
    }

    fn connect_to(&self, address: SocketAddr, reserved: bool) -> std::io::Result<TcpStream> {
        let open = || Socket::new(Domain::for_address(address), Type::STREAM, None);
        let unspecified = |port| match address {
            SocketAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)),
            SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)),
        };
        // Without permission for such a port, or without a free one, use any port: many servers accept it. Each
        // connection starts after the port of the last one, because earlier ports may still be in TIME_WAIT.
        let ports = RESERVED.end - RESERVED.start;
        for _ in (0..TRIED).filter(|_| reserved) {
            let port = RESERVED.start + NEXT.fetch_add(1, Ordering::Relaxed) % ports;
            let socket = open()?;
            // There are few such ports, so use also those in TIME_WAIT.
            let tried = (socket.set_reuse_address(true))
                .and_then(|()| socket.bind(&unspecified(port).into()))
                .and_then(|()| socket.connect_timeout(&address.into(), self.timeout));
            match tried {
                Ok(()) => return self.usual(socket.into()),
                Err(error) if matches!(error.kind(), ErrorKind::AddrInUse | ErrorKind::AddrNotAvailable) => {}
                Err(error) if error.kind() == ErrorKind::PermissionDenied => break,
                Err(error) => return Err(error),
            }
        }
        let socket = open()?;
        socket.connect_timeout(&address.into(), self.timeout)?;
        self.usual(socket.into())
    }

    fn usual(&self, stream: TcpStream) -> std::io::Result<TcpStream> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(self.timeout))?;
        stream.set_write_timeout(Some(self.timeout))?;
        Ok(stream)
    }
}

impl Channel {
    /// Sends `message` after the four bytes of `mark`, which hold its length in SMB and NFS.
    ///
    /// # Errors
    /// If the connection is lost, or accepts nothing for too long.
    pub fn send(&mut self, mark: u32, message: &[u8]) -> Result<(), ShareError> {
        let whole = [&mark.to_be_bytes(), message].concat();
        self.stream.write_all(&whole).map_err(|error| self.failed(error))
    }

    /// Receives the next message; returns the four bytes before it and the message.
    ///
    /// # Errors
    /// If the connection is lost, the server is silent for too long, or the length is too large.
    pub fn receive(&mut self) -> Result<(u32, Vec<u8>), ShareError> {
        let mut mark = [0; 4];
        self.stream.read_exact(&mut mark).map_err(|error| self.failed(error))?;
        let mark = u32::from_be_bytes(mark);
        let length = (mark & 0x7fff_ffff) as usize;
        if length > MOST_BYTES {
            return Err(self.peer.garbage(format!("a message of {length} bytes")));
        }
        let mut message = vec![0; length];
        let until = Instant::now() + self.peer.timeout;
        let mut at = 0;
        while at < length {
            match self.stream.read(&mut message[at..]).map_err(|error| self.failed(error))? {
                0 => return Err(self.failed(ErrorKind::UnexpectedEof.into())),
                read => at += read,
            }
            // A server that sends a byte at a time counts as silent too.
            if at < length && Instant::now() > until {
                return Err(self.peer.silent(self.peer.timeout));
            }
        }
        Ok((mark, message))
    }

    /// Converts an I/O error of the connection.
    pub fn failed(&self, error: std::io::Error) -> ShareError {
        self.peer.failed(error)
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn ports_that_wait_after_earlier_connections_serve_again() {
        let refused = TcpListener::bind(("127.0.0.1", RESERVED.start)).err();
        if refused.is_some_and(|error| error.kind() == ErrorKind::PermissionDenied) {
            assert!(std::env::var_os("HALFPOWER_NO_SKIP").is_none(), "may not be skipped: ports below 1024");
            return eprintln!("skipped: this user may not use ports below 1024");
        }
        let server = TcpListener::bind(("0.0.0.0", 0)).unwrap();
        let port = server.local_addr().unwrap().port();
        let timeout = Duration::from_secs(10);
        let peer = Peer { address: "nfs://test".into(), host: "test".into(), protocol: "NFS", timeout };
        // More connections than there are such ports, to two addresses of one server.
        let hosts = [[Ipv4Addr::new(127, 0, 0, 1); 250], [Ipv4Addr::new(127, 0, 0, 2); 250]].concat();
        for host in hosts {
            let stream = peer.connect_to((host, port).into(), true).unwrap();
            let from = stream.local_addr().unwrap().port();
            assert!(RESERVED.contains(&from), "{from}");
            // The side that closes first gets the TIME_WAIT.
            let (mut accepted, _) = server.accept().unwrap();
            drop(stream);
            assert_eq!(accepted.read(&mut [0]).unwrap(), 0);
        }
    }
}
