//! Lists diskspd's options, and what its layouts show of them.

use halfpower_spec::{ParseError, Processors, RandomDistribution};

use crate::{OptionRow, RunWords};

type Row = OptionRow<ParsedOptions>;

/// The options collected from a line.
#[derive(Debug, Clone)]
pub struct ParsedOptions {
    pub(super) run: RunWords,
    pub(super) shown: Shown,
    pub(super) block_bytes: u64,
    /// The first byte of each target in use.
    pub(super) base: u64,
    /// The byte before which requests end.
    pub(super) end: Option<u64>,
    /// Bytes of a file that is laid out.
    pub(super) file_bytes: Option<u64>,
    pub(super) writes_percent: u32,
    pub(super) random: bool,
    /// Alignment of random offsets in bytes, if given.
    pub(super) random_align: Option<u64>,
    pub(super) stride: Option<u64>,
    /// Whether sequential requests go backwards.
    pub(super) backwards: bool,
    pub(super) total_threads: Option<u32>,
    /// Share of requests that jump, in percent, if it is not all of them.
    pub(super) random_percent: Option<u32>,
    /// Whether the threads of a target share one sequence of blocks.
    pub(super) interlocked: bool,
    /// Whether threads begin apart from each other.
    pub(super) apart: bool,
    /// Whether zeros are written.
    pub(super) zeros: bool,
    /// The file that holds what is written, and how many bytes of it are used.
    pub(super) source: Option<(String, u64)>,
    /// Zones of random requests, as halfpower writes them.
    pub(super) zones: Option<String>,
    /// Requests of a burst, and milliseconds between two bursts.
    pub(super) burst: Option<u32>,
    pub(super) pause_ms: Option<u32>,
    /// Whether the target is mapped into memory, and whether each write is flushed then.
    pub(super) mapped: bool,
    pub(super) flushes_view: bool,
    /// Whether each outstanding request goes through the same blocks.
    pub(super) parallel: bool,
}

/// Default warm-up in seconds, unless -W sets it.
const USUAL_WARM_UP_S: u32 = 5;

impl ParsedOptions {
    /// diskspd's defaults.
    pub(super) fn new() -> Self {
        Self {
            run: RunWords::default(),
            shown: Shown { warm_up_s: USUAL_WARM_UP_S, ..Shown::default() },
            block_bytes: 64 * 1024,
            base: 0,
            end: None,
            file_bytes: None,
            writes_percent: 0,
            random: false,
            random_align: None,
            stride: None,
            backwards: false,
            total_threads: None,
            random_percent: None,
            interlocked: false,
            apart: false,
            zeros: false,
            source: None,
            zones: None,
            burst: None,
            pause_ms: None,
            mapped: false,
            flushes_view: false,
            parallel: false,
        }
    }
}

fn count(value: &str) -> Result<u32, String> {
    value.parse().map_err(|_| format!("`{value}` is not a whole number; write it attached, as in -t2"))
}

/// Parses a size with K, M, G or T, or in blocks with b.
fn size(asked: &ParsedOptions, value: &str) -> Result<u64, String> {
    let digits = value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len());
    let number: u64 =
        value[..digits].parse().map_err(|_| format!("`{value}` is no size; write it attached, as in -b4K"))?;
    let unit = match &value[digits..] {
        "" => 1,
        "K" | "k" => 1 << 10,
        "M" | "m" => 1 << 20,
        "G" | "g" => 1 << 30,
        "T" | "t" => 1 << 40,
        "b" | "B" => asked.block_bytes,
        other => return Err(format!("there is no unit `{other}`; use K, M, G or b")),
    };
    number.checked_mul(unit).filter(|bytes| *bytes > 0).ok_or_else(|| format!("`{value}` is no size"))
}

fn zero(value: &str, why: &str) -> Result<(), String> {
    if value.trim_start_matches('0').is_empty() && !value.is_empty() { Ok(()) } else { Err(why.to_string()) }
}

/// Takes `-a0,1`, or with groups of processors `-ag0,0,1`.
fn affinity(asked: &mut ParsedOptions, value: &str) -> Result<(), String> {
    let list = match value.strip_prefix('g') {
        Some("") => return Ok(()),
        Some(grouped) => match grouped.split_once(',') {
            Some(("0", list)) => list,
            _ => return Err("Linux has no groups of processors; write -a with their numbers, as in -a0,1".to_string()),
        },
        None if value.is_empty() => return Ok(()),
        None => value,
    };
    let list: Processors = list.parse().map_err(|error: ParseError| error.to_string())?;
    asked.run.set("--processors", list);
    Ok(())
}

