//! Encrypts messages to the server, and decrypts messages from it (MS-SMB2 2.2.41, 3.1.4.3 and 3.1.5.1).

use aes::Aes128;
use aes_gcm::aead::inout::InOutBuf;
use aes_gcm::aead::{AeadInOut, KeyInit};
use aes_gcm::{Aes128Gcm, Tag};
use ccm::Ccm;
use ccm::consts::{U11, U16};

use super::key_derivation::Key;

/// Bytes before an encrypted message: protocol ID and tag, then the additional data that the tag covers: nonce, size,
/// flags, session.
const FRONT: usize = 52;
const ENCRYPTED: [u8; 4] = *b"\xfdSMB";
const TAG: std::ops::Range<usize> = 4..20;
const NONCE: usize = 20;
const SIZE: usize = 36;
const FLAGS: usize = 42;
const SESSION: usize = 44;

/// A cipher.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cipher {
    Aes128Ccm,
    Aes128Gcm,
}

/// Encrypts and decrypts the messages of one session.
pub(crate) struct Encryption {
    cipher: Cipher,
    session: u64,
    own: Keyed,
    server: Keyed,
    /// Number of messages encrypted so far; it makes the nonce, which may not repeat with one key.
    sent: u64,
}

enum Keyed {
    Ccm(Box<Ccm<Aes128, U16, U11>>),
    Gcm(Box<Aes128Gcm>),
}

impl Encryption {
    /// With the keys of the client (`own`) and of the server.
    pub fn new(cipher: Cipher, session: u64, own: &Key, server: &Key) -> Self {
        let keyed = |key: &Key| match cipher {
            Cipher::Aes128Ccm => Keyed::Ccm(Box::new(Ccm::new(key.into()))),
            Cipher::Aes128Gcm => Keyed::Gcm(Box::new(Aes128Gcm::new(key.into()))),
        };
        Self { cipher, session, own: keyed(own), server: keyed(server), sent: 0 }
    }

    pub fn cipher(&self) -> Cipher {
        self.cipher
    }

    /// Encrypts one message in place, and puts the transform header before it.
    ///
    /// # Errors
    /// If the message is too long.
    pub fn encrypt(&mut self, message: &mut Vec<u8>) -> Result<(), String> {
        let mut front = [0; FRONT];
        front[..ENCRYPTED.len()].copy_from_slice(&ENCRYPTED);
        front[NONCE..][..8].copy_from_slice(&self.sent.to_le_bytes());
        front[SIZE..][..4].copy_from_slice(&(message.len() as u32).to_le_bytes());
        front[FLAGS] = 1;
        front[SESSION..].copy_from_slice(&self.session.to_le_bytes());
        self.sent += 1;
        let tag = self.own.encrypt(&front[NONCE..], message.as_mut_slice().into());
        front[TAG].copy_from_slice(&tag.ok_or("a message too long to be encrypted")?);
        message.splice(..0, front);
        Ok(())
    }

    /// Decrypts one message of the server, in place.
    ///
    /// # Errors
    /// If the server did not encrypt it with this key.
    pub fn decrypt(&self, message: &mut Vec<u8>) -> Result<(), String> {
        let (front, body) = message.split_at_mut_checked(FRONT).ok_or("a short message")?;
        if !front.starts_with(&ENCRYPTED) {
            return Err("a message that it did not encrypt".to_string());
        }
        let tag: [u8; 16] = std::array::from_fn(|at| front[TAG][at]);
        let plain = self.server.decrypt(&front[NONCE..], body.into(), &tag.into());
        plain.ok_or("a message that cannot be decrypted")?;
        message.drain(..FRONT);
        Ok(())
    }
}

impl Keyed {
    /// Encrypts in place; the nonce is the beginning of the additional data `vouched`. Returns the tag.
    fn encrypt(&self, vouched: &[u8], body: InOutBuf<'_, '_, u8>) -> Option<[u8; 16]> {
        let tag = match self {
            Self::Ccm(cipher) => cipher.encrypt_inout_detached(&nonce::<11>(vouched).into(), vouched, body),
            Self::Gcm(cipher) => cipher.encrypt_inout_detached(&nonce::<12>(vouched).into(), vouched, body),
        };
        tag.ok().map(Into::into)
    }

    fn decrypt(&self, vouched: &[u8], body: InOutBuf<'_, '_, u8>, tag: &Tag) -> Option<()> {
        let plain = match self {
            Self::Ccm(cipher) => cipher.decrypt_inout_detached(&nonce::<11>(vouched).into(), vouched, body, tag),
            Self::Gcm(cipher) => cipher.decrypt_inout_detached(&nonce::<12>(vouched).into(), vouched, body, tag),
        };
        plain.ok()
    }
}

fn nonce<const N: usize>(vouched: &[u8]) -> [u8; N] {
    std::array::from_fn(|at| vouched[at])
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT: Key = *b"0123456789abcdef";
    const SERVER: Key = *b"fedcba9876543210";

    #[test]
    fn a_message_is_encrypted_as_another_implementation_does_it() {
        for (cipher, expected) in [
            (
                Cipher::Aes128Ccm,
                "fd534d423ae3c665e30720289ce53e02a50ccad1010000000000000000000000\
             000000000900000000000100887766554433221176c5ad76457b3c53f3",
            ),
            (
                Cipher::Aes128Gcm,
                "fd534d42ba0ff5bdadf1a4eca005e1a4e0b9a68f010000000000000000000000\
             0000000009000000000001008877665544332211b9c41aff14db561830",
            ),
        ] {
            let mut encryption = Encryption::new(cipher, 0x1122_3344_5566_7788, &CLIENT, &SERVER);
            let mut message = b"first".to_vec();
            encryption.encrypt(&mut message).unwrap();
            message = b"a message".to_vec();
            encryption.encrypt(&mut message).unwrap();
            let digits: String = message.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(digits, expected);
        }
    }

    #[test]
    fn a_message_that_was_changed_anywhere_is_refused() {
        for cipher in [Cipher::Aes128Ccm, Cipher::Aes128Gcm] {
            let mut server = Encryption::new(cipher, 7, &SERVER, &CLIENT);
            let client = Encryption::new(cipher, 7, &CLIENT, &SERVER);
            for plain in [vec![], vec![9; 300]] {
                let mut sealed = plain.clone();
                server.encrypt(&mut sealed).unwrap();
                for at in 0..sealed.len() {
                    let mut changed = sealed.clone();
                    changed[at] ^= 1;
                    assert!(client.decrypt(&mut changed).is_err(), "{cipher:?}, byte {at}");
                    assert!(client.decrypt(&mut sealed[..at].to_vec()).is_err(), "{cipher:?}, {at} bytes");
                }
                client.decrypt(&mut sealed).unwrap();
                assert_eq!(sealed, plain);
            }
        }
    }
}
