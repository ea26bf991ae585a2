//! Shows progress in one line on the terminal; nothing without a terminal.
//!
//! The line of a single run is drawn by a separate thread, twice a second. It takes the bytes from the kernel's account of this process, so
//! that the measured window need not count for it. A study's screen is that of `live.rs`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use halfpower_spec::{Nanos, Workload};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Most columns of a line, also used if the terminal's width is unknown; longer lines are cut.
const WIDTH: usize = 96;

/// Whether the terminal cannot move its cursor.
pub fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|kind| kind == "dumb")
}

/// Where progress lines go: to the terminal, or nowhere if `quiet` or if the terminal cannot move its cursor.
pub fn draw_target(quiet: bool) -> ProgressDrawTarget {
    if quiet || is_dumb() { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() }
}

/// Columns that a line of progress may take, so that it never wraps.
pub fn line_width() -> usize {
    let size = terminal_size::terminal_size_of(std::io::stderr());
    size.map_or(WIDTH, |(width, _)| usize::from(width.0).saturating_sub(1).min(WIDTH))
}

/// A line of progress that is drawn when there is something new; dropping it removes it.
pub struct Line(ProgressBar);

impl Line {
    /// An empty line; none if `quiet`.
    pub fn new(quiet: bool) -> Self {
        let bar = ProgressBar::with_draw_target(None, draw_target(quiet));
        bar.set_style(ProgressStyle::with_template("{msg}").expect("the template is a constant"));
        Self(bar)
    }

    /// Shows a text, cut to the terminal's width.
    pub fn show(&self, text: &str) {
        self.0.set_message(text.chars().take(line_width()).collect::<String>());
        self.0.tick();
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
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
    use super::*;

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
