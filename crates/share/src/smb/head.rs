//! Writes and reads the 64-byte head of every message (MS-SMB2 2.2.1), and translates the statuses in it (MS-ERREF
//! 2.3.1) to sentences and error numbers.

use rustix::io::Errno;

use crate::bytes::Reader;

pub(crate) const BYTES: usize = 64;
pub(crate) const NEGOTIATE: u16 = 0;
pub(crate) const SESSION_SETUP: u16 = 1;
pub(crate) const TREE_CONNECT: u16 = 3;
pub(crate) const CREATE: u16 = 5;
pub(crate) const CLOSE: u16 = 6;
pub(crate) const FLUSH: u16 = 7;
pub(crate) const READ: u16 = 8;
pub(crate) const WRITE: u16 = 9;
pub(crate) const IOCTL: u16 = 11;
pub(crate) const QUERY_INFO: u16 = 16;
/// The first word of each body (StructureSize): the bytes of its fixed part, and 1 more if it can be followed by others.
pub(crate) const NEGOTIATE_SIZE: u16 = 36;
pub(crate) const SESSION_SETUP_SIZE: u16 = 25;
pub(crate) const TREE_CONNECT_SIZE: u16 = 9;
pub(crate) const CREATE_SIZE: u16 = 57;
pub(crate) const CLOSE_SIZE: u16 = 24;
pub(crate) const FLUSH_SIZE: u16 = 24;
pub(crate) const READ_SIZE: u16 = 49;
pub(crate) const WRITE_SIZE: u16 = 49;
pub(crate) const IOCTL_SIZE: u16 = 57;
pub(crate) const QUERY_INFO_SIZE: u16 = 41;
/// Flags.
pub(crate) const RESPONSE: u32 = 1;
/// In an answer that came late: a number of the server's stands in place of the tree.
const ASYNC: u32 = 2;
pub(crate) const SIGNED: u32 = 8;
/// Positions of the flags, the message number and the signature.
pub(crate) const FLAGS: std::ops::Range<usize> = 16..20;
pub(crate) const NUMBER: std::ops::Range<usize> = 24..32;
pub(crate) const SIGNATURE: std::ops::Range<usize> = 48..64;
/// Message number of an unsolicited message.
pub(crate) const UNASKED: u64 = u64::MAX;
const PROTOCOL: [u8; 4] = *b"\xfeSMB";

/// The head of a message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Head {
    pub command: u16,
    /// Credits that the request takes.
    pub charge: u16,
    /// Credits that a request asks for, or that an answer grants.
    pub credits: u16,
    pub flags: u32,
    /// Status of an answer.
    pub status: u32,
    pub message: u64,
    pub tree: u32,
    pub session: u64,
}

impl Head {
    /// Writes the head to the beginning of `out`.
    pub fn write(&self, out: &mut [u8]) {
        let mut at = 0;
        let mut put = |bytes: &[u8]| {
            out[at..at + bytes.len()].copy_from_slice(bytes);
            at += bytes.len();
        };
        put(&PROTOCOL);
        put(&(BYTES as u16).to_le_bytes());
        put(&self.charge.to_le_bytes());
        put(&self.status.to_le_bytes());
        put(&self.command.to_le_bytes());
        put(&self.credits.to_le_bytes());
        put(&self.flags.to_le_bytes());
        put(&[0; 4]);
        put(&self.message.to_le_bytes());
        put(&[0; 4]);
        put(&self.tree.to_le_bytes());
        put(&self.session.to_le_bytes());
        put(&[0; 16]);
    }

    /// Reads the head of an answer; `None` if the message is not an answer.
    pub fn read(message: &[u8]) -> Option<Self> {
        let mut reader = Reader(message.get(..BYTES)?);
        let is_ours = reader.take(4)? == PROTOCOL && reader.le16()? == BYTES as u16;
        let charge = reader.le16()?;
        let status = reader.le32()?;
        let command = reader.le16()?;
        let credits = reader.le16()?;
        let flags = reader.le32()?;
        reader.take(4)?;
        let message = reader.le64()?;
        reader.take(4)?;
        let tree = reader.le32()?;
        let session = reader.le64()?;
        let is_answer = flags & RESPONSE != 0;
        (is_ours && is_answer).then_some(Self { command, charge, credits, flags, status, message, tree, session })
    }

