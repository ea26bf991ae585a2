//! Speaks TLS over a connection, waiting or not as its socket does; nothing runs beside it.

use std::io::{ErrorKind, IoSlice, Read, Result, Write};
use std::net::TcpStream;
use std::sync::{Arc, OnceLock};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore};

use crate::channel::Channel;
use crate::protocol::Outcome;
use crate::wire::Wire;

/// Names a file of certificates that are trusted in place of the machine's.
const BUNDLE: &str = "AWS_CA_BUNDLE";

/// One side of TLS over a connection.
#[derive(Debug)]
pub(crate) struct TlsWire {
    session: ClientConnection,
    stream: TcpStream,
}

/// The same connection, over TLS to a server of this name.
///
/// # Errors
/// Where the server is not who it should be, or speaks no TLS.
pub(crate) fn over(channel: Channel, host: &str) -> Outcome<Channel> {
    static CONFIG: OnceLock<std::result::Result<Arc<ClientConfig>, String>> = OnceLock::new();
    match CONFIG.get_or_init(|| trusted().and_then(config)) {
        Ok(config) => over_by(channel, host, Arc::clone(config)),
        Err(what) => Err(channel.peer.refused(what.as_str())),
    }
}

fn over_by(channel: Channel, host: &str, config: Arc<ClientConfig>) -> Outcome<Channel> {
    let Channel { stream, peer } = channel;
    let Wire::Plain(mut stream) = stream else { unreachable!("a connection is new") };
    let untrusted = |what: String| {
        peer.refused(format!(
            "{host} is not trusted, or speaks no TLS ({what}); look at the endpoint, or name its certificate with {BUNDLE}"
        ))
    };
    let name = ServerName::try_from(host.to_string()).map_err(|error| untrusted(error.to_string()))?;
    let mut session = ClientConnection::new(config, name).map_err(|error| untrusted(error.to_string()))?;
    while session.is_handshaking() {
        if let Err(error) = session.complete_io(&mut stream) {
            let channel = Channel { stream: Wire::Plain(stream), peer: peer.clone() };
            return Err(if error.kind() == ErrorKind::InvalidData {
                untrusted(error.to_string())
            } else {
                channel.failed(error)
            });
        }
    }
    Ok(Channel { stream: Wire::Tls(Box::new(TlsWire { session, stream })), peer })
}

/// What is trusted: the certificates of the file that the environment names, else the machine's (SSL_CERT_FILE).
fn trusted() -> std::result::Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    if let Some(path) = std::env::var_os(BUNDLE).filter(|path| !path.is_empty()) {
        let unreadable = |error| format!("{BUNDLE}={}: it holds no certificates ({error})", path.display());
        for certificate in CertificateDer::pem_file_iter(&path).map_err(unreadable)? {
            roots.add_parsable_certificates([certificate.map_err(unreadable)?]);
        }
    } else {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    }
    if roots.is_empty() {
        return Err(format!(
            "this machine trusts no certificates; install them (ca-certificates), or name a file with {BUNDLE}"
        ));
    }
    Ok(roots)
}

fn config(roots: RootCertStore) -> std::result::Result<Arc<ClientConfig>, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| error.to_string())?;
    Ok(Arc::new(builder.with_root_certificates(roots).with_no_client_auth()))
}

impl TlsWire {
    pub fn tcp(&self) -> &TcpStream {
        &self.stream
    }

    pub fn owes(&self) -> bool {
        self.session.wants_write()
    }

    /// Sends what waits, as much as the connection takes.
    fn send(&mut self) -> Result<()> {
        while self.session.wants_write() {
            match self.session.write_tls(&mut self.stream) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Takes bytes in by `put`; where there is no room for any, others have to go first.
    fn take(&mut self, put: impl Fn(&mut ClientConnection) -> Result<usize>) -> Result<usize> {
        loop {
            let count = put(&mut self.session)?;
            match self.send() {
                Err(error) if error.kind() == ErrorKind::WouldBlock && count > 0 => return Ok(count),
                Err(error) => return Err(error),
                Ok(()) if count > 0 => return Ok(count),
                Ok(()) => {}
            }
        }
    }
}

impl Read for TlsWire {
    fn read(&mut self, room: &mut [u8]) -> Result<usize> {
        loop {
            match self.session.reader().read(room) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                read => return read,
            }
            match self.send() {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                sent => sent?,
            }
            self.session.read_tls(&mut self.stream)?;
            self.session.process_new_packets().map_err(|error| std::io::Error::new(ErrorKind::InvalidData, error))?;
        }
    }
}

impl Write for TlsWire {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.take(|session| session.writer().write(bytes))
    }

    fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> Result<usize> {
        self.take(|session| session.writer().write_vectored(parts))
    }

    fn flush(&mut self) -> Result<()> {
        self.send()
    }
}
