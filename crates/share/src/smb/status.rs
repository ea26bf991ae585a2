//! Translates the statuses of an SMB server (MS-ERREF 2.3) to sentences and error numbers.

pub(crate) const SUCCESS: u32 = 0;
pub(crate) const MORE_PROCESSING: u32 = 0xC000_0016;
pub(crate) const END_OF_FILE: u32 = 0xC000_0011;
pub(crate) const COLLISION: u32 = 0xC000_0035;

/// A sentence for a status during sign-in or file creation: what is wrong and what to do.
pub(crate) fn sentence(status: u32, user: &str, share: &str) -> String {
    let who = if user.is_empty() { "a guest".to_string() } else { format!("the user {user}") };
    match status {
        0xC000_006D | 0xC000_0064 | 0xC000_006A => {
            format!("the server does not let {who} in; look at the name and the password")
        }
        0xC000_0071 | 0xC000_0224 => format!("the password of {who} has expired; change it"),
        0xC000_0072 => format!("{who} is disabled on the server; use another one"),
        0xC000_0234 => format!("{who} is locked on the server; wait, or use another one"),
        0xC000_0022 | 0xC000_00CA => {
            format!("{who} has no rights for this on {share}; look at the rights of share and folder")
        }
        0xC000_00CC => format!("the server has no share {share}; look at its name"),
        0xC000_0034 | 0xC000_003A | 0xC000_0103 => {
            "there is no such folder in the share; name an existing one".to_string()
        }
        0xC000_007F => "the share is full; free some space there".to_string(),
        0xC000_0044 => format!("the quota of {who} is used up; free some space there"),
        0xC000_00A2 => "the share is read-only; name another one".to_string(),
        other => format!("the server refused ({other:#010x})"),
    }
}

/// Converts a status to an error number of <errno.h>.
pub(crate) fn errno(status: u32) -> i32 {
    match status {
        0xC000_0022 | 0xC000_00CA => 13,
        0xC000_007F => 28,
        0xC000_0044 => 122,
        0xC000_00A2 => 30,
        0xC000_0008 | 0xC000_0128 => 9,
        0xC000_000D => 22,
        0xC000_0054 | 0xC000_0055 => 11,
        0xC000_009A | 0xC000_0205 | 0xC000_0017 => 12,
        0xC000_00C9 | 0xC000_0203 | 0xC000_020C => 107,
        0xC000_0185 => 5,
        0xC000_0904 => 27,
        _ => 121,
    }
}
