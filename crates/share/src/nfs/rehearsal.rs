//! Answers READ, WRITE and COMMIT from memory: the NFS server of a rehearsal.

use super::requests::{MOST_HANDLE, NfsRequests};
use super::rpc::LAST;
use crate::bytes::{Reader, Writer};
use crate::channel::Channel;
use crate::protocol::{Answers, Asked, Frame, Opened};

const READ: u32 = 6;
const WRITE: u32 = 7;
/// A file handle as long as those of common servers.
const HANDLE: [u8; 32] = [1; 32];
/// The server's write verifier.
const VERIFIER: u32 = 7;

/// Both sides of a rehearsal: the client over `channel`, and the server's [`NfsAnswers`].
pub(crate) fn rehearse(channel: Channel, slots: u32) -> (Opened, NfsAnswers) {
    let protocol = NfsRequests::new(&HANDLE, false, slots);
    let head_bytes = protocol.head_bytes();
    (Opened { channel, protocol: Box::new(protocol) }, NfsAnswers { head_bytes })
}

/// The server's side.
pub(crate) struct NfsAnswers {
    /// Bytes of a write before its payload.
    head_bytes: usize,
}

impl Answers for NfsAnswers {
    fn frame(&self, there: &[u8]) -> Result<Option<Frame>, String> {
        let frame = Frame::marked(there, |mark| Ok((mark & !LAST) as usize))?;
        Ok(frame.map(|frame| Frame { prefix: self.head_bytes.min(frame.length), ..frame }))
    }

    fn mark(&self, length: usize) -> Option<u32> {
        Some(LAST | length as u32)
    }

    fn open(&mut self, _message: &mut Vec<u8>) -> Result<(), String> {
        Ok(())
    }

    fn answer(&mut self, request: &[u8], out: &mut Vec<u8>) -> Option<Asked> {
        let mut reader = Reader(request);
        let xid = reader.be32()?;
        reader.take(16)?;
        let procedure = reader.be32()?;
        // Credential and verifier; then the handle.
        for _ in 0..2 {
            reader.be32()?;
            reader.opaque(request.len())?;
        }
        reader.opaque(MOST_HANDLE)?;
        reader.be64()?;
        let length = reader.be32()?;
        let mut answer = Writer(std::mem::take(out));
        [xid, 1, 0, 0, 0, 0, 0].into_iter().for_each(|word| answer.be32(word));
        let carried = match procedure {
            READ => {
                // No attributes; then the count, end-of-file 0 and the length.
                [0, length, 0, length].into_iter().for_each(|word| answer.be32(word));
                length as usize
            }
            WRITE => {
                [0, 0, length, 0, VERIFIER, VERIFIER].into_iter().for_each(|word| answer.be32(word));
                0
            }
            _ => {
                [0, 0, VERIFIER, VERIFIER].into_iter().for_each(|word| answer.be32(word));
                0
            }
        };
        *out = answer.0;
        Some(Asked { carried, padding: carried.next_multiple_of(4) - carried })
    }

    fn seals(&self) -> bool {
        false
    }

    fn close(&mut self, _message: &mut Vec<u8>) -> Result<(), String> {
        Ok(())
    }
}
