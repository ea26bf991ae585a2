//! Lists SQLIO's options, and reads its parameter file.

use std::path::Path;

use halfpower_record::input;
use halfpower_spec::{Bytes, ParseError, Processors};

use crate::{OptionRow, RunWords};

/// The options collected from a line.
#[derive(Debug, Clone, Default)]
pub struct ParsedOptions {
    pub(super) run: RunWords,
    pub(super) shown: Shown,
    pub(super) writes: bool,
    pub(super) random: bool,
    pub(super) synchronous: bool,
    pub(super) bs: Option<u64>,
    /// The first byte in use.
    pub(super) base: u64,
    /// Bytes of each file.
    pub(super) file_bytes: Option<u64>,
}

type Row = OptionRow<ParsedOptions>;

fn number(value: &str) -> Result<u64, String> {
    value.parse().map_err(|_| format!("`{value}` is not a whole number; write it attached, as in -b8"))
}

/// Parses a mask of processors such as `0xf`; `None` is any of them.
fn mask(value: &str) -> Result<Option<Processors>, String> {
    let digits = value.strip_prefix("0x").or_else(|| value.strip_prefix("0X"));
    let bits = digits.map_or_else(|| value.parse(), |digits| u64::from_str_radix(digits, 16));
    let bits = bits.map_err(|_| format!("`{value}` is no mask of processors; write it like 0xf"))?;
    Ok(Processors::of((0..64).filter(|bit| bits >> bit & 1 == 1)))
}

/// SQLIO's default block size, in KiB.
const USUAL_KIB: u64 = 2;

/// SQLIO's options.
pub(crate) const OPTIONS: &[Row] = &[
    Row::taken("-k", "--rw: R reads, W writes [default: R]", |asked, value| {
        asked.writes = match value {
            "R" | "r" => false,
            "W" | "w" => true,
            other => return Err(format!("`{other}`: write -kR or -kW")),
        };
        Ok(())
    }),
    Row::taken("-s", "--runtime in seconds [default: 30]", |asked, value| {
        let seconds: f64 =
            value.parse().map_err(|_| format!("`{value}` is no number of seconds; write it like -s10"))?;
        asked.run.set("--runtime", format!("{seconds}s"));
        Ok(())
    }),
    Row::taken(
        "-f",
        "the order of offsets: random or sequential (also 1) [default: sequential]; a stripe of blocks is refused",
        |asked, value| {
            asked.random = match value {
                "random" => true,
                "sequential" | "1" => false,
                other => {
                    return Err(format!(
                        "`{other}`: blocks come one after the other or at random, and not in stripes; write -frandom or -fsequential"
                    ));
                }
            };
            Ok(())
        },
    ),
    Row::taken("-b", "--bs in KiB [default: 2]", |asked, value| {
        let kib = number(value)?;
        asked.bs = Some(kib);
        asked.run.set("--bs", Bytes(kib.saturating_mul(1024)));
        Ok(())
    }),
    Row::taken("-o", "--iodepth, for each thread; 0 is synchronous [default: 1]", |asked, value| {
        let depth = number(value)?;
        asked.synchronous = depth == 0;
        asked.run.set("--iodepth", depth.max(1));
        Ok(())
    }),
    Row::taken("-t", "--threads [default: 1]", |asked, value| {
        asked.run.set("--threads", number(value)?);
        Ok(())
    }),
    Row::taken("-L", "latencies are printed; S, P and i choose a timer and have no effect", |asked, value| {
        asked.shown.latency = true;
        if ["S", "P", "Si", "Pi", "i", ""].contains(&value) {
            Ok(())
        } else {
            Err(format!("`{value}`: write -LS or -LP"))
        }
    }),
    Row::taken("-B", "--cache: N none, Y both, H device, S os [default: N]", |asked, value| {
        let cache = match value {
            "N" => "none",
            "Y" => "both",
            "H" => "device",
            "S" => "os",
            other => return Err(format!("`{other}`: write -BN, -BY, -BH or -BS")),
        };
        asked.run.set("--cache", cache);
        Ok(())
    }),
    Row::taken("-S", "the first block that is used, the beginning of --region", |asked, value| {
        let kib = asked.bs.unwrap_or(USUAL_KIB);
        asked.base = number(value)?.saturating_mul(kib.saturating_mul(1024));
        Ok(())
    }),
    Row::taken(
        "-F",
        "a parameter file: lines of file, threads, mask, MiB; a mask is --processors, and the same for all files",
        read_parameter_file,
    ),
    Row::refused("-m", "requests are not gathered from several blocks; choose -b as large as the whole"),
    Row::refused(
        "-d",
        "drives have no letters here: name a file on each, such as /mnt/d/testfile.dat /mnt/e/testfile.dat",
    ),
    Row::taken("-p", "--processors: the one with this number", |asked, value| {
        let list: Processors = value.parse().map_err(|error: ParseError| error.to_string())?;
        asked.run.set("--processors", list);
        Ok(())
    }),
    Row::taken("-a", "--processors: those of the mask's bits, as in -a0xf", |asked, value| {
        if let Some(list) = mask(value)? {
            asked.run.set("--processors", list);
        }
        Ok(())
    }),
    Row::refused("-R", "name the block device, such as /dev/sdb; writing to it needs --overwrite"),
    Row::refused("-i", "a run lasts for a time and not for requests; give -s"),
    Row::refused("-v", "there is no earlier version whose blocks could be used"),
    Row::without_effect("-64", "memory is always addressed with 64 bits"),
    Row::refused("-u", "results are printed at the end, and not for each second"),
];

