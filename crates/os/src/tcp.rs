//! Reads the kernel's statistics of a TCP connection (`TCP_INFO`, tcp(7)).

use std::mem::size_of_val;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Bytes requested of the kernel; it returns as many as it knows.
const BYTES: usize = 240;
/// Offsets of the advertised windows; kernels before 5.4 and 6.2 do not report them.
const SEND_WINDOW: usize = 228;
const RECEIVE_WINDOW: usize = 232;
/// `tcpi_state` of an established connection.
const ESTABLISHED: u8 = 1;

/// The kernel's statistics of a connection; counts begin with the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TcpInfo {
    /// Smoothed round-trip time, in nanoseconds.
    pub round_trip_ns: u64,
    /// Shortest round-trip time of the last minutes; 0 if there was none.
    pub least_round_trip_ns: u64,
    /// Bytes that may be in flight before congestion control waits.
    pub congestion_window_bytes: u64,
    /// Receive window that the peer advertises; `None` if the kernel does not report it.
    pub peer_window_bytes: Option<u64>,
    /// Receive window that this side advertises.
    pub own_window_bytes: u64,
    /// Bytes sent and acknowledged.
    pub sent_bytes: u64,
    /// Bytes received.
    pub received_bytes: u64,
    /// Segments sent, including retransmissions.
    pub sent_segments: u64,
    /// Segments retransmitted.
    pub retransmitted_segments: u64,
    /// Rate at which the latest data was delivered, in bytes a second.
    pub delivery_bytes_per_s: u64,
    /// Time that sending waited for the peer's window, in nanoseconds.
    pub window_limited_ns: u64,
}

/// Reads the statistics of the connection behind `socket`; `None` if it is not a TCP connection or has ended, because
/// its statistics say nothing about a connection that replaced it.
pub fn look(socket: BorrowedFd<'_>) -> Option<TcpInfo> {
    let mut answer = [0_u8; BYTES];
    let mut length = size_of_val(&answer) as libc::socklen_t;
    // SAFETY: the descriptor is open as long as it is borrowed; the kernel writes at most `length` bytes to `answer`, which
    // has as many, and says in `length` how many it wrote.
    let status = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            answer.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    (status == 0).then(|| parse(&answer[..(length as usize).min(BYTES)])).flatten()
}

/// Decodes `struct tcp_info` of <linux/tcp.h>, which only grows; `None` for a kernel before 4.9.
fn parse(answer: &[u8]) -> Option<TcpInfo> {
    let short = |at: usize| Some(u64::from(u32::from_ne_bytes(answer.get(at..at + 4)?.try_into().ok()?)));
    let long = |at: usize| Some(u64::from_ne_bytes(answer.get(at..at + 8)?.try_into().ok()?));
    let us = |us: u64| us.saturating_mul(1000);
    if *answer.first()? != ESTABLISHED {
        return None;
    }
    // Without a sample the kernel reports the largest value.
    let least = short(148).map(|us| if us == u64::from(u32::MAX) { 0 } else { us })?;
    Some(TcpInfo {
        round_trip_ns: us(short(68)?),
        least_round_trip_ns: us(least),
        congestion_window_bytes: short(80)? * short(16)?,
        peer_window_bytes: short(SEND_WINDOW),
        own_window_bytes: short(RECEIVE_WINDOW).filter(|bytes| *bytes > 0).or(short(64))?,
        sent_bytes: long(120)?,
        received_bytes: long(128)?,
        sent_segments: short(136)?,
        retransmitted_segments: short(100)?,
        delivery_bytes_per_s: long(160)?,
        window_limited_ns: us(long(176).unwrap_or(0)),
    })
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn a_connection_tells_what_went_over_it() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let mut near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut far = listener.accept().unwrap().0;
        let before = look(near.as_fd()).unwrap();
        let mut answer = [0; 1000];
        for _ in 0..20 {
            near.write_all(&[7; 50_000]).unwrap();
            let mut there = vec![0; 50_000];
            far.read_exact(&mut there).unwrap();
            far.write_all(&answer).unwrap();
            near.read_exact(&mut answer).unwrap();
        }
        let after = look(near.as_fd()).unwrap();
        assert_eq!(after.sent_bytes - before.sent_bytes, 1_000_000, "{after:?}");
        assert_eq!(after.received_bytes - before.received_bytes, 20_000, "{after:?}");
        assert!(after.round_trip_ns > 0 && after.least_round_trip_ns <= after.round_trip_ns, "{after:?}");
        assert!(after.congestion_window_bytes > 1000 && after.own_window_bytes > 1000, "{after:?}");
        assert!(after.delivery_bytes_per_s > 0 && after.sent_segments >= 20, "{after:?}");
        let file = std::fs::File::open("/dev/null").unwrap();
        assert_eq!(look(file.as_fd()), None, "no connection");
        drop(far);
        assert_eq!(near.read(&mut answer).unwrap(), 0);
        assert_eq!(look(near.as_fd()), None, "it is over");
    }

    #[test]
    fn an_older_kernel_tells_less() {
        let whole = [1; BYTES];
        assert!(parse(&whole).unwrap().peer_window_bytes.is_some());
        assert_eq!(parse(&whole[..SEND_WINDOW]).unwrap().peer_window_bytes, None);
        assert_eq!(parse(&whole[..104]), None);
    }
}
