//! Lists the settings that can be tried: to what each is switched, and under which workload that shows.
//!
//! Whatever is listed here can be switched there and back while the disk is in use, without any risk to data. So a write
//! cache is only ever switched off, never on, and a zoned disk keeps its scheduler.

use std::path::PathBuf;

use halfpower_os::Setting;
use halfpower_probe::{Disk, Group, own_groups};
use halfpower_spec::{Bytes, Cache, IoSize, Rw, Workload, WorkloadOptions, shell_word};

use crate::checks::{read_ahead, write_cache};
use crate::outcome::written;
use crate::parsed::chosen;
use crate::place::{queue, short};
use crate::{CHECKS, Outcome, Place};

/// A setting that can be tried.
#[derive(Debug)]
pub struct Try {
    /// Name of the check that looks at this setting.
    pub code: &'static str,
    /// The kernel's own names of it.
    pub also: &'static [&'static str],
    /// Whether it is tried only if it is named, since others feel it too.
    pub by_name_only: bool,
    /// What shows its effect.
    pub loads: &'static [TrialLoad],
    /// What else it can be switched to at a place than findings say.
    of: fn(&Place) -> Vec<Candidate>,
}

/// A setting of one device with one value to try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The device, file system or control group that has it.
    pub subject: String,
    /// Path of the setting for people.
    pub shown: String,
    /// How it is switched.
    pub switch: Switchable,
    /// What it is switched to.
    pub to: String,
    /// The folder in sysfs of the device that has it; `None` if it is of no device.
    pub device: Option<PathBuf>,
}

/// How a setting is switched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Switchable {
    /// By writing it. The kernel may change the followers along with it.
    Setting {
        /// Where it is.
        setting: Setting,
        /// What has to be put back with it.
        followers: Vec<Setting>,
    },
    /// The write cache of the device with this kernel name, which is on and is switched off.
    WriteCache(String),
}

/// A workload that shows the effect of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrialLoad {
    /// Random reads of 4 KiB, one at a time.
    ReadAlone,
    /// Random reads of 4 KiB, 16 at once.
    ReadDeep,
    /// Random reads of 4 KiB, 128 at once.
    ReadQueue,
    /// Sequential reads of 4 KiB, 16 at once, which can be merged.
    ReadSmall,
    /// Random reads of 1 MiB, 4 at once, which may be cut.
    ReadLarge,
    /// A sequential buffered read.
    ReadAhead,
    /// Random writes of 4 KiB, one at a time.
    WriteAlone,
    /// Buffered writes that are flushed, beside a random reader.
    WriteBack,
}

impl TrialLoad {
    /// The workload.
    pub fn workload(self) -> Workload {
        let of =
            |rw, kib: u64, iodepth, cache| Workload { rw, bs: Bytes(kib << 10), iodepth, cache, ..Workload::default() };
        match self {
            Self::ReadAlone => of(Rw::Randread, 4, 1, Cache::Device),
            Self::ReadDeep => of(Rw::Randread, 4, 16, Cache::Device),
            Self::ReadQueue => of(Rw::Randread, 4, 128, Cache::Device),
            Self::ReadSmall => of(Rw::Read, 4, 16, Cache::Device),
            Self::ReadLarge => of(Rw::Randread, 1024, 4, Cache::Device),
            Self::ReadAhead => of(Rw::Read, 64, 1, Cache::Both),
            Self::WriteAlone => of(Rw::Randwrite, 4, 1, Cache::Device),
            Self::WriteBack => {
                let io_size = Some(IoSize::Bytes(Bytes(64 << 20)));
                let options = WorkloadOptions { random_readers: 1, io_size, ..WorkloadOptions::default() };
                Workload { options, ..of(Rw::Write, 64, 1, Cache::Both) }
            }
        }
    }

