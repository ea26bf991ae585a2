//! Sends the requests of a probe from a thread that everybody else goes before, each while the disks have nothing to do.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};
use std::time::Duration;

use halfpower_os::lone_reads::{LoneReads, go_last};
use halfpower_record::{Latency, ProbeStop};

use super::requests::Requests;
use crate::session::clock::monotonic_ns;

/// Pause after a request, at least; and so many times as long as it took.
const PAUSE: Duration = Duration::from_millis(20);
const PAUSE_TIMES: u32 = 9;
/// Pause after a look at disks that had something to do.
const LOOK: Duration = Duration::from_millis(2);
/// Longest rest while none may be sent.
const REST: Duration = Duration::from_secs(1);

/// What the thread and its owner share.
#[derive(Debug)]
struct Shared {
    /// Until when requests may be sent.
    until_ns: u64,
    /// Whether the owner is gone.
    is_left: bool,
    /// Whether one was sent since the owner asked.
    has_sent: bool,
    requests: Requests,
}

/// The thread's owner: the requests end with it.
#[derive(Debug)]
pub(crate) struct Sender {
    shared: Arc<Mutex<Shared>>,
    thread: Option<Thread>,
}

impl Sender {
    /// Starts the thread, which sends nothing before it may. `disks` are files that tell how many requests a disk has in
    /// progress.
    pub(crate) fn start(reads: LoneReads, disks: Vec<PathBuf>, requests: Requests) -> Self {
        let shared = Arc::new(Mutex::new(Shared { until_ns: 0, is_left: false, has_sent: false, requests }));
        let its = Arc::clone(&shared);
        // A request to a disk that hangs never comes back: nobody waits for the thread.
        let started = thread::Builder::new().name("probe".to_string()).spawn(move || send(&its, reads, &disks));
        let thread = started.ok().map(|started| started.thread().clone());
        if thread.is_none() {
            locked(&shared).requests.stop(ProbeStop::Unread);
        }
        Self { shared, thread }
    }

    /// Lets it send until this time of the monotonic clock.
    pub(crate) fn send_until(&self, until_ns: u64) {
        locked(&self.shared).until_ns = until_ns;
        self.wake();
    }

    /// Ends it for this reason.
    pub(crate) fn stop(&self, why: ProbeStop) {
        locked(&self.shared).requests.stop(why);
    }

    /// Whether anything was sent since this was asked last.
    pub(crate) fn has_sent(&self) -> bool {
        std::mem::take(&mut locked(&self.shared).has_sent)
    }

    /// Whether no more is sent.
    pub(crate) fn is_over(&self) -> bool {
        locked(&self.shared).requests.are_over()
    }

    /// Requests that were sent, their latencies by size, and why it stopped early.
    pub(crate) fn told(&self) -> (u64, Vec<(u64, Latency)>, Option<ProbeStop>) {
        let shared = locked(&self.shared);
        (shared.requests.sent(), shared.requests.latency().to_vec(), shared.requests.stopped())
    }

    fn wake(&self) {
        if let Some(thread) = &self.thread {
            thread.unpark();
        }
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        locked(&self.shared).is_left = true;
        self.wake();
    }
}

