//! Measures `buffered`: what the page cache adds to a request and what it saves.
//!
//! The plan: walks of block sizes through the page cache and past it, requests whose pages are dropped after use, and
//! small writes.

mod analysis;
pub mod cost;
pub mod dropped;
pub(crate) mod words;

use halfpower_record::{Ability, Capabilities, TargetKind};
use halfpower_spec::{
    Bytes, Cache, Direction, EngineName, Fadvise, PageCache, Pattern, Region, Rw, Workload, WorkloadOptions,
};

use crate::plan::{Plan, PlanRequest, PlannedCell};

pub use analysis::BufferedAnswer as Answer;
pub use analysis::*;

/// Block sizes of the walk, at depth 1: one below a page of memory, and those of both papers' figures.
const SIZES: [Bytes; 5] = [Bytes(2 << 10), Bytes(4 << 10), Bytes(16 << 10), Bytes(64 << 10), Bytes(256 << 10)];
/// Block sizes that also get a soaker pass: enough for the line from a page to the largest.
const SOAKED: [Bytes; 3] = [SIZES[1], SIZES[3], SIZES[4]];
/// Block sizes at which pages are dropped after use: a page, and the write size of both papers' systems.
const DROPPED: [Bytes; 2] = [SIZES[1], SIZES[3]];
/// Block size at which advice to the kernel is compared.
const ADVISED: Bytes = SIZES[2];
/// Region for small writes, small enough that flushing it takes no longer than a window.
const SMALL_REGION: u64 = 64 << 20;

pub(crate) fn plan(ask: &PlanRequest) -> Result<Plan, String> {
    if ask.capabilities().kind == TargetKind::Nothing {
        return Err("there is no storage here that a page cache could stand before".to_string());
    }
    ask.page_cache()?;
    let mut cells = Vec::new();
    for direction in Direction::ALL {
        for cache in [Cache::Both, Cache::Device] {
            let sizes = SIZES.into_iter().filter(|bs| !cache.direct() || fits(ask.capabilities(), *bs));
            for bs in sizes {
                let workload = Workload { cache, ..one_at_a_time(ask, Rw::of(Pattern::Sequential, *direction), bs) };
                cells.push(PlannedCell::plain(workload));
                if SOAKED.contains(&bs) {
                    cells.push(PlannedCell::plain(workload).beside_soaker());
                }
            }
        }
    }
    if drops_pages(ask).is_some_and(|can| can.is_ok()) {
        for direction in Direction::ALL {
            for bs in DROPPED {
                let options = WorkloadOptions { uncached: true, ..WorkloadOptions::default() };
                let usual = one_at_a_time(ask, Rw::of(Pattern::Sequential, *direction), bs);
                let cell = PlannedCell::plain(Workload { options, ..usual });
                cells.extend([cell, cell.beside_soaker()]);
            }
        }
    }
    for fadvise in [Fadvise::Random, Fadvise::Sequential] {
        let options = WorkloadOptions { fadvise, ..WorkloadOptions::default() };
        cells.push(PlannedCell::plain(Workload { options, ..one_at_a_time(ask, Rw::Read, ADVISED) }));
    }
    // The comparison needs pages that stay cached from one run to the next.
    if ask.capabilities().can(&Ability::WarmPageCache).is_ok() {
        let span = ask.capabilities().span.0;
        let region = Some(Region { from: Bytes(0), bytes: Bytes(SMALL_REGION.min(span)) });
        for (bs, page_cache) in
            [(SIZES[0], PageCache::Empty), (SIZES[0], PageCache::Warm), (SIZES[1], PageCache::Empty)]
        {
            let options = WorkloadOptions { region, page_cache, ..WorkloadOptions::default() };
            cells.push(PlannedCell::plain(Workload { options, ..one_at_a_time(ask, Rw::Randwrite, bs) }));
        }
    }
    Ok(Plan { cells, missing: missing(ask) })
}

