//! Writes the raw answers of drives: pages of NVMe drives, SMART data, and log pages.

use crate::tree::Tree;

/// What an NVMe drive answers; the limits are 70 and 80 degrees Celsius, and state 2 of its three serves nothing.
pub struct Answers {
    pub warnings: u8,
    pub celsius: u16,
    pub spare_percent: u8,
    pub used_percent: u8,
    pub media_errors: u8,
    pub warm_minutes: u16,
    pub throttled: u8,
    pub power_state: u8,
    /// Ranks of its formats of 512 bytes, which is in use, and of 4 KiB.
    pub ranks: [u8; 2],
}

/// A drive that is well.
pub const WELL: Answers = Answers {
    warnings: 0,
    celsius: 42,
    spare_percent: 100,
    used_percent: 3,
    media_errors: 0,
    warm_minutes: 0,
    throttled: 0,
    power_state: 0,
    ranks: [0, 0],
};

/// Writes the answers of the NVMe drive with this name.
pub fn nvme_pages(tree: &Tree, name: &str, answers: &Answers) {
    let put = |page: &mut [u8], at: usize, bytes: &[u8]| page[at..at + bytes.len()].copy_from_slice(bytes);
    let kelvins = |celsius: u16| (celsius + 273).to_le_bytes();
    let mut health = vec![0_u8; 512];
    health[0] = answers.warnings;
    put(&mut health, 1, &kelvins(answers.celsius));
    put(&mut health, 3, &[answers.spare_percent, 10, answers.used_percent]);
    put(&mut health, 128, &1000_u16.to_le_bytes());
    health[160] = answers.media_errors;
    put(&mut health, 192, &answers.warm_minutes.to_le_bytes());
    health[216] = answers.throttled;
    let mut controller = vec![0_u8; 4096];
    controller[263] = 2;
    put(&mut controller, 266, &[kelvins(70), kelvins(80)].concat());
    put(&mut controller, 2048, &800_u16.to_le_bytes());
    put(&mut controller, 2080, &300_u16.to_le_bytes());
    put(&mut controller, 2112, &[5, 0, 0, 2, 0, 0, 0, 0, 0xc8, 0xaf, 0, 0]);
    let mut namespace = vec![0_u8; 4096];
    namespace[25] = 1;
    put(&mut namespace, 128, &[0, 0, 9, answers.ranks[0], 0, 0, 12, answers.ranks[1]]);
    let mut sleep = vec![0_u8; 260];
    sleep[0] = 1;
    put(&mut sleep, 4, &(2_u32 << 3 | 2000 << 8).to_le_bytes());
    for (page, bytes) in [
        ("smart-log", health),
        ("id-ctrl", controller),
        ("id-ns", namespace),
        ("apst", sleep),
        ("power-state", vec![answers.power_state, 0, 0, 0]),
    ] {
        tree.file(&format!("dev/{name}.{page}"), bytes);
    }
}

/// Writes the SMART data of the disk with this name: sectors that were replaced, that wait, that could not be put right,
/// and transfers that arrived damaged.
pub fn smart(tree: &Tree, name: &str, counts: [u16; 4]) {
    let mut data = vec![0_u8; 512];
    for (at, (number, count)) in [5, 197, 198, 199].into_iter().zip(counts).enumerate() {
        let entry = 2 + 12 * at;
        data[entry] = number;
        data[entry + 5..entry + 7].copy_from_slice(&count.to_le_bytes());
    }
    let sum = data.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
    data[511] = sum.wrapping_neg();
    tree.file(&format!("dev/{name}.smart"), data);
}

/// Writes the log pages of the SCSI disk with this name: the code of a failure that it foresees, times that it could not
/// read, and the share of its life that is used.
pub fn log_pages(tree: &Tree, name: &str, forecast: [u8; 2], lost: u8, used_percent: u8) {
    let [high, low] = forecast;
    for (page, bytes) in [
        (0x03, [0x03, 0, 0, 8, 0, 6, 2, 4, 0, 0, 0, lost]),
        (0x11, [0x11, 0, 0, 8, 0, 1, 3, 4, 0, 0, 0, used_percent]),
        (0x2f, [0x2f, 0, 0, 8, 0, 0, 3, 4, high, low, 38, 0]),
    ] {
        tree.file(&format!("dev/{name}.log-{page:02x}"), bytes);
    }
}
