//! Measures jobs at the same time, each in a process of its own, so that each has its own record and account.
//!
//! The process of a job writes `ready` when its target is. When all are ready, each is told by a line how many nanoseconds
//! later its window opens. It then writes its record, as JSON, and ends. The end of its input ends its window.

use std::cell::Cell;
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::ops::Range;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use halfpower_dialects::{Ends, RunWords};
use halfpower_hosts::Launched;
use halfpower_measure::{GatedTarget, LatenciesOf, MeasureError, TargetBackend as _, measure_keeping};
use halfpower_record::{Environment, Record};
use halfpower_spec::{Nanos, Pass};

use super::{run, to_output_as_file};
use crate::args::CommandLine;
use crate::hosts::Processes;
use crate::run_args::RunArgs;

/// The command that this program calls itself with to measure one of several jobs; no user writes it.
pub const JOB: &str = "job-of-several";
/// What such a process writes when its target is ready.
const READY: &str = "ready\n";
/// How long the user's wish to stop may go unseen.
const PATIENCE: Duration = Duration::from_millis(100);

/// The turn that begins with run `first`: all runs that are measured at once with it.
pub fn turn(runs: &[RunWords], first: usize) -> Range<usize> {
    let others = runs.iter().skip(first + 1).take_while(|run| run.joins).count();
    first..first + 1 + others
}

/// Lets the time pass, or less if the user wishes to stop; returns whether it has passed.
pub fn passed(delay: Nanos, stop: &AtomicBool) -> bool {
    let until = Instant::now() + Duration::from_nanos(delay.0);
    while !stop.load(Ordering::Relaxed) {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return true;
        }
        std::thread::sleep(left.min(PATIENCE));
    }
    false
}

/// Refuses what cannot be done at once, before anything is measured.
///
/// # Errors
/// The flag, why, and what to do.
pub fn refuse(runs: &[RunWords], asked: &[RunArgs]) -> Result<()> {
    let beside = |nth: usize| runs[nth].joins || runs.get(nth + 1).is_some_and(|next| next.joins);
    let refused = |args: &RunArgs| {
        let flags = [
            ("--output", args.place.output.is_some(), "a study has runs that were alone on their target"),
            ("--latency-target", args.depth.latency_target.is_some(), "a depth is looked for while nothing else runs"),
            ("--soaker", args.soaker, "it measures a second time, and sees what all jobs spend"),
            ("--pass", args.place.pass != Pass::Plain, "it sees what all jobs spend"),
            ("--far-end", args.common.far_end.is_some(), "it sees what all jobs spend"),
        ];
        flags.into_iter().find(|(_, is_given, _)| *is_given).map(|(flag, _, why)| (flag, why))
    };
    let mut at_once = (0..runs.len()).filter(|nth| beside(*nth)).peekable();
    if at_once.peek().is_some() && Launched::here().is_some() {
        bail!("jobs at once are measured by one host: start halfpower without mpirun, or add --stonewall to the line");
    }
    match at_once.find_map(|nth| Some((nth, refused(&asked[nth])?))) {
        None => Ok(()),
        Some((nth, (flag, why))) => {
            bail!(
                "[{}]: {flag} is for a job alone: {why}; leave it out, or add --stonewall to the line",
                runs[nth].name
            )
        }
    }
}

/// Measures the runs of a turn at once. If the user stops them, their records have shorter windows.
///
/// # Errors
/// If one of them cannot be measured: why was then said by its own process. The others end.
pub fn measured(runs: &[RunWords], asked: &[RunArgs], stop: &AtomicBool) -> Result<Vec<(Record, Environment)>> {
    let mut jobs = JobProcesses::new(runs, stop);
    for (nth, run) in runs.iter().enumerate() {
        let mut words = run.words.clone();
        if nth > 0 && files(run).iter().any(|file| writes_before(runs, asked, nth, file)) {
            // The user is another job of the same line, and not a stranger; the first was checked.
            words.push("--force-in-use".into());
        }
        jobs.start(&words)?;
    }
    jobs.open();
    jobs.results()
}

/// The files and devices that a run names and that are there.
fn files(run: &RunWords) -> Vec<PathBuf> {
    let named = run.files.iter().chain(&run.own);
    named.filter_map(|file| PathBuf::from(file).canonicalize().ok()).filter(|path| !path.is_dir()).collect()
}

