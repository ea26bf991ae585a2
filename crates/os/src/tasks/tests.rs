//! Tests what is read of processes that a test lays out, and of this one.

use std::fs::OpenOptions;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{OpenOptionsExt, symlink};

use super::*;

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// The `stat` of a thread, with 7 ticks of processor time, 3 of children, and 5 of waiting for block I/O.
fn stat(id: u32, name: &str, state: &str, parent: u32) -> String {
    format!(
        "{id} ({name}) {state} {parent} 1 1 0 -1 4194304 99 0 0 0 4 3 2 1 20 0 1 0 5490445 3133440 395 \
         18446744073709551615 1 1 1 0 0 0 0 0 0 0 0 0 17 0 0 0 5 0 0 1 1 1 1 1 1 1 0\n"
    )
}

fn tick_ns() -> u64 {
    1_000_000_000 / ticks_a_second()
}

#[test]
fn a_thread_is_read_as_the_kernel_counts_it() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    write(root, "proc/7/task/7/stat", &stat(7, "a) (b c", "S", 1));
    write(root, "proc/7/task/7/schedstat", "8000000 2000000 31\n");
    write(root, "proc/7/task/7/cgroup", "4:memory:/\n0::/system.slice/x.service\n");
    write(root, "proc/7/task/9/stat", &stat(9, "worker", "Z", 1));
    write(root, "proc/7/task/9/schedstat", "0 0 0\n");
    write(root, "proc/7/io", "rchar: 1\nwchar: 2\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 5\n");
    write(root, "proc/sys/kernel/task_delayacct", "1\n");
    let first = task(root, 7, 7).unwrap();
    let expected = Task {
        pid: 7,
        parent: 1,
        name: "a) (b c".to_string(),
        cgroup: "/system.slice/x.service".to_string(),
        processor_ns: 8_000_000,
        children_ns: 3 * tick_ns(),
        run_queue_ns: Some(2_000_000),
        block_io_ns: Some(5 * tick_ns()),
        read_bytes: 4096,
        write_bytes: 8192,
        tells_bytes: true,
        exists: true,
    };
    assert_eq!(first, expected);
    let second = task(root, 7, 9).unwrap();
    assert_eq!((second.processor_ns, second.run_queue_ns), (7 * tick_ns(), None), "the scheduler does not count");
    assert_eq!((second.read_bytes, second.write_bytes, second.exists), (0, 0, false));
    assert_eq!((second.children_ns, second.tells_bytes), (0, true), "they stand at the first thread");
    std::fs::remove_file(root.join("proc/7/io")).unwrap();
    assert!(!task(root, 7, 7).unwrap().tells_bytes);
    write(root, "proc/sys/kernel/task_delayacct", "0\n");
    assert_eq!(task(root, 7, 7).unwrap().block_io_ns, None, "delays are not counted");
    assert_eq!((task(root, 7, 8), task(root, 6, 6)), (None, None));
    assert_eq!(threads(root, 7), [7, 9]);
}

#[test]
fn a_thread_that_never_waited_for_block_io_has_waited_for_no_time_also_on_older_kernels() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let never = stat(7, "a", "S", 1).replace(" 17 0 0 0 5 ", " 17 0 0 0 0 ");
    write(root, "proc/7/task/7/stat", &never);
    assert_eq!(task(root, 7, 7).unwrap().block_io_ns, None, "nothing tells whether it is counted");
    write(root, "proc/1/stat", &stat(1, "systemd", "S", 0));
    assert_eq!(task(root, 7, 7).unwrap().block_io_ns, Some(0));
}

#[test]
fn a_control_group_is_that_of_the_unified_hierarchy_or_of_an_older_one() {
    assert_eq!(cgroup("0::/a/b\n"), "/a/b");
    assert_eq!(cgroup("9:name=systemd:/s\n4:cpu,cpuacct:/c\n7:blkio:/d:e\n0::/\n"), "/d:e");
    assert_eq!(cgroup("9:name=systemd:/s\n7:blkio:/\n"), "/s");
    assert_eq!((cgroup("0::/\n"), cgroup("")), ("/".to_string(), "/".to_string()));
}

