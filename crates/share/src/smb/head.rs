//! Writes and reads the 64-byte head of every message (MS-SMB2 2.2.1).

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smb::status::PENDING;

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
