//! Connects to a server, plain or over TLS, and exchanges whole messages, waiting for each within its time.

use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU16, Ordering};

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use socket2::{Domain, Socket, Type};

use crate::error::ShareError;
use crate::peer::{Exchange, Peer};
use crate::polling::poll_for;

/// A connection to a server; it never blocks.
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

/// A connection on which requests and answers alternate.
#[derive(Debug)]
pub(crate) struct Channel {
    pub stream: Wire,
    pub peer: Peer,
}

impl Peer {
    /// Connects to this port of the server; with `reserved`, from a local port below 1024 if that is allowed.
    ///
    /// # Errors
    /// If the server is not found in time, or does not accept the connection.
    pub fn connect(&self, port: u16, reserved: bool) -> Result<Channel, ShareError> {
        let found = self.addresses(&self.host, port)?;
        let mut refusal = self.unconnected(port, &ErrorKind::AddrNotAvailable.into());
        for address in found {
            match self.connect_to(address, reserved) {
                Ok(stream) => return Ok(Channel { stream: Wire::Plain(stream), peer: self.clone() }),
                Err(ConnectError::Refused(error)) => refusal = self.unconnected(port, &error),
                Err(ConnectError::Over(error @ ShareError::Interrupted)) => return Err(error),
                Err(ConnectError::Over(error)) => refusal = error,
            }
        }
        Err(refusal)
    }

    fn unconnected(&self, port: u16, error: &std::io::Error) -> ShareError {
        let host = &self.host;
        self.refused(format!("port {port} of {host} takes no connection ({error}); see that the server runs there"))
    }

    fn connect_to(&self, address: SocketAddr, reserved: bool) -> Result<TcpStream, ConnectError> {
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
            let tried = (socket.set_reuse_address(true)).and_then(|()| socket.bind(&unspecified(port).into()));
            match tried.map_err(ConnectError::Refused).and_then(|()| self.begin_connection(&socket, address)) {
                Ok(()) => return Ok(socket.into()),
                Err(ConnectError::Refused(error)) => match error.kind() {
                    ErrorKind::AddrInUse | ErrorKind::AddrNotAvailable => {}
                    ErrorKind::PermissionDenied => break,
                    _ => return Err(ConnectError::Refused(error)),
                },
                over @ Err(ConnectError::Over(_)) => return over.map(|()| socket.into()),
            }
        }
        let socket = open()?;
        self.begin_connection(&socket, address)?;
        Ok(socket.into())
    }

    /// Connects a socket, which does not block from then on.
    fn begin_connection(&self, socket: &Socket, address: SocketAddr) -> Result<(), ConnectError> {
        socket.set_nonblocking(true)?;
        socket.set_tcp_nodelay(true)?;
        let exchange = self.exchange(1);
        match socket.connect(&address.into()) {
            Err(error) if error.raw_os_error() == Some(Errno::INPROGRESS.raw_os_error()) => {}
            other => return Ok(other?),
        }
        loop {
            let mut sockets = [PollFd::new(socket, PollFlags::OUT)];
            poll_for(&mut sockets, Some(self.step(&exchange)))?;
            if !sockets[0].revents().is_empty() {
                return socket.take_error()?.map_or(Ok(()), |error| Err(ConnectError::Refused(error)));
            }
            self.goes_on(&exchange).map_err(ConnectError::Over)?;
        }
    }
}

/// Why a connection to one address of a server did not come about.
enum ConnectError {
    /// The system or the server refused it.
    Refused(io::Error),
    /// Its time is over, or the user has asked to stop.
    Over(ShareError),
}

impl From<io::Error> for ConnectError {
    fn from(error: io::Error) -> Self {
        Self::Refused(error)
    }
}

impl Channel {
    /// Sends `message` after the four bytes of `mark`, which hold its length in SMB and NFS.
    ///
    /// # Errors
    /// If the connection is lost, or the exchange lasts too long.
    pub fn send(&mut self, mark: u32, message: &[u8], exchange: &Exchange) -> Result<(), ShareError> {
        self.send_all(&[&mark.to_be_bytes(), message].concat(), exchange)
    }