/// Whether pages can be dropped after use, or why not; `None` if requests are no calls of this machine's kernel.
fn drops_pages(ask: &PlanRequest) -> Option<Result<(), String>> {
    let is_mapped = one_at_a_time(ask, Rw::Read, ADVISED).engine == EngineName::Mmap;
    match ask.capabilities().kind {
        TargetKind::Folder | TargetKind::File | TargetKind::Device if is_mapped => {
            Some(Err("mapped memory makes no calls that could ask for it".to_string()))
        }
        TargetKind::Folder | TargetKind::File | TargetKind::Device => {
            Some(ask.capabilities().can(&Ability::DroppedPages))
        }
        TargetKind::Share | TargetKind::Simulated | TargetKind::Nothing | TargetKind::Imported => None,
    }
}

/// Why small writes are not measured with their pages in memory, and why pages are not dropped after use.
fn missing(ask: &PlanRequest) -> Vec<String> {
    let small = ask.capabilities().can(&Ability::WarmPageCache).err();
    let small = small.map(|why| format!("small writes into pages that are at hand are not measured: {why}"));
    let dropped = drops_pages(ask).and_then(Result::err);
    let dropped = dropped.map(|why| format!("requests whose pages are dropped after use are not measured: {why}"));
    small.into_iter().chain(dropped).collect()
}

fn fits(capabilities: &Capabilities, bs: Bytes) -> bool {
    capabilities.direct_unit.is_some_and(|unit| bs.0.is_multiple_of(unit.0))
}

/// A buffered workload at depth 1, with plain calls unless the question names another engine.
fn one_at_a_time(ask: &PlanRequest, rw: Rw, bs: Bytes) -> Workload {
    let direction = rw.direction().unwrap_or(Direction::Read);
    let usual = ask.workload(rw.pattern(), direction, bs, 1);
    let engine = if usual.engine == EngineName::Auto { EngineName::Sync } else { usual.engine };
    Workload { cache: Cache::Both, threads: 1, engine, ..usual }
}

#[cfg(test)]
mod tests {
    use halfpower_record::Environment;
    use halfpower_spec::{Experiment, Question};

    use super::*;
    use crate::built_study::folder_without;

    fn cells(direct_unit: Option<Bytes>, unavailable: &[Ability]) -> Vec<PlannedCell> {
        let capabilities = folder_without(direct_unit, unavailable, "nothing stays");
        let environment = Environment { capabilities, ..Environment::default() };
        let question = Question { experiments: vec![Experiment::Buffered], ..Question::about("d") };
        plan(&PlanRequest { question: &question, environment: &environment }).unwrap().cells
    }

    #[test]
    fn direct_requests_are_those_that_the_target_takes() {
        let direct = |unit| {
            let cells = cells(unit, &[]);
            let sizes = cells.iter().map(|cell| cell.workload).filter(|workload| workload.cache.direct());
            sizes.map(|workload| workload.bs.0).min()
        };
        assert_eq!([Some(512), Some(4096), None].map(|unit| direct(unit.map(Bytes))), [Some(2048), Some(4096), None]);
    }

    #[test]
    fn small_writes_are_compared_where_their_pages_can_be_at_hand() {
        let small = |unavailable: &[Ability]| {
            let is_small = |cell: &&PlannedCell| cell.workload.rw == Rw::Randwrite;
            cells(Some(Bytes(512)), unavailable).iter().filter(is_small).count()
        };
        assert_eq!((small(&[]), small(&[Ability::WarmPageCache])), (3, 0));
    }

    #[test]
    fn pages_are_dropped_after_use_where_the_target_does_that() {
        let dropped = |unavailable: &[Ability]| {
            let cells = cells(Some(Bytes(512)), unavailable);
            let dropped = cells.iter().filter(|cell| cell.workload.options.uncached);
            assert!(dropped.clone().all(|cell| cell.workload.cache == Cache::Both));
            dropped.count()
        };
        assert_eq!((dropped(&[]), dropped(&[Ability::DroppedPages])), (8, 0), "two sizes, both ways, in two passes");
    }
}
