//! Works out which bytes a job uses and how much it moves: fio's sizes, offsets, loops and numbers of requests.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::path::{Path, PathBuf};

use halfpower_spec::{Bytes, IoSize};

use super::take::size;

/// A size, or a share of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// These bytes.
    Bytes(Bytes),
    /// This share, in percent.
    Percent(u32),
}

impl Amount {
    /// Parses fio's sizes and shares, such as `4k` and `50%`; programs that double the percent sign are understood too.
    pub(super) fn parse(value: &str) -> Result<Self, String> {
        let share = value.trim_end_matches('%');
        if share == value {
            return size(value).map(Self::Bytes);
        }
        let percent: u32 = share.trim().parse().map_err(|_| format!("`{value}` is no share; write one like 50%"))?;
        if percent == 0 {
            Err(format!("`{value}` is nothing; write a share such as 50%"))
        } else {
            Ok(Self::Percent(percent))
        }
    }
}

/// What ends a job, beside the longest time that it may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// Its time alone (`time_based`), whatever it says of amounts.
    Time,
    /// That it has moved its size, or what it says of amounts, as in fio.
    Size,
    /// What it says of amounts, if anything: the line names its target as halfpower does.
    Said,
}

/// What a job says of its amounts.
#[derive(Debug, Clone, Default)]
pub struct Amounts {
    /// Bytes of all its files, and what it moves unless `io_size` says so.
    pub(super) size: Option<Amount>,
    /// Bytes of each file.
    pub(super) filesize: Option<Bytes>,
    /// Where each file is begun.
    pub(super) offset: Option<Amount>,
    /// How much further on each thread begins than the one before.
    pub(super) increment: Option<Amount>,
    pub(super) io_size: Option<Amount>,
    pub(super) number_ios: Option<u64>,
    pub(super) loops: Option<u32>,
}

/// The amounts of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Resolved {
    /// Bytes of each file; `None` is all of it.
    pub size: Option<Bytes>,
    /// The first byte of each file in use.
    pub offset: Option<Bytes>,
    /// What each of its threads moves; `None` ends the run by its time alone.
    pub io_size: Option<IoSize>,
}

impl Amounts {
    /// The amounts for a job of `files`, `count` of them, with requests of `block` bytes (rounded to) and of `mean` bytes
    /// on average.
    ///
    /// # Errors
    /// If a share is of a file whose size is not known.
    pub(super) fn resolved(
        &self,
        (files, count): (&[OsString], u32),
        (block, mean): (u64, f64),
        end: End,
    ) -> Result<Resolved, String> {
        let whole = |what: &str| {
            files.first().and_then(bytes_of).ok_or_else(|| {
                format!("{what}: a share is one of a file or device that is there; write a size such as 1g")
            })
        };
        let aligned = |bytes: u64| bytes - bytes % block.max(1);
        let share = |of: u64, percent: u32| aligned((u128::from(of) * u128::from(percent) / 100) as u64);
        let offset = match self.offset {
            None => None,
            Some(Amount::Bytes(bytes)) => Some(bytes),
            Some(Amount::Percent(percent)) => Some(Bytes(share(whole("offset")?, percent))),
        };
        let each = match (self.filesize, self.size) {
            (Some(bytes), _) => Some(bytes),
            (None, None | Some(Amount::Percent(100))) => None,
            (None, Some(Amount::Bytes(Bytes(bytes)))) => Some(Bytes(bytes / u64::from(count.max(1)))),
            (None, Some(Amount::Percent(percent))) => {
                let rest = whole("size")?.saturating_sub(offset.map_or(0, |offset| offset.0));
                Some(Bytes(share(rest, percent.min(100))))
            }
        };
        if each == Some(Bytes(0)) {
            return Err("size: nothing is left for a file; write a larger one".to_string());
        }
        let has_amount = match end {
            End::Time => false,
            End::Size => true,
            End::Said => self.says_what_is_moved(),
        };
        let io_size = has_amount.then(|| self.moved(each, count, mean));
        Ok(Resolved { size: each, offset, io_size })
    }

    /// Whether it says what is moved, otherwise than by its size.
    fn says_what_is_moved(&self) -> bool {
        self.io_size.is_some() || self.loops.is_some() || self.number_ios.is_some()
    }

