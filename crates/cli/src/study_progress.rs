//! Puts into words how far a study is, what it measures now, and the fastest cells so far.

use std::collections::{BTreeMap, BTreeSet};

use halfpower_spec::{Bytes, Cache, Direction, Pass, Question, Run, Workload};
use halfpower_study::SoFar;

/// The results so far that the lines show.
pub struct StudyProgress {
    sizes: Vec<Bytes>,
    cells: BTreeSet<Workload>,
    /// Sum and number of the throughputs of each cell's plain runs.
    mbps: BTreeMap<Workload, (f64, u32)>,
    /// The fastest run of each direction, preferring runs that bypassed the page cache.
    best: BTreeMap<Direction, (bool, f64, Workload)>,
}

impl StudyProgress {
    /// Nothing measured yet.
    pub fn about(question: &Question) -> Self {
        Self { sizes: question.bs.clone(), cells: BTreeSet::new(), mbps: BTreeMap::new(), best: BTreeMap::new() }
    }

    /// Adds a run that gave this rate.
    pub fn add(&mut self, run: &Run, mbps: f64) {
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
    pub fn counts(&self, so_far: &SoFar) -> String {
        let percent = 100.0 * so_far.share();
        let seconds = so_far.left.0.div_ceil(1_000_000_000);
        let run = so_far.runs + 1;
        let cells = self.cells.len();
        let plural = if cells == 1 { "" } else { "s" };
        let left = format!("{}:{:02} left at most", seconds / 60, seconds % 60);
        format!("{percent:.0}%, run {run}, {cells} cell{plural} so far, {left}")
    }

    /// The cell being measured, its throughput so far, and a sparkline of throughput over block size.
    pub fn current(&self, run: &Run) -> String {
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
    pub fn best(&self) -> String {
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

#[cfg(test)]
mod tests {
    use halfpower_spec::{Decides, Nanos, Rw};

    use super::*;

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
        let so_far = |runs, spent_ns, left_ns| SoFar {
            runs,
            spent: Nanos(spent_ns),
            left: Nanos(left_ns),
            decides: Decides::Leaders,
        };
        let text = story().counts(&so_far(143, 44_700_000_000, 75_300_000_000));
        assert_eq!(text, "37%, run 144, 3 cells so far, 1:16 left at most");
        let last = StudyProgress::about(&Question::about("/")).counts(&so_far(0, 0, 0));
        assert_eq!(last, "0%, run 1, 0 cells so far, 0:00 left at most");
    }
}
