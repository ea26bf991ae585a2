//! Lets processes meet: they greet, find out who shares a computer, and open the target one after the other there.

use std::collections::HashMap;
use std::rc::Rc;

use halfpower_measure::{MeasureError, TargetBackend};
use halfpower_record::{HostLink, HostPlace, Level};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::crew::{Crew, agree};
use crate::tree::{bring_together, tell};
use crate::{HostsError, Ranks};

/// What a process opens the target as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// Its number.
    pub rank: u32,
    /// How many there are.
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
    /// The interface on the way to it.
    pub link: Option<HostLink>,
}

/// How a target is opened, as process 0 asks for it: the sentence where it cannot be.
pub type Opening<'a> = dyn FnMut(&Value, Turn) -> Result<Opened, String> + 'a;

/// What a process says of itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Greeting {
    rank: u32,
    host: String,
    /// The program and its version.
    program: String,
    /// What its computer is known by since it was started.
    computer: String,
}

/// What comes of the greetings.
#[derive(Serialize, Deserialize)]
struct Known {
    /// For each process, the first one of its computer.
    computers: Vec<u32>,
    /// Why they cannot work together.
    refusal: Option<String>,
}

/// Meets all processes, and opens the target on each as `asked`; on process 0 the places of all are given, each with the
/// levels of its path.
///
/// # Errors
/// Where one of them is another program, or cannot open the target: the same sentence on all.
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
    // Whoever comes second to a computer is not to take the first for a stranger; process 0 lays out what is shared.
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
    places.sort_by_key(|(place, _)| place.rank);
    Ok((Crew { ranks, computers, host }, opened, places))
}

/// The first line of a file of the kernel's.
fn read(path: &str) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    text.lines().next().map(str::to_string).filter(|line| !line.is_empty())
}

/// For each process, the first one of its computer.
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
    greetings.sort_by_key(|greeting| greeting.rank);
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
