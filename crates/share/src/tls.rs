//! Implements TLS over a connection that does not block; starts no threads.

use std::io::{ErrorKind, IoSlice, Read, Result, Write};
use std::net::TcpStream;
use std::sync::{Arc, OnceLock};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{CertificateError, ClientConfig, ClientConnection, RootCertStore};

/// Environment variable with a file of certificates to trust instead of the machine's.
pub(crate) const BUNDLE: &str = "AWS_CA_BUNDLE";

/// The client's side of TLS over a connection.
#[derive(Debug)]
pub(crate) struct TlsWire {
    session: ClientConnection,
    stream: TcpStream,
}

/// Why TLS cannot be used on a connection.
pub(crate) enum Refusal {
    /// The server is not trusted, or speaks another protocol; in a few words.
    Untrusted(String),
    /// This machine trusts no certificates; a sentence.
    NoTrust(String),
}

/// What is wrong with a server's certificate, and what to do, from the error of a handshake; `None` if something else is
/// wrong.
pub(crate) fn flaw(error: &std::io::Error) -> Option<String> {
    let Some(rustls::Error::InvalidCertificate(flaw)) = error.get_ref()?.downcast_ref::<rustls::Error>() else {
        return None;
    };
    Some(match flaw {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "its certificate has expired; renew it there, or set this machine's clock".to_string()
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "its certificate is not valid yet; set this machine's clock, or make it anew there".to_string()
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            format!("its certificate is another server's ({flaw}); name the server as its certificate does")
        }
        CertificateError::UnknownIssuer | CertificateError::BadSignature => format!(
            "its certificate is signed by itself, or by nobody whom this machine trusts; name a file with the \
             certificate with {BUNDLE}"
        ),
        _ => return None,
    })
}

/// The trusted certificates: those of the file that the environment names, otherwise the machine's (SSL_CERT_FILE).
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
    /// Begins TLS on a connection to the server `host`; [`Self::shake_hands`] goes on with it.
    ///
    /// # Errors
    /// If there is no server of such a name, or nothing to trust it by.
    pub fn over(stream: TcpStream, host: &str) -> std::result::Result<Self, Refusal> {
        static CONFIG: OnceLock<std::result::Result<Arc<ClientConfig>, String>> = OnceLock::new();
        let config = CONFIG.get_or_init(|| trusted().and_then(config)).clone().map_err(Refusal::NoTrust)?;
        let untrusted = |error: &dyn std::fmt::Display| Refusal::Untrusted(error.to_string());
        let name = ServerName::try_from(host.to_string()).map_err(|error| untrusted(&error))?;
        let session = ClientConnection::new(config, name).map_err(|error| untrusted(&error))?;
        Ok(Self { session, stream })
    }

    /// Agrees with the server on keys, as far as it can without waiting.
    ///
    /// # Errors
    /// `WouldBlock` while the server has to be waited for, `InvalidData` if it is not trusted or does not speak TLS.
    pub fn shake_hands(&mut self) -> Result<()> {
        while self.session.is_handshaking() {
            self.session.complete_io(&mut self.stream)?;
        }
        Ok(())
    }

    pub fn tcp(&self) -> &TcpStream {
        &self.stream
    }

    pub fn owes(&self) -> bool {
        self.session.wants_write()
    }

    /// Sends the pending encrypted bytes.
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

    /// Encrypts bytes with `put`; if its buffer is full, sends pending bytes first.
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
