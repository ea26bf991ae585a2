//! Takes apart what an NVMe drive tells of itself: its health, its limits, its power states and its formats.
//!
//! Bytes are those of the NVM Express base specification 2.0 and of its NVM command set 1.0; all are little-endian.
//! An answer that is too short gives `None`.

/// 0 degrees Celsius in kelvins, as drives count.
const FREEZING_K: i32 = 273;
/// Fields of the log page SMART / Health Information (figure 207).
const PERCENT_USED: usize = 5;
const POWER_ON_HOURS: usize = 128;
const MEDIA_ERRORS: usize = 160;
const WARM_MINUTES: usize = 192;
const HOT_MINUTES: usize = 196;
const THROTTLED: [usize; 2] = [216, 220];
/// Fields of Identify Controller (figure 275).
const POWER_STATES: usize = 263;
const WARM_LIMIT: usize = 266;
const HOT_LIMIT: usize = 268;
const DESCRIPTORS: usize = 2048;
const DESCRIPTOR_BYTES: usize = 32;
/// Fields of Identify Namespace (NVM command set, figure 97).
const FORMATS: usize = 25;
const FORMAT_IN_USE: usize = 26;
const FORMAT_TABLE: usize = 128;

/// The bytes from `at` on as a number.
fn number<const BYTES: usize>(page: &[u8], at: usize) -> Option<u64> {
    let bytes = page.get(at..at.checked_add(BYTES)?)?;
    Some(bytes.iter().rev().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte)))
}

/// The same, for the figures that fit.
fn small<const BYTES: usize>(page: &[u8], at: usize) -> Option<u32> {
    number::<BYTES>(page, at)?.try_into().ok()
}

/// A temperature in degrees Celsius; `None` if the drive tells none.
fn celsius(page: &[u8], at: usize) -> Option<i32> {
    let kelvins = small::<2>(page, at).filter(|kelvins| *kelvins > 0)?;
    Some(kelvins as i32 - FREEZING_K)
}

/// What a drive says of its health.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NvmeHealth {
    /// Critical warnings, a bit each.
    pub warnings: u8,
    /// Its temperature in degrees Celsius.
    pub celsius: Option<i32>,
    /// Spare blocks that are left, and the share below which it warns, in percent.
    pub spare_percent: u8,
    /// See `spare_percent`.
    pub spare_least_percent: u8,
    /// The share of its rated life that is used, in percent; it may be above 100.
    pub used_percent: u8,
    /// Hours that it was on.
    pub hours: u64,
    /// Times that it found data not to be intact.
    pub media_errors: u64,
    /// Minutes at its upper limit or above it, in all its life.
    pub warm_minutes: u32,
    /// Minutes at its critical limit or above it.
    pub hot_minutes: u32,
    /// Times that it slowed down because of heat.
    pub throttled: u64,
}

impl NvmeHealth {
    /// The meaning of each warning's bit, the lowest first.
    pub const WARNINGS: [&'static str; 6] = [
        "its spare blocks are below the limit",
        "its temperature is beyond a limit",
        "it is not reliable any more",
        "it takes no writes any more",
        "the backup of its volatile memory has failed",
        "its persistent memory takes no writes any more",
    ];

    /// Parses the log page.
    pub fn of(page: &[u8]) -> Option<Self> {
        Some(Self {
            warnings: *page.first()?,
            celsius: celsius(page, 1),
            spare_percent: *page.get(3)?,
            spare_least_percent: *page.get(4)?,
            used_percent: *page.get(PERCENT_USED)?,
            // The upper half of these of 16 bytes is beyond what a drive can count.
            hours: number::<8>(page, POWER_ON_HOURS)?,
            media_errors: number::<8>(page, MEDIA_ERRORS)?,
            warm_minutes: small::<4>(page, WARM_MINUTES)?,
            hot_minutes: small::<4>(page, HOT_MINUTES)?,
            throttled: THROTTLED.iter().filter_map(|at| number::<4>(page, *at)).sum(),
        })
    }
}

/// A power state of a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NvmePowerState {
    /// The most that it takes, in hundredths of a watt; 0 if it does not tell.
    pub centiwatts: u32,
    /// Whether the drive serves requests in it.
    pub is_operational: bool,
    /// Microseconds until it serves requests again; 0 if it does not tell.
    pub exit_us: u32,
}

