//! Answers READ, WRITE and FLUSH from memory, without a sign-in: the SMB server of a rehearsal.

use super::head::{self, Head};
use super::requests::SmbRequests;
use super::seal::{Keys, SealKind};
use super::session::Session;
use crate::bytes::{Reader, Writer};
use crate::channel::Channel;
use crate::protocol::{Answers, Asked, Frame, Opened, Seal};

/// Bytes of a request before its payload.
const HEAD_BYTES: usize = head::BYTES + 48;

/// Both sides of a rehearsal: the client over `channel`, and the server's [`SmbAnswers`].
pub(crate) fn rehearse(channel: Channel, seal: Option<SealKind>, slots: u32) -> (Opened, SmbAnswers) {
    let (own, server) = seal.map(SealKind::known_keys).map_or((None, None), |(own, server)| (Some(own), server));
    let is_signed = matches!(seal, Some(SealKind::Signed(_)));
    let session = Session::rehearsed(channel, own);
    let (channel, protocol) = SmbRequests::over(session, [1; 16], false, slots);
    (Opened { channel, protocol: Box::new(protocol) }, SmbAnswers { is_signed, keys: server })
}

/// The server's side.
pub(crate) struct SmbAnswers {
    is_signed: bool,
    /// Decrypts requests and encrypts answers; `None` if messages are not encrypted.
    keys: Option<Keys>,
}

impl Answers for SmbAnswers {
    fn frame(&self, there: &[u8]) -> Result<Option<Frame>, String> {
        let frame = Frame::marked(there, |mark| Ok(mark as usize))?;
        let prefix = |length: usize| if self.keys.is_none() { HEAD_BYTES.min(length) } else { length };
        Ok(frame.map(|frame| Frame { prefix: prefix(frame.length), ..frame }))
    }

    fn mark(&self, length: usize) -> Option<u32> {
        Some(length as u32)
    }

    fn open(&mut self, message: &mut Vec<u8>) -> Result<(), String> {
        self.keys.as_mut().map_or(Ok(()), |keys| keys.open(message))
    }

    fn answer(&mut self, request: &[u8], out: &mut Vec<u8>) -> Option<Asked> {
        let mut reader = Reader(request);
        reader.take(12)?;
        let command = reader.le16()?;
        let credits = reader.le16()?;
        reader.take(8)?;
        let message = reader.le64()?;
        let length = || Reader(request.get(head::BYTES + 4..)?).le32();
        let mut body = Writer::default();
        let carried = match command {
            head::READ => {
                let carried = length()?;
                [17, (head::BYTES + 16) as u16].into_iter().for_each(|word| body.le16(word));
                [carried, 0, 0].into_iter().for_each(|word| body.le32(word));
                carried
            }
            head::WRITE => {
                body.le32(17);
                [length()?, 0, 0].into_iter().for_each(|word| body.le32(word));
                0
            }
            _ => {
                body.le32(4);
                0
            }
        };
        let at = out.len();
        out.resize(at + head::BYTES, 0);
        let flags = head::RESPONSE | if self.is_signed { head::SIGNED } else { 0 };
        Head { command, credits, flags, message, tree: 1, session: 1, ..Head::default() }.write(&mut out[at..]);
        if self.is_signed {
            // A dummy signature: the client computes the right one, but accepts any.
            out[at..][head::SIGNATURE].fill(1);
        }
        out.extend_from_slice(&body.0);
        Some(Asked { carried: carried as usize, padding: 0 })
    }

    fn seals(&self) -> bool {
        self.keys.is_some()
    }

    fn close(&mut self, message: &mut Vec<u8>) -> Result<(), String> {
        self.keys.as_mut().map_or(Ok(()), |keys| keys.close(message))
    }
}
