//! Connects threads of one process as if they were processes on many hosts; for tests.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::{HostsError, Ranks};

/// One of several threads that make runs together.
pub struct InProcess {
    rank: u32,
    all: Arc<Vec<Inbox>>,
    /// How far its clock is ahead of the machine's, in nanoseconds.
    ahead_ns: Arc<AtomicI64>,
}

/// Messages sent to one thread.
#[derive(Default)]
struct Inbox {
    /// By the rank of the sender.
    messages: Mutex<HashMap<u32, VecDeque<Vec<u8>>>>,
    changed: Condvar,
    /// Whether the thread that owns it has ended.
    is_gone: AtomicBool,
    received_bytes: AtomicU64,
}

impl Inbox {
    fn messages(&self) -> MutexGuard<'_, HashMap<u32, VecDeque<Vec<u8>>>> {
        self.messages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl InProcess {
    /// Makes `size` of them, in the order of their ranks.
    pub fn all(size: u32) -> Vec<Self> {
        let all: Arc<Vec<Inbox>> = Arc::new((0..size).map(|_| Inbox::default()).collect());
        (0..size).map(|rank| Self { rank, all: Arc::clone(&all), ahead_ns: Arc::default() }).collect()
    }

    /// How far its clock is ahead of the machine's, in nanoseconds; tests may change it.
    pub fn ahead_ns(&self) -> Arc<AtomicI64> {
        Arc::clone(&self.ahead_ns)
    }

    /// A function that returns the bytes of the messages received so far.
    pub fn received_bytes(&self) -> impl Fn() -> u64 + Send + use<> {
        let all = Arc::clone(&self.all);
        let rank = self.rank as usize;
        move || all[rank].received_bytes.load(Ordering::Relaxed)
    }
}

impl Ranks for InProcess {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn size(&self) -> u32 {
        self.all.len() as u32
    }

    fn send(&self, to: u32, bytes: &[u8]) -> Result<(), HostsError> {
        let inbox = &self.all[to as usize];
        if inbox.is_gone.load(Ordering::SeqCst) {
            return Err(HostsError::Lost { rank: to });
        }
        inbox.messages().entry(self.rank).or_default().push_back(bytes.to_vec());
        inbox.changed.notify_all();
        Ok(())
    }

    fn receive(&self, from: u32) -> Result<Vec<u8>, HostsError> {
        let own = &self.all[self.rank as usize];
        let mut messages = own.messages();
        loop {
            if let Some(bytes) = messages.get_mut(&from).and_then(VecDeque::pop_front) {
                own.received_bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
                return Ok(bytes);
            }
            if self.all[from as usize].is_gone.load(Ordering::SeqCst) {
                return Err(HostsError::Lost { rank: from });
            }
            messages = own.changed.wait(messages).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn clock_unix_ns(&self) -> i64 {
        crate::ranks::unix_ns() + self.ahead_ns.load(Ordering::Relaxed)
    }
}

impl Drop for InProcess {
    fn drop(&mut self) {
        self.all[self.rank as usize].is_gone.store(true, Ordering::SeqCst);
        for inbox in self.all.iter() {
            // Hold the lock, so that no receiver misses the notification between its check and its wait.
            let _messages = inbox.messages();
            inbox.changed.notify_all();
        }
    }
}
