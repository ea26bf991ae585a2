//! Works out a job's request rate from fio's limits of reads and of writes.

use halfpower_spec::Bytes;

use super::take::size;

/// fio's limits for each direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    read: Option<u64>,
    write: Option<u64>,
}

impl Limits {
    /// Parses a list such as `1m,2m`: a single item holds for both, and an empty one sets no limit.
    pub(super) fn parse(value: &str) -> Result<Self, String> {
        let items: Vec<&str> = value.split(',').map(str::trim).collect();
        let of = |item: &str| match item {
            "" => Ok(None),
            item => size(item).map(|Bytes(limit)| (limit > 0).then_some(limit)),
        };
        let read = of(items[0])?;
        let write = items.get(1).map_or(Ok(read), |item| of(item))?;
        Ok(Self { read, write })
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
    /// The rate of a job that reads and writes as `(reads, writes)` says, with requests of these mean bytes; `None` if
    /// nothing is limited.
    ///
    /// # Errors
    /// If one direction of a mix is limited and the other is not.
    pub(super) fn of(self, (reads, writes): (bool, bool), bytes: (f64, f64)) -> Result<Option<Rate>, String> {
        let Self { bytes: of_bytes, iops } = self;
        if !(reads && writes) {
            let one = |limits: Limits| if writes { limits.write } else { limits.read };
            let of_bytes = one(of_bytes).map(|bytes| Rate::Bytes(Bytes(bytes)));
            return Ok(one(iops).map(Rate::Iops).or(of_bytes));
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
                Ok(Some(Rate::Mixed { iops, reads_percent: (read as f64 / iops as f64 * 100.0).round() as u64 }))
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
        let of = |rates: Rates, reads, writes| rates.of((reads, writes), (4096.0, 8192.0));
        assert_eq!(of(rates("", ""), true, true), Ok(None));
        assert_eq!(of(rates("", "100,50"), true, false), Ok(Some(Rate::Iops(100))));
        assert_eq!(of(rates("", "100,50"), false, true), Ok(Some(Rate::Iops(50))));
        assert_eq!(of(rates(",1m", ""), true, false), Ok(None));
        assert_eq!(of(rates("1m", ""), false, true), Ok(Some(Rate::Bytes(Bytes(1 << 20)))));
        assert_eq!(of(rates("", "300,100"), true, true), Ok(Some(Rate::Mixed { iops: 400, reads_percent: 75 })));
        assert_eq!(of(rates("4m", ""), true, true), Ok(Some(Rate::Mixed { iops: 1536, reads_percent: 67 })));
        assert!(of(rates("", "300,"), true, true).unwrap_err().contains("write both"));
    }
}
