//! Lays out trees of /proc and /sys that imitate other machines.

#![allow(dead_code, reason = "each test file uses its own part of the tree")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use halfpower_probe::{DeviceNumber, Root, TargetIdentity, probe};
use halfpower_record::{Environment, Level};
use halfpower_spec::{Bytes, Rate};

/// An imitated system.
pub struct Tree {
    folder: tempfile::TempDir,
}

impl Tree {
    /// A bare-metal machine with two processors and no disk.
    pub fn bare_metal() -> Self {
        // Hundreds of small files: in memory where there is room for them.
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        let tree = Self { folder: folder.expect("a temporary folder") };
        tree.file("proc/sys/kernel/osrelease", "6.9.1-test\n");
        tree.file(
            "proc/cpuinfo",
            "processor\t: 0\nmodel name\t: Test CPU\nflags\t\t: fpu sse2\n\n\
             processor\t: 1\nmodel name\t: Test CPU\nflags\t\t: fpu sse2\n",
        );
        tree.file("proc/self/status", "Name:\tx\nCpus_allowed:\t3\nCpus_allowed_list:\t0-1\n");
        tree.file("proc/meminfo", "MemTotal:       16384000 kB\nMemFree:  1 kB\n");
        tree.file("proc/self/mountinfo", "");
        tree
    }

    /// The same machine as the guest of a hypervisor.
    pub fn guest() -> Self {
        let tree = Self::bare_metal();
        tree.file("proc/cpuinfo", "processor\t: 0\nmodel name\t: Test CPU\nflags\t\t: fpu hypervisor\n");
        tree.file("sys/class/dmi/id/product_name", "KVM\n");
        tree
    }

    pub fn root(&self) -> Root {
        Root::at(self.folder.path())
    }

    pub fn root_has(&self, path: &str) -> bool {
        self.folder.path().join(path).exists()
    }

    pub fn file(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().expect("a file in a folder")).expect("its folder");
        fs::write(path, text).expect("a file");
    }

    pub fn link(&self, path: &str, to: &str) {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().expect("a link in a folder")).expect("its folder");
        fs::create_dir_all(self.folder.path().join(to)).expect("what it leads to");
        symlink(self.folder.path().join(to), path).expect("a link");
    }

    pub fn remove(&self, path: &str) {
        fs::remove_file(self.folder.path().join(path)).expect("a file to remove");
    }

    /// Adds a disk of 1 GiB at `sys`; the last part of `sys` is its name.
    pub fn disk(&self, sys: &str, number: &str) {
        self.block(sys, number);
        for (file, text) in [
            ("size", "2097152\n"),
            ("queue/logical_block_size", "512\n"),
            ("queue/physical_block_size", "4096\n"),
            ("queue/rotational", "0\n"),
            ("queue/write_cache", "write back\n"),
            ("queue/scheduler", "none [mq-deadline] kyber\n"),
            ("queue/read_ahead_kb", "128\n"),
        ] {
            self.file(&format!("{sys}/{file}"), text);
        }
    }

    /// Adds a partition at `sys`, a folder inside its disk's folder.
    pub fn partition(&self, sys: &str, number: &str) {
        self.block(sys, number);
        self.file(&format!("{sys}/partition"), "1\n");
    }

    fn block(&self, sys: &str, number: &str) {
        self.file(&format!("{sys}/dev"), format!("{number}\n"));
        self.link(&format!("sys/dev/block/{number}"), sys);
        self.link(&format!("sys/class/block/{}", Self::name(sys)), sys);
    }

    /// Puts `above` on top of `below`; both are sysfs folders.
    pub fn stands_on(&self, above: &str, below: &str) {
        self.link(&format!("{above}/slaves/{}", Self::name(below)), below);
    }

    fn name(sys: &str) -> &str {
        Path::new(sys).file_name().and_then(|name| name.to_str()).expect("a name")
    }

    pub fn pcie(&self, function: &str, speed: &str, width: &str) {
        self.file(&format!("{function}/current_link_speed"), format!("{speed}\n"));
        self.file(&format!("{function}/current_link_width"), format!("{width}\n"));
    }

    /// Adds a line to the mount table.
    pub fn mount(&self, number: &str, point: &str, kind: &str, source: &str, options: &str) {
        let path = self.folder.path().join("proc/self/mountinfo");
        let table = fs::read_to_string(&path).unwrap_or_default();
        let line = format!("30 1 {number} / {point} rw,relatime shared:1 - {kind} {source} {options}\n");
        fs::write(path, table + &line).expect("the mount table");
    }

    /// Probes a folder on the file system with this number.
    pub fn folder(&self, path: &str, number: &str) -> Environment {
        self.seen(path, number, false)
    }

    /// Probes a block device.
    pub fn device(&self, path: &str, number: &str) -> Environment {
        self.seen(path, number, true)
    }

    fn seen(&self, path: &str, number: &str, is_device: bool) -> Environment {
        probe(&self.root(), &Self::target(path, number, is_device))
    }

    /// A folder on the file system with this number, or the block device with this number.
    pub fn target(path: &str, number: &str, is_device: bool) -> TargetIdentity {
        let number = DeviceNumber::parse(number).expect("a number");
        let block = Bytes(if is_device { 0 } else { 4096 });
        TargetIdentity { path: path.into(), number, is_device, block, filesystem: None }
    }
}

/// Names of the levels, in order.
pub fn names(environment: &Environment) -> Vec<&str> {
    environment.levels.iter().map(|level| level.name.as_str()).collect()
}

/// The level with this name.
pub fn level<'a>(environment: &'a Environment, name: &str) -> &'a Level {
    let found = environment.levels.iter().find(|level| level.name == name);
    found.unwrap_or_else(|| panic!("no level {name} among {:?}", names(environment)))
}

/// Asserts a level's peak advertised performance, to a byte a second.
#[track_caller]
pub fn assert_pap(environment: &Environment, name: &str, bytes_a_second: f64) {
    let pap = level(environment, name).pap.unwrap_or(Rate(f64::NAN)).0;
    assert!((pap - bytes_a_second).abs() < 1.0, "{name}: {pap} is not {bytes_a_second}");
}
