//! Watches processes that a folder lays out, by counters alone.

use std::fs;
use std::path::Path;
use std::time::Duration;

use halfpower_watch::{Asked, Session, Settings, WatchError};

const COUNTERS: Settings = Settings { trace: false, most_cost: 0.01, record: None, probe: false };

fn lay(base: &Path, path: &str, text: &str) {
    let path = base.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A thread that has run this long, and waited this long for a processor. Numbers of processes are such as no kernel gives,
/// so that this one is none of them.
fn thread(base: &Path, [pid, parent, thread]: [u32; 3], name: &str, [ran_ns, ready_ns]: [u64; 2]) {
    let stat = format!("{thread} ({name}) S {parent}{} 0\n", " 0".repeat(47));
    let status = format!("Name:\t{name}\nTgid:\t{pid}\nPPid:\t{parent}\n");
    let mut folders = vec![format!("proc/{pid}/task/{thread}")];
    folders.extend((pid == thread).then(|| format!("proc/{pid}")));
    for folder in folders {
        lay(base, &format!("{folder}/stat"), &stat);
        lay(base, &format!("{folder}/status"), &status);
        lay(base, &format!("{folder}/schedstat"), &format!("{ran_ns} {ready_ns} 5\n"));
        lay(base, &format!("{folder}/cgroup"), "0::/system.slice/db.service\n");
        lay(base, &format!("{folder}/io"), "read_bytes: 0\nwrite_bytes: 0\n");
    }
}

fn processes(pids: &[u32], with_children: bool) -> Asked {
    Asked::Processes { asked: format!("pid {pids:?}"), pids: pids.to_vec(), with_children }
}

#[test]
fn what_is_not_there_is_said_in_one_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let begin = |asked: &Asked| Session::begin(asked, &COUNTERS, folder.path()).unwrap_err();
    let error = begin(&processes(&[9004711], true));
    assert!(matches!(error, WatchError::NoProcess { .. }), "{error}");
    assert!(error.to_string().starts_with("pid [9004711]: there is no such process"), "{error}");
    let group = Asked::Group { asked: "cgroup /x".into(), folder: folder.path().join("sys/fs/cgroup/x") };
    assert!(matches!(begin(&group), WatchError::NoGroup { .. }));
    let disk = Asked::Disk { asked: "device sdz".into(), device: "sdz".into() };
    assert!(matches!(begin(&disk), WatchError::NoDisk { .. }));
}

#[test]
fn processes_and_their_children_are_counted_from_the_beginning_of_the_watch() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path();
    thread(base, [9000100, 1, 9000100], "postgres", [5_000, 700]);
    thread(base, [9000100, 1, 9000101], "postgres", [1_000, 10]);
    thread(base, [9000200, 9000100, 9000200], "postgres", [9_000, 0]);
    thread(base, [9000300, 1, 9000300], "other", [1, 1]);
    lay(base, "proc/9000100/task/9000100/children", "9000200 ");
    let mut session = Session::begin(&processes(&[9000100], true), &COUNTERS, base).unwrap();
    let watched = session.so_far();
    assert_eq!((watched.subject.processes, watched.subject.threads), (2, 3));
    assert_eq!((watched.subject.name.as_str(), watched.subject.ended.as_deref()), ("postgres", None));
    assert_eq!(watched.subject.cgroup, "/system.slice/db.service");
    assert_eq!((watched.processors.own_ns, watched.processors.run_queue_ns), (0, Some(0)));
    assert!(watched.operations.is_empty() && watched.slices == 0 && watched.traced_ns == 0);
    assert!(watched.unseen.iter().any(|unseen| unseen.source == "the kernel's events"), "{:?}", watched.unseen);
    assert!(session.step(Duration::ZERO).unwrap());
    thread(base, [9000100, 1, 9000100], "postgres", [8_000, 900]);
    thread(base, [9000200, 9000100, 9000200], "postgres", [10_000, 50]);
    thread(base, [9000201, 9000100, 9000201], "postgres", [600, 6]);
    lay(base, "proc/9000100/task/9000100/children", "9000200 9000201 ");
    let (watched, captured) = session.finish().unwrap();
    assert_eq!((watched.processors.own_ns, watched.processors.busiest_thread_ns), (3_000 + 1_000 + 600, 3_000));
    assert_eq!(watched.processors.run_queue_ns, Some(200 + 50 + 6));
    assert_eq!((watched.subject.processes, watched.subject.threads), (3, 4));
    assert_eq!(captured, None, "it was not asked for");
}

