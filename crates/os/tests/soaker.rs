//! Checks that the soaker finds the time that another process spends, using a burner with a known share of one core.
//!
//! The burner is a second process of this test program; it burns until it was charged its share, and sleeps in between.
//! Other activity spoils a window, so a window counts only if the scheduler's account of all tasks shows none. The
//! soaker's result plays no part in that choice.

use std::hint::black_box;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use halfpower_os::processor::{self, Soaker};

const SHARES: [f64; 5] = [0.0, 0.10, 0.25, 0.50, 0.90];
/// Largest error of the soaker, as a share of one core.
const TOLERANCE: f64 = 0.02;
/// Most that others may do in a window that counts, as a share of one core.
const QUIET: f64 = 0.005;
const WINDOW: Duration = Duration::from_millis(500);
/// Windows tried to find one that counts.
const TRIES: usize = 12;
const SHARE_VARIABLE: &str = "HALFPOWER_TEST_BURN";

/// Not a test but the other process of the test below: burns the share of one core given in the environment, until it
/// is killed.
#[test]
fn burner() {
    let Some(share) = std::env::var(SHARE_VARIABLE).ok().and_then(|share| share.parse::<f64>().ok()) else { return };
    let charged_ns = || {
        let charged = processor::charged();
        charged.user_ns + charged.system_ns
    };
    let begun = Instant::now();
    loop {
        while charged_ns() as f64 >= share * begun.elapsed().as_nanos() as f64 {
            std::thread::sleep(Duration::from_micros(1300));
        }
        for step in 0..50_000u64 {
            black_box(step);
        }
    }
}

struct Burner(Child);

impl Burner {
    fn start(share: f64) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "burner"]).env(SHARE_VARIABLE, share.to_string());
        let child = command.stdout(Stdio::null()).spawn().unwrap();
        // The burner needs a moment to start and to reach its share.
        std::thread::sleep(Duration::from_millis(150));
        Self(child)
    }
}

impl Drop for Burner {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Run time of all tasks of a process in nanoseconds, from the scheduler's account.
fn process_ns(process: &str) -> u64 {
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{process}/task")) else { return 0 };
    tasks
        .filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok())
        .filter_map(|text| text.split_whitespace().next()?.parse::<u64>().ok())
        .sum()
}

/// As `process_ns`, over all processes except this one and the burner.
fn others_ns(burner: u32) -> u64 {
    let ours = [std::process::id().to_string(), burner.to_string()];
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let others = processes.filter(|name| name.bytes().all(|b| b.is_ascii_digit()) && !ours.contains(name));
    others.map(|name| process_ns(&name)).sum()
}

/// Activity of others: run time of live tasks, time taken by the hypervisor, and the number of tasks ever started,
/// because a task that ended has taken its account with it.
#[derive(Clone, Copy)]
struct Others {
    spent_ns: u64,
    begun: u64,
}

impl Others {
    fn now(burner: u32) -> Self {
        let stolen_ns: u64 = processor::machine().iter().map(|times| times.steal_ns).sum();
        let loads = std::fs::read_to_string("/proc/loadavg").unwrap();
        let begun = loads.split_whitespace().last().and_then(|newest| newest.parse().ok()).unwrap();
        Self { spent_ns: others_ns(burner) + stolen_ns, begun }
    }

    /// Their time since `earlier`; unlimited if a task was started, because it may have ended already.
    fn since(self, earlier: Self) -> u64 {
        if self.begun == earlier.begun { self.spent_ns.saturating_sub(earlier.spent_ns) } else { u64::MAX }
    }
}

fn tick_busy_ns() -> u64 {
    processor::machine().iter().map(|times| times.user_ns + times.system_ns + times.irq_ns + times.softirq_ns).sum()
}

/// One window, in shares of one core: the charge of the burner, the soaker's result, the clock ticks, and the activity
/// of others.
struct Window {
    truth: f64,
    soaker: f64,
    ticks: f64,
    others: f64,
}

fn window(share: f64) -> Window {
    let soaker = Soaker::start().unwrap();
    std::thread::sleep(Duration::from_millis(30));
    let others_before = Others::now(0);
    let first = soaker.read();
    std::thread::sleep(WINDOW);
    let idle = soaker.read().baseline_since(&first);
    let others_idle = Others::now(0).since(others_before);
    let burner = Burner::start(share);
    let id = burner.0.id();
    let others = Others::now(id);
    let burnt = process_ns(&id.to_string());
    let ticks = tick_busy_ns();
    let begun = soaker.read();
    std::thread::sleep(WINDOW);
    let ended = soaker.read();
    let ticks_ended = tick_busy_ns();
    let burnt_ended = process_ns(&id.to_string());
    let others_ended = Others::now(id);
    let of_window = |span_ns: f64| span_ns / ended.ns_since(&begun) as f64;
    let soaking_ns = (ended.threads_ns - begun.threads_ns) as f64;
    Window {
        truth: of_window((burnt_ended - burnt) as f64),
        soaker: of_window(ended.lost_ns_since(&begun, &idle)),
        ticks: of_window((ticks_ended - ticks) as f64 - soaking_ns),
        others: of_window(others_ended.since(others).max(others_idle) as f64),
    }
}

/// A window without other activity; `None` if a few tries find none.
fn quiet_window(share: f64) -> Option<Window> {
    std::iter::repeat_with(|| window(share)).take(TRIES).find(|window| window.others < QUIET)
}

/// Measurements that only the laboratory runs.
mod lab {
    use halfpower_lab::{Figure, judge};

    use super::*;

    #[test]
    #[ignore = "lab: needs windows in which nobody else is at work"]
    fn the_soaker_finds_what_another_process_burns() {
        let figure = |share: f64| {
            let name = format!("the soaker beside a burner of {}% of a core, over its charge", share * 100.0);
            // Relative to one whole core, because the error is given in parts of a core.
            Figure::near(name, 1.0, "cores", TOLERANCE)
        };
        judge("processors", SHARES.map(figure).to_vec(), || {
            let found = SHARES.map(|share| {
                let Some(window) = quiet_window(share) else { return f64::NAN };
                let soaker = window.soaker - window.truth;
                let ticks = window.ticks - window.truth;
                println!(
                    "{:5.1}%   soaker {:+5.2}   ticks {:+5.2}",
                    window.truth * 100.0,
                    soaker * 100.0,
                    ticks * 100.0
                );
                assert!((window.truth - share).abs() < 0.05, "the burner burns {}, not {share}", window.truth);
                1.0 + soaker
            });
            Some(found.to_vec())
        });
    }
}
