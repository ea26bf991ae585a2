//! Parses the workload of a published figure: the system, its setting and the loads.

use crate::{Allocation, Array, Setting};

const KIB: u32 = 1024;
const SMALLEST: u32 = 2;
const LARGEST: u32 = 1024;
const DEPTHS: [u32; 5] = [1, 2, 3, 4, 8];

/// Kind of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PaperPattern {
    /// One after the other.
    Sequential,
    /// At random offsets.
    Random,
    /// The same block repeatedly.
    CacheHit,
}

/// A workload as the table words it.
#[derive(Debug, Clone, PartialEq)]
pub struct PaperWorkload {
    /// The system that it runs on.
    pub system: &'static str,
    /// Kind of requests.
    pub pattern: PaperPattern,
    /// Whether it writes; one value for each operation to run.
    pub writes: Vec<bool>,
    /// Whether the figure is the mean over the operations; otherwise each of them has to give it.
    pub mean: bool,
    /// Request sizes in bytes.
    pub sizes: Vec<u32>,
    /// Depths.
    pub depths: Vec<u32>,
    /// Whether the depth is that of each disk.
    pub per_disk: bool,
    /// All other settings.
    pub setting: Setting,
    /// Bytes of the file; 0 for the whole volume.
    pub file_bytes: u64,
    /// Whether any number of disks is allowed.
    pub any_disks: bool,
    /// Whether it asks for the client's side of a network.
    pub client: bool,
    /// Whether the cost is the time charged to the process.
    pub charged: bool,
}

/// Our system for a system of the table.
fn system(word: &str) -> Option<&'static str> {
    let pairs = [
        ("nt4-barracuda-fastwide", "nt4-fastwide"),
        ("nt4-barracuda-narrow", ""),
        ("nt4-fastwide", "nt4-fastwide"),
        ("nt4-scsi-bus", "nt4-fastwide"),
        ("nt4-ftdisk", "nt4-fastwide"),
        ("nt4-method", ""),
        ("nt4sp6-st34572", "nt4sp6-ultrawide"),
        ("nt4sp6", "nt4sp6-ultrawide"),
        ("nt4", "nt4-ultrawide"),
        ("win2k-barracuda", "win2k-ultrawide"),
        ("win2k-fireball-motherboard", "win2k-fireball"),
        ("win2k-fireball", "win2k-3ware5400"),
        ("win2k-3ware6800", "win2k-3ware6800"),
        ("win2k-3ware5800", ""),
        ("win2k-3ware", "win2k-3ware5400"),
        ("win2k-twinstor", "win2k-3ware5400"),
        ("win2k-maxtor", "win2k-maxtor"),
        ("win2k-cifs-local-unc", "win2k-unc"),
        ("win2k-cifs-local-mapped", "win2k-mapped"),
        ("win2k-cifs-gigabit", "win2k-gigabit"),
        ("win2k-os", ""),
        ("win2k", "win2k-atlas10k"),
        ("dell420-memory", ""),
        ("dell420", "win2k-atlas10k"),
    ];
    let found = pairs.iter().find(|(prefix, _)| word.starts_with(prefix)).map(|(_, name)| *name);
    found.filter(|name| !name.is_empty())
}

/// The KiB in a number with `KB` or `MB` behind it.
fn kib(word: &str) -> Option<u32> {
    let (digits, unit) = word.split_at(word.find(|c: char| !c.is_ascii_digit()).unwrap_or(word.len()));
    let number: u32 = digits.parse().ok()?;
    match unit {
        "KB" | "" => Some(number),
        "MB" => Some(number * KIB),
        _ => None,
    }
}

fn sizes(word: &str, random: bool) -> Option<Vec<u32>> {
    let (least, most) = if word == "any" {
        if random { (8, 8) } else { (SMALLEST, LARGEST) }
    } else if let Some(word) = word.strip_prefix("<=") {
        (SMALLEST, kib(word)?)
    } else if let Some(word) = word.strip_prefix('<') {
        (SMALLEST, kib(word)? / 2)
    } else if let Some(word) = word.strip_prefix('>') {
        (kib(word)? * 2, LARGEST)
    } else if let Some(word) = word.strip_suffix('+') {
        (kib(word)?, LARGEST)
    } else if let Some((least, most)) = word.split_once('-') {
        (kib(least)?, kib(most)?)
    } else {
        (kib(word)?, kib(word)?)
    };
    let all = std::iter::successors(Some(least), |size| Some(size * 2));
    Some(all.take_while(|size| *size <= most).map(|size| size * KIB).collect())
}

fn depths(word: &str, random: bool) -> Option<Vec<u32>> {
    let range = |least: u32, most: u32| DEPTHS.iter().copied().filter(|depth| (least..=most).contains(depth)).collect();
    if word == "any" {
        return Some(if random { vec![1] } else { DEPTHS.to_vec() });
    }
    if let Some(least) = word.strip_suffix('+') {
        return Some(range(least.parse().ok()?, u32::MAX));
    }
    match word.split_once('-') {
        Some((least, most)) => Some(range(least.parse().ok()?, most.parse().ok()?)),
        None => Some(vec![word.parse().ok()?]),
    }
}

