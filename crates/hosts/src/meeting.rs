//! Lets processes meet: they compare versions, find out who shares a computer, and open the target in turn there.

use std::collections::HashMap;
use std::rc::Rc;

use halfpower_measure::{MeasureError, TargetBackend};
use halfpower_record::{HostLink, HostPlace, Level};
use halfpower_spec::InOrder;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::crew::{Crew, agree};
use crate::tree::{bring_together, tell};
use crate::{HostsError, Ranks};

/// The place of a process among those that open the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// Its rank.
    pub rank: u32,
    /// Number of processes.
    pub size: u32,
    /// Whether another process of this study has opened the target on this computer before.
    pub is_beside_another: bool,
}

/// A process, with the levels of its path.
pub(crate) type PlaceOnPath = (HostPlace, Vec<Level>);

/// What a process opened.
pub struct Opened {
    /// The target.
    pub target: Box<dyn TargetBackend>,
    /// The network interface on the way to it.
    pub link: Option<HostLink>,
}

/// Opens a target as process 0 asks for it; the error is a sentence.
pub type Opening<'a> = dyn FnMut(&Value, Turn) -> Result<Opened, String> + 'a;

/// What a process says about itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Greeting {
    rank: u32,
    host: String,
    /// The program and its version.
    program: String,
    /// Identifies its computer until the next boot.
    computer: String,
}

/// What process 0 concludes from the greetings.
#[derive(Serialize, Deserialize)]
struct Known {
    /// For each process, the lowest rank on its computer.
    computers: Vec<u32>,
    /// Why they cannot work together, if they cannot.
    refusal: Option<String>,
}

/// Meets all processes and opens the target on each as `asked`. Process 0 also gets the places of all processes, each
/// with the levels of its path; the others get none.
///
/// # Errors
/// If a process runs another version or cannot open the target; the sentence is the same on all.
pub(crate) fn meet(
    ranks: Rc<dyn Ranks>,
    program: &str,
    asked: &Value,
    open: &mut Opening<'_>,
) -> Result<(Crew, Opened, Vec<PlaceOnPath>), MeasureError> {
    let rank = ranks.rank();
    let host = read("/proc/sys/kernel/hostname").unwrap_or_else(|| "an unknown host".to_string());
    let computer = read("/proc/sys/kernel/random/boot_id").unwrap_or_else(|| format!("{host}, rank {rank}"));
    let greeting = Greeting { rank, host: host.clone(), program: program.to_string(), computer };
    let computers = greet(ranks.as_ref(), greeting)?;
    let first = computers[rank as usize];
    let turn = Turn { rank, size: ranks.size(), is_beside_another: first != rank };
    // Process 0 goes first, because it lays out what is shared. Other processes of a computer wait for its first one,
    // so that they do not take its use of the target for a stranger's.
    let own_round = if rank == 0 {
        0
    } else if first == rank {
        1
    } else {
        2
    };
    let mut opened = None;
    for round in 0..3 {
        let mut own = Ok(());
        if round == own_round {
            match open(asked, turn) {
                Ok(target) => opened = Some(target),
                Err(what) => own = Err(MeasureError::Elsewhere { what }),
            }
        }
        agree(ranks.as_ref(), &host, own.as_ref().copied())?;
    }
    let opened = opened.expect("every process has its round");
    let environment = opened.target.environment();
    let device = environment.device.as_ref().map(|device| device.name.clone());
    let place = HostPlace { rank, machine: environment.machine.clone(), device, link: opened.link.clone() };
    let join = |mut all: Vec<PlaceOnPath>, others| {
        all.extend(others);
        all
    };
    let mut places =
        bring_together(ranks.as_ref(), vec![(place, environment.levels.clone())], join)?.unwrap_or_default();
    places.order_by_key(|(place, _)| place.rank);
    Ok((Crew { ranks, computers, host }, opened, places))
}

/// The first line of a kernel file.
fn read(path: &str) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    text.lines().next().map(str::to_string).filter(|line| !line.is_empty())
}

/// For each process, the lowest rank on its computer.
fn greet(ranks: &dyn Ranks, own: Greeting) -> Result<Vec<u32>, MeasureError> {
    let join = |mut all: Vec<Greeting>, others| {
        all.extend(others);
        all
    };
    let all = bring_together(ranks, vec![own], join)?;
    let known: Known = tell(ranks, all.map(known))?;
    match known.refusal {
        Some(what) => Err(MeasureError::Elsewhere { what }),
        None if known.computers.len() == ranks.size() as usize => Ok(known.computers),
        None => Err(HostsError::Unread { rank: 0, why: "it knows other processes".to_string() }.into()),
    }
}

fn known(mut greetings: Vec<Greeting>) -> Known {
    greetings.order_by_key(|greeting| greeting.rank);
    let mut firsts: HashMap<String, u32> = HashMap::new();
    let computers =
        greetings.iter().map(|greeting| *firsts.entry(greeting.computer.clone()).or_insert(greeting.rank)).collect();
    let own = &greetings[0];
    let other = greetings.iter().find(|greeting| greeting.program != own.program);
    let refusal = other.map(|other| {
        format!(
            "rank {} on {} is {}, and rank 0 on {} is {}: install the same version on all hosts",
            other.rank, other.host, other.program, own.host, own.program
        )
    });
    Known { computers, refusal }
}
