//! Measures processor time: charged to this process, spent by the machine, or lost by the soaker.

use std::fs;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::Clock;

/// Time charged to this process since it began, and what the kernel counted of it, with all its threads and kernel workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Charged {
    /// In user mode, in nanoseconds.
    pub user_ns: u64,
    /// In the kernel, in nanoseconds.
    pub system_ns: u64,
    /// Context switches, because a thread waited or because another got the processor.
    pub switches: u64,
    /// Page faults that had to wait for a device.
    pub major_faults: u64,
    /// Page faults that had not.
    pub minor_faults: u64,
}

/// One processor's time by kind since boot, in nanoseconds of whole clock ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Times {
    /// Its number, as in `/sys/devices/system/cpu`: those that are offline have no times, and leave gaps.
    pub number: u32,
    /// User mode, including nice.
    pub user_ns: u64,
    /// Kernel mode.
    pub system_ns: u64,
    /// Idle, including waiting for I/O.
    pub idle_ns: u64,
    /// Hardware interrupts.
    pub irq_ns: u64,
    /// Deferred interrupts.
    pub softirq_ns: u64,
    /// Time taken by the hypervisor.
    pub steal_ns: u64,
}

/// The time that this process has been charged so far.
pub fn charged() -> Charged {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: `usage` is a valid place for one rusage, and every bit pattern of it is a value.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    };
    let nanos = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000;
    let count = |count: libc::c_long| u64::try_from(count).unwrap_or(0);
    Charged {
        user_ns: nanos(usage.ru_utime),
        system_ns: nanos(usage.ru_stime),
        switches: count(usage.ru_nvcsw) + count(usage.ru_nivcsw),
        major_faults: count(usage.ru_majflt),
        minor_faults: count(usage.ru_minflt),
    }
}

/// The time that each processor has spent so far; empty if the kernel does not say.
pub fn machine() -> Vec<Times> {
    fs::read_to_string("/proc/stat").map(|text| parse_stat(&text, ticks_a_second())).unwrap_or_default()
}

/// Clock ticks in a second, in which the kernel counts processor time for programs.
pub(crate) fn ticks_a_second() -> u64 {
    rustix::param::clock_ticks_per_second()
}

fn parse_stat(text: &str, ticks_a_second: u64) -> Vec<Times> {
    let nanos_a_tick = 1_000_000_000 / ticks_a_second.max(1);
    text.lines()
        .filter_map(|line| {
            let mut fields = line.strip_prefix("cpu")?.split(' ');
            let number = fields.next()?.parse().ok()?;
            let ticks: Vec<u64> = fields.map(|field| field.parse().unwrap_or(0)).collect();
            let kind = |index: usize| ticks.get(index).copied().unwrap_or(0) * nanos_a_tick;
            Some(Times {
                number,
                user_ns: kind(0) + kind(1),
                system_ns: kind(2),
                idle_ns: kind(3) + kind(4),
                irq_ns: kind(5),
                softirq_ns: kind(6),
                steal_ns: kind(7),
            })
        })
        .collect()
}

