//! Lists SQLIO's options.

use halfpower_spec::Bytes;

use super::asked::ParsedOptions;
use super::parameter_file;
use crate::OptionRow;

type Row = OptionRow<ParsedOptions>;

fn number(value: &str) -> Result<u64, String> {
    value.parse().map_err(|_| format!("`{value}` is not a whole number; write it attached, as in -b8"))
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
        asked.run.offset = Some(Bytes(number(value)?.saturating_mul(kib * 1024)));
        Ok(())
    }),
    Row::taken(
        "-F",
        "a parameter file: lines of file, threads, mask, MiB; a mask other than 0x0 is refused",
        parameter_file::read,
    ),
    Row::refused("-m", "requests are not gathered from several blocks; choose -b as large as the whole"),
    Row::refused("-d", "there are no drive letters; name the files"),
    Row::refused("-p", "use `taskset -c LIST halfpower sqlio ...`"),
    Row::refused("-a", "use `taskset -c LIST halfpower sqlio ...`"),
    Row::refused("-R", "name the block device, such as /dev/sdb; writing to it needs --overwrite"),
    Row::refused("-i", "a run lasts for a time and not for requests; give -s"),
    Row::refused("-v", "there is no earlier version whose blocks could be used"),
    Row::without_effect("-64", "memory is always addressed with 64 bits"),
    Row::refused("-u", "results are printed at the end, and not for each second"),
];