    /// The workload in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::ReadAlone => "random reads, 4 KiB, 1 deep",
            Self::ReadDeep => "random reads, 4 KiB, 16 deep",
            Self::ReadQueue => "random reads, 4 KiB, 128 deep",
            Self::ReadSmall => "sequential reads, 4 KiB, 16 deep",
            Self::ReadLarge => "random reads, 1 MiB, 4 deep",
            Self::ReadAhead => "sequential buffered reads",
            Self::WriteAlone => "random writes, 4 KiB, 1 deep",
            Self::WriteBack => "buffered writes beside a reader",
        }
    }

    /// Whether it writes, which it may to a file of our own alone.
    pub fn writes(self) -> bool {
        matches!(self, Self::WriteAlone | Self::WriteBack)
    }
}

/// All settings that can be tried.
pub const TRIES: &[Try] = &[
    Try {
        code: "scheduler",
        also: &[],
        by_name_only: false,
        loads: &[TrialLoad::ReadAlone, TrialLoad::ReadDeep],
        of: schedulers,
    },
    Try {
        code: "read-ahead",
        also: &["read_ahead_kb"],
        by_name_only: false,
        loads: &[TrialLoad::ReadAhead],
        of: |place| {
            let files = read_ahead::files(place).into_iter();
            let of = |(subject, file): (String, String)| {
                let disk = place.tops.iter().find(|disk| disk.name == subject);
                of_file(place, &subject, &file, disk, &["0", "128", "4096"])
            };
            files.flat_map(of).collect()
        },
    },
    Try {
        code: "write-throttling",
        also: &["wbt", "wbt_lat_usec"],
        by_name_only: false,
        loads: &[TrialLoad::WriteBack],
        of: |place| {
            each_queue(place, |disk| {
                of_now(place, disk, "wbt_lat_usec", |now| throttlings(now).iter().map(ToString::to_string).collect())
            })
        },
    },
    Try {
        code: "rq-affinity",
        also: &["rq_affinity"],
        by_name_only: false,
        loads: &[TrialLoad::ReadDeep],
        of: |place| match place.machine.cpus {
            0 | 1 => Vec::new(),
            _ => each_queue(place, |disk| of_queue(place, disk, "rq_affinity", &["0", "1", "2"])),
        },
    },
    Try {
        code: "merges",
        also: &["nomerges"],
        by_name_only: false,
        loads: &[TrialLoad::ReadSmall],
        of: |place| each_queue(place, |disk| of_queue(place, disk, "nomerges", &["0", "2"])),
    },
    Try {
        code: "queue-requests",
        also: &["nr_requests"],
        by_name_only: false,
        loads: &[TrialLoad::ReadQueue],
        of: |place| each_queue(place, |disk| of_queue(place, disk, "nr_requests", &["64", "256"])),
    },
    Try {
        code: "request-size",
        also: &["max_sectors", "max_sectors_kb"],
        by_name_only: false,
        loads: &[TrialLoad::ReadLarge],
        of: |place| each_queue(place, |disk| request_sizes(place, disk)),
    },
    Try {
        code: "iostats",
        also: &[],
        by_name_only: false,
        loads: &[TrialLoad::ReadDeep],
        of: |place| each_queue(place, |disk| of_queue(place, disk, "iostats", &["0", "1"])),
    },
    Try {
        code: "add-random",
        also: &["add_random"],
        by_name_only: false,
        loads: &[TrialLoad::ReadDeep],
        of: |place| each_queue(place, |disk| of_queue(place, disk, "add_random", &["0", "1"])),
    },
    Try {
        code: "command-queueing",
        also: &["queue_depth", "ncq"],
        by_name_only: false,
        loads: &[TrialLoad::ReadDeep],
        of: |place| each_queue(place, |disk| command_queueing(place, disk)),
    },
    Try {
        code: "write-cache",
        also: &["cache_type"],
        by_name_only: false,
        loads: &[TrialLoad::WriteAlone],
        of: |place| each_queue(place, |disk| write_caches(place, disk)),
    },
    Try {
        code: "loop-buffered",
        also: &["direct-io", "dio"],
        by_name_only: false,
        loads: &[TrialLoad::ReadDeep, TrialLoad::ReadLarge],
        of: loops,
    },
    Try { code: "md-stripe-cache", also: &[], by_name_only: false, loads: &[TrialLoad::WriteBack], of: |_| Vec::new() },
    Try { code: "md-threads", also: &[], by_name_only: false, loads: &[TrialLoad::WriteBack], of: |_| Vec::new() },
    Try { code: "zfs-prefetch", also: &[], by_name_only: false, loads: &[TrialLoad::ReadAhead], of: |_| Vec::new() },
    Try { code: "link-power", also: &[], by_name_only: false, loads: &[TrialLoad::ReadAlone], of: |_| Vec::new() },
    Try { code: "nvme-power", also: &[], by_name_only: false, loads: &[TrialLoad::ReadAlone], of: |_| Vec::new() },
    Try { code: "nvme-path-policy", also: &[], by_name_only: false, loads: &[TrialLoad::ReadDeep], of: |_| Vec::new() },
    Try {
        code: "cgroup-io-limit",
        also: &["io.max", "blkio"],
        by_name_only: true,
        loads: &[TrialLoad::ReadDeep, TrialLoad::ReadLarge],
        of: limits,
    },
];

