//! Simulates a network file system: the processors of two hosts, a wire, and its delays.
//!
//! A write holds its connection for a handshake, one write after the other. Writes above one size and reads from
//! another size stall: both ends wait for a timer.

use super::event_queue::Server;
use super::host::{Price, Processors};
use crate::system::Network as Constants;
use crate::{Moment, Operation, ProcessorTime};

const PS_PER_US: f64 = 1e6;
const PS_PER_MS: f64 = 1e9;
const KIB: u64 = 1024;
const PIECE: u64 = 64 * KIB;

/// The connection between a client and the machine with the disks.
#[derive(Debug, Clone)]
pub struct Network {
    constants: Constants,
    client: Processors,
    client_price: [Price; 2],
    server_price: [Price; 2],
    wire_ps_per_byte: f64,
    latency_ps: u64,
    /// The wire, one server for each direction.
    wire: [Server; 2],
    connection: Server,
}

impl Network {
    pub fn new(constants: &Constants) -> Self {
        Self {
            client: Processors::new(constants.client_processors),
            client_price: [Price::of(constants.client_read), Price::of(constants.client_write)],
            server_price: [Price::of(constants.server_read), Price::of(constants.server_write)],
            wire_ps_per_byte: constants.wire_mbps.map_or(0.0, |mbps| PS_PER_US / mbps),
            latency_ps: (constants.latency_us * PS_PER_US) as u64,
            wire: [Server::default(); 2],
            connection: Server::default(),
            constants: constants.clone(),
        }
    }

    /// Time of a packet on the server's peripheral bus, in picoseconds; `None` without a wire.
    pub fn packet_ps(&self) -> Option<f64> {
        self.constants.wire_mbps.map(|_| self.constants.packet_us * PS_PER_US)
    }

    pub fn client_time(&self) -> ProcessorTime {
        self.client.time()
    }

    fn stall_ps(&self, operation: Operation, length: u32) -> f64 {
        let constants = &self.constants;
        let length = u64::from(length);
        if operation == Operation::Write {
            let stalls = constants.write_stalls_above_kib.is_some_and(|above| length > above * KIB);
            let more = length.saturating_sub(1) / PIECE;
            let stall_ms = constants.write_stall_ms + more as f64 * constants.write_stall_more_ms;
            if stalls { stall_ms * PS_PER_MS } else { 0.0 }
        } else {
            let stalls = constants.read_stalls_from_kib.is_some_and(|from| length >= from * KIB);
            if stalls { (length as f64 / PIECE as f64).powf(1.5) * constants.read_stall_ms * PS_PER_MS } else { 0.0 }
        }
    }

    /// Sends a request; returns the moment at which the server has it.
    pub fn ask(&mut self, now: Moment, operation: Operation, length: u32, server: &mut Processors) -> Moment {
        let bytes = u64::from(length);
        let side = usize::from(operation == Operation::Write);
        let mut at = self.client.spend(now, self.client_price[side].ps(bytes) / 2.0, 1.0).after_ps(self.latency_ps);
        if side == 1 {
            at = self.wire[0].take(at, (bytes as f64 * self.wire_ps_per_byte) as u64);
        }
        let held_ps = if side == 1 { self.constants.write_handshake_us * PS_PER_US } else { 0.0 };
        at = self.connection.take(at, (held_ps + self.stall_ps(operation, length)) as u64);
        server.spend(at, self.server_price[side].ps(bytes) / 2.0, 0.0)
    }

    /// Sends the answer of a finished request; returns the moment at which the client has it.
    pub fn answer(&mut self, now: Moment, operation: Operation, length: u32, server: &mut Processors) -> Moment {
        let bytes = u64::from(length);
        let side = usize::from(operation == Operation::Write);
        let mut at = server.spend(now, self.server_price[side].ps(bytes) / 2.0, 0.0).after_ps(self.latency_ps);
        if side == 0 {
            at = self.wire[1].take(at, (bytes as f64 * self.wire_ps_per_byte) as u64);
        }
        self.client.spend(at, self.client_price[side].ps(bytes) / 2.0, 1.0)
    }
}
