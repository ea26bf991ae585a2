//! Connects to a share of any protocol, and creates our own file in it.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use halfpower_spec::{Sealing, ShareAddress, ShareProtocol};

use crate::credentials::Credentials;
use crate::error::ShareError;
use crate::nfs::{NfsFile, NfsShare};
use crate::own_names;
use crate::peer::Peer;
use crate::pipeline::{LaneOptions, Pipeline, PipelineSource};
use crate::protocol::{Limits, Outcome};
use crate::rehearsal::{Part, Rehearsal};
use crate::s3::{S3Client, S3File, S3Share};
use crate::smb::{SealKind, SmbFile, SmbShare};

/// How many names are tried if names are taken.
const NAMES: u32 = 16;

/// Credentials for a share, and what ends waiting for its server.
#[derive(Debug, Clone)]
pub struct Access {
    /// Who signs in; NFS ignores them and uses the process's own user.
    pub credentials: Credentials,
    /// How long the whole answer to a request may take. Parts of an answer, and word that it takes longer, extend
    /// nothing.
    pub timeout: Duration,
    /// Whether the user has asked to stop: from then on, answers are waited for one second more.
    pub stop: Arc<AtomicBool>,
}

/// A share with our own file in it; dropping this removes the file.
pub struct Share {
    kind: Kind,
    /// The address that errors show.
    address: Arc<str>,
    /// The server's network address; `None` if unknown.
    server: Option<SocketAddr>,
    /// Sockets of pipelines opened since [`Share::take_connections`] was called last.
    connections: Mutex<Vec<OwnedFd>>,
}

enum Kind {
    // In each, the file comes first, so that it is dropped before the share.
    Smb(Box<(SmbFile, SmbShare)>),
    Nfs(Box<(NfsFile, NfsShare)>),
    S3(Box<(S3File, S3Share)>),
}

impl Share {
    /// Connects to `address` and creates an empty file there under a free name; on S3, begins an upload instead.
    ///
    /// # Errors
    /// If the server cannot be reached, does not let the user in, or does not allow the file.
    pub fn connect(address: &ShareAddress, access: &Access) -> Outcome<Self> {
        let peer = peer_of(address, access);
        let name = Arc::clone(&peer.address);
        let mut server = found(&peer, address.server())?;
        let kind = match address.protocol {
            ShareProtocol::Smb => {
                let mut share = SmbShare::connect(peer.clone(), address, access.credentials.clone())?;
                Kind::Smb(Box::new((under_a_free_name(&peer, |name| share.create(name))?, share)))
            }
            ShareProtocol::Nfs => {
                let mut share = NfsShare::connect(peer.clone(), address)?;
                let file = under_a_free_name(&peer, |name| share.create(name))?;
                // What killed processes left there is removed; SMB's server does so itself.
                share.remove_left_over(&file);
                Kind::Nfs(Box::new((file, share)))
            }
            ShareProtocol::S3 => {
                let mut share = S3Share::new(peer.clone(), address, access.credentials.clone());
                if server.is_none() {
                    server = found(&peer, Some(share.server()))?;
                }
                let file = under_a_free_name(&peer, |name| share.create(name))?;
                share.remove_left_over(&file);
                Kind::S3(Box::new((file, share)))
            }
        };
        Ok(Self { kind, address: name, server, connections: Mutex::default() })
    }

    /// The address that errors show, without the user.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The server's network address; `None` if unknown.
    pub fn server(&self) -> Option<SocketAddr> {
        self.server
    }

    /// Most bytes that one request can move.
    pub fn limits(&self) -> Limits {
        match &self.kind {
            Kind::Smb(both) => both.1.limits,
            Kind::Nfs(both) => both.1.limits,
            Kind::S3(both) => both.1.limits(),
        }
    }

    /// What client and server agreed on, as a sentence without the full stop.
    pub fn facts(&self) -> String {
        match &self.kind {
            Kind::Smb(both) => both.1.facts(),
            Kind::Nfs(both) => both.1.facts(),
            Kind::S3(both) => both.1.facts(),
        }
    }

    /// Free space in bytes.
    ///
    /// # Errors
    /// If the server does not report it.
    pub fn free_bytes(&mut self) -> Outcome<u64> {
        match &mut self.kind {
            Kind::Smb(both) => both.0.free_bytes(),
            Kind::Nfs(both) => both.1.free_bytes(),
            Kind::S3(both) => Ok(both.0.free_bytes()),
        }
    }

