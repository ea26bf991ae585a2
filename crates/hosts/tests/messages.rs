//! Tests messages between processes, with threads in place of processes.

use std::sync::{Arc, Mutex};

use halfpower_hosts::{InProcess, Ranks, bring_together, tell};
use halfpower_record::{Latency, LatencyCounter};

/// Runs `work` as each of these processes; returns the results in the order of ranks.
pub fn as_all<T: Send>(all: Vec<InProcess>, work: impl Fn(InProcess) -> T + Sync) -> Vec<T> {
    std::thread::scope(|scope| {
        let work = &work;
        let start = |ranks: InProcess| {
            let builder = std::thread::Builder::new().stack_size(512 << 10);
            builder.spawn_scoped(scope, move || work(ranks)).unwrap()
        };
        let started: Vec<_> = all.into_iter().map(start).collect();
        started.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

#[test]
fn what_process_0_says_reaches_all() {
    for size in [1, 2, 3, 64, 1024] {
        let heard = as_all(InProcess::all(size), |ranks| {
            let said = (ranks.rank() == 0).then(|| vec![7_u32; 300]);
            tell(&ranks, said).unwrap()
        });
        assert_eq!(heard, vec![vec![7; 300]; size as usize]);
    }
}

/// Latencies of a process, from short to long.
fn latencies(rank: u32) -> Latency {
    let mut counter = LatencyCounter::default();
    let mut next = u64::from(rank) * 0x9E37_79B9 + 1;
    for _ in 0..200 {
        next = next.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        counter.add(next >> (24 + next % 30), 1 + u64::from(rank % 3));
    }
    counter.latency()
}

#[test]
fn histograms_of_a_thousand_processes_are_added_up_exactly() {
    for size in [1_u32, 2, 5, 1024] {
        let mut expected = Latency::default();
        (0..size).for_each(|rank| expected.merge(&latencies(rank)));
        let join = |mut own: Latency, other: Latency| {
            own.merge(&other);
            own
        };
        let found = as_all(InProcess::all(size), |ranks| {
            let own = latencies(ranks.rank());
            bring_together(&ranks, own, join).unwrap()
        });
        assert_eq!(found[0].as_ref(), Some(&expected), "{size} processes");
        assert!(found[1..].iter().all(Option::is_none));
    }
}

#[test]
fn process_0_hears_a_histogram_twice_however_many_there_are() {
    let received = |size: u32| {
        let all = InProcess::all(size);
        let bytes = all[0].received_bytes();
        as_all(all, |ranks| {
            let own = latencies(1);
            let join = |mut own: Latency, other: Latency| {
                own.merge(&other);
                own
            };
            bring_together(&ranks, own, join).unwrap().map(drop)
        });
        bytes()
    };
    let few = received(3);
    let many = received(1024);
    assert!(few > 0 && many < 4 * few, "{few} bytes from 2 others, {many} bytes from 1,023");
}

#[test]
fn who_waits_for_a_process_that_is_gone_hears_of_it() {
    let ended = Arc::new(Mutex::new(Vec::new()));
    as_all(InProcess::all(4), |ranks| {
        // Process 1 ends without sending; 3, its child, has sent already.
        if ranks.rank() != 1 {
            let heard = bring_together(&ranks, (), |(), ()| ());
            ended.lock().unwrap().push((ranks.rank(), heard.map(drop).map_err(|error| error.to_string())));
        }
    });
    let mut ended = ended.lock().unwrap().clone();
    ended.sort();
    assert_eq!(ended[0].0, 0);
    assert!(ended[0].1.as_ref().unwrap_err().contains("rank 1 is gone"), "{ended:?}");
}
