//! Takes apart log pages of SCSI disks: failures that they foresee, sectors that they could not read, and wear.

/// A log page that says something of a disk's health.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScsiLog {
    /// Read errors (SPC-5, 7.3.8): how many could not be put right.
    ReadErrors,
    /// Solid-state media (SBC-4, 6.4.6): the share of its rated life that is used, in percent.
    Wear,
    /// Informational exceptions (SPC-5, 7.3.11): the code of the failure that the disk foresees; 0 is none.
    Forecast,
}

impl ScsiLog {
    /// Number of the page.
    pub fn page(self) -> u8 {
        match self {
            Self::ReadErrors => 0x03,
            Self::Wear => 0x11,
            Self::Forecast => 0x2f,
        }
    }

    /// The figure of an answer; `None` if it has none, or is of another page.
    pub fn figure(self, answer: &[u8]) -> Option<u64> {
        match self {
            Self::ReadErrors => Some(number(self.parameter(answer, 6)?)),
            Self::Wear => self.parameter(answer, 1)?.get(3).map(|percent| u64::from(*percent)),
            Self::Forecast => Some(number(self.parameter(answer, 0)?.get(..2)?)),
        }
    }

    /// The value of the parameter with this code.
    fn parameter(self, answer: &[u8], code: u16) -> Option<&[u8]> {
        // The page, which two bits may be above, its length, and the parameters: code, control, length, value.
        let (head, mut rest) = answer.split_at_checked(4)?;
        if head[0] & 0x3f != self.page() {
            return None;
        }
        rest = rest.get(..usize::from(u16::from_be_bytes([head[2], head[3]]))).unwrap_or(rest);
        loop {
            let (head, behind) = rest.split_at_checked(4)?;
            let (value, others) = behind.split_at_checked(usize::from(head[3]))?;
            if u16::from_be_bytes([head[0], head[1]]) == code {
                return Some(value);
            }
            rest = others;
        }
    }
}

/// The bytes as a number; the last eight of more.
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_found_by_page_and_parameter() {
        let errors = [0x03, 0, 0, 18, 0, 2, 2, 4, 0, 0, 0, 9, 0, 6, 2, 6, 0, 0, 0, 0, 1, 2, 99];
        assert_eq!(ScsiLog::ReadErrors.figure(&errors), Some(258));
        assert_eq!(ScsiLog::Wear.figure(&errors), None, "another page");
        assert_eq!(ScsiLog::ReadErrors.figure(&errors[..20]), None, "cut");
        let wear = [0x51, 0, 0, 8, 0, 1, 3, 4, 0, 0, 0, 97];
        assert_eq!(ScsiLog::Wear.figure(&wear), Some(97));
        let forecast = [0x2f, 0, 0, 8, 0, 0, 3, 4, 0x5d, 0x10, 38, 0];
        assert_eq!(ScsiLog::Forecast.figure(&forecast), Some(0x5d10));
        for length in 0..12 {
            assert_eq!(ScsiLog::Forecast.figure(&forecast[..length]), None, "{length}");
        }
        assert_eq!(ScsiLog::Forecast.figure(&[0x2f; 512]), None);
    }
}
