//! Reads a workload from the words of `halfpower run`, as profiles of applications write them.

use crate::workload_options::count;
use crate::{
    Arrival, Arrivals, Bytes, EngineName, Nanos, OPTIONS, OptionRow, ParseError, Rw, Workload, WorkloadOption,
    cache_named, count_axis,
};

/// Most threads, and most requests outstanding in each of them.
const MOST_THREADS: u32 = 256;
const MOST_DEPTH: u32 = 1024;
/// Most requests a second of an open loop.
const MOST_IOPS: u64 = 1_000_000_000;
/// Longest time for which a shape may issue requests before its window opens: a study does not count it in advance.
const MOST_RAMP: Nanos = Nanos(60_000_000_000);

/// A word with the byte offset at which it begins.
type Placed<'a> = (usize, &'a str);

/// The workload of these words, such as `--rw randread --bs 8k --iodepth 16`. What they leave out has the default of
/// `halfpower run`.
///
/// # Errors
/// If a word is no flag of a workload, lacks its value, or has a wrong one; the error points at the character.
pub fn workload_of_words(text: &str) -> Result<Workload, ParseError> {
    let mut workload = Workload::default();
    let mut arrivals = Arrivals::Fixed;
    let mut iops = None;
    let mut words = placed(text).into_iter();
    while let Some((at, word)) = words.next() {
        let (flag, given) = match word.split_once('=') {
            Some((flag, value)) => (flag, Some((at + flag.len() + 1, value))),
            None => (word, None),
        };
        let row = flag.strip_prefix("--").and_then(row_of);
        if let Some(row) = row.filter(|row| row.is_switch) {
            row.read(&mut workload.options, "")?;
            continue;
        }
        let mut value = || given.or_else(|| words.next()).ok_or_else(|| ParseError::new(text, at, "give it a value"));
        match (flag, row) {
            (_, Some(row)) => {
                let (place, value) = value()?;
                row.read(&mut workload.options, value).map_err(|error| error.within(text, place))?;
                if workload.options.ramp_time > MOST_RAMP {
                    return Err(ParseError::new(text, place, format!("a shape's ramp takes {MOST_RAMP} at most")));
                }
            }
            ("--rw", _) => workload.rw = read(text, value()?, str::parse::<Rw>)?,
            ("--rwmixread", _) => workload.rwmixread = read(text, value()?, count::<0, 100>)? as u8,
            ("--bs" | "--blocksize" | "-b", _) => workload.bs = read(text, value()?, size)?,
            ("--iodepth" | "-o", _) => workload.iodepth = read(text, value()?, depth)?,
            ("--threads" | "--numjobs" | "-t", _) => {
                workload.threads = read(text, value()?, count::<1, MOST_THREADS>)?;
            }
            ("--cache", _) => workload.cache = read(text, value()?, cache_named)?,
            ("--engine" | "--ioengine", _) => workload.engine = read(text, value()?, engine)?,
            ("--rate-iops", _) => iops = Some(read(text, value()?, rate)?),
            ("--arrivals", _) => arrivals = read(text, value()?, str::parse::<Arrivals>)?,
            _ => return Err(ParseError::new(text, at, UNKNOWN)),
        }
    }
    workload.rate = iops.map(|iops| Arrival { iops, arrivals });
    Ok(workload.with_sizes_in_use())
}

const UNKNOWN: &str = "a shape has the flags of a workload of `halfpower run`, such as --rw, --bs, --iodepth, --threads, \
     --cache and --fdatasync, and this is none of them";

/// The words, each with its place.
fn placed(text: &str) -> Vec<Placed<'_>> {
    let place = |word: &str| word.as_ptr() as usize - text.as_ptr() as usize;
    text.split_whitespace().map(|word| (place(word), word)).collect()
}

fn row_of(name: &str) -> Option<&'static OptionRow> {
    let is_it = |row: &&OptionRow| row.flag == name || row.alias == Some(name);
    OPTIONS.iter().find(is_it).filter(|row| is_of_a_shape(row.option))
}

/// Whether a text of somebody else may set it: what switches a device, chooses a place, ends a run or keeps it waiting it
/// may not. Every option is named here, so that a new one has to be placed.
fn is_of_a_shape(option: WorkloadOption) -> bool {
    use WorkloadOption as Named;
    match option {
        Named::WriteCache | Named::Kernel => false,
        Named::Members | Named::VolumeLayout | Named::Layer | Named::Hosts | Named::Way => false,
        Named::Connections | Named::Sealing => false,
        Named::IoSize | Named::SteadyState | Named::Rest => false,
        Named::Layout
        | Named::Misalign
        | Named::Region
        | Named::Fdatasync
        | Named::FlushBy
        | Named::DurableBy
        | Named::Thinktime
        | Named::Affinity
        | Named::Streams
        | Named::RandomReaders
        | Named::PageCache
        | Named::Fadvise
        | Named::Verify
        | Named::RandomDistribution
        | Named::Jump
        | Named::Stride
        | Named::Backwards
        | Named::EndFlush
        | Named::Compressible
        | Named::Processors
        | Named::RampTime
        | Named::Bssplit
        | Named::FlushingThreads
        | Named::OwnFiles
        | Named::FileOperation
        | Named::Folders
        | Named::FileCount
        | Named::Beside
        | Named::Uncached
        | Named::Atomic
        | Named::ThinktimeBlocks
        | Named::ThinktimeFrom
        | Named::Blockalign
        | Named::SameBlocks
        | Named::IoPriority => true,
    }
}

