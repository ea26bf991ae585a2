//! Defines the interface of a protocol: it writes the messages of requests and reads the answers.

use crate::channel::Channel;
use crate::error::ShareError;

/// Most bytes of a message before its payload, in protocols that put four bytes of length before it.
pub(crate) const HEAD_BYTES: usize = 512;
/// Bytes of an answer that are read before its payload is received; fewer if the answer is shorter.
pub(crate) const PREFIX_BYTES: usize = 256;
/// Bytes of the length before a message.
pub(crate) const MARK_BYTES: usize = 4;

/// What a request does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// Fill the slot from the file.
    Read,
    /// Write the slot to the file.
    Write,
    /// Make everything that was written durable.
    Flush,
}

/// A request in a free slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Order {
    /// The slot whose bytes it moves.
    pub slot: u32,
    /// What it does.
    pub op: Op,
    /// Offset of the first byte in the file.
    pub offset: u64,
    /// Length in bytes; ignored for a flush.
    pub length: u32,
}

/// The outcome of a request: bytes moved, or an error number of <errno.h>.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Done {
    /// The slot, which is free again.
    pub slot: u32,
    /// Bytes moved, or the error number.
    pub result: Result<u32, i32>,
}

/// The buffers of slots, which belong to the caller.
pub trait SlotBytes {
    /// The buffer that a read fills.
    fn incoming(&mut self, slot: u32) -> &mut [u8];
    /// The payload of a write; it must not change until the write is done.
    fn outgoing(&self, slot: u32) -> &[u8];
}

/// Most bytes that one request can move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Of a read.
    pub read_bytes: u32,
    /// Of a write.
    pub write_bytes: u32,
}

/// What the first bytes of an answer say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The request of this slot is done.
    Done(Done),
    /// The request of this slot is done once `length` bytes, from byte `from` of the message on, are in its slot.
    Data { slot: u32, from: usize, length: u32 },
    /// The request of this slot is done; the answer's payload follows the frame in HTTP chunks.
    Chunked(Done),
    /// The message does not complete a request.
    Other,
}

/// The extent of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Frame {
    /// Bytes before the message, which do not belong to it.
    pub before: usize,
    /// Bytes of it that must be there before it can be read.
    pub prefix: usize,
    /// Length of the whole message, without the chunks of an [`Answer::Chunked`].
    pub length: usize,
}

impl Frame {
    /// The frame of a message with four bytes of length before it, which `length` decodes; `None` if they are not there
    /// yet.
    ///
    /// # Errors
    /// If the length is invalid, in a few words.
    pub fn marked(there: &[u8], length: impl FnOnce(u32) -> Result<usize, String>) -> Result<Option<Self>, String> {
        let Some(mark) = there.first_chunk() else { return Ok(None) };
        let length = length(u32::from_be_bytes(*mark))?;
        Ok(Some(Self { before: mark.len(), prefix: length.min(PREFIX_BYTES), length }))
    }
}

/// The protocol of a pipeline.
pub(crate) trait Protocol: Send {
    /// Most bytes of a message before its payload.
    fn head_bytes(&self) -> usize {
        HEAD_BYTES
    }
    /// Most bytes of a message that may be needed before its length is known.
    fn least_bytes(&self) -> usize {
        MARK_BYTES + PREFIX_BYTES
    }
    /// Most requests in flight on a connection.
    fn most_in_flight(&self) -> usize {
        usize::MAX
    }
    /// Whether the order can be sent now; if not, an answer must come first.
    fn admits(&self, order: &Order) -> bool;
    /// Writes the part of the message before its payload into `head`, without the [`Self::mark`]; returns its length.
    fn write(&mut self, order: &Order, head: &mut [u8]) -> usize;
    /// The four bytes before a message of this many bytes; `None` for self-delimiting messages.
    fn mark(&self, length: usize) -> Option<u32>;
    /// The extent of the message that begins with these bytes; `None` if there are too few bytes yet.
    ///
    /// # Errors
    /// If they violate the protocol, in a few words.
    fn frame(&mut self, there: &[u8]) -> Result<Option<Frame>, String>;
    /// Reads the first bytes of an answer of `length` bytes.
    ///
    /// # Errors
    /// If they violate the protocol, in a few words.
    fn read(&mut self, prefix: &[u8], length: usize) -> Result<Answer, String>;
    /// Whether the connection must be replaced before the next request.
    fn is_spent(&self) -> bool {
        false
    }
    /// Whether a connection that the server closes between two answers may be replaced.
    fn can_renew(&self) -> bool {
        false
    }
    /// Opens the replacement; the caller writes unanswered requests again.
    ///
    /// # Errors
    /// If the server accepts no further connection.
    fn renewed(&mut self) -> Outcome<Channel> {
        unreachable!("only a protocol that can renew is asked to")
    }
    /// Number of zeros after a payload of this many bytes.
    fn padding(&self, _length: usize) -> usize {
        0
    }
    /// What signs or encrypts messages; `None` if they are sent plain.
    fn seal(&mut self) -> Option<&mut dyn Seal> {
        None
    }
}

/// Signs or encrypts whole messages.
pub(crate) trait Seal {
    /// Signs or encrypts a message to send.
    ///
    /// # Errors
    /// If that fails, in a few words.
    fn close(&mut self, message: &mut Vec<u8>) -> Result<(), String>;
    /// Verifies or decrypts a received message.
    ///
    /// # Errors
    /// If it is not authentic, in a few words.
    fn open(&mut self, message: &mut Vec<u8>) -> Result<(), String>;
}

/// The payload that a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Asked {
    /// Payload bytes of the answer.
    pub carried: usize,
    /// Number of zeros after them.
    pub padding: usize,
}

/// The server's side of a protocol in a rehearsal: answers from memory.
pub(crate) trait Answers: Send {
    /// The extent of the request that begins with these bytes; `None` if there are too few bytes yet. The prefix holds
    /// all that [`Self::answer`] needs.
    ///
    /// # Errors
    /// If they violate the protocol.
    fn frame(&self, there: &[u8]) -> Result<Option<Frame>, String>;
    /// The four bytes before an answer of this many bytes; `None` for self-delimiting answers.
    fn mark(&self, length: usize) -> Option<u32>;
    /// Decrypts a request.
    ///
    /// # Errors
    /// If it is not authentic.
    fn open(&mut self, message: &mut Vec<u8>) -> Result<(), String>;
    /// Appends the answer without its payload to `out`; `None` if the request is invalid.
    fn answer(&mut self, request: &[u8], out: &mut Vec<u8>) -> Option<Asked>;
    /// Whether answers are encrypted before they are sent.
    fn seals(&self) -> bool;
    /// Encrypts an answer.
    ///
    /// # Errors
    /// If that fails.
    fn close(&mut self, message: &mut Vec<u8>) -> Result<(), String>;
}

/// A connection on which the file is open, and its protocol.
pub(crate) struct Opened {
    pub channel: Channel,
    pub protocol: Box<dyn Protocol>,
}

/// The result of an exchange with a server.
pub(crate) type Outcome<T> = Result<T, ShareError>;
