//! Decodes a file's bytes to text, and detects which tool wrote it.

use halfpower_record::Tool;

use crate::found::FileError;

/// Decodes UTF-8, or UTF-16 with a byte order mark, as Windows' shell writes redirected output.
pub(super) fn decoded(bytes: &[u8]) -> Result<String, FileError> {
    let units = |pair: fn([u8; 2]) -> u16| bytes[2..].chunks_exact(2).map(|two| pair([two[0], two[1]])).collect();
    let wide: Option<Vec<u16>> = match bytes {
        [0xff, 0xfe, ..] => Some(units(u16::from_le_bytes)),
        [0xfe, 0xff, ..] => Some(units(u16::from_be_bytes)),
        _ => None,
    };
    if let Some(units) = wide {
        return String::from_utf16(&units)
            .map_err(|_| FileError::of_file("it is not text, though it begins as UTF-16"));
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.to_string()),
        Err(error) => {
            let line = 1 + bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count();
            Err(FileError::at(line, "here is something that is no text; name a file that SQLIO, fio or diskspd wrote"))
        }
    }
}

/// The tool that wrote the text: fio's JSON has a line that opens an object, diskspd's XML has a `Results` element.
pub(super) fn tool_of(text: &str) -> Tool {
    let opens = |line: &str| line.trim() == "{" || line.trim_start().starts_with("{\"") || line.trim() == "[";
    if text.contains("<Results>") || text.trim_start().starts_with('<') {
        Tool::Diskspd
    } else if text.lines().any(opens) {
        Tool::Fio
    } else {
        Tool::Sqlio
    }
}
