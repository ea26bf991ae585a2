//! Watches a process that writes, with the kernel's events.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use halfpower_record::{OperationKind, Wait};
use halfpower_watch::{Asked, Recording, Session, Settings};

use crate::skip;

/// Steps of 100 ms after which the process must have been seen to write.
const MOST_STEPS: usize = 100;
/// Writes after which there is enough to look at.
const ENOUGH: u64 = 20;

/// A process that is ended when the test ends.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_process_that_writes_past_the_page_cache_is_seen_to_wait_for_the_disk() {
    if let Err(why) = halfpower_os::trace::available() {
        return skip(&why.to_string());
    }
    let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let file = folder.path().join("data");
    let dd = |count: &str| {
        let mut dd = Command::new("dd");
        dd.args(["if=/dev/zero", "bs=4096", "oflag=direct", "conv=notrunc"]);
        dd.arg(format!("of={}", file.display())).arg(format!("count={count}"));
        dd.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        dd
    };
    if !dd("1").status().is_ok_and(|status| status.success()) {
        return skip("dd cannot write past the page cache where the sources are");
    }
    let running = Running(dd("50000").spawn().unwrap());
    let asked = Asked::Processes { asked: "dd".into(), pids: vec![running.0.id()], with_children: true };
    let settings = Settings { record: Some(Recording { names: true }), ..Settings::default() };
    let mut session = Session::begin(&asked, &settings, Path::new("/")).unwrap();
    let writes = |session: &Session| {
        let seen = session.so_far().operations;
        seen.iter().filter(|one| one.kind == OperationKind::Write).map(|one| one.count).sum::<u64>()
    };
    for _ in 0..MOST_STEPS {
        if !session.step(Duration::from_millis(100)).unwrap() || writes(&session) >= ENOUGH {
            break;
        }
    }
    let (watched, captured) = session.finish().unwrap();
    drop(running);
    if watched.places.iter().all(|place| place.disks.is_empty()) {
        return skip("the sources are not on a disk");
    }
    let write = watched.operations.iter().find(|one| one.kind == OperationKind::Write).expect("it writes");
    assert!(write.count >= ENOUGH && write.direct == Some(true), "{write:#?}");
    assert_eq!(write.sizes[0].0, 4096);
    let waited = |wait: Wait| write.waits.iter().find(|(of, _)| *of == wait).map_or(0, |(_, ns)| *ns);
    let sum: u64 = write.waits.iter().map(|(_, ns)| ns).sum();
    assert_eq!(u128::from(sum), write.latency.sum_ns());
    assert!(waited(Wait::Device) > 0, "{write:#?}");
    assert_eq!((watched.subject.name.as_str(), watched.subject.processes), ("dd", 1));
    let place = &watched.places[write.place.expect("its file lies somewhere")];
    assert!(watched.requests.iter().any(|one| one.own == Some(true) && one.writes && place.disks.contains(&one.disk)));
    assert!(watched.cost.events > 0 && watched.processors.own_ns > 0);
    let captured = captured.expect("it was asked for");
    assert_eq!((captured.subject.as_str(), captured.lanes), ("dd", 1), "{captured:#?}");
    let its = captured.files.iter().position(|one| one.name.as_deref() == file.to_str() && one.direct);
    let its = its.expect("its file has its name");
    let writes: Vec<_> = captured.operations.iter().filter(|one| one.file as usize == its).collect();
    assert!(writes.len() as u64 >= ENOUGH, "{writes:#?}");
    // What began between two slices is not there.
    let follow = writes.windows(2).filter(|pair| pair[1].offset == pair[0].offset + 4096).count();
    assert!(follow * 10 >= (writes.len() - 1) * 9, "dd writes one block after the other: {writes:#?}");
    assert!(writes.iter().all(|one| one.kind == OperationKind::Write && one.bytes == 4096 && !one.cached));
    assert!(writes.iter().all(|one| one.at_ns < captured.slices[one.slice as usize]), "{captured:#?}");
}

#[test]
#[ignore = "gate: reads 256 MiB past the page cache, for some seconds"]
fn a_probe_beside_a_process_that_reads_is_bounded_and_no_neighbour() {
    if let Err(why) = halfpower_os::trace::available() {
        return skip(&why.to_string());
    }
    let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let file = folder.path().join("data");
    fs::write(&file, vec![5; 256 << 20]).unwrap();
    fs::File::open(&file).unwrap().sync_all().unwrap();
    let told = || fs::metadata(&file).map(|seen| (seen.mtime(), seen.mtime_nsec(), seen.ctime(), seen.len())).unwrap();
    let before = told();
    let mut dd = Command::new("dd");
    dd.args(["of=/dev/null", "bs=4096", "iflag=direct"]).arg(format!("if={}", file.display()));
    let running = Running(dd.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    let asked = Asked::Processes { asked: "dd".into(), pids: vec![running.0.id()], with_children: true };
    let settings = Settings { probe: true, ..Settings::default() };
    let mut session = Session::begin(&asked, &settings, Path::new("/")).unwrap();
    for _ in 0..MOST_STEPS {
        if !session.step(Duration::from_millis(100)).unwrap() {
            break;
        }
    }
    let (watched, _) = session.finish().unwrap();
    drop(running);
    assert_eq!(told(), before);
    assert!(watched.others.iter().all(|other| other.pid != std::process::id()), "{:#?}", watched.others);
    let Some(probe) = watched.probe else {
        let said = watched.unseen.iter().any(|unseen| unseen.source.contains("--probe"));
        assert!(said, "it says why there is none: {:#?}", watched.unseen);
        return;
    };
    assert!(probe.requests <= 200 && probe.place < watched.places.len(), "{probe:#?}");
    let answered: u64 = probe.latency.iter().map(|(_, latency)| latency.count()).sum();
    assert!(answered <= probe.requests, "{probe:#?}");
}

#[test]
#[ignore = "gate: two processes write beside each other, for some seconds"]
fn syncs_of_others_are_counted() {
    if let Err(why) = halfpower_os::trace::available() {
        return skip(&why.to_string());
    }
    let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let dd = |name: &str, flag: &str, count: &str| {
        let mut dd = Command::new("dd");
        dd.args(["if=/dev/zero", "bs=4096", "conv=notrunc"]).arg(format!("oflag={flag}"));
        dd.arg(format!("of={}", folder.path().join(name).display())).arg(format!("count={count}"));
        dd.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        dd
    };
    if !dd("data", "direct", "1").status().is_ok_and(|status| status.success()) {
        return skip("dd cannot write past the page cache where the sources are");
    }
    let running = Running(dd("data", "direct", "50000").spawn().unwrap());
    let other = Running(dd("beside", "dsync", "50000").spawn().unwrap());
    let asked = Asked::Processes { asked: "dd".into(), pids: vec![running.0.id()], with_children: true };
    let mut session = Session::begin(&asked, &Settings::default(), Path::new("/")).unwrap();
    let syncs = |session: &Session| {
        let others = session.so_far().others;
        others.iter().find(|one| one.pid == other.0.id()).map_or(0, |one| one.syncs)
    };
    for _ in 0..MOST_STEPS {
        if !session.step(Duration::from_millis(100)).unwrap() || syncs(&session) >= ENOUGH {
            break;
        }
    }
    let seen = syncs(&session);
    let (watched, _) = session.finish().unwrap();
    if watched.places.iter().all(|place| place.file_system != "ext4" || place.disks.is_empty()) {
        return skip("the sources are not on an ext4 on a disk, whose syncs of others are traced");
    }
    assert!(seen >= ENOUGH, "{:#?}", watched.others);
}