fn read<T>(
    text: &str,
    (place, value): Placed<'_>,
    of: impl FnOnce(&str) -> Result<T, ParseError>,
) -> Result<T, ParseError> {
    of(value).map_err(|error| error.within(text, place))
}

fn size(text: &str) -> Result<Bytes, ParseError> {
    match text.parse()? {
        Bytes(0) => Err(ParseError::new(text, 0, "a size must be at least one byte")),
        Bytes(bytes) if bytes > 1 << 30 => Err(ParseError::new(text, 0, "a size must be at most 1GiB")),
        size => Ok(size),
    }
}

fn depth(text: &str) -> Result<u32, ParseError> {
    match count_axis(text)?.as_slice() {
        [depth] if *depth <= MOST_DEPTH => Ok(*depth),
        _ => Err(ParseError::new(text, 0, format!("write one depth, from 1 to {MOST_DEPTH}"))),
    }
}

fn rate(text: &str) -> Result<u64, ParseError> {
    match text.parse() {
        Ok(iops) if (1..=MOST_IOPS).contains(&iops) => Ok(iops),
        _ => Err(ParseError::new(text, 0, format!("write requests a second, from 1 to {MOST_IOPS}"))),
    }
}

/// An engine that reaches files; the others come with their target.
fn engine(text: &str) -> Result<EngineName, ParseError> {
    let engine: EngineName = text.parse()?;
    let comes_with_its_target = [EngineName::Null, EngineName::Simulated, EngineName::Memory].contains(&engine);
    match comes_with_its_target || engine.is_of_a_share() {
        true => Err(ParseError::new(text, 0, "this engine comes with its target; leave it out")),
        false => Ok(engine),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cache, Layout, WorkloadOptions};

    #[test]
    fn words_of_run_are_a_workload_and_its_own_words_are_read_back() {
        let text = "--rw write --bs=2k --iodepth 1 --cache buffered --fdatasync 1 --layout append -t 4 --own-files";
        let workload = workload_of_words(text).unwrap();
        let options =
            WorkloadOptions { fdatasync: 1, layout: Layout::Append, own_files: true, ..WorkloadOptions::default() };
        let truth = Workload {
            rw: Rw::Write,
            bs: Bytes(2048),
            iodepth: 1,
            threads: 4,
            cache: Cache::Both,
            options,
            ..Workload::default()
        };
        assert_eq!(workload, truth);
        assert_eq!(workload_of_words(&workload.to_string()), Ok(workload));
        let loaded = workload_of_words("--rw randread --beside randwrite,bs=8k,fdatasync=32").unwrap();
        assert!(loaded.writes() && loaded.load_beside().is_some_and(|load| load.options.fdatasync == 32));
        assert_eq!(workload_of_words(&loaded.to_string()), Ok(loaded));
        let open = workload_of_words("--rw randrw --rwmixread 70 --rate-iops 500 --arrivals poisson").unwrap();
        assert_eq!(open.rate, Some(Arrival { iops: 500, arrivals: Arrivals::Poisson }));
        assert_eq!((open.rwmixread, workload_of_words("").unwrap()), (70, Workload::default()));
        let drawn = workload_of_words("--bssplit 4k/50:8k/50,1m --rw randread").unwrap();
        assert_eq!((drawn.bs, drawn.sizes().count()), (Bytes(8192), 4), "writes have no say in what is read: {drawn}");
    }

    #[test]
    fn wrong_words_are_refused_at_their_character() {
        for (text, at, what) in [
            ("--rw sideways", 5, "randread"),
            ("--bs 4k --depth 3", 8, "none of them"),
            ("--bs", 0, "give it a value"),
            ("--bs 0", 5, "at least one byte"),
            ("--bs 2g", 5, "at most 1GiB"),
            ("--threads 100000", 10, "1 to 256"),
            ("--iodepth=1..4", 10, "one depth"),
            ("--engine null", 9, "comes with its target"),
            ("--write-cache off", 0, "none of them"),
            ("--rw randread --layer 1", 14, "none of them"),
            ("--steady-state iops:10%:30s", 0, "none of them"),
            ("--rest 3h", 0, "none of them"),
            ("--ramp-time 3h", 12, "60s at most"),
            ("--rate-iops 0", 12, "1 to"),
            ("target", 0, "none of them"),
        ] {
            let error = workload_of_words(text).unwrap_err();
            assert!(error.at == at && error.message.contains(what), "{text}: {error:?}");
        }
    }
}