    /// Prepares to lay out the file with `bytes`, through pipelines with `Purpose::LayOut`. Returns the size
    /// that each request must have, if it matters.
    ///
    /// # Errors
    /// If the server refuses the upload.
    pub fn begin_layout(&self, bytes: u64) -> Outcome<Option<u64>> {
        match &self.kind {
            Kind::Smb(_) | Kind::Nfs(_) => Ok(None),
            Kind::S3(both) => both.0.begin_layout(bytes).map(Some),
        }
    }

    /// Completes the layout; from now on the file can be read.
    ///
    /// # Errors
    /// If the server refuses to complete the upload.
    pub fn end_layout(&self) -> Outcome<()> {
        match &self.kind {
            Kind::Smb(_) | Kind::Nfs(_) => Ok(()),
            Kind::S3(both) => both.0.end_layout(),
        }
    }

    /// The sockets of all pipelines opened since the last call, to read their TCP statistics. Each is a duplicate,
    /// which keeps the connection open as long as it exists.
    pub fn take_connections(&self) -> Vec<OwnedFd> {
        std::mem::take(&mut self.connections.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Checks that messages can be signed or encrypted like this.
    ///
    /// # Errors
    /// Why not, as a sentence without the full stop.
    pub fn offers(&self, sealing: Sealing) -> Result<(), String> {
        self.seal(sealing).map(drop)
    }

    /// Whether the server asks for neither signing nor encryption.
    pub fn is_plain(&self) -> bool {
        self.seal(Sealing::AsAsked) == Ok(None)
    }

    fn seal(&self, sealing: Sealing) -> Result<Option<SealKind>, String> {
        let other = match &self.kind {
            Kind::Smb(both) => return both.1.offer.of(sealing).map_err(str::to_string),
            Kind::Nfs(_) => "NFS",
            Kind::S3(_) => "S3",
        };
        let why = || format!("messages of {other} are neither signed nor encrypted one by one");
        if sealing == Sealing::AsAsked { Ok(None) } else { Err(why()) }
    }

    /// A server in this process that answers from memory in the same protocol, with messages signed or encrypted like
    /// this.
    pub fn rehearsal(&self, sealing: Sealing) -> Rehearsal {
        Rehearsal::new(match &self.kind {
            Kind::Smb(_) => Part::Smb(self.seal(sealing).unwrap_or_default()),
            Kind::Nfs(_) => Part::Nfs,
            Kind::S3(both) if both.1.is_tls() => Part::Unrehearsed,
            Kind::S3(both) => Part::S3(S3Client { signs: both.1.signs() }),
        })
    }
}

impl PipelineSource for Share {
    fn pipeline(&self, options: LaneOptions) -> Outcome<Pipeline> {
        let LaneOptions { durable, slots, slot_bytes, .. } = options;
        self.offers(options.sealing).map_err(|why| ShareError::refused(&self.address, why))?;
        let opened = match &self.kind {
            Kind::Smb(both) => both.1.open(&both.0, options)?,
            Kind::Nfs(both) => both.1.open(&both.0, durable, slots)?,
            Kind::S3(both) => both.1.open(&both.0, options)?,
        };
        // If duplicating fails, the run only lacks the TCP statistics of this connection.
        if let Ok(socket) = opened.channel.stream.tcp().try_clone() {
            self.connections.lock().unwrap_or_else(PoisonError::into_inner).push(socket.into());
        }
        Pipeline::new(opened, slots, slot_bytes)
    }
}

/// The network address of the server of a share; `None` if it is not found in time, or the share's address names none.
pub fn server_of(address: &ShareAddress, access: &Access) -> Option<SocketAddr> {
    found(&peer_of(address, access), address.server()).ok().flatten()
}

/// The first network address of a server.
fn found(peer: &Peer, server: Option<(&str, u16)>) -> Outcome<Option<SocketAddr>> {
    let Some((host, port)) = server else { return Ok(None) };
    Ok(peer.addresses(host, port)?.first().copied())
}

fn peer_of(address: &ShareAddress, access: &Access) -> Peer {
    Peer {
        address: address.place().to_string().into(),
        host: address.host.as_str().into(),
        protocol: address.protocol.name(),
        timeout: access.timeout.max(Duration::from_millis(1)),
        stop: Arc::clone(&access.stop),
    }
}

/// Creates a file under the first free name.
fn under_a_free_name<T>(peer: &Peer, mut create: impl FnMut(&str) -> Outcome<Option<T>>) -> Outcome<T> {
    for _ in 0..NAMES {
        if let Some(file) = create(&own_names::new_name())? {
            return Ok(file);
        }
    }
    Err(peer.refused("all names that were tried are taken; name another folder"))
}
