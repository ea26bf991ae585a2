//! Shows the progress of a study in three lines on the terminal, or nothing without a terminal.
//!
//! The lines are drawn only between runs, never inside the measured window.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use halfpower_record::{Record, StudyFile};
use halfpower_spec::{Bytes, Cache, Direction, Pass, Question, Run, Workload};
use halfpower_study::{Observer, SoFar};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// The bar counts in thousandths of the study.
const WHOLE: u64 = 1000;
/// Most columns of a line, also used if the terminal's width is unknown; longer lines are cut.
const WIDTH: usize = 96;

/// The lines of a running study.
pub struct Progress {
    bar: ProgressBar,
    story: StudyProgress,
}

impl Progress {
    /// Starts the lines for this question after the records already in `file`; `quiet` shows none.
    pub fn new(question: &Question, file: &StudyFile, quiet: bool) -> Result<Self> {
        let bar = ProgressBar::with_draw_target(Some(WHOLE), draw_target(quiet));
        let style = ProgressStyle::with_template("{bar:24} {prefix}\n{msg}").expect("the template is a constant");
        bar.set_style(style.progress_chars("━╸─"));
        let mut story = StudyProgress::about(question);
        let earlier = file.records()?;
        if !quiet && !earlier.is_empty() {
            crate::tell::tell!("Continuing after {} runs in {}.", earlier.len(), file.path().display());
        }
        for record in &earlier {
            story.add(&record.run, record.mbps());
        }
        Ok(Self { bar, story })
    }

    /// Removes the lines from the terminal.
    pub fn close(&self) {
        self.bar.finish_and_clear();
    }
}

impl Observer for Progress {
    fn begins(&mut self, run: &Run, so_far: &SoFar) {
        self.bar.set_prefix(self.story.counts(so_far));
        self.bar.set_message(format!("{}\n{}", cut(&self.story.current(run)), cut(&self.story.best())));
        self.bar.set_position((spent_share(so_far) * WHOLE as f64) as u64);
    }

    fn ended(&mut self, record: &Record) {
        self.story.add(&record.run, record.mbps());
        if record.error_count() > 0 {
            // An error must stay visible above the lines.
            let kinds: Vec<&str> = record.errors.keys().map(String::as_str).collect();
            let kinds = kinds.join(", ");
            self.bar.println(format!("{} requests failed ({kinds}): {}", record.error_count(), record.run.workload));
        }
    }
}

/// The results so far that the lines show.
struct StudyProgress {
    sizes: Vec<Bytes>,
    cells: BTreeSet<Workload>,
    /// Sum and number of the throughputs of each cell's plain runs.
    mbps: BTreeMap<Workload, (f64, u32)>,
    /// The fastest run of each direction, preferring runs that bypassed the page cache.
    best: BTreeMap<Direction, (bool, f64, Workload)>,
}

impl StudyProgress {
    fn about(question: &Question) -> Self {
        Self { sizes: question.bs.clone(), cells: BTreeSet::new(), mbps: BTreeMap::new(), best: BTreeMap::new() }
    }

    fn add(&mut self, run: &Run, mbps: f64) {
        let workload = run.workload;
        self.cells.insert(workload);
        if run.pass != Pass::Plain {
            return;
        }
        let (sum, runs) = self.mbps.entry(workload).or_default();
        (*sum, *runs) = (*sum + mbps, *runs + 1);
        let Some(direction) = workload.rw.direction().filter(|_| run.walks()) else { return };
        let rank = (workload.cache.direct(), mbps);
        let best = self.best.entry(direction).or_insert((rank.0, rank.1, workload));
        if rank > (best.0, best.1) {
            *best = (rank.0, rank.1, workload);
        }
    }

    /// Such as `37%, run 144, 61 cells so far, 1:15 left at most`.
    fn counts(&self, so_far: &SoFar) -> String {
        let percent = 100.0 * spent_share(so_far);
        let seconds = so_far.left.0.div_ceil(1_000_000_000);
        let run = so_far.runs + 1;
        let cells = self.cells.len();
        let plural = if cells == 1 { "" } else { "s" };
        let left = format!("{}:{:02} left at most", seconds / 60, seconds % 60);
        format!("{percent:.0}%, run {run}, {cells} cell{plural} so far, {left}")
    }

    /// The cell being measured, its throughput so far, and a sparkline of throughput over block size.
    fn current(&self, run: &Run) -> String {
        let workload = run.workload;
        let pass = match run.pass {
            Pass::Plain => "",
            Pass::Soaker => " with soaker",
            Pass::Traced => " traced",
            Pass::Confirm => " to confirm",
        };
        if let Some(experiment) = run.experiment.filter(|_| !run.walks()) {
            let so_far = self.rate(&workload);
            return format!("{experiment}: now {}{}{pass}{so_far}", words(&workload), workload.options);
        }
        format!("{}  now {}{pass}{}", self.sparkline(&workload), words(&workload), self.rate(&workload))
    }

