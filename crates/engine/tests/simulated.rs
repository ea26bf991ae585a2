//! Checks that the simulated engine keeps the engine contract and tells time as an engine over a real target would.

use halfpower_engine::{Completion, Engine, Operation, Request, Simulated};
use halfpower_model::{processor_time, throughput};
use halfpower_spec::{Bytes, Nanos, SimulatedDisk};

/// 100 us and 10 ns a byte: 1000 bytes take 110 us.
const PLAIN: &str = "fixed=100us,rate=100MB/s";
const START: Nanos = Nanos(5_000_000);

fn simulated(constants: &str, depth: u32) -> Simulated {
    Simulated::new(&SimulatedDisk::from_constants(constants).unwrap(), depth, 1, START)
}

fn read(slot: u32, length: u32) -> Request {
    Request { slot, operation: Operation::Read, offset: 0, length }
}

/// Slots reaped while waiting for `least`, and the microseconds since `START` at that moment.
fn reap(engine: &mut dyn Engine, least: usize) -> (Vec<u32>, u64) {
    let mut done = Vec::new();
    engine.reap(least, &mut done).unwrap();
    (done.iter().map(|completion| completion.slot).collect(), (engine.now().0 - START.0) / 1000)
}

#[test]
fn waiting_moves_the_clock_to_the_completion_waited_for() {
    let mut engine = simulated(PLAIN, 4);
    assert_eq!(engine.now(), START);
    engine.submit(&[read(2, 1000), read(0, 1000), read(3, 1000)]).unwrap();
    assert_eq!(reap(&mut engine, 0), (vec![], 0));
    assert_eq!(reap(&mut engine, 1), (vec![2], 110));
    engine.submit(&[read(2, 4000)]).unwrap();
    assert_eq!(reap(&mut engine, 2), (vec![0, 3], 330));
    assert_eq!(reap(&mut engine, 1), (vec![2], 470));
    assert_eq!(reap(&mut engine, 0), (vec![], 470));
}

#[test]
fn completions_of_one_instant_come_together() {
    let mut engine = simulated(&format!("{PLAIN},disks=3"), 4);
    engine.submit(&[read(0, 1000), read(1, 1000), read(2, 1000), read(3, 1000)]).unwrap();
    assert_eq!(reap(&mut engine, 1), (vec![0, 1, 2], 110));
    assert_eq!(reap(&mut engine, 1), (vec![3], 220));
}

#[test]
fn a_flush_is_reaped_after_the_writes_before_it() {
    let mut engine = simulated(&format!("{PLAIN},disks=2"), 3);
    let write = |slot, length| Request { operation: Operation::Write, ..read(slot, length) };
    let flush = Request { operation: Operation::Flush, ..read(1, 0) };
    engine.submit(&[write(0, 5000), flush, write(2, 1000)]).unwrap();
    assert_eq!(reap(&mut engine, 3), (vec![2, 0, 1], 250));
}

#[test]
fn a_transfer_over_the_end_of_the_target_is_short() {
    let mut engine = simulated("size=1MiB", 1);
    engine.submit(&[Request { offset: (1 << 20) - 512, ..read(0, 4096) }]).unwrap();
    let mut done = Vec::new();
    engine.reap(1, &mut done).unwrap();
    assert_eq!(done, [Completion { slot: 0, result: Ok(512) }]);
}

#[test]
fn processor_time_can_be_read_while_the_engine_is_boxed() {
    let constants = "cpu_fixed=10us,cpu_per_kib=100ns,unseen=30%";
    let simulated = simulated(constants, 2);
    let account = simulated.processor_time();
    let mut engine: Box<dyn Engine> = Box::new(simulated);
    engine.submit(&[read(0, 4096), read(1, 4096)]).unwrap();
    assert_eq!((account.read().total_ns(), account.now()), (0, START));
    for requests in 1..=2 {
        reap(engine.as_mut(), 1);
        assert_eq!(account.now(), engine.now());
        assert_eq!((account.read().charged_ns, account.read().unseen_ns), (requests * 7280, requests * 3120));
    }
}

#[test]
fn an_engine_kept_at_depth_gives_the_predicted_throughput_and_cost() {
    let disk = SimulatedDisk::from_constants("fixed=80us,rate=500MB/s,disks=4,shared=1200MB/s").unwrap();
    for (bs, depth) in [(Bytes(4096), 1), (Bytes(4096), 32), (Bytes(65536), 3), (Bytes(1 << 20), 8)] {
        let mut engine = Simulated::new(&disk, depth, 1, START);
        let account = engine.processor_time();
        let batch: Vec<Request> = (0..depth).map(|slot| read(slot, bs.0 as u32)).collect();
        engine.submit(&batch).unwrap();
        let mut done = Vec::new();
        let mut ios = 0;
        while ios < 20_000 {
            engine.reap(1, &mut done).unwrap();
            ios += done.len() as u64;
            let again: Vec<Request> = done.drain(..).map(|completion| read(completion.slot, bs.0 as u32)).collect();
            engine.submit(&again).unwrap();
        }
        let seconds = (engine.now().0 - START.0) as f64 / 1e9;
        let ratio = (ios * bs.0) as f64 / seconds / throughput(&disk, bs, depth).0;
        assert!((ratio - 1.0).abs() < 0.005, "{bs}, depth {depth}: {ratio}");
        assert_eq!(account.read(), processor_time(&disk, ios, ios * bs.0));
    }
}

#[test]
#[should_panic(expected = "3 requests in 2 slots")]
fn more_requests_than_slots_are_a_mistake_of_the_caller() {
    let _ = simulated(PLAIN, 2).submit(&[read(0, 1), read(1, 1), read(0, 1)]);
}

#[test]
#[should_panic(expected = "1 completions are waited for, 0 are in flight")]
fn waiting_for_what_was_never_submitted_is_a_mistake_of_the_caller() {
    let _ = simulated(PLAIN, 2).reap(1, &mut Vec::new());
}
