//! Implements SMB 2 and 3 (MS-SMB2), and lists their supported dialects (MS-SMB2 2.2.3).

mod encryption;
mod file;
mod head;
mod key_derivation;
mod negotiation;
mod ntlm;
mod rehearsal;
mod requests;
mod seal;
mod session;
mod signature;

pub(crate) use file::{SmbFile, SmbShare};
pub(crate) use rehearsal::rehearse;
pub(crate) use seal::SealKind;

use rustix::rand::{GetRandomFlags, getrandom};

/// A dialect; later ones compare greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u16)]
pub(crate) enum Dialect {
    Smb202 = 0x0202,
    Smb210 = 0x0210,
    Smb300 = 0x0300,
    Smb302 = 0x0302,
    Smb311 = 0x0311,
}

impl Dialect {
    pub const ALL: [Self; 5] = [Self::Smb202, Self::Smb210, Self::Smb300, Self::Smb302, Self::Smb311];

    /// The dialect with this number in messages.
    pub fn of(number: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.number() == number)
    }

    /// Its number in messages.
    pub fn number(self) -> u16 {
        self as u16
    }

    /// Its version, as people write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Smb202 => "2.0.2",
            Self::Smb210 => "2.1",
            Self::Smb300 => "3.0",
            Self::Smb302 => "3.0.2",
            Self::Smb311 => "3.1.1",
        }
    }
}

/// `N` random bytes from the system, at most 256.
///
/// # Panics
/// If the system has no random numbers; the standard library's hash maps panic then too.
pub(crate) fn random<const N: usize>() -> [u8; N] {
    const { assert!(N <= 256, "no more come at once for certain") };
    let mut drawn = [0; N];
    let filled = getrandom(&mut drawn, GetRandomFlags::empty());
    assert_eq!(filled, Ok(N), "the system gives random numbers");
    drawn
}
