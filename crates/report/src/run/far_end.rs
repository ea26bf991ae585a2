//! Prints what a run cost at the far end, as rows of the run's block of text.

use halfpower_record::{CpuTimes, FarEnd, InterfaceUse, ProcessTime, Record};
use halfpower_spec::format::{percent, size, time_us};

/// Rows with their names; empty without a far end.
pub(super) fn rows(record: &Record) -> Vec<(&'static str, String)> {
    let Some(end) = &record.far_end else { return Vec::new() };
    let rows = [("far end", Some(machine(record, end))), ("far disk", disk(end)), ("far network", network(end))];
    let reported = |(name, words): (&'static str, Option<String>)| Some((name, words?));
    rows.into_iter().filter_map(reported).collect()
}

/// The machine's line, such as `busy 1.2 s of 4 processors (30%), 12 µs a request; smbd was charged 8 µs; at most 14 µs
/// by the soaker`.
fn machine(record: &Record, end: &FarEnd) -> String {
    let a_request = |spent_ns: u64| record.cpu.us_per_io(spent_ns).map_or("no request".to_string(), time_us);
    let busy_ns = end.bill.machine_ns(CpuTimes::busy_ns);
    let all_ns = end.bill.span_ns as f64 * end.bill.machine.len() as f64;
    let machine = match end.bill.machine.len() {
        0 => "not accounted".to_string(),
        processors => format!(
            "busy {} over {processors} {} ({}), {} a request",
            time_us(busy_ns as f64 / 1e3),
            if processors == 1 { "processor" } else { "processors" },
            percent((busy_ns as f64 / all_ns).min(1.0)),
            a_request(busy_ns)
        ),
    };
    let steal_share = end.bill.machine_ns(|cpu| cpu.steal_ns) as f64 / all_ns;
    let steal = if steal_share >= 0.01 { format!("; {} stolen", percent(steal_share)) } else { String::new() };
    let charged = |of: &ProcessTime| format!("; {} charged {}", of.name, a_request(of.charged_ns));
    let processes: String = end.bill.processes.iter().map(charged).collect();
    let soaker = end
        .bill
        .soaker
        .as_ref()
        .map_or(String::new(), |of| format!("; at most {} by the soaker", a_request(of.lost_ns)));
    format!("{machine}{steal}{processes}{soaker}")
}

/// The busiest disk: `sda busy 97%, 118 MiB read, 0 B written`.
fn disk(end: &FarEnd) -> Option<String> {
    let (disk, share) = end.bill.busiest_disk()?;
    let read = size(disk.read_bytes as f64);
    let written = size(disk.written_bytes as f64);
    Some(format!("{} busy {}, {read} read, {written} written", disk.name, percent(share)))
}

/// The interface with the most traffic: `eth0 1.2 MiB in, 118 MiB out`.
fn network(end: &FarEnd) -> Option<String> {
    let moved = |of: &&InterfaceUse| of.received_bytes.saturating_add(of.sent_bytes);
    let most = end.bill.interfaces.iter().max_by_key(moved)?;
    let received = size(most.received_bytes as f64);
    let sent = size(most.sent_bytes as f64);
    Some(format!("{} {received} in, {sent} out", most.name))
}
