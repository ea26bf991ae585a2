//! Creates our own file on an SMB share; the server removes it when the connection that created it ends.

use halfpower_spec::{Bytes, Sealing, ShareAddress};

use super::head;
use super::head::{OBJECT_NAME_COLLISION, SUCCESS};
use super::requests::SmbRequests;
use super::seal::SealOffer;
use super::session::Session;
use crate::bytes::{Reader, Writer};
use crate::credentials::Credentials;
use crate::peer::Peer;
use crate::pipeline::LaneOptions;
use crate::protocol::{Limits, Opened, Outcome};

/// Access rights (MS-SMB2 2.2.13.1.1).
const READ_DATA: u32 = 0x1;
const WRITE_DATA: u32 = 0x2;
const APPEND_DATA: u32 = 0x4;
const READ_ATTRIBUTES: u32 = 0x80;
const WRITE_ATTRIBUTES: u32 = 0x100;
const DELETE: u32 = 0x1_0000;
const READ_CONTROL: u32 = 0x2_0000;
const SYNCHRONIZE: u32 = 0x10_0000;
/// Those that our own file needs.
const READ_WRITE: u32 =
    SYNCHRONIZE | READ_CONTROL | DELETE | READ_DATA | WRITE_DATA | APPEND_DATA | READ_ATTRIBUTES | WRITE_ATTRIBUTES;
/// What opens a file (2.2.13): others may read, write and delete it; how; and what becomes of it.
const IMPERSONATION: u32 = 2;
const SHARE_ALL: u32 = 7;
const OPEN: u32 = 1;
const CREATE: u32 = 2;
const NO_FOLDER: u32 = 0x40;
const DELETE_ON_CLOSE: u32 = 0x1000;
/// Offset of the name in a message: after the fixed part of its body.
const NAME_AT: u16 = head::BYTES as u16 + head::CREATE_SIZE - 1;
/// What is asked about the file system (2.2.37, MS-FSCC 2.5.4), and the bytes of the answer.
const FILE_SYSTEM: u8 = 2;
const FULL_SIZE: u8 = 7;
const FULL_SIZE_BYTES: u32 = 32;

/// A folder of an SMB server.
pub(crate) struct SmbShare {
    peer: Peer,
    address: ShareAddress,
    credentials: Credentials,
    /// The first connection; passed on to the file, which exists as long as that connection.
    session: Option<Session>,
    facts: String,
    /// How messages can be signed or encrypted.
    pub offer: SealOffer,
    pub limits: Limits,
}

/// Our own file in that folder; the server removes it when this is dropped or the process ends.
pub(crate) struct SmbFile {
    session: Session,
    name: String,
    id: [u8; 16],
}

impl SmbShare {
    /// Signs in and connects to the share.
    ///
    /// # Errors
    /// If the server cannot be reached, does not let the user in, or has no such share.
    pub fn connect(peer: Peer, address: &ShareAddress, credentials: Credentials) -> Outcome<Self> {
        let session = Session::open(&peer, address, &credentials, Sealing::AsAsked)?;
        let facts = facts(&session, &credentials.user);
        let limits = session.limits;
        let offer = session.offer;
        Ok(Self { peer, address: address.clone(), credentials, session: Some(session), facts, offer, limits })
    }

    /// Creates an empty file of this name; `None` if the name is taken.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn create(&mut self, name: &str) -> Outcome<Option<SmbFile>> {
        let mut session = match self.session.take() {
            Some(session) => session,
            None => Session::open(&self.peer, &self.address, &self.credentials, Sealing::AsAsked)?,
        };
        let name = self.address.path[1..].iter().map(String::as_str).chain([name]).collect::<Vec<_>>().join("\\");
        let (status, id) = open(&mut session, &name, CREATE, NO_FOLDER | DELETE_ON_CLOSE)?;
        match status {
            SUCCESS => Ok(Some(SmbFile { session, name, id })),
            OBJECT_NAME_COLLISION => Ok(None),
            other => Err(session.refusal(other)),
        }
    }

    /// Opens a connection for requests to `file`.
    ///
    /// # Errors
    /// If the server accepts no further connection.
    pub fn open(&self, file: &SmbFile, options: LaneOptions) -> Outcome<Opened> {
        let LaneOptions { durable, slots, sealing, .. } = options;
        let mut session = Session::open(&self.peer, &self.address, &self.credentials, sealing)?;
        let (status, id) = open(&mut session, &file.name, OPEN, NO_FOLDER)?;
        if status != SUCCESS {
            return Err(session.refusal(status));
        }
        let (channel, protocol) = SmbRequests::over(session, id, durable, slots);
        Ok(Opened { channel, protocol: Box::new(protocol) })
    }

    /// Facts about the server, for the report.
    pub fn facts(&self) -> String {
        self.facts.clone()
    }
}

