//! Defines the requests to a witness and its replies: one JSON object on each line.
//!
//! A request is `{"id":1,"do":"hello"}`. Its reply has the same `id` and one more key, which names the content. The
//! client increments the number with each request, so it can recognise a late reply.

use halfpower_record::{FarBill, Machine, Record};
use halfpower_spec::{Bytes, Run, Way};
use serde::{Deserialize, Serialize};

/// Version of the requests and replies; both ends must speak the same.
pub const PROTOCOL: u32 = 1;

/// Largest plausible figure in a window; as nanoseconds it is 104 days.
const MOST: u64 = 1 << 53;
/// More processors, disks or names than any machine has.
const MOST_ENTRIES: usize = 1 << 14;
/// Longer than any name.
const LONGEST_NAME: usize = 256;

/// A request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Request {
    /// Number of the request.
    pub id: u64,
    /// The call.
    #[serde(flatten)]
    pub call: Call,
}

/// The calls that a witness accepts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase")]
pub(crate) enum Call {
    /// Greet: report version and machine.
    Hello,
    /// Report the clock.
    Time,
    /// Start the soaker, which runs until the next window ends.
    Soak,
    /// Begin a window.
    Begin {
        /// Whether the soaker runs during the window; otherwise it stops.
        soaker: bool,
    },
    /// End the window and report its bill.
    End,
    /// Measure a run at the witness's end, on a file of this size.
    Measure { run: Box<Run>, size: Bytes },
}

/// A reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// Number of the request; `None` if it could not be read.
    pub(crate) id: Option<u64>,
    /// The content.
    #[serde(flatten)]
    pub(crate) answer: Answer,
}

/// The content of a reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Answer {
    Greeting(Greeting),
    /// The witness's Unix time in nanoseconds.
    Time(u64),
    /// The soaker runs; its share of the processors on the idle machine.
    Soaking(f64),
    /// The window has begun.
    Begun(bool),
    Bill(FarBill),
    /// The measured record as JSON text, because it holds larger numbers than the message around it can.
    Record(String),
    /// Why the request could not be served.
    Error(String),
}

/// The witness's introduction of itself.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Greeting {
    /// The protocol version that it speaks.
    pub protocol: u32,
    /// Its release of halfpower.
    pub program: String,
    /// The kernel's ID of this boot; two processes with the same ID run on the same machine.
    pub boot: Option<String>,
    /// Its machine.
    pub machine: Machine,
    /// Names of the processes for which it reports processor time.
    pub processes: Vec<String>,
    /// The ways in which it can measure at its own end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ways: Vec<Way>,
}

/// The part of a greeting that is the same in every version.
#[derive(Deserialize)]
struct OfAnyVersion {
    greeting: Version,
}

#[derive(Deserialize)]
struct Version {
    protocol: u32,
    #[serde(default)]
    program: String,
}

impl Reply {
    /// Parses a line; `None` if it is not a reply of this version, or holds impossible figures.
    pub fn read(line: &[u8]) -> Option<Self> {
        let reply: Self = serde_json::from_slice(line).ok()?;
        let is_sound = match &reply.answer {
            Answer::Greeting(greeting) => greeting.is_sound(),
            Answer::Bill(bill) => is_sound(bill),
            Answer::Time(unix_ns) => i64::try_from(*unix_ns).is_ok(),
            Answer::Soaking(share) => (0.0..=1.0).contains(share),
            Answer::Record(text) => record(text).is_some(),
            Answer::Begun(_) | Answer::Error(_) => true,
        };
        is_sound.then_some(reply)
    }

    /// The version and release in a greeting of another version.
    pub(crate) fn other_version(line: &[u8]) -> Option<(u32, String)> {
        let Version { protocol, program } = serde_json::from_slice::<OfAnyVersion>(line).ok()?.greeting;
        (protocol != PROTOCOL).then_some((protocol, program))
    }

    /// The bill in this reply; `None` for another reply.
    pub fn bill(&self) -> Option<&FarBill> {
        match &self.answer {
            Answer::Bill(bill) => Some(bill),
            _ => None,
        }
    }

    /// The record in this reply; `None` for another reply.
    pub fn record(&self) -> Option<Record> {
        match &self.answer {
            Answer::Record(text) => record(text),
            _ => None,
        }
    }
}

/// Parses a record; `None` if a witness cannot have measured it.
pub(crate) fn record(text: &str) -> Option<Record> {
    let record: Record = serde_json::from_str(text).ok()?;
    let counts = [record.elapsed_ns, record.spent_ns, record.bytes, record.ios, record.cpu.span_ns];
    let is_alone = record.origin.is_none() && record.hosts.is_empty() && record.far_end.is_none();
    (is_alone && counts.into_iter().all(|count| count <= MOST)).then_some(record)
}

/// Whether a name is safe to print.
fn is_name(name: &str) -> bool {
    name.len() <= LONGEST_NAME && !name.chars().any(char::is_control)
}

