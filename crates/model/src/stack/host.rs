//! Accounts for the processor time of requests, and finds when a processor is free.

use crate::system::{Cost, Host as Constants};
use crate::{Moment, Operation, ProcessorTime, Setting};

const PS_PER_US: f64 = 1e6;
const PS_PER_NS: u64 = 1000;
const KIB: f64 = 1024.0;

/// A processor cost in picoseconds.
#[derive(Debug, Clone, Copy)]
pub struct Price {
    fixed_ps: f64,
    ps_per_byte: f64,
}

impl Price {
    pub fn of(cost: Cost) -> Self {
        Self { fixed_ps: cost.fixed_us * PS_PER_US, ps_per_byte: cost.us_per_kib * PS_PER_US / KIB }
    }

    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self { fixed_ps: self.fixed_ps + other.fixed_ps, ps_per_byte: self.ps_per_byte + other.ps_per_byte }
    }

    pub fn ps(self, bytes: u64) -> f64 {
        self.fixed_ps + bytes as f64 * self.ps_per_byte
    }
}

/// Processors that serve requests in order of arrival, with an account of their time.
#[derive(Debug, Clone)]
pub struct Processors {
    free: Vec<Moment>,
    charged_ps: u64,
    unseen_ps: u64,
}

impl Processors {
    pub fn new(count: u32) -> Self {
        Self { free: vec![Moment::default(); count.max(1) as usize], charged_ps: 0, unseen_ps: 0 }
    }

    /// Spends `span_ps`; the share `charged` of it is charged to the process. Returns the end.
    pub fn spend(&mut self, now: Moment, span_ps: f64, charged: f64) -> Moment {
        let charged_ps = (span_ps * charged) as u64;
        let span_ps = span_ps as u64;
        self.charged_ps += charged_ps;
        self.unseen_ps += span_ps - charged_ps;
        let mut first = 0;
        for (place, free) in self.free.iter().enumerate().skip(1) {
            if *free < self.free[first] {
                first = place;
            }
        }
        let end = self.free[first].max(now).after_ps(span_ps);
        self.free[first] = end;
        end
    }

    pub fn time(&self) -> ProcessorTime {
        ProcessorTime { charged_ns: self.charged_ps / PS_PER_NS, unseen_ns: self.unseen_ps / PS_PER_NS }
    }
}

/// The processors and the cost of a transfer under one setting.
#[derive(Debug, Clone)]
pub struct Host {
    pub processors: Processors,
    read: Price,
    write: Price,
    issue_share: f64,
    charged_share: f64,
    lookup_ps: f64,
    unseen_ps: [f64; 2],
    /// Ends of the last read and the last write.
    follows: [u64; 2],
    /// When the last transfer was sent: the driver sends transfers in order, even with several processors.
    sent: Moment,
    pio_ps_per_byte: f64,
}

impl Host {
    pub fn new(host: &Constants, setting: &Setting) -> Self {
        let mut read = Price::of(host.read);
        let mut write = Price::of(host.write);
        if setting.dynamic {
            read = read.plus(Price::of(host.dynamic_read));
            write = write.plus(Price::of(host.dynamic_write));
        }
        match setting.array {
            crate::Array::Separate => {}
            crate::Array::Mirror => {
                read = read.plus(Price::of(host.mirrored_read));
                write = write.plus(Price::of(host.mirrored_write));
            }
            crate::Array::SoftwareStripe | crate::Array::HardwareStripe => {
                read = read.plus(Price::of(host.striped_read));
                write = write.plus(Price::of(host.striped_write));
            }
        }
        let pio = if setting.pio { host.pio_clocks_per_byte.unwrap_or(0.0) } else { 0.0 };
        Self {
            processors: Processors::new(setting.processors.unwrap_or(host.processors)),
            read,
            write,
            issue_share: host.issue_share,
            charged_share: host.charged_share,
            lookup_ps: host.lookup_us * PS_PER_US,
            unseen_ps: [host.unseen_read_us * PS_PER_US, host.unseen_write_us * PS_PER_US],
            follows: [0; 2],
            sent: Moment::default(),
            pio_ps_per_byte: pio / host.clock_mhz * PS_PER_US,
        }
    }

    fn price(&self, operation: Operation) -> Price {
        if operation == Operation::Write { self.write } else { self.read }
    }

    /// Sends a transfer; `charged` says whether a process is charged for it.
    pub fn issue(&mut self, now: Moment, operation: Operation, offset: u64, bytes: u64, charged: bool) -> Moment {
        let follows = &mut self.follows[usize::from(operation == Operation::Write)];
        let lookup_ps = if *follows == offset { 0.0 } else { self.lookup_ps };
        *follows = offset + bytes;
        let span_ps = self.price(operation).ps(bytes) * self.issue_share + lookup_ps;
        self.sent = self.sent.max(self.processors.spend(now, span_ps, self.share(charged)));
        self.sent
    }

    /// Completes a transfer.
    pub fn complete(&mut self, now: Moment, operation: Operation, bytes: u64, charged: bool) -> Moment {
        let span_ps = self.price(operation).ps(bytes) * (1.0 - self.issue_share);
        let end = self.processors.spend(now, span_ps, self.share(charged));
        let unseen_ps = self.unseen_ps[usize::from(operation == Operation::Write)];
        if unseen_ps == 0.0 { end } else { self.processors.spend(end, unseen_ps, 0.0) }
    }

    /// Moves bytes with the processor (PIO) and returns the time in picoseconds; 0 if the adapter moves them.
    pub fn move_bytes(&mut self, now: Moment, bytes: u64) -> u64 {
        if self.pio_ps_per_byte == 0.0 {
            return 0;
        }
        let span_ps = bytes as f64 * self.pio_ps_per_byte;
        self.processors.spend(now, span_ps, self.charged_share);
        span_ps as u64
    }

    fn share(&self, charged: bool) -> f64 {
        if charged { self.charged_share } else { 0.0 }
    }
}
