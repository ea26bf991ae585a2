//! Gives files that root makes under sudo to the user who called it, in that user's own folders.

use std::fs::File;
use std::os::fd::AsFd;

/// Gives a new file to the user who called sudo, if the folder that it is made for belongs to that user. Does nothing
/// for anybody but root. Errors leave the file root's.
pub(crate) fn give(file: &File, folder: impl AsFd) {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let Some((user, group)) = caller(|name| std::env::var(name).ok()) else { return };
    if rustix::fs::fstat(folder).is_ok_and(|folder| folder.st_uid == user) {
        let _ = std::os::unix::fs::fchown(file, Some(user), Some(group));
    }
}

/// User and group that sudo names in the environment; `None` if it names none, or root.
fn caller(variable: impl Fn(&str) -> Option<String>) -> Option<(u32, u32)> {
    let number = |name| variable(name)?.parse::<u32>().ok();
    let user = number("SUDO_UID").filter(|user| *user != 0)?;
    Some((user, number("SUDO_GID")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sudo_names_its_caller() {
        let of = |user: &'static str, group: &'static str| {
            caller(move |name| Some(if name == "SUDO_UID" { user } else { group }.to_string()))
        };
        assert_eq!(of("1000", "100"), Some((1000, 100)));
        for (user, group) in [("0", "0"), ("", "100"), ("-1", "100"), ("1000", "x")] {
            assert_eq!(of(user, group), None, "{user} {group}");
        }
        assert_eq!(caller(|_| None), None);
    }
}
