//! Checks the analysis of records with a client's ceiling, TCP windows and limits of a far disk.

use crate::built::{disk, question, study};
use halfpower_analyse::{
    Findings, InFlight, LevelId, LevelKind, MeasuredCeilings, StopTest, StoppedBy, Warning, analyse,
};
use halfpower_record::{DiskLimit, DiskUse, Environment, FarBill, FarEnd, Latency, Level, Record, Tcp};
use halfpower_spec::{Direction, EngineName, Experiment, Pattern, Question, Rate};

/// A file share with about 400 MB/s in its best cell.
const SHARE: &str = "fixed=200us,rate=100MB/s,disks=4,cpu_fixed=1us,cpu_per_kib=0us,noise=1%";

fn findings_of(constants: &str, change: impl Fn(&mut Record)) -> Findings {
    let question = question();
    let mut records = study(&disk(constants), &question);
    records.iter_mut().for_each(|record| {
        record.engine = EngineName::Smb;
        change(record);
    });
    analyse(&question, &Environment::default(), &records, &MeasuredCeilings::default())
}

/// A client that reaches this rate at any size.
fn our_client() -> LevelId {
    LevelId { name: Some("SMB".to_string()), ..LevelId::of(LevelKind::OurClient) }
}

fn with_client(mbps: f64) -> impl Fn(&mut Record) {
    move |record| record.client_ns_per_io = Some(record.run.workload.bs.0 as f64 * 1e3 / mbps)
}

fn with_tcp(least_round_trip_ns: u64, window_bytes: u64) -> impl Fn(&mut Record) {
    move |record| {
        record.tcp = Some(Box::new(Tcp {
            connections: 1,
            round_trip_ns: 3 * least_round_trip_ns,
            least_round_trip_ns,
            congestion_window_bytes: 1 << 30,
            peer_window_bytes: Some(1 << 30),
            own_window_bytes: window_bytes,
            sent_segments: 1000,
            retransmitted_segments: 5,
            ..Tcp::default()
        }));
    }
}

#[test]
fn a_rate_within_a_fifth_of_our_clients_own_is_its() {
    for (client, is_ours) in [(400.0, true), (470.0, true), (520.0, false), (320.0, false)] {
        let found = findings_of(SHARE, with_client(client)).bottleneck;
        let level = found.level.clone().unwrap();
        let stopped_by = found.stopped_by.clone();
        match stopped_by {
            StoppedBy::OwnClient { limit_mbps, share } => {
                assert!(is_ours, "{client}: {share}");
                assert!((limit_mbps / client - 1.0).abs() < 0.01 && (share - 400.0 / client).abs() < 0.03, "{found:?}");
                assert_eq!(level, our_client());
            }
            other => assert!(!is_ours, "{client}: {other:?}"),
        }
    }
}

#[test]
fn our_client_is_named_at_the_head_of_the_path() {
    let findings = findings_of(SHARE, with_client(400.0));
    assert!(findings.levels[0].narrowest && findings.levels[0].id == our_client());
    let stop = &findings.summary.stops[0];
    assert!(stop.doubt.is_none() && matches!(stop.bottleneck.stopped_by, StoppedBy::OwnClient { .. }), "{stop:?}");
}

#[test]
fn what_is_in_flight_over_the_round_trip_is_named_where_it_is_the_rate() {
    // Each request takes 10 ms, independent of its size; 32 of 1 MiB run in parallel.
    let slow = "fixed=10000us,rate=100GB/s,disks=64,cpu_fixed=1us,cpu_per_kib=0us,noise=1%";
    let findings = findings_of(slow, with_tcp(9_800_000, 1 << 30));
    let StoppedBy::Window { in_flight, bytes, round_trip_us, share, .. } = findings.bottleneck.stopped_by else {
        panic!("{:?}", findings.bottleneck)
    };
    assert_eq!((in_flight, bytes, round_trip_us), (InFlight::Requests, 32.0 * 1_048_576.0, 9800.0));
    assert!((share - 0.98).abs() < 0.03, "{share}");
    assert_eq!(findings.bottleneck.level, Some(LevelId::of(LevelKind::RoundTrip)));
    assert_eq!(findings.summary.stops[0].test, Some(StopTest::Deeper { iodepth: 64 }));
    let tcp = findings.cells[0].tcp.as_ref().unwrap();
    assert!((tcp.retransmitted_share - 0.005).abs() < 1e-9, "{tcp:?}");
    let quick = findings_of(slow, with_tcp(1_000_000, 1 << 30));
    assert!(!matches!(quick.bottleneck.stopped_by, StoppedBy::Window { .. }), "a tenth of the time is no explanation");
}

#[test]
fn a_window_of_tcp_below_the_requests_is_named_as_such() {
    // 400 MB/s over 10 ms are 4 MB in flight, of the 32 MiB asked for.
    let findings = findings_of(SHARE, with_tcp(10_000_000, 4_000_000));
    let StoppedBy::Window { in_flight: InFlight::TcpWindow, bytes, limit_mbps, .. } = findings.bottleneck.stopped_by
    else {
        panic!("{:?}", findings.bottleneck)
    };
    assert_eq!((bytes, limit_mbps.round()), (4_000_000.0, 400.0));
    assert_eq!(findings.summary.stops[0].test, None, "more depth would not help");
}