    /// Checks that this is the head of an answer to a request for `command` in this session and tree; `None` where
    /// they are not known yet.
    ///
    /// # Errors
    /// What is wrong, in a few words.
    pub fn answers(&self, command: u16, session: Option<u64>, tree: Option<u32>) -> Result<(), String> {
        let is_known = self.flags & ASYNC == 0 && self.status == SUCCESS;
        let what = match () {
            () if self.command != command => "another command",
            () if session.is_some_and(|session| self.session != session) => "another session",
            () if is_known && tree.is_some_and(|tree| self.tree != tree) => "another share",
            () => return Ok(()),
        };
        Err(format!("an answer to {what}"))
    }
}

/// The bytes that an answer carries behind its body of `size` bytes (StructureSize): `length` bytes from byte `from` of
/// the message on.
///
/// # Errors
/// If they are not there, or would begin before, in a few words.
pub(crate) fn carried(message: &[u8], size: usize, from: usize, length: usize) -> Result<&[u8], String> {
    if length > 0 && from < BYTES + size {
        return Err(format!("data from byte {from} on, where its head is"));
    }
    let bytes = message.get(from..).and_then(|rest| rest.get(..length));
    bytes.or((length == 0).then_some(&[][..])).ok_or_else(|| "an answer that ends too early".to_string())
}

pub(crate) const SUCCESS: u32 = 0;
pub(crate) const PENDING: u32 = 0x103;
pub(crate) const END_OF_FILE: u32 = 0xC000_0011;
pub(crate) const MORE_PROCESSING_REQUIRED: u32 = 0xC000_0016;
pub(crate) const OBJECT_NAME_COLLISION: u32 = 0xC000_0035;
const INVALID_DEVICE_REQUEST: u32 = 0xC000_0010;
const NOT_SUPPORTED: u32 = 0xC000_00BB;
const FS_DRIVER_REQUIRED: u32 = 0xC000_019C;
const INVALID_HANDLE: u32 = 0xC000_0008;
const INVALID_PARAMETER: u32 = 0xC000_000D;
const NO_MEMORY: u32 = 0xC000_0017;
const ACCESS_DENIED: u32 = 0xC000_0022;
const OBJECT_NAME_NOT_FOUND: u32 = 0xC000_0034;
const OBJECT_PATH_NOT_FOUND: u32 = 0xC000_003A;
const QUOTA_EXCEEDED: u32 = 0xC000_0044;
const FILE_LOCK_CONFLICT: u32 = 0xC000_0054;
const LOCK_NOT_GRANTED: u32 = 0xC000_0055;
const NO_SUCH_USER: u32 = 0xC000_0064;
const WRONG_PASSWORD: u32 = 0xC000_006A;
const LOGON_FAILURE: u32 = 0xC000_006D;
const PASSWORD_EXPIRED: u32 = 0xC000_0071;
const ACCOUNT_DISABLED: u32 = 0xC000_0072;
const DISK_FULL: u32 = 0xC000_007F;
const INSUFFICIENT_RESOURCES: u32 = 0xC000_009A;
const MEDIA_WRITE_PROTECTED: u32 = 0xC000_00A2;
const NETWORK_NAME_DELETED: u32 = 0xC000_00C9;
const NETWORK_ACCESS_DENIED: u32 = 0xC000_00CA;
const BAD_NETWORK_NAME: u32 = 0xC000_00CC;
const NOT_A_DIRECTORY: u32 = 0xC000_0103;
const FILE_CLOSED: u32 = 0xC000_0128;
const IO_DEVICE_ERROR: u32 = 0xC000_0185;
const USER_SESSION_DELETED: u32 = 0xC000_0203;
const INSUFF_SERVER_RESOURCES: u32 = 0xC000_0205;
const CONNECTION_DISCONNECTED: u32 = 0xC000_020C;
const PASSWORD_MUST_CHANGE: u32 = 0xC000_0224;
const ACCOUNT_LOCKED_OUT: u32 = 0xC000_0234;
const FILE_TOO_LARGE: u32 = 0xC000_0904;

/// Whether the status says that the server does not know a control code (MS-SMB2 3.2.5.5 and its notes).
pub(crate) fn is_unknown_control(status: u32) -> bool {
    matches!(status, INVALID_DEVICE_REQUEST | NOT_SUPPORTED | FS_DRIVER_REQUIRED | FILE_CLOSED)
}

