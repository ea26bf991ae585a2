//! Shows what was seen so far: each second the whole answer in a terminal, every ten seconds a line without one.

use std::io::Write;
use std::time::{Duration, Instant};

use halfpower_analyse::WatchFindings;
use halfpower_record::{Latency, Watched, WatchedSecond};
use halfpower_spec::Shown;
use halfpower_spec::format::{number, size, thousands, time_ns};
use indicatif::{ProgressBar, ProgressStyle};

use crate::progress::draw_target;

/// The latencies of one kind in a second.
type OfSecond = fn(&WatchedSecond) -> &Latency;

/// Time between two screens, and between two lines.
const SCREEN_EVERY: Duration = Duration::from_secs(1);
const LINE_EVERY: Duration = Duration::from_secs(10);
/// What is shown takes one part in so many of the time until the next at most: the longer a watch is, the more there is to add up.
const SHOWN_PART: u32 = 100;
/// Widest screen, and its size if the terminal does not tell.
const WIDEST: usize = 120;
const USUAL: (usize, usize) = (80, 24);

/// What is shown while a watch goes on; dropping it leaves what was shown last.
pub(super) struct Live {
    place: Place,
    length: Option<Duration>,
    /// When something is shown next, from the beginning of the watch.
    next: Duration,
}

enum Place {
    /// Lines of a terminal that are written over.
    Screen(ProgressBar),
    /// Standard error, line by line.
    Lines,
    Nowhere,
}

impl Live {
    /// Begins to show; `quiet` shows nothing. `length` is how long the watch takes, if that is known.
    pub fn new(quiet: bool, length: Option<Duration>) -> Self {
        let target = draw_target(quiet);
        let place = match target.is_hidden() {
            _ if quiet => Place::Nowhere,
            true => Place::Lines,
            false => {
                let bar = ProgressBar::with_draw_target(None, target);
                bar.set_style(ProgressStyle::with_template("{msg}").expect("the template is a constant"));
                Place::Screen(bar)
            }
        };
        let next = if matches!(place, Place::Lines) { LINE_EVERY } else { SCREEN_EVERY };
        Self { place, length, next }
    }

    /// Shows what was seen so far, if it is time to.
    pub fn show(
        &mut self,
        elapsed: Duration,
        so_far: impl FnOnce() -> Watched,
        verdict: impl FnOnce(&Watched) -> WatchFindings,
    ) {
        if elapsed < self.next {
            return;
        }
        let began = Instant::now();
        let every = match &self.place {
            Place::Nowhere => return,
            Place::Lines => {
                crate::tell::tell!("halfpower: {}", line(&so_far(), elapsed, self.length));
                LINE_EVERY
            }
            Place::Screen(bar) => {
                let watched = so_far();
                let (width, height) = terminal();
                let text = halfpower_report::watch_text(&verdict(&watched), &watched, width);
                // All lines are written at once.
                bar.set_message(screen(&text, &progress(elapsed, self.length), height));
                SCREEN_EVERY
            }
        };
        self.next = next(elapsed, every, began.elapsed());
    }

    /// Takes the screen away.
    pub fn close(&self) {
        if let Place::Screen(bar) = &self.place {
            bar.finish_and_clear();
        }
    }
}

/// When something is shown again, if what is shown now took so long.
fn next(elapsed: Duration, every: Duration, took: Duration) -> Duration {
    elapsed + every.max(took.saturating_mul(SHOWN_PART))
}

/// Columns and rows of the terminal behind standard error.
fn terminal() -> (usize, usize) {
    let size = terminal_size::terminal_size_of(std::io::stderr());
    let (width, height) = size.map_or(USUAL, |(width, height)| (usize::from(width.0), usize::from(height.0)));
    // A line as wide as the terminal may wrap.
    (width.saturating_sub(1).clamp(20, WIDEST), height)
}

