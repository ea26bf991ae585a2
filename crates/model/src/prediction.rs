//! Predicts the steady state of a [`SimulatedDisk`] in closed form, without noise and jitter.
//!
//! Input: constants, block size and depth. Output: rates, times and block sizes, the truth that a study of the
//! simulated disk must find. Noise does not change the mean throughput. Jitter lowers it if disks and limiter are
//! nearly balanced, because an idle limiter cannot catch up.

use halfpower_spec::{Bytes, Nanos, Rate, SimulatedDisk};

use crate::ProcessorTime;

/// Time in which a disk serves one request of `bs`, in nanoseconds: fixed + bs / rate.
pub fn service_time_ns(disk: &SimulatedDisk, bs: Bytes) -> f64 {
    disk.fixed.0 as f64 + bs.0 as f64 / disk.rate.0 * 1e9
}

/// Limit of the limiter for requests of `bs`: min(shared, iops x bs); `None` without a limit.
pub fn ceiling(disk: &SimulatedDisk, bs: Bytes) -> Option<Rate> {
    let by_requests = disk.iops.map(|iops| iops * bs.0 as f64);
    let by_bytes = disk.shared.map(|shared| shared.0);
    [by_requests, by_bytes].into_iter().flatten().reduce(f64::min).map(Rate)
}

/// Throughput with `depth` requests of `bs` in flight: min(depth, disks) x bs / (fixed + bs / rate), at most the
/// [`ceiling`].
pub fn throughput(disk: &SimulatedDisk, bs: Bytes, depth: u32) -> Rate {
    let busy_disks = f64::from(depth.min(disk.disks));
    let disks = busy_disks * bs.0 as f64 * 1e9 / service_time_ns(disk, bs);
    Rate(ceiling(disk, bs).map_or(disks, |ceiling| disks.min(ceiling.0)))
}

/// Mean latency with `depth` requests of `bs` in flight, by Little's law: depth x bs / throughput.
pub fn latency(disk: &SimulatedDisk, bs: Bytes, depth: u32) -> Nanos {
    Nanos::from_seconds(f64::from(depth) * bs.0 as f64 / throughput(disk, bs, depth).0)
}

/// The highest throughput at `depth` over the block sizes of `axis`, and the smallest that reaches it; `None` for an
/// empty axis.
pub fn peak(disk: &SimulatedDisk, axis: &[Bytes], depth: u32) -> Option<(Bytes, Rate)> {
    let mut sizes = axis.to_vec();
    sizes.sort_unstable();
    let curve = sizes.into_iter().map(|bs| (bs, throughput(disk, bs, depth)));
    curve.reduce(|best, point| if point.1.0 > best.1.0 { point } else { best })
}

/// The smallest block size of `axis` that reaches half of the axis's [`peak`] at `depth`; `None` for an empty axis.
pub fn half_power_bs(disk: &SimulatedDisk, axis: &[Bytes], depth: u32) -> Option<Bytes> {
    let (_, peak) = peak(disk, axis, depth)?;
    axis.iter().copied().filter(|bs| throughput(disk, *bs, depth).0 >= peak.0 / 2.0).min()
}

/// n1/2 in bytes: the block size at which half of a request's time is fixed, fixed x rate (Hockney's n1/2: a / b for a
/// time of a + b x size).
pub fn n_half_bytes(disk: &SimulatedDisk) -> f64 {
    disk.fixed.seconds() * disk.rate.0
}

/// Processor time of `requests` that moved `bytes` in total: requests x cpu_fixed + KiB x cpu_per_kib; the share
/// `unseen` of it is charged to no process.
pub fn processor_time(disk: &SimulatedDisk, requests: u64, bytes: u64) -> ProcessorTime {
    let fixed_ns = requests as f64 * disk.cpu_fixed.0 as f64;
    let total_ns = fixed_ns + Bytes(bytes).kib() * disk.cpu_per_kib.0 as f64;
    let unseen_ns = total_ns * disk.unseen;
    ProcessorTime { charged_ns: (total_ns - unseen_ns).round() as u64, unseen_ns: unseen_ns.round() as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk(constants: &str) -> SimulatedDisk {
        SimulatedDisk::from_constants(constants).unwrap()
    }

    fn axis() -> Vec<Bytes> {
        (12..=20).map(|power| Bytes(1 << power)).collect()
    }

    #[test]
    fn depth_brings_one_disk_each_up_to_the_ceiling() {
        // 100 KB take 100 + 100 us at 1 GB/s.
        let four = disk("fixed=100us,rate=1GB/s,disks=4,shared=1200MB/s");
        let at = |depth| throughput(&four, Bytes(100_000), depth).mbps();
        assert_eq!([1, 2, 3, 4].map(at), [500.0, 1000.0, 1200.0, 1200.0]);
        assert_eq!(latency(&four, Bytes(100_000), 6), Nanos(500_000));
        let eight = disk("fixed=100us,rate=1GB/s,disks=8");
        assert_eq!(throughput(&eight, Bytes(100_000), 32).mbps(), 4000.0);
    }

    #[test]
    fn with_both_limits_half_power_is_where_requests_give_way_to_bytes() {
        // Half of 120 MB/s is reached at BPS / (2 x IOPS) = 60 KB, so at the next power of two.
        let limited = disk("fixed=1us,rate=10GB/s,disks=8,shared=120MB/s,iops=1000");
        assert_eq!(half_power_bs(&limited, &axis(), 8), Some(Bytes(64 << 10)));
        assert_eq!(peak(&limited, &axis(), 8), Some((Bytes(128 << 10), Rate(120e6))));
        assert_eq!(ceiling(&limited, Bytes(4096)), Some(Rate(4.096e6)));
        assert_eq!(ceiling(&disk(""), Bytes(4096)), None);
    }

    #[test]
    fn half_power_on_an_axis_lies_below_n_half() {
        // n1/2 = 80 us x 500 MB/s = 40 KB; the axis ends at 1 MiB, short of the asymptote.
        let plain = disk("fixed=80us,rate=500MB/s");
        assert_eq!(n_half_bytes(&plain), 40_000.0);
        assert_eq!(half_power_bs(&plain, &axis(), 1), Some(Bytes(64 << 10)));
        assert_eq!(half_power_bs(&plain, &[], 1), None);
    }

    #[test]
    fn a_share_of_the_processor_time_is_charged_to_nobody() {
        let costly = disk("cpu_fixed=10us,cpu_per_kib=100ns,unseen=30%");
        let time = processor_time(&costly, 10, 10 * 4096);
        assert_eq!(time, ProcessorTime { charged_ns: 72_800, unseen_ns: 31_200 });
        assert_eq!(time.total_ns(), 104_000);
    }
}
