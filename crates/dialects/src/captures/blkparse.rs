//! Reads what blkparse printed, in its usual format, as requests to a device.
//!
//! A request is an operation of whoever queued it (Q), from then to its completion (C); merged ones are one request, split
//! ones several. A trace without Q counts from when it was issued (D).

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use halfpower_record::OperationKind;

use crate::captures::clock::seconds_ns;
use crate::captures::collected::{Broken, Collected, Seen, Text};
use crate::foreign_run::FileError;

/// Lines at the beginning that are looked at to find out what a file is.
const LOOKED_AT: usize = 50;
const SECTOR: u64 = 512;
/// Programs of the kernel: the name of a trace is rather an application's.
const OF_KERNEL: [&str; 6] = ["kworker", "jbd2", "swapper", "ksoftirqd", "kswapd", "xfsaild"];

const OTHERS: &str = "requests that neither read, write nor flush";
const FAILED: &str = "requests that failed";
const LOWER: &str = "requests of a device that another one of the trace lies on, where they are already";

/// An event: a line of the trace.
struct Event<'a> {
    device: &'a str,
    at_ns: u64,
    who: u64,
    action: &'a str,
    /// What kind of request: letters of `RWDFASMN`.
    kind: &'a str,
    /// Its first sector.
    sector: u64,
    /// Sectors; 0 for a flush.
    sectors: u64,
    /// What follows.
    rest: &'a str,
}

/// Whether a text is blkparse's.
pub(crate) fn is_it(text: &str) -> bool {
    text.lines().filter(|line| !line.trim().is_empty()).take(LOOKED_AT).any(|line| head(line).is_some())
}

/// Device, time, thread, action and kind of a line, and what follows; `None` if it is no event.
fn head(line: &str) -> Option<(Event<'_>, &str)> {
    let mut rest = line;
    let mut next = || {
        let from = rest.trim_start();
        let (word, after) = from.split_at(from.find(char::is_whitespace).unwrap_or(from.len()));
        rest = after;
        (!word.is_empty()).then_some(word)
    };
    let device = next()?;
    let (major, minor) = device.split_once(',')?;
    let numbers = [major, minor, next()?, next()?];
    if numbers.iter().any(|number| number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit())) {
        return None;
    }
    let at_ns = seconds_ns(next()?)?;
    let who = next()?.parse().ok()?;
    let action = next()?;
    if action.len() > 2 || !action.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        return None;
    }
    let kind = next().unwrap_or_default();
    Some((Event { device, at_ns, who, action, kind, sector: 0, sectors: 0, rest: "" }, rest))
}

/// An event, taken apart; `Ok(None)` if a line is none, and what is wrong if it is not whole.
fn event(line: &str) -> Result<Option<Event<'_>>, String> {
    let Some((event, rest)) = head(line) else { return Ok(None) };
    if !["Q", "D", "C", "R", "A"].contains(&event.action) {
        return Ok(None);
    }
    let rest = rest.trim_start();
    let (first, after) = rest.split_once(' ').unwrap_or((rest, ""));
    if first.is_empty() || first.starts_with(['[', '(']) {
        return Ok(Some(Event { rest, ..event }));
    }
    let wrong = |what: &str| format!("{what}: give the text that `blkparse -i TRACE` prints without -f and -F");
    let sector: u64 = first.parse().map_err(|_| wrong(&format!("'{first}' is no sector")))?;
    let Some(count) = after.trim_start().strip_prefix('+') else {
        return Ok(Some(Event { sector, rest: after.trim_start(), ..event }));
    };
    let (count, rest) = count.trim_start().split_once(' ').unwrap_or((count.trim_start(), ""));
    let sectors: u64 = count.parse().map_err(|_| wrong(&format!("'{count}' is no count of sectors")))?;
    Ok(Some(Event { sector, sectors, rest: rest.trim_start(), ..event }))
}

