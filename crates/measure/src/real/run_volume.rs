//! Decides which members take part in a run and how they make one target.

use std::path::PathBuf;

use halfpower_engine::AddressMap;
use halfpower_record::{Environment, Level, PlaceIdentity};
use halfpower_spec::{Bytes, Several, VolumeLayout, WorkloadOptions};

use crate::side_by_side;

/// Members of a target and how they are joined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct VolumeMembers {
    /// The layout that the target's name gives.
    volume_layout: VolumeLayout,
    chunk: Bytes,
    /// Number of members.
    count: usize,
}

/// The members of one run: the first `members` of the target, in one layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RunVolume {
    pub members: usize,
    pub layout: RunLayout,
}

/// Which members a lane reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunLayout {
    /// Each lane reaches one member.
    Each,
    /// Every lane reaches all members, in chunks of this size.
    Stripe(Bytes),
    /// Every lane reaches both members.
    Mirror,
}

impl VolumeMembers {
    /// A target with one member or none.
    pub fn single(count: usize) -> Self {
        Self { volume_layout: VolumeLayout::Each, chunk: Several::USUAL_CHUNK, count }
    }

    pub fn of(several: &Several) -> Self {
        Self { volume_layout: several.volume_layout, chunk: several.chunk, count: several.members.len() }
    }

    /// The chunk size of a stripe of them; `None` for a single path.
    pub fn chunk(&self) -> Option<Bytes> {
        (self.count > 1).then_some(self.chunk)
    }

    /// How a run with these options uses them.
    ///
    /// # Errors
    /// Why it cannot, in a sentence.
    pub fn arrange(&self, options: &WorkloadOptions) -> Result<RunVolume, String> {
        let volume_layout = options.volume_layout.unwrap_or(self.volume_layout);
        let wanted = options.members as usize;
        if wanted > self.count.max(1) {
            let members =
                if self.count > 1 { format!("{} members", self.count) } else { "a single member".to_string() };
            return Err(format!("has {members} and --members {wanted} is more: ask for fewer"));
        }
        let members = if wanted == 0 { self.count } else { wanted };
        let layout = match volume_layout {
            VolumeLayout::Mirror if members > 2 => return Ok(RunVolume { members: 2, layout: RunLayout::Mirror }),
            VolumeLayout::Mirror if members < 2 && options.volume_layout.is_some() && wanted != 1 => {
                return Err("is a single path, and a mirror takes two: name two, as in mirror:A,B".to_string());
            }
            _ if members < 2 => RunLayout::Each,
            VolumeLayout::Each => RunLayout::Each,
            VolumeLayout::Stripe => RunLayout::Stripe(self.chunk),
            VolumeLayout::Mirror => RunLayout::Mirror,
        };
        Ok(RunVolume { members, layout })
    }

    /// Rounds a member's bytes down to whole chunks, so that a stripe has no remainder.
    pub fn whole(&self, bytes: u64) -> u64 {
        if self.count > 1 { bytes - bytes % self.chunk.0 } else { bytes }
    }
}

impl RunVolume {
    /// A single file that is not a member of a volume.
    pub const ALONE: Self = Self { members: 0, layout: RunLayout::Each };

    /// Bytes that a lane reaches if each member contributes `of_member` bytes.
    pub fn span_bytes(&self, of_member: u64) -> u64 {
        match self.layout {
            RunLayout::Each | RunLayout::Mirror => of_member,
            RunLayout::Stripe(_) => of_member.saturating_mul(self.members.max(1) as u64),
        }
    }

    /// For each lane of a thread, the members that it reaches.
    pub fn lanes(&self) -> Vec<Vec<usize>> {
        match self.layout {
            RunLayout::Each if self.members == 0 => vec![Vec::new()],
            RunLayout::Each => (0..self.members).map(|member| vec![member]).collect(),
            RunLayout::Stripe(_) | RunLayout::Mirror => vec![(0..self.members).collect()],
        }
    }

    pub fn address_map(&self) -> AddressMap {
        match self.layout {
            RunLayout::Each => AddressMap::Single,
            RunLayout::Stripe(chunk) => AddressMap::Stripe { chunk },
            RunLayout::Mirror => AddressMap::Mirror { only: None },
        }
    }

    /// The address maps that read each copy of the data.
    pub fn copies(&self) -> Vec<AddressMap> {
        match self.layout {
            RunLayout::Mirror => [0, 1].map(|copy| AddressMap::Mirror { only: Some(copy) }).to_vec(),
            _ => vec![self.address_map()],
        }
    }
}

/// The devices whose byte counts can be compared with the run's, each once. None for a mirror, which moves other
/// numbers of bytes than the workload asks for, and none if a member's device is unknown.
pub(super) fn witnessed(arrangement: RunVolume, devices: &[Option<String>]) -> Vec<String> {
    let of_members: Option<Vec<String>> = devices[..arrangement.members].iter().cloned().collect();
    let mut known = of_members.filter(|_| arrangement.layout != RunLayout::Mirror).unwrap_or_default();
    known.sort_unstable();
    known.dedup();
    known
}

