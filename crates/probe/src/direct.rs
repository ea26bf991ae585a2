//! Detects file systems that serve direct I/O from memory anyway.

use crate::Root;

/// The first release of ZFS in which direct requests bypass its cache; earlier releases accepted O_DIRECT and ignored
/// it.
const ZFS_DIRECT: (u32, u32) = (2, 3);

/// Why direct I/O is not direct on a file system of this kind, in a sentence without its full stop; `None` if it is.
pub fn not_direct(root: &Root, kind: &str) -> Option<String> {
    if kind != "zfs" {
        return None;
    }
    let version = root.text("sys/module/zfs/version");
    let is_direct = version.as_deref().and_then(release).is_some_and(|release| release >= ZFS_DIRECT);
    (!is_direct).then(|| {
        let which = version.map_or("of unknown release".to_string(), |version| version.trim().to_string());
        format!(
            "ZFS {which} serves direct requests from its cache (from 2.3 on it does not): they are not called direct"
        )
    })
}

/// The first two numbers of a release such as `2.2.4-1`.
fn release(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.trim().split(|letter: char| !letter.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}
