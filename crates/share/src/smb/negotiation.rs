//! Proposes what the client supports, reads what the server chose, and has it confirmed (MS-SMB2 3.2.5.5).

use halfpower_spec::Sealing;

use super::Dialect;
use super::encryption::Cipher;
use super::head;
use super::key_derivation::PreauthHash;
use super::random;
use crate::bytes::{Reader, Writer};

pub(crate) const LARGE_MTU: u32 = 4;
const ENCRYPTION: u32 = 0x40;
/// What the client supports.
const CAPABILITIES: u32 = LARGE_MTU | ENCRYPTION;
const SIGNING_ENABLED: u16 = 1;
const SIGNING_REQUIRED: u16 = 2;
/// Kinds of contexts (MS-SMB2 2.2.3.1), and the algorithms in them.
const PREAUTH_INTEGRITY_CAPABILITIES: u16 = 1;
const ENCRYPTION_CAPABILITIES: u16 = 2;
const SIGNING_CAPABILITIES: u16 = 8;
const SHA_512: u16 = 1;
const AES_128_CCM: u16 = 1;
const AES_128_GCM: u16 = 2;
const AES_CMAC: u16 = 1;
const AES_GMAC: u16 = 2;
const SALT_BYTES: usize = 32;

/// The control code that has a negotiation confirmed (FSCTL_VALIDATE_NEGOTIATE_INFO), its flag, and the bytes of the
/// answer.
const VALIDATE: u32 = 0x0014_0204;
const IS_FSCTL: u32 = 1;
const CONFIRMED_BYTES: u32 = 24;
/// Offset of what is asked to be confirmed in its message: after the fixed part of its body.
const CLAIM_AT: u32 = head::BYTES as u32 + head::IOCTL_SIZE as u32 - 1;

/// What the server says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ServerSide {
    pub capabilities: u32,
    guid: [u8; 16],
    mode: u16,
    dialect: u16,
}

/// The result of the negotiation.
pub(crate) struct Agreed {
    pub dialect: Dialect,
    /// The client's number in this negotiation.
    guid: [u8; 16],
    pub server: ServerSide,
    /// Whether the server requires signatures.
    pub signs: bool,
    pub has_gmac: bool,
    /// The cipher; `None` if the server offers no encryption.
    pub cipher: Option<Cipher>,
    pub hash: PreauthHash,
}

/// The security mode: signing is enabled, and required if the user asks for it.
pub(crate) fn security_mode(sealing: Sealing) -> u16 {
    if sealing == Sealing::Signed { SIGNING_ENABLED | SIGNING_REQUIRED } else { SIGNING_ENABLED }
}

/// The body of the first message: what the client supports, under this number.
pub(crate) fn proposal(sealing: Sealing, guid: [u8; 16]) -> Vec<u8> {
    let mut body = Writer::default();
    let dialects = Dialect::ALL.len();
    [head::NEGOTIATE_SIZE, dialects as u16, security_mode(sealing), 0].into_iter().for_each(|word| body.le16(word));
    body.le32(CAPABILITIES);
    body.all(&guid);
    let contexts_at = (head::BYTES + body.0.len() + 8 + 2 * dialects).next_multiple_of(8);
    body.le32(contexts_at as u32);
    let words = |words: &[u16]| {
        let mut list = Writer::default();
        list.le16(words.len() as u16);
        words.iter().for_each(|word| list.le16(*word));
        list.0
    };
    let mut preauth = Writer::default();
    [1, SALT_BYTES as u16, SHA_512].into_iter().for_each(|word| preauth.le16(word));
    preauth.all(&random::<SALT_BYTES>());
    let contexts = [
        (PREAUTH_INTEGRITY_CAPABILITIES, preauth.0),
        (ENCRYPTION_CAPABILITIES, words(&[AES_128_GCM, AES_128_CCM])),
        (SIGNING_CAPABILITIES, words(&[AES_GMAC, AES_CMAC])),
    ];
    [contexts.len() as u16, 0].into_iter().for_each(|word| body.le16(word));
    Dialect::ALL.into_iter().for_each(|dialect| body.le16(dialect.number()));
    for (kind, data) in contexts {
        body.0.resize((head::BYTES + body.0.len()).next_multiple_of(8) - head::BYTES, 0);
        [kind, data.len() as u16, 0, 0].into_iter().for_each(|word| body.le16(word));
        body.all(&data);
    }
    body.0
}

