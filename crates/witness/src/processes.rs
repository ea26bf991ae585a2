//! Reads the processor time of processes with given names.

use std::collections::BTreeMap;
use std::fs;

use halfpower_os::processor::charged_to_process_ns;
use halfpower_record::ProcessTime;

/// The kernel cuts the names of processes to this length.
const LONGEST_NAME: usize = 15;

/// Name and processor time in nanoseconds of each matching process, by process ID.
pub(crate) type Processes = BTreeMap<u32, (String, u64)>;

/// IDs of the running processes with these names; of all processes if no names are given.
pub(crate) fn numbers(names: &[String]) -> impl Iterator<Item = u32> {
    let named = (!names.is_empty()).then(|| read(names).into_keys());
    let all = names.is_empty().then(every_number);
    named.into_iter().flatten().chain(all.into_iter().flatten())
}

fn every_number() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Reads the running processes with these names.
pub(crate) fn read(names: &[String]) -> Processes {
    if names.is_empty() {
        return Processes::new();
    }
    let wanted: Vec<&str> = names.iter().map(|name| cut(name)).collect();
    let process = |number: u32| {
        let name = fs::read_to_string(format!("/proc/{number}/comm")).ok()?;
        let name = name.trim_end_matches('\n');
        // A process that has just ended has no clock any more.
        let charged_ns = wanted.contains(&name).then(|| charged_to_process_ns(number)).flatten()?;
        Some((number, (name.to_string(), charged_ns)))
    };
    every_number().filter_map(process).collect()
}

fn cut(name: &str) -> &str {
    let end = (0..=LONGEST_NAME.min(name.len())).rev().find(|at| name.is_char_boundary(*at)).unwrap_or(0);
    &name[..end]
}

/// The processor time of each name's processes between two readings. A process that began in between counts from its
/// start; one that ended in between is not counted.
pub(crate) fn between(names: &[String], then: &Processes, now: &Processes) -> Vec<ProcessTime> {
    let of_name = |name: &String| {
        let same = now.iter().filter(|(_, (known, _))| known == cut(name));
        let charged = |(number, (name, now_ns)): (&u32, &(String, u64))| {
            // A reused process ID belongs to another process.
            let before = then.get(number).filter(|(known, then_ns)| known == name && then_ns <= now_ns);
            now_ns - before.map_or(0, |(_, then_ns)| *then_ns)
        };
        ProcessTime { name: name.clone(), processes: same.clone().count() as u64, charged_ns: same.map(charged).sum() }
    };
    names.iter().map(of_name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_of_a_name_are_added_up() {
        let of = |entries: &[(u32, &str, u64)]| -> Processes {
            entries.iter().map(|(number, name, ns)| (*number, (name.to_string(), *ns))).collect()
        };
        let names = ["smbd".to_string(), "a-name-beyond-fifteen".to_string(), "nfsd".to_string()];
        let then = of(&[(7, "smbd", 100), (8, "smbd", 50), (9, "smbd", 900)]);
        let now = of(&[(7, "smbd", 130), (9, "smbd", 20), (10, "smbd", 5), (11, "a-name-beyond-f", 3)]);
        let times = between(&names, &then, &now);
        let reported: Vec<(u64, u64)> = times.iter().map(|time| (time.processes, time.charged_ns)).collect();
        assert_eq!(reported, [(3, 30 + 20 + 5), (1, 3), (0, 0)], "8 ended, 9 was given anew, 10 is new");
    }

    #[test]
    fn this_process_is_found_by_its_name() {
        let own = fs::read_to_string("/proc/self/comm").unwrap().trim_end().to_string();
        assert!(read(&[own]).contains_key(&std::process::id()));
        assert!(read(&["no such name".to_string()]).is_empty());
    }
}