/// Reads the texts of traces of the same time.
pub(crate) fn read(texts: &[Text<'_>], collected: &mut Collected) -> Result<(), Broken> {
    let mut trace = Trace { collected, devices: BTreeMap::new(), lies_on: BTreeSet::new(), names: BTreeMap::new() };
    for (file, text) in texts.iter().enumerate() {
        for (number, line) in text.text.lines().enumerate() {
            let found = event(line).map_err(|message| (file, FileError::at(number + 1, message)))?;
            if let Some(found) = found {
                trace.event(&found);
            }
        }
    }
    trace.finish();
    Ok(())
}

/// Somebody who waits for a request.
struct Asked {
    at_ns: u64,
    who: u64,
    /// Name of the process.
    name: String,
    /// Whether a flush goes before it, which is a request of its own.
    flushes_first: bool,
}

/// A request on its way.
struct Issued {
    asked: Asked,
    sectors: u64,
    kind: OperationKind,
}

/// A device.
struct Device {
    file: u32,
    /// Requests that were queued, by direction (whether it writes) and first sector.
    queued: BTreeMap<(bool, u64), Asked>,
    issued: HashMap<(bool, u64), Issued>,
    /// Flushes that somebody waits for.
    flushes: VecDeque<Asked>,
    /// The flush on its way.
    flush: Option<Asked>,
    /// Whether flushes are issued to it; a device made of others has none of its own, and passes them on.
    issues_flushes: bool,
    requests: u64,
}

/// The trace so far.
struct Trace<'c> {
    collected: &'c mut Collected,
    devices: BTreeMap<String, Device>,
    /// Devices that get requests of another: the device, and the other.
    lies_on: BTreeSet<(String, String)>,
    /// Requests of each program.
    names: BTreeMap<String, u64>,
}

impl Trace<'_> {
    fn event(&mut self, event: &Event<'_>) {
        if event.action == "A" {
            // `8,0 ... A R 5678 + 8 <- (253,0) 1234`
            let from = event.rest.strip_prefix("<- (").and_then(|from| from.split_once(')'));
            if let Some((from, _)) = from {
                self.lies_on.insert((event.device.to_string(), from.to_string()));
            }
            return;
        }
        let collected = &mut *self.collected;
        let device =
            self.devices.entry(event.device.to_string()).or_insert_with(|| Device::new(collected, event.device));
        let operation = operation(event.kind);
        let seen: Vec<(Seen, String)> = match (event.action, operation) {
            (_, None) => {
                if event.action == "C" {
                    collected.leave_out(OTHERS, 1);
                }
                return;
            }
            ("C", _) if has_failed(event.rest) => {
                device.forget(event);
                return collected.leave_out(FAILED, 1);
            }
            (_, Some(_)) if event.sectors == 0 && event.kind.contains('F') => device.flushed(event),
            (_, Some(_)) if event.sectors == 0 => Vec::new(),
            (_, Some(kind)) => device.moved(event, kind).into_iter().collect(),
        };
        for (seen, name) in seen {
            *self.names.entry(name).or_default() += 1;
            device.requests += 1;
            collected.add(seen);
        }
    }

    fn finish(&mut self) {
        let has_own = |name: &str| self.devices.get(name).is_some_and(|device| device.requests > 0);
        let lower: BTreeSet<&String> = self
            .lies_on
            .iter()
            .filter(|(lower, upper)| lower != upper && has_own(upper))
            .map(|(lower, _)| lower)
            .collect();
        let lower: Vec<u32> = lower.iter().filter_map(|name| Some(self.devices.get(*name)?.file)).collect();
        self.collected.leave_out_files(&lower, LOWER);
        for device in self.devices.values() {
            self.collected.never_grows(device.file);
        }
        let is_of_kernel = |name: &str| OF_KERNEL.iter().any(|beginning| name.starts_with(beginning));
        let most = self.names.iter().max_by_key(|(name, count)| (!is_of_kernel(name), **count));
        if let Some((name, _)) = most {
            self.collected.subject = name.clone();
        }
    }
}

impl Device {
    fn new(collected: &mut Collected, number: &str) -> Self {
        Self {
            file: collected.file(&format!("device {number}"), true),
            queued: BTreeMap::new(),
            issued: HashMap::new(),
            flushes: VecDeque::new(),
            flush: None,
            issues_flushes: false,
            requests: 0,
        }
    }

