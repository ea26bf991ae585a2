//! Proposes what the client supports, and reads what the server chose.

use halfpower_spec::Sealing;

use super::Dialect;
use super::encryption::Cipher;
use super::head;
use super::key_derivation::PreauthHash;
use super::random;
use crate::bytes::{Reader, Writer};

pub(crate) const LARGE_MTU: u32 = 4;
const ENCRYPTION: u32 = 0x40;
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

/// The result of the negotiation.
pub(crate) struct Agreed {
    pub dialect: Dialect,
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

/// The body of the first message: what the client supports.
pub(crate) fn proposal(sealing: Sealing) -> Vec<u8> {
    let mut body = Writer::default();
    let dialects = Dialect::ALL.len();
    [head::NEGOTIATE_SIZE, dialects as u16, security_mode(sealing), 0].into_iter().for_each(|word| body.le16(word));
    body.le32(LARGE_MTU | ENCRYPTION);
    body.all(&random::<16>());
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

/// Reads the server's choice; also returns its capabilities, and the most bytes of a read and of a write.
pub(crate) fn agreement(answer: &[u8], hash: PreauthHash) -> Option<(Agreed, u32, [u32; 2])> {
    let mut reader = Reader(answer.get(head::BYTES..)?);
    reader.le16()?;
    let mode = reader.le16()?;
    let dialect = reader.le16()?;
    let contexts = reader.le16()?;
    reader.take(16)?;
    let capabilities = reader.le32()?;
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
    let mut rest = Reader(if has_contexts { answer.get(at..)? } else { &[] });
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
    let agreed = Agreed { dialect, signs: mode & SIGNING_REQUIRED != 0, has_gmac, cipher, hash };
    Some((agreed, capabilities, [read, write]))
}
