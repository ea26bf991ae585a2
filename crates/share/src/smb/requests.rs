//! Writes the SMB requests READ, WRITE and FLUSH, and reads their answers.

use super::Dialect;
use super::head::{self, END_OF_FILE, Head, PENDING, SUCCESS, errno};
use super::seal::Keys;
use super::session::{OF_A_CREDIT, Session};
use crate::bytes::Reader;
use crate::channel::Channel;
use crate::protocol::{Answer, Done, Frame, Op, Order, Protocol, Seal};

/// Most credits to ask for beyond what a request takes.
const MORE: u32 = 512;
/// Offset of the data in a write: after its fixed part.
const WRITE_DATA: u16 = (head::BYTES + 48) as u16;
/// Offset at which an answer to a read should have its data; before it lie head and body.
const READ_DATA: u8 = (head::BYTES + 16) as u8;
const WRITE_THROUGH: u32 = 1;

/// The SMB protocol of a pipeline.
pub(crate) struct SmbRequests {
    id: u64,
    tree: u32,
    file: [u8; 16],
    durable: bool,
    has_large: bool,
    charges: bool,
    next: u64,
    /// Free credits, and those that requests in flight have taken.
    credits: u32,
    taken: u32,
    /// The requests in flight: message number, slot, operation, credits.
    in_flight: Vec<(u64, u32, Op, u32)>,
    slots: u32,
    keys: Option<Keys>,
}

impl SmbRequests {
    /// Requests to a file that `session` has opened; with `durable`, each write is on the server's disk before it
    /// completes.
    pub fn over(session: Session, file: [u8; 16], durable: bool, slots: u32) -> (Channel, Self) {
        let Session { channel, id, tree, next, credits, has_large, keys, dialect, .. } = session;
        let charges = dialect > Dialect::Smb202;
        let in_flight = Vec::with_capacity(slots as usize);
        let requests =
            Self { id, tree, file, durable, has_large, charges, next, credits, taken: 0, in_flight, slots, keys };
        (channel, requests)
    }

    fn charge(&self, order: &Order) -> u32 {
        let moves = if order.op == Op::Flush { 0 } else { order.length };
        if self.has_large { moves.div_ceil(OF_A_CREDIT).max(1) } else { 1 }
    }

    /// Reads the result of a request; `None` if it ends too early.
    fn result(&self, slot: u32, op: Op, head: &Head, message: &[u8]) -> Option<Answer> {
        let mut reader = Reader(message.get(head::BYTES..)?);
        let result = match (head.status, op) {
            (SUCCESS, Op::Read) => {
                reader.le16()?;
                let from = usize::from(reader.take(2)?[0]);
                match reader.le32()? {
                    0 => Ok(0),
                    length => return Some(Answer::Data { slot, from, length }),
                }
            }
            (SUCCESS, Op::Write) => {
                reader.le32()?;
                Ok(reader.le32()?)
            }
            (SUCCESS, Op::Flush) | (END_OF_FILE, Op::Read) => Ok(0),
            (status, _) => Err(errno(status)),
        };
        Some(Answer::Done(Done { slot, result }))
    }
}

fn command(op: Op) -> u16 {
    match op {
        Op::Read => head::READ,
        Op::Write => head::WRITE,
        Op::Flush => head::FLUSH,
    }
}

impl Protocol for SmbRequests {
    fn admits(&self, order: &Order) -> bool {
        self.charge(order) <= self.credits
    }

    fn write(&mut self, order: &Order, out: &mut [u8]) -> usize {
        let charge = self.charge(order);
        // Ask for enough credits for all slots and some more; a server grants them over several requests.
        let wanted = (charge * self.slots + 16).saturating_sub(self.credits + self.taken).min(MORE);
        self.credits -= charge;
        self.taken += charge;
        let head = Head {
            command: command(order.op),
            charge: if self.charges { charge as u16 } else { 0 },
            credits: (charge + wanted) as u16,
            message: self.next,
            tree: self.tree,
            session: self.id,
            ..Head::default()
        };
        head.write(out);
        self.in_flight.push((self.next, order.slot, order.op, charge));
        self.next += u64::from(charge);
        let mut at = head::BYTES;
        let mut put = |bytes: &[u8]| {
            out[at..at + bytes.len()].copy_from_slice(bytes);
            at += bytes.len();
        };
        match order.op {
            Op::Read => {
                put(&head::READ_SIZE.to_le_bytes());
                put(&[READ_DATA, 0]);
                put(&order.length.to_le_bytes());
                put(&order.offset.to_le_bytes());
                put(&self.file);
                put(&[0; 17]);
            }
            Op::Write => {
                put(&head::WRITE_SIZE.to_le_bytes());
                put(&WRITE_DATA.to_le_bytes());
                put(&order.length.to_le_bytes());
                put(&order.offset.to_le_bytes());
                put(&self.file);
                put(&[0; 12]);
                put(&(if self.durable { WRITE_THROUGH } else { 0 }).to_le_bytes());
            }
            Op::Flush => {
                put(&head::FLUSH_SIZE.to_le_bytes());
                put(&[0; 6]);
                put(&self.file);
            }
        }
        at
    }

    fn mark(&self, length: usize) -> Option<u32> {
        Some(length as u32)
    }

    fn frame(&mut self, there: &[u8]) -> Result<Option<Frame>, String> {
        Frame::marked(there, |mark| {
            if mark >> 24 == 0 { Ok(mark as usize) } else { Err(format!("{mark:#010x} for a length")) }
        })
    }

    fn read(&mut self, prefix: &[u8], _length: usize) -> Result<Answer, String> {
        let head = Head::read(prefix).ok_or("a message that does not begin as SMB 2 does")?;
        self.credits = self.credits.saturating_add(head.credits.into()).min(u16::MAX.into());
        if head.message == head::UNASKED || head.status == PENDING {
            return Ok(Answer::Other);
        }
        let Some(at) = self.in_flight.iter().position(|(number, ..)| *number == head.message) else {
            return Err("an answer to no request".to_string());
        };
        let (_, slot, op, charge) = self.in_flight.swap_remove(at);
        self.taken -= charge;
        head.answers(command(op), Some(self.id), Some(self.tree))?;
        let answer = self.result(slot, op, &head, prefix).ok_or("an answer that ends too early")?;
        match answer {
            Answer::Data { from, .. } if from < READ_DATA.into() => {
                Err(format!("data from byte {from} on, where its head is"))
            }
            answer => Ok(answer),
        }
    }

    fn seal(&mut self) -> Option<&mut dyn Seal> {
        self.keys.as_mut().map(|keys| keys as &mut dyn Seal)
    }
}
