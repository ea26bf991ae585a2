//! Answers requests about this machine, one on each line, until the input ends, and defines how a witness measures runs
//! at its own end.

use std::io::{self, BufRead, Write};
use std::time::{SystemTime, UNIX_EPOCH};

use halfpower_os::switched::boot_identity;
use halfpower_probe::{Root, probe_machine};
use halfpower_record::{FarBill, Record, Soaker};
use halfpower_spec::{Bytes, Run, Way};

use crate::counters::Counters;
use crate::lines::{self, Line};
use crate::message::{Answer, Call, Greeting, PROTOCOL, Reply, Request};
use crate::soaking::Soaking;

/// Longer than any request: a run of the far end's names each of its sizes and zones.
const LONGEST_REQUEST: usize = 1 << 20;

/// Answers each line of `input` with one line of `output`, about this machine and the processes with these names. An
/// invalid request gets an error reply. `ways` measures runs. Returns when the input ends or nobody reads the output
/// any more.
///
/// # Errors
/// If the input cannot be read.
pub fn serve(
    mut input: impl BufRead,
    mut output: impl Write,
    processes: &[String],
    ways: &mut dyn Ways,
) -> io::Result<()> {
    let mut server = Server { processes, ways, soaking: None, begun: None };
    loop {
        let reply = match lines::next(&mut input, LONGEST_REQUEST)? {
            Line::End => return Ok(()),
            Line::TooLong => unread("the line is too long"),
            Line::Whole(line) => server.reply(&line),
        };
        let line = serde_json::to_string(&reply).map_err(io::Error::other)?;
        // The client has gone, so the reply has no reader.
        if writeln!(output, "{line}").and_then(|()| output.flush()).is_err() {
            return Ok(());
        }
    }
}

fn unread(why: &str) -> Reply {
    Reply { id: None, answer: Answer::Error(format!("no request: {why}")) }
}

/// The state kept between requests.
struct Server<'a> {
    processes: &'a [String],
    ways: &'a mut dyn Ways,
    soaking: Option<Soaking>,
    begun: Option<Counters>,
}

impl Server<'_> {
    fn reply(&mut self, line: &[u8]) -> Reply {
        match serde_json::from_slice::<Request>(line) {
            Ok(Request { id, call }) => Reply { id: Some(id), answer: self.answer(call) },
            Err(error) => unread(&error.to_string()),
        }
    }

    fn answer(&mut self, call: Call) -> Answer {
        match call {
            Call::Hello => Answer::Greeting(greeting(self.processes, self.ways.offered())),
            Call::Time => Answer::Time(unix_ns()),
            Call::Soak => self.soak(),
            Call::Begin { soaker } => self.begin(soaker),
            Call::End => self.end().map_or_else(|why| Answer::Error(why.to_string()), Answer::Bill),
            Call::Measure { run, size } => self.measure(&run, size),
        }
    }

    fn soak(&mut self) -> Answer {
        // Two soakers would take time from each other.
        self.soaking = None;
        match Soaking::new() {
            Ok(soaking) => {
                let share = soaking.lost().0.baseline_share;
                self.soaking = Some(soaking);
                Answer::Soaking(share.clamp(0.0, 1.0))
            }
            Err(why) => Answer::Error(format!("the soaker cannot be started: {why}")),
        }
    }

    fn measure(&mut self, run: &Run, size: Bytes) -> Answer {
        // A run starts its own soaker if it needs one.
        (self.soaking, self.begun) = (None, None);
        let measured = self.ways.measure(run, size);
        let text = measured.and_then(|record| serde_json::to_string(&record).map_err(|error| error.to_string()));
        text.map_or_else(Answer::Error, Answer::Record)
    }

    fn begin(&mut self, soaker: bool) -> Answer {
        self.soaking = self.soaking.take().filter(|_| soaker);
        self.begun = Some(Counters::at_begin(self.processes));
        self.soaking.iter_mut().for_each(Soaking::begin);
        Answer::Begun(true)
    }

    fn end(&mut self) -> Result<FarBill, &'static str> {
        let begun = self.begun.take().ok_or("no window has begun")?;
        let soaker = self.soaking.take().map(|soaking| soaking.lost().0);
        let soaker = soaker.map(|of| Soaker { baseline_share: of.baseline_share.clamp(0.0, 1.0), ..of });
        Ok(FarBill { soaker, ..begun.bill(self.processes, &Counters::at_end(self.processes)) })
    }
}

/// The greeting of this witness.
fn greeting(processes: &[String], ways: Vec<Way>) -> Greeting {
    Greeting {
        protocol: PROTOCOL,
        program: env!("CARGO_PKG_VERSION").to_string(),
        boot: Some(boot_identity()).filter(|boot| !boot.is_empty()),
        machine: probe_machine(&Root::live()),
        processes: processes.to_vec(),
        ways,
    }
}

fn unix_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as u64)
}

/// Ways to reach this machine's files, by which a witness measures runs for the other end.
pub trait Ways {
    /// The available ways.
    fn offered(&self) -> Vec<Way>;
    /// Measures a run by its way, on a file of this size.
    ///
    /// # Errors
    /// A sentence, without its full stop, that says why the run cannot be measured.
    fn measure(&mut self, run: &Run, size: Bytes) -> Result<Record, String>;
}

/// No ways: the witness only observes.
#[derive(Debug, Clone, Copy)]
pub struct NoWays;

impl Ways for NoWays {
    fn offered(&self) -> Vec<Way> {
        Vec::new()
    }

    fn measure(&mut self, run: &Run, _size: Bytes) -> Result<Record, String> {
        Err(format!("this witness measures nothing by the way {}", run.workload.options.way))
    }
}
