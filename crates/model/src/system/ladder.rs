//! Lists what each part of a system advertises and what gets through it.
//!
//! The advertised figure is the one on the box. The attainable figure follows from the part's own constants, for
//! requests of the size into which the host splits larger ones: set-up, reselection and page lists take the rest.

use super::{Adapter, BusLayout, Relay, System};
use crate::{Array, Operation, Setting};

const KIB: f64 = 1024.0;
const PAGE: f64 = 4096.0;
/// Data bytes of a network packet.
const PACKET: f64 = 1460.0;

/// A part of the path, or several equal parts together.
#[derive(Debug, Clone, PartialEq)]
pub struct Rung {
    /// Its name.
    pub name: String,
    /// Advertised rate, in MB/s.
    pub advertised_mbps: Option<f64>,
    /// Rate that gets through it, in MB/s.
    pub attainable_mbps: Option<f64>,
    /// The only operation that the figures hold for; `None` means both.
    pub operation: Option<Operation>,
    /// Whether reads and writes share the figures; a wire has them in each direction.
    pub half_duplex: bool,
    /// Source of the figures, as a part of a sentence.
    pub source: String,
}

impl Rung {
    /// A part that lets more through than it advertises was made faster than the one that the figure is of: it advertises
    /// nothing that is known.
    fn without_what_it_exceeds(self) -> Self {
        let is_exceeded = |advertised: &f64| self.attainable_mbps.is_some_and(|attainable| attainable > *advertised);
        Self { advertised_mbps: self.advertised_mbps.filter(|advertised| !is_exceeded(advertised)), ..self }
    }
}

impl System {
    /// The parts between host and medium, in the order in which a request passes them.
    pub fn ladder(&self, setting: &Setting) -> Vec<Rung> {
        let mut rungs = Vec::new();
        rungs.extend(self.network_rung());
        rungs.extend(both(|operation| self.pci_rung(operation)));
        let adapters = setting.buses.max(1);
        let adapter = both(|operation| self.adapter_rung(operation, adapters));
        rungs.extend(adapter.into_iter().filter(|rung| rung.attainable_mbps.is_some()));
        rungs.push(self.bus_rung(setting));
        rungs.extend(both(|operation| self.disk_rung(setting, operation)));
        rungs.into_iter().map(Rung::without_what_it_exceeds).collect()
    }

    fn network_rung(&self) -> Option<Rung> {
        let network = self.network.as_ref()?;
        let source = match network.wire_mbps {
            Some(wire) => format!("{} promises what its standard says; {wire} MB/s are left for data", network.name),
            None => format!("{} to a disk of the same machine crosses no wire", network.name),
        };
        Some(Rung {
            name: network.name.clone(),
            advertised_mbps: network.advertised_mbps,
            attainable_mbps: network.wire_mbps,
            operation: None,
            half_duplex: false,
            source,
        })
    }

    /// If the same machine sends the data over a network, each byte crosses the bus twice, the second time in packets;
    /// their lists and set-up use the bus too.
    fn pci_rung(&self, operation: Operation) -> Rung {
        let mbps = match operation {
            Operation::Write => self.pci.write_mbps,
            _ => self.pci.read_mbps,
        };
        let mut source = format!("{mbps} MB/s are left after arbitration and control");
        let mut share = 1.0;
        let mut us_per_byte = 1.0 / mbps;
        if let Some(network) = self.network.as_ref().filter(|network| network.wire_mbps.is_some()) {
            source += "; each byte crosses it twice, from the disks and to the network";
            share = 0.5;
            us_per_byte += 1.0 / mbps + self.adapter.list_us_per_page / PAGE + network.packet_us / PACKET;
        }
        Rung {
            name: self.pci.name.clone(),
            advertised_mbps: self.pci.advertised_mbps.map(|mbps| mbps * share),
            attainable_mbps: Some(1.0 / us_per_byte),
            operation: Some(operation),
            half_duplex: true,
            source,
        }
    }

    fn adapter_rung(&self, operation: Operation, adapters: u32) -> Rung {
        let Adapter { relay, command_us, rest_us, read_mbps, write_mbps, .. } = &self.adapter;
        let own = if operation == Operation::Write { *write_mbps } else { *read_mbps };
        let busy_us = if *relay == Relay::Storing { command_us + rest_us } else { *command_us };
        let of_one = own.map(|mbps| self.through(mbps, busy_us));
        let source = format!("{} advertises no rate; its own limit shows in what passes it", self.adapter.name);
        Rung {
            name: counted(&self.adapter.name, adapters),
            advertised_mbps: None,
            attainable_mbps: of_one.map(|mbps| mbps * f64::from(adapters)),
            operation: Some(operation),
            half_duplex: true,
            source,
        }
    }

    fn bus_rung(&self, setting: &Setting) -> Rung {
        let buses = match self.bus.layout {
            BusLayout::Shared => setting.buses.max(1),
            BusLayout::Channels => setting.disks.max(1),
        };
        let shared = self.bus.layout == BusLayout::Shared && setting.disks > buses;
        let handshake_us = if shared { self.bus.contention_us_per_kib * self.volume.split_kib as f64 } else { 0.0 };
        let of_one = self.through(self.bus.mbps, self.bus.setup_us + handshake_us);
        let each = if buses > 1 { " each" } else { "" };
        let source = format!(
            "{of_one:.0} MB/s{each} are left for data in requests of {} KiB, after set-up{}",
            self.volume.split_kib,
            if handshake_us > 0.0 { " and reselection" } else { "" }
        );
        Rung {
            name: counted(&self.bus.name, buses),
            advertised_mbps: self.bus.advertised_mbps.map(|mbps| mbps * f64::from(buses)),
            attainable_mbps: Some(of_one * f64::from(buses)),
            operation: None,
            half_duplex: true,
            source,
        }
    }

    fn disk_rung(&self, setting: &Setting, operation: Operation) -> Rung {
        let disks = setting.disks.max(1);
        let writes = operation == Operation::Write;
        let count = if setting.array == Array::Mirror && writes { 1.0 } else { f64::from(disks) };
        let outer = self.disk.outer_mbps * if writes { self.disk.write_pace } else { 1.0 };
        let each = if disks > 1 { " each" } else { "" };
        let source = format!("{outer:.1} MB/s{each} pass the heads on the outermost tracks");
        Rung {
            name: counted(&self.disk.name, disks),
            advertised_mbps: self.disk.advertised_mbps.map(|mbps| mbps * count),
            attainable_mbps: Some(outer * count),
            operation: Some(operation),
            half_duplex: true,
            source,
        }
    }

    /// Attainable rate of a part of `mbps` that is busy for another `us` with each request.
    fn through(&self, mbps: f64, us: f64) -> f64 {
        let bytes = self.volume.split_kib as f64 * KIB;
        bytes / (bytes / mbps + us)
    }
}

fn counted(name: &str, count: u32) -> String {
    if count > 1 { format!("{count} x {name}") } else { name.to_string() }
}

/// One rung if reads and writes have the same figures, otherwise one for each.
fn both(rung: impl Fn(Operation) -> Rung) -> Vec<Rung> {
    let reads = rung(Operation::Read);
    let writes = rung(Operation::Write);
    let figures = |rung: &Rung| (rung.advertised_mbps, rung.attainable_mbps);
    if figures(&reads) == figures(&writes) {
        return vec![Rung { operation: None, ..reads }];
    }
    vec![reads, writes]
}
