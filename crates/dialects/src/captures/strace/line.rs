//! Takes a line of strace apart: whose call it is, when it began, its arguments and its result.

use crate::captures::clock::{seconds_ns, time_of_day_ns};

/// Longest name of a descriptor between `<` and `>`; beyond it, the sign means something else.
const LONGEST_NAME: usize = 8192;

/// A line that begins with a time.
pub(crate) struct Line<'a> {
    /// The thread, if the line names it.
    pub who: Option<u64>,
    /// When the call began, in nanoseconds of Unix time or after midnight.
    pub at_ns: u64,
    /// Whether the time is one of the day (`-tt`).
    pub is_of_day: bool,
    /// What follows.
    pub rest: &'a str,
}

/// A call that has ended.
pub(crate) struct Call<'a> {
    pub name: &'a str,
    pub arguments: Vec<&'a str>,
    /// What it returned; `None` if it failed, or never returned.
    pub result: Option<u64>,
    /// What the descriptor that it returned leads to (`-y`).
    pub result_path: Option<&'a str>,
    /// How long it took (`-T`).
    pub took_ns: Option<u64>,
}

/// A line with a time, taken apart; `None` for any other line.
pub(crate) fn stamped(text: &str) -> Option<Line<'_>> {
    let (who, text) = whose(text);
    let (stamp, rest) = text.split_once(' ')?;
    let of_day = time_of_day_ns(stamp);
    let at_ns = of_day.or_else(|| seconds_ns(stamp))?;
    Some(Line { who, at_ns, is_of_day: of_day.is_some(), rest: rest.trim() })
}

/// The thread at the beginning of a line, `1234 ` or `[pid 1234] `, and the line without it.
pub(crate) fn whose(text: &str) -> (Option<u64>, &str) {
    let text = text.trim_start();
    if let Some((who, rest)) = text.strip_prefix("[pid").and_then(|rest| rest.split_once(']')) {
        return (who.trim().parse().ok(), rest.trim_start());
    }
    match text.split_once(' ') {
        Some((who, rest)) if who.bytes().all(|byte| byte.is_ascii_digit()) => (who.parse().ok(), rest.trim_start()),
        _ => (None, text),
    }
}

/// The name before the arguments; `None` if the text is no call.
pub(crate) fn name_of(text: &str) -> Option<&str> {
    let name = &text[..text.find('(')?];
    let is_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    (!name.is_empty() && name.bytes().all(is_name)).then_some(name)
}

/// A call, taken apart; `None` if it is not whole.
pub(crate) fn call(text: &str) -> Option<Call<'_>> {
    let name = name_of(text)?;
    let (arguments, after) = arguments(&text[name.len() + 1..])?;
    let answer = after.trim_start().strip_prefix('=')?.trim();
    let digits = answer.find(|c: char| !c.is_ascii_digit()).unwrap_or(answer.len());
    Some(Call {
        name,
        arguments,
        result: answer[..digits].parse().ok(),
        result_path: path_of(&answer[digits..]),
        took_ns: took_ns(answer),
    })
}

/// The time at the end of a line, `<0.000123>`.
pub(crate) fn took_ns(text: &str) -> Option<u64> {
    let text = text.trim_end().strip_suffix('>')?;
    seconds_ns(&text[text.rfind('<')? + 1..])
}

/// A descriptor, `3` or `3</path>`, and what it leads to.
pub(crate) fn descriptor(argument: &str) -> Option<(u32, Option<&str>)> {
    let digits = argument.find(|c: char| !c.is_ascii_digit()).unwrap_or(argument.len());
    Some((argument[..digits].parse().ok()?, path_of(&argument[digits..])))
}

/// A number in decimal; `None` for a negative or any other one.
pub(crate) fn number(argument: &str) -> Option<u64> {
    argument.trim_matches(['[', ']']).parse().ok()
}

/// `</path>` or `<socket:[1]>` at the beginning of a text.
fn path_of(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('<')?;
    let end = if inner.starts_with('/') { inner.find('>')? } else { inner.rfind('>')? };
    let path = &inner[..end];
    Some(path.strip_suffix(" (deleted)").unwrap_or(path))
}