#[test]
fn a_limit_on_a_disk_at_the_far_end_is_named_with_its_group() {
    let limited = |most: u64| {
        move |record: &mut Record| {
            let limit =
                DiskLimit { read_bytes_per_s: Some(most), group: "io.max of /srv".into(), ..DiskLimit::default() };
            let read_bytes = record.bytes;
            let busy_ns = record.elapsed_ns / 100;
            let disk =
                DiskUse { name: "sdb".into(), read_bytes, busy_ns, limit: Some(Box::new(limit)), ..DiskUse::default() };
            let bill = FarBill { span_ns: record.elapsed_ns, disks: vec![disk], ..FarBill::default() };
            let bill = FarBill { machine: vec![Default::default(); 2], ..bill };
            record.far_end = Some(Box::new(FarEnd { bill, ..FarEnd::default() }));
        }
    };
    let StoppedBy::FarDiskLimit { disk, share, group, .. } =
        findings_of(SHARE, limited(400_000_000)).bottleneck.stopped_by
    else {
        panic!("no limit")
    };
    assert!((disk.as_str(), group.as_str()) == ("sdb", "io.max of /srv") && (share - 1.0).abs() < 0.03, "{share}");
    let far = findings_of(SHARE, limited(900_000_000)).bottleneck.stopped_by;
    assert!(!matches!(far, StoppedBy::FarDiskLimit { .. }), "{far:?}");
}

#[test]
fn a_mode_of_forty_milliseconds_is_called_what_it_is() {
    let delayed = |findings: &Findings| {
        findings.warnings.iter().find_map(|warning| match warning {
            Warning::DelayedAcks { cells, share, .. } => Some((*cells, *share)),
            _ => None,
        })
    };
    let with_mode = |at_ns: u64| {
        move |record: &mut Record| {
            let workload = record.run.workload;
            if (workload.bs.0, workload.iodepth) == (4096, 1) {
                record.latency = Latency::default();
                (0..95).for_each(|_| record.latency.add(200_000));
                (0..5).for_each(|more| record.latency.add(at_ns + more * 100_000));
            }
        }
    };
    let (cells, share) = delayed(&findings_of(SHARE, with_mode(40_100_000))).expect("a warning");
    assert!(cells == 1 && (share - 0.05).abs() < 1e-9, "{cells} {share}");
    assert_eq!(delayed(&findings_of(SHARE, with_mode(9_000_000))), None);
    assert_eq!(delayed(&findings_of(SHARE, with_mode(30_000_000))), None);
    // All data in flight take longer than that anyway, or the network does.
    assert_eq!(delayed(&findings_of("fixed=1us,rate=0.1MB/s,disks=1,noise=0%", with_mode(40_100_000))), None);
    let far = |record: &mut Record| {
        with_mode(40_100_000)(record);
        with_tcp(39_000_000, 1 << 30)(record);
    };
    assert_eq!(delayed(&findings_of(SHARE, far)), None);
}

/// A study of all paths of a share behind a wire of 100 Mbit/s and a link of a gigabit.
fn behind_a_wire(change: impl Fn(&mut Record)) -> Findings {
    let question = Question {
        experiments: vec![Experiment::Sequential, Experiment::Random],
        directions: vec![Direction::Read, Direction::Write],
        ..question()
    };
    let constants = "fixed=300us,rate=1GB/s,disks=32,shared=11.9MB/s,cpu_fixed=1us,cpu_per_kib=0us,noise=0.5%";
    let mut records = study(&disk(constants), &question);
    records.iter_mut().for_each(|record| {
        record.engine = EngineName::Smb;
        change(record);
    });
    let network = Level { name: "network".to_string(), pap: Some(Rate(125e6)), ..Level::default() };
    let server = Level { name: "file server".to_string(), ..Level::default() };
    let environment = Environment { levels: vec![network, server], ..Environment::default() };
    analyse(&question, &environment, &records, &MeasuredCeilings::default())
}

/// Makes a record faster by this factor.
fn quicken(record: &mut Record, factor: f64) {
    record.elapsed_ns = (record.elapsed_ns as f64 / factor) as u64;
    record.series.step_ns = (record.series.step_ns as f64 / factor) as u64;
}

#[test]
fn a_rate_at_which_all_paths_of_a_share_end_is_the_wires() {
    let writes_are_faster = |record: &mut Record| {
        if record.run.workload.rw.writes() {
            quicken(record, 12.1 / 11.9);
        }
    };
    let findings = behind_a_wire(writes_are_faster);
    assert_eq!(findings.summary.stops.len(), 2);
    for stop in &findings.summary.stops {
        let StoppedBy::OneRate { reads_mbps, writes_mbps, link_mbps } = stop.bottleneck.stopped_by else {
            panic!("{stop:?}")
        };
        assert!((reads_mbps - 11.9).abs() < 0.2 && (writes_mbps - 12.1).abs() < 0.2, "{reads_mbps} {writes_mbps}");
        assert_eq!((stop.bottleneck.level.clone(), link_mbps), (Some(LevelId::of(LevelKind::Wire)), Some(125.0)));
        assert_eq!((stop.doubt, stop.test), (None, None), "no cache is suspected");
        assert_eq!(stop.bottleneck.request_ceiling, None, "small requests end where the bytes do");
    }
    let place = |kind| findings.levels.iter().position(|level| level.id.kind == kind);
    let wire = place(LevelKind::Wire).expect("a level of its own");
    assert!(Some(wire) < place(LevelKind::FileServer), "{:?}", findings.levels);
}

#[test]
fn what_treats_random_and_sequential_requests_differently_is_no_wire() {
    let disk_behind = |record: &mut Record| {
        if record.run.workload.rw.pattern() == Pattern::Random {
            quicken(record, 0.5);
        }
    };
    for stop in &behind_a_wire(disk_behind).summary.stops {
        assert!(!matches!(stop.bottleneck.stopped_by, StoppedBy::OneRate { .. }), "{stop:?}");
    }
}