/// Whether a run before the `nth` has this file open for writing.
fn writes_before(runs: &[RunWords], asked: &[RunArgs], nth: usize, file: &Path) -> bool {
    let opens = |args: &RunArgs| {
        let load_writes = args.options.0.beside.is_some_and(|load| load.rw.writes());
        let writes = args.rw.writes() || args.options.0.verify || load_writes;
        writes || args.common.may_write.overwrite && file.is_file()
    };
    runs[..nth].iter().zip(asked).any(|(run, args)| opens(args) && files(run).iter().any(|other| other == file))
}

/// What is heard of the process of a job.
enum Heard {
    /// It is ready.
    Ready,
    /// It has ended, and has written this.
    Ended(String),
}

/// The processes of a turn; dropping this ends them.
struct JobProcesses<'a> {
    runs: &'a [RunWords],
    stop: &'a AtomicBool,
    children: Vec<Child>,
    /// Their inputs; `None` ends a process's window.
    inputs: Vec<Option<ChildStdin>>,
    says: Sender<(usize, Heard)>,
    heard: Receiver<(usize, Heard)>,
}

impl<'a> JobProcesses<'a> {
    fn new(runs: &'a [RunWords], stop: &'a AtomicBool) -> Self {
        let (says, heard) = mpsc::channel();
        Self { runs, stop, children: Vec::new(), inputs: Vec::new(), says, heard }
    }

    /// Starts the process of the next job, and waits until it is ready.
    fn start(&mut self, words: &[OsString]) -> Result<()> {
        let nth = self.children.len();
        let too_many =
            "a process for each job could not be started: allow more (`ulimit -u`), or run fewer jobs at once";
        let program = std::env::current_exe().context("this program is not found, to start it for each job")?;
        let mut command = Command::new(program);
        // Called as fio, it would take the words for fio's.
        command.arg0("halfpower").arg(JOB).args(words).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().context(too_many)?;
        let output = child.stdout.take().expect("it was asked for");
        self.inputs.push(child.stdin.take());
        self.children.push(child);
        let says = self.says.clone();
        let listening = std::thread::Builder::new().name(format!("job {nth}"));
        listening.spawn(move || listen(nth, output, &says)).context(too_many)?;
        loop {
            match self.hear() {
                (ready, Heard::Ready) if ready == nth => return Ok(()),
                (_, Heard::Ready) => {}
                (ended, Heard::Ended(_)) => return Err(self.lost(ended)),
            }
        }
    }

    /// Opens the windows of all, each after its delay.
    fn open(&mut self) {
        for (input, run) in self.inputs.iter_mut().zip(self.runs) {
            let line = format!("{}\n", run.start_delay.unwrap_or(Nanos(0)).0);
            // That a process is gone is heard from its output.
            let _ = input.as_mut().map(|input| input.write_all(line.as_bytes()));
        }
    }

    /// The results of all, once each has ended.
    fn results(&mut self) -> Result<Vec<(Record, Environment)>> {
        let mut results: Vec<Option<(Record, Environment)>> = self.runs.iter().map(|_| None).collect();
        while results.iter().any(Option::is_none) {
            let (nth, Heard::Ended(written)) = self.hear() else { continue };
            let Ok(result) = serde_json::from_str(&written) else { return Err(self.lost(nth)) };
            results[nth] = Some(result);
            self.end_with(nth);
        }
        Ok(results.into_iter().flatten().collect())
    }

    /// Ends the jobs that end with the `nth`.
    fn end_with(&mut self, nth: usize) {
        let ended = &self.runs[nth];
        for (input, run) in self.inputs.iter_mut().zip(self.runs) {
            let ends = match ended.ends {
                Ends::Itself => false,
                Ends::Group => run.group == ended.group,
                Ends::Turn | Ends::All => true,
            };
            if ends {
                drop(input.take());
            }
        }
    }

    /// What is heard next. The user's wish to stop is passed on meanwhile.
    fn hear(&mut self) -> (usize, Heard) {
        loop {
            if self.stop.load(Ordering::Relaxed) {
                self.inputs.iter_mut().for_each(|input| drop(input.take()));
            }
            if let Ok(heard) = self.heard.recv_timeout(PATIENCE) {
                return heard;
            }
        }
    }

