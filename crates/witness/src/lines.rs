//! Reads lines of a bounded length.

use std::io::{self, BufRead};

/// The result of reading a line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// A line without its line break.
    Whole(Vec<u8>),
    /// A line that exceeds the limit; it was skipped.
    TooLong,
    /// The end of the input.
    End,
}

/// Reads the next line of at most `most` bytes; the last line needs no line break.
///
/// # Errors
/// Any error of `input`.
pub(crate) fn next(input: &mut impl BufRead, most: usize) -> io::Result<Line> {
    let mut line = Vec::new();
    let mut length = 0usize;
    loop {
        let bytes = match input.fill_buf() {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if bytes.is_empty() {
            return Ok(if length == 0 { Line::End } else { finished(line, length, most) });
        }
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let part = &bytes[..end.unwrap_or(bytes.len())];
        length = length.saturating_add(part.len());
        if length <= most {
            line.extend_from_slice(part);
        }
        let read = part.len() + usize::from(end.is_some());
        input.consume(read);
        if end.is_some() {
            return Ok(finished(line, length, most));
        }
    }
}

fn finished(line: Vec<u8>, length: usize, most: usize) -> Line {
    if length <= most { Line::Whole(line) } else { Line::TooLong }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_at_their_bound() {
        let mut input = io::BufReader::with_capacity(3, &b"abcd\nabcde\n\nab"[..]);
        let mut read = || next(&mut input, 4).unwrap();
        assert_eq!(read(), Line::Whole(b"abcd".to_vec()));
        assert_eq!(read(), Line::TooLong);
        assert_eq!(read(), Line::Whole(Vec::new()));
        assert_eq!(read(), Line::Whole(b"ab".to_vec()));
        assert_eq!(read(), Line::End);
    }
}
