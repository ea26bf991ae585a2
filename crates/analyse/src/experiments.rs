//! What does each experiment say? The records of its plan enter; its rows, an answer in a sentence and its pictures
//! leave.
//!
//! One file an experiment, of the same name as its plan in `study/src/plans`. `sequential` and `random` are not among
//! them: they are what the rest of the findings is about.

mod alignment;
mod allocation;
mod anatomy;
mod bands;
mod buffered;
mod buffered_cost;
mod buffered_pictures;
pub(crate) mod burst;
mod durability;
mod engines;
mod memory;
mod mirror;
mod price;
mod processors;
mod ratio;
mod rounds;
mod rows;
pub(crate) mod scaling;
mod section;
mod streams;
mod zones;

use std::collections::BTreeMap;

use record::{Environment, Record};
use spec::{EngineName, Experiment, Pass, Question, Workload};

pub use alignment::AlignmentRow;
pub use buffered::BufferedRow;
pub use buffered_cost::{BufferedCostRow, Cheaper};
pub use burst::{BurstRow, Hit, HitRow, OverheadRow};
pub use durability::DurabilityRow;
pub(crate) use memory::with_measured_memory;
pub use memory::{loop_ns_per_kib, memory};
pub use mirror::MirrorRow;
pub use processors::ProcessorRow;
pub use rows::{AllocationRow, AnatomyRow, EngineRow, MemoryRow, Rows, ZoneRow};
pub use scaling::{LimitedBy, ScalingRow};
pub use section::{Axis, ExperimentFinding, Line, Picture, PictureKind, Point};
pub use streams::StreamRow;

use crate::CellFinding;
use crate::cells::{cell_of, counts};

/// What an experiment has to go by.
pub(crate) struct Evidence<'a> {
    pub question: &'a Question,
    pub environment: &'a Environment,
    /// Its cells, by workload.
    pub cells: Vec<ExperimentCell<'a>>,
}

/// All runs of one workload of an experiment.
pub(crate) struct ExperimentCell<'a> {
    pub workload: Workload,
    pub finding: CellFinding,
    pub records: Vec<&'a Record>,
}

impl ExperimentCell<'_> {
    /// Its plain runs that moved anything: the round and the logarithm of the rate of each.
    fn runs(&self) -> Vec<rounds::Run> {
        let counted = self.records.iter().filter(|record| record.run.pass == Pass::Plain && counts(record));
        counted.zip(&self.finding.run_mbps).map(|(record, mbps)| (record.run.repeat, mbps.ln())).collect()
    }
}

/// What an experiment says.
pub(crate) struct Told {
    /// One sentence, or two.
    pub answer: String,
    pub pictures: Vec<Picture>,
}

/// What stays the same whatever was measured: the question in a line, what the papers saw, and who analyses.
pub(crate) struct Teller {
    pub asks: &'static str,
    pub papers: &'static str,
    pub tell: fn(&Evidence, &mut Rows) -> Told,
}

fn teller(experiment: Experiment) -> Option<Teller> {
    match experiment {
        Experiment::Sequential | Experiment::Random => None,
        Experiment::Engines => Some(engines::TELLER),
        Experiment::Memory => Some(memory::TELLER),
        Experiment::Scaling => Some(scaling::TELLER),
        Experiment::Mirror => Some(mirror::TELLER),
        Experiment::Allocation => Some(allocation::TELLER),
        Experiment::Durability => Some(durability::TELLER),
        Experiment::Processors => Some(processors::TELLER),
        Experiment::Buffered => Some(buffered::TELLER),
        Experiment::Streams => Some(streams::TELLER),
        Experiment::Zones => Some(zones::TELLER),
        Experiment::Alignment => Some(alignment::TELLER),
        Experiment::Burst => Some(burst::TELLER),
        Experiment::Anatomy => Some(anatomy::TELLER),
        Experiment::Price => Some(price::TELLER),
    }
}

/// A section for each experiment that was asked for, and all their rows.
pub(crate) fn tell(
    question: &Question,
    environment: &Environment,
    records: &[Record],
) -> (Vec<ExperimentFinding>, Rows) {
    let mut rows = Rows::default();
    let mut sections = Vec::new();
    for experiment in &question.experiments {
        let Some(teller) = teller(*experiment) else { continue };
        let evidence = Evidence { question, environment, cells: cells_of(*experiment, records) };
        let told = (!evidence.cells.is_empty()).then(|| (teller.tell)(&evidence, &mut rows));
        let mut notes = section::notes(environment.left_out.iter().filter(|left| left.experiment == *experiment));
        if told.is_none() && notes.is_empty() {
            notes.push("The time ended before it: give the study a larger budget.".to_string());
        }
        let ran = told.is_some();
        let Told { answer, pictures } = told.unwrap_or(Told { answer: String::new(), pictures: Vec::new() });
        let (asks, papers) = (teller.asks.to_string(), teller.papers.to_string());
        sections.push(ExperimentFinding { experiment: *experiment, asks, ran, answer, pictures, notes, papers });
    }
    (sections, rows)
}

/// The cells of one experiment.
pub(crate) fn cells_for(experiment: Experiment, records: &[Record]) -> Vec<CellFinding> {
    cells_of(experiment, records).into_iter().map(|cell| cell.finding).collect()
}

fn cells_of(experiment: Experiment, records: &[Record]) -> Vec<ExperimentCell<'_>> {
    let mut groups: BTreeMap<(Workload, EngineName), Vec<&Record>> = BTreeMap::new();
    for record in records.iter().filter(|record| record.run.experiment == Some(experiment)) {
        groups.entry((record.run.workload, record.engine)).or_default().push(record);
    }
    let mut cells = Vec::new();
    for ((workload, engine), mut records) in groups {
        records.sort_by_key(|record| (record.run.pass, record.run.repeat));
        if let Some(finding) = cell_of(&workload, engine, &records) {
            cells.push(ExperimentCell { workload, finding, records });
        }
    }
    cells
}

impl Evidence<'_> {
    /// The cells that moved bytes without errors.
    pub fn sound(&self) -> impl Iterator<Item = &ExperimentCell<'_>> + Clone {
        self.cells.iter().filter(|cell| cell.finding.mbps.value > 0.0 && cell.finding.errors == 0)
    }
}
