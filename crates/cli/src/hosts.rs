//! Finds out whether this process is alone, leads others on many hosts, or serves the one that leads.

use std::net::ToSocketAddrs;
use std::sync::atomic::AtomicBool;

use anyhow::{Result, bail};
use halfpower_hosts::{HostsTarget, Launched, Lead, Opened, Turn};
use halfpower_measure::{HostPart, TargetBackend};
use halfpower_probe::Root;
use halfpower_record::HostLink;
use halfpower_spec::{HostLayout, Target};
use serde::{Deserialize, Serialize};

use crate::commands::{Purpose, backend};
use crate::measuring_args::CommonArgs;

/// What processes have to have in common.
const PROGRAM: &str = concat!("halfpower ", env!("CARGO_PKG_VERSION"), " (", env!("HALFPOWER_COMMIT"), ")");

/// Who measures.
pub enum Company {
    /// This process.
    Alone,
    /// This process, and those that it leads.
    Leads(Lead),
}

/// A target that a command measures, by the flags that every process has.
pub struct Asked<'a> {
    /// Which.
    pub target: Target,
    /// How.
    pub common: &'a CommonArgs,
}

/// What process 0 tells the others of a target.
#[derive(Serialize, Deserialize)]
struct Told {
    /// Which of the command's targets.
    nth: usize,
    purpose: Purpose,
    /// What files are called that several of them open.
    word: String,
}

/// Who measures what the command asks for; `None` where this process served another one, and nothing is left to be done.
///
/// # Errors
/// Where a launcher started several processes that cannot speak to each other, or process 0 is gone.
pub fn company(asked: &[Asked<'_>], stop: &AtomicBool) -> Result<Option<Company>> {
    let Some(ranks) = halfpower_hosts::join()? else { return Ok(Some(Company::Alone)) };
    if ranks.rank() == 0 {
        return Ok(Some(Company::Leads(Lead::new(ranks))));
    }
    let mut open = |told: &serde_json::Value, turn: Turn| {
        let told: Told = serde_json::from_value(told.clone()).map_err(|error| error.to_string())?;
        let asked = asked.get(told.nth).ok_or_else(|| "was started with other flags than rank 0".to_string())?;
        asked.open(&told, turn).map_err(|error| format!("{error:#}"))
    };
    halfpower_hosts::serve(ranks, PROGRAM, &mut open, stop)?;
    Ok(None)
}

impl Company {
    /// Opens the `nth` target that the command was asked for, wherever it is measured from.
    ///
    /// # Errors
    /// Where it cannot be opened, on any host; or layouts of hosts were asked for where there is one.
    pub fn open(&self, nth: usize, asked: &Asked<'_>, purpose: Purpose) -> Result<Box<dyn TargetBackend>> {
        let Self::Leads(lead) = self else {
            // Of a single process that a launcher started, all of the target is its part.
            let flag = asked.common.of_hosts().filter(|_| !Launched::is_there(|name| std::env::var(name).ok()));
            if let Some(flag) = flag {
                bail!(
                    "{flag} is about many hosts, and this process is alone: start it by mpirun, or leave the flag out"
                );
            }
            return backend(&asked.target, asked.common, &purpose, None);
        };
        if let Some(switch) = purpose.write_cache.filter(|_| !is_simulated(&asked.target)) {
            bail!("--write-cache {switch} switches a device of one host: leave it out of a study of many");
        }
        let word = format!("{:016x}", word_of_its_own());
        let told = Told { nth, purpose, word };
        let value = serde_json::to_value(&told)?;
        let mut open =
            |_: &serde_json::Value, turn: Turn| asked.open(&told, turn).map_err(|error| format!("{error:#}"));
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

/// That a launcher keeps processes to a part of the processors; `None` where they may use all.
fn note_of_binding(cpus: u32) -> Option<String> {
    let all = halfpower_os::processor::machine().len();
    (cpus > 0 && (cpus as usize) < all)
        .then(|| format!("rank 0 is kept to {cpus} of {all} processors; mpirun --bind-to none lets it use all of them"))
}

fn is_simulated(target: &Target) -> bool {
    matches!(target, Target::Simulated(_) | Target::System(_))
}

/// A number that no other study has.
fn word_of_its_own() -> u64 {
    use std::hash::{BuildHasher, Hasher, RandomState};
    RandomState::new().build_hasher().finish()
}

impl Asked<'_> {
    fn open(&self, told: &Told, turn: Turn) -> Result<Opened> {
        let Self { target, common } = self;
        let part = HostPart {
            rank: turn.rank,
            of: turn.size,
            layout: common.host_layout,
            interleave: common.interleave,
            reorder: common.reorder,
            word: told.word.clone(),
        };
        if part.layout == HostLayout::Shared && !matches!(target, Target::Path(_)) {
            bail!("--host-layout shared takes one folder, file or device that all hosts see, and {target} is none");
        }
        if part.reorder && !matches!(target, Target::Path(_)) {
            bail!("--reorder takes one folder, file or device that all hosts see, and {target} is none");
        }
        let target = backend(target, common, &told.purpose, Some((part, turn.is_beside_another)))?;
        Ok(Opened { target, link: self.link() })
    }

    /// The interface on the way to a file server.
    fn link(&self) -> Option<HostLink> {
        let root = Root::live();
        match &self.target {
            Target::Path(path) => halfpower_probe::link_to_path(&root, path),
            Target::Share(address) => {
                let found = address.server()?.to_socket_addrs();
                halfpower_probe::link_to(&root, found.ok()?.next()?.ip())
            }
            _ => None,
        }
    }
}
