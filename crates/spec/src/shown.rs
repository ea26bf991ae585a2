//! Escapes what a terminal must not get: control characters, and characters that turn or hide text.

use std::borrow::Cow;
use std::io::{self, Write};

/// Whether a character may drive a terminal, or may make one text look like another: controls (C0, DEL, C1), marks and
/// overrides of the direction of writing, characters without width, and separators of lines that only some programs show.
pub fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}' | '\u{2066}'..='\u{2069}' | '\u{feff}'
        )
}

/// The text with unseen characters as JSON writes them (`\u001b`, `\n`), so that a name cannot drive a terminal, turn
/// what stands beside it, or begin a line.
pub fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unseen) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            c if is_unseen(c) => shown.push_str(&code(c)),
            c => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

/// A character as JSON writes it. All unseen characters have four digits.
fn code(c: char) -> String {
    format!("\\u{:04x}", u32::from(c))
}

/// A stream on which everything that is written is escaped, but for line breaks and tabs. The escapes are those of JSON,
/// and JSON has such characters in its strings alone, so JSON stays what it was.
#[derive(Debug)]
pub struct Shown<W> {
    to: W,
    /// Sequences of our own that pass as they are.
    styles: &'static [&'static str],
    /// The beginning of a character whose other bytes have not come yet.
    begun: Vec<u8>,
}

impl<W: Write> Shown<W> {
    /// Escapes what goes to `to`.
    pub fn new(to: W) -> Self {
        Self { to, styles: &[], begun: Vec::new() }
    }

    /// Lets these sequences pass. Whoever writes them escapes what is foreign in the same lines.
    pub fn with_styles(self, styles: &'static [&'static str]) -> Self {
        Self { styles, ..self }
    }

    fn text(&mut self, mut text: &str) -> io::Result<()> {
        let is_seen = |c: char| !is_unseen(c) || c == '\n' || c == '\t';
        while let Some(at) = text.find(|c| !is_seen(c)) {
            self.to.write_all(&text.as_bytes()[..at])?;
            text = &text[at..];
            text = match self.styles.iter().find(|style| text.starts_with(**style)) {
                Some(style) => {
                    self.to.write_all(style.as_bytes())?;
                    &text[style.len()..]
                }
                None => {
                    let c = text.chars().next().expect("one was found");
                    self.to.write_all(code(c).as_bytes())?;
                    &text[c.len_utf8()..]
                }
            };
        }
        self.to.write_all(text.as_bytes())
    }

    /// Writes all but the beginning of a last character that is not whole, which it returns.
    fn whole<'a>(&mut self, mut bytes: &'a [u8]) -> io::Result<&'a [u8]> {
        loop {
            match std::str::from_utf8(bytes) {
                Ok(text) => return self.text(text).map(|()| &[][..]),
                Err(error) => {
                    let (text, rest) = bytes.split_at(error.valid_up_to());
                    self.text(std::str::from_utf8(text).expect("it was found valid"))?;
                    let Some(wrong) = error.error_len() else { return Ok(rest) };
                    self.no_text(&rest[..wrong])?;
                    bytes = &rest[wrong..];
                }
            }
        }
    }

    /// Writes bytes that are no text.
    fn no_text(&mut self, bytes: &[u8]) -> io::Result<()> {
        bytes.iter().try_for_each(|byte| write!(self.to, "\\x{byte:02x}"))
    }
}

impl<W: Write> Write for Shown<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut all = std::mem::take(&mut self.begun);
        let begun = if all.is_empty() {
            self.whole(bytes)?.to_vec()
        } else {
            all.extend_from_slice(bytes);
            self.whole(&all)?.to_vec()
        };
        self.begun = begun;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let begun = std::mem::take(&mut self.begun);
        self.no_text(&begun)?;
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(pieces: &[&[u8]], styles: &'static [&'static str]) -> String {
        let mut out = Vec::new();
        let mut shown = Shown::new(&mut out).with_styles(styles);
        pieces.iter().for_each(|piece| shown.write_all(piece).unwrap());
        shown.flush().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_name_is_one_line_whatever_it_holds() {
        assert_eq!(escaped("/dev/sdé"), "/dev/sdé");
        assert_eq!(escaped("a\u{1b}[2J\nb\tc\r"), "a\\u001b[2J\\nb\\tc\\r");
        assert_eq!(escaped("\u{9b}\u{7f}\u{202e}x\u{2066}\u{200b}\u{feff}\u{61c}\u{200f}"), {
            "\\u009b\\u007f\\u202ex\\u2066\\u200b\\ufeff\\u061c\\u200f"
        });
    }

    #[test]
    fn a_stream_keeps_its_lines_and_loses_what_drives_a_terminal() {
        assert_eq!(written(&[b"one\ttwo\n", "\u{1b}[31mred\r\n".as_bytes()], &[]), "one\ttwo\n\\u001b[31mred\\u000d\n");
        assert_eq!(written(&["\u{1b}[1mA\u{1b}[0m\u{1b}[2J".as_bytes()], &["\u{1b}[1m", "\u{1b}[0m"]), {
            "\u{1b}[1mA\u{1b}[0m\\u001b[2J"
        });
    }

    #[test]
    fn a_character_may_come_in_parts_and_bytes_that_are_no_text_are_shown() {
        let bytes = "é\u{202e}ø".as_bytes();
        let apart: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(written(&apart, &[]), "é\\u202eø");
        assert_eq!(written(&[b"a\x9b2J\xff\xc3"], &[]), "a\\x9b2J\\xff\\xc3");
    }

    #[test]
    fn json_stays_what_it_was() {
        let json = "{\"a\":\"\u{202e}\u{7f}\\\\\u{9b}\"}";
        assert_eq!(written(&[json.as_bytes()], &[]), r#"{"a":"\u202e\u007f\\\u009b"}"#);
    }
}
