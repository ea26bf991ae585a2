//! Simulates adapters and buses, which carry commands and data to the drives and back, one after another.
//!
//! A passing adapter moves data while they arrive, so a command ends when the slowest of bus, adapter and peripheral
//! bus has moved them. A storing adapter has all of a command's data on one side before it begins the other.
//!
//! What passes over the disks' buses is counted: commands, sizes, bus time and active disks.

use super::drive::{Drive, Job, Word};
use super::event_queue::{Event, EventQueue, Server};
use super::host::Host;
use super::slab::Slab;
use super::volume::Piece;
use crate::system::{BusLayout, Relay, System};
use crate::{Moment, Operation, Setting};

const PS_PER_US: f64 = 1e6;
const KIB: f64 = 1024.0;
const PAGE: f64 = 4096.0;
/// Data bytes of a 1500-byte Ethernet frame.
const PACKET: f64 = 1460.0;

/// The host's part of a command.
#[derive(Debug, Clone, Copy)]
pub struct Sent {
    pub transfer: u32,
    pub operation: Operation,
    /// Whether the disk may read ahead after it.
    pub ahead: bool,
    /// Whether it belongs to the first piece of its transfer.
    pub first: bool,
    /// Whether the host sent it: alone, or as the first of those into which the adapter split it.
    pub lead: bool,
}

/// One command to one drive.
#[derive(Debug, Clone, Copy)]
struct DriveCommand {
    sent: Sent,
    piece: Piece,
}

/// Adapters, buses and drives.
#[derive(Debug, Clone)]
pub struct Transport {
    storing: bool,
    shared: bool,
    buses: u32,
    setup_ps: u64,
    bus_ps_per_byte: f64,
    contention_ps_per_byte: f64,
    command_ps: f64,
    rest_ps: u64,
    list_ps_per_byte: f64,
    adapter_ps_per_byte: [f64; 2],
    pci_ps_per_byte: [f64; 2],
    bus: Vec<Server>,
    adapter: Vec<Server>,
    pci: Server,
    drives: Vec<Drive>,
    waiting: Vec<u32>,
    /// Number of active drives on each bus.
    active: Vec<u32>,
    commands: Slab<DriveCommand>,
    words: Vec<Word>,
    observed: Observed,
}

fn ps_per_byte(mbps: f64) -> f64 {
    PS_PER_US / mbps
}

fn side(operation: Operation) -> usize {
    usize::from(operation == Operation::Write)
}

impl Transport {
    pub fn new(system: &System, setting: &Setting) -> Self {
        let shared = system.bus.layout == BusLayout::Shared;
        let disks = setting.disks.max(1);
        let adapters = setting.buses.max(1);
        let buses = if shared { adapters } else { disks };
        let own = |mbps: Option<f64>| mbps.map_or(0.0, ps_per_byte);
        Self {
            storing: system.adapter.relay == Relay::Storing,
            shared,
            buses,
            setup_ps: (system.bus.setup_us * PS_PER_US) as u64,
            bus_ps_per_byte: ps_per_byte(system.bus.mbps),
            contention_ps_per_byte: system.bus.contention_us_per_kib * PS_PER_US / KIB,
            rest_ps: (system.adapter.rest_us * PS_PER_US) as u64,
            command_ps: system.adapter.command_us * PS_PER_US,
            list_ps_per_byte: system.adapter.list_us_per_page * PS_PER_US / PAGE,
            adapter_ps_per_byte: [own(system.adapter.read_mbps), own(system.adapter.write_mbps)],
            pci_ps_per_byte: [ps_per_byte(system.pci.read_mbps), ps_per_byte(system.pci.write_mbps)],
            bus: vec![Server::default(); buses as usize],
            adapter: vec![Server::default(); adapters as usize],
            pci: Server::default(),
            drives: (0..disks).map(|_| Drive::new(&system.disk, setting.write_cache)).collect(),
            waiting: vec![0; disks as usize],
            active: vec![0; buses as usize],
            commands: Slab::default(),
            words: Vec::new(),
            observed: Observed::new(disks),
        }
    }

