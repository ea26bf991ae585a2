//! Causes faults on real paths, and compares what the user sees with a golden file: exit code and messages.
//!
//! Each case is a script in its own mount namespace and folder. `$HP` is the program. The golden file holds its error
//! output and the output lines with one of the case's words, with every number written as `N`.

#[allow(dead_code, reason = "the tests of studies use all of it")]
mod program;

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// One fault.
struct Case {
    name: &'static str,
    /// Programs that it needs beyond those of every Linux.
    needs: &'static [&'static str],
    script: &'static str,
    /// Lines of standard output with one of these words are kept.
    shows: &'static [&'static str],
}

/// A loop device on a file of 64 MiB in a tmpfs of 20 MiB.
const FAILING_DEVICE: &str = "mkdir t; mount -t tmpfs -o size=20m none t; truncate -s 64M t/img; \
    dev=$(losetup -f --show t/img); trap 'losetup -d $dev' EXIT\n";

/// `nobody COMMANDS` runs commands without privileges; `group BYTES COMMANDS` runs them in a control group with that
/// memory limit; `longer WORD COMMANDS` runs them with `$times` 1, 5 and 25 until their output has the word, as on a slow
/// machine it may only then, and prints what the last ones said; `end_server` kills this namespace's `fuse2fs`.
const WORDS: &str = r#"
# What a user may lock is of all processes of that user: each has one of its own.
nobody() { chmod 777 .; setpriv --reuid $((50000 + $$ % 10000)) --regid 54321 --clear-groups bash -c "$1"; }
group() {
    top=/sys/fs/cgroup; limit=memory.max
    if [ -d $top/memory ]; then top=$top/memory; limit=memory.limit_in_bytes; else echo +memory > $top/cgroup.subtree_control; fi
    mkdir $top/halfpower-$$; echo $1 > $top/halfpower-$$/$limit
    bash -c "echo \$\$ > $top/halfpower-$$/cgroup.procs; $2"
    for i in $(seq 600); do rmdir $top/halfpower-$$ 2>/dev/null && break; sleep 0.1; done
}
longer() {
    for times in 1 5 25; do
        rm -f s.halfpower* s.html
        eval "$2" >out 2>err
        status=$?
        grep -q "$1" out && break
    done
    cat out
    cat err >&2
    return $status
}
end_server() {
    for server in $(pgrep -x fuse2fs); do
        [ /proc/$server/ns/mnt -ef /proc/$$/ns/mnt ] && kill -9 $server
    done
}
"#;