impl Greeting {
    fn is_sound(&self) -> bool {
        let Machine { kernel, cpu_model, virtualised, hostname, cpu_mhz, cpu_quota, .. } = &self.machine;
        let names = [Some(&self.program), Some(kernel), Some(cpu_model), virtualised.as_ref(), hostname.as_ref()];
        let mut names = names.into_iter().flatten().chain(&self.boot).chain(&self.processes);
        let figures = [cpu_mhz, cpu_quota].into_iter().flatten().all(|figure| *figure > 0.0);
        self.processes.len() <= MOST_ENTRIES
            && self.ways.len() <= Way::ALL.len()
            && names.all(|name| is_name(name))
            && figures
    }
}

/// Whether the figures of a bill are possible.
fn is_sound(bill: &FarBill) -> bool {
    let FarBill { span_ns, machine, soaker, processes, disks, interfaces, noise } = bill;
    let of_machine = machine
        .iter()
        .flat_map(|cpu| [cpu.user_ns, cpu.system_ns, cpu.irq_ns, cpu.softirq_ns, cpu.steal_ns, cpu.idle_ns]);
    let of_disks = disks.iter().flat_map(|disk| [disk.read_bytes, disk.written_bytes, disk.busy_ns]);
    let of_processes = processes.iter().flat_map(|process| [process.processes, process.charged_ns]);
    let of_interfaces = interfaces.iter().flat_map(|interface| [interface.received_bytes, interface.sent_bytes]);
    let of_noise = [noise.pressure_io_ns, noise.pressure_cpu_ns, noise.device_bytes].into_iter().flatten();
    let limits = || disks.iter().filter_map(|disk| disk.limit.as_ref());
    let of_limits = limits().flat_map(|limit| [limit.read_bytes_per_s, limit.write_bytes_per_s]).flatten();
    let of_soaker = soaker.iter().map(|soaker| soaker.lost_ns);
    let mut figures =
        of_machine.chain(of_disks).chain(of_processes).chain(of_interfaces).chain(of_noise).chain(of_limits);
    let names = disks.iter().map(|disk| &disk.name);
    let names = names.chain(processes.iter().map(|process| &process.name));
    let names = names.chain(limits().map(|limit| &limit.group));
    let mut names = names.chain(interfaces.iter().map(|interface| &interface.name));
    let entries = [machine.len(), disks.len(), processes.len(), interfaces.len()];
    let shares = soaker.iter().map(|soaker| soaker.baseline_share).all(|share| (0.0..=1.0).contains(&share));
    *span_ns <= MOST
        && entries.into_iter().all(|count| count <= MOST_ENTRIES)
        && figures.all(|figure| figure <= MOST)
        && of_soaker.into_iter().all(|lost_ns| lost_ns <= MOST)
        && names.all(|name| is_name(name))
        && shares
        && noise.cpu_mhz.is_none_or(|mhz| mhz.is_finite() && mhz >= 0.0)
}

#[cfg(test)]
mod tests {
    use halfpower_record::{CpuTimes, DiskUse, Soaker};

    use super::*;

    #[test]
    fn requests_and_replies_have_the_spelling_that_is_documented() {
        let request = Request { id: 7, call: Call::Begin { soaker: true } };
        assert_eq!(serde_json::to_string(&request).unwrap(), r#"{"id":7,"do":"begin","soaker":true}"#);
        assert_eq!(serde_json::from_str::<Request>(r#"{"do":"end","id":8}"#).unwrap().call, Call::End);
        let reply = Reply { id: Some(7), answer: Answer::Time(5) };
        assert_eq!(serde_json::to_string(&reply).unwrap(), r#"{"id":7,"time":5}"#);
        assert_eq!(Reply::read(br#"{"id":7,"time":5}"#), Some(reply));
    }

    #[test]
    fn figures_that_cannot_be_are_no_reply() {
        let bill = FarBill { machine: vec![CpuTimes { idle_ns: MOST, ..CpuTimes::default() }], ..FarBill::default() };
        let line =
            |bill: &FarBill| serde_json::to_vec(&Reply { id: Some(1), answer: Answer::Bill(bill.clone()) }).unwrap();
        assert!(Reply::read(&line(&bill)).is_some());
        let too_much = FarBill { machine: vec![CpuTimes { idle_ns: MOST + 1, ..CpuTimes::default() }], ..bill.clone() };
        let soaker = Some(Soaker { lost_ns: 1, baseline_share: 1.5 });
        let disks = vec![DiskUse { name: "sd\u{1b}[2Ja".to_string(), ..DiskUse::default() }];
        for odd in [too_much, FarBill { soaker, ..bill.clone() }, FarBill { disks, ..bill }] {
            assert_eq!(Reply::read(&line(&odd)), None, "{odd:?}");
        }
        for odd in [&b"[]"[..], b"{}", br#"{"id":1}"#, br#"{"id":1,"time":-1}"#, br#"{"id":1,"soaking":2}"#, b"\xff"] {
            assert_eq!(Reply::read(odd), None, "{}", odd.escape_ascii());
        }
    }

    #[test]
    fn another_version_is_known_whatever_else_its_greeting_holds() {
        let greeting = br#"{"id":0,"greeting":{"protocol":9,"program":"7.0.0","colour":[1]}}"#;
        assert_eq!(Reply::other_version(greeting), Some((9, "7.0.0".to_string())));
        assert_eq!(Reply::other_version(br#"{"id":0,"greeting":{"protocol":1}}"#), None);
    }
}
