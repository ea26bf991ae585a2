//! What is it doing, and how long will it take? One line on the terminal; nothing where there is none.

use std::time::Duration;

use anyhow::Result;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use record::{Record, StudyFile};
use spec::{Pass, Question, Run};
use study::Observer;

/// The line, counted in milliseconds of the budget.
pub struct Progress {
    bar: ProgressBar,
    best_mbps: f64,
}

impl Progress {
    /// A line for this question, beginning where the study file ends; `quiet` shows none.
    pub fn new(question: &Question, file: &StudyFile, quiet: bool) -> Result<Self> {
        let earlier = file.records()?;
        let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(Some(question.budget.0 / 1_000_000), target);
        bar.set_style(
            ProgressStyle::with_template("{bar:24} {prefix} {wide_msg}").expect("the template is a constant"),
        );
        if !quiet && !earlier.is_empty() {
            eprintln!("Going on after {} runs that are in {}.", earlier.len(), file.path().display());
        }
        Ok(Self { bar, best_mbps: 0.0 })
    }

    /// Takes the line away.
    pub fn close(&self) {
        self.bar.finish_and_clear();
    }
}

impl Observer for Progress {
    fn begins(&mut self, run: &Run, runs: usize, spent_ns: u64) {
        let left_ms = self.bar.length().unwrap_or(0).saturating_sub(spent_ns / 1_000_000);
        let left = Duration::from_millis(left_ms).as_secs();
        self.bar.set_position(spent_ns / 1_000_000);
        self.bar.set_prefix(format!("{runs} runs, at most {}:{:02} left", left / 60, left % 60));
        let workload = run.workload;
        let pass = if run.pass == Pass::Soaker { " with the soaker" } else { "" };
        self.bar.set_message(format!(
            "{} {} {} deep {}{pass}   best {:.0} MB/s",
            workload.rw, workload.bs, workload.iodepth, workload.cache, self.best_mbps
        ));
    }

    fn ended(&mut self, record: &Record) {
        self.best_mbps = self.best_mbps.max(record.mbps());
        self.bar.println_if_troubled(record);
    }
}

/// Says aloud what must not scroll by unseen.
trait Troubled {
    fn println_if_troubled(&self, record: &Record);
}

impl Troubled for ProgressBar {
    fn println_if_troubled(&self, record: &Record) {
        if record.error_count() > 0 {
            let kinds: Vec<&str> = record.errors.keys().map(String::as_str).collect();
            self.println(format!(
                "{} requests failed ({}): {}",
                record.error_count(),
                kinds.join(", "),
                record.run.workload
            ));
        }
    }
}
