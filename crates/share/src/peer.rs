//! Describes the server at the other end, its errors, and how long an exchange with it may last.
//!
//! An exchange lasts from the first byte that is sent until the whole answer is there. What the server says meanwhile
//! extends nothing: neither a byte at a time, nor word that the answer takes longer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::error::ShareError;

/// How long an answer may still take once the user has asked to stop.
pub(crate) const AFTER_STOP: Duration = Duration::from_secs(1);
/// Longest wait between two looks at the time and at the user's wish to stop.
const STEP: Duration = Duration::from_millis(100);

/// The other end of a connection.
#[derive(Debug, Clone)]
pub(crate) struct Peer {
    /// The share's address, as errors show it.
    pub address: Arc<str>,
    pub host: Arc<str>,
    pub protocol: &'static str,
    /// How long the whole answer to a request may take.
    pub timeout: Duration,
    /// Whether the user has asked to stop.
    pub stop: Arc<AtomicBool>,
}

/// An exchange that has begun.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Exchange {
    began: Instant,
    allowed: Duration,
}

impl Peer {
    pub fn refused(&self, what: impl Into<String>) -> ShareError {
        ShareError::refused(&self.address, what)
    }

    pub fn garbage(&self, what: impl Into<String>) -> ShareError {
        ShareError::Garbage { address: self.address.to_string(), protocol: self.protocol, what: what.into() }
    }

    pub fn silent(&self, allowed: Duration) -> ShareError {
        ShareError::Silent { address: self.address.to_string(), seconds: allowed.as_secs_f64() }
    }

    pub fn lost(&self, error: std::io::Error) -> ShareError {
        ShareError::Lost { address: self.address.to_string(), error }
    }

    /// Begins an exchange whose answer may take this many timeouts.
    pub fn exchange(&self, timeouts: u32) -> Exchange {
        Exchange { began: Instant::now(), allowed: self.timeout.saturating_mul(timeouts) }
    }

    /// Checks that an exchange may last longer.
    ///
    /// # Errors
    /// If its time is over, or the user has asked to stop.
    pub fn goes_on(&self, exchange: &Exchange) -> Result<(), ShareError> {
        let lasted = exchange.began.elapsed();
        if lasted >= exchange.allowed {
            return Err(self.silent(exchange.allowed));
        }
        if lasted >= AFTER_STOP && self.is_stopped() { Err(ShareError::Interrupted) } else { Ok(()) }
    }

    /// Time until an exchange must be looked at again.
    pub fn step(&self, exchange: &Exchange) -> Duration {
        exchange.allowed.saturating_sub(exchange.began.elapsed()).min(STEP)
    }

    /// Whether the user has asked to stop.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// The same server for a clean-up: a wish to stop that came before does not keep us from it, and one that comes
    /// later ends it.
    pub fn for_clean_up(&self) -> Self {
        let stop = if self.is_stopped() { Arc::new(AtomicBool::new(false)) } else { Arc::clone(&self.stop) };
        Self { stop, ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(timeout: Duration, stopped: bool) -> Peer {
        let stop = Arc::new(AtomicBool::new(stopped));
        Peer { address: "nfs://test".into(), host: "test".into(), protocol: "NFS", timeout, stop }
    }

    #[test]
    fn an_exchange_ends_with_its_time_or_with_the_wish_to_stop() {
        let began = Instant::now().checked_sub(AFTER_STOP).expect("the machine runs longer");
        let of = |peer: &Peer| Exchange { began, ..peer.exchange(1) };
        let said = |timeout, stopped| {
            let peer = peer(timeout, stopped);
            peer.goes_on(&of(&peer)).err().map(|error| error.to_string())
        };
        assert_eq!(said(Duration::from_secs(60), false), None);
        assert_eq!(said(Duration::from_secs(60), true).as_deref(), Some("interrupted"));
        assert!(said(Duration::from_millis(500), false).unwrap().contains("has not answered"));
    }

    #[test]
    fn a_clean_up_follows_a_stop_and_ends_with_another_wish() {
        let long = Duration::from_secs(60);
        let clean_up = peer(long, true).for_clean_up();
        assert!(!clean_up.is_stopped());
        let running = peer(long, false);
        let clean_up = running.for_clean_up();
        running.stop.store(true, Ordering::Relaxed);
        assert!(clean_up.is_stopped());
    }
}
