//! Signs or encrypts the messages of a session, if the server or the user asks for it.

use super::encryption::{Cipher, Encryption};
use super::head::{Head, UNASKED};
use super::signature::{Signer, SigningAlgorithm};
use super::status::PENDING;
use crate::protocol::Seal;

/// The keys that a session uses.
pub(crate) enum Keys {
    /// If `checks` is false, a wrong signature is accepted, but it is still computed.
    Sign {
        signer: Signer,
        checks: bool,
    },
    Encrypt(Box<Encryption>),
}

/// How the messages of a session are signed or encrypted, without its keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SealKind {
    Signed(SigningAlgorithm),
    Encrypted(Cipher),
}

impl SealKind {
    /// Fixed keys for a rehearsal: the client's, and the server's if it needs any.
    pub fn known_keys(self) -> (Keys, Option<Keys>) {
        let client = [1; 16];
        let server = [2; 16];
        match self {
            Self::Signed(algorithm) => (Keys::Sign { signer: Signer::new(algorithm, &client), checks: false }, None),
            Self::Encrypted(cipher) => {
                let side = |own, other| Keys::Encrypt(Box::new(Encryption::new(cipher, 1, own, other)));
                (side(&client, &server), Some(side(&server, &client)))
            }
        }
    }
}

impl Keys {
    /// How they sign or encrypt.
    pub fn kind(&self) -> SealKind {
        match self {
            Self::Sign { signer, .. } => SealKind::Signed(signer.algorithm()),
            Self::Encrypt(encryption) => SealKind::Encrypted(encryption.cipher()),
        }
    }

    /// A word for the report.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Sign { .. } => "signed",
            Self::Encrypt(_) => "encrypted",
        }
    }
}

impl Seal for Keys {
    fn close(&mut self, message: &mut Vec<u8>) -> Result<(), String> {
        match self {
            Self::Sign { signer, .. } => signer.sign(message),
            Self::Encrypt(encryption) => encryption.encrypt(message),
        }
    }

    fn open(&mut self, message: &mut Vec<u8>) -> Result<(), String> {
        match self {
            Self::Sign { signer, checks } => {
                let head = Head::read(message).ok_or("a message without its head")?;
                // Interim and unsolicited messages need not be signed.
                if head.status == PENDING || head.message == UNASKED {
                    return Ok(());
                }
                let checked = signer.verify(message);
                if *checks { checked } else { Ok(()) }
            }
            Self::Encrypt(encryption) => encryption.decrypt(message),
        }
    }
}
