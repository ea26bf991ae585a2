//! Names the statuses of an SMB server (MS-ERREF 2.3.1), and translates them to sentences and error numbers.

use rustix::io::Errno;

pub(crate) const SUCCESS: u32 = 0;
pub(crate) const PENDING: u32 = 0x103;
pub(crate) const END_OF_FILE: u32 = 0xC000_0011;
pub(crate) const MORE_PROCESSING_REQUIRED: u32 = 0xC000_0016;
pub(crate) const OBJECT_NAME_COLLISION: u32 = 0xC000_0035;
const INVALID_HANDLE: u32 = 0xC000_0008;
const INVALID_PARAMETER: u32 = 0xC000_000D;
const NO_MEMORY: u32 = 0xC000_0017;
const ACCESS_DENIED: u32 = 0xC000_0022;
const OBJECT_NAME_NOT_FOUND: u32 = 0xC000_0034;
const OBJECT_PATH_NOT_FOUND: u32 = 0xC000_003A;
const QUOTA_EXCEEDED: u32 = 0xC000_0044;
const FILE_LOCK_CONFLICT: u32 = 0xC000_0054;
const LOCK_NOT_GRANTED: u32 = 0xC000_0055;
const NO_SUCH_USER: u32 = 0xC000_0064;
const WRONG_PASSWORD: u32 = 0xC000_006A;
const LOGON_FAILURE: u32 = 0xC000_006D;
const PASSWORD_EXPIRED: u32 = 0xC000_0071;
const ACCOUNT_DISABLED: u32 = 0xC000_0072;
const DISK_FULL: u32 = 0xC000_007F;
const INSUFFICIENT_RESOURCES: u32 = 0xC000_009A;
const MEDIA_WRITE_PROTECTED: u32 = 0xC000_00A2;
const NETWORK_NAME_DELETED: u32 = 0xC000_00C9;
const NETWORK_ACCESS_DENIED: u32 = 0xC000_00CA;
const BAD_NETWORK_NAME: u32 = 0xC000_00CC;
const NOT_A_DIRECTORY: u32 = 0xC000_0103;
const FILE_CLOSED: u32 = 0xC000_0128;
const IO_DEVICE_ERROR: u32 = 0xC000_0185;
const USER_SESSION_DELETED: u32 = 0xC000_0203;
const INSUFF_SERVER_RESOURCES: u32 = 0xC000_0205;
const CONNECTION_DISCONNECTED: u32 = 0xC000_020C;
const PASSWORD_MUST_CHANGE: u32 = 0xC000_0224;
const ACCOUNT_LOCKED_OUT: u32 = 0xC000_0234;
const FILE_TOO_LARGE: u32 = 0xC000_0904;

/// A sentence for a status during sign-in or file creation: what is wrong and what to do.
pub(crate) fn sentence(status: u32, user: &str, share: &str) -> String {
    let who = if user.is_empty() { "a guest".to_string() } else { format!("the user {user}") };
    match status {
        LOGON_FAILURE | NO_SUCH_USER | WRONG_PASSWORD => {
            format!("the server does not let {who} in; look at the name and the password")
        }
        PASSWORD_EXPIRED | PASSWORD_MUST_CHANGE => format!("the password of {who} has expired; change it"),
        ACCOUNT_DISABLED => format!("{who} is disabled on the server; use another one"),
        ACCOUNT_LOCKED_OUT => format!("{who} is locked on the server; wait, or use another one"),
        ACCESS_DENIED | NETWORK_ACCESS_DENIED => {
            format!("{who} has no rights for this on {share}; look at the rights of share and folder")
        }
        BAD_NETWORK_NAME => format!("the server has no share {share}; look at its name"),
        OBJECT_NAME_NOT_FOUND | OBJECT_PATH_NOT_FOUND | NOT_A_DIRECTORY => {
            "there is no such folder in the share; name an existing one".to_string()
        }
        DISK_FULL => "the share is full; free some space there".to_string(),
        QUOTA_EXCEEDED => format!("the quota of {who} is used up; free some space there"),
        MEDIA_WRITE_PROTECTED => "the share is read-only; name another one".to_string(),
        other => format!("the server refused ({other:#010x})"),
    }
}

/// Converts a status to an error number of <errno.h>.
pub(crate) fn errno(status: u32) -> i32 {
    let errno = match status {
        ACCESS_DENIED | NETWORK_ACCESS_DENIED => Errno::ACCESS,
        DISK_FULL => Errno::NOSPC,
        QUOTA_EXCEEDED => Errno::DQUOT,
        MEDIA_WRITE_PROTECTED => Errno::ROFS,
        INVALID_HANDLE | FILE_CLOSED => Errno::BADF,
        INVALID_PARAMETER => Errno::INVAL,
        FILE_LOCK_CONFLICT | LOCK_NOT_GRANTED => Errno::AGAIN,
        INSUFFICIENT_RESOURCES | INSUFF_SERVER_RESOURCES | NO_MEMORY => Errno::NOMEM,
        NETWORK_NAME_DELETED | USER_SESSION_DELETED | CONNECTION_DISCONNECTED => Errno::NOTCONN,
        IO_DEVICE_ERROR => Errno::IO,
        FILE_TOO_LARGE => Errno::FBIG,
        _ => Errno::REMOTEIO,
    };
    errno.raw_os_error()
}