/// The setting of this name, its check's or the kernel's.
pub fn tried_as(name: &str) -> Option<&'static Try> {
    TRIES.iter().find(|row| row.code == name || row.also.contains(&name))
}

/// What a setting can be switched to at a place: other usual values, and what findings of its check say.
pub fn candidates(row: &Try, place: &Place) -> Vec<Candidate> {
    let mut all = (row.of)(place);
    for found in of_findings(place, row.code) {
        if !all.iter().any(|known| (&known.shown, &known.to) == (&found.shown, &found.to)) {
            all.push(found);
        }
    }
    all
}

impl Candidate {
    /// The command that changes it for good.
    pub fn change(&self) -> String {
        match &self.switch {
            Switchable::Setting { setting: Setting::LoopDirect(_), .. } => {
                let word = if self.to == "1" { "on" } else { "off" };
                format!("losetup --direct-io={word} /dev/{}", self.subject)
            }
            Switchable::Setting { setting: Setting::Line { key, .. }, .. } => {
                format!("echo '{key} {}' > {}", self.to, self.shown)
            }
            _ => format!("echo {} > {}", shell_word(&self.to), self.shown),
        }
    }
}

/// What the findings of a check say that may be tried.
fn of_findings(place: &Place, code: &str) -> Vec<Candidate> {
    let Some(check) = CHECKS.iter().find(|check| check.code == code) else { return Vec::new() };
    let of = |outcome: Outcome| -> Option<Candidate> {
        let Outcome::Found(finding) = outcome else { return None };
        let (value, file) = finding.change.as_deref().filter(|_| finding.may_try).and_then(written)?;
        Some(candidate(place, &finding.subject, file, None, value))
    };
    (check.look)(place).into_iter().filter_map(of).collect()
}

/// Of each device with a queue of requests of its own: loop devices, then the disks.
fn each_queue(place: &Place, of: impl Fn(&Disk) -> Vec<Candidate>) -> Vec<Candidate> {
    let volumes = place.stack.volumes.iter().map(|volume| &volume.disk);
    let loops = volumes.filter(|disk| disk.name.starts_with("loop"));
    loops.chain(place.real_disks()).flat_map(of).collect()
}

/// Other values of a file than the one that it has; none if there is no such file.
fn of_file(place: &Place, subject: &str, file: &str, disk: Option<&Disk>, values: &[&str]) -> Vec<Candidate> {
    let Some(text) = place.text(file) else { return Vec::new() };
    let Some(now) = chosen(&text) else { return Vec::new() };
    let others = values.iter().filter(|value| **value != now);
    others.map(|value| candidate(place, subject, file, disk, value)).collect()
}

