//! Where did the processors' time go? Charged to this process, spent by the machine, or lost by the soaker.

use std::fs;
use std::hint::black_box;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Instant;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Time charged to this process, all its threads and kernel workers, since it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Charged {
    /// In user mode, in nanoseconds.
    pub user_ns: u64,
    /// In the kernel, in nanoseconds.
    pub system_ns: u64,
}

/// One processor's time by kind since it started, in nanoseconds of whole clock ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Times {
    /// User mode, nice included.
    pub user_ns: u64,
    /// Kernel mode.
    pub system_ns: u64,
    /// Idle, waiting for I/O included.
    pub idle_ns: u64,
    /// Hardware interrupts.
    pub irq_ns: u64,
    /// Deferred interrupts.
    pub softirq_ns: u64,
    /// Taken by the hypervisor.
    pub steal_ns: u64,
}

/// What this process has been charged so far.
pub fn charged() -> Charged {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: `usage` is a valid place for one rusage, and every bit pattern of it is a value.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    };
    let nanos = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000;
    Charged { user_ns: nanos(usage.ru_utime), system_ns: nanos(usage.ru_stime) }
}

/// What each processor has spent so far; empty where the kernel does not say.
pub fn machine() -> Vec<Times> {
    fs::read_to_string("/proc/stat").map(|text| parse_stat(&text, ticks_a_second())).unwrap_or_default()
}

fn ticks_a_second() -> u64 {
    rustix::param::clock_ticks_per_second()
}

fn parse_stat(text: &str, ticks_a_second: u64) -> Vec<Times> {
    let nanos_a_tick = 1_000_000_000 / ticks_a_second.max(1);
    text.lines()
        .filter(|line| line.starts_with("cpu") && !line.starts_with("cpu "))
        .map(|line| {
            let ticks: Vec<u64> = line.split_whitespace().skip(1).map(|field| field.parse().unwrap_or(0)).collect();
            let kind = |index: usize| ticks.get(index).copied().unwrap_or(0) * nanos_a_tick;
            Times {
                user_ns: kind(0) + kind(1),
                system_ns: kind(2),
                idle_ns: kind(3) + kind(4),
                irq_ns: kind(5),
                softirq_ns: kind(6),
                steal_ns: kind(7),
            }
        })
        .collect()
}

