//! Holds the keys of a session, and signs or encrypts its messages if the server or the user asks for it.

use halfpower_spec::Sealing;

use super::encryption::{Cipher, Encryption};
use super::head::{Head, PENDING, UNASKED};
use super::key_derivation::{DerivedKeys, Key};
use super::negotiation::Agreed;
use super::signature::{Signer, SigningAlgorithm};
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

/// The keys of a session.
pub(crate) struct SessionKeys {
    pub agreed: Agreed,
    pub signer: Signer,
    derived: Option<DerivedKeys>,
    /// Whether the server requires encryption for the whole session.
    pub encrypts: bool,
}

/// How the messages of a session can be signed or encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SealOffer {
    /// What the server asks for; `None` for plain messages.
    pub asked: Option<SealKind>,
    is_guest: bool,
    algorithm: SigningAlgorithm,
    cipher: Option<Cipher>,
}

impl SessionKeys {
    pub fn new(agreed: Agreed, key: &Key, encrypts: bool) -> Self {
        let derived = DerivedKeys::new(key, agreed.dialect, &agreed.hash);
        let algorithm = SigningAlgorithm::of(agreed.dialect, agreed.has_gmac);
        let signer = Signer::new(algorithm, derived.as_ref().map_or(key, |keys| &keys.signing));
        Self { agreed, signer, derived, encrypts }
    }

    pub fn signing(&self) -> Keys {
        Keys::Sign { signer: self.signer.clone(), checks: true }
    }

    /// The keys that encrypt this session; `None` if the server offers no encryption.
    pub fn encrypting(&self, session: u64) -> Option<Keys> {
        let keys = self.derived.as_ref()?;
        let cipher = self.agreed.cipher?;
        Some(Keys::Encrypt(Box::new(Encryption::new(cipher, session, &keys.own, &keys.server))))
    }

    /// The offer of a session in which the server asks for `asked`.
    pub fn offer(&self, asked: Option<SealKind>, is_guest: bool) -> SealOffer {
        SealOffer { asked, is_guest, algorithm: self.signer.algorithm(), cipher: self.agreed.cipher }
    }
}

impl SealOffer {
    /// The offer before sign-in: nothing.
    pub const NONE: Self = Self { asked: None, is_guest: true, algorithm: SigningAlgorithm::HmacSha256, cipher: None };

    /// How messages are signed or encrypted if the user asks for `sealing`; `None` if they are sent plain.
    ///
    /// # Errors
    /// Why that is not possible, as a sentence without the full stop.
    pub fn of(&self, sealing: Sealing) -> Result<Option<SealKind>, &'static str> {
        match sealing {
            Sealing::AsAsked => Ok(self.asked),
            _ if self.is_guest => Err("a guest has no key to sign or to encrypt with; sign in as a user of the server"),
            Sealing::Signed if matches!(self.asked, Some(SealKind::Encrypted(_))) => {
                Err("this server or share wants all messages encrypted, so that none are signed alone")
            }
            Sealing::Signed => Ok(Some(SealKind::Signed(self.algorithm))),
            Sealing::Encrypted => self.cipher.map(|cipher| Some(SealKind::Encrypted(cipher))).ok_or(
                "the server offers no encryption; it takes SMB 3, and a server where encryption is not switched off",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_offered_says_why() {
        let algorithm = SigningAlgorithm::AesGmac;
        let cipher = Some(Cipher::Aes128Gcm);
        let offer = SealOffer { asked: None, is_guest: false, algorithm, cipher };
        let signed = SealKind::Signed(algorithm);
        let encrypted = SealKind::Encrypted(Cipher::Aes128Gcm);
        let of = |offer: SealOffer| [Sealing::AsAsked, Sealing::Signed, Sealing::Encrypted].map(|word| offer.of(word));
        assert_eq!(of(offer), [Ok(None), Ok(Some(signed)), Ok(Some(encrypted))]);
        let [asked, alone, all] = of(SealOffer { asked: Some(encrypted), ..offer });
        assert_eq!((asked, all), (Ok(Some(encrypted)), Ok(Some(encrypted))));
        assert!(alone.unwrap_err().contains("wants all messages encrypted"));
        let [asked, alone, all] = of(SealOffer { asked: Some(signed), cipher: None, ..offer });
        assert_eq!((asked, alone), (Ok(Some(signed)), Ok(Some(signed))));
        assert!(all.unwrap_err().contains("offers no encryption"));
        assert!(
            of(SealOffer { is_guest: true, ..offer })[1..].iter().all(|refused| refused.unwrap_err().contains("guest"))
        );
    }
}