fn candidate(place: &Place, subject: &str, file: &str, disk: Option<&Disk>, to: &str) -> Candidate {
    // Without the links of the short way: a note of it must hold whatever becomes of them.
    let real = place.root.resolve(file).unwrap_or_else(|| file.into());
    Candidate {
        subject: subject.to_string(),
        shown: format!("/{file}"),
        switch: Switchable::Setting { setting: Setting::File(place.root.absolute(real)), followers: Vec::new() },
        to: to.to_string(),
        device: disk.map(|disk| place.root.absolute(&disk.sys)),
    }
}

fn of_queue(place: &Place, disk: &Disk, file: &str, values: &[&str]) -> Vec<Candidate> {
    of_file(place, &disk.name, &queue(disk, file), Some(disk), values)
}

/// What a file of a disk's queue can be switched to, computed from what it is now.
fn of_now(place: &Place, disk: &Disk, file: &str, values: impl Fn(&str) -> Vec<String>) -> Vec<Candidate> {
    let Some(now) = place.text(queue(disk, file)) else { return Vec::new() };
    let values = values(&now);
    let values: Vec<&str> = values.iter().map(String::as_str).collect();
    of_queue(place, disk, file, &values)
}

/// Each other scheduler that the kernel offers. With it the kernel also changes the number of requests and the throttling of
/// write-back, and a scheduler forgets its own settings.
fn schedulers(place: &Place) -> Vec<Candidate> {
    each_queue(place, |disk| {
        // Writes to a zone may need the scheduler that is there.
        if place.text(queue(disk, "zoned")).is_some_and(|kind| kind != "none") {
            return Vec::new();
        }
        let text = place.text(queue(disk, "scheduler")).unwrap_or_default();
        let offered: Vec<&str> = text.split(['[', ']', ' ', '\n']).filter(|word| !word.is_empty()).collect();
        if offered.len() < 2 {
            return Vec::new();
        }
        let folder = disk.sys.join("queue");
        let own = place.root.names(folder.join("iosched")).into_iter().map(|name| format!("iosched/{name}"));
        let files = ["nr_requests".to_string(), "wbt_lat_usec".to_string()].into_iter().chain(own);
        let followers: Vec<Setting> = files.map(|file| Setting::File(place.root.absolute(folder.join(file)))).collect();
        let with_followers = |candidate: Candidate| match candidate.switch {
            Switchable::Setting { setting, .. } => {
                Candidate { switch: Switchable::Setting { setting, followers: followers.clone() }, ..candidate }
            }
            Switchable::WriteCache(_) => candidate,
        };
        of_queue(place, disk, "scheduler", &offered).into_iter().map(with_followers).collect()
    })
}

/// Off, and on with the time that the kernel chooses, which is one of two.
fn throttlings(now: &str) -> &'static [&'static str] {
    match now {
        "0" => &["-1"],
        "2000" | "75000" => &["0"],
        _ => &["0", "-1"],
    }
}

/// A small size, and what the kernel would choose.
fn request_sizes(place: &Place, disk: &Disk) -> Vec<Candidate> {
    /// What the kernel allows on its own, if the disk takes it.
    const USUAL_KIB: u64 = 1280;
    let Some(hardware) = place.number::<u64>(queue(disk, "max_hw_sectors_kb")) else { return Vec::new() };
    let usual = hardware.min(USUAL_KIB);
    let sizes = if usual > 128 { vec![128, usual] } else { vec![usual] };
    let sizes: Vec<String> = sizes.iter().map(u64::to_string).collect();
    of_now(place, disk, "max_sectors_kb", |_| sizes.clone())
}

/// One command at a time against as many as SATA has.
fn command_queueing(place: &Place, disk: &Disk) -> Vec<Candidate> {
    if !place.is_by(disk, &["sata", "sas"]) {
        return Vec::new();
    }
    let file = format!("{}/device/queue_depth", short(disk));
    match place.number::<u32>(&file) {
        None => Vec::new(),
        Some(0..=7) => of_file(place, &disk.name, &file, Some(disk), &["31"]),
        Some(_) => of_file(place, &disk.name, &file, Some(disk), &["1"]),
    }
}

