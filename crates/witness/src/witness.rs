//! Talks to the witness at the far end: starts the command, sends requests, estimates the offset of its clock, and gives
//! up when no reply comes.

use std::io::{BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use halfpower_os::processor::{self, Times};
use halfpower_os::switched::boot_identity;
use halfpower_record::{CpuTimes, FarBill, FarEnd, FarEndMachine, Record};
use halfpower_spec::{Bytes, Run, WorkloadOptions, masked};

use crate::counters::processors_since;
use crate::error::{WitnessError, shown, shown_whole};
use crate::lines::{self, Line};
use crate::message::{Answer, Call, Greeting, Reply, Request, record};

/// Longer than any reply: 16,384 processors of 200 bytes.
const LONGEST_REPLY: usize = 4 << 20;
/// Round trips used to estimate the clock offset; the shortest counts.
const ROUND_TRIPS: usize = 5;
/// How long the far end is observed while it is idle.
const IDLE: Duration = Duration::from_secs(1);
/// Late replies after which the witness is given up.
const MOST_SLOW: u32 = 3;
/// Interval at which a waiting call checks for an interruption.
const STEP: Duration = Duration::from_millis(100);
/// How long the command may take to end after its input has ended.
const FAREWELL: Duration = Duration::from_secs(1);

/// How long the client waits for replies.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// For the greeting, which includes connecting and perhaps entering a password.
    pub greeting: Duration,
    /// For any other reply.
    pub reply: Duration,
    /// For a run measured at the far end, beyond the run's own time: its file must be laid out first.
    pub measurement: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            greeting: Duration::from_secs(60),
            reply: Duration::from_secs(20),
            measurement: Duration::from_secs(120),
        }
    }
}

/// A line and the time of its arrival.
type Arrived = (Instant, Line);

/// The witness at the far end, as long as it answers.
pub struct Witness {
    command: String,
    patience: Patience,
    child: Child,
    /// `None` once the witness is lost.
    requests: Option<ChildStdin>,
    replies: Receiver<Arrived>,
    next_id: u64,
    slow: u32,
    machine: FarEndMachine,
    offset: Option<ClockOffset>,
    is_soaking: bool,
    is_window_open: bool,
    notes: Vec<String>,
}

impl Witness {
    /// Starts `command` with `/bin/sh -c`, so shell syntax applies, and waits for the greeting. Then it observes the
    /// idle far end for a second.
    ///
    /// # Errors
    /// If the command does not start, does not answer, or is not a witness of this version.
    pub fn start(command: &str, patience: Patience) -> Result<Self, WitnessError> {
        let shell = Command::new("/bin/sh").arg("-c").arg(command).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = shell.map_err(WitnessError::NotStarted)?;
        let requests = child.stdin.take();
        let output = child.stdout.take().expect("it was asked for");
        let replies = listen(output).map_err(WitnessError::NotStarted)?;
        let mut witness = Self {
            // It stands in errors, and in notes that a study keeps.
            command: masked(command).into_owned(),
            patience,
            child,
            requests,
            replies,
            next_id: 0,
            slow: 0,
            machine: FarEndMachine::default(),
            offset: None,
            is_soaking: false,
            is_window_open: false,
            notes: Vec::new(),
        };
        let answer = witness.ask(Call::Hello, patience.greeting)?.0;
        let Answer::Greeting(greeting) = answer else { return Err(witness.garbage(b"something else than a greeting")) };
        witness.machine = machine_of(greeting);
        witness.offset = Some(witness.clock_offset()?);
        let here = processor::machine();
        witness.machine.idle_cores = witness.idle_cores()?;
        witness.machine.idle_cores_here = idle_cores_here(&here);
        Ok(witness)
    }

    /// The machine at the far end.
    pub fn machine(&self) -> &FarEndMachine {
        &self.machine
    }