const CASES: &[Case] = &[
    Case {
        name: "no room for the file that is laid out",
        needs: &["mkfs.ext4"],
        script: "truncate -s 40M img; mkfs.ext4 -q img; mkdir m; mount -o loop img m; $HP run m --size 64MiB -d 1s",
        shows: &[],
    },
    Case {
        name: "no room for the study file",
        needs: &[],
        script: "mkdir t; mount -t tmpfs -o size=64k none t; $HP study sim: --output t/s.halfpower",
        shows: &[],
    },
    Case {
        name: "a read-only file system",
        needs: &[],
        script: "mkdir m; mount -t tmpfs -o ro none m; $HP study m --output s.halfpower",
        shows: &[],
    },
    Case {
        name: "a limit on the size of files, at the target",
        needs: &[],
        script: "ulimit -f 4096; $HP run . --size 64MiB -d 1s",
        shows: &[],
    },
    Case {
        name: "a limit on the size of files, at the study file",
        needs: &[],
        script: "ulimit -f 16; $HP study sim: --output s.halfpower",
        shows: &[],
    },
    Case {
        name: "a device that fails half of the reads",
        needs: &[],
        script: "truncate -s 64M img; dev=$(losetup -f --show img); trap 'losetup -d $dev' EXIT; truncate -s 32M img; \
                 longer EIO '$HP run $dev --rw randread --bs 4KiB -d $((200 * times))ms'",
        shows: &["errors"],
    },
    Case {
        name: "a device that fails most writes",
        needs: &[],
        script: "longer ENOSPC '$HP run $dev --overwrite --rw randwrite -d $((200 * times))ms'; longer 'failed with ENOSPC' \
                 '$HP study $dev --overwrite --budget $((5 * times))s --output s.halfpower' | grep -o -m 1 'failed with ENOSPC'",
        shows: &["errors", "failed with ENOSPC"],
    },
    Case {
        name: "a device that fails to flush",
        needs: &[],
        script: "longer EIO '$HP run $dev --overwrite --rw write --cache both -d $((200 * times))ms'",
        shows: &["errors"],
    },
    Case {
        name: "a file that somebody cuts",
        needs: &[],
        script: "longer EOF 'dd if=/dev/urandom of=f bs=1M count=64 status=none; \
                 (sleep $((times - 1)).4; truncate -s 1M f) & $HP run f --rw randread -d $((2 * times))s; wait'",
        shows: &["EOF"],
    },
    Case {
        name: "a file system whose server ends",
        needs: &["fuse2fs", "mkfs.ext4"],
        script: "longer ENOTCONN 'umount -l m 2>/dev/null; rm -f img; truncate -s 100M img; mkfs.ext4 -q img; mkdir -p m; \
                 fuse2fs img m -o rw,fakeroot; dd if=/dev/urandom of=m/f bs=1M count=64 status=none; \
                 (sleep $times; end_server) & $HP run m/f --rw randread -d $((3 * times))s; wait' | grep -o ENOTCONN; \
                 $HP run m/f -d 1s; umount -l m",
        shows: &["ENOTCONN"],
    },
    Case {
        name: "a quota, at the target and at the study file",
        needs: &[],
        script: "mkdir m; $PYTHON $FIXTURES/quota.py m 200000 & for i in $(seq 1200); do mountpoint -q m && break; sleep 0.1; done; \
                 $HP run m --size 64MiB -d 1s; $HP study sim: --output m/s.halfpower; umount -l m",
        shows: &[],
    },
    Case {
        name: "a file system whose server may hold all of it",
        needs: &["fuse2fs", "mkfs.ext4"],
        script: "truncate -s 200M img; mkfs.ext4 -q img; mkdir m; fuse2fs img m -o rw,fakeroot; \
                 longer \"a cache's\" '$HP study m --size 64MiB --budget $((8 * times))s --output s.halfpower'; umount -l m",
        shows: &["a cache's"],
    },
    Case {
        name: "an overlay, whose inodes have no pages of their own",
        needs: &["mkfs.ext4"],
        script: "truncate -s 300M img; mkfs.ext4 -q img; mkdir l o; mount -o loop img l; mkdir l/low l/up l/work; \
                 mount -t overlay none -o lowerdir=l/low,upperdir=l/up,workdir=l/work o; \
                 longer \"a cache's\" '$HP study o --size 64MiB --budget $((8 * times))s --output s.halfpower'; \
                 run() { $HP run o --size 64MiB --rw read --cache both -d 300ms --json $1 | grep -o '\"cached_bytes\": .*'; }; \
                 is() { for i in $(seq 20); do [ \"$(run \"$2\")\" = \"\\\"cached_bytes\\\": $1,\" ] && echo \"$3\" && break; done; }; \
                 is 67108864 '--page-cache warm' 'a warm cache is counted'; is 0 '' 'a cold cache is empty'; umount -l o l",
        shows: &["a cache's", "warm", "cold"],
    },
    Case {
        name: "less memory to lock than the buffers of all threads",
        needs: &["setpriv"],
        script: "nobody 'ulimit -l 384; for times in 1 5 25; do rm -f s.halfpower* s.html; $HP study . --size 64MiB --threads 2 \
                 --experiments random --rw read --bs 64KiB --iodepth 4 --budget $((4 * times))s --output s.halfpower >out; \
                 $HP report s.halfpower --warnings >warnings; grep -q registered warnings && break; done; cat warnings'",
        shows: &["locked", "registered"],
    },
    Case {
        name: "a file in memory that the control group does not allow",
        needs: &[],
        script: "mkdir t; mount -t tmpfs none t; group 128M '$HP run t --size 256MiB -d 200ms; \
                 $HP run t -d 200ms --cache both | grep -o throughput'",
        shows: &["throughput"],
    },
    Case {
        name: "no /proc",
        needs: &[],
        script: "mount -t tmpfs none /proc; $HP run . --size 64MiB -d 200ms",
        shows: &[],
    },
    Case {
        name: "no /sys",
        needs: &[],
        script: "mount -t tmpfs none /sys; $HP study . --size 64MiB --budget 4s --output s.halfpower >out; \
                 $HP report s.halfpower --warnings",
        shows: &["the device beneath"],
    },
    Case {
        name: "io_uring forbidden by a container's profile",
        needs: &["bwrap"],
        script: "bwrap --dev-bind / / --seccomp 9 $HP study . --size 64MiB --budget 4s --output s.halfpower 9<profile >out; \
                 $HP report s.halfpower --warnings; \
                 bwrap --dev-bind / / --seccomp 9 $HP run . --engine io_uring -d 200ms 9<profile",
        shows: &["io_uring"],
    },
    Case {
        name: "88 MiB of address space",
        needs: &[],
        script: "ulimit -v 90112; $HP run . --size 64MiB -d 200ms",
        shows: &[],
    },
];

fn is_had(program: &str) -> bool {
    let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).stdout(Stdio::null()).status();
    found.is_ok_and(|status| status.success())
}

