//! Simulates a power cut while a study is written: every image that the disk may hold must give its records.
//!
//! `strace` records what a study does to its folder. After a power cut, a disk holds everything that was synced, and
//! any subset of the other sectors; a created or removed name may exist or not until its folder is synced. The test
//! builds images by these rules at every step of the study and opens them as a user would.

use std::collections::BTreeMap;
use std::fs;
use std::process::{Command, Stdio};

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::crash::{APPEND_TO, committed, opened};
use crate::sample::{environment, question, record, records};
use halfpower_record::{Record, StudyFile};

/// Bytes that a disk writes atomically.
const SECTOR: usize = 512;
/// Records of the study whose power is cut.
const FEW_RECORDS: u32 = 3;
/// Records in the laboratory.
const MANY_RECORDS: u32 = 30;
/// Environment variable that holds the number of records for the child process.
const COUNT: &str = "HALFPOWER_TEST_COUNT";
const STUDY: &str = "study.halfpower";

/// One step of the study.
#[derive(Debug)]
enum Step {
    Made(String),
    /// The unnamed file got a name.
    Published(String),
    Written {
        file: String,
        at: usize,
        bytes: Vec<u8>,
    },
    Synced(String),
    SyncedFolder,
    Removed(String),
    Said(usize),
}

/// Bytes as `strace -xx` prints them: `\x0a` each.
fn bytes_of(text: &str) -> Vec<u8> {
    text.split("\\x").skip(1).map(|byte| u8::from_str_radix(&byte[..2], 16).expect("two digits")).collect()
}

/// The file of a descriptor such as `5</folder/name>`, in the hexadecimal digits of `strace -xx`; `None` if it is
/// outside the folder.
fn file_of(descriptor: &str, folder: &str) -> Option<String> {
    let path = String::from_utf8(bytes_of(descriptor.split_once('<')?.1.split('>').next()?)).ok()?;
    Some(path.strip_prefix(folder)?.trim_start_matches('/').to_string())
}

/// The step in a line of the trace, if any.
fn step(line: &str, folder: &str) -> Option<Step> {
    let (call, rest) = line.split_once(' ')?.1.trim_start().split_once('(')?;
    let (arguments, result) = rest.rsplit_once(" = ")?;
    if result.starts_with(['-', '?']) {
        return None;
    }
    let quoted = |number: usize| arguments.split('"').nth(2 * number + 1).map(bytes_of);
    let text = |number: usize| String::from_utf8(quoted(number)?).ok();
    match call {
        "openat" if arguments.contains("O_TMPFILE") || arguments.contains("O_CREAT") => {
            Some(Step::Made(file_of(result, folder)?))
        }
        "openat" => None,
        "linkat" => Some(Step::Published(text(1)?)),
        "write" if arguments.starts_with("1<") => committed(&String::from_utf8_lossy(&quoted(0)?)).map(Step::Said),
        "write" => Some(Step::Written { file: file_of(arguments, folder)?, at: 0, bytes: quoted(0)? }),
        "pwrite64" => {
            let at = arguments.rsplit(", ").next()?.trim_end_matches(')').parse().ok()?;
            Some(Step::Written { file: file_of(arguments, folder)?, at, bytes: quoted(0)? })
        }
        "fsync" | "fdatasync" => {
            let file = file_of(arguments, folder)?;
            Some(if file.is_empty() { Step::SyncedFolder } else { Step::Synced(file) })
        }
        "unlink" => Some(Step::Removed(text(0)?.strip_prefix(folder)?.trim_start_matches('/').to_string())),
        other => {
            let digits: String = folder.bytes().map(|byte| format!("\\x{byte:02x}")).collect();
            assert!(!line.contains(&digits), "the model of a disk does not know {other}: {line}");
            None
        }
    }
}

/// The steps of a study in its folder.
fn steps(count: u32) -> Option<Vec<Step>> {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    let trace = tempfile::NamedTempFile::new().unwrap();
    let calls = "openat,creat,write,pwrite64,writev,pwritev,pwritev2,copy_file_range,fallocate,ftruncate,fsync,fdatasync,\
                 sync_file_range,link,linkat,symlink,rename,renameat,renameat2,unlink,unlinkat,mkdir";
    let status = Command::new("strace")
        .args(["-f", "-y", "-xx", "-s", "10000000", "-e", &format!("trace={calls}"), "-o"])
        .arg(trace.path())
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "power_loss::child_that_loses_power", "--nocapture"])
        .env(APPEND_TO, folder.join(STUDY))
        .env(COUNT, count.to_string())
        .stdout(Stdio::null())
        .status();
    let Ok(status) = status else {
        assert!(std::env::var_os("HALFPOWER_NO_SKIP").is_none(), "may not be skipped: strace is missing");
        eprintln!("skipped: strace is missing");
        return None;
    };
    assert!(status.success());
    let text = fs::read_to_string(trace.path()).unwrap();
    Some(text.lines().filter_map(|line| step(line, folder.to_str().unwrap())).collect())
}

/// Not a test: the child process whose study is traced.
#[test]
fn child_that_loses_power() {
    let (Ok(path), Ok(count)) = (std::env::var(APPEND_TO), std::env::var(COUNT)) else { return };
    let mut file = StudyFile::create(path.as_ref(), &question(), &environment("6.1")).unwrap();
    for number in 0..count.parse().unwrap() {
        file.append(&record(number)).unwrap();
        println!("\ncommitted {}", number + 1);
    }
}

/// One file: what the disk certainly holds, and what may have reached it.
#[derive(Debug, Default, Clone)]
struct Inode {
    certain: Vec<u8>,
    pending: Vec<(usize, Vec<u8>)>,
}

