//! Signs and encrypts messages of the SMB server in memory to the user ann, whose password is hidden-word.
//!
//! It uses the ciphers directly, and none of the code under test.

use aes::Aes128;
use aes_gcm::aead::{AeadInOut, inout::InOutBuf};
use ccm::Ccm;
use ccm::consts::{U11, U16};
use cmac::Cmac;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::memory_smb::u32_at;

/// The MD4 of hidden-word, the key with which ANN is hashed (MS-NLMP, NTOWFv2).
const NTLM_HASH: [u8; 16] =
    [0x9e, 0x12, 0x17, 0xd2, 0x11, 0x59, 0xe8, 0x14, 0x0c, 0xf0, 0x3a, 0x96, 0xbf, 0x1e, 0xe9, 0xae];
const TRANSFORM: usize = 52;
const SIGNED: u8 = 8;
const FLAGS: usize = 16;
const SIGNATURE: std::ops::Range<usize> = 48..64;
const SESSION: u64 = 77;

/// The keys of a session of SMB 3.0 or 2.1.
pub struct SessionKeys {
    signing: [u8; 16],
    is_old: bool,
    /// The ciphers with the keys of the client and of the server.
    encryption: Option<[Ccm<Aes128, U16, U11>; 2]>,
    sent: u64,
}

/// How a message came, and how its answer is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Came {
    Plain,
    Signed,
    Encrypted,
}

impl SessionKeys {
    /// The keys of a session whose client sent this response to the challenge, without key exchange.
    pub fn of(response: &[u8], dialect: u16) -> Self {
        let mut mac = Hmac::<md5::Md5>::new_from_slice(&NTLM_HASH).unwrap();
        mac.update(&response[..16]);
        let key = mac.finalize().into_bytes();
        if dialect < 0x0300 {
            return Self { signing: key.into(), is_old: true, encryption: None, sent: 0 };
        }
        // SP 800-108: counter, label with its terminator, zero, context with its terminator, number of bits.
        let derived = |between: &[u8]| -> [u8; 16] {
            let whole = [&[0, 0, 0, 1], between, &[0, 0, 0, 128]].concat();
            half(&Hmac::<Sha256>::new_from_slice(&key).unwrap().chain_update(whole).finalize().into_bytes())
        };
        let cipher = |between| Ccm::new(&derived(between).into());
        let encryption = Some([cipher(b"SMB2AESCCM\0\0ServerIn \0"), cipher(b"SMB2AESCCM\0\0ServerOut\0")]);
        Self { signing: derived(b"SMB2AESCMAC\0\0SmbSign\0"), is_old: false, encryption, sent: 0 }
    }

    /// Verifies or decrypts a message, and returns how it came; `None` if it is not from the client.
    pub fn open(&self, message: &mut Vec<u8>) -> Option<Came> {
        if message.starts_with(b"\xfdSMB") {
            let (front, body) = message.split_at_mut_checked(TRANSFORM)?;
            let (tag, nonce): ([u8; 16], [u8; 11]) = (half(&front[4..20]), front[20..31].try_into().ok()?);
            let cipher = &self.encryption.as_ref()?[0];
            cipher.decrypt_inout_detached(&nonce.into(), &front[20..], InOutBuf::from(body), &tag.into()).ok()?;
            message.drain(..TRANSFORM);
            return Some(Came::Encrypted);
        }
        if u32_at(message, FLAGS)? & u32::from(SIGNED) == 0 {
            return Some(Came::Plain);
        }
        let signature: [u8; 16] = half(message.get(SIGNATURE)?);
        message[SIGNATURE].fill(0);
        (self.signature(message) == signature).then_some(Came::Signed)
    }

    /// Signs or encrypts an answer.
    pub fn close(&mut self, mut message: Vec<u8>, came: Came) -> Vec<u8> {
        match came {
            Came::Plain => message,
            Came::Signed => {
                message[FLAGS] |= SIGNED;
                message[SIGNATURE].fill(0);
                let signature = self.signature(&message);
                message[SIGNATURE].copy_from_slice(&signature);
                message
            }
            Came::Encrypted => {
                self.sent += 1;
                let nonce = [&self.sent.to_le_bytes()[..], &[0; 8]].concat();
                let size = (message.len() as u32).to_le_bytes();
                let session = SESSION.to_le_bytes();
                let vouched = [&nonce[..], &size, &[0, 0, 1, 0], &session].concat();
                let nonce: [u8; 11] = nonce[..11].try_into().unwrap();
                let cipher = &self.encryption.as_ref().unwrap()[1];
                let body = InOutBuf::from(&mut message[..]);
                let tag = cipher.encrypt_inout_detached(&nonce.into(), &vouched, body).unwrap();
                [b"\xfdSMB", &tag[..], &vouched, &message].concat()
            }
        }
    }

    /// The signature of a message whose signature field is zero.
    fn signature(&self, message: &[u8]) -> [u8; 16] {
        if self.is_old {
            return half(
                &Hmac::<Sha256>::new_from_slice(&self.signing).unwrap().chain_update(message).finalize().into_bytes(),
            );
        }
        Cmac::<Aes128>::new(&self.signing.into()).chain_update(message).finalize().into_bytes().into()
    }
}

/// The first 16 bytes.
fn half(bytes: &[u8]) -> [u8; 16] {
    bytes[..16].try_into().unwrap()
}
