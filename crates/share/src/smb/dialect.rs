//! Lists the supported SMB dialects (MS-SMB2 2.2.3).

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
