//! Finds an NFS export, and creates and removes our own file in it.

use std::time::{Duration, Instant};

use halfpower_spec::{Bytes, ShareAddress};

use super::requests::{MOST_HANDLE, NfsRequests};
use super::rpc::{MOUNT, NFS, Program, skip_attributes};
use crate::bytes::{Reader, Writer};
use crate::error::ShareError;
use crate::peer::Peer;
use crate::protocol::{Limits, Opened, Outcome};

const MNT: u32 = 1;
const LOOKUP: u32 = 3;
const CREATE: u32 = 8;
pub(super) const REMOVE: u32 = 12;
const FSSTAT: u32 = 18;
const FSINFO: u32 = 19;
/// How long each exchange may last that removes our file, and how long a server that puts it off is asked again.
const CLEAN_UP: Duration = Duration::from_secs(10);
/// First and longest pause before it is asked again; pauses double.
const PAUSES: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(1)];
const GUARDED: u32 = 1;
/// Statuses (RFC 1813): there is no such file; the name is taken; the server will do it later, if it is asked again.
const MISSING: u32 = 2;
const EXISTS: u32 = 17;
const JUKEBOX: u32 = 10008;

/// A folder of an NFS server.
pub(crate) struct NfsShare {
    pub(super) peer: Peer,
    port: u16,
    pub(super) nfs: Program,
    pub(super) folder: Vec<u8>,
    pub limits: Limits,
}

/// Our own file in that folder; dropping it removes the file.
pub(crate) struct NfsFile {
    peer: Peer,
    port: u16,
    folder: Vec<u8>,
    pub(super) name: String,
    handle: Vec<u8>,
}

impl NfsShare {
    /// Finds the folder on the server.
    ///
    /// # Errors
    /// If the server cannot be reached, or does not export the folder to this machine.
    pub fn connect(peer: Peer, address: &ShareAddress) -> Outcome<Self> {
        let port = address.reached_port();
        let (root, below) = mount(&peer, address)?;
        let mut nfs = Program::over(peer.connect(port, true)?, NFS);
        let mut folder = root;
        for name in &address.path[below..] {
            folder = lookup(&mut nfs, &folder, name)?;
        }
        let limits = limits(&mut nfs, &folder)?;
        Ok(Self { peer, port, nfs, folder, limits })
    }

    /// Free space in bytes.
    ///
    /// # Errors
    /// If the server does not report it.
    pub fn free_bytes(&mut self) -> Outcome<u64> {
        let mut arguments = Writer::default();
        arguments.opaque(&self.folder);
        let reported = self.nfs.call(FSSTAT, &arguments.0, |reader| {
            let status = reader.be32()?;
            skip_attributes(reader)?;
            if status != 0 {
                return Some(Err(status));
            }
            reader.take(16)?;
            Some(Ok(reader.be64()?))
        })?;
        reported
            .map_err(|status| self.peer.refused(format!("the server does not tell its free space ({})", named(status))))
    }

    /// Creates an empty file of this name; `None` if the name is taken.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn create(&mut self, name: &str) -> Outcome<Option<NfsFile>> {
        let mut arguments = Writer::default();
        arguments.opaque(&self.folder);
        arguments.opaque(name.as_bytes());
        arguments.be32(GUARDED);
        // Mode 0600; user, group, size and times are left to the server.
        [1, 0o600, 0, 0, 0, 0, 0].into_iter().for_each(|word| arguments.be32(word));
        let made = self.nfs.call(CREATE, &arguments.0, |reader| {
            let status = reader.be32()?;
            if status != 0 {
                return Some(Err(status));
            }
            Some(Ok(if reader.be32()? == 1 { Some(handle(reader)?) } else { None }))
        })?;
        let handle = match made {
            Ok(Some(handle)) => handle,
            Ok(None) => lookup(&mut self.nfs, &self.folder, name)?,
            Err(EXISTS) => return Ok(None),
            Err(status) => {
                let what =
                    format!("no file can be made there ({}); look at the rights of uid {}", named(status), uid());
                return Err(self.peer.refused(what));
            }
        };
        let peer = self.peer.clone();
        let port = self.port;
        let folder = self.folder.clone();
        Ok(Some(NfsFile { peer, port, folder, name: name.to_string(), handle }))
    }

    /// Opens a connection for requests to `file`.
    ///
    /// # Errors
    /// If the server accepts no further connection.
    pub fn open(&self, file: &NfsFile, durable: bool, slots: u32) -> Outcome<Opened> {
        let channel = self.peer.connect(self.port, true)?;
        let protocol = Box::new(NfsRequests::new(&file.handle, durable, slots));
        Ok(Opened { channel, protocol })
    }

    /// Facts about the server, for the report.
    pub fn facts(&self) -> String {
        let Limits { read_bytes, write_bytes } = self.limits;
        let read = Bytes(read_bytes.into());
        let write = Bytes(write_bytes.into());
        format!("NFSv3 as uid {}; a request moves at most {read} (read) and {write} (write)", uid())
    }
}