/// What a controller says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NvmeController {
    /// Its upper and its critical limit in degrees Celsius.
    pub warm_celsius: Option<i32>,
    /// See `warm_celsius`.
    pub hot_celsius: Option<i32>,
    /// Its power states, the strongest first.
    pub power_states: Vec<NvmePowerState>,
}

impl NvmeController {
    /// Parses Identify Controller.
    pub fn of(page: &[u8]) -> Option<Self> {
        let count = usize::from(*page.get(POWER_STATES)?) + 1;
        let table = page.get(DESCRIPTORS..)?.chunks_exact(DESCRIPTOR_BYTES);
        let power_state = |bytes: &[u8]| {
            let most = small::<2>(bytes, 0)?;
            let flags = *bytes.get(3)?;
            Some(NvmePowerState {
                // Bit 0: in ten-thousandths of a watt.
                centiwatts: if flags & 1 == 1 { most / 100 } else { most },
                is_operational: flags >> 1 & 1 == 0,
                exit_us: small::<4>(bytes, 8)?,
            })
        };
        Some(Self {
            warm_celsius: celsius(page, WARM_LIMIT),
            hot_celsius: celsius(page, HOT_LIMIT),
            power_states: table.take(count.min(32)).filter_map(power_state).collect(),
        })
    }
}

/// A format of the blocks of a namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NvmeFormat {
    /// Its number.
    pub number: u32,
    /// Bytes of a block.
    pub block_bytes: u64,
    /// Bytes of metadata beside each block.
    pub metadata_bytes: u32,
    /// How fast it is beside the others: 0 is the best, 3 the worst.
    pub rank: u8,
}

/// The formats that a namespace can have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NvmeFormats {
    /// The one in use.
    pub now: NvmeFormat,
    /// All of them.
    pub all: Vec<NvmeFormat>,
}

impl NvmeFormats {
    /// Parses Identify Namespace.
    pub fn of(page: &[u8]) -> Option<Self> {
        let count = u32::from(*page.get(FORMATS)?) + 1;
        let word = *page.get(FORMAT_IN_USE)?;
        // From the 17th format on its number has two more bits.
        let upper = if count > 16 { word >> 5 & 3 } else { 0 };
        let in_use = u32::from(word & 0xf | upper << 4);
        let format = |number: u32| {
            let at = FORMAT_TABLE + 4 * number as usize;
            // A format that is not there has no size.
            let exponent = *page.get(at + 2).filter(|exponent| (9..32).contains(*exponent))?;
            Some(NvmeFormat {
                number,
                block_bytes: 1 << exponent,
                metadata_bytes: small::<2>(page, at)?,
                rank: *page.get(at + 3)? & 3,
            })
        };
        let all: Vec<NvmeFormat> = (0..count.min(64)).filter_map(format).collect();
        Some(Self { now: *all.iter().find(|format| format.number == in_use)?, all })
    }
}

/// The power state in which a drive is, of the result of the feature Power Management.
pub fn nvme_power_state(result: &[u8]) -> Option<usize> {
    Some(usize::from(*result.first()? & 0x1f))
}

