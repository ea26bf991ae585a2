//! Measures `sustain`: writes without a pause, the fast part that takes them first, the rate after it, and what a rest
//! brings back.
//!
//! The plan: one long run of large sequential writes, which takes half of the bytes that the user allows. What it shows
//! decides the rest: writes after rests where a fast part ended, and more of the same where none did.

mod analysis;
mod cliff;
pub(crate) mod words;

use halfpower_record::TargetKind;
use halfpower_spec::{Bytes, Direction, IoSize, Nanos, Pattern, Workload, WorkloadOptions};

use crate::plan::{Plan, PlanRequest, PlannedCell};

pub use analysis::SustainAnswer as Answer;
pub use analysis::*;
pub use cliff::cliff_bytes;

/// Block size and depth that keep any medium busy.
const BLOCK: Bytes = Bytes(1 << 20);
const DEPTH: u32 = 8;
/// Fewest bytes of a run that can show a fast part.
pub const LEAST: Bytes = Bytes(64 << 20);
/// Longest rest before the first run, and its largest share of the budget: laying out the file has filled what there is of
/// a fast part.
const REST: Nanos = Nanos(30_000_000_000);
const REST_SHARE: u64 = 10;

pub(crate) fn plan(ask: &PlanRequest) -> Result<Plan, String> {
    let Some(bound) = ask.question.sustain_bytes else {
        return Err(
            "it writes without a pause until what takes writes first is full, and that wears a drive: say how \
                    many bytes it may write, as in --sustain-bytes 20g"
                .to_string(),
        );
    };
    match ask.capabilities().kind {
        TargetKind::Folder | TargetKind::File | TargetKind::Device | TargetKind::Share | TargetKind::Simulated => {}
        TargetKind::Nothing | TargetKind::Imported => {
            return Err("nothing that is written there could fill up: name a folder, a file or a device".to_string());
        }
    }
    if ask.environment.hosts.len() > 1 {
        return Err("each host would write as much as all may: start it on one host".to_string());
    }
    if ask.capabilities().direct_unit.is_none() {
        return Err("without direct I/O it is the page cache that would fill, and not the device".to_string());
    }
    let span = ask.capabilities().span;
    if span < BLOCK {
        return Err(format!("the target holds {span}, and blocks of {BLOCK} are written"));
    }
    let first = bound.0 / 2 / BLOCK.0 * BLOCK.0;
    if first < LEAST.0 {
        let least = Bytes(2 * LEAST.0);
        return Err(format!(
            "--sustain-bytes {bound} is too little to tell a fast part from chance: give {least} or more"
        ));
    }
    let workload = ask.workload(Pattern::Sequential, Direction::Write, BLOCK, DEPTH);
    let rest = REST.min(Nanos(ask.question.budget.0 / REST_SHARE));
    let options = WorkloadOptions { rest, io_size: Some(IoSize::Bytes(Bytes(first))), ..workload.options };
    Ok(Plan::of([PlannedCell::plain(Workload { threads: 1, options, ..workload })]))
}

#[cfg(test)]
mod tests {
    use halfpower_record::{Capabilities, Environment};
    use halfpower_spec::{Experiment, Question};

    use crate::built_study::folder_without;
    use crate::table::left_out;

    use super::*;

    fn question(bound: Option<Bytes>) -> Question {
        Question { experiments: vec![Experiment::Sustain], sustain_bytes: bound, ..Question::about("d") }
    }

    fn why(question: &Question, capabilities: Capabilities) -> String {
        let environment = Environment { capabilities, ..Environment::default() };
        left_out(question, &environment).first().map(|left| left.why.clone()).unwrap_or_default()
    }

    #[test]
    fn nothing_is_written_without_a_bound_and_half_of_it_goes_in_one_run() {
        let folder = || folder_without(Some(Bytes(512)), &[], "");
        assert!(why(&question(None), folder()).contains("--sustain-bytes 20g"));
        assert!(why(&question(Some(Bytes(100 << 20))), folder()).contains("128MiB or more"));
        let bounded = question(Some(Bytes(8 << 30)));
        assert!(why(&bounded, folder_without(None, &[], "")).contains("page cache"));
        let only_reads = Question { directions: vec![Direction::Read], ..bounded.clone() };
        assert!(why(&only_reads, folder()).contains("only reads"));
        assert_eq!(why(&bounded, folder()), "");
        let environment = Environment { capabilities: folder(), ..Environment::default() };
        let cells = plan(&PlanRequest { question: &bounded, environment: &environment }).unwrap().cells;
        let options = cells[0].workload.options;
        assert_eq!((cells.len(), options.io_size), (1, Some(IoSize::Bytes(Bytes(4 << 30)))));
        assert_eq!(options.rest, Nanos(12_000_000_000));
        assert!(cells[0].workload.cache.direct() && cells[0].workload.total_depth() == 8);
    }
}
