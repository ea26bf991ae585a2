//! Says what `burst` asks, what it found and what the papers saw.

use halfpower_spec::format;

use super::answer::{AfterAPause, BurstAnswer, LinkRate, MembersTogether, PauseVerdict};
use super::rows::{BurstRow, OverheadRow};
use crate::words::{sentences, size, times, times_of};

pub(crate) const QUESTION: &str = "What do controller and link let through where no medium has to be waited for, and what does each request \
    cost in time?";
pub(crate) const PAPERS: &str = "In 2000 blocks read again and again from the disks' own caches, two deep, brought a PCI bus of 133 MB/s to \
    98.5 MB/s with 1 MB requests and 83.6 with 64 KB, and a 3ware card to 58.9. In 1998 a request had about \
    0.58 ms of fixed time on older Barracuda disks and 0.3 ms on a newer one (Table 3), and a block that had \
    been prefetched came sooner than one that had just been read: some drives did not see that they had it. \
    What is the same: a fixed time that small requests pay in full. What is not: a drive without an arm may \
    keep no blocks at all, since its medium is nearly as fast as its link.";

pub(crate) fn answer(found: &BurstAnswer) -> String {
    let ceiling = [found.link.as_ref().map(link), found.together.as_ref().map(together)];
    let ceiling: Vec<String> = ceiling.into_iter().flatten().collect();
    let ceiling = (!ceiling.is_empty()).then(|| ceiling.join("; "));
    let clauses = [ceiling, found.overhead.as_ref().map(overhead), found.after_a_pause.as_ref().map(after_a_pause)];
    sentences(clauses, "No block could be read again.")
}

/// The settings of a row, such as `1 MiB, 2 deep on each of 4 members`.
fn way(row: &BurstRow) -> String {
    let on = if row.n > 1 { format!(" on each of {} members", row.n) } else { String::new() };
    format!("{}, {} deep{on}", size(row.bs_bytes), row.iodepth)
}

fn link(found: &LinkRate) -> String {
    let best = &found.fastest;
    let again = format!("The same few blocks come again at {} ({})", format::mbps(best.mbps), way(best));
    let of_new = |row: &BurstRow| row.of_new.map(times_of);
    match (&found.answered, of_new(best)) {
        (Some(row), Some(times)) if row == best => {
            format!("{again}, {times} what new ones do: so much gets through controller and link")
        }
        (Some(row), _) => {
            let where_so = if row.n == best.n { way(row) } else { format!("{}, {} alone", way(row), count(row.n)) };
            format!(
                "{again}: so much gets through controller and link, since something before the medium answers: {} \
                 what new ones do ({where_so})",
                of_new(row).unwrap_or_default()
            )
        }
        (None, Some(times)) => format!(
            "{again}, {times} what new ones do: nothing before the medium is known to answer, and controller and link \
             may let more through"
        ),
        (None, None) => format!("{again}: at least so much gets through controller and link"),
    }
}

fn count(members: u32) -> String {
    if members == 1 { "one member".to_string() } else { format!("{members} members") }
}

/// A clause to follow a semicolon.
fn together(found: &MembersTogether) -> String {
    let why = if found.shared { ", so they share what stops them" } else { "" };
    format!("{} together get {} what one gets{why}", count(found.n), times(&found.times))
}

fn overhead(row: &OverheadRow) -> String {
    let OverheadRow { fixed_us, mbps, .. } = row;
    let [value, low, high] = [fixed_us.value, fixed_us.low, fixed_us.high].map(format::time_us);
    let bytes = mbps.map_or(String::new(), |mbps| format!(", and its bytes come at {}", format::mbps(mbps)));
    format!("one at a time, such a request takes {value} ({low} to {high}) whatever its size{bytes}")
}

fn after_a_pause(found: &AfterAPause) -> String {
    let judged = match found.verdict {
        PauseVerdict::SingleRuns => ", by one run each",
        PauseVerdict::NextSooner => ": reading on is sooner than reading again",
        PauseVerdict::SameSooner => ": reading again is sooner than reading on",
        PauseVerdict::Sooner => "",
        PauseVerdict::NoCache => ": these runs show no cache",
    };
    let pause = format::time_ns(found.pause_ns as f64);
    let [next, same, any] =
        [found.latency_ns_p50_next, found.latency_ns_p50_same, found.latency_ns_p50_any].map(format::time_ns);
    format!(
        "after {pause} of nothing, {} that come next take {next}, the same again {same} and any others {any}{judged}",
        size(found.bs_bytes)
    )
}
