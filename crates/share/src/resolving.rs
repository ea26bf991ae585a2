//! Finds the network addresses of a server's name, within the time of an exchange.
//!
//! The system's own look-up can be neither interrupted nor limited (`getaddrinfo`), so a thread waits for it.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;

use crate::error::ShareError;
use crate::peer::Peer;

impl Peer {
    /// The network addresses of `host`, with this port. A host that is an address itself is not looked up.
    ///
    /// # Errors
    /// If nobody knows the name, no answer comes within the timeout, or the user has asked to stop.
    pub fn addresses(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, ShareError> {
        match host.parse::<IpAddr>() {
            Ok(address) => Ok(vec![(address, port).into()]),
            Err(_) => self.looked_up(host, port, by_system),
        }
    }

    /// What `look_up` finds, which may take without end: then it is left to its thread.
    fn looked_up(
        &self,
        host: &str,
        port: u16,
        look_up: impl FnOnce(&str, u16) -> io::Result<Vec<SocketAddr>> + Send + 'static,
    ) -> Result<Vec<SocketAddr>, ShareError> {
        let unknown =
            |error: &io::Error| self.refused(format!("the server {host} cannot be found ({error}); look at its name"));
        let exchange = self.exchange(1);
        let (sends, finds) = sync_channel(1);
        let name = host.to_string();
        let thread = thread::Builder::new().name("look-up".to_string());
        let looking = thread.spawn(move || drop(sends.send(look_up(&name, port))));
        looking.map_err(|error| unknown(&error))?;
        loop {
            match finds.recv_timeout(self.step(&exchange)) {
                Ok(found) => return found.map_err(|error| unknown(&error)),
                Err(RecvTimeoutError::Disconnected) => return Err(unknown(&ErrorKind::Other.into())),
                Err(RecvTimeoutError::Timeout) => {}
            }
            match self.goes_on(&exchange) {
                Ok(()) => {}
                Err(ShareError::Silent { seconds, .. }) => {
                    return Err(self.refused(format!(
                        "nobody has told the address of the server {host} for {seconds} s; look at this machine's name \
                         servers (/etc/resolv.conf), or name the server by its address"
                    )));
                }
                Err(stopped) => return Err(stopped),
            }
        }
    }
}

fn by_system(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    Ok((host, port).to_socket_addrs()?.collect())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;
    use std::time::Duration;

    use super::*;

    fn peer(timeout: Duration, stopped: bool) -> Peer {
        let stop = Arc::new(AtomicBool::new(stopped));
        Peer { address: "smb://nas/data".into(), host: "nas".into(), protocol: "SMB", timeout, stop }
    }

    /// A name server that never answers.
    fn hangs(_: &str, _: u16) -> io::Result<Vec<SocketAddr>> {
        loop {
            thread::park();
        }
    }

    #[test]
    fn a_name_server_that_does_not_answer_ends_with_the_timeout_or_with_the_wish_to_stop() {
        let said = |timeout, stopped| peer(timeout, stopped).looked_up("nas", 445, hangs).unwrap_err().to_string();
        let late = said(Duration::from_millis(50), false);
        assert!(late.contains("smb://nas/data: nobody has told") && late.contains("for 0.05 s"), "{late}");
        assert_eq!(said(Duration::from_secs(600), true), "interrupted");
    }

    #[test]
    fn what_is_found_comes_back_and_what_is_unknown_is_said() {
        let patient = peer(Duration::from_secs(60), false);
        let home: SocketAddr = ([127, 0, 0, 1], 445).into();
        assert_eq!(patient.looked_up("nas", 445, move |_, _| Ok(vec![home])).unwrap(), [home]);
        assert_eq!(patient.addresses("127.0.0.1", 445).unwrap(), [home]);
        assert_eq!(patient.addresses("::1", 445).unwrap()[0].to_string(), "[::1]:445");
        let unknown = patient.looked_up("nas", 445, |_, _| Err(io::Error::other("no such name"))).unwrap_err();
        assert!(unknown.to_string().contains("the server nas cannot be found (no such name)"), "{unknown}");
        let died = patient.looked_up("nas", 445, |_, _| panic!("of a look-up")).unwrap_err();
        assert!(died.to_string().contains("cannot be found"), "{died}");
    }
}
