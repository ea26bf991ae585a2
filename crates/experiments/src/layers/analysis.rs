//! Compares the same reads from devices next to each other in a stack: what the upper one adds.

use halfpower_analyse::{ExperimentCell, Interval};
use halfpower_record::{Environment, LayerPlace};
use halfpower_spec::{InOrder, JsonSchema};
use serde::Serialize;

use crate::cell_figures::CellFigures;
use crate::data::ExperimentData;
use crate::ratio::{RatioFinding, Scale};

/// Share of the time of a request up to which what a layer adds makes no difference.
const LITTLE: f64 = 0.1;

/// The lists of rows of this experiment; each is a key of the findings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Rows {
    /// The same reads from each layer of the stack.
    pub layers: Vec<LayerRow>,
}

/// Reads of one kind from one layer.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LayerRow {
    /// Number of the layer: 0 is the target, and each further one lies beneath it.
    pub layer: u32,
    /// What it is, such as `encrypted volume home (dm-0)`.
    pub name: String,
    /// Devices side by side there, of which the first was read.
    pub side_by_side: u32,
    /// Block size.
    pub bs_bytes: u64,
    /// Depth.
    pub iodepth: u32,
    /// What its runs came to.
    #[serde(flatten)]
    pub figures: CellFigures,
    /// Processor time per request by the soaker, which includes interrupts and kernel threads; `null` without a soaker
    /// pass.
    pub soaker_us: Option<f64>,
}

/// What each layer adds to a read.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct LayersAnswer {
    /// Block size of the small reads.
    pub bs_bytes: u64,
    /// Time of such a read of the target, one at a time, in microseconds; `null` if it was not measured.
    pub read_us: Option<Interval>,
    /// Each layer above another one, from the target down.
    pub steps: Vec<LayerStep>,
}

/// What one layer adds to the one beneath it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LayerStep {
    /// Number of the layer.
    pub layer: u32,
    /// What it is.
    pub name: String,
    /// What it was set against: the next layer beneath it that was read.
    pub over: String,
    /// Devices beneath it side by side, of which one was read; with more than one, rates are not compared.
    pub side_by_side: u32,
    /// Time that it adds to a small read, one at a time, in microseconds: the mean of the differences within each round.
    pub added_us: Option<Interval>,
    /// Rounds that this rests on; with one, its interval has no width and carries no difference.
    pub rounds: usize,
    /// What it adds to the processor time of a small read that is charged to the process, in microseconds.
    pub charged_us: Option<f64>,
    /// The same by the soaker, which sees all of the machine.
    pub soaker_us: Option<f64>,
    /// What it adds to the processor time of a large read by the soaker, in nanoseconds for each KiB.
    pub soaker_ns_per_kib: Option<f64>,
    /// Share of the rate of small reads, many in flight, that it keeps.
    pub kept: Option<RatioFinding>,
    /// The same of large reads.
    pub kept_large: Option<RatioFinding>,
}

/// How much a step adds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Addition {
    /// More than chance explains.
    Sure,
    /// At most a tenth of the read.
    Little,
    /// The runs cannot tell.
    Unclear,
}

impl LayersAnswer {
    /// How much a step adds to a small read.
    pub(super) fn addition(&self, step: &LayerStep) -> Addition {
        match (step.added_us, self.read_us) {
            (Some(added), Some(read)) if step.rounds > 1 => {
                let little = LITTLE * read.value;
                // An interval of a factor of four decides nothing, unless all of it is little.
                let is_narrow = added.low > 0.0 && added.high < 4.0 * added.low;
                match () {
                    () if is_narrow => Addition::Sure,
                    () if added.low >= -little && added.high <= little => Addition::Little,
                    () => Addition::Unclear,
                }
            }
            _ => Addition::Unclear,
        }
    }
}

pub(crate) fn analyse(data: &ExperimentData) -> (Rows, LayersAnswer) {
    let mut cells: Vec<&ExperimentCell> = data.sound().collect();
    cells.order_by_key(|cell| (cell.workload.options.layer, cell.workload.bs, cell.workload.iodepth));
    let rows = Rows { layers: cells.iter().map(|cell| row(cell, data.environment)).collect() };
    let stack = Stack { scale: Scale::of(cells.iter().copied()), environment: data.environment, cells };
    (rows, stack.answer())
}

/// What the layer with this number is, and how many devices lie side by side there.
fn named(environment: &Environment, layer: u32) -> (String, u32) {
    let place = (layer as usize).checked_sub(1).and_then(|at| environment.capabilities.layers.get(at));
    match (place, layer) {
        (Some(place), _) => (LayerPlace::full_name(place), place.side_by_side),
        (None, 0) => (target(environment), 1),
        (None, layer) => (format!("layer {layer}"), 1),
    }
}

/// What the target is.
fn target(environment: &Environment) -> String {
    match (&environment.filesystem, &environment.device) {
        (Some(filesystem), _) => format!("file on {}", filesystem.kind),
        (None, Some(device)) => format!("device {}", device.name),
        (None, None) => "target".to_string(),
    }
}