    pub fn observed(&self) -> &Observed {
        &self.observed
    }

    /// Unfinished commands of a drive.
    pub fn waiting(&self, disk: u32) -> u32 {
        self.waiting[disk as usize]
    }

    fn bus_of(&self, disk: u32) -> usize {
        (disk % self.buses) as usize
    }

    fn adapter_of(&self, disk: u32) -> usize {
        disk as usize % self.adapter.len()
    }

    pub fn send(&mut self, now: Moment, sent: Sent, piece: Piece, event_queue: &mut EventQueue) {
        let Sent { operation, .. } = sent;
        let number = self.commands.add(DriveCommand { sent, piece });
        let disk = piece.disk as usize;
        self.observed.sent(now, operation, piece.length, self.waiting[disk] == 0);
        if self.waiting[disk] == 0 {
            let bus = self.bus_of(piece.disk);
            self.active[bus] += 1;
        }
        self.waiting[disk] += 1;
        if self.storing && operation == Operation::Write {
            let end = self.through_adapter(now, number);
            event_queue.add(end, Event::Relayed(number));
        } else {
            self.give(now, number, event_queue);
        }
    }

    /// Sends the command itself to its drive.
    fn give(&mut self, now: Moment, number: u32, event_queue: &mut EventQueue) {
        let disk = self.commands[number].piece.disk;
        let bus = self.bus_of(disk);
        let end = self.bus[bus].take(now, self.setup_ps);
        self.observed.bus(self.setup_ps, 0);
        event_queue.add(end.after_ps(self.drives[disk as usize].overhead_ps()), Event::AtDrive(number));
    }

    pub fn happen(&mut self, now: Moment, event: Event, host: &mut Host, event_queue: &mut EventQueue) {
        match event {
            Event::AtDrive(number) => self.at_drive(now, number, host, event_queue),
            Event::Transfer(number) => self.transfer(now, number, host, event_queue),
            Event::Relayed(number) if self.commands[number].sent.operation == Operation::Write => {
                self.give(now, number, event_queue);
            }
            Event::Relayed(number) => {
                let end = self.through_adapter(now, number);
                event_queue.add(end, Event::Delivered(number));
            }
            Event::InDrive(number) => {
                let job = self.job(now, number);
                let drive = &mut self.drives[self.commands[number].piece.disk as usize];
                let over = drive.write_cache();
                drive.write(job, &mut self.words);
                if over {
                    event_queue.add(now, Event::Delivered(number));
                }
                self.hear(now, job_disk(&self.commands[number]), host, event_queue);
            }
            Event::ArmFree(disk) => {
                self.drives[disk as usize].wake(now, &mut self.words);
                self.hear(now, disk, host, event_queue);
            }
            other => unreachable!("{other:?} is no event of the transport"),
        }
    }

    fn job(&self, now: Moment, number: u32) -> Job {
        let DriveCommand { sent: Sent { operation, ahead, .. }, piece } = self.commands[number];
        let write = operation == Operation::Write;
        Job { command: number, write, offset: piece.offset, length: piece.length, ahead, arrived: now }
    }

    fn at_drive(&mut self, now: Moment, number: u32, host: &mut Host, event_queue: &mut EventQueue) {
        let job = self.job(now, number);
        let disk = self.commands[number].piece.disk;
        let drive = &mut self.drives[disk as usize];
        if !job.write {
            drive.read(job, &mut self.words);
        } else if !drive.write_cache() || drive.admits(&job, &mut self.words) {
            self.transfer(now, number, host, event_queue);
        }
        self.hear(now, disk, host, event_queue);
    }

