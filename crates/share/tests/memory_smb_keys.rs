//! Signs and encrypts what the SMB server in memory says to the user ann, whose password is hidden-word.

use hmac::{Hmac, KeyInit, Mac};
use smb2::crypto::encryption::{Cipher, NonceGenerator, decrypt_message, encrypt_message};
use smb2::crypto::kdf::derive_session_keys;
use smb2::crypto::signing::{SigningAlgorithm, sign_message, verify_signature};
use smb2::types::Dialect;

use crate::memory_smb::{u32_at, u64_at};

/// The MD4 of hidden-word, with which ANN was hashed (MS-NLMP, NTOWFv2).
const NTLM_HASH: [u8; 16] =
    [0x9e, 0x12, 0x17, 0xd2, 0x11, 0x59, 0xe8, 0x14, 0x0c, 0xf0, 0x3a, 0x96, 0xbf, 0x1e, 0xe9, 0xae];
const TRANSFORM: usize = 52;
const SIGNED: u8 = 8;
const FLAGS: usize = 16;
const NUMBER: usize = 24;
const SESSION: u64 = 77;

/// What a session of SMB 3.0 or 2.1 is signed and encrypted with.
pub struct SessionKeys {
    signing: Vec<u8>,
    algorithm: SigningAlgorithm,
    /// What the client encrypts with, and what the server does.
    encryption: Option<[Vec<u8>; 2]>,
    nonces: NonceGenerator,
}

/// How a message came, and how its answer goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Came {
    Plain,
    Signed,
    Encrypted,
}

impl SessionKeys {
    /// Of a session whose client proved itself with this response to the challenge; no key is exchanged.
    pub fn of(response: &[u8], dialect: u16) -> Self {
        let mut mac = Hmac::<md5::Md5>::new_from_slice(&NTLM_HASH).unwrap();
        mac.update(&response[..16]);
        let key = mac.finalize().into_bytes().to_vec();
        let nonces = NonceGenerator::new();
        if dialect < 0x0300 {
            return Self { signing: key, algorithm: SigningAlgorithm::HmacSha256, encryption: None, nonces };
        }
        let keys = derive_session_keys(&key, Dialect::Smb3_0, None, 128);
        let encryption = Some([keys.encryption_key, keys.decryption_key]);
        Self { signing: keys.signing_key, algorithm: SigningAlgorithm::AesCmac, encryption, nonces }
    }

    /// Makes a message plain, and tells how it came; `None` where it is not from the client.
    pub fn open(&self, message: &mut Vec<u8>) -> Option<Came> {
        if message.starts_with(b"\xfdSMB") {
            let (front, body) = message.split_at_checked(TRANSFORM)?;
            *message = decrypt_message(front, body, &self.encryption.as_ref()?[0], Cipher::Aes128Ccm).ok()?;
            return Some(Came::Encrypted);
        }
        if u32_at(message, FLAGS)? & u32::from(SIGNED) == 0 {
            return Some(Came::Plain);
        }
        verify_signature(message, &self.signing, self.algorithm, u64_at(message, NUMBER)?, false).ok()?;
        Some(Came::Signed)
    }

    /// Signs or encrypts an answer.
    pub fn close(&mut self, mut message: Vec<u8>, came: Came) -> Vec<u8> {
        match came {
            Came::Plain => message,
            Came::Signed => {
                message[FLAGS] |= SIGNED;
                let number = u64_at(&message, NUMBER).unwrap();
                sign_message(&mut message, &self.signing, self.algorithm, number, false).unwrap();
                message
            }
            Came::Encrypted => {
                let nonce = self.nonces.next(Cipher::Aes128Ccm);
                let key = &self.encryption.as_ref().unwrap()[1];
                let (front, body) = encrypt_message(&message, key, Cipher::Aes128Ccm, &nonce, SESSION).unwrap();
                [front, body].concat()
            }
        }
    }
}
