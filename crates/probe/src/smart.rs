//! Takes apart what an ATA disk keeps of its own health (SMART).
//!
//! The table of attributes is not part of the standard; all makers keep it in this form (ATA/ATAPI-3, annex).

/// Where the table begins, bytes of an entry, and entries.
const TABLE: usize = 2;
const ENTRY_BYTES: usize = 12;
const ENTRIES: usize = 30;
/// Bytes of all, whose sum is 0.
const DATA_BYTES: usize = 512;

/// Attributes that count what a disk lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SmartCounts {
    /// Sectors that were replaced by spare ones.
    pub reallocated: Option<u64>,
    /// Sectors that could not be read and wait to be written or replaced.
    pub pending: Option<u64>,
    /// Sectors that could not be put right when the disk itself looked.
    pub uncorrectable: Option<u64>,
    /// Transfers that arrived damaged at the disk.
    pub link_errors: Option<u64>,
}

impl SmartCounts {
    /// Parses the SMART data; `None` if they are not whole, or have none of these attributes.
    pub fn of(data: &[u8]) -> Option<Self> {
        let sum = data.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
        if data.len() != DATA_BYTES || sum != 0 {
            return None;
        }
        let table: Vec<&[u8]> = data[TABLE..].chunks_exact(ENTRY_BYTES).take(ENTRIES).collect();
        let raw = |number: u8, bytes: usize| {
            let entry = table.iter().find(|entry| entry[0] == number)?;
            // Some makers keep other figures in the upper bytes of the six.
            Some(entry[5..5 + bytes].iter().rev().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte)))
        };
        let found =
            Self { reallocated: raw(5, 2), pending: raw(197, 4), uncorrectable: raw(198, 4), link_errors: raw(199, 4) };
        (found != Self::default()).then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(attributes: &[(u8, u64)]) -> Vec<u8> {
        let mut data = vec![0_u8; 512];
        for (at, (number, raw)) in attributes.iter().enumerate() {
            let entry = &mut data[2 + 12 * at..][..12];
            entry[0] = *number;
            entry[5..11].copy_from_slice(&raw.to_le_bytes()[..6]);
        }
        let sum = data.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
        data[511] = sum.wrapping_neg();
        data
    }

    #[test]
    fn attributes_are_found_by_their_number() {
        let seen = data(&[(9, 12_345), (5, 0x7_0003), (197, 2), (199, 70_000)]);
        let expected =
            SmartCounts { reallocated: Some(3), pending: Some(2), uncorrectable: None, link_errors: Some(70_000) };
        assert_eq!(SmartCounts::of(&seen), Some(expected));
        assert_eq!(SmartCounts::of(&data(&[(9, 1)])), None, "none of these");
    }

    #[test]
    fn what_is_not_whole_tells_nothing() {
        let mut seen = data(&[(5, 1)]);
        assert_eq!(SmartCounts::of(&seen[..511]), None);
        seen[7] ^= 1;
        assert_eq!(SmartCounts::of(&seen), None);
        assert_eq!((SmartCounts::of(&[]), SmartCounts::of(&[0; 512])), (None, None));
    }
}