/// Reads the server's choice after the proposal of `guid`; also returns the most bytes of a read and of a write.
pub(crate) fn agreement(answer: &[u8], guid: [u8; 16], hash: PreauthHash) -> Option<(Agreed, [u32; 2])> {
    let mut reader = Reader(answer.get(head::BYTES..)?);
    reader.le16()?;
    let mode = reader.le16()?;
    let dialect = reader.le16()?;
    let contexts = reader.le16()?;
    let of_server = reader.take(16)?.try_into().ok()?;
    let capabilities = reader.le32()?;
    let server = ServerSide { capabilities, guid: of_server, mode, dialect };
    reader.le32()?;
    let read = reader.le32()?;
    let write = reader.le32()?;
    reader.take(20)?;
    let at = reader.le32()? as usize;
    let dialect = Dialect::of(dialect)?;
    let has_old_cipher = matches!(dialect, Dialect::Smb300 | Dialect::Smb302) && capabilities & ENCRYPTION != 0;
    let mut has_gmac = false;
    let mut cipher = has_old_cipher.then_some(Cipher::Aes128Ccm);
    let has_contexts = dialect == Dialect::Smb311;
    let mut rest = Reader(if has_contexts { answer.get(at.max(head::BYTES)..)? } else { &[] });
    for _ in 0..if has_contexts { contexts } else { 0 } {
        let kind = rest.le16()?;
        let length = usize::from(rest.le16()?);
        rest.take(4)?;
        let chosen = rest.take(length)?.get(2..4).map(|word| u16::from_le_bytes([word[0], word[1]]));
        rest.take((length.next_multiple_of(8) - length).min(rest.0.len()))?;
        match (kind, chosen) {
            (ENCRYPTION_CAPABILITIES, Some(AES_128_CCM)) => cipher = Some(Cipher::Aes128Ccm),
            (ENCRYPTION_CAPABILITIES, Some(AES_128_GCM)) => cipher = Some(Cipher::Aes128Gcm),
            (SIGNING_CAPABILITIES, Some(AES_GMAC)) => has_gmac = true,
            _ => {}
        }
    }
    let signs = mode & SIGNING_REQUIRED != 0;
    Some((Agreed { dialect, guid, server, signs, has_gmac, cipher, hash }, [read, write]))
}

impl Agreed {
    /// The body of the request to confirm this negotiation: what the client had proposed.
    pub fn claim(&self, sealing: Sealing) -> Vec<u8> {
        let mut claim = Writer::default();
        claim.le32(CAPABILITIES);
        claim.all(&self.guid);
        [security_mode(sealing), Dialect::ALL.len() as u16].into_iter().for_each(|word| claim.le16(word));
        Dialect::ALL.into_iter().for_each(|dialect| claim.le16(dialect.number()));
        let mut body = Writer::default();
        [head::IOCTL_SIZE, 0].into_iter().for_each(|word| body.le16(word));
        body.le32(VALIDATE);
        // It belongs to no file.
        body.all(&[0xff; 16]);
        let length = claim.0.len() as u32;
        [CLAIM_AT, length, 0, 0, 0, CONFIRMED_BYTES, IS_FSCTL, 0].into_iter().for_each(|word| body.le32(word));
        body.all(&claim.0);
        body.0
    }

    /// Whether the answer to that request says what the negotiation had said.
    ///
    /// # Errors
    /// If it is no such answer, in a few words.
    pub fn is_confirmed(&self, answer: &[u8]) -> Result<bool, String> {
        let fields = || {
            let mut reader = Reader(answer.get(head::BYTES..)?);
            reader.take(32)?;
            let at = reader.le32()? as usize;
            let length = reader.le32()? as usize;
            Some((at, length))
        };
        let confirmed = |at: usize, length: usize| {
            let mut reader = Reader(head::carried(answer, 48, at, length).ok()?);
            let capabilities = reader.le32()?;
            let guid = reader.take(16)?.try_into().ok()?;
            let mode = reader.le16()?;
            Some(ServerSide { capabilities, guid, mode, dialect: reader.le16()? })
        };
        let said = fields().and_then(|(at, length)| confirmed(at, length));
        Ok(said.ok_or("no answer about the negotiation")? == self.server)
    }
}