#[test]
fn processes_are_found_in_a_group_and_below_a_parent() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    write(root, "sys/fs/cgroup/x/cgroup.procs", "30\n0\n4\n");
    write(root, "sys/fs/cgroup/x/y/z/cgroup.procs", "5\n30\n");
    write(root, "sys/fs/cgroup/other/cgroup.procs", "6\n");
    for folder in [PathBuf::from("/sys/fs/cgroup/x"), root.join("sys/fs/cgroup/x")] {
        assert_eq!(processes_of_group(root, &folder), [4, 5, 30]);
    }
    assert_eq!(processes_of_group(root, Path::new("/sys/fs/cgroup/none")), Vec::<u32>::new());
    for (pid, parent) in [(1, 0), (10, 1), (11, 10), (12, 11), (13, 1), (14, 10)] {
        write(root, &format!("proc/{pid}/stat"), &stat(pid, "sh", "S", parent));
    }
    assert_eq!(descendants(root, 10), [11, 12, 14], "by the parents of all");
    write(root, "proc/10/task/10/children", "14 ");
    write(root, "proc/10/task/15/children", "11 ");
    write(root, "proc/11/task/11/children", "");
    assert_eq!(descendants(root, 10), [11, 14], "by the kernel's lists");
    assert_eq!(descendants(root, 99), Vec::<u32>::new());
}

#[test]
fn open_files_are_told_with_their_flags_and_what_holds_no_data_is_not() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    write(root, "data", "data");
    let file = root.join("data");
    fs::create_dir_all(root.join("proc/7/fd")).unwrap();
    let open = |fd: u32, target: &Path, flags: i32| {
        symlink(target, root.join(format!("proc/7/fd/{fd}"))).unwrap();
        write(root, &format!("proc/7/fdinfo/{fd}"), &format!("pos:\t4096\nflags:\t0{flags:o}\nmnt_id:\t24\nino:\t3\n"));
        open_file(root, 7, fd)
    };
    let metadata = file.metadata().unwrap();
    let plain = open(3, &file, libc::O_RDWR).unwrap();
    let expected = OpenFile {
        path: file.clone(),
        direct: false,
        durable: false,
        append: false,
        position: 4096,
        device: DeviceNumber::of(metadata.dev()),
        inode: metadata.ino(),
        is_block_device: false,
    };
    assert_eq!(plain, expected);
    let marked = |fd: u32, flags: i32| open(fd, &file, flags).map(|file| [file.direct, file.durable, file.append]);
    assert_eq!(marked(4, libc::O_WRONLY | libc::O_DIRECT), Some([true, false, false]));
    assert_eq!(marked(5, libc::O_WRONLY | libc::O_SYNC), Some([false, true, false]));
    assert_eq!(marked(6, libc::O_DSYNC | libc::O_APPEND), Some([false, true, true]));
    for (fd, other) in [(7, "/dev/null"), (8, "/proc/self/stat"), (9, "/proc/self"), (10, "/nowhere")] {
        assert_eq!(open(fd, Path::new(other), 0), None, "{other}");
    }
    assert_eq!(open_file(root, 7, 11), None);
}

#[test]
fn this_process_is_read_as_it_is() {
    let root = Path::new("/");
    let own = std::process::id();
    let me = rustix::thread::gettid().as_raw_nonzero().get() as u32;
    assert!(threads(root, own).contains(&me));
    assert!(task(root, own, me).is_some_and(|task| task.exists && task.pid == own && task.cgroup.starts_with('/')));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    let file = OpenOptions::new().create(true).append(true).custom_flags(libc::O_DSYNC).open(&path).unwrap();
    let found = open_file(root, own, file.as_raw_fd() as u32).unwrap();
    assert_eq!((found.inode, found.append, found.durable), (file.metadata().unwrap().ino(), true, true));
    let (reader, _writer) = io::pipe().unwrap();
    assert_eq!(open_file(root, own, reader.as_raw_fd() as u32), None);
    let mut child = std::process::Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
    assert!(descendants(root, own).contains(&child.id()));
    drop(child.stdin.take());
    child.wait().unwrap();
}

#[test]
fn pressure_is_read_of_the_machine_and_of_a_group() {
    let folder = tempfile::tempdir().unwrap();
    let line = |kind: &str, total: u64| format!("{kind} avg10=0.54 avg60=5.95 avg300=26.65 total={total}\n");
    write(folder.path(), "machine/io", &(line("some", 7) + &line("full", 5)));
    write(folder.path(), "machine/cpu", &(line("some", 9) + &line("full", 0)));
    write(folder.path(), "machine/irq", &line("full", 9));
    let time = |resource: &str, some_ns, full_ns| PressureTime { resource: resource.to_string(), some_ns, full_ns };
    let machine = [time("io", 7_000, Some(5_000)), time("cpu", 9_000, None)];
    assert_eq!(pressure(&folder.path().join("machine")), machine);
    write(folder.path(), "group/memory.pressure", &(line("some", 3) + &line("full", 0)));
    write(folder.path(), "group/cpu.pressure", &(line("some", 4) + &line("full", 2)));
    let group = [time("cpu", 4_000, Some(2_000)), time("memory", 3_000, Some(0))];
    assert_eq!(pressure(&folder.path().join("group")), group);
    assert!(pressure(&folder.path().join("none")).is_empty());
}
