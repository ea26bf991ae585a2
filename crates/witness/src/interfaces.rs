//! Reads the bytes that each network interface has moved, from /proc/net/dev.

use std::collections::BTreeMap;

use halfpower_record::InterfaceUse;

/// Bytes received and sent by each interface since it was created, by name.
pub(crate) type Interfaces = BTreeMap<String, (u64, u64)>;

/// Reads the interfaces of this process's network namespace.
pub(crate) fn read() -> Interfaces {
    parse(&std::fs::read_to_string("/proc/net/dev").unwrap_or_default())
}

/// Each line has a name, a colon, eight counters of received data and eight of sent data; bytes are the first of each.
fn parse(text: &str) -> Interfaces {
    let interface = |line: &str| {
        let (name, counters) = line.rsplit_once(':')?;
        let counters: Vec<u64> = counters.split_whitespace().map_while(|word| word.parse().ok()).collect();
        Some((name.trim().to_string(), (*counters.first()?, *counters.get(8)?)))
    };
    text.lines().filter_map(interface).collect()
}

/// The bytes that interfaces moved between two readings; idle interfaces and new ones are left out.
pub(crate) fn between(then: &Interfaces, now: &Interfaces) -> Vec<InterfaceUse> {
    let used = |(name, now): (&String, &(u64, u64))| {
        let then = then.get(name).filter(|then| *then != now)?;
        let received_bytes = now.0.saturating_sub(then.0);
        let sent_bytes = now.1.saturating_sub(then.1);
        Some(InterfaceUse { name: name.clone(), received_bytes, sent_bytes })
    };
    now.iter().filter_map(used).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_interface_moved_is_the_difference() {
        let heads = "Inter-|   Receive                 |  Transmit\n face |bytes    packets errs|bytes packets\n";
        let then = parse(&format!(
            "{heads}    lo:  10 1 0 0 0 0 0 0   10 1 0 0 0 0 0 0\n  eth0: 500 9 0 0 0 0 0 0 70 8 0 0 0 0 0 0\n"
        ));
        let now = parse(&format!(
            "{heads}    lo:  10 1 0 0 0 0 0 0   10 1 0 0 0 0 0 0\n  eth0:1500 9 0 0 0 0 0 0 90 8 0 0 0 0 0 0\n"
        ));
        let moved = InterfaceUse { name: "eth0".into(), received_bytes: 1000, sent_bytes: 20 };
        assert_eq!((then.len(), between(&then, &now)), (2, vec![moved]));
    }
}
