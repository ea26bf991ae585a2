//! Holds all findings of one study together.

use halfpower_record::{Device, FileSystem, ImportedFile, Machine};

use crate::cells::WITHIN;
use crate::headline::more_seconds;
use crate::{
    Advice, Attribution, BesideRow, Bottleneck, CellFinding, CellSettings, Cost, Curve, FarEndFinding, FleetFinding,
    Headline, LevelFinding, Limits, StopDoubt, StudyChecks, Summary, ThreadScaling, Warning,
};

/// Everything that the analysis says about one study.
#[derive(Debug, Clone, PartialEq)]
pub struct Findings {
    /// What was measured, in its canonical text.
    pub target: String,
    /// The computer.
    pub machine: Machine,
    /// The file system under the target.
    pub filesystem: Option<FileSystem>,
    /// The device under the target.
    pub device: Option<Device>,
    /// When the first run began, in milliseconds of Unix time; 0 in virtual time.
    pub started_unix_ms: u64,
    /// Runs behind the findings.
    pub runs: usize,
    /// Their time with preparation, in seconds.
    pub seconds: f64,
    /// The answer in a few rows.
    pub summary: Summary,
    /// How fast each direction is, and how sure that is.
    pub headline: Vec<Headline>,
    /// The path from the application to the medium.
    pub levels: Vec<LevelFinding>,
    /// The narrowest of the levels, and what stops the path.
    pub bottleneck: Bottleneck,
    /// Throughput against block size, one for each measured pattern, direction, cache setting and depth.
    pub curves: Vec<Curve>,
    /// Physical limits, one for each pattern, direction and cache setting.
    pub limits: Vec<Limits>,
    /// What a request costs the processor.
    pub cost: Vec<Cost>,
    /// What the far end spent; `None` without a witness there.
    pub far_end: Option<FarEndFinding>,
    /// Hosts that measured together; `None` if one process measured.
    pub fleet: Option<FleetFinding>,
    /// Where the processors' time went, one for each pattern, direction and cache setting with such records.
    pub attribution: Vec<Attribution>,
    /// How many threads are enough, for cells that were measured with several.
    pub threads: Vec<ThreadScaling>,
    /// What to set.
    pub advice: Vec<Advice>,
    /// What a reader should know before believing a number, the most harmful first.
    pub warnings: Vec<Warning>,
    /// Every measured cell, by pattern, direction, cache setting, depth and block size.
    pub cells: Vec<CellFinding>,
    /// Time of a request on the null engine: the harness's own share; `None` if another tool measured.
    pub harness_ns_per_io: Option<f64>,
    /// What checks of settings found; `None` if nobody looked, which does not mean that all is fine.
    pub checks: Option<StudyChecks>,
    /// Files of other tools that the runs come from; empty if halfpower measured them.
    pub imported: Vec<ImportedFile>,
    /// Runs that belong to no cell: mixed runs, and another tool's runs with settings that no cell has.
    pub beside: Vec<BesideRow>,
}

impl Findings {
    /// Why [`Self::bottleneck`] is not believed: the doubt about what stops its direction; `None` if it is.
    pub fn doubt(&self) -> Option<&StopDoubt> {
        self.summary.doubt_of(&self.bottleneck)
    }

    /// Further seconds of the study until the rate of a cell is known within 5%, if its runs keep their spread: 0 if it
    /// is, `None` if its runs cannot tell.
    pub fn until_known(&self, cell: &CellSettings) -> Option<f64> {
        let its = self.cells.iter().find(|known| known.settings == *cell && known.run_mbps.len() > 1)?;
        if its.mbps.relative_reach() <= WITHIN {
            return Some(0.0);
        }
        more_seconds(its, self.seconds / self.runs.max(1) as f64)
    }
}
