//! Defines what processors did while an application's operations were captured.

use halfpower_spec::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{CpuTimes, Watched};

/// Most of the processors that others keep, where more is computed than there is room for.
const OTHERS_KEEP: f64 = 0.5;

/// What processors did while an application was captured, as means over that time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CapturedProcessors {
    /// Processors of the machine.
    pub count: u32,
    /// Processors that the application used.
    pub own: f64,
    /// Processors that everything else used, interrupts included.
    pub others: f64,
    /// The most that a control group's quota lets the application use, or those that it may run on, if these are fewer; `None`
    /// if neither keeps it from any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota: Option<f64>,
    /// Threads of the application that were ready and waited for a processor; `None` if the kernel does not count it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<f64>,
}

impl CapturedProcessors {
    /// What was seen of a watched application; `None` if its processor time is not known.
    pub fn of(watched: &Watched) -> Option<Self> {
        let seconds = watched.span_ns as f64;
        let processors = &watched.processors;
        if seconds <= 0.0 || processors.own_ns == 0 || processors.machine.is_empty() {
            return None;
        }
        let busy = |time: &CpuTimes| {
            [time.user_ns, time.system_ns, time.irq_ns, time.softirq_ns, time.steal_ns].iter().sum::<u64>()
        };
        let all: u64 = processors.machine.iter().map(busy).sum();
        let count = processors.machine.len() as u32;
        let own = (processors.own_ns as f64 / seconds).min(f64::from(count));
        let others = all.saturating_sub(processors.own_ns).saturating_sub(watched.cost.processor_ns);
        let others = (others as f64 / seconds).min(f64::from(count) - own);
        let quotas = watched.group_limits.iter().filter(|limit| limit.limits == "cpu_quota").map(|limit| limit.limit);
        let ready = processors.run_queue_ns.map(|ns| ns as f64 / seconds);
        Some(Self { count, own, others, quota: quotas.reduce(f64::min), ready })
    }

    /// The same of an application that may run on so many of them alone; 0 if that is not known.
    pub fn confined_to(self, processors: u32) -> Self {
        if processors == 0 || processors >= self.count {
            return self;
        }
        let most = f64::from(processors);
        Self { quota: Some(self.quota.map_or(most, |quota| quota.min(most))), ..self }
    }

    /// Processors that an application of so many threads (0 if not known) can use: what others leave of them, or its quota, or
    /// one for each thread, whichever is less. Others keep half of the processors at most, and it can use what it used.
    pub fn usable(&self, threads: u32) -> f64 {
        let count = f64::from(self.count);
        let left = count - self.others.min(count * OTHERS_KEEP);
        let threads = if threads == 0 { f64::INFINITY } else { f64::from(threads) };
        left.min(self.quota.unwrap_or(f64::INFINITY)).min(threads).max(self.own)
    }

    /// Whether each part is a number that it can be.
    pub(crate) fn is_possible(&self) -> bool {
        let part = |value: f64| value.is_finite() && (0.0..=f64::from(self.count)).contains(&value);
        let quota = self.quota.is_none_or(|quota| quota.is_finite() && quota > 0.0);
        let ready = self.ready.is_none_or(|ready| ready.is_finite() && ready >= 0.0);
        self.count > 0 && part(self.own) && part(self.others) && quota && ready
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{GroupLimit, WatchCost, WatchedProcessors};

    fn seen(own: f64, others: f64) -> CapturedProcessors {
        CapturedProcessors { count: 4, own, others, quota: None, ready: None }
    }

    #[test]
    fn others_are_what_the_machine_did_beside_the_application_and_the_watch() {
        let second = 1_000_000_000;
        let busy = CpuTimes { user_ns: 6 * second, softirq_ns: 2 * second, idle_ns: 2 * second, ..CpuTimes::default() };
        let watched = Watched {
            span_ns: 10 * second,
            cost: WatchCost { processor_ns: second, ..WatchCost::default() },
            processors: WatchedProcessors {
                own_ns: 5 * second,
                run_queue_ns: Some(3 * second),
                machine: vec![busy, CpuTimes { idle_ns: 10 * second, ..CpuTimes::default() }],
                ..WatchedProcessors::default()
            },
            group_limits: vec![GroupLimit {
                file: "cpu.max".to_string(),
                limits: "cpu_quota".to_string(),
                disk: String::new(),
                limit: 1.5,
                used: 0.5,
                held_ns: None,
                read_again_bytes: None,
            }],
            ..Watched::default()
        };
        let found = CapturedProcessors::of(&watched).unwrap();
        assert_eq!(found, CapturedProcessors { count: 2, own: 0.5, others: 0.2, quota: Some(1.5), ready: Some(0.3) });
        assert_eq!(found.usable(3), 1.5);
        let unknown = WatchedProcessors { own_ns: 0, ..watched.processors.clone() };
        assert_eq!(CapturedProcessors::of(&Watched { processors: unknown, ..watched }), None);
    }

    #[test]
    fn usable_is_what_others_leave_and_never_less_than_was_used() {
        assert_eq!(seen(1.0, 0.5).usable(16), 3.5);
        assert_eq!(seen(1.0, 3.0).usable(16), 2.0);
        assert_eq!(seen(2.5, 1.5).usable(16), 2.5);
        assert_eq!(seen(0.2, 0.0).usable(1), 1.0);
        assert_eq!(CapturedProcessors { quota: Some(0.5), ..seen(0.5, 0.0) }.usable(16), 0.5);
        assert_eq!(seen(0.2, 0.0).usable(0), 4.0);
    }

    #[test]
    fn who_may_run_on_few_processors_can_use_no_more() {
        assert_eq!([0, 2, 4, 8].map(|allowed| seen(0.5, 1.0).confined_to(allowed).usable(16)), [3.0, 2.0, 3.0, 3.0]);
        let limited = CapturedProcessors { quota: Some(1.5), ..seen(0.5, 1.0) };
        assert_eq!([1, 2].map(|allowed| limited.confined_to(allowed).usable(16)), [1.0, 1.5]);
    }
}