/// Levels that all members share because they belong to the host.
const OF_THE_HOST: [&str; 3] = ["memory", "processor", "page cache"];

/// The first member's environment, with the peaks of different devices added up, and a note that names the members.
pub(super) fn environment_of(paths: &[PathBuf], environments: Vec<Environment>) -> Environment {
    let mut distinct: Vec<&Environment> = Vec::new();
    for environment in &environments {
        let same = |known: &&Environment| known.device.is_some() && known.device == environment.device;
        if !distinct.iter().any(same) {
            distinct.push(environment);
        }
    }
    let sets: Vec<&[Level]> = distinct.iter().map(|environment| environment.levels.as_slice()).collect();
    let of_all = |level: &Level| match OF_THE_HOST.contains(&level.name.as_str()) {
        true => level.clone(),
        false => side_by_side::level(level, &sets, "members side by side"),
    };
    let levels = distinct[0].levels.iter().map(of_all).collect();
    let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    let devices: Vec<&str> =
        environments.iter().map(|environment| environment.device.as_ref().map_or("no device", |d| &d.name)).collect();
    let mut note = format!(
        "the target is {} members: {} (on {}); what is said of device and file system is the first one's",
        names.len(),
        names.join(", "),
        devices.join(", ")
    );
    if distinct.len() < environments.len() {
        note += "; some of them lie on the same device, and share it";
    }
    let mut notes: Vec<String> = environments.iter().flat_map(|environment| environment.notes.clone()).collect();
    notes.dedup();
    notes.push(note);
    let members = environments.iter().flat_map(|environment| environment.place.members.clone()).collect();
    let place = PlaceIdentity { members, ..environments[0].place.clone() };
    Environment { levels, notes, place, ..environments[0].clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use halfpower_spec::Rate;

    fn three() -> VolumeMembers {
        VolumeMembers { volume_layout: VolumeLayout::Stripe, chunk: Bytes(4096), count: 3 }
    }

    #[test]
    fn a_run_takes_the_first_members_in_its_own_way() {
        let way = |members, volume_layout| {
            three().arrange(&WorkloadOptions { members, volume_layout, ..WorkloadOptions::default() })
        };
        let stripe = RunLayout::Stripe(Bytes(4096));
        assert_eq!(way(0, None), Ok(RunVolume { members: 3, layout: stripe }));
        assert_eq!(way(2, None), Ok(RunVolume { members: 2, layout: stripe }));
        assert_eq!(way(2, Some(VolumeLayout::Each)), Ok(RunVolume { members: 2, layout: RunLayout::Each }));
        assert_eq!(way(0, Some(VolumeLayout::Mirror)), Ok(RunVolume { members: 2, layout: RunLayout::Mirror }));
        assert_eq!(way(1, None), Ok(RunVolume { members: 1, layout: RunLayout::Each }));
        assert!(way(4, None).unwrap_err().contains("has 3 members"));
        assert!(
            VolumeMembers::single(1)
                .arrange(&WorkloadOptions { volume_layout: Some(VolumeLayout::Mirror), ..WorkloadOptions::default() })
                .is_err()
        );
    }

    #[test]
    fn bytes_and_lanes_follow_from_the_way() {
        let arranged = |volume_layout| {
            three()
                .arrange(&WorkloadOptions { volume_layout: Some(volume_layout), ..WorkloadOptions::default() })
                .unwrap()
        };
        assert_eq!(arranged(VolumeLayout::Stripe).span_bytes(100), 300);
        assert_eq!(arranged(VolumeLayout::Mirror).span_bytes(100), 100);
        assert_eq!(arranged(VolumeLayout::Each).span_bytes(100), 100);
        assert_eq!(arranged(VolumeLayout::Each).lanes(), [[0], [1], [2]]);
        assert_eq!(arranged(VolumeLayout::Mirror).lanes(), [[0, 1]]);
        assert_eq!(
            VolumeMembers::single(0).arrange(&WorkloadOptions::default()).unwrap().lanes(),
            [Vec::<usize>::new()]
        );
    }

    #[test]
    fn peaks_of_different_devices_add_up() {
        let environment = |name: &str, mbps: f64| {
            let device = halfpower_record::Device { name: name.to_string(), ..halfpower_record::Device::default() };
            let level = |name: &str| Level { name: name.to_string(), pap: Some(Rate(mbps)), ..Level::default() };
            let levels = vec![level("memory"), level("device")];
            Environment { device: Some(device), levels, ..Environment::default() }
        };
        let paths = [PathBuf::from("/a"), PathBuf::from("/b"), PathBuf::from("/c")];
        let same = vec![environment("sda", 1.0), environment("sdb", 2.0), environment("sdb", 2.0)];
        let joined = environment_of(&paths, same);
        assert_eq!(joined.levels.iter().map(|level| level.pap).collect::<Vec<_>>(), [Some(Rate(1.0)), Some(Rate(3.0))]);
        assert_eq!(
            joined.levels[1].member_paps,
            [Rate(1.0), Rate(2.0)],
            "a few members alone have the limits of these"
        );
        assert!(joined.notes[0].contains("/a, /b, /c (on sda, sdb, sdb)") && joined.notes[0].contains("share it"));
    }
}
