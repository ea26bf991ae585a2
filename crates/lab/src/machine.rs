//! Measures the processor time that others took: processes outside this test, and other guests of the host.

use std::collections::HashMap;
use std::fmt;
use std::fs;
use std::time::Instant;

/// Linux reports process times in hundredths of a second.
const NS_A_TICK: f64 = 1e7;

/// Processor time spent so far.
pub(crate) struct Machine {
    at: Instant,
    processors: f64,
    steal_ticks: u64,
    /// Processes outside this test and the kernel: name and ticks, including their ended children.
    others: HashMap<u32, (String, u64)>,
}

/// Processor time that others took.
#[derive(Debug, Default, Clone)]
pub(crate) struct Disturbance {
    /// Share of all processors' time.
    pub share: f64,
    /// The process that took most of it.
    pub by: String,
}

impl Machine {
    pub fn now() -> Self {
        let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
        let of_all = stat.lines().next().unwrap_or_default();
        let steal_ticks = of_all.split_whitespace().nth(8).and_then(|ticks| ticks.parse().ok()).unwrap_or(0);
        let processors = stat.lines().filter(|line| line.starts_with("cpu")).count().saturating_sub(1).max(1) as f64;
        Self { at: Instant::now(), processors, steal_ticks, others: others(&processes(), std::process::id()) }
    }

    /// What others took since `earlier`.
    pub fn others_since(&self, earlier: &Self) -> Disturbance {
        let all_ns = self.at.duration_since(earlier.at).as_nanos() as f64 * self.processors;
        // The time of an ended child is added to its parent, so the sum over all processes is preserved.
        let sum = |machine: &Self| machine.others.values().map(|(_, ticks)| ticks).sum::<u64>();
        let stolen = self.steal_ticks.saturating_sub(earlier.steal_ticks);
        let ticks = sum(self).saturating_sub(sum(earlier)) + stolen;
        let took = |(id, (name, ticks)): (&u32, &(String, u64))| {
            let before = earlier.others.get(id).map_or(0, |(_, ticks)| *ticks);
            (ticks.saturating_sub(before), name.clone())
        };
        let (most, name) = self.others.iter().map(took).max().unwrap_or_default();
        let by = if stolen > most { "the host".to_string() } else { name };
        Disturbance { share: ticks as f64 * NS_A_TICK / all_ns.max(1.0), by }
    }
}

impl fmt::Display for Disturbance {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "others took {:.1}% of the processors' time", self.share * 100.0)?;
        if self.share > 0.0 { write!(out, ", {} most", self.by) } else { Ok(()) }
    }
}

/// A process: its parent, name and ticks, including its ended children.
struct Process {
    parent: u32,
    name: String,
    ticks: u64,
}

fn processes() -> HashMap<u32, Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten();
    let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    numbers.filter_map(|id: u32| Some((id, parsed(&fs::read_to_string(format!("/proc/{id}/stat")).ok()?)?))).collect()
}

/// Reads one line of `/proc/PID/stat`, as proc(5) has it.
fn parsed(stat: &str) -> Option<Process> {
    // The name may contain any character but ends with the last closing parenthesis; then follow state, parent, ...
    let (front, fields) = stat.rsplit_once(')')?;
    let name = front.split_once('(')?.1.to_string();
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let ticks = fields.get(11..15)?.iter().filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    Some(Process { parent: fields.get(1)?.parse().ok()?, name, ticks })
}

/// Processes that do not descend from `own`. Kernel threads are left out: they work for every process.
fn others(all: &HashMap<u32, Process>, own: u32) -> HashMap<u32, (String, u64)> {
    const KERNEL: u32 = 2;
    let descends = |id: u32| {
        let mut at = id;
        // If the process tree changes meanwhile, parents may form a cycle.
        for _ in 0..64 {
            if at == own || at == KERNEL {
                return true;
            }
            match all.get(&at) {
                Some(process) if process.parent != 0 => at = process.parent,
                _ => return false,
            }
        }
        false
    };
    let outside = all.iter().filter(|(id, _)| !descends(**id));
    outside.map(|(id, process)| (*id, (process.name.clone(), process.ticks))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_a_process_is_read_whatever_its_name_is() {
        let line = "12 (a) b (c) S 7 12 12 0 -1 4194560 1 2 3 4 50 60 70 80 20 0 1 0 9 1 1";
        let process = parsed(line).unwrap();
        assert_eq!((process.parent, process.name.as_str(), process.ticks), (7, "a) b (c", 260));
        assert!(parsed("12 (a").is_none() && parsed("").is_none());
    }

    #[test]
    fn descendants_and_kernel_threads_are_no_others() {
        let of = |parent, ticks| Process { parent, name: format!("of {parent}"), ticks };
        let all = HashMap::from([
            (1, of(0, 5)),
            (2, of(0, 9)),
            (3, of(2, 9)),
            (10, of(1, 9)),
            (11, of(10, 9)),
            (20, of(1, 6)),
        ]);
        let mut found: Vec<u32> = others(&all, 10).into_keys().collect();
        found.sort_unstable();
        assert_eq!(found, [1, 20]);
    }

    #[test]
    fn what_others_took_is_told_with_who_took_most() {
        let machine = |at: Instant, ticks: u64, steal: u64| Machine {
            at,
            processors: 2.0,
            steal_ticks: steal,
            others: HashMap::from([(1, ("init".to_string(), 3)), (20, ("hog".to_string(), ticks))]),
        };
        let (before, second) = (Instant::now(), std::time::Duration::from_secs(1));
        let took = machine(before + second, 150, 0).others_since(&machine(before, 50, 0));
        assert!((took.share - 0.5).abs() < 1e-9 && took.by == "hog", "{took:?}");
        let took = machine(before + second, 50, 20).others_since(&machine(before, 50, 0));
        assert!((took.share - 0.1).abs() < 1e-9 && took.by == "the host", "{took:?}");
    }

    /// This process belongs to the test.
    #[test]
    fn the_test_itself_is_no_other() {
        assert!(!Machine::now().others.contains_key(&std::process::id()));
    }
}
