//! Checks the output about hosts that measured together: slow hosts are on the first screen, and a page holds a
//! thousand hosts.

use halfpower_experiments::{StudyFindings, analyse};
use halfpower_record::{HostPlace, HostShare, Machine, Record};
use halfpower_spec::{Arrival, Arrivals};

use crate::screens::{environment, question, quiet_study};

const MOST_BYTES: usize = 600_000;

/// The quiet study, measured by this many hosts; host 1 has half the rate of the others.
fn study_of(hosts: u32) -> (StudyFindings, Vec<Record>) {
    let (_, mut records) = quiet_study();
    for (run, record) in records.iter_mut().enumerate() {
        let share = |rank: u32| {
            // Deviations of up to 5%, in a different order in each run.
            let wobble = 0.95 + 0.1 * f64::from((rank * 7919 + run as u32 * 104_729) % 1009) / 1009.0;
            let rate = if rank == 1 { 0.5 * wobble } else { wobble };
            let bytes = (record.bytes as f64 * rate) as u64;
            HostShare { rank, elapsed_ns: record.elapsed_ns, bytes, ios: 1, ..HostShare::default() }
        };
        record.hosts = (0..hosts).map(share).collect();
    }
    let machine = |rank| Machine { hostname: Some(format!("node{rank:04}")), ..Machine::default() };
    let hosts = (0..hosts).map(|rank| HostPlace { rank, machine: machine(rank), ..HostPlace::default() }).collect();
    let environment = halfpower_record::Environment { hosts, ..environment() };
    (analyse(&question(), &environment, &records), records)
}

fn page(study: &StudyFindings, records: &[Record]) -> String {
    let mut out = Vec::new();
    halfpower_report::html(study, records, "mpirun halfpower study /srv", &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn a_slow_host_is_named_at_the_top_and_has_a_part_of_its_own() {
    let (study, records) = study_of(4);
    let mut screen = Vec::new();
    let style = halfpower_report::Style { width: 80, colour: false };
    halfpower_report::terminal(&study, None, &style, &mut screen).unwrap();
    let screen = String::from_utf8(screen).unwrap();
    assert!(screen.contains("1 of 4 hosts is slow; node0001 most, at 5"), "{screen}");
    let mut full = Vec::new();
    halfpower_report::terminal_full(&study, &style, &mut full).unwrap();
    let full = String::from_utf8(full).unwrap();
    assert!(full.contains("HOSTS\n") && full.contains("4 hosts: node0001 is slower than its peers"), "{full}");
    let page = page(&study, &records);
    assert!(page.contains("<h3>node0001</h3>") && !page.contains("<h3>node0000</h3>"));
    assert!(page.contains("data-chart=\"hosts\""));
}

/// Half of the processes are twice as fast as the others: the median lies between them.
#[test]
fn the_median_of_an_even_number_of_processes_lies_between_the_two_in_the_middle() {
    let (_, mut records) = quiet_study();
    let mut record = records.remove(0);
    let share = |rank: u32| {
        let bytes = if rank < 5 { 100_000_000 } else { 200_000_000 };
        HostShare { rank, elapsed_ns: 1_000_000_000, bytes, ios: 900, ..HostShare::default() }
    };
    record.hosts = (0..10).map(share).collect();
    let mut out = Vec::new();
    halfpower_report::run_text(&record, &[], &mut out).unwrap();
    let said = String::from_utf8(out).unwrap();
    assert!(said.contains("10 processes: 100, 150, 200 MB/s slowest, median, fastest"), "{said}");
}

#[test]
fn what_was_asked_of_a_run_is_asked_of_each_process() {
    let (_, mut records) = quiet_study();
    let mut record = records.remove(0);
    let share = |rank| HostShare { rank, elapsed_ns: 1_000_000_000, ios: 900, ..HostShare::default() };
    record.hosts = (0..2).map(share).collect();
    (record.elapsed_ns, record.ios, record.achieved_depth) = (1_000_000_000, 1_800, 12.0);
    let workload = &mut record.run.workload;
    (workload.iodepth, workload.threads) = (8, 1);
    workload.rate = Some(Arrival { iops: 1_000, arrivals: Arrivals::Fixed });
    let mut out = Vec::new();
    halfpower_report::run_text(&record, &[], &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(text.contains("NOT reached: 2,000 IO/s asked (fixed), 90% of that came"), "{text}");
    assert!(text.contains("16 asked, 12"), "{text}");
}

#[test]
fn a_thousand_hosts_fit_on_a_page() {
    let (study, records) = study_of(1000);
    let page = page(&study, &records);
    assert!(page.len() < MOST_BYTES, "{} bytes", page.len());
    assert!(page.contains("<h3>node0001</h3>") && page.contains("The 32 of 1000 hosts that differ most"));
}