fn put(bytes: &mut Vec<u8>, at: usize, new: &[u8]) {
    bytes.resize(bytes.len().max(at + new.len()), 0);
    bytes[at..at + new.len()].copy_from_slice(new);
}

/// A write, split into the sectors that a disk may keep independently.
fn sectors(at: usize, bytes: &[u8]) -> Vec<(usize, Vec<u8>)> {
    let first = (SECTOR - at % SECTOR).min(bytes.len());
    let (head, rest) = bytes.split_at(first);
    let mut found = vec![(at, head.to_vec())];
    found.extend(rest.chunks(SECTOR).enumerate().map(|(number, chunk)| (at + first + number * SECTOR, chunk.to_vec())));
    found
}

/// A folder on a disk.
#[derive(Debug, Default)]
struct Disk {
    inodes: Vec<Inode>,
    /// Names in the running system.
    names: BTreeMap<String, usize>,
    certain_names: BTreeMap<String, usize>,
    pending_names: Vec<(String, Option<usize>)>,
    acknowledged: usize,
}

impl Disk {
    fn named(&mut self, name: &str) -> &mut Inode {
        &mut self.inodes[self.names[name]]
    }

    fn rename(&mut self, name: String, inode: Option<usize>) {
        match inode {
            Some(inode) => self.names.insert(name.clone(), inode),
            None => self.names.remove(&name),
        };
        self.pending_names.push((name, inode));
    }

    fn take(&mut self, step: &Step) {
        match step {
            Step::Made(name) if self.names.contains_key(name) => {}
            Step::Made(name) => {
                self.inodes.push(Inode::default());
                let inode = self.inodes.len() - 1;
                // An unnamed file is identified by its number until it gets a name.
                match name.starts_with('#') {
                    true => drop(self.names.insert(name.clone(), inode)),
                    false => self.rename(name.clone(), Some(inode)),
                }
            }
            Step::Published(name) => self.rename(name.clone(), Some(self.inodes.len() - 1)),
            Step::Written { file, at, bytes } => self.named(file).pending.extend(sectors(*at, bytes)),
            Step::Synced(file) => {
                let inode = self.named(file);
                for (at, bytes) in std::mem::take(&mut inode.pending) {
                    put(&mut inode.certain, at, &bytes);
                }
            }
            Step::SyncedFolder => {
                for (name, inode) in std::mem::take(&mut self.pending_names) {
                    match inode {
                        Some(inode) => self.certain_names.insert(name, inode),
                        None => self.certain_names.remove(&name),
                    };
                }
            }
            Step::Removed(name) => self.rename(name.clone(), None),
            Step::Said(count) => self.acknowledged = *count,
        }
    }

    /// A possible image after a power cut; each uncertain sector and name is kept with probability `chance`.
    fn image(&self, chance: f64, random: &mut Xoshiro256PlusPlus) -> BTreeMap<String, Vec<u8>> {
        let mut names = self.certain_names.clone();
        for (name, inode) in &self.pending_names {
            match inode {
                _ if !random.random_bool(chance) => None,
                Some(inode) => names.insert(name.clone(), *inode),
                None => names.remove(name),
            };
        }
        let mut kept = |inode: &Inode| {
            let mut bytes = inode.certain.clone();
            for (at, sector) in &inode.pending {
                if random.random_bool(chance) {
                    put(&mut bytes, *at, sector);
                }
            }
            bytes
        };
        names.into_iter().map(|(name, inode)| (name, kept(&self.inodes[inode]))).collect()
    }
}

/// Opens the image as a user would, and asserts that it holds at least the `acknowledged` records.
fn assert_kept(image: &BTreeMap<String, Vec<u8>>, acknowledged: usize, whole: &[Record], case: &str) {
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    image.iter().for_each(|(name, bytes)| fs::write(folder.path().join(name), bytes).unwrap());
    let path = folder.path().join(STUDY);
    if !path.exists() {
        assert_eq!(acknowledged, 0, "{case}: the study is gone");
        return;
    }
    let found = opened(&path).unwrap_or_else(|error| panic!("{case}: {error}"));
    assert!(found.len() >= acknowledged, "{case}: {} of {acknowledged} records", found.len());
    assert!(found == whole[..found.len()], "{case}: wrong records");
}

/// Cuts the power after each step, and returns the number of images opened.
fn cut(count: u32, tries: u32) -> Option<u32> {
    let steps = steps(count)?;
    let whole = records(count);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(11);
    let mut disk = Disk::default();
    let mut images = 0;
    for (number, step) in steps.iter().enumerate() {
        disk.take(step);
        let chances = [0.0, 1.0, 0.5].into_iter().chain((3..tries).map(|_| random.clone().random()));
        for chance in chances.take(tries as usize).collect::<Vec<f64>>() {
            let image = disk.image(chance, &mut random);
            let case = format!("after step {number} of {}, {step:?}, chance {chance}", steps.len());
            assert_kept(&image, disk.acknowledged, &whole, &case);
            images += 1;
        }
    }
    assert_eq!(disk.acknowledged, count as usize, "the trace does not show the whole study");
    Some(images)
}

#[test]
fn a_cut_of_the_power_loses_no_record() {
    cut(FEW_RECORDS, 3);
}

/// Tests for the laboratory.
mod lab {
    use super::*;

    #[test]
    #[ignore = "lab: many records, and many images of each step"]
    fn a_cut_of_the_power_loses_no_record() {
        if let Some(images) = cut(MANY_RECORDS, 12) {
            println!("{images} images of a study of {MANY_RECORDS} records, 0 lost");
        }
    }
}