#[test]
fn what_a_process_did_before_it_ended_is_counted_once() {
    const MIB: u64 = 1 << 20;
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path();
    let io = |pid: u32, read: u64| {
        lay(base, &format!("proc/{pid}/io"), &format!("read_bytes: {read}\nwrite_bytes: 0\n"));
    };
    let bytes = |session: &Session| -> u64 { session.so_far().seconds.iter().map(|second| second.own_bytes).sum() };
    thread(base, [9000100, 1, 9000100], "sh", [5_000, 0]);
    io(9000100, 7 * MIB);
    let mut session = Session::begin(&processes(&[9000100], true), &COUNTERS, base).unwrap();
    // A child reads, and has ended before it is looked at again; its parent has not waited for it.
    thread(base, [9000200, 9000100, 9000200], "dd", [4_000, 0]);
    io(9000200, 5 * MIB);
    lay(base, "proc/9000100/task/9000100/children", "9000200 ");
    std::thread::sleep(Duration::from_millis(1100));
    session.step(Duration::ZERO).unwrap();
    assert_eq!(bytes(&session), 5 * MIB);
    for path in ["proc/9000200/stat", "proc/9000200/task/9000200/stat"] {
        let stat = fs::read_to_string(base.join(path)).unwrap().replace(") S ", ") Z ");
        lay(base, path, &stat);
    }
    lay(base, "proc/9000200/task/9000200/schedstat", "6000 0 5\n");
    io(9000200, 8 * MIB);
    std::thread::sleep(Duration::from_millis(1100));
    session.step(Duration::ZERO).unwrap();
    assert_eq!((bytes(&session), session.so_far().processors.own_ns), (8 * MIB, 6_000));
    // It has waited for it, and has its counters.
    fs::remove_dir_all(base.join("proc/9000200")).unwrap();
    lay(base, "proc/9000100/task/9000100/children", "");
    io(9000100, 15 * MIB);
    let (watched, _) = session.finish().unwrap();
    assert_eq!(watched.seconds.iter().map(|second| second.own_bytes).sum::<u64>(), 8 * MIB);
    assert!(!watched.bytes_unseen);
}

#[test]
fn bytes_that_may_not_be_read_are_unseen_and_not_zero() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path();
    thread(base, [9000100, 1, 9000100], "dd", [5_000, 0]);
    fs::remove_file(base.join("proc/9000100/io")).unwrap();
    let session = Session::begin(&processes(&[9000100], true), &COUNTERS, base).unwrap();
    let (watched, _) = session.finish().unwrap();
    assert!(watched.bytes_unseen);
    assert!(watched.unseen.iter().any(|unseen| unseen.source == "/proc/PID/io"), "{:?}", watched.unseen);
}

#[test]
fn a_process_that_ends_ends_the_watch() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path();
    thread(base, [9000100, 1, 9000100], "dd", [5_000, 0]);
    let session = Session::begin(&processes(&[9000100], false), &COUNTERS, base).unwrap();
    fs::remove_dir_all(base.join("proc/9000100")).unwrap();
    let (watched, _) = session.finish().unwrap();
    assert!(watched.subject.ended.is_some());
    assert_eq!((watched.subject.processes, watched.subject.name.as_str()), (1, "dd"));
}

#[test]
fn limits_of_its_group_are_told_after_a_process_has_ended() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path();
    let group = "sys/fs/cgroup/system.slice/db.service";
    let read = |bytes: u64| lay(base, &format!("{group}/io.stat"), &format!("254:0 rbytes={bytes} rios=9\n"));
    thread(base, [9000100, 1, 9000100], "dd", [5_000, 0]);
    lay(base, "proc/self/mountinfo", "30 1 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    lay(base, &format!("{group}/io.max"), "254:0 rbps=1000000 wbps=max riops=max wiops=max\n");
    read(0);
    let mut session = Session::begin(&processes(&[9000100], true), &COUNTERS, base).unwrap();
    read(1_000_000);
    std::thread::sleep(Duration::from_millis(1100));
    session.step(Duration::ZERO).unwrap();
    fs::remove_dir_all(base.join("proc/9000100")).unwrap();
    let (watched, _) = session.finish().unwrap();
    let [limit] = watched.group_limits.as_slice() else { panic!("{:?}", watched.group_limits) };
    assert_eq!((limit.limits.as_str(), limit.limit), ("read_bps", 1e6));
    assert!(limit.used > 0.0, "{limit:?}");
}
