//! Writes and reads numbers in messages, in either byte order; reading past the end gives `None`.

/// Bytes of a message under construction.
#[derive(Debug, Default)]
pub(crate) struct Writer(pub Vec<u8>);

/// Bytes of a message, read from the front.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reader<'a>(pub &'a [u8]);

impl Writer {
    pub fn le16(&mut self, value: u16) {
        self.0.extend(value.to_le_bytes());
    }

    pub fn le32(&mut self, value: u32) {
        self.0.extend(value.to_le_bytes());
    }

    pub fn le64(&mut self, value: u64) {
        self.0.extend(value.to_le_bytes());
    }

    pub fn be32(&mut self, value: u32) {
        self.0.extend(value.to_be_bytes());
    }

    pub fn all(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// Variable-length opaque data of XDR: the length, the bytes, and zeros up to a multiple of four.
    pub fn opaque(&mut self, bytes: &[u8]) {
        self.be32(bytes.len() as u32);
        self.all(bytes);
        self.0.resize(self.0.len().next_multiple_of(4), 0);
    }

    /// Text in UTF-16, little endian, as SMB has it.
    pub fn utf16(&mut self, text: &str) {
        text.encode_utf16().for_each(|unit| self.le16(unit));
    }
}

impl<'a> Reader<'a> {
    pub fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (front, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(front)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    pub fn le16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub fn le32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub fn le64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub fn be32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    pub fn be64(&mut self) -> Option<u64> {
        self.array().map(u64::from_be_bytes)
    }

    /// Variable-length opaque data of XDR; `None` if they are longer than `most` bytes.
    pub fn opaque(&mut self, most: usize) -> Option<&'a [u8]> {
        let count = self.be32()? as usize;
        let bytes = if count <= most { self.take(count)? } else { return None };
        self.take(count.next_multiple_of(4) - count)?;
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opaque_bytes_end_at_a_multiple_of_four() {
        let mut writer = Writer::default();
        writer.opaque(b"abcde");
        writer.be32(7);
        assert_eq!(writer.0.len(), 16);
        let mut reader = Reader(&writer.0);
        assert_eq!((reader.opaque(5), reader.be32(), reader.be32()), (Some(&b"abcde"[..]), Some(7), None));
        assert_eq!(Reader(&writer.0).opaque(4), None, "more than it may be");
        assert_eq!(Reader(&[0xff, 0xff, 0xff, 0xff, 1]).opaque(usize::MAX), None, "more than there is");
    }
}