    /// Follows a request with sectors; the operation that ends with this event, and whose it is.
    fn moved(&mut self, event: &Event<'_>, kind: OperationKind) -> Option<(Seen, String)> {
        let writes = kind != OperationKind::Read;
        let key = (writes, event.sector);
        match event.action {
            "Q" => {
                self.queued.insert(key, Asked::of(event));
                None
            }
            "D" => {
                let asked = match self.take_queued(key, event.sectors) {
                    Some(asked) if asked.flushes_first => Asked { at_ns: event.at_ns, ..asked },
                    Some(asked) => asked,
                    None => Asked::of(event),
                };
                self.issued.insert(key, Issued { asked, sectors: event.sectors, kind });
                None
            }
            "R" => {
                let back = self.issued.remove(&key)?;
                self.queued.insert(key, back.asked);
                None
            }
            _ => {
                let issued = self.issued.remove(&key).or_else(|| {
                    let asked = self.take_queued(key, event.sectors)?;
                    Some(Issued { asked, sectors: event.sectors, kind })
                })?;
                let bytes = issued.sectors.saturating_mul(SECTOR);
                let seen = self.seen(&issued.asked, event, issued.kind, bytes);
                Some((seen, issued.asked.name))
            }
        }
    }

    /// Who queued the first of the requests that lie in this one.
    fn take_queued(&mut self, (writes, sector): (bool, u64), sectors: u64) -> Option<Asked> {
        let within = (writes, sector)..(writes, sector.saturating_add(sectors));
        let keys: Vec<(bool, u64)> = self.queued.range(within).map(|(key, _)| *key).collect();
        let taken = keys.iter().filter_map(|key| self.queued.remove(key));
        taken.min_by_key(|asked| asked.at_ns)
    }

    /// Follows a flush; the flushes that end with this event, and whose they are. One that serves nobody's call serves a
    /// durable write.
    fn flushed(&mut self, event: &Event<'_>) -> Vec<(Seen, String)> {
        let asked: Vec<Asked> = match event.action {
            "Q" => {
                self.flushes.push_back(Asked::of(event));
                Vec::new()
            }
            "D" => {
                self.flush = Some(Asked::of(event));
                self.issues_flushes = true;
                Vec::new()
            }
            "C" => match self.flush.take() {
                Some(issued) => {
                    let served = self.flushes.iter().take_while(|asked| asked.at_ns <= issued.at_ns).count();
                    if served == 0 { vec![issued] } else { self.flushes.drain(..served).collect() }
                }
                // The call's own completion follows that of the flush which served it.
                None if self.issues_flushes => Vec::new(),
                None => self.flushes.pop_front().into_iter().collect(),
            },
            _ => Vec::new(),
        };
        let flushes = asked.into_iter().map(|asked| {
            let seen = self.seen(&asked, event, OperationKind::Fdatasync, 0);
            (Seen { offset: 0, ..seen }, asked.name)
        });
        flushes.collect()
    }

    /// Forgets a request that failed.
    fn forget(&mut self, event: &Event<'_>) {
        for writes in [false, true] {
            self.issued.remove(&(writes, event.sector));
            self.queued.remove(&(writes, event.sector));
        }
        if event.sectors == 0 {
            self.flush = None;
            self.flushes.pop_front();
        }
    }

    fn seen(&self, asked: &Asked, event: &Event<'_>, kind: OperationKind, bytes: u64) -> Seen {
        Seen {
            who: asked.who,
            begin_ns: asked.at_ns,
            end_ns: event.at_ns.max(asked.at_ns),
            kind,
            file: self.file,
            offset: event.sector.saturating_mul(SECTOR),
            bytes,
            cached: false,
        }
    }
}

impl Asked {
    fn of(event: &Event<'_>) -> Self {
        let name = event.rest.rsplit_once('[').map_or(event.rest, |(_, name)| name);
        let name = name.trim_end().trim_end_matches(']').to_string();
        Self { at_ns: event.at_ns, who: event.who, name, flushes_first: event.kind.starts_with('F') }
    }
}

/// What a request does by its letters: first `F` if a flush goes before it, then what it does, then `F` if it is durable.
fn operation(kind: &str) -> Option<OperationKind> {
    let does = kind.strip_prefix('F').unwrap_or(kind);
    match does.as_bytes() {
        [b'R', ..] => Some(OperationKind::Read),
        [b'W', b'F', ..] => Some(OperationKind::DurableWrite),
        [b'W', ..] => Some(OperationKind::Write),
        _ if kind.starts_with('F') => Some(OperationKind::Fdatasync),
        _ => None,
    }
}

/// Whether a completion tells an error, `[-5]`.
fn has_failed(rest: &str) -> bool {
    let error = rest.rsplit_once('[').map(|(_, error)| error.trim_end().trim_end_matches(']'));
    error.is_some_and(|error| error.parse::<i64>().is_ok_and(|error| error != 0))
}
