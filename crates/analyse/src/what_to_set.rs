//! Recommends settings for a few uses, if enough was measured.
//!
//! With fewer than three measured depths there is no advice, unless the fitted path gives the number of requests that
//! run in parallel: the advice is then the first depth that keeps them all busy.

use halfpower_spec::{Bytes, Direction, InOrder, IoMem, JsonSchema, Pattern};
use serde::Serialize;

use crate::bottleneck::JudgedStudy;
use crate::policy::{NEAR_BEST, database_bs};
use crate::{Access, Advice, CellFinding, CellSettings, Curve, Headline, PathSettings, SettingToChange, Sureness};

/// Smallest block size for bulk transfers.
const LEAST_BULK_BS_BYTES: u64 = 64 << 10;
/// Depths needed to judge which depth is enough.
const FEWEST_DEPTHS: usize = 3;
/// Block sizes needed to judge where half power lies.
const FEWEST_SIZES: usize = 3;
/// Share of the parallel requests from which a depth keeps them busy.
const AT_KNEE: f64 = 0.95;
/// Multiple of the parallel requests beyond which further requests only wait.
const FAR_BEYOND: f64 = 2.0;
/// Parallel requests below which they go one at a time.
const SERIAL: f64 = 1.2;

/// What databases do most.
const DATABASE: Access = Access { pattern: Pattern::Random, rw: Direction::Read };

/// What to set, by use.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct WhatToSet {
    /// Settings for each use for which enough was measured.
    pub uses: Vec<UseAdvice>,
    /// Why there is none; `null` if there is one.
    pub no_use: Option<NoUse>,
    /// Block sizes from which half of the peak is reached: at the depth of the fastest reads (or writes), and at depth
    /// 1.
    pub half_power: Vec<HalfPowerSize>,
    /// Settings and states that checks found and that cost, or may cost, on the measured path: the first three.
    pub to_change: Vec<SettingToChange>,
    /// Number of further ones.
    pub more_to_change: usize,
}

/// Why no use is advised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NoUse {
    /// Nothing that serves one of them was measured: neither direct random reads, nor large requests in order.
    NotMeasured,
    /// Of what was measured, no block size has enough depths.
    FewDepths,
    /// What would be advised rests on single runs, and the study was disturbed.
    SingleRuns,
}

/// What the settings are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Use {
    /// Small random reads.
    Database,
    /// Reading much data in order, as a copy or a backup does.
    BulkRead,
    /// Writing much data in order.
    BulkWrite,
}

impl Use {
    /// The use of copies that go this way.
    pub fn of_copies(rw: Direction) -> Self {
        match rw {
            Direction::Read => Self::BulkRead,
            Direction::Write => Self::BulkWrite,
        }
    }

    /// Whether requests of these settings serve copies, large and in order, that go this use's way.
    pub fn is_served_by(self, cell: &CellSettings) -> bool {
        let is_of_copies = cell.pattern == Pattern::Sequential && cell.bs_bytes >= LEAST_BULK_BS_BYTES;
        is_of_copies && Self::of_copies(cell.rw) == self
    }
}

/// Settings for one use.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct UseAdvice {
    /// The use.
    #[serde(rename = "use")]
    pub of: Use,
    /// What to set.
    #[serde(flatten)]
    pub cell: CellSettings,
    /// Memory of the buffers, where another than that of the walks brings more.
    pub iomem: Option<IoMem>,
    /// What these settings gave; `None` if they were not measured, or if their runs differ too much.
    pub measured: Option<UseRate>,
    /// Requests that run in parallel, if the recommended depth rests on that.
    pub side_by_side: Option<f64>,
}

impl UseAdvice {
    /// Whether requests of these settings serve its use.
    pub fn may_be(&self, cell: &CellSettings) -> bool {
        match self.of {
            Use::Database => (cell.bs_bytes, cell.access()) == (self.cell.bs_bytes, self.cell.access()),
            Use::BulkRead | Use::BulkWrite => self.of.is_served_by(cell),
        }
    }
}