/// Off, where the cache is on, the kernel knows it, and it is not that of an array that others use. The other way could lose
/// what an application takes for durable.
fn write_caches(place: &Place, disk: &Disk) -> Vec<Candidate> {
    if write_cache::Keeper::of(place, disk) == write_cache::Keeper::Array {
        return Vec::new();
    }
    let Some(file) = write_cache::own_switch(place, disk) else { return Vec::new() };
    let own = place.text(&file);
    let believed = place.text(queue(disk, "write_cache"));
    if own.as_deref() != Some(write_cache::ON) || believed.as_deref() != Some(write_cache::ON) {
        return Vec::new();
    }
    let switch = Switchable::WriteCache(disk.name.clone());
    vec![Candidate { switch, ..candidate(place, &disk.name, &file, Some(disk), write_cache::OFF) }]
}

/// Direct against buffered. The kernel writes back the file's pages before it switches.
fn loops(place: &Place) -> Vec<Candidate> {
    let of = |disk: &Disk| -> Option<Candidate> {
        let file = format!("{}/loop/dio", short(disk));
        let now = place.text(&file)?;
        let to = if now == "1" { "0" } else { "1" };
        let setting = Setting::LoopDirect(place.root.absolute(&disk.sys));
        let switch = Switchable::Setting { setting, followers: Vec::new() };
        Some(Candidate { switch, ..candidate(place, &disk.name, &file, Some(disk), to) })
    };
    place.stack.volumes.iter().filter_map(|volume| of(&volume.disk)).collect()
}

/// No limit, in each group of this process that limits a device of the path.
fn limits(place: &Place) -> Vec<Candidate> {
    const ENDLESS: &str = "rbps=max wbps=max riops=max wiops=max";
    let second = own_groups(&place.root, &place.mounts, "io").into_iter().filter(|group| group.is_second_version);
    let mut found: Vec<Candidate> = second.flat_map(|group| lines(place, &group, "io.max", "", ENDLESS)).collect();
    // In version 1 the limits of groups above do not hold here.
    let first = own_groups(&place.root, &place.mounts, "blkio").into_iter().find(|group| !group.is_second_version);
    if let Some(group) = first {
        for file in ["blkio.throttle.read_bps_device", "blkio.throttle.read_iops_device"] {
            found.extend(lines(place, &group, file, "0", "0"));
        }
    }
    found
}

/// The lines of a group's file that limit a device of the path; `endless` is a line without a limit.
fn lines(place: &Place, group: &Group, file: &str, absent: &str, endless: &str) -> Vec<Candidate> {
    let volumes = place.stack.volumes.iter().map(|volume| &volume.disk);
    let path = group.folder.join(file).display().to_string();
    let of = |disk: &Disk| -> Option<Candidate> {
        let key = disk.number(&place.root)?.to_string();
        let setting = Setting::Line { file: place.root.absolute(&path), key, absent: absent.to_string() };
        setting.read().ok().filter(|now| now != absent && now != endless)?;
        let switch = Switchable::Setting { setting, followers: Vec::new() };
        Some(Candidate { switch, ..candidate(place, &group.path, &path, None, endless) })
    };
    volumes.chain(&place.stack.disks).filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_try_is_of_a_check_and_has_one_meaning() {
        let mut names: Vec<&str> = TRIES.iter().flat_map(|row| row.also.iter().copied().chain([row.code])).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        for row in TRIES {
            assert!(CHECKS.iter().any(|check| check.code == row.code), "{}", row.code);
            assert!(!row.loads.is_empty(), "{}", row.code);
            assert!(names.iter().all(|name| !["all", "found"].contains(name)));
        }
        assert_eq!(tried_as("wbt").map(|row| row.code), Some("write-throttling"));
        assert!(tried_as("barrier").is_none());
    }
}
