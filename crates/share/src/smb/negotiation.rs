//! Proposes what this side can, and reads what the server chose.

use std::hash::{BuildHasher, RandomState};

use halfpower_spec::Sealing;
use smb2::crypto::encryption::Cipher;
use smb2::crypto::kdf::PreauthHasher;
use smb2::types::Dialect;

use super::head;
use crate::bytes::{Reader, Writer};

pub(crate) const DIALECTS: [u16; 5] = [0x0202, 0x0210, 0x0300, 0x0302, 0x0311];
pub(crate) const LARGE_MTU: u32 = 4;
const ENCRYPTION: u32 = 0x40;
const SIGNING_ENABLED: u16 = 1;
const SIGNING_REQUIRED: u16 = 2;

/// What both sides agreed on first.
pub(crate) struct Agreed {
    pub dialect: Dialect,
    /// Whether the server wants signatures.
    pub signs: bool,
    pub has_gmac: bool,
    /// What messages can be encrypted with; `None` where the server offers no encryption.
    pub cipher: Option<Cipher>,
    pub hasher: PreauthHasher,
}

/// What is said of signatures: that they can be had, or that this side wants them.
pub(crate) fn security_mode(sealing: Sealing) -> u16 {
    if sealing == Sealing::Signed { SIGNING_ENABLED | SIGNING_REQUIRED } else { SIGNING_ENABLED }
}

/// The body of the first message: what this side can.
pub(crate) fn proposal(sealing: Sealing) -> Vec<u8> {
    let mut body = Writer::default();
    [36, DIALECTS.len() as u16, security_mode(sealing), 0].into_iter().for_each(|word| body.le16(word));
    body.le32(LARGE_MTU | ENCRYPTION);
    [1, 2].into_iter().for_each(|half| body.le64(random(half)));
    let contexts_at = (head::BYTES + body.0.len() + 8 + 2 * DIALECTS.len()).next_multiple_of(8);
    body.le32(contexts_at as u32);
    [3, 0].into_iter().for_each(|word| body.le16(word));
    DIALECTS.into_iter().for_each(|dialect| body.le16(dialect));
    let mut preauth = Writer::default();
    [1, 32, 1].into_iter().for_each(|word| preauth.le16(word));
    (3..7).for_each(|part| preauth.le64(random(part)));
    let words = |words: &[u16]| {
        let mut list = Writer::default();
        list.le16(words.len() as u16);
        words.iter().for_each(|word| list.le16(*word));
        list.0
    };
    // SHA-512 over what is agreed on; AES-128-GCM and -CCM to encrypt; AES-GMAC and -CMAC to sign.
    for (kind, data) in [(1, preauth.0), (2, words(&[2, 1])), (8, words(&[2, 1]))] {
        body.0.resize((head::BYTES + body.0.len()).next_multiple_of(8) - head::BYTES, 0);
        [kind, data.len() as u16, 0, 0].into_iter().for_each(|word| body.le16(word));
        body.all(&data);
    }
    body.0
}

/// Reads what the server chose: that, its capabilities, and the most bytes of a read and of a write.
pub(crate) fn agreement(answer: &[u8], hasher: PreauthHasher) -> Option<(Agreed, u32, [u32; 2])> {
    let mut reader = Reader(answer.get(head::BYTES..)?);
    reader.le16()?;
    let (mode, dialect, contexts) = (reader.le16()?, reader.le16()?, reader.le16()?);
    reader.take(16)?;
    let (capabilities, _, read, write) = (reader.le32()?, reader.le32()?, reader.le32()?, reader.le32()?);
    reader.take(20)?;
    let at = reader.le32()? as usize;
    let has_old_cipher = (DIALECTS[2]..DIALECTS[4]).contains(&dialect) && capabilities & ENCRYPTION != 0;
    let (mut has_gmac, mut cipher) = (false, has_old_cipher.then_some(Cipher::Aes128Ccm));
    let mut rest = Reader(if dialect == DIALECTS[4] { answer.get(at..)? } else { &[] });
    for _ in 0..if dialect == DIALECTS[4] { contexts } else { 0 } {
        let (kind, length) = (rest.le16()?, usize::from(rest.le16()?));
        rest.take(4)?;
        let chosen = rest.take(length)?.get(2..4).map(|word| u16::from_le_bytes([word[0], word[1]]));
        rest.take((length.next_multiple_of(8) - length).min(rest.0.len()))?;
        match (kind, chosen) {
            (2, Some(1)) => cipher = Some(Cipher::Aes128Ccm),
            (2, Some(2)) => cipher = Some(Cipher::Aes128Gcm),
            (8, Some(2)) => has_gmac = true,
            _ => {}
        }
    }
    let dialect = Dialect::ALL.iter().copied().find(|known| u16::from(*known) == dialect)?;
    let agreed = Agreed { dialect, signs: mode & SIGNING_REQUIRED != 0, has_gmac, cipher, hasher };
    Some((agreed, capabilities, [read, write]))
}

/// A number from the system's random ones: the standard library draws the keys of a `RandomState` from them.
pub(crate) fn random(part: u64) -> u64 {
    RandomState::new().hash_one(part)
}