/// The power states into which a drive goes by itself, and after how many idle milliseconds: the feature Autonomous Power
/// State Transition. It is empty if it is off.
pub fn nvme_sleep(feature: &[u8]) -> Option<Vec<(usize, u32)>> {
    let (result, table) = feature.split_at_checked(4)?;
    if result[0] & 1 == 0 {
        return Some(Vec::new());
    }
    let entry = |bytes: &[u8]| {
        let word = small::<4>(bytes, 0)?;
        // A state after no time at all is none.
        (word >> 8 > 0).then_some(((word >> 3 & 0x1f) as usize, word >> 8))
    };
    let mut states: Vec<(usize, u32)> = table.chunks_exact(8).filter_map(entry).collect();
    states.sort_unstable();
    states.dedup();
    Some(states)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn health_is_taken_apart() {
        let mut page = vec![0_u8; 512];
        page[..6].copy_from_slice(&[0b1001, 0x3b, 0x01, 7, 10, 101]);
        page[POWER_ON_HOURS] = 44;
        page[MEDIA_ERRORS..MEDIA_ERRORS + 2].copy_from_slice(&[1, 2]);
        page[WARM_MINUTES] = 9;
        page[HOT_MINUTES] = 3;
        page[216] = 5;
        page[220] = 6;
        let expected = NvmeHealth {
            warnings: 0b1001,
            celsius: Some(42),
            spare_percent: 7,
            spare_least_percent: 10,
            used_percent: 101,
            hours: 44,
            media_errors: 513,
            warm_minutes: 9,
            hot_minutes: 3,
            throttled: 11,
        };
        assert_eq!(NvmeHealth::of(&page), Some(expected));
        for length in [0, 1, 5, 160, 199] {
            assert_eq!(NvmeHealth::of(&page[..length]), None, "{length}");
        }
        assert_eq!(NvmeHealth::of(&[0; 512]).unwrap().celsius, None);
    }

    #[test]
    fn a_controller_has_limits_and_power_states() {
        let mut page = vec![0_u8; 4096];
        page[POWER_STATES] = 2;
        page[WARM_LIMIT..WARM_LIMIT + 4].copy_from_slice(&[0x57, 0x01, 0x61, 0x01]);
        page[DESCRIPTORS..DESCRIPTORS + 2].copy_from_slice(&[0x20, 0x03]);
        let sleeping = DESCRIPTORS + 2 * DESCRIPTOR_BYTES;
        page[sleeping..sleeping + 12].copy_from_slice(&[0xf4, 1, 0, 3, 0x10, 0x27, 0, 0, 0xc8, 0xaf, 0, 0]);
        let seen = NvmeController::of(&page).unwrap();
        assert_eq!((seen.warm_celsius, seen.hot_celsius), (Some(70), Some(80)));
        let strong = NvmePowerState { centiwatts: 800, is_operational: true, exit_us: 0 };
        let asleep = NvmePowerState { centiwatts: 5, is_operational: false, exit_us: 45_000 };
        let middle = NvmePowerState { centiwatts: 0, is_operational: true, exit_us: 0 };
        assert_eq!(seen.power_states, [strong, middle, asleep]);
        assert_eq!(NvmeController::of(&page[..2000]), None);
        page[POWER_STATES] = 255;
        assert_eq!(NvmeController::of(&page).unwrap().power_states.len(), 32);
    }

    #[test]
    fn a_namespace_has_formats_and_one_in_use() {
        let mut page = vec![0_u8; 4096];
        page[FORMATS] = 2;
        page[FORMAT_IN_USE] = 1;
        page[FORMAT_TABLE..FORMAT_TABLE + 12].copy_from_slice(&[0, 0, 9, 2, 8, 0, 9, 3, 0, 0, 12, 0]);
        let seen = NvmeFormats::of(&page).unwrap();
        assert_eq!(seen.now, NvmeFormat { number: 1, block_bytes: 512, metadata_bytes: 8, rank: 3 });
        assert_eq!(seen.all.len(), 3);
        assert_eq!(seen.all[2], NvmeFormat { number: 2, block_bytes: 4096, metadata_bytes: 0, rank: 0 });
        // One in use that is not there.
        page[FORMAT_IN_USE] = 9;
        assert_eq!(NvmeFormats::of(&page), None);
        assert_eq!(NvmeFormats::of(&[255; 4096]), None);
        assert_eq!(NvmeFormats::of(&[]), None);
    }

    #[test]
    fn sleep_has_states_and_times() {
        let mut feature = vec![0_u8; 260];
        assert_eq!(nvme_sleep(&feature), Some(Vec::new()));
        feature[0] = 1;
        // 100 ms until state 3, 2,000 ms until state 4.
        for (at, word) in [(0, 3 << 3 | 100 << 8), (1, 3 << 3 | 100 << 8), (3, 4 << 3 | 2000 << 8)] {
            let from = 4 + 8 * at;
            feature[from..from + 4].copy_from_slice(&u32::to_le_bytes(word));
        }
        assert_eq!(nvme_sleep(&feature), Some(vec![(3, 100), (4, 2000)]));
        assert_eq!((nvme_sleep(&[1, 0]), nvme_power_state(&[0x64]), nvme_power_state(&[])), (None, Some(4), None));
    }
}
