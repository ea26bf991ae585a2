//! Adds up the peaks of several parallel paths.

use std::collections::BTreeSet;

use halfpower_record::{HostPlace, Level};
use halfpower_spec::Rate;

/// A level with the peaks of the same level of all paths added up, if all are known. `what` describes the paths, such
/// as `members side by side`.
pub(crate) fn level(level: &Level, paths: &[&[Level]], what: &str) -> Level {
    if paths.len() < 2 {
        return level.clone();
    }
    let paps = peaks(level, paths, |level| level.pap.map(|pap| pap.0));
    let member_pap_iops = peaks(level, paths, |level| level.pap_iops);
    let attainable = peaks(level, paths, |level| level.attainable.map(|rate| rate.0));
    let sum = |peaks: &[f64]| (!peaks.is_empty()).then(|| peaks.iter().sum::<f64>());
    let pap = sum(&paps).map(Rate);
    let pap_iops = sum(&member_pap_iops);
    let attainable = sum(&attainable).map(Rate);
    let source = match (pap, pap_iops) {
        (None, None) => level.source.clone(),
        _ => format!("{} {what}, each as {}", paths.len(), level.source),
    };
    let member_paps = paps.into_iter().map(Rate).collect();
    Level { pap, attainable, pap_iops, member_paps, member_pap_iops, source, ..level.clone() }
}

/// The same figure from each path's level of that name; empty if it is missing on one path.
fn peaks(level: &Level, paths: &[&[Level]], of: fn(&Level) -> Option<f64>) -> Vec<f64> {
    let same = |path: &&[Level]| {
        path.iter().find(|other| other.name == level.name && other.direction == level.direction).and_then(of)
    };
    paths.iter().map(same).collect::<Option<Vec<f64>>>().unwrap_or_default()
}

/// The levels of the combined path of many hosts. Peaks of all hosts add up, but a device that several processes of one
/// computer share counts once. `member_paps` holds the peak of each process, in the order of ranks.
pub fn of_hosts(places: &[(HostPlace, Vec<Level>)]) -> Vec<Level> {
    let mut known = BTreeSet::new();
    let is_new = |place: &HostPlace| {
        let computer = place.machine.hostname.clone().unwrap_or_else(|| place.rank.to_string());
        known.insert((computer, place.device.clone()))
    };
    let distinct: Vec<bool> = places.iter().map(|(place, _)| place).map(is_new).collect();
    let all: Vec<&[Level]> = places.iter().map(|(_, levels)| levels.as_slice()).collect();
    let once: Vec<&[Level]> = all.iter().zip(&distinct).filter(|(_, new)| **new).map(|(levels, _)| *levels).collect();
    let Some((_, first)) = places.first() else { return Vec::new() };
    let of_all = |own: &Level| {
        let by_rank = level(own, &all, "processes");
        let Level { member_paps, member_pap_iops, .. } = by_rank;
        Level { member_paps, member_pap_iops, ..level(own, &once, "hosts at once") }
    };
    first.iter().map(of_all).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use halfpower_record::Machine;

    fn place(rank: u32, computer: &str, device: Option<&str>, mbps: f64) -> (HostPlace, Vec<Level>) {
        let machine = Machine { hostname: Some(computer.to_string()), ..Machine::default() };
        let device = device.map(str::to_string);
        let level = Level { name: "link".to_string(), pap: Some(Rate(mbps * 1e6)), ..Level::default() };
        (HostPlace { rank, machine, device, link: None }, vec![level])
    }

    #[test]
    fn each_host_brings_its_own_and_a_computer_counts_once() {
        let places = [place(0, "a", None, 100.0), place(1, "a", None, 100.0), place(2, "b", None, 50.0)];
        let levels = of_hosts(&places);
        assert_eq!(levels[0].pap, Some(Rate(150e6)));
        assert_eq!(levels[0].member_paps, [Rate(100e6), Rate(100e6), Rate(50e6)], "by rank");
        assert!(levels[0].source.starts_with("2 hosts at once"), "{}", levels[0].source);
        let own_disks = [place(0, "a", Some("sda"), 100.0), place(1, "a", Some("sdb"), 100.0)];
        assert_eq!(of_hosts(&own_disks)[0].pap, Some(Rate(200e6)));
    }

    #[test]
    fn what_one_of_them_does_not_know_nobody_knows() {
        let mut places = [place(0, "a", None, 100.0), place(1, "b", None, 100.0)];
        places[1].1[0].pap = None;
        assert_eq!(of_hosts(&places)[0].pap, None);
    }
}