/// The processors that this process may run on.
pub fn usable() -> Vec<usize> {
    let Ok(set) = sched_getaffinity(None) else { return vec![0] };
    (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect()
}

/// Keeps the calling thread on one processor.
///
/// # Errors
/// Where this process may not run there.
pub fn pin_this_thread(cpu: usize) -> io::Result<()> {
    let mut set = CpuSet::new();
    set.set(cpu);
    Ok(sched_setaffinity(None, &set)?)
}

/// Lets the calling thread run only where nothing else wants to.
///
/// # Errors
/// Where the kernel refuses the idle class.
fn yield_to_everybody() -> io::Result<()> {
    // SAFETY: all zeros is a valid sched_param, and SCHED_IDLE wants priority 0.
    let refused = unsafe {
        let param: libc::sched_param = std::mem::zeroed();
        libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const param)
    };
    if refused == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Processor time of the calling thread, in nanoseconds.
fn this_thread_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// What one soaking thread has done so far, on a cache line of its own.
#[derive(Default)]
#[repr(align(128))]
struct Soaked {
    units: AtomicU64,
    thread_ns: AtomicU64,
}

/// Busy loops at idle priority, one on each processor: what they do not get, somebody else spent.
///
/// It counts work and not only its own processor time, because interrupts that arrive while a soaking thread
/// runs are charged to that thread, yet they keep it from its work.
pub struct Soaker {
    soaked: Arc<Vec<Soaked>>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

/// The soaker's account at one moment.
#[derive(Debug, Clone)]
pub struct SoakerReading {
    /// When it was taken.
    pub at: Instant,
    /// Units of work done so far, for each processor.
    pub units: Vec<u64>,
    /// Processor time charged to the soaking threads so far, in nanoseconds.
    pub threads_ns: u64,
}

impl Soaker {
    /// Starts one soaking thread on each processor that this process may use.
    ///
    /// # Errors
    /// Where a thread cannot be started. A thread that may not have the idle class or the processor ends at
    /// once, and its processor then counts as lost from the start: `baseline` shows it.
    pub fn start() -> io::Result<Self> {
        let cpus = usable();
        let soaked: Arc<Vec<Soaked>> = Arc::new(cpus.iter().map(|_| Soaked::default()).collect());
        let stop = Arc::new(AtomicBool::new(false));
        let threads = cpus
            .into_iter()
            .enumerate()
            .map(|(index, cpu)| {
                let (soaked, stop) = (Arc::clone(&soaked), Arc::clone(&stop));
                std::thread::Builder::new()
                    .name(format!("soaker {cpu}"))
                    .spawn(move || soak(cpu, &soaked[index], &stop))
            })
            .collect::<io::Result<Vec<_>>>()?;
        Ok(Self { soaked, stop, threads })
    }

    /// What has been soaked up so far.
    pub fn read(&self) -> SoakerReading {
        SoakerReading {
            at: Instant::now(),
            units: self.soaked.iter().map(|soaked| soaked.units.load(Ordering::Relaxed)).collect(),
            threads_ns: self.soaked.iter().map(|soaked| soaked.thread_ns.load(Ordering::Relaxed)).sum(),
        }
    }
}

impl Drop for Soaker {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn soak(cpu: usize, soaked: &Soaked, stop: &AtomicBool) {
    if pin_this_thread(cpu).is_err() || yield_to_everybody().is_err() {
        return;
    }
    let mut units = 0;
    while !stop.load(Ordering::Relaxed) {
        // About 20 microseconds: long against the bookkeeping, short against a window.
        for step in 0..20_000u64 {
            black_box(step);
        }
        units += 1;
        soaked.units.store(units, Ordering::Relaxed);
        soaked.thread_ns.store(this_thread_ns(), Ordering::Relaxed);
    }
}

impl SoakerReading {
    /// Units a second on each processor since `earlier`.
    pub fn units_a_second(&self, earlier: &Self) -> Vec<f64> {
        let seconds = (self.at - earlier.at).as_secs_f64().max(1e-9);
        self.units.iter().zip(&earlier.units).map(|(now, then)| (now - then) as f64 / seconds).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proc_stat_is_read_by_kind_and_processor() {
        let text = "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\ncpu1 10 0 0 0 0 0 0 0 0 0\nintr 5\n";
        let times = parse_stat(text, 100);
        assert_eq!(times.len(), 2);
        let tick = 10_000_000;
        let expected = Times {
            user_ns: 3 * tick,
            system_ns: 3 * tick,
            idle_ns: 9 * tick,
            irq_ns: 6 * tick,
            softirq_ns: 7 * tick,
            steal_ns: 8 * tick,
        };
        assert_eq!(times[0], expected);
        assert_eq!(times[1].user_ns, 10 * tick);
    }

    #[test]
    fn work_is_charged_to_this_process() {
        let before = charged();
        let until = before.user_ns + before.system_ns + 20_000_000;
        while charged().user_ns + charged().system_ns < until {
            black_box((0..1000u64).map(black_box).sum::<u64>());
        }
        assert!(charged().user_ns > before.user_ns);
    }

    #[test]
    fn the_soaker_works_on_every_usable_processor() {
        let soaker = Soaker::start().unwrap();
        let first = soaker.read();
        // It runs only where nothing else does, so it is given until it has been seen everywhere.
        while soaker.read().units.iter().zip(&first.units).any(|(now, then)| now == then) {
            std::thread::yield_now();
        }
        assert_eq!(first.units.len(), usable().len());
    }
}