    /// All drives write their buffers to the medium.
    pub fn flush(&mut self, now: Moment, host: &mut Host, event_queue: &mut EventQueue) {
        for disk in 0..self.drives.len() {
            self.drives[disk].flush(now, &mut self.words);
            self.hear(now, disk as u32, host, event_queue);
        }
    }

    /// Whether no drive has written data only in its buffer.
    pub fn is_clean(&self) -> bool {
        self.drives.iter().all(Drive::is_clean)
    }

    fn hear(&mut self, now: Moment, disk: u32, host: &mut Host, event_queue: &mut EventQueue) {
        let mut words = std::mem::take(&mut self.words);
        for word in words.drain(..) {
            match word {
                Word::Ready(number, at) => {
                    // The data cross the bus while they are read, so the transfer starts early enough to end with the
                    // last byte.
                    let bytes = f64::from(self.commands[number].piece.length);
                    let crossing_ps = (bytes * self.bus_ps_per_byte) as u64;
                    let begin = now.max(Moment::from_ps(at.ps().saturating_sub(crossing_ps)));
                    if begin > now {
                        event_queue.add(begin, Event::Transfer(number));
                    } else {
                        self.transfer(now, number, host, event_queue);
                    }
                }
                Word::Written(number, at) => event_queue.add(at, Event::Delivered(number)),
                Word::Room(number) => self.transfer(now, number, host, event_queue),
                Word::Wake(at) => event_queue.add(at, Event::ArmFree(disk)),
            }
        }
        self.words = words;
    }

    /// Moves the data of a command over the bus.
    fn transfer(&mut self, now: Moment, number: u32, host: &mut Host, event_queue: &mut EventQueue) {
        let DriveCommand { sent: Sent { operation, .. }, piece } = self.commands[number];
        let bus = self.bus_of(piece.disk);
        let bytes = f64::from(piece.length);
        let contended = self.shared && self.active[bus] > 1;
        let handshake_ps = if contended { (bytes * self.contention_ps_per_byte) as u64 } else { 0 };
        // If the processor moves the data, the bus is as slow as the processor.
        let moved_ps = host.move_bytes(now, u64::from(piece.length));
        let data_ps = moved_ps.max((bytes * self.bus_ps_per_byte) as u64);
        let mut end = self.bus[bus].take(now, data_ps + handshake_ps);
        self.observed.bus(handshake_ps, data_ps);
        let next = if operation == Operation::Write { Event::InDrive(number) } else { Event::Delivered(number) };
        if !self.storing {
            end = self.pass(end, number);
            event_queue.add(end, next);
        } else if operation == Operation::Write {
            event_queue.add(end, next);
        } else {
            event_queue.add(end, Event::Relayed(number));
        }
    }

    /// Passes a command's data through a passing adapter and the peripheral bus.
    fn pass(&mut self, arrived: Moment, number: u32) -> Moment {
        let DriveCommand { sent: Sent { operation, first, .. }, piece } = self.commands[number];
        let bytes = f64::from(piece.length);
        let side = side(operation);
        let list_ps = if first { bytes * self.list_ps_per_byte } else { 0.0 };
        let adapter = self.adapter_of(piece.disk);
        let own_ps = bytes * self.adapter_ps_per_byte[side] + self.command_ps;
        let passed = self.adapter[adapter].pace(arrived, own_ps as u64);
        self.pci.pace(passed, (bytes * self.pci_ps_per_byte[side] + list_ps) as u64)
    }

    /// Moves a command's data between a storing adapter's memory and the host's.
    fn through_adapter(&mut self, now: Moment, number: u32) -> Moment {
        let DriveCommand { sent: Sent { operation, lead, .. }, piece } = self.commands[number];
        let bytes = f64::from(piece.length);
        let side = side(operation);
        let command_ps = if lead { self.command_ps } else { 0.0 };
        let own_ps = bytes * self.adapter_ps_per_byte[side] + command_ps;
        let adapter = self.adapter_of(piece.disk);
        let end = self.adapter[adapter].take(now, own_ps as u64);
        if lead {
            self.adapter[adapter].take(now, self.rest_ps);
        }
        self.pci.pace(end, (bytes * self.pci_ps_per_byte[side]) as u64)
    }

