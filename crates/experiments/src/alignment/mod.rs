//! Measures `alignment`: requests that begin off chunks, pages and blocks.
//!
//! The plan: requests off the boundaries of chunks, pages and device blocks, and the same requests aligned.

mod analysis;
pub(crate) mod words;

use halfpower_record::{Ability, TargetKind};
use halfpower_spec::{Bytes, Cache, Direction, Pattern, VolumeLayout, Workload, WorkloadOptions};

use crate::plan::{Plan, PlanRequest, PlannedCell};

pub use analysis::AlignmentAnswer as Answer;
pub use analysis::*;

/// A page; also the block of most file systems and devices.
const PAGE: Bytes = Bytes(4 << 10);
/// Requests of many blocks, so that the partial blocks at both ends are a small share.
const LARGE: Bytes = Bytes(64 << 10);
/// Shift of buffered requests.
const SECTOR: Bytes = Bytes(512);
const DEPTH: u32 = 8;
/// Depths for reading requests of one chunk. One at a time, a request that crosses a boundary keeps two disks busy.
const CHUNK_DEPTHS: [u32; 2] = [1, 8];

pub(crate) fn plan(ask: &PlanRequest) -> Result<Plan, String> {
    if ask.capabilities().kind == TargetKind::Nothing {
        return Err("there is no storage here whose blocks requests could miss".to_string());
    }
    let direct = ask.capabilities().direct_unit;
    let buffered = ask.page_cache();
    if direct.is_none() {
        buffered.clone()?;
    }
    // Chunk boundaries belong to the stripe, so they are known even if the members' blocks are not.
    let off_blocks = ask.capabilities().can(&Ability::Shifts);
    if direct.is_none() || ask.capabilities().chunk.is_none() {
        off_blocks.clone()?;
    }
    let mut cells = Vec::new();
    let mut add = |workload: Workload, shifts: &[Bytes]| {
        let shifted = |shift: &Bytes| {
            let options = WorkloadOptions { misalign: *shift, ..workload.options };
            PlannedCell::plain(Workload { threads: 1, options, ..workload })
        };
        cells.extend(shifts.iter().map(shifted));
    };
    if let Some(unit) = direct {
        let blocks = if off_blocks.is_ok() { Direction::ALL } else { &[] };
        for direction in blocks {
            // Skipped for a unit of a page: a shift by a whole page splits no page.
            if unit < PAGE {
                add(ask.workload(Pattern::Random, *direction, PAGE, DEPTH), &[Bytes(0), unit]);
            }
            if ask.capabilities().chunk.is_none() {
                let shifts = [Bytes(0), unit.min(PAGE), PAGE];
                let shifts = if unit < PAGE { &shifts[..] } else { &shifts[..2] };
                add(ask.workload(Pattern::Random, *direction, LARGE, DEPTH), shifts);
            }
        }
        if let Some(chunk) = ask.capabilities().chunk {
            let options = WorkloadOptions { volume_layout: Some(VolumeLayout::Stripe), ..WorkloadOptions::default() };
            let of_chunk =
                |direction, depth| Workload { options, ..ask.workload(Pattern::Sequential, direction, chunk, depth) };
            let shifts = chunk_shifts(chunk, unit);
            CHUNK_DEPTHS.iter().for_each(|depth| add(of_chunk(Direction::Read, *depth), &shifts));
            add(of_chunk(Direction::Write, DEPTH), &shifts);
        }
    }
    if buffered.is_ok() && off_blocks.is_ok() {
        let through = |pattern, direction| Workload { cache: Cache::Both, ..ask.workload(pattern, direction, PAGE, 1) };
        let shifts = [Bytes(0), SECTOR];
        add(through(Pattern::Sequential, Direction::Read), &shifts);
        add(through(Pattern::Random, Direction::Write), &shifts);
    }
    Ok(Plan { cells, missing: missing(ask) })
}

/// Shifts of requests of one chunk: 0, 12/64 of a chunk (how far files were off the chunks in 1998), and half a chunk,
/// each rounded down to the unit of direct requests.
fn chunk_shifts(chunk: Bytes, unit: Bytes) -> Vec<Bytes> {
    let mut shifts: Vec<Bytes> =
        [0, chunk.0 * 3 / 16, chunk.0 / 2].map(|shift| Bytes(shift / unit.0 * unit.0)).to_vec();
    shifts.dedup();
    shifts
}

/// The parts that cannot be measured here.
fn missing(ask: &PlanRequest) -> Vec<String> {
    let Some(unit) = ask.capabilities().direct_unit else {
        return vec!["direct I/O is not to be had here, so only buffered requests were shifted".to_string()];
    };
    if let Err(why) = ask.capabilities().can(&Ability::Shifts) {
        return vec![format!("only requests over the ends of chunks were measured: {why}")];
    }
    if unit < PAGE {
        return Vec::new();
    }
    vec![format!("direct requests begin at multiples of {unit} here, so that none can be off a block")]
}

#[cfg(test)]
mod tests {
    use halfpower_record::{Capabilities, Environment, TargetKind};
    use halfpower_spec::{Experiment, Question};

    use super::*;

    fn cells(direct_unit: Option<u64>, chunk: Option<u64>) -> Vec<Workload> {
        let question = Question { experiments: vec![Experiment::Alignment], ..Question::about("d") };
        let capabilities = Capabilities {
            kind: TargetKind::Folder,
            span: Bytes(1 << 30),
            direct_unit: direct_unit.map(Bytes),
            chunk: chunk.map(Bytes),
            ..Capabilities::default()
        };
        let environment = Environment { capabilities, ..Environment::default() };
        let cells = plan(&PlanRequest { question: &question, environment: &environment }).unwrap().cells;
        cells.iter().map(|cell| cell.workload).collect()
    }

    #[test]
    fn every_shift_has_its_aligned_twin_and_direct_ones_fit_the_device() {
        for (unit, chunk) in
            [(Some(512), None), (Some(4096), None), (Some(512), Some(65536)), (Some(4096), Some(16384))]
        {
            let cells = cells(unit, chunk);
            assert!((8..=24).contains(&cells.len()), "{unit:?} {chunk:?}: {}", cells.len());
            for workload in &cells {
                let twin =
                    Workload { options: WorkloadOptions { misalign: Bytes(0), ..workload.options }, ..*workload };
                assert!(cells.contains(&twin), "{workload} stands alone");
                let fits = workload.options.misalign.0.is_multiple_of(unit.unwrap());
                assert!(!workload.cache.direct() || fits, "{workload}");
                assert_eq!(cells.iter().filter(|other| *other == workload).count(), 1, "{workload} comes twice");
            }
        }
    }

    #[test]
    fn without_direct_requests_the_buffered_ones_are_left() {
        let cells = cells(None, None);
        assert!(!cells.is_empty() && cells.iter().all(|workload| !workload.cache.direct()));
    }
}
