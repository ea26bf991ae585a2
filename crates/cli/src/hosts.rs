//! Determines whether this process measures alone, leads processes on many hosts, or serves the leading one.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Result, bail};
use halfpower_hosts::{HostsTarget, Launched, Lead, Opened, Turn};
use halfpower_measure::{HostPart, TargetBackend};
use halfpower_probe::Root;
use halfpower_record::HostLink;
use halfpower_share::{Access, Credentials, server_of};
use halfpower_spec::{HostLayout, Target};
use serde::{Deserialize, Serialize};

use crate::commands::{Purpose, TargetRequest, backend};

/// Program and version, which all processes must have in common.
const PROGRAM: &str = concat!("halfpower ", env!("CARGO_PKG_VERSION"), " (", env!("HALFPOWER_COMMIT"), ")");

/// How long the name of a server is looked up that the connection has already found.
const LOOK_UP: Duration = Duration::from_secs(5);

/// The processes that measure.
pub enum Processes {
    /// Only this process.
    Alone,
    /// This process and those that it leads.
    Leads(Lead),
}

/// Message in which process 0 tells the others about a target.
#[derive(Serialize, Deserialize)]
struct TargetMessage {
    /// Index of the target among the command's targets.
    nth: usize,
    purpose: Purpose,
    /// Part of the name of files that several processes open; unique to the study.
    word: String,
}

/// The processes that carry out the command; `None` if this process served process 0 and is now done.
///
/// # Errors
/// If a launcher started several processes that cannot communicate, or process 0 is gone.
pub fn join_processes(asked: &[TargetRequest<'_>], stop: &AtomicBool) -> Result<Option<Processes>> {
    let Some(ranks) = halfpower_hosts::join()? else { return Ok(Some(Processes::Alone)) };
    if ranks.rank() == 0 {
        return Ok(Some(Processes::Leads(Lead::new(ranks))));
    }
    let mut open = |reported: &serde_json::Value, turn: Turn| {
        let reported: TargetMessage = serde_json::from_value(reported.clone()).map_err(|error| error.to_string())?;
        let asked = asked.get(reported.nth).ok_or_else(|| "was started with other flags than rank 0".to_string())?;
        asked.open(&reported, turn).map_err(|error| format!("{error:#}"))
    };
    halfpower_hosts::serve(ranks, PROGRAM, &mut open, stop)?;
    Ok(None)
}

impl Processes {
    /// Opens the command's `nth` target on all hosts that measure it.
    ///
    /// # Errors
    /// If any host cannot open it, or flags for many hosts were given to a process that is alone.
    pub fn open(&self, nth: usize, asked: &TargetRequest<'_>, purpose: Purpose) -> Result<Box<dyn TargetBackend>> {
        let Self::Leads(lead) = self else {
            // A launcher may start a single process; its part is then the whole target, so the flags are valid.
            let flag = asked.common.of_hosts().filter(|_| !Launched::is_there(|name| std::env::var(name).ok()));
            if let Some(flag) = flag {
                bail!(
                    "{flag} is about many hosts, and this process is alone: start it by mpirun, or leave the flag out"
                );
            }
            return backend(asked, &purpose, None);
        };
        if let Some(switch) = purpose.write_cache.filter(|_| !is_simulated(&asked.target)) {
            bail!("--write-cache {switch} switches a device of one host: leave it out of a study of many");
        }
        let word = format!("{:016x}", word_of_its_own());
        let reported = TargetMessage { nth, purpose, word };
        let value = serde_json::to_value(&reported)?;
        let mut open =
            |_: &serde_json::Value, turn: Turn| asked.open(&reported, turn).map_err(|error| format!("{error:#}"));
        let mut target = HostsTarget::meet(lead, PROGRAM, &value, &mut open)?;
        if let Some(note) = asked.common.note_of_layout(lead.ranks().size()) {
            target.note(&note);
        }
        if let Some(note) = note_of_binding(target.environment().machine.cpus) {
            target.note(&note);
        }
        Ok(Box::new(target))
    }
}

/// A note that the launcher binds processes to some of the processors; `None` if they may use all.
fn note_of_binding(cpus: u32) -> Option<String> {
    let all = halfpower_os::processor::machine().len();
    (cpus > 0 && (cpus as usize) < all)
        .then(|| format!("rank 0 is kept to {cpus} of {all} processors; mpirun --bind-to none lets it use all of them"))
}

fn is_simulated(target: &Target) -> bool {
    matches!(target, Target::Simulated(_) | Target::System(_))
}

/// A random number, different for each study.
fn word_of_its_own() -> u64 {
    use std::hash::{BuildHasher, Hasher, RandomState};
    RandomState::new().build_hasher().finish()
}

impl TargetRequest<'_> {
    fn open(&self, reported: &TargetMessage, turn: Turn) -> Result<Opened> {
        let Self { target, common, .. } = self;
        let part = HostPart {
            rank: turn.rank,
            of: turn.size,
            layout: common.host_layout,
            interleave: common.interleave,
            reorder: common.reorder,
            word: reported.word.clone(),
        };
        if part.layout == HostLayout::Shared && !matches!(target, Target::Path(_)) {
            bail!("--host-layout shared takes one folder, file or device that all hosts see, and {target} is none");
        }
        if part.reorder && !matches!(target, Target::Path(_)) {
            bail!("--reorder takes one folder, file or device that all hosts see, and {target} is none");
        }
        let target = backend(self, &reported.purpose, Some((part, turn.is_beside_another)))?;
        Ok(Opened { target, link: self.link() })
    }

    /// The network interface that leads to the file server; `None` if there is none.
    fn link(&self) -> Option<HostLink> {
        let root = Root::live();
        match &self.target {
            Target::Path(path) => halfpower_probe::link_to_path(&root, path),
            Target::Share(address) => {
                let stop = halfpower_os::interrupt::handed_out();
                let access = Access { credentials: Credentials::default(), timeout: LOOK_UP, stop };
                halfpower_probe::link_to(&root, server_of(address, &access)?.ip())
            }
            _ => None,
        }
    }
}