fn row(cell: &ExperimentCell, environment: &Environment) -> LayerRow {
    let finding = &cell.finding;
    let layer = cell.workload.options.layer;
    let (name, side_by_side) = named(environment, layer);
    LayerRow {
        layer,
        name,
        side_by_side,
        bs_bytes: cell.workload.bs.0,
        iodepth: cell.workload.iodepth,
        figures: CellFigures::of(finding),
        soaker_us: finding.soaker_us,
    }
}

/// The cells, by layer and kind of read.
struct Stack<'a> {
    scale: Scale,
    environment: &'a Environment,
    cells: Vec<&'a ExperimentCell<'a>>,
}

/// The kinds of reads.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Alone,
    Many,
    Large,
}

impl<'a> Stack<'a> {
    fn kind(&self, cell: &ExperimentCell) -> Kind {
        let is_small = Some(cell.workload.bs) == self.cells.iter().map(|cell| cell.workload.bs).min();
        match (is_small, cell.workload.iodepth) {
            (true, 1) => Kind::Alone,
            (true, _) => Kind::Many,
            (false, _) => Kind::Large,
        }
    }

    fn of(&self, layer: u32, kind: Kind) -> Option<&'a ExperimentCell<'a>> {
        let fits = |cell: &&&ExperimentCell| cell.workload.options.layer == layer && self.kind(cell) == kind;
        self.cells.iter().find(fits).copied()
    }

    fn answer(&self) -> LayersAnswer {
        let mut layers: Vec<u32> = self.cells.iter().map(|cell| cell.workload.options.layer).collect();
        layers.dedup();
        let first = layers.first().and_then(|layer| self.of(*layer, Kind::Alone));
        LayersAnswer {
            bs_bytes: self.cells.iter().map(|cell| cell.workload.bs.0).min().unwrap_or_default(),
            read_us: first.map(|cell| Interval::of_means(&times_us(cell).map(|(_, us)| us).collect::<Vec<_>>())),
            steps: layers.windows(2).map(|pair| self.step(pair[0], pair[1])).collect(),
        }
    }

    fn step(&self, upper: u32, lower: u32) -> LayerStep {
        let [(name, above), (over, below)] = [upper, lower].map(|layer| named(self.environment, layer));
        let side_by_side = below / above.max(1);
        let pair = |kind| Some((self.of(upper, kind)?, self.of(lower, kind)?));
        let differences: Vec<f64> = pair(Kind::Alone).map_or(Vec::new(), |(upper, lower)| by_round(upper, lower));
        let more = |kind, of: fn(&ExperimentCell) -> Option<f64>| {
            let (upper, lower) = pair(kind)?;
            Some(of(upper)? - of(lower)?)
        };
        let kept = |kind| {
            let (upper, lower) = pair(kind).filter(|_| side_by_side == 1)?;
            self.scale.times(&[upper], &[lower])
        };
        let kib = self.of(upper, Kind::Large).map(|cell| cell.workload.bs.0 as f64 / 1024.0);
        LayerStep {
            layer: upper,
            name,
            over,
            side_by_side,
            added_us: (!differences.is_empty()).then(|| Interval::of_means(&differences)),
            rounds: differences.len(),
            charged_us: more(Kind::Many, |cell| cell.finding.charged_us),
            soaker_us: more(Kind::Many, |cell| cell.finding.soaker_us),
            soaker_ns_per_kib: more(Kind::Large, |cell| cell.finding.soaker_us)
                .zip(kib)
                .map(|(us, kib)| us * 1e3 / kib),
            kept: kept(Kind::Many),
            kept_large: kept(Kind::Large),
        }
    }
}

/// The time of a request in each round, in microseconds, of a cell that has one in flight.
fn times_us<'a>(cell: &'a ExperimentCell) -> impl Iterator<Item = (u32, f64)> + use<'a> {
    let bs_bytes = cell.workload.bs.0 as f64;
    // A megabyte a second is a byte a microsecond.
    cell.log_rates_by_round().into_iter().map(move |(round, log)| (round, bs_bytes / log.exp()))
}

/// How much longer a request of `upper` takes than one of `lower`, in each round that has both.
fn by_round(upper: &ExperimentCell, lower: &ExperimentCell) -> Vec<f64> {
    let below: Vec<(u32, f64)> = times_us(lower).collect();
    let same = |round: u32| below.iter().find(|(other, _)| *other == round).map(|(_, us)| *us);
    times_us(upper).filter_map(|(round, us)| Some(us - same(round)?)).collect()
}

#[cfg(test)]
mod tests {
    use halfpower_record::{Capabilities, Environment, FileSystem, Record};
    use halfpower_spec::{Bytes, Cache, Experiment, Pass, Question, Rw, Workload, WorkloadOptions};

    use super::*;
    use crate::answer::NOT_KNOWN;
    use crate::built::{disk, record_at};
    use crate::study_findings::{StudyFindings, analyse};
    use crate::words::NOT_DECIDED;

    /// Times of a read in microseconds: of a file, an encrypted volume and its disk; a device of two side by side.
    const FILE: f64 = 132.0;
    const CRYPT: f64 = 130.0;
    const DISK: f64 = 100.0;

