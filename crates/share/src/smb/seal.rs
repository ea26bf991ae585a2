//! Signs and encrypts messages, where the server asks for it.

use smb2::crypto::encryption::{Cipher, NonceGenerator, decrypt_message, encrypt_message};
use smb2::crypto::signing::{SigningAlgorithm, sign_message, verify_signature};

use super::head::{Head, PENDING, SIGNED, UNASKED};
use crate::protocol::Seal;

/// Bytes before an encrypted message.
const TRANSFORM_BYTES: usize = 52;
const ENCRYPTED: [u8; 4] = *b"\xfdSMB";
/// Bytes of every key that is used.
const KEY_BYTES: usize = 16;
/// Where the flags of a message are, and its number.
const FLAGS: usize = 16;
const NUMBER: std::ops::Range<usize> = 24..32;

/// The keys of a session, as far as they are used.
pub(crate) enum Keys {
    /// With `checks` off a wrong signature passes, once the work of checking it was done.
    Sign {
        key: Vec<u8>,
        algorithm: SigningAlgorithm,
        checks: bool,
    },
    Encrypt {
        session: u64,
        own: Vec<u8>,
        server: Vec<u8>,
        cipher: Cipher,
        nonces: NonceGenerator,
    },
}

/// How the messages of a session are sealed, without its keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SealKind {
    Signed(SigningAlgorithm),
    Encrypted(Cipher),
}

impl SealKind {
    /// Keys that everybody knows: those of a client, and those of its server where that one needs any.
    pub fn known_keys(self) -> (Keys, Option<Keys>) {
        let key = |fill| vec![fill; KEY_BYTES];
        match self {
            Self::Signed(algorithm) => (Keys::Sign { key: key(1), algorithm, checks: false }, None),
            Self::Encrypted(cipher) => {
                let side = |own, server| {
                    let (own, server) = (key(own), key(server));
                    Keys::Encrypt { session: 1, own, server, cipher, nonces: NonceGenerator::new() }
                };
                (side(1, 2), Some(side(2, 1)))
            }
        }
    }
}

impl Keys {
    /// How they seal.
    pub fn kind(&self) -> SealKind {
        match self {
            Self::Sign { algorithm, .. } => SealKind::Signed(*algorithm),
            Self::Encrypt { cipher, .. } => SealKind::Encrypted(*cipher),
        }
    }

    /// What is said of it.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Sign { .. } => "signed",
            Self::Encrypt { .. } => "encrypted",
        }
    }
}

/// Signs one message.
pub(crate) fn sign(message: &mut [u8], key: &[u8], algorithm: SigningAlgorithm) -> Result<(), String> {
    message[FLAGS] |= SIGNED as u8;
    let number = u64::from_le_bytes(message[NUMBER].try_into().unwrap_or_default());
    sign_message(message, key, algorithm, number, false).map_err(|error| error.to_string())
}

/// Checks the signature of one message.
pub(crate) fn verify(message: &[u8], key: &[u8], algorithm: SigningAlgorithm, number: u64) -> Result<(), String> {
    verify_signature(message, key, algorithm, number, false).map_err(|_| "a message that it did not sign".to_string())
}

impl Seal for Keys {
    fn close(&mut self, message: &mut Vec<u8>) -> Result<(), String> {
        match self {
            Self::Sign { key, algorithm, .. } => sign(message, key, *algorithm),
            Self::Encrypt { session, own, cipher, nonces, .. } => {
                let nonce = nonces.next(*cipher);
                let sealed = encrypt_message(message, own, *cipher, &nonce, *session);
                let (front, body) = sealed.map_err(|error| error.to_string())?;
                *message = front;
                message.extend_from_slice(&body);
                Ok(())
            }
        }
    }

    fn open(&mut self, message: &mut Vec<u8>) -> Result<(), String> {
        match self {
            Self::Sign { key, algorithm, checks } => {
                let head = Head::read(message).ok_or("a message without its head")?;
                // What only says that an answer will come need not be signed.
                if head.status == PENDING || head.message == UNASKED {
                    return Ok(());
                }
                let checked = verify(message, key, *algorithm, head.message);
                if *checks { checked } else { Ok(()) }
            }
            Self::Encrypt { server, cipher, .. } => {
                let (front, body) = message.split_at_checked(TRANSFORM_BYTES).ok_or("a short message")?;
                if !front.starts_with(&ENCRYPTED) {
                    return Err("a message that it did not encrypt".to_string());
                }
                let plain = decrypt_message(front, body, server, *cipher);
                *message = plain.map_err(|_| "a message that cannot be decrypted".to_string())?;
                Ok(())
            }
        }
    }
}