/// What settings gave.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct UseRate {
    /// Throughput in MB/s.
    pub mbps: f64,
    /// Requests a second.
    pub iops: f64,
    /// How well both are known.
    pub sureness: Sureness,
    /// Share of the best rate at this block size.
    pub share_of_best: f64,
    /// 99th percentile of latency in nanoseconds; `None` if not known.
    pub latency_ns_p99: Option<u64>,
    /// Charged processor time a decimal gigabyte, in seconds; `None` if not known.
    pub cpu_s_per_gb: Option<f64>,
}

/// Where half power lies at one depth.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct HalfPowerSize {
    /// Of which path.
    pub path: PathSettings,
    /// Depth asked for.
    pub iodepth: u32,
    /// Smallest block size measured that reaches half of the peak of this depth.
    pub bs_bytes: u64,
    /// Whether the next smaller size was measured and stays below half.
    pub bracketed: bool,
}

pub(crate) fn what_to_set(
    study: &JudgedStudy<'_>,
    headlines: &[Headline],
    curves: &[Curve],
    advice: &[Advice],
) -> WhatToSet {
    let bulk = |rw| {
        let advised = advice.iter().find(|advice| (advice.pattern, advice.rw) == (Pattern::Sequential, rw))?;
        let set = Some(&advised.settings).filter(|set| set.bs.0 >= LEAST_BULK_BS_BYTES)?;
        let is_it = |cell: &CellFinding| (cell.cache, cell.threads) == (set.cache, set.threads);
        let cells = of_block(study.cells, Pattern::Sequential, rw, set.bs.0, is_it);
        let chosen = cells.iter().copied().find(|cell| cell.iodepth == set.iodepth)?;
        settled(study, Use::of_copies(rw), &cells, chosen)
    };
    let uses = [database(study), bulk(Direction::Read), bulk(Direction::Write)];
    let uses: Vec<UseAdvice> = uses.into_iter().flatten().collect();
    let serves = |cell: &CellFinding| {
        let is_database_read = cell.access() == DATABASE && cell.cache.direct();
        is_database_read || Use::of_copies(cell.rw).is_served_by(&cell.settings)
    };
    let is_measured = || study.cells.iter().any(|cell| cell.trusted() && serves(cell));
    let no_use = || if is_measured() { NoUse::FewDepths } else { NoUse::NotMeasured };
    let no_use = uses.is_empty().then(no_use);
    WhatToSet { uses, no_use, half_power: half_power(study.cells, headlines, curves), ..WhatToSet::default() }
}

/// Random direct reads of the block size nearest to a database page.
fn database(study: &JudgedStudy<'_>) -> Option<UseAdvice> {
    let direct = |cell: &CellFinding| cell.cache.direct();
    let reads = |cell: &&CellFinding| cell.access() == DATABASE && cell.trusted() && direct(cell);
    let bs = database_bs(study.cells.iter().filter(reads).map(|cell| Bytes(cell.bs_bytes)))?;
    let cells = of_block(study.cells, Pattern::Random, Direction::Read, bs.0, direct);
    let best = cells.iter().map(|cell| cell.mbps.value).fold(0.0, f64::max);
    let near = cells.iter().copied().filter(|cell| cell.mbps.value >= NEAR_BEST * best);
    settled(study, Use::Database, &cells, near.min_by_key(|cell| cell.total_depth())?)
}

/// The cells of one pattern, direction and block size that advice may use.
fn of_block(
    cells: &[CellFinding],
    pattern: Pattern,
    rw: Direction,
    bs_bytes: u64,
    also: impl Fn(&CellFinding) -> bool,
) -> Vec<&CellFinding> {
    let of_block = |cell: &&CellFinding| (cell.pattern, cell.rw, cell.bs_bytes) == (pattern, rw, bs_bytes);
    cells.iter().filter(of_block).filter(|cell| cell.trusted() && also(cell)).collect()
}

