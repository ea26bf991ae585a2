//! Shows progress on the terminal, of a study in three lines and of a single run in one; nothing without a terminal.
//!
//! The lines of a study are drawn only between runs, never inside the measured window. The line of a single run is drawn
//! by a separate thread, twice a second. It takes the bytes from the kernel's account of this process, so that the
//! measured window need not count for it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::Result;
use halfpower_record::{Record, StudyFile};
use halfpower_spec::{Bytes, Cache, Direction, Nanos, Pass, Question, Run, Workload};
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

/// Time between two drawings of the line.
const TICK: Duration = Duration::from_millis(500);
/// Shortest run with a line; shorter ones end before anyone reads it.
const SHORTEST: Nanos = Nanos(2_000_000_000);
/// The kernel's account of the bytes that this process moved.
const OWN_IO: &str = "/proc/self/io";

/// The line of a run; dropping this removes it.
pub struct RunProgress {
    over: Arc<AtomicBool>,
    drawing: Option<JoinHandle<()>>,
}

impl RunProgress {
    /// Starts a line for `workload` over `runtime`, if that is known; none if `quiet` or if the run is short.
    pub fn of(workload: &Workload, runtime: Option<Nanos>, quiet: bool) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let target = draw_target(quiet || runtime.is_some_and(|runtime| runtime < SHORTEST));
        if target.is_hidden() {
            return Self { over, drawing: None };
        }
        let bar = ProgressBar::with_draw_target(Some(100), target);
        let style = ProgressStyle::with_template("{bar:16} {msg}").expect("the template is a constant");
        bar.set_style(style.progress_chars("━╸─"));
        let cell = workload.to_string();
        let seen = Arc::clone(&over);
        let work = move || draw(&bar, &cell, runtime, &seen);
        // If the thread cannot start, the run goes on without a line.
        let drawing = std::thread::Builder::new().name("progress".to_string()).spawn(work).ok();
        Self { over, drawing }
    }
}

impl Drop for RunProgress {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(drawing) = self.drawing.take() {
            drawing.thread().unpark();
            // A panic in the thread has already printed its message.
            drawing.join().ok();
        }
    }
}

fn draw(bar: &ProgressBar, cell: &str, runtime: Option<Nanos>, over: &AtomicBool) {
    let began = Instant::now();
    let mut last = Instant::now();
    let mut moved = moved_bytes();
    while !over.load(Ordering::Relaxed) {
        std::thread::park_timeout(TICK);
        let now = Instant::now();
        let by_now = moved_bytes();
        let rate = moved.zip(by_now).map(|(before, after)| {
            after.saturating_sub(before) as f64 / now.duration_since(last).as_secs_f64().max(1e-3) / 1e6
        });
        (last, moved) = (now, by_now);
        let seconds = began.elapsed().as_secs_f64();
        let share = runtime.map_or(0.0, |runtime| (seconds / runtime.seconds()).min(1.0));
        bar.set_position((share * 100.0) as u64);
        let elapsed = runtime.map_or_else(|| format!("{seconds:3.0} s"), |runtime| share_of(share, runtime));
        let line = line(&elapsed, cell, rate);
        bar.set_message(line.chars().take(line_width().saturating_sub(18)).collect::<String>());
    }
    bar.finish_and_clear();
}

/// Such as ` 30% of 10 s`.
fn share_of(share: f64, runtime: Nanos) -> String {
    format!("{:3.0}% of {:.0} s", 100.0 * share, runtime.seconds())
}

/// Such as ` 30% of 10 s  2157 MB/s  randread 4KiB, ...`.
fn line(elapsed: &str, cell: &str, mbps: Option<f64>) -> String {
    let rate = mbps.map_or(String::new(), |mbps| format!("{mbps:.0} MB/s  "));
    format!("{elapsed}  {rate}{cell}")
}

/// Bytes that this process has read from and written to storage; `None` if the kernel does not say.
fn moved_bytes() -> Option<u64> {
    let text = std::fs::read_to_string(OWN_IO).ok()?;
    let of = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.trim().parse::<u64>().ok());
    Some(of("read_bytes:")? + of("write_bytes:")?)
}

#[cfg(test)]
mod tests {
    use halfpower_spec::{Nanos, Rw};

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
        let so_far = |runs, spent_ns, left_ns| SoFar { runs, spent: Nanos(spent_ns), left: Nanos(left_ns) };
        let text = story().counts(&so_far(143, 44_700_000_000, 75_300_000_000));
        assert_eq!(text, "37%, run 144, 3 cells so far, 1:16 left at most");
        let last = StudyProgress::about(&Question::about("/")).counts(&so_far(0, 0, 0));
        assert_eq!(last, "0%, run 1, 0 cells so far, 0:00 left at most");
    }

    #[test]
    fn the_line_tells_share_and_rate() {
        let text = line(&share_of(0.304, Nanos(10_000_000_000)), "randread 4KiB", Some(2157.4));
        assert_eq!(text, " 30% of 10 s  2157 MB/s  randread 4KiB");
        assert_eq!(line(&share_of(1.0, Nanos(2_000_000_000)), "read 1MiB", None), "100% of 2 s  read 1MiB");
    }

    #[test]
    fn a_hidden_line_ends_at_once() {
        drop(RunProgress::of(&Workload::default(), Some(Nanos(60_000_000_000)), true));
    }
}