    /// Why there is no result of the `nth` job.
    fn lost(&self, nth: usize) -> anyhow::Error {
        if self.stop.load(Ordering::Relaxed) {
            return anyhow::anyhow!("interrupted before the jobs began");
        }
        let name = &self.runs[nth].name;
        anyhow::anyhow!("[{name}] could not be measured, for the reason above, and so none of the jobs at once with it")
    }
}

impl Drop for JobProcesses<'_> {
    fn drop(&mut self) {
        self.inputs.clear();
        for child in &mut self.children {
            // It has no other use than its end.
            let _ = child.wait();
        }
    }
}

/// Passes on what the process of the `nth` job writes.
fn listen(nth: usize, output: ChildStdout, says: &Sender<(usize, Heard)>) {
    let mut output = BufReader::new(output);
    let mut line = String::new();
    let mut written = String::new();
    // Nobody listens any more where another job has failed.
    if output.read_line(&mut line).is_ok() && line == READY {
        let _ = says.send((nth, Heard::Ready));
        let _ = output.read_to_string(&mut written);
    }
    let _ = says.send((nth, Heard::Ended(written)));
}

/// Measures one of several jobs, in its own process.
///
/// # Errors
/// Why it cannot be measured. That it was interrupted is none: whoever conducts the jobs knows.
pub fn job(words: &[OsString]) -> Result<()> {
    let args = CommandLine::of_run(words);
    let stop = halfpower_os::interrupt::stop_flag()?;
    match measured_in_turn(&args, &stop) {
        Err(error) if matches!(error.downcast_ref::<MeasureError>(), Some(MeasureError::Interrupted)) => Ok(()),
        Err(error) => Err(error),
        Ok(result) => {
            let result = serde_json::to_vec(&result)?;
            to_output_as_file(|out| Ok(out.write_all(&result)?))
        }
    }
}

fn measured_in_turn(args: &RunArgs, stop: &Arc<AtomicBool>) -> Result<(Record, Environment)> {
    let workload = run::checked(args)?;
    let (backend, run) = run::opened(args, workload, (0, &Processes::Alone), None)?;
    let opened_unix_ms = Rc::new(Cell::new(0));
    let opening = Rc::clone(&opened_unix_ms);
    let stop_here = Arc::clone(stop);
    let mut backend = GatedTarget::new(backend, move || {
        wait_for_turn(&stop_here)?;
        opening.set(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis() as u64));
        Ok(())
    });
    backend.make_ready(None, stop)?;
    // Its words do not tell what will be printed of it.
    let mut record = measure_keeping(&mut backend, &run, LatenciesOf::EachLane, stop)?;
    // Before its window it waited for the others. In virtual time there is no such moment.
    if record.started_unix_ms > 0 {
        record.started_unix_ms = opened_unix_ms.get();
    }
    Ok((record, backend.environment().clone()))
}

/// Says that this job is ready, and waits until its window may open. From then on, the end of the input sets `stop`.
fn wait_for_turn(stop: &Arc<AtomicBool>) -> Result<(), MeasureError> {
    let mut out = io::stdout();
    let mut line = String::new();
    let said = out.write_all(READY.as_bytes()).and_then(|()| out.flush());
    let heard = said.and_then(|()| io::stdin().read_line(&mut line));
    let delay = heard.ok().and_then(|_| line.trim().parse().ok()).map(Nanos).ok_or(MeasureError::Interrupted)?;
    let seen = Arc::clone(stop);
    let watch = move || {
        let _ = io::copy(&mut io::stdin(), &mut io::sink());
        seen.store(true, Ordering::Relaxed);
    };
    let watching = std::thread::Builder::new().name("conductor".to_string()).spawn(watch);
    watching.map_err(|error| MeasureError::Thread { what: format!("could not be started ({error})") })?;
    if passed(delay, stop) { Ok(()) } else { Err(MeasureError::Interrupted) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_has_all_that_join_the_one_before() {
        let run = |joins| {
            let mut run = RunWords::default();
            run.joins = joins;
            run
        };
        let runs = [run(false), run(true), run(true), run(false), run(false), run(true)];
        assert_eq!((turn(&runs, 0), turn(&runs, 3), turn(&runs, 4)), (0..3, 3..4, 4..6));
    }

    #[test]
    fn time_passes_unless_the_user_stops() {
        assert!(passed(Nanos(0), &AtomicBool::new(false)));
        assert!(!passed(Nanos(u64::MAX / 4), &AtomicBool::new(true)));
    }
}
