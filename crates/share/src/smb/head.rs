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
pub(crate) const QUERY_INFO_SIZE: u16 = 41;
/// Flags.
pub(crate) const RESPONSE: u32 = 1;
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
}

pub(crate) const SUCCESS: u32 = 0;
pub(crate) const PENDING: u32 = 0x103;
pub(crate) const END_OF_FILE: u32 = 0xC000_0011;
pub(crate) const MORE_PROCESSING_REQUIRED: u32 = 0xC000_0016;
pub(crate) const OBJECT_NAME_COLLISION: u32 = 0xC000_0035;
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
}