    /// These amounts for all of `jobs` together, where each begins further on than the one before: their parts are one
    /// range, which they share.
    ///
    /// # Errors
    /// If their parts have gaps between them, or lie over each other.
    pub(super) fn together(&self, jobs: u32, end: End) -> Result<Self, String> {
        let jobs = u64::from(jobs);
        let Some(increment) = self.increment.filter(|_| jobs > 1) else { return Ok(self.clone()) };
        if self.filesize.is_some() || end != End::Time && self.says_what_is_moved() {
            return Err("offset_increment: leave filesize, io_size, loops and number_ios out beside it".to_string());
        }
        match (increment, self.size) {
            (Amount::Bytes(Bytes(0)), _) => Ok(self.clone()),
            (Amount::Bytes(increment), Some(Amount::Bytes(size))) if increment == size => {
                let all = Amount::Bytes(Bytes(size.0.saturating_mul(jobs)));
                Ok(Self { size: Some(all), io_size: self.size.filter(|_| end == End::Size), ..self.clone() })
            }
            // The parts of threads here are those that fio gives them, but for what the division leaves.
            (Amount::Bytes(Bytes(increment)), Some(Amount::Bytes(Bytes(size))))
                if is_near(increment.saturating_mul(jobs), size) =>
            {
                Ok(self.clone())
            }
            (Amount::Percent(share), _) if is_near(u64::from(share) * jobs, 100) => Ok(self.clone()),
            _ => {
                Err("offset_increment: threads share one range, and sequential ones each have a part of it: write the \
                      same as size, or size divided by numjobs"
                    .to_string())
            }
        }
    }

    /// What a thread moves, with files of `each` bytes.
    fn moved(&self, each: Option<Bytes>, count: u32, mean: f64) -> IoSize {
        let known = each.map(|each| each.0.saturating_mul(u64::from(count.max(1))));
        // With filesize, size says only how much is moved.
        let size = match self.size {
            Some(Amount::Bytes(Bytes(bytes))) if self.filesize.is_some() => Some(bytes),
            _ => known,
        };
        let loops = self.loops.unwrap_or(1).max(1);
        let once = match self.io_size {
            Some(Amount::Bytes(bytes)) => IoSize::Bytes(bytes),
            Some(Amount::Percent(percent)) => IoSize::Percent(percent),
            None if size == known => IoSize::Percent(100),
            None => IoSize::Bytes(Bytes(size.unwrap_or(0))),
        };
        let most = self.number_ios.map(|requests| (requests as f64 * mean).ceil() as u64);
        let once = match (once, most) {
            (once, None) => once,
            (IoSize::Bytes(Bytes(bytes)), Some(most)) => IoSize::Bytes(Bytes(bytes.min(most))),
            (IoSize::Percent(_), Some(most)) => {
                // Of a target whose size is not known here, the number of requests is the smaller one by far.
                let all = known.map_or(u64::MAX, |known| once.of(known));
                if most < all { IoSize::Bytes(Bytes(most)) } else { once }
            }
        };
        match once {
            IoSize::Bytes(Bytes(bytes)) => IoSize::Bytes(Bytes(bytes.saturating_mul(loops.into()).max(1))),
            IoSize::Percent(percent) => IoSize::Percent(percent.saturating_mul(loops)),
        }
    }
}

/// Whether both are equal within 5%.
fn is_near(one: u64, other: u64) -> bool {
    one.abs_diff(other) <= other / 20
}

/// The bytes of a file or block device that is there.
fn bytes_of(file: &OsString) -> Option<u64> {
    let metadata = std::fs::metadata(file).ok().filter(|metadata| !metadata.is_dir())?;
    let end = || File::open(with_an_end(Path::new(file))).ok()?.seek(SeekFrom::End(0)).ok();
    let bytes = if metadata.is_file() { metadata.len() } else { end()? };
    (bytes > 0).then_some(bytes)
}

