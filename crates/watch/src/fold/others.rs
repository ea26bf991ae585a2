//! Adds up what others did on the same disks, and how long the subject's operations took during it.

use halfpower_record::{Latency, LatencyCounter, OtherUser};

use super::files::Who;
use super::keys::ByNumber;

/// Other processes that are told apart; what comes later counts for the last.
const TOLD_APART: usize = 512;

/// What another process did.
#[derive(Debug, Default)]
struct User {
    who: Who,
    read_bytes: u64,
    written_bytes: u64,
    requests: u64,
    syncs: u64,
    /// Its parts and syncs in flight, and when the last one ended that is not.
    open: u32,
    ended_ns: u64,
    /// The subject's operations that overlap one of its requests or syncs; made when there is one.
    during: Option<LatencyCounter>,
}

/// All others. Threads of the kernel that do the same are one.
#[derive(Debug, Default)]
pub(crate) struct Others {
    users: Vec<User>,
    /// The user that each thread belongs to.
    of_thread: ByNumber<u32, u32>,
    /// Threads within a sync that was counted, with their users.
    syncing: ByNumber<u32, u32>,
    /// All operations of the subject that others may slow down.
    all: LatencyCounter,
}

impl Others {
    /// The user that a thread belongs to, if it was seen before.
    pub(crate) fn known(&self, thread: u32) -> Option<u32> {
        self.of_thread.get(&thread).copied()
    }

    /// The user that a thread belongs to, which is this.
    pub(crate) fn add(&mut self, thread: u32, who: Who) -> u32 {
        let is_same = |user: &User| match who.pid {
            0 => user.who.pid == 0 && user.who.name == who.name,
            pid => user.who.pid == pid,
        };
        let known = self.users.iter().position(is_same);
        let last = self.users.len().saturating_sub(1);
        let index = known.or((self.users.len() >= TOLD_APART).then_some(last)).unwrap_or_else(|| {
            self.users.push(User { who, ..User::default() });
            self.users.len() - 1
        });
        self.of_thread.insert(thread, index as u32);
        index as u32
    }

    /// Whether it is the kernel.
    pub(crate) fn is_kernel(&self, user: u32) -> bool {
        self.users.get(user as usize).is_some_and(|user| user.who.pid == 0)
    }

    /// It queued a part.
    pub(crate) fn queued(&mut self, user: u32, writes: bool, bytes: u64) {
        let Some(user) = self.users.get_mut(user as usize) else { return };
        user.open += 1;
        user.requests += 1;
        match writes {
            true => user.written_bytes += bytes,
            false => user.read_bytes += bytes,
        }
    }

    /// One of its parts became two, or something else of it begins.
    pub(crate) fn begin(&mut self, user: u32) {
        if let Some(user) = self.users.get_mut(user as usize) {
            user.open += 1;
        }
    }

    /// One of its parts, or of its syncs, is done.
    pub(crate) fn done(&mut self, user: u32, at_ns: u64) {
        if let Some(user) = self.users.get_mut(user as usize) {
            user.open = user.open.saturating_sub(1);
            user.ended_ns = user.ended_ns.max(at_ns);
        }
    }

    /// A thread of it sent a flush: for the sync that it is in, or as a sync that nothing else tells of.
    pub(crate) fn flushed(&mut self, user: u32, thread: u32) {
        if !self.syncing.contains_key(&thread) {
            self.count_sync(user);
        }
    }

    /// A thread began to sync a file. The journal and the flush that it waits for are sent by others, and are its own all the same.
    pub(crate) fn sync_began(&mut self, thread: u32) {
        if let Some(user) = self.known(thread) {
            self.count_sync(user);
            if self.syncing.insert(thread, user).is_none() {
                self.begin(user);
            }
        }
    }

    /// A thread has synced a file.
    pub(crate) fn sync_ended(&mut self, thread: u32, at_ns: u64) {
        if let Some(user) = self.syncing.remove(&thread) {
            self.done(user, at_ns);
        }
    }

    fn count_sync(&mut self, user: u32) {
        if let Some(user) = self.users.get_mut(user as usize) {
            user.syncs += 1;
        }
    }

    /// An operation of the subject ended.
    pub(crate) fn overlap(&mut self, from_ns: u64, latency_ns: u64) {
        self.all.add(latency_ns, 1);
        for user in &mut self.users {
            if user.open > 0 || user.ended_ns > from_ns {
                user.during.get_or_insert_default().add(latency_ns, 1);
            }
        }
    }

    /// What is in flight is followed no longer.
    pub(crate) fn cut(&mut self, at_ns: u64) {
        self.syncing.clear();
        for user in &mut self.users {
            if user.open > 0 {
                user.open = 0;
                user.ended_ns = at_ns;
            }
        }
    }

