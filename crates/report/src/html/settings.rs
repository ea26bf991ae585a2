//! Converts the advice to settings of common programs: PostgreSQL, RocksDB, read-ahead and dd.
//!
//! Advice and cells enter, texts to copy leave. A setting is given only if it is a quantity that was measured: bytes
//! per request, requests outstanding, or bytes in flight. What the program's logic does with it was not measured, so
//! each text names the source of its figure.

use halfpower_analyse::{Advice, CellFinding, Findings};
use halfpower_record::FileSystem;
use halfpower_spec::format::precise_size;
use halfpower_spec::{Direction, Pattern, is_unseen, shell_operand, shell_word};

use crate::html::format::{copied_target, is_a_path, mbps};

/// Size of PostgreSQL's reads, in bytes.
const POSTGRESQL_PAGE: u64 = 8192;
/// PostgreSQL's largest `effective_io_concurrency`, and its largest combined read.
const MOST_CONCURRENCY: u32 = 1000;
const MOST_COMBINED: u64 = 1 << 20;
/// Share of the best rate from which a cell counts as equally good, as in the advice.
const GOOD: f64 = 0.95;

/// A text to copy, and its purpose.
pub struct Setting {
    pub program: &'static str,
    pub text: String,
}

/// All settings that follow from one piece of advice.
pub fn settings(advice: &Advice, findings: &Findings) -> Vec<Setting> {
    let named = |program, text: Option<String>| text.map(|text| Setting { program, text });
    let all = [
        named("dd, as near as it comes", dd(advice, findings)),
        named("PostgreSQL", postgresql(advice, findings)),
        named("RocksDB", rocksdb(advice)),
        named("Read-ahead of buffered reads", read_ahead(advice, findings)),
    ];
    all.into_iter().flatten().collect()
}

fn kib(bytes: u64) -> u64 {
    bytes.div_ceil(1024)
}

/// The cell of this advice's path with this block size and one request outstanding; several threads would have one each.
fn one_at_a_time<'a>(advice: &Advice, findings: &'a Findings, bs_bytes: u64) -> Option<&'a CellFinding> {
    let path = (advice.pattern, advice.rw, advice.settings.cache);
    let at = |c: &&CellFinding| (c.pattern, c.rw, c.cache) == path && (c.bs_bytes, c.iodepth) == (bs_bytes, 1);
    findings.cells.iter().filter(at).find(|c| c.threads <= 1)
}

/// A dd command. dd copies sequentially with one request outstanding; the text says so if the advice is deeper.
fn dd(advice: &Advice, findings: &Findings) -> Option<String> {
    let settings = &advice.settings;
    let target = copied_target(findings)?;
    let device = target.starts_with("/dev/");
    // A line break would end the comment or the command, and what is not seen is not copied. Also, this page never shows a command that overwrites a
    // device.
    let forbidden = target.contains(is_unseen) || (device && advice.rw == Direction::Write);
    if advice.pattern != Pattern::Sequential || !is_a_path(target) || forbidden {
        return None;
    }
    let bytes = settings.bs.0;
    let (flag, direct) = if settings.cache.direct() { ("direct", true) } else { ("", false) };
    let file = if device { target.to_string() } else { format!("{}/FILE", target.trim_end_matches('/')) };
    let command = match advice.rw {
        Direction::Read => {
            let flag = if direct { format!(" iflag={flag}") } else { String::new() };
            format!("dd if={} of=/dev/null bs={bytes}{flag} status=progress", shell_word(&file))
        }
        Direction::Write => {
            let flags = if direct { format!(" oflag={flag}") } else { " conv=fdatasync".to_string() };
            let count = (1u64 << 30) / bytes.max(1);
            format!("dd if=/dev/zero of={} bs={bytes} count={count}{flags} status=progress", shell_word(&file))
        }
    };
    let alone = one_at_a_time(advice, findings, bytes).filter(|_| settings.total_depth() > 1);
    let caution = match alone {
        Some(one) => format!("# dd keeps one request outstanding: {} was measured so\n", mbps(one.mbps.value)),
        None if settings.total_depth() > 1 => {
            "# dd keeps one request outstanding, so it stays below this\n".to_string()
        }
        None => String::new(),
    };
    let name = if device { "" } else { "# FILE: a large file in the folder\n" };
    let cp = if direct || advice.rw == Direction::Write {
        String::new()
    } else {
        format!("\n# cp reads the same way, with its own block size\ncp {} /dev/null", shell_operand(&file))
    };
    Some(format!("{name}{caution}{command}{cp}"))
}