impl NfsFile {
    /// Removes the file; one that is gone already is as good.
    fn remove(&self) -> Outcome<()> {
        let peer = Peer { timeout: self.peer.timeout.min(CLEAN_UP), ..self.peer.for_clean_up() };
        // The connection that created the file may be gone, so open a new one.
        let mut nfs = Program::over(peer.connect(self.port, true)?, NFS);
        let mut arguments = Writer::default();
        arguments.opaque(&self.folder);
        arguments.opaque(self.name.as_bytes());
        let began = Instant::now();
        let [mut pause, longest] = PAUSES;
        loop {
            match nfs.call(REMOVE, &arguments.0, |reader| reader.be32())? {
                0 | MISSING => return Ok(()),
                JUKEBOX if began.elapsed() + pause < peer.timeout && !peer.is_stopped() => std::thread::sleep(pause),
                status => return Err(peer.refused(named(status))),
            }
            pause = (2 * pause).min(longest);
        }
    }
}

impl Drop for NfsFile {
    fn drop(&mut self) {
        if self.remove().is_err() {
            let address = &self.peer.address;
            let name = &self.name;
            crate::told::tell(&format!("halfpower: {address}: the file {name} could not be removed; remove it there"));
        }
    }
}

/// Mounts the longest part of the path that the server exports; returns its handle and its number of folders.
fn mount(peer: &Peer, address: &ShareAddress) -> Outcome<(Vec<u8>, usize)> {
    // If the user named a port, the mount service may answer there too.
    let mut failed = None;
    if let Some(port) = address.port {
        match mount_by(Program::over(peer.connect(port, true)?, MOUNT), address) {
            Ok(Ok(found)) => return Ok(found),
            Err(stopped @ ShareError::Interrupted) => return Err(stopped),
            Ok(Err(_)) => {}
            Err(error) => failed = Some(error),
        }
    }
    let mapped = Program::mapped(peer, MOUNT, "mount service (rpc.mountd)");
    let mapped = mapped.map_err(|error| failed.unwrap_or(error))?;
    mount_by(mapped, address)?.map_err(|status| {
        let path = address.path.join("/");
        let why = match status {
            2 => "there is no such export".to_string(),
            13 => "this machine may not have it; look at the export's list of clients".to_string(),
            other => named(other),
        };
        peer.refused(format!("the server does not give /{path}: {why}"))
    })
}

fn mount_by(mut program: Program, address: &ShareAddress) -> Outcome<Result<(Vec<u8>, usize), u32>> {
    let mut refusal = 2;
    for below in (0..=address.path.len()).rev() {
        let mut arguments = Writer::default();
        arguments.opaque(format!("/{}", address.path[..below].join("/")).as_bytes());
        let reported = program.call(MNT, &arguments.0, |reader| {
            let status = reader.be32()?;
            if status != 0 {
                return Some(Err(status));
            }
            handle(reader).map(Ok)
        })?;
        match reported {
            Ok(handle) => return Ok(Ok((handle, below))),
            Err(status) if below == address.path.len() => refusal = status,
            Err(_) => {}
        }
    }
    Ok(Err(refusal))
}

fn lookup(nfs: &mut Program, folder: &[u8], name: &str) -> Outcome<Vec<u8>> {
    let mut arguments = Writer::default();
    arguments.opaque(folder);
    arguments.opaque(name.as_bytes());
    let found = nfs.call(LOOKUP, &arguments.0, |reader| {
        let status = reader.be32()?;
        if status != 0 {
            return Some(Err(status));
        }
        handle(reader).map(Ok)
    })?;
    found.map_err(|status| nfs.channel.peer.refused(format!("{name}: {}; name an existing folder", named(status))))
}

/// A file handle; `None` if it is longer than it may be.
fn handle(reader: &mut Reader<'_>) -> Option<Vec<u8>> {
    reader.opaque(MOST_HANDLE).map(<[u8]>::to_vec)
}

fn limits(nfs: &mut Program, folder: &[u8]) -> Outcome<Limits> {
    let mut arguments = Writer::default();
    arguments.opaque(folder);
    let reported = nfs.call(FSINFO, &arguments.0, |reader| {
        let status = reader.be32()?;
        skip_attributes(reader)?;
        if status != 0 {
            return Some(Err(status));
        }
        let read_bytes = reader.be32()?;
        reader.take(8)?;
        Some(Ok(Limits { read_bytes, write_bytes: reader.be32()? }))
    })?;
    let peer = &nfs.channel.peer;
    let limits =
        reported.map_err(|status| peer.refused(format!("the server does not tell its limits ({})", named(status))))?;
    if limits.read_bytes < 512 || limits.write_bytes < 512 {
        return Err(peer.garbage("requests of fewer than 512 bytes"));
    }
    Ok(limits)
}

pub(super) fn uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Describes an NFS status in words.
pub(super) fn named(status: u32) -> String {
    let word = match status {
        1 => "not the owner",
        2 => "there is no such folder",
        5 => "an I/O error of the server",
        13 => "permission denied",
        20 => "it is no folder",
        28 => "the server's disk is full",
        30 => "it is read-only",
        69 => "the quota is used up",
        70 => "the handle is stale",
        other => return format!("NFS status {other}"),
    };
    word.to_string()
}