/// The Python interpreter for `fixtures/quota.py`.
fn python() -> String {
    std::env::var("HALFPOWER_PYTHON").unwrap_or_else(|_| "python3".to_string())
}

/// A seccomp profile in classic BPF that forbids io_uring, tracing and mounting, like those of containers.
fn profile() -> Vec<u8> {
    const FORBIDDEN: [libc::c_long; 5] = [
        libc::SYS_io_uring_setup,
        libc::SYS_io_uring_enter,
        libc::SYS_io_uring_register,
        libc::SYS_perf_event_open,
        libc::SYS_mount,
    ];
    const LOAD_NUMBER: u16 = 0x20;
    const JUMP_IF_EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    let instruction = |code: u16, if_true: usize, value: u32| {
        [&code.to_ne_bytes()[..], &[if_true as u8, 0], &value.to_ne_bytes()].concat()
    };
    let mut program = vec![instruction(LOAD_NUMBER, 0, 0)];
    for (number, call) in FORBIDDEN.iter().enumerate() {
        program.push(instruction(JUMP_IF_EQUAL, FORBIDDEN.len() - number, *call as u32));
    }
    program.push(instruction(RETURN, 0, libc::SECCOMP_RET_ALLOW));
    program.push(instruction(RETURN, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32));
    program.concat()
}

/// Replaces numbers by `N`.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let after_number = rest.trim_start_matches(|letter: char| letter.is_ascii_digit());
        if after_number.len() < rest.len() {
            // Digits after a comma or point within a number belong to it.
            let joined =
                after_number.strip_prefix([',', '.']).filter(|more| more.starts_with(|c: char| c.is_ascii_digit()));
            if joined.is_none() {
                plain.push('N');
            }
            rest = joined.unwrap_or(after_number);
        } else {
            plain.push(letter);
            rest = &rest[letter.len_utf8()..];
        }
    }
    plain
}

/// The line without the list of errors that failed requests had: which come beside the first is a matter of moments.
fn without_kinds(line: &str) -> String {
    match line.split_once(" (").zip(line.split_once("); ")) {
        Some(((before, _), (_, after))) if before.ends_with("requests failed: N") => format!("{before}; {after}"),
        _ => line.to_string(),
    }
}

fn reported(case: &Case) -> String {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    fs::write(folder.path().join("profile"), profile()).unwrap();
    let before = if case.script.contains("$dev --overwrite") { FAILING_DEVICE } else { "" };
    // Use the same path on every machine, because line breaks depend on it.
    let script = format!("{WORDS}mount --bind . /mnt; cd /mnt; {before}{}", case.script);
    let output = Command::new("unshare")
        .args(["-m", "bash", "-c", &script])
        .current_dir(folder.path())
        .env("HP", env!("CARGO_BIN_EXE_halfpower"))
        .env("FIXTURES", concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures"))
        .env("PYTHON", python())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let shown = String::from_utf8_lossy(&output.stdout);
    let shown = shown.lines().filter(|line| case.shows.iter().any(|word| line.contains(word)));
    let said = program::said_of_its_own(&output);
    // A line of progress comes each ten seconds, which only a slow machine needs.
    let said = said.lines().filter(|line| !line.contains(" left at most"));
    let lines: Vec<String> =
        said.chain(shown).map(|line| format!("  {}\n", without_kinds(&plain(line.trim())))).collect();
    format!(
        "{}: exit {}\n{}\n",
        case.name,
        output.status.code().map_or("none".to_string(), |code| code.to_string()),
        lines.concat()
    )
}

#[test]
#[ignore = "gate: mounts file systems and loop devices as root"]
fn what_a_user_sees_of_each_fault_is_known() {
    let needs = CASES.iter().flat_map(|case| case.needs).chain(&["losetup", "unshare"]);
    let mut missing: Vec<&str> = needs.copied().filter(|program| !is_had(program)).collect();
    let library = Command::new(python()).args(["-c", "import mfusepy"]).stderr(Stdio::null()).status();
    if !library.is_ok_and(|status| status.success()) {
        missing.push("mfusepy");
    }
    let mounts = Command::new("unshare").args(["-m", "true"]).status().is_ok_and(|status| status.success());
    if !mounts || !missing.is_empty() {
        let what = format!("faults on real paths take root and {missing:?}");
        assert!(std::env::var_os("HALFPOWER_NO_SKIP").is_none(), "may not be skipped: {what}");
        eprintln!("skipped: {what}");
        return;
    }
    let reported: String = CASES.iter().map(reported).collect();
    let golden = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/real_faults.txt");
    if std::env::var_os("HALFPOWER_BLESS").is_some() {
        fs::write(&golden, &reported).unwrap();
    }
    assert_eq!(reported, fs::read_to_string(golden).unwrap());
}
