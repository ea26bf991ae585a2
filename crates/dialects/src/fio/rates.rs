//! Works out a job's request rate from fio's limits of reads and of writes.

use halfpower_spec::Bytes;

use super::take::size;

/// What the requests of a job do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Requests {
    Reads,
    Writes,
    Trims,
    Mixed,
}

/// fio's limits for each direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    read: Option<u64>,
    write: Option<u64>,
    trim: Option<u64>,
}

impl Limits {
    /// Parses a list such as `1m,2m`, for reads, writes and trims: a missing item is as the one before, and an empty one sets
    /// no limit.
    pub(super) fn parse(value: &str) -> Result<Self, String> {
        let of = |item: &str| match item {
            "" => Ok(None),
            item => size(item).map(|Bytes(limit)| (limit > 0).then_some(limit)),
        };
        let limits = value.split(',').map(|item| of(item.trim())).collect::<Result<Vec<_>, _>>()?;
        match limits[..] {
            [all] => Ok(Self { read: all, write: all, trim: all }),
            [read, others] => Ok(Self { read, write: others, trim: others }),
            [read, write, trim] => Ok(Self { read, write, trim }),
            _ => Err(format!("`{value}` has more than limits of reads, writes and trims")),
        }
    }

    /// That of requests of one direction; `None` if there is none, or if they are mixed.
    fn of(self, requests: Requests) -> Option<u64> {
        match requests {
            Requests::Reads => self.read,
            Requests::Writes => self.write,
            Requests::Trims => self.trim,
            Requests::Mixed => None,
        }
    }

    fn any(self) -> bool {
        self.read.is_some() || self.write.is_some()
    }
}

/// The limits of a job, in bytes and in requests a second.
#[derive(Debug, Clone, Copy, Default)]
pub struct Rates {
    pub(super) bytes: Limits,
    pub(super) iops: Limits,
}

/// What a job's limits become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rate {
    /// Bytes a second.
    Bytes(Bytes),
    /// Requests a second.
    Iops(u64),
    /// Requests a second of a mix, and the share of reads in percent that follows from them.
    Mixed { iops: u64, reads_percent: u64 },
}

impl Rates {
    /// The rate of a job with such requests, of these mean bytes where they read and where they write; `None` if nothing is
    /// limited.
    ///
    /// # Errors
    /// If one direction of a mix is limited and the other is not, or has next to no requests.
    pub(super) fn of(self, requests: Requests, bytes: (f64, f64)) -> Result<Option<Rate>, String> {
        let Self { bytes: of_bytes, iops } = self;
        if requests != Requests::Mixed {
            let of_bytes = of_bytes.of(requests).map(|bytes| Rate::Bytes(Bytes(bytes)));
            return Ok(iops.of(requests).map(Rate::Iops).or(of_bytes));
        }
        let in_requests = |limit: Option<u64>, mean: f64| limit.map(|limit| (limit as f64 / mean).round() as u64);
        let (read, write) = match () {
            () if iops.any() => (iops.read, iops.write),
            () if of_bytes.any() => (in_requests(of_bytes.read, bytes.0), in_requests(of_bytes.write, bytes.1)),
            () => return Ok(None),
        };
        match (read, write) {
            (Some(read), Some(write)) if read.saturating_add(write) > 0 => {
                let iops = read.saturating_add(write);
                match (read as f64 / iops as f64 * 100.0).round() as u64 {
                    0 | 100 => Err(format!(
                        "a mix has a whole percentage of reads, and {} of {iops} requests a second round to none: write limits \
                         of which the smaller one is 1% of both or more, or a job for each direction",
                        read.min(write)
                    )),
                    reads_percent => Ok(Some(Rate::Mixed { iops, reads_percent })),
                }
            }
            (Some(_), Some(_)) => Err("a limit below one request a second; write a larger one".to_string()),
            _ => Err("one direction of a mix is limited and the other is not: write both, as in rate_iops=200,100"
                .to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_direction_has_its_limit_and_a_mix_has_both() {
        let rates = |bytes: &str, iops: &str| Rates {
            bytes: if bytes.is_empty() { Limits::default() } else { Limits::parse(bytes).unwrap() },
            iops: if iops.is_empty() { Limits::default() } else { Limits::parse(iops).unwrap() },
        };
        let of = |rates: Rates, requests| rates.of(requests, (4096.0, 8192.0));
        let mixed = |rates| of(rates, Requests::Mixed);
        assert_eq!(mixed(rates("", "")), Ok(None));
        for (limits, each) in [
            ("100", [Some(100); 3]),
            ("100,50", [Some(100), Some(50), Some(50)]),
            ("100,50,7", [Some(100), Some(50), Some(7)]),
            ("100,", [Some(100), None, None]),
            (",50", [None, Some(50), Some(50)]),
        ] {
            let found = [Requests::Reads, Requests::Writes, Requests::Trims].map(|one| of(rates("", limits), one));
            assert_eq!(found, each.map(|limit| Ok(limit.map(Rate::Iops))), "{limits}");
        }
        assert!(Limits::parse("1,2,3,4").unwrap_err().contains("more than"));
        assert_eq!(of(rates("1m", ""), Requests::Writes), Ok(Some(Rate::Bytes(Bytes(1 << 20)))));
        assert_eq!(mixed(rates("", "300,100")), Ok(Some(Rate::Mixed { iops: 400, reads_percent: 75 })));
        assert_eq!(mixed(rates("4m", "")), Ok(Some(Rate::Mixed { iops: 1536, reads_percent: 67 })));
        assert!(mixed(rates("", "300,")).unwrap_err().contains("write both"));
        assert_eq!(mixed(rates("", "990,10")), Ok(Some(Rate::Mixed { iops: 1000, reads_percent: 99 })));
        for few in ["1000,4", "4,1000"] {
            assert!(mixed(rates("", few)).unwrap_err().contains("4 of 1004 requests a second"), "{few}");
        }
        assert!(mixed(rates("1,1m", "")).unwrap_err().contains("0 of 128"), "less than one a second");
    }
}