    /// Prepares for a window while the target is idle: measures the clock offset again, and starts the far end's soaker
    /// if requested. If both ends are one machine it starts none: two soakers would take time from each other, and ours
    /// sees everything.
    pub fn prepare(&mut self, with_soaker: bool) {
        if self.requests.is_none() {
            return;
        }
        let offset = self.clock_offset();
        if let Some(offset) = self.heard(offset) {
            self.offset = Some(offset);
        }
        self.is_soaking = false;
        if with_soaker && !self.machine.is_this_machine {
            let soaking = self.ask(Call::Soak, self.patience.reply);
            self.is_soaking = self.heard(soaking).is_some();
        }
    }

    /// Begins a window.
    pub fn begin(&mut self) {
        let begun = self.ask(Call::Begin { soaker: self.is_soaking }, self.patience.reply);
        self.is_window_open = self.heard(begun).is_some();
    }

    /// Ends the window and returns what the far end spent; `None` if it does not answer.
    pub fn end(&mut self) -> Option<FarEnd> {
        if !std::mem::take(&mut self.is_window_open) {
            return None;
        }
        let bill = self.bill();
        let bill = self.heard(bill)?;
        let offset = self.offset?;
        let ClockOffset { offset_ns: clock_offset_ns, reach_ns: clock_offset_reach_ns } = offset;
        Some(FarEnd { bill, clock_offset_ns, clock_offset_reach_ns })
    }

    /// Asks the far end to measure a run by its way, on a file of this size.
    ///
    /// # Errors
    /// If it does not measure the run or is lost; [`WitnessError::Interrupted`] if `stop` was set.
    pub fn measure(&mut self, run: &Run, size: Bytes, stop: &AtomicBool) -> Result<Record, WitnessError> {
        let WorkloadOptions { ramp_time, rest, .. } = run.workload.options;
        let own = Duration::from_nanos(run.runtime.0.saturating_add(ramp_time.0).saturating_add(rest.0));
        let call = Call::Measure { run: Box::new(*run), size };
        let measured = self.ask_until(call, self.patience.measurement.saturating_add(own), Some(stop));
        let record = match measured {
            Ok((Answer::Record(text), _)) => record(&text).filter(|record| record.run == *run),
            Ok(_) => None,
            Err(error) => {
                // Do not wait again for a witness that was silent for so long.
                if matches!(error, WitnessError::Silent { .. }) {
                    self.requests = None;
                }
                self.weigh(&error);
                return Err(error);
            }
        };
        record.ok_or_else(|| {
            self.requests = None;
            self.garbage(b"something else than a record of the run")
        })
    }

    /// Notes about missing replies for the reader; each is returned once.
    pub fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    fn bill(&mut self) -> Result<FarBill, WitnessError> {
        match self.ask(Call::End, self.patience.reply)?.0 {
            Answer::Bill(bill) => Ok(bill),
            _ => Err(self.garbage(b"something else than a bill")),
        }
    }

    fn idle_cores(&mut self) -> Result<Option<f64>, WitnessError> {
        self.ask(Call::Begin { soaker: false }, self.patience.reply)?;
        std::thread::sleep(IDLE);
        let bill = self.bill()?;
        let busy_ns = bill.machine.iter().map(|cpu| cpu.busy_ns() as f64).sum::<f64>();
        Ok((bill.span_ns > 0 && !bill.machine.is_empty()).then(|| busy_ns / bill.span_ns as f64))
    }