    /// The cell's mean throughput so far; empty if it has none.
    fn rate(&self, workload: &Workload) -> String {
        self.mean(workload).map_or(String::new(), |mbps| format!(", {mbps:.0} MB/s so far"))
    }

    fn mean(&self, workload: &Workload) -> Option<f64> {
        self.mbps.get(workload).map(|(sum, runs)| sum / f64::from(*runs))
    }

    /// A bar for each block size of the study, on a scale from 0 to the largest; a dot for an unmeasured size.
    fn sparkline(&self, workload: &Workload) -> String {
        let means: Vec<Option<f64>> =
            self.sizes.iter().map(|bs| self.mean(&Workload { bs: *bs, ..*workload })).collect();
        let largest = means.iter().flatten().copied().fold(0.0, f64::max);
        let bars = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
        let bar = |mbps: f64| if largest > 0.0 { bars[(mbps / largest * 7.0).round() as usize] } else { bars[0] };
        means.iter().map(|mean| mean.map_or('·', bar)).collect()
    }

    /// Such as `best: 2,877 MB/s read (randread 1MiB, 4 deep); 3,171 MB/s write (write 1MiB, 2 deep)`.
    fn best(&self) -> String {
        if self.best.is_empty() {
            return String::new();
        }
        let reported = |(_, mbps, workload): &(bool, f64, Workload)| format!("{mbps:.0} MB/s ({})", words(workload));
        format!("best {}", self.best.values().map(reported).collect::<Vec<_>>().join("; "))
    }
}

/// Such as `randread 64KiB, 8 deep, direct`.
fn words(workload: &Workload) -> String {
    let cache = match workload.cache {
        Cache::Both => "buffered",
        Cache::Os => "buffered durable",
        Cache::Device => "direct",
        Cache::None => "direct durable",
    };
    format!("{} {}, {} deep, {cache}", workload.rw, workload.bs, workload.iodepth)
}

fn cut(line: &str) -> String {
    line.chars().take(line_width()).collect()
}

/// The share of its time that a study has spent. It only rises, because the time left only falls.
fn spent_share(so_far: &SoFar) -> f64 {
    so_far.spent.0 as f64 / (so_far.spent.0 + so_far.left.0).max(1) as f64
}

/// Where progress lines go: to the terminal, or nowhere if `quiet` or if the terminal cannot move its cursor.
pub fn draw_target(quiet: bool) -> ProgressDrawTarget {
    let is_dumb = std::env::var_os("TERM").is_some_and(|kind| kind == "dumb");
    if quiet || is_dumb { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() }
}

/// Columns that a line of progress may take, so that it never wraps.
pub fn line_width() -> usize {
    let size = terminal_size::terminal_size_of(std::io::stderr());
    size.map_or(WIDTH, |(width, _)| usize::from(width.0).saturating_sub(1).min(WIDTH))
}

#[cfg(test)]
mod tests {
    use super::*;
    use halfpower_spec::{Nanos, Rw};

    fn run(bs_kib: u64, cache: Cache, pass: Pass) -> Run {
        let workload = Workload { rw: Rw::Randread, bs: Bytes(bs_kib << 10), iodepth: 8, cache, ..Workload::default() };
        Run { experiment: None, workload, repeat: 0, pass, runtime: Nanos(1), seed: 1 }
    }

    fn story() -> StudyProgress {
        let mut story = StudyProgress::about(&Question {
            bs: [4, 16, 64].map(|kib| Bytes(kib << 10)).into(),
            ..Question::about("/")
        });
        story.add(&run(4, Cache::Device, Pass::Plain), 100.0);
        story.add(&run(64, Cache::Device, Pass::Plain), 700.0);
        story.add(&run(64, Cache::Device, Pass::Plain), 900.0);
        story.add(&run(64, Cache::Device, Pass::Soaker), 5000.0);
        story.add(&run(16, Cache::Both, Pass::Plain), 9000.0);
        story
    }

    #[test]
    fn the_current_cell_shows_what_its_curve_gave_so_far() {
        let text = story().current(&run(64, Cache::Device, Pass::Soaker));
        assert_eq!(text, "▂·█  now randread 64KiB, 8 deep, direct with soaker, 800 MB/s so far");
    }

    #[test]
    fn the_best_is_the_disk_s_where_it_was_measured() {
        assert_eq!(story().best(), "best 900 MB/s (randread 64KiB, 8 deep, direct)");
        assert_eq!(StudyProgress::about(&Question::about("/")).best(), "");
    }

    #[test]
    fn the_share_of_time_the_run_and_what_is_left_are_told() {
        let so_far = |runs, spent_ns, left_ns| SoFar { runs, spent: Nanos(spent_ns), left: Nanos(left_ns) };
        let text = story().counts(&so_far(143, 44_700_000_000, 75_300_000_000));
        assert_eq!(text, "37%, run 144, 3 cells so far, 1:16 left at most");
        let last = StudyProgress::about(&Question::about("/")).counts(&so_far(0, 0, 0));
        assert_eq!(last, "0%, run 1, 0 cells so far, 0:00 left at most");
    }
}
