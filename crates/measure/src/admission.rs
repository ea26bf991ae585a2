//! Do the settings of a workload go together? What holds on every target; each place adds its own.

use spec::{Cache, Fadvise, Nanos, PageCache, Pattern, Twist, Workload};

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

#[cfg(test)]
mod tests {
    use spec::{Kernel, Rw};

    use super::*;

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