    /// The offset from the shortest of several round trips.
    fn clock_offset(&mut self) -> Result<ClockOffset, WitnessError> {
        let mut best: Option<ClockOffset> = None;
        for _ in 0..ROUND_TRIPS {
            let unix = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as u64);
            let (answer, round_trip) = self.ask(Call::Time, self.patience.reply)?;
            let Answer::Time(theirs) = answer else { return Err(self.garbage(b"something else than a time")) };
            let offset = ClockOffset::of_round_trip(unix, theirs, round_trip);
            best = Some(best.map_or(offset, |best| best.better(offset)));
        }
        Ok(best.expect("there was a round trip"))
    }

    /// Sends a request and waits for its reply; also returns the time between the two.
    fn ask(&mut self, call: Call, patience: Duration) -> Result<(Answer, Duration), WitnessError> {
        self.ask_until(call, patience, None)
    }

    /// As `ask`, until `stop` is set.
    fn ask_until(
        &mut self,
        call: Call,
        patience: Duration,
        stop: Option<&AtomicBool>,
    ) -> Result<(Answer, Duration), WitnessError> {
        if self.requests.is_none() {
            return Err(WitnessError::Lost { command: self.command.clone() });
        }
        let is_hello = matches!(call, Call::Hello);
        let id = self.next_id;
        self.next_id += 1;
        let line = serde_json::to_string(&Request { id, call }).expect("a request is plain data") + "\n";
        let sent = Instant::now();
        let is_sent = self.requests.as_mut().is_some_and(|requests| requests.write_all(line.as_bytes()).is_ok());
        if !is_sent {
            // Its last output explains more than the fact that it ended.
            return Err(match self.replies.recv_timeout(FAREWELL) {
                Ok((_, Line::Whole(line))) => self.garbage(&line),
                _ => self.ended(),
            });
        }
        loop {
            let left = patience.saturating_sub(sent.elapsed());
            let step = if stop.is_some() { left.min(STEP) } else { left };
            let (arrived, line) = match self.replies.recv_timeout(step) {
                Ok((arrived, Line::Whole(line))) => (arrived, line),
                Ok((_, Line::TooLong)) => return Err(self.garbage(b"a line without end")),
                Ok((_, Line::End)) | Err(RecvTimeoutError::Disconnected) => return Err(self.ended()),
                Err(RecvTimeoutError::Timeout) if stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) => {
                    return Err(WitnessError::Interrupted);
                }
                Err(RecvTimeoutError::Timeout) if step < left => continue,
                Err(RecvTimeoutError::Timeout) => {
                    return Err(WitnessError::Silent { command: self.command.clone(), patience });
                }
            };
            if let (true, Some((protocol, program))) = (is_hello, Reply::other_version(&line)) {
                return Err(WitnessError::OtherVersion { protocol, program: shown(program.as_bytes()) });
            }
            match Reply::read(&line) {
                Some(Reply { id: Some(of), answer: Answer::Error(said) }) if of == id => {
                    return Err(WitnessError::Refused { said: shown_whole(&said) });
                }
                Some(Reply { id: Some(of), answer }) if of == id => {
                    return Ok((answer, arrived.saturating_duration_since(sent)));
                }
                // A late reply to a request that was given up.
                Some(Reply { id: Some(of), .. }) if of < id => {}
                _ => return Err(self.garbage(&line)),
            }
        }
    }

    fn garbage(&self, said: &[u8]) -> WitnessError {
        WitnessError::Garbage { command: self.command.clone(), said: shown(said) }
    }

    fn ended(&mut self) -> WitnessError {
        // The output may close a moment before the process ends.
        let status = within(FAREWELL, || self.child.try_wait().ok().flatten());
        let how = match status.map(|status| (status.code(), status.signal())) {
            Some((Some(code), _)) => format!(" with exit status {code}"),
            Some((None, Some(signal))) => format!(" by signal {signal}"),
            _ => String::new(),
        };
        WitnessError::Ended { command: self.command.clone(), how }
    }

    /// The answer, if there is one. An error adds a note; a lost witness is not asked again.
    fn heard<T>(&mut self, answer: Result<T, WitnessError>) -> Option<T> {
        let error = match answer {
            Ok(answer) => return Some(answer),
            // Lost earlier and already noted.
            Err(_) if self.requests.is_none() => return None,
            Err(error) => error,
        };
        let is_lost = self.weigh(&error);
        let what =
            if is_lost { "is not asked again: what it spends is not known from then on" } else { "is asked again" };
        self.notes.push(format!("{error}; the far end {what}"));
        None
    }

    /// Whether the witness is lost after this error; if so, it is given up.
    fn weigh(&mut self, error: &WitnessError) -> bool {
        let is_lost = match error {
            WitnessError::Refused { .. } | WitnessError::Interrupted => false,
            WitnessError::Silent { .. } => {
                self.slow += 1;
                self.slow >= MOST_SLOW
            }
            _ => true,
        };
        if is_lost {
            self.requests = None;
        }
        is_lost
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        // A witness ends when its input ends.
        self.requests = None;
        if within(FAREWELL, || self.child.try_wait().ok().flatten()).is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// The first value that `look` returns within `time`.
fn within<T>(time: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let until = Instant::now() + time;
    loop {
        let found = look();
        if found.is_some() || Instant::now() >= until {
            return found;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Reads lines in a separate thread and sends each with its time of arrival.
fn listen(output: ChildStdout) -> std::io::Result<Receiver<Arrived>> {
    // Bounded, so that unread lines cannot fill the memory.
    let (lines, replies) = mpsc::sync_channel(16);
    let work = move || {
        let mut output = BufReader::new(output);
        loop {
            let line = lines::next(&mut output, LONGEST_REPLY).unwrap_or(Line::End);
            let is_last = line == Line::End;
            if lines.send((Instant::now(), line)).is_err() || is_last {
                return;
            }
        }
    };
    std::thread::Builder::new().name("far end".to_string()).spawn(work)?;
    Ok(replies)
}

/// Number of processors that this end kept busy since `then`, from their own time counters.
fn idle_cores_here(then: &[Times]) -> Option<f64> {
    let spent = processors_since(&processor::machine(), then);
    let share = |cpu: &CpuTimes| {
        let busy_ns = cpu.busy_ns() as f64;
        busy_ns / (busy_ns + cpu.idle_ns as f64 + cpu.steal_ns as f64).max(1.0)
    };
    (!spent.is_empty()).then(|| spent.iter().map(share).sum())
}

fn machine_of(greeting: Greeting) -> FarEndMachine {
    let Greeting { program, boot: theirs, machine, processes, ways, .. } = greeting;
    let ours = boot_identity();
    let is_this_machine = !ours.is_empty() && theirs.as_ref() == Some(&ours);
    FarEndMachine { machine, program, is_this_machine, processes, idle_cores: None, idle_cores_here: None, ways }
}

/// The offset of another clock from ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockOffset {
    /// Far clock minus our clock, in nanoseconds.
    pub offset_ns: i64,
    /// Uncertainty, plus or minus: half of the round trip.
    pub reach_ns: u64,
}

impl ClockOffset {
    /// The offset of a clock that read `theirs_unix_ns` at some moment of a round trip that began at `ours_unix_ns`.
    ///
    /// The far end read its clock between sending and arrival, so the middle of the round trip is off by at most half
    /// of it.
    pub fn of_round_trip(ours_unix_ns: u64, theirs_unix_ns: u64, round_trip: Duration) -> Self {
        let half_ns = round_trip.as_nanos() / 2;
        let offset_ns = i128::from(theirs_unix_ns) - i128::from(ours_unix_ns) - half_ns as i128;
        Self {
            offset_ns: i64::try_from(offset_ns).unwrap_or(if offset_ns < 0 { i64::MIN } else { i64::MAX }),
            reach_ns: u64::try_from(half_ns.max(1)).unwrap_or(u64::MAX),
        }
    }

    /// The estimate with the smaller uncertainty.
    pub fn better(self, other: Self) -> Self {
        if other.reach_ns < self.reach_ns { other } else { self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_truth_lies_within_the_reach_wherever_the_clock_was_read() {
        let ahead_ns = -5_000_000_000_i64;
        let began_ns = 10_000_000_000_u64;
        let round_trip_ns = 900_000;
        for read_after_ns in [0, 300_000, 900_000] {
            let theirs = (began_ns + read_after_ns).checked_add_signed(ahead_ns).unwrap();
            let offset = ClockOffset::of_round_trip(began_ns, theirs, Duration::from_nanos(round_trip_ns));
            assert!(offset.offset_ns.abs_diff(ahead_ns) <= offset.reach_ns, "{offset:?}");
        }
        let wide = ClockOffset { offset_ns: 1, reach_ns: 9 };
        let narrow = ClockOffset { offset_ns: 2, reach_ns: 3 };
        assert_eq!((wide.better(narrow), narrow.better(wide)), (narrow, narrow));
    }
}
