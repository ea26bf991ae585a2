//! Decodes the chunked transfer coding of HTTP.

/// Length limit of a chunk's first line, and of a trailer field after the last chunk.
const MOST_LINE: usize = 4096;

/// The state of decoding.
#[derive(Debug, Default)]
pub(crate) struct Chunks {
    state: State,
    /// Bytes read of the current line.
    line: usize,
    length: usize,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    /// In the digits of a chunk's length.
    #[default]
    Length,
    /// After the digits, up to the end of the line.
    Extension,
    /// In the data of a chunk.
    Within,
    /// After a chunk's data, up to the end of the line.
    Behind,
    /// In the trailer fields after the last chunk.
    Fields,
}

impl Chunks {
    /// Decodes as much of `there` as it can, and passes the data to `part`. Returns the number of bytes consumed, and
    /// whether the last chunk and the trailer have ended.
    ///
    /// # Errors
    /// If the coding is invalid, in a few words.
    pub fn take(&mut self, there: &[u8], part: &mut dyn FnMut(&[u8])) -> Result<(usize, bool), String> {
        let mut at = 0;
        while at < there.len() {
            if self.state == State::Within {
                let count = self.length.min(there.len() - at);
                part(&there[at..at + count]);
                at += count;
                self.length -= count;
                if self.length == 0 {
                    (self.state, self.line) = (State::Behind, 0);
                }
                continue;
            }
            let byte = there[at];
            at += 1;
            if byte == b'\n' {
                if self.ends_line()? {
                    return Ok((at, true));
                }
            } else if byte != b'\r' {
                self.of_line(byte)?;
            }
        }
        Ok((at, false))
    }

    fn of_line(&mut self, byte: u8) -> Result<(), String> {
        self.line += 1;
        let digit = (byte as char).to_digit(16);
        match (self.state, digit) {
            (State::Length, Some(digit)) if self.length >> (usize::BITS - 8) == 0 => {
                self.length = self.length * 16 + digit as usize;
            }
            (State::Length, None) if self.line > 1 => self.state = State::Extension,
            (State::Extension | State::Fields, _) if self.line <= MOST_LINE => {}
            _ => return Err("no length of a chunk".to_string()),
        }
        Ok(())
    }

    /// Handles the end of a line; returns whether the whole body has ended.
    fn ends_line(&mut self) -> Result<bool, String> {
        let bytes = std::mem::take(&mut self.line);
        self.state = match self.state {
            State::Length if bytes == 0 => return Err("a chunk without a length".to_string()),
            State::Length | State::Extension if self.length == 0 => State::Fields,
            State::Length | State::Extension => State::Within,
            State::Fields if bytes == 0 => return Ok(true),
            State::Fields => State::Fields,
            State::Behind | State::Within => State::Length,
        };
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_taken_apart_wherever_they_are_cut() {
        let whole = b"4\r\nWiki\r\n10;name=value\r\n0123456789abcdef\r\n0\r\nField: x\r\n\r\nnext";
        for cut in 0..whole.len() - 4 {
            let mut chunks = Chunks::default();
            let mut text = Vec::new();
            let mut took = 0;
            let mut is_over = false;
            for part in [&whole[..cut], &whole[cut..]] {
                let (count, over) = chunks.take(part, &mut |bytes| text.extend_from_slice(bytes)).unwrap();
                (took, is_over) = (took + count, over);
            }
            assert_eq!((took, is_over, &text[..]), (whole.len() - 4, true, &b"Wiki0123456789abcdef"[..]), "{cut}");
        }
    }

    #[test]
    fn what_is_no_chunk_is_refused() {
        for wrong in ["\r\n", "x\r\n", "fffffffffffffffff\r\n", "1\r\nabc"] {
            assert!(Chunks::default().take(wrong.as_bytes(), &mut |_| {}).is_err(), "{wrong}");
        }
    }
}