/// Takes the letters of -S, in any order.
fn caching(asked: &mut ParsedOptions, letters: &str) -> Result<(), String> {
    let mut uncached = letters.is_empty();
    let mut durable = false;
    for letter in letters.chars() {
        match letter {
            'b' => {}
            'h' => (uncached, durable) = (true, true),
            'u' => uncached = true,
            'w' => durable = true,
            'r' => return Err("caches of a server are not switched apart; use -Su or -Sb".to_string()),
            'm' => asked.mapped = true,
            other => return Err(format!("there is no letter `{other}`; use b, h, m, u or w")),
        }
    }
    if letters.contains('m') && (uncached || durable) {
        return Err("memory that is mapped goes through the page cache; write -Sm, and -Nv to flush it".to_string());
    }
    if letters.contains('b') && uncached {
        return Err("b does not go together with u and h".to_string());
    }
    asked.run.set(
        "--cache",
        match (uncached, durable) {
            (true, true) => "none",
            (true, false) => "device",
            (false, true) => "os",
            (false, false) => "both",
        },
    );
    Ok(())
}

/// Takes -rd: a distribution of random requests over zones, `pct` of the target or `abs` in sizes. What the shares lack of
/// 100 is of the rest of the target.
fn zones(asked: &mut ParsedOptions, value: &str) -> Result<(), String> {
    let (name, list) = match (value.strip_prefix("pct"), value.strip_prefix("abs")) {
        (Some(list), _) => ("zoned", list),
        (_, Some(list)) => ("zoned_abs", list),
        _ => return Err(format!("`{value}`: write it like -rdpct90/10:10/90 or -rdabs90/1G:10/9G")),
    };
    let mut all = 0;
    let mut text = name.to_string();
    for zone in list.split(':') {
        let (share, length) = zone.split_once('/').ok_or_else(|| format!("`{zone}`: write a zone like 90/10"))?;
        let share = count(share)?;
        all += share.min(100);
        let length = if name == "zoned" { u64::from(count(length)?) } else { size(asked, length)? };
        text += &format!(":{share}/{length}");
    }
    if all < 100 {
        text += &format!(":{}/", 100 - all);
    }
    let distribution: RandomDistribution = text.parse().map_err(|error: ParseError| error.to_string())?;
    asked.random = true;
    asked.zones = Some(distribution.to_string());
    Ok(())
}

/// Takes -I, whose classes are those of Windows.
fn priority(asked: &mut ParsedOptions, value: &str) -> Result<(), String> {
    match value {
        "1" => asked.run.set("--io-priority", "idle"),
        "2" => asked.run.set("--io-priority", "best-effort:7"),
        "3" => asked.run.unset("--io-priority"),
        other => return Err(format!("`{other}`: write 1, very low, 2, low, or 3, normal")),
    }
    Ok(())
}

/// Takes -f: the end of the bytes in use, or letters for hints.
fn size_or_hint(asked: &mut ParsedOptions, value: &str) -> Result<(), String> {
    if value.starts_with(|c: char| c.is_ascii_digit()) {
        asked.end = Some(size(asked, value)?);
        return Ok(());
    }
    match value {
        "r" => asked.run.set("--fadvise", "random"),
        "s" => asked.run.set("--fadvise", "sequential"),
        _ => return Err(format!("`{value}`: write a size, r or s; a file is never opened as temporary")),
    }
    Ok(())
}

/// Takes -B: the first byte in use, and with a length behind a colon also the end.
fn base(asked: &mut ParsedOptions, value: &str) -> Result<(), String> {
    let (base, length) = value.split_once(':').map_or((value, None), |(base, length)| (base, Some(length)));
    asked.base = if zero(base, "").is_ok() { 0 } else { size(asked, base)? };
    if let Some(length) = length {
        asked.end = Some(asked.base.saturating_add(size(asked, length)?));
    }
    Ok(())
}

fn throttle(asked: &mut ParsedOptions, value: &str) -> Result<(), String> {
    match value.strip_suffix('i') {
        Some(iops) => asked.run.set("--rate-iops", count(iops)?),
        None => asked.run.set("--rate", format!("{}kB/s", count(value)?)),
    }
    Ok(())
}

