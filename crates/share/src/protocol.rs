//! Defines what a protocol does for requests in flight: it writes their messages and reads the answers.

use crate::channel::Channel;
use crate::error::ShareError;

/// Bytes of a message before its payload, at most, where four bytes of length stand before it.
pub(crate) const HEAD_BYTES: usize = 512;
/// Bytes of an answer that are looked at before its payload is taken, where it has so many.
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

/// A request for a slot that is free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Order {
    /// Whose bytes.
    pub slot: u32,
    /// What is done.
    pub op: Op,
    /// First byte of the file.
    pub offset: u64,
    /// Bytes; of a flush without meaning.
    pub length: u32,
}

/// What became of a request: bytes moved, or the number of an error as <errno.h> has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Done {
    /// The slot that is free again.
    pub slot: u32,
    /// Bytes, or the error.
    pub result: Result<u32, i32>,
}

/// The bytes of slots, which belong to whoever issues requests.
pub trait SlotBytes {
    /// Where what is read goes.
    fn incoming(&mut self, slot: u32) -> &mut [u8];
    /// What a write carries; the same until it is done.
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

/// An answer, as far as its first bytes tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The request of this slot is done.
    Done(Done),
    /// The request of this slot is done when this many bytes, from this byte of the message on, are in its slot.
    Data { slot: u32, from: usize, length: u32 },
    /// The request of this slot is done, and what the answer carries comes in chunks of HTTP behind the frame.
    Chunked(Done),
    /// Nothing that concerns a request.
    Other,
}

/// How far a message goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Frame {
    /// Bytes before the message, which are no part of it.
    pub before: usize,
    /// Bytes of it that have to be there before it is read.
    pub prefix: usize,
    /// Bytes of all of it, but for those of an [`Answer::Chunked`].
    pub length: usize,
}

impl Frame {
    /// Of a message with its length in four bytes before it, as `length` reads them; `None` where these are not there yet.
    ///
    /// # Errors
    /// Where they are no length, in a few words.
    pub fn marked(there: &[u8], length: impl FnOnce(u32) -> Result<usize, String>) -> Result<Option<Self>, String> {
        let Some(mark) = there.first_chunk() else { return Ok(None) };
        let length = length(u32::from_be_bytes(*mark))?;
        Ok(Some(Self { before: mark.len(), prefix: length.min(PREFIX_BYTES), length }))
    }
}

/// One protocol's side of a pipeline.
pub(crate) trait Protocol: Send {
    /// Bytes of a message before its payload, at most.
    fn head_bytes(&self) -> usize {
        HEAD_BYTES
    }
    /// Bytes from the first of a message that may have to be there before it is known how far it goes.
    fn least_bytes(&self) -> usize {
        MARK_BYTES + PREFIX_BYTES
    }
    /// Most requests in flight on a connection.
    fn most_in_flight(&self) -> usize {
        usize::MAX
    }
    /// Whether the order can go out now; if not, an answer has to come first.
    fn admits(&self, order: &Order) -> bool;
    /// Writes the message before its payload into `head`, without what [`Self::mark`] gives; gives its length.
    fn write(&mut self, order: &Order, head: &mut [u8]) -> usize;
    /// The four bytes before a message of this many bytes; `None` where messages say themselves how far they go.
    fn mark(&self, length: usize) -> Option<u32>;
    /// How far the message goes that begins with these bytes; `None` where they do not tell yet.
    ///
    /// # Errors
    /// Where they are none of this protocol, in a few words.
    fn frame(&mut self, there: &[u8]) -> Result<Option<Frame>, String>;
    /// Reads the first bytes of an answer of `length` bytes.
    ///
    /// # Errors
    /// Where they are none of this protocol, in a few words.
    fn read(&mut self, prefix: &[u8], length: usize) -> Result<Answer, String>;
    /// Whether the connection has to be replaced before it carries another request.
    fn is_spent(&self) -> bool {
        false
    }
    /// Whether servers may end a connection between two answers, and another one goes on.
    fn can_renew(&self) -> bool {
        false
    }
    /// That one; requests that were not answered are written again.
    ///
    /// # Errors
    /// Where the server takes no further one.
    fn renewed(&mut self) -> Outcome<Channel> {
        unreachable!("only a protocol that can renew is asked to")
    }
    /// Zeros after a payload of this many bytes.
    fn padding(&self, _length: usize) -> usize {
        0
    }
    /// What signs or encrypts messages; `None` where they go as they are.
    fn seal(&mut self) -> Option<&mut dyn Seal> {
        None
    }
}

/// Signs or encrypts whole messages.
pub(crate) trait Seal {
    /// Changes a message so that it can go out.
    ///
    /// # Errors
    /// Where that fails, in a few words.
    fn close(&mut self, message: &mut Vec<u8>) -> Result<(), String>;
    /// Checks a message that came in and makes it plain.
    ///
    /// # Errors
    /// Where it is not from the server, in a few words.
    fn open(&mut self, message: &mut Vec<u8>) -> Result<(), String>;
}

/// What a request asks for, beside the answer's head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Asked {
    /// Bytes that the answer carries.
    pub carried: usize,
    /// Zeros after them.
    pub padding: usize,
}

/// A server's side of one protocol: answers from memory.
pub(crate) trait Answers: Send {
    /// How far the request goes that begins with these bytes; its prefix tells all that matters, where it has not to be
    /// taken whole. `None` where they do not tell yet.
    ///
    /// # Errors
    /// Where they are none.
    fn frame(&self, there: &[u8]) -> Result<Option<Frame>, String>;
    /// The four bytes before an answer of this many bytes; `None` where answers say themselves how far they go.
    fn mark(&self, length: usize) -> Option<u32>;
    /// Makes a request plain that was taken whole.
    ///
    /// # Errors
    /// Where it is none of the client's.
    fn open(&mut self, message: &mut Vec<u8>) -> Result<(), String>;
    /// Appends the answer to `out`, but for what it carries; `None` where there is none.
    fn answer(&mut self, request: &[u8], out: &mut Vec<u8>) -> Option<Asked>;
    /// Whether answers are changed as a whole before they go out.
    fn seals(&self) -> bool;
    /// Changes one.
    ///
    /// # Errors
    /// Where that fails.
    fn close(&mut self, message: &mut Vec<u8>) -> Result<(), String>;
}

/// What a pipeline is opened with, once the server knows the file.
pub(crate) struct Opened {
    pub channel: Channel,
    pub protocol: Box<dyn Protocol>,
}

/// The outcome of talking to a server.
pub(crate) type Outcome<T> = Result<T, ShareError>;