    fn environment(side_by_side: u32) -> Environment {
        let place = |name: &str, what: &str, side_by_side| LayerPlace {
            name: name.to_string(),
            what: what.to_string(),
            side_by_side,
            refused: None,
        };
        let layers = vec![place("dm-0", "encrypted volume home", 1), place("vda", "disk", side_by_side)];
        Environment {
            filesystem: Some(FileSystem { kind: "ext4".to_string(), ..FileSystem::default() }),
            capabilities: Capabilities { layers, ..Capabilities::default() },
            ..Environment::default()
        }
    }

    /// Reads of each layer at these times, in rounds that are slower or faster for all; `off` is a share that differs by
    /// layer and round.
    fn records(us: [f64; 3], rounds: [f64; 3], off: f64) -> Vec<Record> {
        let mut records = Vec::new();
        for (layer, us) in (0..).zip(us) {
            for (bs, iodepth, share) in [(4096u64, 1, 1.0), (4096, 32, 4.0), (256 << 10, 8, 30.0)] {
                let options = WorkloadOptions { layer, ..WorkloadOptions::default() };
                let (rw, cache) = (Rw::Randread, Cache::Device);
                let workload = Workload { rw, cache, bs: Bytes(bs), iodepth, options, ..Workload::default() };
                for (repeat, round) in (0..).zip(rounds) {
                    let turn = f64::from((repeat + layer) % 3) - 1.0;
                    let rate = 4096.0 / (us * round * (1.0 + off * turn)) * 1e6 * share;
                    for pass in [Pass::Plain, Pass::Soaker] {
                        let mut record = record_at(&disk("fixed=80us,rate=500MB/s"), workload, repeat, pass, rate);
                        record.run.experiment = Some(Experiment::Layers);
                        // An encrypted volume's kernel threads take 2 ns a byte.
                        let own = if layer < 2 { record.bytes * 2 } else { 0 };
                        record.cpu.soaker.iter_mut().for_each(|soaker| soaker.lost_ns += own);
                        records.push(record);
                    }
                }
            }
        }
        records
    }

    fn findings(records: &[Record], side_by_side: u32) -> StudyFindings {
        let question = Question { experiments: vec![Experiment::Layers], ..Question::about("d") };
        analyse(&question, &environment(side_by_side), records)
    }

    fn found(findings: &StudyFindings) -> &LayersAnswer {
        match &findings.experiments[0].found {
            Some(crate::ExperimentAnswer::Layers(found)) => found,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_each_layer_adds_comes_back_also_if_rounds_differ() {
        let reported = findings(&records([FILE, CRYPT, DISK], [1.0, 1.1, 0.9], 0.0), 1);
        let found = found(&reported);
        assert_eq!(found.steps.len(), 2);
        let crypt = &found.steps[1];
        let added = crypt.added_us.unwrap();
        assert!(added.low <= 30.0 && 30.0 <= added.high && added.low > 20.0, "{added:?}");
        let per_kib = crypt.soaker_ns_per_kib.unwrap();
        assert!((per_kib / 2048.0 - 1.0).abs() < 0.01, "{per_kib}");
        assert!((crypt.kept.unwrap().interval.value - DISK / CRYPT).abs() < 0.001, "{:?}", crypt.kept);
        let file = &found.steps[0];
        assert!(file.soaker_ns_per_kib.unwrap().abs() < 1.0, "{file:?}");
        let brief = reported.experiments[0].brief();
        assert!(brief.starts_with("30") && brief.contains("encrypted volume home (dm-0)"), "{brief}");
        let answer = &reported.experiments[0].answer;
        assert!(answer.contains("file on ext4") && answer.contains("2,048 ns"), "{answer}");
        assert_eq!(reported.rows.layers.layers.len(), 9);
    }

    #[test]
    fn of_devices_side_by_side_no_share_of_the_rate_is_told() {
        let reported = findings(&records([FILE, CRYPT, DISK], [1.0; 3], 0.0), 4);
        let found = found(&reported);
        assert!(found.steps[0].kept.is_some() && found.steps[1].kept.is_none());
        assert_eq!(found.steps[1].side_by_side, 4);
        assert!(reported.experiments[0].answer.contains("one of 4"), "{}", reported.experiments[0].answer);
    }

    #[test]
    fn what_is_little_or_not_decided_is_not_named_as_the_cost() {
        let little = findings(&records([100.5, 100.2, 100.0], [1.0; 3], 0.005), 1);
        assert!(little.experiments[0].brief().starts_with("nothing added"), "{}", little.experiments[0].brief());
        let unclear = findings(&records([FILE, CRYPT, DISK], [1.0; 3], 0.3), 1);
        assert!(unclear.experiments[0].brief().starts_with(NOT_DECIDED), "{}", unclear.experiments[0].brief());
        let alone = findings(&records([FILE, CRYPT, DISK], [1.0; 3], 0.0)[..18], 1);
        assert!(alone.experiments[0].brief().starts_with(NOT_KNOWN), "{}", alone.experiments[0].brief());
    }
}
