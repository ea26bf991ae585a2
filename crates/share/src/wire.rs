//! Carries bytes to a server and back, plain or over TLS, blocking or not as its socket is.

use std::io::{IoSlice, Read, Result, Write};
use std::net::TcpStream;

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
    fn read(&mut self, room: &mut [u8]) -> Result<usize> {
        match self {
            Self::Plain(stream) => stream.read(room),
            #[cfg(feature = "s3")]
            Self::Tls(wire) => wire.read(room),
        }
    }
}

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        match self {
            Self::Plain(stream) => stream.write(bytes),
            #[cfg(feature = "s3")]
            Self::Tls(wire) => wire.write(bytes),
        }
    }

    fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> Result<usize> {
        match self {
            Self::Plain(stream) => stream.write_vectored(parts),
            #[cfg(feature = "s3")]
            Self::Tls(wire) => wire.write_vectored(parts),
        }
    }

    fn flush(&mut self) -> Result<()> {
        match self {
            Self::Plain(stream) => stream.flush(),
            #[cfg(feature = "s3")]
            Self::Tls(wire) => wire.flush(),
        }
    }
}
