//! Checks the paths of multipath volumes: how many work, and which carry requests.

use halfpower_probe::{Disk, Volume};

use crate::check::Check;
use crate::outcome::{Finding, Look, computed, only_if};
use crate::place::short;
use crate::{Outcome, Place};

const MULTIPATH: &str = "https://docs.kernel.org/admin-guide/device-mapper/index.html; \
                         https://man7.org/linux/man-pages/man5/multipath.conf.5.html";

fn is_multipath(place: &Place, volume: &Volume) -> bool {
    place.text(volume.disk.sys.join("dm/uuid")).is_some_and(|uuid| uuid.starts_with("mpath-"))
}

pub(crate) const PATHS: Check = Check {
    code: "multipath-paths",
    title: "Paths of a multipath volume",
    reads: &["/sys/block/dm-N/slaves/*", "/sys/block/DISK/device/state", "the mapped device's state (root)"],
    applies: "multipath volumes",
    costs: "Paths that do not work carry nothing: the share of them, where all paths are used. With one path left, \
            its failure stops everything.",
    source: MULTIPATH,
    change: "Look at `multipath -ll`, cables, switches and the array's ports.",
    look: |place| place.each_volume(paths),
};

fn paths(place: &Place, volume: &Volume) -> Look {
    only_if(is_multipath(place, volume))?;
    let name = place.mapped_name(&volume.disk);
    let state_of = |path: &String| {
        let disk = Disk::by_name(&place.root, path)?;
        let file = format!("{}/device/state", short(&disk));
        Some((path.clone(), place.text(&file)?, file))
    };
    let states: Vec<(String, String, String)> = volume.beneath.iter().filter_map(state_of).collect();
    let down: Vec<&(String, String, String)> =
        states.iter().filter(|(_, state, _)| !["running", "live"].contains(&state.as_str())).collect();
    let all = volume.beneath.len();
    // dm's own view: after each path stands A (active) or F (failed). Only root is told.
    let failed = place
        .mapping_state(&volume.disk)
        .ok()
        .map_or(0, |state| state.iter().flat_map(|line| line.split_whitespace()).filter(|word| *word == "F").count());
    let lost = down.len().max(failed);
    if lost > 0 {
        let what = format!("{lost} of {all} paths do not work");
        let share = lost as f64 / all.max(1) as f64;
        let finding = Finding::bad(&volume.disk.name, what);
        let finding = match down.first() {
            Some((_, state, file)) => finding.saw(file, state),
            None => finding.saw(&format!("state of {name}"), format!("{failed} x F")),
        };
        return finding
            .costs(computed(0.0, share, "what the paths carry", format!("{lost} of {all} paths")))
            .change(format!("multipath -ll {name}; look at cables and ports"))
            .end();
    }
    match all {
        1 => Finding::warn(&volume.disk.name, "there is one path only")
            .saw(&format!("{}/slaves", short(&volume.disk)), volume.beneath.join(" "))
            .change(format!("multipath -ll {name}"))
            .end(),
        _ => Ok(Outcome::Fine),
    }
}

pub(crate) const POLICY: Check = Check {
    code: "multipath-policy",
    title: "Choice among paths",
    reads: &["the mapped device's table (root)"],
    applies: "multipath volumes",
    costs: "Only the paths of one group carry requests at a time: the share of the others, if the array serves all \
            ports alike (arrays that do not, ALUA, mean it so: a note). With round-robin a slow path holds up the \
            others: a note.",
    source: MULTIPATH,
    change: "`path_grouping_policy multibus` and `path_selector \"service-time 0\"` in /etc/multipath.conf, then \
             `multipathd reconfigure`; back with the old words.",
    look: |place| place.each_volume(policy),
};

/// Policy and number of paths of each group of a multipath table.
fn groups(table: &str) -> Option<Vec<(String, usize)>> {
    let words: Vec<&str> = table.split_whitespace().collect();
    // No table is longer than its words.
    let number = |at: usize| words.get(at)?.parse::<usize>().ok().filter(|number| *number <= words.len());
    // multipath, number of features, features, number of the handler's words, these, number of groups, the first group.
    let mut at = 1;
    at += 1 + number(at)?;
    at += 1 + number(at)?;
    let count = number(at)?;
    at += 2;
    let mut found = Vec::new();
    for _ in 0..count {
        let policy = (*words.get(at)?).to_string();
        at += 1;
        at += 1 + number(at)?;
        let paths = number(at)?;
        let each = number(at + 1)?;
        at += 2 + paths * (1 + each);
        found.push((policy, paths));
    }
    Some(found)
}

fn policy(place: &Place, volume: &Volume) -> Look {
    only_if(is_multipath(place, volume))?;
    let parts = place.mapping(&volume.disk)?;
    let table = parts.iter().find(|part| part.starts_with("multipath ")).ok_or(Outcome::NotApplicable)?;
    let name = place.mapped_name(&volume.disk);
    let found = groups(table).ok_or_else(|| Outcome::untold(format!("the table of {name}")))?;
    let all: usize = found.iter().map(|(_, paths)| paths).sum();
    let most = found.iter().map(|(_, paths)| *paths).max().unwrap_or(0);
    let evidence = found.iter().map(|(policy, paths)| format!("{policy} {paths}")).collect::<Vec<_>>().join(", ");
    let is_alua = table.contains(" alua ");
    let finding = if found.len() > 1 && most > 0 {
        let what = format!("{most} of {all} paths carry requests at a time");
        let share = 1.0 - most as f64 / all as f64;
        let finding =
            if is_alua { Finding::note(&volume.disk.name, what) } else { Finding::warn(&volume.disk.name, what) };
        finding
            .costs(computed(0.0, share, "what the paths carry", format!("{most} of {all} paths")))
            .change("path_grouping_policy multibus in /etc/multipath.conf, then multipathd reconfigure")
    } else if found.iter().any(|(policy, _)| policy == "round-robin") {
        Finding::note(&volume.disk.name, "requests go round the paths: a slow one holds up the others")
            .change("path_selector \"service-time 0\" in /etc/multipath.conf, then multipathd reconfigure")
    } else {
        return Ok(Outcome::Fine);
    };
    finding.saw(&format!("table of {name}"), evidence).end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_paths_are_read_from_the_table() {
        let table =
            "multipath 1 queue_if_no_path 1 alua 2 1 service-time 0 2 2 8:0 1 1 8:16 1 1 round-robin 0 1 1 8:32 1";
        let expected = vec![("service-time".to_string(), 2), ("round-robin".to_string(), 1)];
        assert_eq!(groups(table), Some(expected));
        assert_eq!((groups("multipath 0 0 1 1 service-time 0"), groups("multipath 9")), (None, None));
    }
}
