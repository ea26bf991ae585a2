//! Implements remote procedure calls, one at a time.

use crate::bytes::{Reader, Writer};
use crate::channel::Channel;
use crate::peer::Peer;
use crate::protocol::Outcome;

/// Flag in a record mark: this fragment is the last of its message.
pub(crate) const LAST: u32 = 0x8000_0000;
pub(crate) const NFS: (u32, u32) = (100_003, 3);
pub(crate) const MOUNT: (u32, u32) = (100_005, 3);
const PORTMAP: (u32, u32) = (100_000, 2);
const PORTMAP_PORT: u16 = 111;
const GETPORT: u32 = 3;
const TCP: u32 = 6;
/// Length at which this machine's name is cut.
const MOST_NAME: usize = 64;
/// Length limit of the verifier of an answer (RFC 5531).
const MOST_VERIFIER: usize = 400;

/// Bytes of a file's attributes (RFC 1813).
const ATTRIBUTES: usize = 84;

/// A connection to an RPC program.
pub(crate) struct Program {
    pub channel: Channel,
    program: (u32, u32),
    credential: Vec<u8>,
    xid: u32,
}

/// The credential of every call: user, group and machine (AUTH_SYS, RFC 5531 appendix A), with an empty verifier after
/// it.
pub(crate) fn credential() -> Vec<u8> {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name: Vec<u8> = name.trim().bytes().take(MOST_NAME).collect();
    let mut body = Writer::default();
    body.be32(0);
    body.opaque(&name);
    body.be32(rustix::process::geteuid().as_raw());
    body.be32(rustix::process::getegid().as_raw());
    body.be32(0);
    let mut whole = Writer::default();
    whole.be32(1);
    whole.opaque(&body.0);
    whole.be32(0);
    whole.be32(0);
    whole.0
}

/// The bytes of a call up to its arguments.
pub(crate) fn call(xid: u32, (program, version): (u32, u32), procedure: u32, credential: &[u8]) -> Writer {
    let mut call = Writer::default();
    [xid, 0, 2, program, version, procedure].into_iter().for_each(|word| call.be32(word));
    call.all(credential);
    call
}

/// The xid of an answer, and its result or, in words, why the call was rejected; `None` if the message is not an
/// answer.
pub(crate) fn answer(message: &[u8]) -> Option<(u32, Result<Reader<'_>, String>)> {
    let mut reader = Reader(message);
    let xid = reader.be32()?;
    let direction = reader.be32()?;
    if direction != 1 {
        return None;
    }
    let denied = |why: &str| Some((xid, Err(why.to_string())));
    if reader.be32()? != 0 {
        return denied("it refuses calls of this user or this version of RPC");
    }
    reader.be32()?;
    reader.opaque(MOST_VERIFIER)?;
    match reader.be32()? {
        0 => Some((xid, Ok(reader))),
        1 => denied("it has no such program"),
        2 => denied("it has another version of the program"),
        3 => denied("it has no such procedure"),
        4 => denied("it could not read the call"),
        _ => denied("it had an error of its own"),
    }
}

/// Skips optional attributes.
pub(crate) fn skip_attributes(reader: &mut Reader<'_>) -> Option<()> {
    if reader.be32()? != 0 {
        reader.take(ATTRIBUTES)?;
    }
    Some(())
}

impl Program {
    pub fn over(channel: Channel, program: (u32, u32)) -> Self {
        Self { channel, program, credential: credential(), xid: std::process::id() }
    }

    /// Connects to `program` of the server, at the port that its port mapper names.
    ///
    /// # Errors
    /// If there is no port mapper, or it does not know the program.
    pub fn mapped(peer: &Peer, program: (u32, u32), what: &str) -> Outcome<Self> {
        let mapper = peer.connect(PORTMAP_PORT, false)?;
        let mut mapper = Self::over(mapper, PORTMAP);
        let mut arguments = Writer::default();
        [program.0, program.1, TCP, 0].into_iter().for_each(|word| arguments.be32(word));
        let port = mapper.call(GETPORT, &arguments.0, |reader| reader.be32())?;
        match u16::try_from(port).ok().filter(|port| *port > 0) {
            Some(port) => Ok(Self::over(peer.connect(port, true)?, program)),
            None => Err(peer.refused(format!("the server runs no {what} over TCP; start it there"))),
        }
    }

    /// Calls a procedure and reads its result.
    ///
    /// # Errors
    /// If the connection is lost, the call is rejected or the answer is invalid.
    pub fn call<T>(
        &mut self,
        procedure: u32,
        arguments: &[u8],
        read: impl FnOnce(&mut Reader<'_>) -> Option<T>,
    ) -> Outcome<T> {
        self.xid = self.xid.wrapping_add(1);
        let mut message = call(self.xid, self.program, procedure, &self.credential);
        message.all(arguments);
        let exchange = self.channel.peer.exchange(1);
        self.channel.send(LAST | message.0.len() as u32, &message.0, &exchange)?;
        let (mark, answered) = self.channel.receive(&exchange)?;
        let peer = &self.channel.peer;
        if mark & LAST == 0 {
            return Err(peer.garbage("an answer in several fragments"));
        }
        match answer(&answered) {
            Some((xid, Ok(mut reader))) if xid == self.xid => read(&mut reader)
                .ok_or_else(|| peer.garbage("an answer that ends too early, or a part longer than it may be")),
            Some((xid, Err(why))) if xid == self.xid => {
                Err(peer.refused(format!("the server did not carry out a call: {why}")))
            }
            _ => Err(peer.garbage("an answer to another call")),
        }
    }
}
