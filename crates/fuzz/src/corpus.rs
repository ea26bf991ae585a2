//! Writes inputs as lines of text, and reads them back.

/// An input as one line; backslashes and bytes other than printable ASCII are escaped as in Rust.
pub fn escaped(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string()
}

/// The bytes of a line of [`escaped`].
///
/// # Panics
/// If the line is not such a line.
pub fn unescaped(line: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(line.len());
    let mut rest = line.bytes();
    let digit = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16)).expect("two digits after \\x");
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'\\' => match rest.next().expect("something after a backslash") {
                b'x' => (digit(rest.next()) << 4 | digit(rest.next())) as u8,
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                other => other,
            },
            other => other,
        });
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_comes_back() {
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(unescaped(&escaped(&all)), all);
        assert!(!escaped(&all).contains('\n'));
    }
}