/// The processors that this process may run on.
pub fn usable() -> Vec<usize> {
    let Ok(set) = sched_getaffinity(None) else { return vec![0] };
    (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect()
}

/// Pins the calling thread to one processor.
///
/// # Errors
/// If this process may not run there.
pub fn pin_this_thread(cpu: usize) -> io::Result<()> {
    let mut set = CpuSet::new();
    set.set(cpu);
    Ok(sched_setaffinity(None, &set)?)
}

/// Calls `work` with the calling thread pinned to one processor, so that threads started in it stay there too.
/// Afterwards the thread may run where it could before.
///
/// # Errors
/// If this process may not run there.
pub fn on_processor<T>(cpu: usize, work: impl FnOnce() -> T) -> io::Result<T> {
    let before = sched_getaffinity(None)?;
    pin_this_thread(cpu)?;
    let result = work();
    sched_setaffinity(None, &before)?;
    Ok(result)
}

/// Lets the calling thread run only when nothing else wants the processor.
///
/// # Errors
/// If the kernel refuses the idle class.
fn yield_to_everybody() -> io::Result<()> {
    // The kernel's own call: musl's function of this name only says ENOSYS.
    // SAFETY: all zeros is a valid sched_param, and SCHED_IDLE wants priority 0.
    let refused = unsafe {
        let param: libc::sched_param = std::mem::zeroed();
        libc::syscall(libc::SYS_sched_setscheduler, 0, libc::SCHED_IDLE, &raw const param)
    };
    if refused == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Processor time charged to the calling thread so far, in nanoseconds.
pub fn charged_to_this_thread_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Time in nanoseconds that the calling thread was ready to run but waited for a processor; 0 if the kernel does not
/// say.
pub fn waited_by_this_thread_ns() -> u64 {
    // Called twice around every window of every lane: the short line fits into a stack buffer.
    let mut line = [0; 128];
    let read = fs::File::open("/proc/thread-self/schedstat").and_then(|mut file| file.read(&mut line)).unwrap_or(0);
    let reported = std::str::from_utf8(&line[..read]).unwrap_or_default();
    reported.split_whitespace().nth(1).and_then(|waited| waited.parse().ok()).unwrap_or(0)
}

/// Processor time charged to another process so far, in nanoseconds, including threads that have ended; `None` if the
/// process does not exist.
pub fn charged_to_process_ns(process: u32) -> Option<u64> {
    let number = libc::pid_t::try_from(process).ok()?;
    let mut clock = 0;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: both places are valid for the calls, and a process that is not there is an error.
    let refused = unsafe {
        libc::clock_getcpuclockid(number, &raw mut clock) != 0 || libc::clock_gettime(clock, &raw mut time) != 0
    };
    (!refused).then(|| time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// A step of a soaking thread that takes longer than this was interrupted by an interrupt, another task or the
/// hypervisor. An undisturbed step takes some tens of nanoseconds, and below 500 with its bookkeeping.
const INTRUSION_NS: u64 = 1_000;
/// Steps between two readings of the thread's own charged time.
const STEPS_A_LOOK: u32 = 4_096;

/// What one soaking thread has measured so far, on its own cache line.
#[derive(Default)]
#[repr(align(128))]
struct Soaked {
    /// Sum of all intrusions, in nanoseconds.
    lost_ns: AtomicU64,
    /// The clock at its last step; before the first, when it was let on its processor.
    seen_ns: AtomicU64,
    /// Processor time charged to the thread, in nanoseconds.
    thread_ns: AtomicU64,
}

/// Busy loops at idle priority, one on each processor; somebody else spent the time that they do not get.
///
/// A soaking thread reads the clock continuously and adds up the gaps. Gaps include interrupts, which the kernel
/// charges to the interrupted thread, as well as other tasks. Unlike counted work, gaps do not depend on the
/// processor's current speed.
pub struct Soaker {
    soaked: Arc<Vec<Soaked>>,
    clock: Clock,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

/// The soaker's account at one moment.
#[derive(Debug, Clone)]
pub struct SoakerReading {
    at_ns: u64,
    lost_ns: Vec<u64>,
    /// Processor time charged to the soaking threads so far, in nanoseconds.
    pub threads_ns: u64,
}

impl Soaker {
    /// Starts one soaking thread on each processor that this process may use, and waits until each has begun.
    ///
    /// # Errors
    /// If a thread cannot be started, or may not run in the idle class on its processor.
    pub fn start() -> io::Result<Self> {
        let cpus = usable();
        let soaked: Arc<Vec<Soaked>> = Arc::new(cpus.iter().map(|_| Soaked::default()).collect());
        let clock = Clock::new();
        let stop = Arc::new(AtomicBool::new(false));
        let mut soaker = Self { soaked, clock, stop, threads: Vec::new() };
        let (ready, begun) = mpsc::channel();
        for (index, cpu) in cpus.iter().copied().enumerate() {
            let soaked = Arc::clone(&soaker.soaked);
            let stop = Arc::clone(&soaker.stop);
            let ready = ready.clone();
            let clock = soaker.clock.clone();
            let thread = std::thread::Builder::new().name(format!("soaker {cpu}")).spawn(move || {
                let permitted = pin_this_thread(cpu).and_then(|()| yield_to_everybody());
                let soak_now = permitted.is_ok();
                // Until its first step, which a busy processor may put off, all time since now is lost.
                soaked[index].seen_ns.store(clock.now_ns(), Ordering::Release);
                let _ = ready.send(permitted);
                if soak_now {
                    soak(&clock, &soaked[index], &stop);
                }
            })?;
            soaker.threads.push(thread);
        }
        for _ in cpus {
            begun.recv().map_err(io::Error::other)??;
        }
        Ok(soaker)
    }

    /// The time lost so far.
    pub fn read(&self) -> SoakerReading {
        let at_ns = self.clock.now_ns();
        let lost_ns = |soaked: &Soaked| {
            // A gap that has not ended yet belongs to the account too.
            let open_ns = at_ns.saturating_sub(soaked.seen_ns.load(Ordering::Acquire));
            soaked.lost_ns.load(Ordering::Relaxed) + if open_ns > INTRUSION_NS { open_ns } else { 0 }
        };
        SoakerReading {
            at_ns,
            lost_ns: self.soaked.iter().map(lost_ns).collect(),
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

fn soak(clock: &Clock, soaked: &Soaked, stop: &AtomicBool) {
    let mut seen_ns = soaked.seen_ns.load(Ordering::Relaxed);
    let mut lost_ns = 0;
    while !stop.load(Ordering::Relaxed) {
        for _ in 0..STEPS_A_LOOK {
            let now_ns = clock.now_ns();
            let step_ns = now_ns.saturating_sub(seen_ns);
            if step_ns > INTRUSION_NS {
                lost_ns += step_ns;
                soaked.lost_ns.store(lost_ns, Ordering::Relaxed);
            }
            seen_ns = now_ns;
            soaked.seen_ns.store(seen_ns, Ordering::Release);
        }
        soaked.thread_ns.store(charged_to_this_thread_ns(), Ordering::Relaxed);
    }
}

/// The time that the idle machine takes from the soaker.
#[derive(Debug, Clone)]
pub struct Baseline {
    /// Lost share of each processor's time.
    lost_shares: Vec<f64>,
    /// Share of all processors' time that the soaker got.
    pub share: f64,
}

/// Waits, for a second at most, until this process has no more than `most` threads: a joined thread frees its place
/// under the process limit (`ulimit -u`) only a moment later.
pub fn await_threads(most: usize) {
    for _ in 0..200 {
        if crate::trace::own_threads().len() <= most {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

impl SoakerReading {
    /// The loss between `earlier` and this reading, taken as that of the idle machine.
    pub fn baseline_since(&self, earlier: &Self) -> Baseline {
        let elapsed_ns = self.at_ns.saturating_sub(earlier.at_ns).max(1) as f64;
        let lost_shares: Vec<f64> = self.lost_since(earlier).map(|lost_ns| lost_ns / elapsed_ns).collect();
        let lost_share = lost_shares.iter().sum::<f64>() / lost_shares.len().max(1) as f64;
        Baseline { lost_shares, share: 1.0 - lost_share }
    }

    /// Processor time since `earlier` that the soaker lost beyond `idle`, over all processors, in nanoseconds.
    pub fn lost_ns_since(&self, earlier: &Self, idle: &Baseline) -> f64 {
        let elapsed_ns = self.at_ns.saturating_sub(earlier.at_ns) as f64;
        self.lost_since(earlier).zip(&idle.lost_shares).map(|(lost_ns, share)| lost_ns - share * elapsed_ns).sum()
    }

    /// Nanoseconds from `earlier` to this reading.
    pub fn ns_since(&self, earlier: &Self) -> u64 {
        self.at_ns.saturating_sub(earlier.at_ns)
    }

    fn lost_since<'a>(&'a self, earlier: &'a Self) -> impl Iterator<Item = f64> + 'a {
        self.lost_ns.iter().zip(&earlier.lost_ns).map(|(now, then)| now.saturating_sub(*then) as f64)
    }
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    use super::*;

    #[test]
    fn proc_stat_is_read_by_kind_and_processor() {
        let text = "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\ncpu1 10 0 0 0 0 0 0 0 0 0\nintr 5\n";
        let times = parse_stat(text, 100);
        assert_eq!(times.len(), 2);
        let tick = 10_000_000;
        let expected = Times {
            number: 0,
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
    fn a_processor_keeps_its_number_where_others_are_offline() {
        let times = parse_stat("cpu  1 1 1 1\ncpu0 1 0 0 0\ncpu2 2 0 0 0\ncpu11 3 0 0 0\n", 100);
        assert_eq!(times.iter().map(|times| times.number).collect::<Vec<_>>(), [0, 2, 11]);
    }

    #[test]
    fn threads_begun_on_a_processor_stay_there() {
        let all = usable();
        let last = *usable().last().unwrap();
        let within = on_processor(last, || std::thread::spawn(usable).join().unwrap()).unwrap();
        assert_eq!((within, usable()), (vec![last], all));
        assert!(on_processor(CpuSet::MAX_CPU - 1, || ()).is_err() || usable().len() == CpuSet::MAX_CPU);
    }

    #[test]
    fn work_is_charged_to_this_process() {
        let before = charged();
        let since = || charged().user_ns + charged().system_ns - before.user_ns - before.system_ns;
        // The kernel shares the time between user and system by its ticks, which may all fall into this loop's system calls.
        while since() < 20_000_000 || charged().user_ns == before.user_ns && since() < 60_000_000_000 {
            black_box((0..1000u64).map(black_box).sum::<u64>());
        }
        assert!(charged().user_ns > before.user_ns);
    }

    #[test]
    fn the_soaker_loses_what_this_thread_takes() {
        let soaker = Soaker::start().unwrap();
        let first = soaker.read();
        let charged_before = charged();
        let spent_ns = |charged: Charged| charged.user_ns + charged.system_ns;
        let mut sum = 0u64;
        // Until the soaker has lost something, which happens as soon as this thread shares a processor with it.
        while soaker.read().lost_since(&first).sum::<f64>() < 1e6 {
            sum = black_box(sum.wrapping_add(1));
        }
        assert!(spent_ns(charged()) > spent_ns(charged_before));
        assert_eq!(soaker.read().lost_ns.len(), usable().len());
    }
}