/// A sentence for a status during sign-in or file creation: what is wrong and what to do.
pub(crate) fn sentence(status: u32, user: &str, share: &str) -> String {
    let who = if user.is_empty() { "a guest".to_string() } else { format!("the user {user}") };
    match status {
        LOGON_FAILURE | NO_SUCH_USER | WRONG_PASSWORD => {
            format!("the server does not let {who} in; look at the name and the password")
        }
        PASSWORD_EXPIRED | PASSWORD_MUST_CHANGE => format!("the password of {who} has expired; change it"),
        ACCOUNT_DISABLED => format!("{who} is disabled on the server; use another one"),
        ACCOUNT_LOCKED_OUT => format!("{who} is locked on the server; wait, or use another one"),
        ACCESS_DENIED | NETWORK_ACCESS_DENIED => {
            format!("{who} has no rights for this on {share}; look at the rights of share and folder")
        }
        BAD_NETWORK_NAME => format!("the server has no share {share}; look at its name"),
        OBJECT_NAME_NOT_FOUND | OBJECT_PATH_NOT_FOUND | NOT_A_DIRECTORY => {
            "there is no such folder in the share; name an existing one".to_string()
        }
        DISK_FULL => "the share is full; free some space there".to_string(),
        QUOTA_EXCEEDED => format!("the quota of {who} is used up; free some space there"),
        MEDIA_WRITE_PROTECTED => "the share is read-only; name another one".to_string(),
        other => format!("the server refused ({other:#010x})"),
    }
}

/// Converts a status to an error number of <errno.h>.
pub(crate) fn errno(status: u32) -> i32 {
    let errno = match status {
        ACCESS_DENIED | NETWORK_ACCESS_DENIED => Errno::ACCESS,
        DISK_FULL => Errno::NOSPC,
        QUOTA_EXCEEDED => Errno::DQUOT,
        MEDIA_WRITE_PROTECTED => Errno::ROFS,
        INVALID_HANDLE | FILE_CLOSED => Errno::BADF,
        INVALID_PARAMETER => Errno::INVAL,
        FILE_LOCK_CONFLICT | LOCK_NOT_GRANTED => Errno::AGAIN,
        INSUFFICIENT_RESOURCES | INSUFF_SERVER_RESOURCES | NO_MEMORY => Errno::NOMEM,
        NETWORK_NAME_DELETED | USER_SESSION_DELETED | CONNECTION_DISCONNECTED => Errno::NOTCONN,
        IO_DEVICE_ERROR => Errno::IO,
        FILE_TOO_LARGE => Errno::FBIG,
        _ => Errno::REMOTEIO,
    };
    errno.raw_os_error()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_back() {
        let head = Head {
            command: READ,
            charge: 16,
            credits: 32,
            flags: RESPONSE | SIGNED,
            status: PENDING,
            message: 77,
            tree: 5,
            session: 1 << 40,
        };
        let mut bytes = [0xaa; BYTES + 4];
        head.write(&mut bytes);
        assert_eq!(Head::read(&bytes), Some(head));
        assert_eq!(bytes[BYTES..], [0xaa; 4]);
        assert_eq!(Head::read(&bytes[..BYTES - 1]), None);
        Head { flags: 0, ..head }.write(&mut bytes);
        assert_eq!(Head::read(&bytes), None, "a request is no answer");
    }

    #[test]
    fn an_answer_belongs_to_its_request() {
        let head = Head { command: READ, session: 7, tree: 5, ..Head::default() };
        let said = |head: Head| head.answers(READ, Some(7), Some(5)).err().unwrap_or_default();
        assert_eq!(said(head), "");
        assert!(said(Head { command: WRITE, ..head }).contains("another command"));
        assert!(said(Head { session: 8, ..head }).contains("another session"));
        assert!(said(Head { tree: 6, ..head }).contains("another share"));
        assert_eq!(said(Head { tree: 6, flags: RESPONSE | ASYNC, ..head }), "", "the server's number of a late answer");
        assert_eq!(head.answers(READ, None, None), Ok(()));
    }

    #[test]
    fn data_lie_behind_the_body() {
        let message = [7; BYTES + 20];
        assert_eq!(carried(&message, 16, BYTES + 16, 4), Ok(&[7; 4][..]));
        for (from, length) in [(0, 4), (BYTES + 15, 4), (BYTES + 16, 5), (usize::MAX, 1), (BYTES + 16, usize::MAX)] {
            assert!(carried(&message, 16, from, length).is_err(), "{from} {length}");
        }
        assert_eq!(carried(&message, 16, 0, 0), Ok(&[][..]), "nothing lies nowhere");
    }
}
