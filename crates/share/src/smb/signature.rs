//! Signs messages to the server, and verifies signatures of messages from it (MS-SMB2 3.1.4.1 and 3.1.5.1).

use aes::Aes128;
use aes_gcm::aead::AeadInOut;
use aes_gcm::{Aes128Gcm, Tag};
use cmac::Cmac;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::Dialect;
use super::head::{FLAGS, NUMBER, SIGNATURE, SIGNED};
use super::key_derivation::Key;

/// The bit in the nonce of AES-GMAC that marks a message of the server.
const OF_SERVER: u8 = 1;

/// The algorithm of signatures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SigningAlgorithm {
    HmacSha256,
    AesCmac,
    AesGmac,
}

/// Signs and verifies with one key.
#[derive(Clone)]
pub(crate) enum Signer {
    HmacSha256(Hmac<Sha256>),
    AesCmac(Box<Cmac<Aes128>>),
    AesGmac(Box<Aes128Gcm>),
}

impl SigningAlgorithm {
    /// The algorithm of a dialect; SMB 3.1.1 uses AES-GMAC if both sides support it.
    pub fn of(dialect: Dialect, has_gmac: bool) -> Self {
        match dialect {
            Dialect::Smb202 | Dialect::Smb210 => Self::HmacSha256,
            Dialect::Smb311 if has_gmac => Self::AesGmac,
            Dialect::Smb300 | Dialect::Smb302 | Dialect::Smb311 => Self::AesCmac,
        }
    }
}

impl Signer {
    pub fn new(algorithm: SigningAlgorithm, key: &Key) -> Self {
        match algorithm {
            SigningAlgorithm::HmacSha256 => {
                Self::HmacSha256(Hmac::new_from_slice(key).expect("a key may have any length"))
            }
            SigningAlgorithm::AesCmac => Self::AesCmac(Box::new(Cmac::new(key.into()))),
            SigningAlgorithm::AesGmac => Self::AesGmac(Box::new(Aes128Gcm::new(key.into()))),
        }
    }

    pub fn algorithm(&self) -> SigningAlgorithm {
        match self {
            Self::HmacSha256(_) => SigningAlgorithm::HmacSha256,
            Self::AesCmac(_) => SigningAlgorithm::AesCmac,
            Self::AesGmac(_) => SigningAlgorithm::AesGmac,
        }
    }

    /// Signs one message of the client; it must begin with its head.
    ///
    /// # Errors
    /// If the message is too long.
    pub fn sign(&self, message: &mut [u8]) -> Result<(), String> {
        message[FLAGS.start] |= SIGNED as u8;
        message[SIGNATURE].fill(0);
        let signature: [u8; 16] = match self {
            Self::HmacSha256(mac) => first_half(mac.clone().chain_update(&*message)),
            Self::AesCmac(mac) => Cmac::clone(mac).chain_update(&*message).finalize().into_bytes().into(),
            Self::AesGmac(mac) => {
                let signed = mac.encrypt_inout_detached(&nonce(message, 0).into(), message, (&mut [][..]).into());
                signed.map_err(|_| "a message too long to be signed".to_string())?.into()
            }
        };
        message[SIGNATURE].copy_from_slice(&signature);
        Ok(())
    }

    /// Verifies the signature of one message of the server, and leaves zeros in its place.
    ///
    /// # Errors
    /// If the server did not sign it.
    pub fn verify(&self, message: &mut [u8]) -> Result<(), String> {
        let unsigned = || "a message that it did not sign".to_string();
        let field = message.get_mut(SIGNATURE).ok_or_else(unsigned)?;
        let signature: [u8; 16] = std::array::from_fn(|at| std::mem::take(&mut field[at]));
        // All compare in constant time, which reveals nothing about the right signature.
        let is_right = match self {
            Self::HmacSha256(mac) => mac.clone().chain_update(&*message).verify_truncated_left(&signature).is_ok(),
            Self::AesCmac(mac) => Cmac::clone(mac).chain_update(&*message).verify_slice(&signature).is_ok(),
            Self::AesGmac(mac) => {
                let nonce = nonce(message, OF_SERVER).into();
                let tag = Tag::from(signature);
                mac.decrypt_inout_detached(&nonce, message, (&mut [][..]).into(), &tag).is_ok()
            }
        };
        if is_right { Ok(()) } else { Err(unsigned()) }
    }
}

/// The first 16 bytes of HMAC-SHA256, which a signature holds.
fn first_half(mac: Hmac<Sha256>) -> [u8; 16] {
    let whole = mac.finalize().into_bytes();
    std::array::from_fn(|at| whole[at])
}

/// The nonce of AES-GMAC, which is unique: the message number, and which side sends it.
fn nonce(message: &[u8], side: u8) -> [u8; 12] {
    let mut nonce = [0; 12];
    nonce[..8].copy_from_slice(&message[NUMBER]);
    nonce[8] = side;
    nonce
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: Key = *b"0123456789abcdef";
    const ALL: [SigningAlgorithm; 3] =
        [SigningAlgorithm::HmacSha256, SigningAlgorithm::AesCmac, SigningAlgorithm::AesGmac];

    fn message() -> Vec<u8> {
        (0..200).collect()
    }

    #[test]
    fn signatures_are_those_of_another_implementation() {
        let signatures = [
            0x23de_6862_379f_fd3c_4617_1d8b_e0b6_caa4_u128,
            0xd263_1b6f_2292_14cf_87fe_67fb_002b_8487,
            0x4996_ccad_c490_db65_9d84_b72f_5e88_de2e,
        ];
        for (algorithm, expected) in ALL.into_iter().zip(signatures) {
            let mut signed = message();
            Signer::new(algorithm, &KEY).sign(&mut signed).unwrap();
            assert_eq!(signed[SIGNATURE], expected.to_be_bytes(), "{algorithm:?}");
            assert_eq!(u32::from(signed[FLAGS.start]) & SIGNED, SIGNED);
        }
    }

    #[test]
    fn only_what_the_server_signed_passes() {
        for algorithm in ALL {
            let signer = Signer::new(algorithm, &KEY);
            let mut signed = message();
            signer.sign(&mut signed).unwrap();
            if let Signer::AesGmac(mac) = &signer {
                assert!(signer.verify(&mut signed.clone()).is_err(), "our own message, sent back");
                signed[SIGNATURE].fill(0);
                let nonce = nonce(&signed, OF_SERVER).into();
                let tag = mac.encrypt_inout_detached(&nonce, &signed, (&mut [][..]).into()).unwrap();
                signed[SIGNATURE].copy_from_slice(&tag);
            }
            for at in 0..signed.len() {
                let mut changed = signed.clone();
                changed[at] ^= 0x10;
                assert!(signer.verify(&mut changed).is_err(), "{algorithm:?}, byte {at}");
            }
            assert!(signer.verify(&mut signed[..SIGNATURE.end - 1].to_vec()).is_err());
            signer.verify(&mut signed).unwrap();
            assert_eq!(signed[SIGNATURE], [0; 16]);
        }
    }
}