    /// What is recorded of them, most bytes first.
    pub(crate) fn listed(&self) -> Vec<OtherUser> {
        let all = self.all.latency();
        let listed = |user: &User| {
            let during = user.during.as_ref().map(LatencyCounter::latency).unwrap_or_default();
            OtherUser {
                name: user.who.name.clone(),
                pid: user.who.pid,
                cgroup: user.who.cgroup.clone(),
                read_bytes: user.read_bytes,
                written_bytes: user.written_bytes,
                requests: user.requests,
                syncs: user.syncs,
                own_without: without(&all, &during),
                own_during: during,
            }
        };
        let mut others: Vec<OtherUser> = self.users.iter().map(listed).collect();
        others.sort_by_key(|other| std::cmp::Reverse(other.read_bytes + other.written_bytes));
        others
    }
}

/// The latencies in `all` that are not in `part`. Count and sum are exact; each is known to its bucket.
fn without(all: &Latency, part: &Latency) -> Latency {
    let count = all.count().saturating_sub(part.count());
    if count == 0 {
        return Latency::default();
    }
    let mut taken = part.buckets().peekable();
    let mut bins = Vec::new();
    for (lowest_ns, highest_ns, number) in all.buckets() {
        while taken.peek().is_some_and(|(lowest, _, _)| *lowest < lowest_ns) {
            taken.next();
        }
        let gone = taken.next_if(|(lowest, _, _)| *lowest == lowest_ns).map_or(0, |(_, _, gone)| gone);
        if number > gone {
            bins.push((lowest_ns, highest_ns, number - gone));
        }
    }
    let first = bins.first().map_or(0, |(lowest_ns, _, _)| all.min_ns().max(*lowest_ns));
    let last = bins.last().map_or(0, |(_, highest_ns, _)| all.max_ns().min(*highest_ns));
    let mean_ns = all.sum_ns().saturating_sub(part.sum_ns()) as f64 / count as f64;
    let middles: Vec<(u64, u64)> = bins.iter().map(|(low, high, number)| (low + (high - low) / 2, *number)).collect();
    Latency::of_bins(&middles, [first, last], mean_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: impl IntoIterator<Item = u64>) -> Latency {
        let mut counter = LatencyCounter::default();
        values.into_iter().for_each(|value| counter.add(value, 1));
        counter.latency()
    }

    #[test]
    fn what_is_left_of_latencies_has_their_count_and_sum() {
        let slow = of((1..=500).map(|step| 1_000_000 + step * 1_000));
        let all = of((1..=500).map(|step| 1_000_000 + step * 1_000).chain((1..=1500).map(|step| step * 100)));
        let fast = without(&all, &slow);
        assert_eq!((fast.count(), fast.sum_ns()), (1500, all.sum_ns() - slow.sum_ns()));
        assert!(fast.max_ns() <= 151_000 && fast.min_ns() == 100, "{} {}", fast.min_ns(), fast.max_ns());
        assert!((fast.quantile_ns(0.5) as f64 / 75_000.0 - 1.0).abs() < 0.02, "{}", fast.quantile_ns(0.5));
        assert!(without(&slow, &slow).is_empty());
        assert_eq!(without(&slow, &Latency::default()).count(), 500);
    }

    #[test]
    fn operations_overlap_requests_that_go_on_or_ended_meanwhile() {
        let mut others = Others::default();
        let user = others.add(7, Who { name: "rsync".into(), pid: 5, cgroup: "/backup".into() });
        assert_eq!((others.add(8, Who { pid: 5, ..Who::default() }), others.known(8)), (user, Some(user)));
        others.overlap(0, 100);
        others.queued(user, true, 4096);
        others.overlap(100, 900);
        others.done(user, 1100);
        others.overlap(1050, 950);
        others.overlap(1200, 200);
        let listed = others.listed();
        assert_eq!(listed.len(), 1);
        assert_eq!((listed[0].name.as_str(), listed[0].written_bytes, listed[0].requests), ("rsync", 4096, 1));
        assert_eq!((listed[0].own_during.count(), listed[0].own_during.sum_ns()), (2, 1850));
        assert_eq!((listed[0].own_without.count(), listed[0].own_without.sum_ns()), (2, 300));
    }

    #[test]
    fn operations_overlap_a_sync_whose_flush_somebody_else_sends() {
        let mut others = Others::default();
        let user = others.add(7, Who { name: "rsync".into(), pid: 5, cgroup: "/backup".into() });
        others.sync_began(7);
        others.sync_began(7);
        others.flushed(user, 7);
        others.overlap(100, 900);
        others.sync_ended(7, 1100);
        others.sync_ended(7, 1300);
        others.overlap(1050, 950);
        others.overlap(1200, 200);
        let listed = others.listed();
        assert_eq!(listed[0].syncs, 2, "a sync whose end was not seen, and the one after it");
        assert_eq!((listed[0].own_during.count(), listed[0].own_during.sum_ns()), (2, 1850));
        assert_eq!((listed[0].own_without.count(), listed[0].own_without.sum_ns()), (1, 200));
    }
}
