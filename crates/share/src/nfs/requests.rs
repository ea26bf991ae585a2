//! Writes the NFS calls READ, WRITE and COMMIT, and reads their answers.

use super::rpc::{LAST, NFS, answer, call, credential, skip_attributes};
use crate::bytes::Reader;
use crate::protocol::{Answer, Done, Frame, Op, Order, Protocol};

const READ: u32 = 6;
const WRITE: u32 = 7;
const COMMIT: u32 = 21;
const UNSTABLE: u32 = 0;
const FILE_SYNC: u32 = 2;
/// Bytes of the attributes from before a change (size and times), if an answer has them.
const BEFORE: usize = 24;
const EIO: i32 = 5;
/// Length limit of a file handle (RFC 1813).
pub(crate) const MOST_HANDLE: usize = 64;
/// Bytes of a write's offset, count, stability and length.
const WRITE_ARGUMENTS: usize = 20;

/// The NFS protocol of a pipeline.
pub(crate) struct NfsRequests {
    /// Calls up to and including the handle: read, write, flush.
    templates: [Vec<u8>; 3],
    stable: u32,
    slots: u32,
    /// Grows with each call; together with the slot it makes the call's xid.
    serial: u32,
    /// The call in each slot.
    calls: Vec<Option<(u32, Op)>>,
    /// The server's last write verifier; if it changes, the server has lost writes that were not committed.
    verifier: Option<u64>,
}

impl NfsRequests {
    /// Requests to the file with this handle; with `durable`, each write is on the server's disk before it completes.
    ///
    /// # Panics
    /// If the handle is longer than it may be.
    pub fn new(handle: &[u8], durable: bool, slots: u32) -> Self {
        assert!(handle.len() <= MOST_HANDLE, "handles are read within their limit");
        let credential = credential();
        let template = |procedure| {
            let mut message = call(0, NFS, procedure, &credential);
            message.opaque(handle);
            message.0
        };
        Self {
            templates: [template(READ), template(WRITE), template(COMMIT)],
            stable: if durable { FILE_SYNC } else { UNSTABLE },
            slots,
            serial: std::process::id(),
            calls: vec![None; slots as usize],
            verifier: None,
        }
    }

    /// Bytes of a write before its payload.
    pub fn head_bytes(&self) -> usize {
        self.templates[1].len() + WRITE_ARGUMENTS
    }

    /// Reads the result of a call; `None` if it ends too early. `from` gives a reader's position in the message.
    fn result(
        &mut self,
        slot: u32,
        op: Op,
        mut reader: Reader<'_>,
        from: impl Fn(&Reader<'_>) -> usize,
    ) -> Option<Answer> {
        let status = reader.be32()?;
        let done = |result| Some(Answer::Done(Done { slot, result }));
        if status != 0 {
            return done(Err(errno(status)));
        }
        if op == Op::Read {
            skip_attributes(&mut reader)?;
            reader.take(8)?;
            let length = reader.be32()?;
            return Some(Answer::Data { slot, from: from(&reader), length });
        }
        if reader.be32()? != 0 {
            reader.take(BEFORE)?;
        }
        skip_attributes(&mut reader)?;
        let moved = if op == Op::Write {
            let moved = reader.be32()?;
            reader.be32()?;
            moved
        } else {
            0
        };
        let verifier = reader.be64()?;
        let is_another = *self.verifier.get_or_insert(verifier) != verifier;
        self.verifier = Some(verifier);
        done(if is_another && self.stable == UNSTABLE { Err(EIO) } else { Ok(moved) })
    }
}

impl Protocol for NfsRequests {
    fn admits(&self, _order: &Order) -> bool {
        true
    }

    fn write(&mut self, order: &Order, head: &mut [u8]) -> usize {
        self.serial = self.serial.wrapping_add(1) % (u32::MAX / self.slots);
        let xid = self.serial * self.slots + order.slot;
        self.calls[order.slot as usize] = Some((xid, order.op));
        let template = &self.templates[match order.op {
            Op::Read => 0,
            Op::Write => 1,
            Op::Flush => 2,
        }];
        head[..template.len()].copy_from_slice(template);
        head[..4].copy_from_slice(&xid.to_be_bytes());
        let (offset, length) = if order.op == Op::Flush { (0, 0) } else { (order.offset, order.length) };
        let mut rest = &mut head[template.len()..];
        let mut put = |bytes: &[u8]| {
            let (front, behind) = std::mem::take(&mut rest).split_at_mut(bytes.len());
            front.copy_from_slice(bytes);
            rest = behind;
            bytes.len()
        };
        let mut written = template.len() + put(&offset.to_be_bytes()) + put(&length.to_be_bytes());
        if order.op == Op::Write {
            written += put(&self.stable.to_be_bytes()) + put(&length.to_be_bytes());
        }
        written
    }

    fn mark(&self, length: usize) -> Option<u32> {
        Some(LAST | length as u32)
    }

    fn frame(&mut self, there: &[u8]) -> Result<Option<Frame>, String> {
        Frame::marked(there, |mark| {
            if mark & LAST == 0 {
                Err("an answer in several fragments".to_string())
            } else {
                Ok((mark & !LAST) as usize)
            }
        })
    }

    fn read(&mut self, prefix: &[u8], _length: usize) -> Result<Answer, String> {
        let Some((xid, brought)) = answer(prefix) else { return Err("no answer to a call".to_string()) };
        let slot = xid % self.slots;
        let call = self.calls.get_mut(slot as usize).and_then(|call| call.take_if(|(own, _)| *own == xid));
        // A late answer to a call that is no longer in flight.
        let Some((_, op)) = call else { return Ok(Answer::Other) };
        let reader = brought.map_err(|why| format!("a call was not carried out: {why}"))?;
        let from = |reader: &Reader<'_>| prefix.len() - reader.0.len();
        self.result(slot, op, reader, from).ok_or_else(|| "an answer that ends too early".to_string())
    }

    fn padding(&self, length: usize) -> usize {
        length.next_multiple_of(4) - length
    }
}

/// Converts an NFS status to an error number of <errno.h>.
fn errno(status: u32) -> i32 {
    match status {
        69 => 122,
        70 | 10001 => 116,
        10004 => 95,
        10006 => 121,
        10008 => 11,
        status if status < 100 => status as i32,
        _ => EIO,
    }
}
