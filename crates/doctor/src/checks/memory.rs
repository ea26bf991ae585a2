//! Checks how memory is shared between the page cache, dirty data, programs and buffers of requests.

use halfpower_spec::Bytes;

use crate::check::Check;
use crate::outcome::{Finding, Look, all, only_if};
use crate::parsed::{chosen, figure, hexadecimal};
use crate::{Outcome, Place};

const VM: &str = "proc/sys/vm";
const SYSCTL: &str = "https://docs.kernel.org/admin-guide/sysctl/vm.html";

pub(crate) const DIRTY: Check = Check {
    code: "dirty-limits",
    title: "Limits of dirty data",
    reads: &["/proc/sys/vm/dirty_{ratio,bytes,background_ratio,background_bytes}"],
    applies: "every place that is not in memory; buffered writes",
    costs: "A limit below 32 MiB makes buffered writes wait for the disk almost at once. A background limit that is \
            not below the limit means that nothing is written before writers wait. Above 40% of memory one flush may \
            take very long (a note). The costs are unknown.",
    source: SYSCTL,
    change: "`sysctl -w vm.dirty_ratio=20 vm.dirty_background_ratio=10`, and back with the old values.",
    look: |place| all([dirty(place)]),
};

fn dirty(place: &Place) -> Look {
    /// Less is written away in a fraction of a second.
    const LEAST: f64 = (32 << 20) as f64;
    only_if(!place.is_in_memory())?;
    let read = |name: &str| place.figure::<f64>(format!("{VM}/{name}"));
    let memory = place.machine.usable_memory().0 as f64;
    let limit = |bytes: &str, ratio: &str| -> Result<(f64, String), Outcome> {
        match read(bytes)? {
            set if set > 0.0 => Ok((set, bytes.to_string())),
            _ => Ok((read(ratio)? / 100.0 * memory, ratio.to_string())),
        }
    };
    let (most, file) = limit("dirty_bytes", "dirty_ratio")?;
    let (background, its_file) = limit("dirty_background_bytes", "dirty_background_ratio")?;
    only_if(memory > 0.0)?;
    let path = |name: &str| format!("{VM}/{name}");
    let old = |name: &str| place.text(path(name)).unwrap_or_default();
    let shown = Bytes(most as u64);
    let finding = if most < LEAST {
        Finding::warn("", format!("buffered writes wait from {shown} of dirty data on"))
    } else if background >= most {
        Finding::warn("", "nothing is written back before writers wait").saw(&path(&its_file), old(&its_file))
    } else if most > 0.4 * memory {
        Finding::note("", format!("{:.0}% of memory may be dirty: one flush may take long", most / memory * 100.0))
    } else {
        return Ok(Outcome::Fine);
    };
    let undo = format!("sysctl -w vm.{file}={} vm.{its_file}={}", old(&file), old(&its_file));
    finding
        .saw(&path(&file), old(&file))
        .change("sysctl -w vm.dirty_ratio=20 vm.dirty_background_ratio=10")
        .back(undo)
        .may_try()
        .end()
}

pub(crate) const RECLAIM: Check = Check {
    code: "zone-reclaim",
    title: "Reclaim within a memory node",
    reads: &["/proc/sys/vm/zone_reclaim_mode"],
    applies: "every place that is not in memory; machines with memory nodes",
    costs: "Pages of the page cache are thrown away although other nodes have free memory. The cost is unknown; the \
            kernel's pages advise against it for file servers.",
    source: SYSCTL,
    change: "`sysctl -w vm.zone_reclaim_mode=0`, and back with the old value.",
    look: |place| all([reclaim(place)]),
};

fn reclaim(place: &Place) -> Look {
    only_if(!place.is_in_memory())?;
    let file = format!("{VM}/zone_reclaim_mode");
    match place.figure::<u32>(&file)? {
        0 => Ok(Outcome::Fine),
        mode => Finding::warn("", "the page cache is emptied while other nodes have memory")
            .saw(&file, mode)
            .try_set(&file, "0", &mode.to_string())
            .end(),
    }
}

pub(crate) const SWAPPINESS: Check = Check {
    code: "swappiness",
    title: "Readiness to swap",
    reads: &["/proc/sys/vm/swappiness", "/proc/swaps"],
    applies: "machines with swap space",
    costs: "Above the usual 60, pages of programs are swapped out in favour of the page cache. Unknown; a note.",
    source: SYSCTL,
    change: "`sysctl -w vm.swappiness=60`, and back with the old value.",
    look: |place| all([swappiness(place)]),
};