/// diskspd's options.
pub(crate) const OPTIONS: &[Row] = &[
    Row::taken(
        "-a",
        "--processors: threads run on those of a list in turn, as in -a0,1; alone, where the kernel puts them",
        affinity,
    ),
    Row::taken("-b", "--bs [default: 64K], wherever it stands", |asked, value| {
        asked.block_bytes = size(asked, value)?;
        Ok(())
    }),
    Row::taken(
        "-B",
        "the beginning of --region; its end is that of -f or -c, or of a file that is there; -B1G:2G is -B1G -f3G",
        base,
    ),
    Row::taken(
        "-c",
        "--size: a file that is not there is laid out for the run and removed; one that is there is used as it is",
        |asked, value| {
            asked.file_bytes = Some(size(asked, value)?);
            Ok(())
        },
    ),
    Row::taken("-C", "no load goes on after the window; what is in flight is waited for", |asked, value| {
        asked.shown.cool_down_s = 0;
        if count(value)? > 0 {
            asked.run.note("-C: no load goes on after the window, which does not change what is measured in it");
        }
        Ok(())
    }),
    Row::taken(
        "-D",
        "the deviation of I/Os a second between intervals of so many milliseconds is printed [default: 1000]",
        |asked, value| {
            let ms = if value.is_empty() { 1000 } else { count(value)? };
            if ms == 0 {
                return Err(format!("`{value}` is no time; write milliseconds, as in -D1000"));
            }
            asked.shown.interval_ms = Some(ms);
            Ok(())
        },
    ),
    Row::taken("-d", "--runtime in seconds [default: 10]", |asked, value| {
        let seconds: f64 =
            value.parse().map_err(|_| format!("`{value}` is no number of seconds; write it like -d10"))?;
        asked.run.set("--runtime", format!("{seconds}s"));
        Ok(())
    }),
    Row::taken(
        "-f",
        "a size: the end of the bytes in use, counted from the beginning of the target; r and s: --fadvise, where the run is \
         buffered",
        size_or_hint,
    ),
    Row::taken("-F", "--threads, with a single target", |asked, value| {
        asked.total_threads = Some(count(value)?);
        Ok(())
    }),
    Row::taken("-g", "--rate in bytes a millisecond for each thread; with i at its end --rate-iops", throttle),
    Row::taken("-h", "as -Sh", |asked, _| caching(asked, "h")),
    Row::taken("-i", "--thinktime-blocks: requests of a burst, with -j", |asked, value| {
        asked.burst = Some(count(value)?);
        Ok(())
    }),
    Row::taken(
        "-j",
        "--thinktime, --thinktime-from issued: milliseconds between two bursts, with -i",
        |asked, value| {
            asked.pause_ms = Some(count(value)?);
            Ok(())
        },
    ),
    Row::taken("-I", "--io-priority: 1, very low, is idle; 2, low, best-effort:7; 3 is normal", priority),
    Row::taken("-l", "--iomem huge", |asked, _| {
        asked.run.set("--iomem", "huge");
        Ok(())
    }),
    Row::taken("-L", "latencies are printed", |asked, _| {
        asked.shown.latency = true;
        Ok(())
    }),
    Row::without_effect("-n", "threads run where the kernel puts them"),
    Row::taken(
        "-N",
        "with -Sm, v: --fdatasync 1 --flush-by sync_file_range, as FlushViewOfFile; n and i are refused",
        |asked, value| {
            asked.flushes_view = true;
            match value {
                "v" => Ok(()),
                "n" | "i" => {
                    Err("flushes of memory that keeps its data without power are not built; write -Nv".to_string())
                }
                other => Err(format!("`{other}`: write -Nv")),
            }
        },
    ),
    Row::taken("-o", "--iodepth, for each thread [default: 2]", |asked, value| {
        asked.run.set("--iodepth", count(value)?);
        Ok(())
    }),
    Row::taken("-O", "--iodepth, for each thread of -F", |asked, value| {
        asked.run.set("--iodepth", count(value)?);
        Ok(())
    }),
    Row::taken("-p", "--same-blocks: each of the -o requests goes through the same blocks by itself", |asked, _| {
        asked.parallel = true;
        Ok(())
    }),
    Row::without_effect("-P", "no dots are printed while a run goes on"),
    Row::taken(
        "-r",
        "random offsets at multiples of the block size, or of another one: --blockalign",
        |asked, value| {
            asked.random = true;
            asked.random_align = if value.is_empty() { None } else { Some(size(asked, value)?) };
            Ok(())
        },
    ),
    Row::taken(
        "-rs",
        "-r with --jump: so many percent of the requests are random, and the others follow the one before",
        |asked, value| {
            let share = count(value)?;
            if share > 100 {
                return Err(format!("`{value}` is more than 100 percent"));
            }
            asked.random = share > 0;
            asked.random_percent = (share < 100).then_some(share);
            Ok(())
        },
    ),
    Row::taken("-rd", "-r with --random-distribution: pct is zoned, abs is zoned_abs", zones),
    Row::taken("-R", "text or xml", |asked, value| {
        asked.shown.xml = match value {
            "text" => false,
            "xml" => true,
            other => return Err(format!("`{other}`: write -Rtext or -Rxml")),
        };
        Ok(())
    }),
    Row::taken(
        "-s",
        "sequential offsets, one block after the other, or --stride; a multiple of the block size",
        |asked, value| {
            asked.stride = if value.is_empty() { None } else { Some(size(asked, value)?) };
            Ok(())
        },
    ),
    Row::taken(
        "-si",
        "-s by a single thread with the requests of all: on the device, one sequence of blocks",
        |asked, value| {
            asked.interlocked = true;
            asked.stride = if value.is_empty() { None } else { Some(size(asked, value)?) };
            Ok(())
        },
    ),
    Row::taken("-sb", "-s with --backwards: offsets that fall", |asked, value| {
        asked.backwards = true;
        asked.stride = if value.is_empty() { None } else { Some(size(asked, value)?) };
        Ok(())
    }),
    Row::taken(
        "-S",
        "--cache: h is none, u (and -S alone) device, w os, b both [default: both]; m is --engine mmap; r is refused",
        caching,
    ),
    Row::taken("-t", "--threads, for each target [default: 1]", |asked, value| {
        asked.run.set("--threads", count(value)?);
        Ok(())
    }),
    Row::taken(
        "-T",
        "sequential threads each have a part of their own, and begin with it, whatever the distance",
        |asked, value| {
            asked.apart = zero(value, "").is_err();
            if asked.apart {
                size(asked, value)?;
            }
            Ok(())
        },
    ),
    Row::without_effect("-v", "all that is known is printed"),
    Row::taken("-w", "--rw and --rwmixread: the share of writes in percent; -w alone is 0", |asked, value| {
        let percent = if value.is_empty() { 0 } else { count(value)? };
        if percent > 100 {
            return Err(format!("`{value}` is more than 100 percent"));
        }
        asked.writes_percent = percent;
        Ok(())
    }),
    Row::taken("-W", "--ramp-time in seconds [default: 5]", |asked, value| {
        asked.shown.warm_up_s = count(value)?;
        Ok(())
    }),
    Row::without_effect("-x", "completions are taken from the engine's queue"),
    Row::taken(
        "-X",
        "an XML profile with one time span, whose targets have the same options; -R, -v, -z and targets may stand beside it",
        |_, _| Err("write the profile's name attached, as in -Xprofile.xml".to_string()),
    ),
    Row::refused("-y", "there are no events to wait for; use the shell"),
    Row::taken("-z", "--seed [default: 0]; alone, a seed from the clock, which the output tells", |asked, value| {
        if value.is_empty() {
            let since_1970 = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
            asked.run.set("--seed", since_1970.map_or(1, |time| time.as_millis() as u64));
            return Ok(());
        }
        let seed: u64 = value.parse().map_err(|_| format!("`{value}` is no whole number; write it like -z42"))?;
        asked.run.set("--seed", seed);
        Ok(())
    }),
    Row::taken(
        "-Z",
        "alone, --compressible 100: zeros; r or a size: incompressible, as without it; a size and a file: --payload",
        |asked, value| match (value, value.split_once(',')) {
            ("r", _) => Ok(()),
            ("", _) => {
                asked.zeros = true;
                Ok(())
            }
            (_, Some((_, ""))) => Err(format!("`{value}`: name the file behind the size, as in -Z1M,data.bin")),
            (_, Some((bytes, file))) => {
                asked.source = Some((file.to_string(), size(asked, bytes)?));
                Ok(())
            }
            (value, None) => size(asked, value).map(|_| ()),
        },
    ),
    Row::refused(
        "-e",
        "there are no kernel events of Windows; --pass traced of `halfpower run` traces the block layer",
    ),
];

/// What the layouts show of the command line.
#[derive(Debug, Clone, Default)]
pub struct Shown {
    /// The line as it was typed, after the program's name.
    pub line: String,
    /// Whether latencies were asked for.
    pub latency: bool,
    /// Whether the result is XML.
    pub xml: bool,
    /// Seconds before the window opens.
    pub warm_up_s: u32,
    /// Seconds after the window closed.
    pub cool_down_s: u32,
    /// Length of the intervals whose rates are compared, in milliseconds; `None` compares none.
    pub interval_ms: Option<u32>,
}