/// The text, escaped, below a line that says how far the watch is; no longer than the terminal is high.
fn screen(text: &str, progress: &str, height: usize) -> String {
    let all: Vec<&str> = std::iter::once(progress).chain(text.lines()).collect();
    let rows = all.len().min(height.saturating_sub(1).max(1));
    let mut bytes = Vec::new();
    let mut shown = Shown::new(&mut bytes);
    let written = shown.write_all(all[..rows].join("\n").as_bytes()).and_then(|()| shown.flush());
    written.expect("memory takes everything");
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Such as `12 s of 60 s`.
fn progress(elapsed: Duration, length: Option<Duration>) -> String {
    let whole = length.map_or(String::new(), |length| format!(" of {} s", length.as_secs_f64().ceil()));
    format!("{} s{whole}", elapsed.as_secs())
}

/// Such as `10 s of 60 s: reads 1,240/s, p99 410 µs; syncs 180/s, p99 9.8 ms; 1.3 in flight`.
fn line(watched: &Watched, elapsed: Duration, length: Option<Duration>) -> String {
    let from = watched.seconds.len().saturating_sub(LINE_EVERY.as_secs() as usize);
    let recent = &watched.seconds[from..];
    let traced_ns: u64 = recent.iter().map(|second| second.traced_ns).sum();
    let mut parts = Vec::new();
    if traced_ns > 0 {
        let kinds: [(&str, OfSecond); 3] =
            [("reads", |second| &second.reads), ("writes", |second| &second.writes), ("syncs", |second| &second.syncs)];
        for (kind, of) in kinds {
            let mut latency = Latency::default();
            recent.iter().for_each(|second| latency.merge(of(second)));
            if !latency.is_empty() {
                let rate = latency.count() as f64 / (traced_ns as f64 / 1e9);
                let p99 = time_ns(latency.quantile_ns(0.99) as f64);
                parts.push(format!("{kind} {}/s, p99 {p99}", thousands(rate)));
            }
        }
        let depth: f64 = recent.iter().map(|second| second.depth * second.traced_ns as f64).sum();
        parts.push(format!("{} in flight", number(depth / traced_ns as f64)));
    }
    let own: u64 = recent.iter().map(|second| second.own_bytes).sum();
    let others: u64 = recent.iter().map(|second| second.other_bytes).sum();
    if own + others > 0 {
        parts.push(format!("{} moved, {} by others", size(own as f64), size(others as f64)));
    }
    if parts.is_empty() {
        parts.push("nothing was read or written".to_string());
    }
    format!("{}: {}", progress(elapsed, length), parts.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_of_the_last_seconds() {
        let mut reads = Latency::default();
        [100_000; 50].into_iter().for_each(|ns| reads.add(ns));
        let busy = WatchedSecond { traced_ns: 500_000_000, reads, depth: 1.5, ..WatchedSecond::default() };
        let mut watched = Watched { seconds: vec![WatchedSecond::default(); 5], ..Watched::default() };
        let minute = Some(Duration::from_secs(60));
        assert_eq!(line(&watched, Duration::from_secs(5), minute), "5 s of 60 s: nothing was read or written");
        watched.seconds.extend(vec![busy; 10]);
        let told = line(&watched, Duration::from_secs(15), minute);
        assert!(told.starts_with("15 s of 60 s: reads 100/s, p99 1") && !told.contains("writes"), "{told}");
        assert!(told.ends_with("1.50 in flight"), "{told}");
        watched.seconds[14].other_bytes = 4096;
        assert!(line(&watched, Duration::from_secs(15), None).ends_with("0 B moved, 4 KiB by others"));
    }

    #[test]
    fn what_takes_long_is_shown_less_often() {
        let [now, second] = [100, 1].map(Duration::from_secs);
        assert_eq!(next(now, second, Duration::from_millis(2)), Duration::from_secs(101));
        assert_eq!(next(now, second, Duration::from_millis(50)), Duration::from_secs(105));
        assert_eq!(next(now, LINE_EVERY, Duration::from_millis(50)), Duration::from_secs(110));
    }

    #[test]
    fn a_screen_fits_and_drives_no_terminal() {
        let text = screen("one\n\u{1b}[2Jtwo\nthree", "1 s", 24);
        assert_eq!(text, "1 s\none\n\\u001b[2Jtwo\nthree");
        assert_eq!(screen("one\ntwo\nthree", "1 s", 3), "1 s\none");
    }

    #[test]
    fn nothing_is_shown_before_its_time_or_if_nobody_wants_it() {
        let mut live = Live::new(true, None);
        let nobody_asks = || panic!("nothing is shown");
        live.show(Duration::from_millis(900), nobody_asks, |_| panic!("nothing is shown"));
        live.show(Duration::from_secs(90), nobody_asks, |_| panic!("nothing is shown"));
        live.close();
    }
}