fn locked(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The work of the thread.
fn send(shared: &Mutex<Shared>, mut reads: LoneReads, disks: &[PathBuf]) {
    if go_last().is_err() {
        return locked(shared).requests.stop(ProbeStop::Unread);
    }
    loop {
        let may_send = {
            let state = locked(shared);
            if state.is_left || state.requests.are_over() {
                return;
            }
            monotonic_ns() < state.until_ns
        };
        if !may_send {
            thread::park_timeout(REST);
        } else if disks.iter().all(|disk| is_idle(disk)) {
            thread::sleep(one(shared, &mut reads));
        } else {
            locked(shared).requests.was_busy();
            thread::sleep(LOOK);
        }
    }
}

/// Sends one request; the pause after it.
fn one(shared: &Mutex<Shared>, reads: &mut LoneReads) -> Duration {
    let next = {
        let mut state = locked(shared);
        let next = state.requests.choose();
        state.has_sent |= next.is_some();
        next
    };
    let Some(request) = next else { return Duration::ZERO };
    match reads.read(request.bytes as usize, request.offset) {
        Ok(took_ns) => {
            locked(shared).requests.took(request, took_ns);
            let took = Duration::from_nanos(took_ns.unwrap_or(0));
            PAUSE.max(took.saturating_mul(PAUSE_TIMES))
        }
        Err(_) => {
            locked(shared).requests.stop(ProbeStop::Unread);
            Duration::ZERO
        }
    }
}

/// Whether a disk has no request in progress: reads and writes. What does not tell is not idle.
fn is_idle(inflight: &Path) -> bool {
    let told = fs::read_to_string(inflight).unwrap_or_default();
    let mut counts = told.split_whitespace();
    counts.next() == Some("0") && counts.next() == Some("0")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;
    use crate::session::probe::requests::MOST_REQUESTS;

    /// A file of a MiB where direct I/O is most likely to work; `None` if it is not.
    fn file(folder: &Path) -> Option<(PathBuf, LoneReads)> {
        let path = folder.join("data");
        fs::write(&path, vec![7; 1 << 20]).unwrap();
        fs::File::open(&path).unwrap().sync_all().unwrap();
        match LoneReads::open(&path, 8192) {
            Ok(reads) => Some((path, reads)),
            Err(why) => {
                assert!(std::env::var_os("HALFPOWER_NO_SKIP").is_none(), "may not be skipped: {why}");
                eprintln!("skipped: {why}");
                None
            }
        }
    }

    fn shared(until_ns: u64) -> Mutex<Shared> {
        let requests = Requests::new(&[4096, 8192], 1 << 20, 3);
        Mutex::new(Shared { until_ns, is_left: false, has_sent: false, requests })
    }

    #[test]
    fn a_probe_reads_only_is_bounded_and_changes_nothing() {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let Some((path, mut reads)) = file(folder.path()) else { return };
        let told = |path: &Path| {
            let seen = fs::metadata(path).unwrap();
            [seen.mtime(), seen.mtime_nsec(), seen.ctime(), seen.ctime_nsec(), seen.atime(), seen.atime_nsec()]
        };
        let before = told(&path);
        let shared = shared(u64::MAX);
        // Many more than there may be, and without the pauses.
        for _ in 0..2 * MOST_REQUESTS {
            let is_over = locked(&shared).requests.are_over();
            let pause = one(&shared, &mut reads);
            assert!(is_over || pause >= PAUSE || locked(&shared).requests.are_over(), "{pause:?}");
        }
        let state = locked(&shared);
        assert!(state.requests.are_over() && state.requests.sent() <= MOST_REQUESTS && state.has_sent);
        assert_eq!(told(&path), before, "its times stay");
        assert_eq!(fs::read(&path).unwrap(), vec![7; 1 << 20]);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing was made");
    }

    #[test]
    fn the_thread_ends_with_its_owner_and_sends_nothing_before_it_may() {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let Some((_, reads)) = file(folder.path()) else { return };
        let sender = Sender::start(reads, Vec::new(), Requests::new(&[4096], 1 << 20, 3));
        assert_eq!((sender.told().0, sender.has_sent(), sender.is_over()), (0, false, false));
        sender.stop(ProbeStop::ReadsSlower);
        assert!(sender.is_over());
        sender.send_until(u64::MAX);
        assert_eq!((sender.told().0, sender.told().2), (0, Some(ProbeStop::ReadsSlower)));
    }

    #[test]
    fn a_disk_with_nothing_in_progress_is_idle() {
        let folder = tempfile::tempdir().unwrap();
        let inflight = folder.path().join("inflight");
        assert!(!is_idle(&inflight), "nobody tells");
        for (text, expected) in
            [("       0        0\n", true), ("       1        0\n", false), ("0 3\n", false), ("", false)]
        {
            fs::write(&inflight, text).unwrap();
            assert_eq!(is_idle(&inflight), expected, "{text:?}");
        }
    }
}