/// The device that tells its end: the block device beside the generic device of an NVMe namespace, which has none.
fn with_an_end(device: &Path) -> PathBuf {
    let name = device.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let place = name.strip_prefix("ng").filter(|place| place.starts_with(|first: char| first.is_ascii_digit()));
    match place.filter(|_| device.parent() == Some(Path::new("/dev"))) {
        Some(place) => device.with_file_name(format!("nvme{place}")),
        None => device.to_path_buf(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generic_device_of_nvme_ends_where_the_disk_beside_it_does() {
        let of = |device: &str| with_an_end(Path::new(device)).display().to_string();
        assert_eq!((of("/dev/ng0n1"), of("/dev/nvme0n1")), ("/dev/nvme0n1".to_string(), "/dev/nvme0n1".to_string()));
        assert_eq!((of("/dev/ngx"), of("ng0n1")), ("/dev/ngx".to_string(), "ng0n1".to_string()));
    }

    const BLOCK: (u64, f64) = (4096, 4096.0);
    const MIB: u64 = 1 << 20;

    fn amounts(size: Option<Amount>) -> Amounts {
        Amounts { size, ..Amounts::default() }
    }

    fn of(amounts: &Amounts, count: u32) -> Resolved {
        amounts.resolved((&[], count), BLOCK, End::Size).unwrap()
    }

    #[test]
    fn a_job_moves_its_size_once_or_as_often_as_it_loops() {
        let size = Some(Amount::Bytes(Bytes(8 * MIB)));
        assert_eq!(of(&amounts(None), 1).io_size, Some(IoSize::Percent(100)));
        assert_eq!(of(&amounts(size), 2).size, Some(Bytes(4 * MIB)), "a job's files share its size");
        assert_eq!(of(&amounts(size), 2).io_size, Some(IoSize::Percent(100)));
        assert_eq!(of(&Amounts { loops: Some(3), ..amounts(size) }, 1).io_size, Some(IoSize::Percent(300)));
        let less = Amounts { io_size: Some(Amount::Bytes(Bytes(MIB))), ..amounts(size) };
        assert_eq!(of(&less, 1).io_size, Some(IoSize::Bytes(Bytes(MIB))));
        let share = Amounts { io_size: Some(Amount::Percent(50)), ..amounts(size) };
        assert_eq!(of(&share, 1).io_size, Some(IoSize::Percent(50)));
        let large = Amounts { filesize: Some(Bytes(MIB)), ..amounts(size) };
        assert_eq!(
            of(&large, 1),
            Resolved { size: Some(Bytes(MIB)), offset: None, io_size: Some(IoSize::Bytes(Bytes(8 * MIB))) }
        );
    }

    #[test]
    fn a_number_of_requests_ends_what_would_go_on() {
        let size = Some(Amount::Bytes(Bytes(8 * MIB)));
        let number = |number_ios, loops| Amounts { number_ios: Some(number_ios), loops, ..amounts(size) };
        assert_eq!(of(&number(256, None), 1).io_size, Some(IoSize::Bytes(Bytes(MIB))));
        assert_eq!(of(&number(256, Some(2)), 1).io_size, Some(IoSize::Bytes(Bytes(2 * MIB))));
        assert_eq!(of(&number(1 << 20, None), 1).io_size, Some(IoSize::Percent(100)));
    }

    #[test]
    fn time_alone_ends_a_job_of_time_whatever_it_says_of_amounts() {
        let size = Some(Amount::Bytes(Bytes(8 * MIB)));
        let said = [
            Amounts { io_size: size, ..amounts(size) },
            Amounts { loops: Some(2), ..amounts(size) },
            Amounts { number_ios: Some(9), ..amounts(size) },
        ];
        let io_size = |amounts: &Amounts, end| amounts.resolved((&[], 1), BLOCK, end).unwrap().io_size;
        for amounts in &said {
            assert_eq!(io_size(amounts, End::Time), None, "{amounts:?}");
            assert!(io_size(amounts, End::Said).is_some(), "{amounts:?}");
        }
        assert_eq!([End::Time, End::Said].map(|end| io_size(&amounts(size), end)), [None; 2]);
        let apart = |amounts: &Amounts, end| Amounts { increment: size, ..amounts.clone() }.together(4, end);
        assert!(said.iter().all(|amounts| apart(amounts, End::Time).is_ok() && apart(amounts, End::Size).is_err()));
    }

    #[test]
    fn threads_that_begin_further_on_share_one_range() {
        let bytes = |mib: u64| Some(Amount::Bytes(Bytes(mib * MIB)));
        let of = |size, increment| Amounts { size, increment, ..Amounts::default() };
        let four = of(bytes(8), bytes(8)).together(4, End::Size).unwrap();
        assert_eq!((four.size, four.io_size), (bytes(32), bytes(8)));
        assert_eq!(of(bytes(8), bytes(8)).together(4, End::Time).unwrap().io_size, None);
        let quarter = of(bytes(2048), bytes(500)).together(4, End::Time).unwrap();
        assert_eq!(quarter.size, bytes(2048), "a quarter of it each");
        assert_eq!(of(None, Some(Amount::Percent(25))).together(4, End::Time).unwrap().size, None);
        assert_eq!(of(bytes(8), bytes(1)).together(1, End::Size).unwrap().size, bytes(8), "a job alone");
        assert!(of(bytes(8), bytes(1)).together(4, End::Size).unwrap_err().contains("the same as size"));
        assert!(of(None, bytes(1)).together(4, End::Size).is_err());
    }

    #[test]
    fn shares_are_of_the_file_that_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("f");
        std::fs::write(&file, vec![1; 1_000_000]).unwrap();
        let asked = Amounts { offset: Some(Amount::Percent(25)), ..amounts(Some(Amount::Percent(50))) };
        let resolved = asked.resolved((&[file.into()], 1), BLOCK, End::Size).unwrap();
        assert_eq!(resolved.offset, Some(Bytes(250_000 / 4096 * 4096)));
        let rest = 1_000_000 - 250_000 / 4096 * 4096;
        assert_eq!(resolved.size, Some(Bytes(rest / 2 / 4096 * 4096)));
        assert_eq!(resolved.io_size, Some(IoSize::Percent(100)));
        let missing = asked.resolved((&["/no/such/file".into()], 1), BLOCK, End::Size);
        assert!(missing.unwrap_err().contains("that is there"));
        assert_eq!((Amount::parse("50%"), Amount::parse("100%%")), (Ok(Amount::Percent(50)), Ok(Amount::Percent(100))));
        assert!(Amount::parse("0%").is_err() && Amount::parse("x%").is_err());
    }
}