/// What the layout shows of the command line.
#[derive(Debug, Clone, Default)]
pub struct Shown {
    /// Whether latencies were asked for.
    pub latency: bool,
    /// The size that the parameter file gave, in MiB.
    pub size_mib: Option<u64>,
    /// The parameter file.
    pub parameter_file: Option<String>,
}

/// Reads SQLIO's parameter file into `asked`: one line per file with its threads, a processor mask and its size in MiB.
///
/// # Errors
/// The line that is refused, and why.
fn read_parameter_file(asked: &mut ParsedOptions, path: &str) -> Result<(), String> {
    let text = input::read_text(Path::new(path), input::MOST_OF_A_TEXT);
    let text = text.map_err(|error| format!("{path} cannot be read: {error}"))?;
    let mut threads = None;
    let mut size = None;
    let mut processors = None;
    for (number, line) in text.lines().enumerate().map(|(index, line)| (index + 1, line.trim())) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let place = |why: String| format!("{path}, line {number}: {why}");
        let fields: Vec<&str> = line.split_whitespace().collect();
        let whole = |at: usize, what: &str| match fields.get(at) {
            None => Ok(None),
            Some(field) => field.parse::<u64>().map(Some).map_err(|_| place(format!("`{field}` is no {what}"))),
        };
        let here = fields.get(2).map_or(Ok(None), |field| mask(field)).map_err(place)?;
        if asked.run.files.is_empty() {
            processors = here;
        } else if processors != here {
            return Err(place("all files need the same mask of processors".to_string()));
        }
        for (kept, here, what) in [
            (&mut threads, whole(1, "number of threads")?, "number of threads"),
            (&mut size, whole(3, "size in MiB")?, "size"),
        ] {
            if asked.run.files.is_empty() {
                *kept = here;
            } else if *kept != here {
                return Err(place(format!("all files need the same {what}")));
            }
        }
        asked.run.files.push(fields[0].into());
    }
    if asked.run.files.is_empty() {
        return Err(format!("{path} names no file"));
    }
    processors.iter().for_each(|processors| asked.run.set("--processors", processors));
    threads.iter().for_each(|threads| asked.run.set("--threads", threads));
    asked.file_bytes = size.map(|mib| mib.saturating_mul(1 << 20));
    asked.shown.size_mib = size;
    asked.shown.parameter_file = Some(path.to_string());
    Ok(())
}