impl PaperWorkload {
    /// The workload that a row's words ask for; `None` if no system has them.
    pub fn parse(system_word: &str, words: &str) -> Option<Self> {
        let words: Vec<&str> = words.split_whitespace().collect();
        let [pattern, operation, size, "depth", depth, buffering, cache, keys @ ..] = words.as_slice() else {
            return None;
        };
        let pattern = match *pattern {
            "random" => PaperPattern::Random,
            "cache-hit" => PaperPattern::CacheHit,
            _ => PaperPattern::Sequential,
        };
        let writes = match *operation {
            "read" => vec![false],
            "write" => vec![true],
            "read+write" | "any" | "mean" => vec![false, true],
            _ => return None,
        };
        let random = pattern == PaperPattern::Random;
        let mut workload = Self {
            system: system(system_word)?,
            pattern,
            writes,
            mean: *operation == "mean",
            sizes: sizes(size, random)?,
            depths: depths(depth, random)?,
            per_disk: false,
            file_bytes: 0,
            setting: Setting {
                buffered: *buffering == "buffered",
                write_cache: *cache != "noWCE",
                ..Setting::default()
            },
            any_disks: true,
            client: false,
            charged: system_word.starts_with("nt4-"),
        };
        keys.iter().all(|key| workload.apply(key)).then_some(())?;
        workload.settle();
        // The published figures of the oldest machine as delivered were measured without write cache.
        if system_word == "nt4-default" && *cache == "any" {
            workload.setting.write_cache = false;
        }
        Some(workload)
    }

    /// Whether reads and writes each have to give the figure.
    pub fn is_both_ways(&self) -> bool {
        self.writes.len() > 1 && !self.mean
    }

    /// Its reads or its writes if each have to give the figure; otherwise all of it.
    pub fn one_way(&self, write: bool) -> Self {
        let mut one = self.clone();
        if self.is_both_ways() {
            one.writes = vec![write];
        }
        one
    }

    /// Applies one `key=value`; false if no system supports it.
    fn apply(&mut self, key: &str) -> bool {
        let Some((key, value)) = key.split_once('=') else { return false };
        let setting = &mut self.setting;
        match (key, value) {
            ("disks", "any") => {}
            ("disks", number) => {
                let digits = number.split(['+', '-']).next().unwrap_or(number);
                let Ok(number) = digits.parse() else { return false };
                (setting.disks, self.any_disks) = (number, false);
            }
            ("raid", "0" | "0-hw") => setting.array = Array::HardwareStripe,
            ("raid", "0-sw") => setting.array = Array::SoftwareStripe,
            ("raid", "1-hw") => setting.array = Array::Mirror,
            ("volume", kind) => setting.dynamic = kind == "dynamic",
            ("file", "truncate") => setting.allocation = Allocation::Growing,
            ("file", "extend" | "extend-last-block-first") => setting.allocation = Allocation::Zeroing,
            ("file", "existing") => {}
            ("align", kind) => setting.aligned = kind == "chunk",
            ("buses", number) => setting.buses = number.parse().unwrap_or(1),
            ("zone", "inner") => setting.place = 0.98,
            ("zone", _) => {}
            ("cpus", number) => setting.processors = number.parse().ok(),
            ("transport", kind) => setting.pio = kind == "pio",
            ("side", side) => self.client = side == "client",
            ("depthof", _) => self.per_disk = true,
            ("method", method) => self.charged = method == "gpt",
            ("filesize", size) => self.file_bytes = u64::from(kib(size).unwrap_or(0)) * 1024,
            ("cache" | "phase", _) => {}
            _ => return false,
        }
        true
    }

    /// Fills in what the words leave open.
    fn settle(&mut self) {
        let setting = &mut self.setting;
        if setting.array == Array::HardwareStripe && !self.system.starts_with("win2k-3ware") {
            setting.array = Array::SoftwareStripe;
        }
        let striped = matches!(setting.array, Array::SoftwareStripe | Array::HardwareStripe);
        if setting.buses > 1 && self.any_disks {
            setting.disks = 3 * setting.buses;
        } else if striped && self.any_disks {
            setting.disks = 4;
        }
        if setting.disks > 1 && setting.array == Array::Separate && !self.per_disk {
            match self.pattern {
                PaperPattern::Sequential => setting.array = Array::SoftwareStripe,
                PaperPattern::Random | PaperPattern::CacheHit => self.per_disk = true,
            }
        }
        if self.pattern == PaperPattern::CacheHit && self.any_disks {
            (setting.disks, self.per_disk) = (4, true);
        }
        // Several buses need more requests than one disk does.
        if setting.disks > 4 {
            self.depths = vec![8, 16, 32];
        }
    }
}