/// The chosen one of `cells`, which differ in depth, if they are enough to choose by; otherwise the depth at the knee.
fn settled(study: &JudgedStudy<'_>, of: Use, cells: &[&CellFinding], chosen: &CellFinding) -> Option<UseAdvice> {
    let mut depths: Vec<u32> = cells.iter().map(|cell| cell.total_depth()).collect();
    depths.sort_unstable();
    depths.dedup();
    let path = study.paths.iter().find(|(path, _)| path.settings == chosen.path());
    let side_by_side = path.and_then(|(_, regimes)| regimes.parallelism);
    // Where requests go one at a time, a second one only waits.
    let knee = |most: f64| if most < SERIAL { 1.0 } else { AT_KNEE * most };
    let far_beyond = |most: f64| if most < SERIAL { 1.0 } else { FAR_BEYOND * most };
    let beyond = |most: &f64| f64::from(chosen.total_depth()) > far_beyond(*most);
    // With fewer threads, their processor time limited the parallel requests.
    let has_more_threads = cells.iter().any(|cell| cell.threads < chosen.threads);
    let is_beyond = side_by_side.is_some_and(|most| beyond(&most)) && !has_more_threads;
    if depths.len() >= FEWEST_DEPTHS && !is_beyond {
        return Some(UseAdvice {
            of,
            cell: chosen.settings,
            iomem: None,
            measured: rate(chosen, cells),
            side_by_side: None,
        });
    }
    let most = side_by_side?;
    let at_knee = cells.iter().copied().filter(|cell| f64::from(cell.total_depth()) >= knee(most));
    let measured =
        at_knee.min_by_key(|cell| cell.total_depth()).filter(|cell| f64::from(cell.total_depth()) <= FAR_BEYOND * most);
    let iodepth = (knee(most) / f64::from(chosen.threads.max(1))).ceil().max(1.0) as u32;
    let cell =
        measured.map_or(CellSettings { iodepth: iodepth.next_power_of_two(), ..chosen.settings }, |cell| cell.settings);
    Some(UseAdvice { of, cell, iomem: None, measured: measured.and_then(|cell| rate(cell, cells)), side_by_side })
}

/// What a cell gave; `None` if its runs differ so much that the figure means nothing.
fn rate(cell: &CellFinding, cells: &[&CellFinding]) -> Option<UseRate> {
    let sureness = Some(cell.sureness()).filter(Sureness::is_known)?;
    let best = cells.iter().map(|cell| cell.mbps.value).fold(0.0, f64::max);
    Some(UseRate {
        mbps: cell.mbps.value,
        iops: cell.iops,
        sureness,
        share_of_best: if best > 0.0 { cell.mbps.value / best } else { 0.0 },
        latency_ns_p99: cell.latency_ns.p99,
        cpu_s_per_gb: cell.charged_ms_per_mb(),
    })
}

/// Half power on the path of the fastest reads (of the writes if nothing was read), at their depth and at the least;
/// without depths whose larger blocks give less than half again.
fn half_power(cells: &[CellFinding], headlines: &[Headline], curves: &[Curve]) -> Vec<HalfPowerSize> {
    let Some(cell) = headlines.first().map(|headline| headline.cell) else { return Vec::new() };
    let on_path = |curve: &&Curve| (curve.pattern, curve.rw, curve.cache) == (cell.pattern, cell.rw, cell.cache);
    let sizes = |depth: u32| {
        let at_depth = cells.iter().filter(|one| one.path() == cell.path() && one.iodepth == depth && one.usable());
        at_depth.count()
    };
    let reported = curves.iter().filter(on_path).filter(|curve| sizes(curve.iodepth) >= FEWEST_SIZES);
    let least = reported.clone().map(|curve| curve.iodepth).min();
    let shown = reported
        .filter(|curve| curve.half_power_holds && (curve.iodepth == cell.iodepth || Some(curve.iodepth) == least));
    let mut sizes: Vec<HalfPowerSize> = shown
        .map(|curve| HalfPowerSize {
            path: cell.path(),
            iodepth: curve.iodepth,
            bs_bytes: curve.half_power_bs_bytes,
            bracketed: curve.half_power_bracketed,
        })
        .collect();
    sizes.order_by_key(|size| std::cmp::Reverse(size.iodepth));
    sizes
}