impl SmbFile {
    /// Free space in bytes.
    ///
    /// # Errors
    /// If the server does not report it.
    pub fn free_bytes(&mut self) -> Outcome<u64> {
        let mut body = Writer::default();
        body.le16(head::QUERY_INFO_SIZE);
        body.all(&[FILE_SYSTEM, FULL_SIZE]);
        [FULL_SIZE_BYTES, 0, 0, 0, 0].into_iter().for_each(|word| body.le32(word));
        body.all(&self.id);
        body.all(&[0]);
        let answer = self.session.demand(head::QUERY_INFO, &body.0)?;
        free_of(&answer).ok_or_else(|| self.session.short())
    }
}

impl Drop for SmbFile {
    fn drop(&mut self) {
        let mut body = Writer::default();
        [head::CLOSE_SIZE, 0, 0, 0].into_iter().for_each(|word| body.le16(word));
        body.all(&self.id);
        // If this fails, the end of the connection removes the file all the same.
        let _ = self.session.ask(head::CLOSE, &body.0);
    }
}

/// Opens or creates a file; returns the status and the handle.
fn open(session: &mut Session, name: &str, disposition: u32, options: u32) -> Outcome<(u32, [u8; 16])> {
    let mut path = Writer::default();
    path.utf16(name);
    let mut body = Writer::default();
    body.le16(head::CREATE_SIZE);
    body.all(&[0, 0]);
    body.le32(IMPERSONATION);
    [0, 0].into_iter().for_each(|word| body.le64(word));
    [READ_WRITE, 0, SHARE_ALL, disposition, options].into_iter().for_each(|word| body.le32(word));
    [NAME_AT, path.0.len() as u16].into_iter().for_each(|word| body.le16(word));
    body.le64(0);
    body.all(&path.0);
    let (head, answer) = session.ask(head::CREATE, &body.0)?;
    let id = answer.get(head::BYTES + 64..head::BYTES + 80).and_then(|id| id.try_into().ok());
    match id {
        _ if head.status != SUCCESS => Ok((head.status, [0; 16])),
        Some(id) => Ok((SUCCESS, id)),
        None => Err(session.short()),
    }
}

fn free_of(answer: &[u8]) -> Option<u64> {
    let mut reader = Reader(answer.get(head::BYTES..)?);
    reader.le16()?;
    let at = usize::from(reader.le16()?);
    let length = reader.le32()? as usize;
    let mut reported = Reader(head::carried(answer, 8, at, length).ok()?);
    reported.le64()?;
    let available = reported.le64()?;
    reported.le64()?;
    let sectors = u64::from(reported.le32()?);
    let bytes = u64::from(reported.le32()?);
    Some(available.saturating_mul(sectors.saturating_mul(bytes)))
}

fn facts(session: &Session, user: &str) -> String {
    let dialect = session.dialect.name();
    let who = match (session.is_guest, user) {
        (true, "") => "as a guest".to_string(),
        (true, user) => format!("as a guest, since the server does not know {user}"),
        (false, user) => format!("as {user}"),
    };
    let sealing = session.keys.as_ref().map_or("neither signed nor encrypted", |keys| keys.word());
    let read = Bytes(session.limits.read_bytes.into());
    let write = Bytes(session.limits.write_bytes.into());
    format!(
        "SMB {dialect} {who}; without --sealing messages are {sealing}; no lease or oplock is taken, so nothing is cached on this side; a \
         request moves at most {read} (read) and {write} (write)"
    )
}
