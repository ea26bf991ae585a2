//! Offers names that are there in the place of one that is not.

use std::collections::BTreeSet;

use crate::misread::edits;

/// Most names that are offered.
const OFFERED: usize = 4;

/// The names that are most like the one that was asked for, as the end of a sentence; without any, `otherwise`.
pub(super) fn offered(asked: &str, names: BTreeSet<String>, otherwise: &str) -> String {
    let far = |name: &String| if name.contains(asked) { 0 } else { edits(asked, name) };
    let mut near: Vec<(usize, String)> = names.into_iter().map(|name| (far(&name), name)).collect();
    near.retain(|(far, _)| *far <= (asked.chars().count() / 3).max(1));
    near.sort();
    near.truncate(OFFERED);
    let near: Vec<String> = near.into_iter().map(|(_, name)| name).collect();
    if near.is_empty() { otherwise.to_string() } else { format!("there are {}", near.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_names_are_offered() {
        let names = || ["postgres", "postgresql.service", "sshd", "rsync"].map(str::to_string).into();
        assert_eq!(offered("postgers", names(), "none"), "there are postgres");
        assert_eq!(offered("postgres", names(), "none"), "there are postgres, postgresql.service");
        assert_eq!(offered("mariadb", names(), "none"), "none");
    }
}