    /// Moves unrelated data over the peripheral bus: `packet_ps` more for each packet.
    pub fn cross(&mut self, now: Moment, bytes: u32, packet_ps: f64) -> Moment {
        let bytes = f64::from(bytes);
        let packets = (bytes / PACKET).ceil();
        let span_ps = bytes * (self.pci_ps_per_byte[0] + self.list_ps_per_byte) + packets * packet_ps;
        self.pci.take(now, span_ps as u64)
    }

    /// Completes a command; returns its transfer.
    pub fn over(&mut self, now: Moment, number: u32) -> u32 {
        let DriveCommand { sent: Sent { transfer, .. }, piece } = self.commands[number];
        let disk = piece.disk as usize;
        self.waiting[disk] -= 1;
        if self.waiting[disk] == 0 {
            let bus = self.bus_of(piece.disk);
            self.active[bus] -= 1;
        }
        self.observed.over(now, self.waiting[disk] == 0);
        self.commands.release(number);
        transfer
    }
}

fn job_disk(command: &DriveCommand) -> u32 {
    command.piece.disk
}

/// Counts since the path was made.
#[derive(Debug, Clone, Default)]
pub struct Observed {
    /// Read commands to disks.
    pub reads: u64,
    /// Write commands to disks.
    pub writes: u64,
    /// Bytes that they read.
    pub read_bytes: u64,
    /// Bytes that they wrote.
    pub written_bytes: u64,
    /// Distinct sizes of read commands, in the order of their first appearance.
    pub read_sizes: Vec<u32>,
    /// The same for write commands.
    pub write_sizes: Vec<u32>,
    /// Most commands outstanding at the same time.
    pub most_outstanding: u64,
    /// Bus time used besides data, in picoseconds.
    pub bus_setup_ps: u64,
    /// Bus time used for data, in picoseconds.
    pub bus_data_ps: u64,
    /// Time for which 0, 1, 2, ... disks had commands, in picoseconds.
    pub disks_at_work_ps: Vec<u64>,
    outstanding: u64,
    at_work: usize,
    since: Moment,
}

/// Most distinct sizes that are kept.
const MOST_SIZES: usize = 16;

impl Observed {
    pub(super) fn new(disks: u32) -> Self {
        Self { disks_at_work_ps: vec![0; disks as usize + 1], ..Self::default() }
    }

    pub(super) fn sent(&mut self, now: Moment, operation: Operation, length: u32, disk_was_idle: bool) {
        let sizes = if operation == Operation::Write {
            self.writes += 1;
            self.written_bytes += u64::from(length);
            &mut self.write_sizes
        } else {
            self.reads += 1;
            self.read_bytes += u64::from(length);
            &mut self.read_sizes
        };
        if sizes.last() != Some(&length) && sizes.len() < MOST_SIZES && !sizes.contains(&length) {
            sizes.push(length);
        }
        self.outstanding += 1;
        self.most_outstanding = self.most_outstanding.max(self.outstanding);
        if disk_was_idle {
            self.pass(now);
            self.at_work += 1;
        }
    }

    pub(super) fn over(&mut self, now: Moment, disk_is_idle: bool) {
        self.outstanding -= 1;
        if disk_is_idle {
            self.pass(now);
            self.at_work -= 1;
        }
    }

    pub(super) fn bus(&mut self, setup_ps: u64, data_ps: u64) {
        self.bus_setup_ps += setup_ps;
        self.bus_data_ps += data_ps;
    }

    fn pass(&mut self, now: Moment) {
        self.disks_at_work_ps[self.at_work] += now.ps() - self.since.ps();
        self.since = now;
    }
}
