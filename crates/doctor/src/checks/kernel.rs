//! Checks whether the kernel itself was built or started to find faults, which makes it slow.

use crate::check::Check;
use crate::outcome::{Finding, Look, all};
use crate::{Outcome, Place};

pub(crate) const DEBUGGING: Check = Check {
    code: "kernel-debugging",
    title: "Kernel that looks for faults",
    reads: &["/proc/cmdline", "/proc/lockdep_stats", "/sys/kernel/debug/kmemleak"],
    applies: "every machine",
    costs: "slub_debug, page_poison, debug_pagealloc, page_owner and lock debugging check every allocation or lock. \
            The cost is unknown, and often large.",
    source: "https://docs.kernel.org/admin-guide/kernel-parameters.html; https://docs.kernel.org/mm/slab.html",
    change: "Start the kernel without these words, or another kernel.",
    look: |place| all([debugging(place)]),
};

fn debugging(place: &Place) -> Look {
    let line = place.fact("proc/cmdline")?;
    let checks = |word: &str| {
        word.starts_with("slub_debug")
            || word.starts_with("slab_debug")
            || ["page_poison=1", "page_poison=on", "debug_pagealloc=on", "page_owner=on", "kmemleak=on"].contains(&word)
    };
    let found: Vec<&str> = line.split_whitespace().filter(|word| checks(word)).collect();
    if !found.is_empty() {
        return Finding::warn("", "the kernel checks its allocations")
            .saw("proc/cmdline", found.join(" "))
            .change("start the kernel without these words")
            .end();
    }
    if place.root.exists("proc/lockdep_stats") {
        return Finding::warn("", "the kernel was built to check its locks")
            .saw("proc/lockdep_stats", "is there")
            .change("start a kernel that was built without CONFIG_PROVE_LOCKING")
            .end();
    }
    Ok(Outcome::Fine)
}