/// The arguments up to the parenthesis that ends them, and what follows it.
fn arguments(text: &str) -> Option<(Vec<&str>, &str)> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut from = 0;
    let mut at = 0;
    let mut depth = 0_u32;
    while let Some(byte) = bytes.get(at).copied() {
        match byte {
            b'"' => at = end_of_string(bytes, at)?,
            b'<' => at = end_of_name(bytes, at).unwrap_or(at),
            b'(' | b'[' | b'{' => depth += 1,
            b')' if depth == 0 => {
                let last = text[from..at].trim();
                if !last.is_empty() {
                    found.push(last);
                }
                return Some((found, &text[at + 1..]));
            }
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                found.push(text[from..at].trim());
                from = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// The quotation mark that ends the string which begins at `from`.
fn end_of_string(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from + 1;
    loop {
        match bytes.get(at)? {
            b'\\' => at += 2,
            b'"' => return Some(at),
            _ => at += 1,
        }
    }
}

/// The sign that ends the name of a descriptor, if one begins at `from`.
fn end_of_name(bytes: &[u8], from: usize) -> Option<usize> {
    let before = &bytes[..from];
    let is_named = before.last().is_some_and(u8::is_ascii_digit) || before.ends_with(b"AT_FDCWD");
    let first = *bytes.get(from + 1)?;
    if !is_named || first == b'<' {
        return None;
    }
    // A path has its own signs escaped; an address of the network has arrows.
    let ends = |at: &usize| bytes[*at] == b'>' && (first == b'/' || bytes[at - 1] != b'-');
    (from + 1..bytes.len().min(from + LONGEST_NAME)).find(ends)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_a_thread_a_time_and_a_call() {
        for (text, who, is_of_day) in [
            ("8501  1795704617.086297 close(3) = 0 <0.000012>", Some(8501), false),
            ("[pid  8501] 1795704617.086297 close(3) = 0 <0.000012>", Some(8501), false),
            ("1795704617.086297 close(3) = 0 <0.000012>", None, false),
            ("8501 08:30:17.086297 close(3)     = 0 <0.000012>", Some(8501), true),
        ] {
            let line = stamped(text).unwrap();
            assert_eq!((line.who, line.is_of_day), (who, is_of_day), "{text}");
            let call = call(line.rest).unwrap();
            assert_eq!((call.name, call.result, call.took_ns), ("close", Some(0), Some(12_000)), "{text}");
        }
        for text in ["strace: Process 8502 attached", "8501 close(3) = 0", "", "8501 17.5"] {
            assert!(stamped(text).is_none(), "{text}");
        }
    }

    #[test]
    fn arguments_may_hold_strings_structures_and_names() {
        let text = r#"pwritev(7</srv/a, b (c)>, [{iov_base="\"),\\"..., iov_len=4096}, {iov_base="", iov_len=0}], 2, 8192) = 4096 <0.000300>"#;
        let call = call(text).unwrap();
        assert_eq!((call.name, call.arguments.len()), ("pwritev", 4));
        assert_eq!(descriptor(call.arguments[0]), Some((7, Some("/srv/a, b (c)"))));
        assert_eq!((number(call.arguments[3]), call.result, call.took_ns), (Some(8192), Some(4096), Some(300_000)));
        let text = r#"openat(AT_FDCWD</tmp>, "x", O_RDWR|O_CREAT|O_DIRECT, 0644) = 3</tmp/x (deleted)> <0.000021>"#;
        let call = super::call(text).unwrap();
        assert_eq!((call.result, call.result_path), (Some(3), Some("/tmp/x")));
        let call = super::call("read(5<TCP:[1.2.3.4:5->1.2.3.4:6]>, \"\", 1<<3) = 0").unwrap();
        assert_eq!(descriptor(call.arguments[0]), Some((5, Some("TCP:[1.2.3.4:5->1.2.3.4:6]"))));
        assert_eq!((call.arguments.len(), call.took_ns), (3, None));
    }

    #[test]
    fn failed_calls_have_no_result_and_cut_ones_are_none() {
        let failed = call("read(3, 0x7f, 4096) = -1 EAGAIN (Resource temporarily unavailable) <0.000010>").unwrap();
        assert_eq!((failed.result, failed.took_ns), (None, Some(10_000)));
        assert_eq!(call("exit_group(0) = ?").unwrap().result, None);
        assert!(call("getpid() = 7").unwrap().arguments.is_empty());
        for text in
            ["read(3, \"abc", "read(3, \"abc\\", "read(3", "+++ exited with 0 +++", "--- SIGCHLD {si=1} ---", "(3) = 0"]
        {
            assert!(call(text).is_none(), "{text}");
        }
        assert_eq!(number("-1"), None);
    }
}
