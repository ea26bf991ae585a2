//! Derives the keys of a session from the key of the sign-in (MS-SMB2 3.1.4.2, NIST SP 800-108).

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256, Sha512};

use super::Dialect;

/// A key of AES-128, or the key of a sign-in.
pub(crate) type Key = [u8; 16];

/// The hash over all messages of the sign-in (MS-SMB2 3.2.5.2 and 3.2.5.3): each step is the SHA-512 of the last hash
/// and the next message.
pub(crate) struct PreauthHash([u8; 64]);

/// The keys of an SMB 3 session.
#[cfg_attr(test, derive(Debug, PartialEq, Eq))]
pub(crate) struct DerivedKeys {
    pub signing: Key,
    /// The client's encryption key.
    pub own: Key,
    /// The server's encryption key.
    pub server: Key,
}

impl PreauthHash {
    pub fn new() -> Self {
        Self([0; 64])
    }

    pub fn update(&mut self, message: &[u8]) {
        self.0 = Sha512::new().chain_update(self.0).chain_update(message).finalize().into();
    }
}

impl DerivedKeys {
    /// Derives the keys of a session with this pre-authentication hash; `None` before SMB 3, which derives no keys.
    pub fn new(key: &Key, dialect: Dialect, hash: &PreauthHash) -> Option<Self> {
        let of = |label: &[u8], context: &[u8]| derived(key, label, context);
        match dialect {
            Dialect::Smb202 | Dialect::Smb210 => None,
            Dialect::Smb300 | Dialect::Smb302 => Some(Self {
                signing: of(b"SMB2AESCMAC\0", b"SmbSign\0"),
                own: of(b"SMB2AESCCM\0", b"ServerIn \0"),
                server: of(b"SMB2AESCCM\0", b"ServerOut\0"),
            }),
            Dialect::Smb311 => Some(Self {
                signing: of(b"SMBSigningKey\0", &hash.0),
                own: of(b"SMBC2SCipherKey\0", &hash.0),
                server: of(b"SMBS2CCipherKey\0", &hash.0),
            }),
        }
    }
}

/// The first 128 bits of SP 800-108 in counter mode with HMAC-SHA256; counter and length have 32 bits each.
fn derived(key: &Key, label: &[u8], context: &[u8]) -> Key {
    const COUNTER: [u8; 4] = 1_u32.to_be_bytes();
    const BITS: [u8; 4] = 128_u32.to_be_bytes();
    let mac = Hmac::<Sha256>::new_from_slice(key).expect("a key may have any length");
    let parts = [&COUNTER, label, &[0], context, &BITS];
    let long = parts.into_iter().fold(mac, Mac::chain_update).finalize().into_bytes();
    std::array::from_fn(|at| long[at])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex<const N: usize>(digits: &str) -> [u8; N] {
        std::array::from_fn(|at| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).unwrap())
    }

    /// Microsoft's example sessions of SMB 3.0 and 3.1.1, from "SMB 2 and SMB 3 security in Windows 10: the anatomy of
    /// signing and cryptographic keys".
    #[test]
    fn the_keys_are_those_of_the_published_sessions() {
        let start = PreauthHash::new();
        let hash = PreauthHash(hex("0DD13628CC3ED218EF9DF9772D436D0887AB9814BFAE63A80AA845F36909DB79\
                             28622DDDAD522D9751640A459762C5A9D6BB084CBB3CE6BDADEF5D5BCE3C6C01"));
        for (dialect, hash, key, signing, own, server) in [
            (
                Dialect::Smb300,
                &start,
                "7CD451825D0450D235424E44BA6E78CC",
                "0B7E9C5CAC36C0F6EA9AB275298CEDCE",
                "FAD27796665B313EBB578F388632B4F7",
                "B0F0427F7CEB416D1D9DCC0CD4F99447",
            ),
            (
                Dialect::Smb311,
                &hash,
                "270E1BA896585EEB7AF3472D3B4C75A7",
                "73FE7A9A77BEF0BDE49C650D8CCB5F76",
                "629BCBC54422A0F572B97F45989B6073",
                "E2AF0DCEFAC68DA71A0DFBD0D1350D74",
            ),
        ] {
            let keys = DerivedKeys { signing: hex(signing), own: hex(own), server: hex(server) };
            assert_eq!(DerivedKeys::new(&hex(key), dialect, hash), Some(keys));
        }
        assert_eq!(DerivedKeys::new(&[1; 16], Dialect::Smb210, &start), None);
    }
}