    /// Sends all of `bytes`.
    ///
    /// # Errors
    /// As [`Self::send`].
    pub fn send_all(&mut self, mut bytes: &[u8], exchange: &Exchange) -> Result<(), ShareError> {
        while !bytes.is_empty() || self.stream.owes() {
            let sent = if bytes.is_empty() { self.stream.flush().map(|()| 0) } else { self.stream.write(bytes) };
            match sent {
                Ok(0) if !bytes.is_empty() => return Err(self.peer.lost(ErrorKind::WriteZero.into())),
                Ok(sent) => bytes = &bytes[sent..],
                Err(error) => self.wait_after(error, PollFlags::OUT, exchange)?,
            }
        }
        Ok(())
    }

    /// Receives some bytes; returns their number, 0 at the end of the connection.
    ///
    /// # Errors
    /// As [`Self::send`].
    pub fn receive_some(&mut self, room: &mut [u8], exchange: &Exchange) -> Result<usize, ShareError> {
        loop {
            match self.stream.read(room) {
                Ok(came) => return Ok(came),
                Err(error) => self.wait_after(error, PollFlags::IN, exchange)?,
            }
        }
    }

    /// Receives the next message; returns the four bytes before it and the message.
    ///
    /// # Errors
    /// As [`Self::send`], and if the length is too large.
    pub fn receive(&mut self, exchange: &Exchange) -> Result<(u32, Vec<u8>), ShareError> {
        let mut mark = [0; 4];
        self.receive_all(&mut mark, exchange)?;
        let mark = u32::from_be_bytes(mark);
        let length = (mark & 0x7fff_ffff) as usize;
        if length > MOST_BYTES {
            return Err(self.peer.garbage(format!("a message of {length} bytes")));
        }
        let mut message = vec![0; length];
        self.receive_all(&mut message, exchange)?;
        Ok((mark, message))
    }

    fn receive_all(&mut self, mut room: &mut [u8], exchange: &Exchange) -> Result<(), ShareError> {
        while !room.is_empty() {
            match self.receive_some(room, exchange)? {
                0 => return Err(self.peer.lost(ErrorKind::UnexpectedEof.into())),
                came => room = &mut room[came..],
            }
        }
        Ok(())
    }

    /// Waits a moment until the connection is ready for `flags`, if `error` only says that it is not.
    ///
    /// # Errors
    /// As [`Self::send`].
    pub fn wait_after(&self, error: io::Error, flags: PollFlags, exchange: &Exchange) -> Result<(), ShareError> {
        match error.kind() {
            ErrorKind::WouldBlock => {}
            ErrorKind::Interrupted => return Ok(()),
            _ => return Err(self.peer.lost(error)),
        }
        self.peer.goes_on(exchange)?;
        let mut sockets = [PollFd::from_borrowed_fd(self.stream.tcp().as_fd(), flags)];
        poll_for(&mut sockets, Some(self.peer.step(exchange))).map_err(|error| self.peer.lost(error))
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::sync::Arc;
    use std::time::Duration;

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
        let timeout = Duration::from_secs(60);
        let stop = Arc::default();
        let peer = Peer { address: "nfs://test".into(), host: "test".into(), protocol: "NFS", timeout, stop };
        // More connections than there are such ports, to two addresses of one server.
        let hosts = [[Ipv4Addr::new(127, 0, 0, 1); 250], [Ipv4Addr::new(127, 0, 0, 2); 250]].concat();
        for host in hosts {
            let stream = peer.connect_to((host, port).into(), true).ok().expect("a connection");
            let from = stream.local_addr().unwrap().port();
            assert!(RESERVED.contains(&from), "{from}");
            // The side that closes first gets the TIME_WAIT.
            let (mut accepted, _) = server.accept().unwrap();
            drop(stream);
            assert_eq!(accepted.read(&mut [0]).unwrap(), 0);
        }
    }
}
