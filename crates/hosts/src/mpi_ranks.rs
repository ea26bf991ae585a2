//! Connects processes over MPI, using only point-to-point messages.

use std::time::{Duration, Instant};

use mpi::Threading;
use mpi::environment::Universe;
use mpi::point_to_point::{Destination, MatchedReceiveVec, Source};
use mpi::request::scope;
use mpi::topology::{Communicator, SimpleCommunicator};

use crate::{HostsError, Ranks};

/// How long a process polls before it begins to sleep between polls.
const EAGER: Duration = Duration::from_micros(100);
/// The shortest and the longest sleep between two polls.
const SLEEPS: [Duration; 2] = [Duration::from_micros(20), Duration::from_millis(2)];
/// A sleep is the time waited so far, divided by this.
const OF_WAITED: u32 = 16;

/// This process among those that MPI's launcher started.
pub struct MpiRanks {
    world: SimpleCommunicator,
    /// Process ID of the launcher.
    parent: u32,
    /// Ends MPI when dropped; last field, so that it is dropped last.
    _universe: Universe,
}

impl MpiRanks {
    /// Starts MPI; only this thread may call it.
    ///
    /// # Errors
    /// If it was started before in this process, or does not support processes with threads.
    pub(crate) fn start() -> Result<Self, HostsError> {
        let parent = std::os::unix::process::parent_id();
        let started = mpi::initialize_with_threading(Threading::Funneled);
        let (universe, threading) =
            started.ok_or_else(|| HostsError::NotStarted("it was started in this process before".to_string()))?;
        if threading < Threading::Funneled {
            return Err(HostsError::NotStarted("it takes no process with threads".to_string()));
        }
        Ok(Self { world: universe.world(), parent, _universe: universe })
    }

    /// Fails if the launcher has gone: the awaited message may then never come.
    fn launcher_is_there(&self) -> Result<(), HostsError> {
        if std::os::unix::process::parent_id() == self.parent { Ok(()) } else { Err(HostsError::LauncherLost) }
    }
}

impl Ranks for MpiRanks {
    fn rank(&self) -> u32 {
        self.world.rank() as u32
    }

    fn size(&self) -> u32 {
        self.world.size() as u32
    }

    fn send(&self, to: u32, bytes: &[u8]) -> Result<(), HostsError> {
        let process = self.world.process_at_rank(to as i32);
        let patience = Patience::new();
        scope(|scope| {
            let mut request = process.immediate_send(scope, bytes);
            loop {
                match request.test() {
                    Ok(_) => return Ok(()),
                    Err(under_way) => request = under_way,
                }
                patience.wait();
            }
        })
    }

    fn receive(&self, from: u32) -> Result<Vec<u8>, HostsError> {
        let process = self.world.process_at_rank(from as i32);
        let patience = Patience::new();
        loop {
            if let Some(arrived) = process.immediate_matched_probe() {
                let (bytes, _) = arrived.matched_receive_vec::<u8>();
                return Ok(bytes);
            }
            self.launcher_is_there()?;
            patience.wait();
        }
    }
}

/// A wait that leaves the processor to those that measure: it polls at first, then sleeps longer and longer.
struct Patience(Instant);

impl Patience {
    fn new() -> Self {
        Self(Instant::now())
    }

    /// Yields or sleeps once.
    fn wait(&self) {
        let waited = self.0.elapsed();
        if waited < EAGER {
            std::thread::yield_now();
        } else {
            std::thread::sleep((waited / OF_WAITED).clamp(SLEEPS[0], SLEEPS[1]));
        }
    }
}
