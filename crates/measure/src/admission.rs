//! Do the settings of a workload go together? What holds on every target; each place adds its own.

use spec::{Bytes, Cache, Fadvise, Nanos, PageCache, Pattern, Twist, Workload};

use crate::MeasureError;

/// Refuses settings of which one would make another one meaningless.
///
/// # Errors
/// Which they are, and what to do.
pub(crate) fn coherent(workload: &Workload) -> Result<(), MeasureError> {
    let Workload { rw, cache, rate, twist, .. } = workload;
    let refuse = |what: String| Err(MeasureError::Unfit { what });
    if let Some(kernel) = twist.kernel
        && *twist != (Twist { kernel: Some(kernel), ..Twist::default() })
    {
        return refuse(format!(
            "--kernel {kernel} touches no target, so that nothing else is to be turned in it:{twist}"
        ));
    }
    if twist.streams > 1 && rw.pattern() == Pattern::Random {
        let streams = twist.streams;
        return refuse(format!("--streams {streams} are sequential, and --rw {rw} is not: take --rw read or write"));
    }
    if twist.fdatasync > 0 && !rw.writes() {
        return refuse(format!("--fdatasync has nothing to make durable with --rw {rw}: leave it out"));
    }
    if twist.thinktime > Nanos(0) && rate.is_some() {
        return refuse("--thinktime and --rate both say when requests come: leave one of them out".to_string());
    }
    if cache.direct() && (twist.fadvise != Fadvise::Normal || twist.page_cache != PageCache::Empty) {
        let flag = if twist.fadvise == Fadvise::Normal { "--page-cache" } else { "--fadvise" };
        return refuse(format!(
            "{flag} is about the page cache, which --cache {cache} passes by: add --cache {}",
            Cache::Both
        ));
    }
    Ok(())
}

/// Whether direct requests of `workload` begin and end at multiples of `unit`.
///
/// # Errors
/// What does not, and what to do.
pub(crate) fn fits_direct(workload: &Workload, unit: Bytes) -> Result<(), MeasureError> {
    let Workload { bs, twist, .. } = workload;
    if !bs.0.is_multiple_of(unit.0) {
        return Err(MeasureError::Unaligned { bs: *bs, unit });
    }
    let from = twist.region.map_or(0, |region| region.from.0);
    for (flag, bytes) in [("--shift", twist.shift.0), ("--region", from)] {
        if !bytes.is_multiple_of(unit.0) {
            let what = format!(
                "{flag} begins at {bytes}, and direct I/O begins at multiples of {unit} on this target: choose one, or \
                 measure buffered with --cache both"
            );
            return Err(MeasureError::Unfit { what });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use spec::{Kernel, Rw};

    use super::*;

    #[test]
    fn direct_requests_begin_where_the_device_lets_them() {
        let shifted =
            |bytes| Workload { twist: Twist { shift: Bytes(bytes), ..Twist::default() }, ..Workload::default() };
        fits_direct(&shifted(2048), Bytes(512)).unwrap();
        let error = fits_direct(&shifted(2048), Bytes(4096)).unwrap_err().to_string();
        assert!(error.contains("--shift begins at 2048") && error.contains("--cache both"), "{error}");
        let odd = Workload { bs: Bytes(3000), ..Workload::default() };
        assert!(matches!(fits_direct(&odd, Bytes(512)), Err(MeasureError::Unaligned { .. })));
    }

    #[test]
    fn what_makes_no_sense_together_is_refused_by_its_flag() {
        let twisted = |twist| Workload { twist, ..Workload::default() };
        let usual = Twist::default();
        let cases = [
            (Workload { rw: Rw::Randread, ..twisted(Twist { streams: 2, ..usual }) }, "--streams 2"),
            (twisted(Twist { kernel: Some(Kernel::Copy), streams: 2, ..usual }), "--kernel memcpy"),
            (twisted(Twist { fdatasync: 1, ..usual }), "--fdatasync"),
            (twisted(Twist { fadvise: Fadvise::Random, ..usual }), "--fadvise"),
            (twisted(Twist { page_cache: PageCache::Warm, ..usual }), "--page-cache"),
        ];
        for (workload, flag) in cases {
            let error = coherent(&workload).unwrap_err().to_string();
            assert!(error.contains(flag) && error.contains(':'), "{error}");
        }
        coherent(&Workload { cache: Cache::Both, ..twisted(Twist { page_cache: PageCache::Warm, ..usual }) }).unwrap();
        coherent(&Workload { rw: Rw::Write, ..twisted(Twist { fdatasync: 8, streams: 4, ..usual }) }).unwrap();
    }
}