fn swappiness(place: &Place) -> Look {
    only_if(place.text("proc/swaps").is_some_and(|swaps| swaps.lines().count() > 1))?;
    let file = format!("{VM}/swappiness");
    match place.figure::<u32>(&file)? {
        ..=60 => Ok(Outcome::Fine),
        more => Finding::note("", format!("programs are swapped out early: swappiness {more}"))
            .saw(&file, more)
            .try_set(&file, "60", &more.to_string())
            .end(),
    }
}

pub(crate) const LOCKED: Check = Check {
    code: "locked-memory",
    title: "Memory that may be locked",
    reads: &["/proc/self/limits", "/proc/self/status"],
    applies: "users without the right CAP_IPC_LOCK",
    costs: "With 64 KiB or less (the usual limit before Linux 5.16) io_uring can register no buffers of use, so \
            pages of buffers are looked up for each request. The cost is unknown.",
    source: "https://man7.org/linux/man-pages/man2/io_uring_register.2.html (RLIMIT_MEMLOCK)",
    change: "`ulimit -l 8192`, or a line `* - memlock 8192` in /etc/security/limits.conf.",
    look: |place| all([locked(place)]),
};

fn locked(place: &Place) -> Look {
    const LOCKS: u32 = 14;
    let status = place.fact("proc/self/status")?;
    let rights = crate::parsed::field(&status, "CapEff").and_then(|text| hexadecimal(&format!("0x{text}")));
    only_if(rights.unwrap_or(0) >> LOCKS & 1 == 0)?;
    let limits = place.fact("proc/self/limits")?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max locked memory")).unwrap_or_default();
    let Some(soft) = line.split_whitespace().next() else { return Err(Outcome::NotApplicable) };
    match soft.parse::<u64>() {
        Ok(bytes) if bytes <= 64 << 10 => {
            Finding::warn("", format!("only {} may be locked: io_uring registers no buffers", Bytes(bytes)))
                .saw("proc/self/limits", format!("Max locked memory {bytes}"))
                .change("ulimit -l 8192")
                .back(format!("ulimit -l {}", bytes >> 10))
                .end()
        }
        _ => Ok(Outcome::Fine),
    }
}

pub(crate) const HUGE: Check = Check {
    code: "huge-pages",
    title: "Huge pages for buffers",
    reads: &["/sys/kernel/mm/transparent_hugepage/enabled", "/proc/sys/vm/nr_hugepages"],
    applies: "every place with a disk",
    costs: "Without huge pages a direct request of 256 KiB has 64 segments of memory and not one. Unknown; a note. \
            `halfpower study --experiments engines` measures it.",
    source: "https://docs.kernel.org/admin-guide/mm/transhuge.html",
    change: "`echo madvise > /sys/kernel/mm/transparent_hugepage/enabled`, and back with `never`.",
    look: |place| all([huge(place)]),
};

fn huge(place: &Place) -> Look {
    only_if(!place.stack.disks.is_empty())?;
    let file = "sys/kernel/mm/transparent_hugepage/enabled";
    let enabled = place.fact(file)?;
    let reserved = place.number::<u64>(format!("{VM}/nr_hugepages")).unwrap_or(0);
    match chosen(&enabled) {
        Some("never") if reserved == 0 => {
            let what = "no huge pages: large direct requests have many segments";
            Finding::note("", what).saw(file, "never").try_set(file, "madvise", "never").end()
        }
        _ => Ok(Outcome::Fine),
    }
}

pub(crate) const PRESSURE: Check = Check {
    code: "memory-pressure",
    title: "Pressure on memory",
    reads: &["/proc/pressure/memory"],
    applies: "kernels with pressure information (PSI)",
    costs: "Above 5% over a minute, programs wait because pages are reclaimed or read back: the page cache keeps \
            less than it could. The share of time is shown; what it costs a request is unknown.",
    source: "https://docs.kernel.org/accounting/psi.html",
    change: "End what takes the memory, or add memory.",
    look: |place| all([pressure(place)]),
};

fn pressure(place: &Place) -> Look {
    let file = "proc/pressure/memory";
    let text = place.fact(file)?;
    let some = text.lines().find(|line| line.starts_with("some")).unwrap_or_default();
    let percent = figure(some, "avg60=").ok_or_else(|| Outcome::untold(format!("/{file} has no figure")))?;
    if percent < 5.0 {
        return Ok(Outcome::Fine);
    }
    Finding::warn("", format!("programs waited for memory {percent:.0}% of the last minute"))
        .saw(file, format!("some avg60={percent}"))
        .change("end what takes the memory, or add memory")
        .end()
}