/// The smallest depth that is as good as any, at PostgreSQL's page size or the next larger size measured.
fn page_depth(advice: &Advice, findings: &Findings) -> Option<(u64, u32)> {
    let path = (advice.pattern, advice.rw, advice.settings.cache);
    let own = || findings.cells.iter().filter(|c| (c.pattern, c.rw, c.cache) == path && !c.cached && c.steady);
    let sizes = own().map(|cell| cell.bs_bytes).filter(|bs| (POSTGRESQL_PAGE..=4 * POSTGRESQL_PAGE).contains(bs));
    let bs_bytes = sizes.min()?;
    let at_size = || own().filter(|cell| cell.bs_bytes == bs_bytes);
    let best = at_size().map(|cell| cell.mbps.value).fold(0.0, f64::max);
    let good = at_size().filter(|cell| cell.mbps.value >= GOOD * best);
    // A single depth shows nothing about the effect of depth.
    let depths = at_size().count();
    good.map(|cell| cell.iodepth * cell.threads.max(1)).min().filter(|_| depths > 1).map(|depth| (bs_bytes, depth))
}

fn postgresql(advice: &Advice, findings: &Findings) -> Option<String> {
    if advice.rw != Direction::Read {
        return None;
    }
    match advice.pattern {
        Pattern::Random => {
            let (bs_bytes, depth) = page_depth(advice, findings)?;
            let depth = depth.min(MOST_CONCURRENCY);
            Some(format!(
                "# random reads of {}: {depth} outstanding are within 5% of the best depth\n\
                 effective_io_concurrency = {depth}\nmaintenance_io_concurrency = {depth}",
                precise_size(bs_bytes as f64)
            ))
        }
        Pattern::Unknown => None,
        Pattern::Sequential => {
            let combined = advice.settings.bs.0.clamp(POSTGRESQL_PAGE, MOST_COMBINED);
            Some(format!(
                "# PostgreSQL 17 and later: sequential reads in requests of {}\nio_combine_limit = {}kB",
                precise_size(combined as f64),
                kib(combined)
            ))
        }
    }
}

fn rocksdb(advice: &Advice) -> Option<String> {
    if advice.pattern != Pattern::Sequential {
        return None;
    }
    let direct = advice.settings.cache.direct();
    let bytes = advice.settings.bs.0;
    Some(match advice.rw {
        Direction::Read => {
            format!(
                "# DBOptions, for compactions and scans\ncompaction_readahead_size={bytes}\nuse_direct_reads={direct}"
            )
        }
        Direction::Write => format!(
            "# DBOptions, for flushes and compactions\nwritable_file_max_buffer_size={bytes}\n\
             use_direct_io_for_flush_and_compaction={direct}"
        ),
    })
}

/// The read-ahead size: a program that reads through the page cache keeps that many bytes in flight.
fn read_ahead(advice: &Advice, findings: &Findings) -> Option<String> {
    let device = findings.device.as_ref()?;
    let plain = |name: &String| name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.!:".contains(c));
    let has_own = findings.filesystem.as_ref().is_some_and(FileSystem::has_own_backing_device);
    let file = match &device.backing_device {
        Some(own) if plain(own) => format!("/sys/class/bdi/{own}/read_ahead_kb"),
        None if !has_own && plain(&device.name) => format!("/sys/block/{}/queue/read_ahead_kb", device.name),
        _ => return None,
    };
    if (advice.pattern, advice.rw) != (Pattern::Sequential, Direction::Read) {
        return None;
    }
    let kib = kib(advice.settings.bs.0 * u64::from(advice.settings.total_depth()));
    let now = device.read_ahead.map_or(String::new(), |now| format!("; it is {} KiB now", self::kib(now.0)));
    Some(format!(
        "# as many bytes ahead as this advice keeps in flight{now}; as root, and not kept over a restart\n\
         echo {kib} > {file}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use halfpower_analyse::{CellSettings, FastestCell};
    use halfpower_spec::{Bytes, Cache, Rw, Workload};

    fn advised(rw: Rw, cache: Cache) -> Advice {
        Advice {
            rw: rw.direction().expect("one way"),
            pattern: rw.pattern(),
            settings: Workload { rw, cache, bs: Bytes(1 << 18), iodepth: 4, ..Workload::default() },
            mbps: 100.0,
            share_of_peak: 1.0,
            cpu_ms_per_mb: Some(0.1),
            latency_ns_p99: Some(100_000),
            best: FastestCell {
                cell: CellSettings {
                    pattern: rw.pattern(),
                    rw: rw.direction().expect("one way"),
                    cache,
                    iodepth: 4,
                    bs_bytes: 1 << 18,
                    threads: 1,
                },
                mbps: 100.0,
            },
            is_best: true,
        }
    }

    #[test]
    fn rocksdb_takes_the_block_size_and_the_way_round_the_cache() {
        let text = rocksdb(&advised(Rw::Read, Cache::Device)).unwrap();
        assert!(text.contains("compaction_readahead_size=262144") && text.contains("use_direct_reads=true"), "{text}");
        let text = rocksdb(&advised(Rw::Write, Cache::Both)).unwrap();
        assert!(text.contains("use_direct_io_for_flush_and_compaction=false"), "{text}");
        assert!(rocksdb(&advised(Rw::Randread, Cache::Device)).is_none(), "no setting follows from random reads");
    }
}
