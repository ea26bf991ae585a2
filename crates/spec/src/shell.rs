//! Quotes words for a shell, for commands that people copy.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use crate::is_unseen;

/// The word as a shell takes it: one argument, whatever it holds. What a terminal would not show, and bytes that are no
/// text, are written as `$'\x1b'` (POSIX.1-2024), so that the command can be read and copied.
pub fn shell_word(word: impl AsRef<OsStr>) -> String {
    let bytes = word.as_ref().as_bytes();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c);
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.is_empty() && text.chars().all(plain) => text.to_string(),
        Ok(text) if !text.contains(is_unseen) => format!("'{}'", text.replace('\'', r"'\''")),
        _ => by_bytes(bytes),
    }
}

/// The word as a shell and a program take it: one argument, and never an option. A path that begins with `-` begins with
/// `./` then, which is the same path.
pub fn shell_operand(word: impl AsRef<OsStr>) -> String {
    let word = word.as_ref();
    if !word.as_bytes().starts_with(b"-") {
        return shell_word(word);
    }
    let mut whole = OsStr::new("./").to_os_string();
    whole.push(word);
    shell_word(whole)
}

fn by_bytes(bytes: &[u8]) -> String {
    let mut quoted = "$'".to_string();
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\'' | '\\' => quoted.extend(['\\', c]),
                c if is_unseen(c) => {
                    c.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| quoted += &format!("\\x{byte:02x}"));
                }
                c => quoted.push(c),
            }
        }
        chunk.invalid().iter().for_each(|byte| quoted += &format!("\\x{byte:02x}"));
    }
    quoted + "'"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_stays_one_word() {
        assert_eq!(shell_word("/data/a.b"), "/data/a.b");
        assert_eq!(shell_word("it's <b>"), r"'it'\''s <b>'");
        assert_eq!(shell_word(""), "''");
        assert_eq!(shell_word("$(rm -rf /)"), "'$(rm -rf /)'");
    }

    #[test]
    fn what_is_not_seen_is_written_so_that_it_can_be_copied() {
        assert_eq!(shell_word("a\u{1b}[2J'\n"), r"$'a\x1b[2J\'\x0a'");
        assert_eq!(shell_word("\u{202e}ab"), r"$'\xe2\x80\xaeab'");
        assert_eq!(shell_word(OsStr::from_bytes(b"a\xff")), r"$'a\xff'");
    }

    #[test]
    fn a_path_is_never_an_option() {
        assert_eq!(shell_operand("--far-end=/evil"), "./--far-end=/evil");
        assert_eq!(shell_operand("-x y"), "'./-x y'");
        assert_eq!(shell_operand("/-x"), "/-x");
        assert_eq!(shell_operand("-\n"), r"$'./-\x0a'");
    }
}
