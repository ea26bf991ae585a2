//! Defines what a protocol does for requests in flight: it writes their messages and reads the answers.

use crate::channel::Channel;
use crate::error::ShareError;

/// Bytes of a message before its payload, at most: what a slot keeps of its request.
pub(crate) const HEAD_BYTES: usize = 512;
/// Bytes of an answer that are looked at before its payload is taken, where it has so many.
pub(crate) const PREFIX_BYTES: usize = 256;

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
    /// Nothing that concerns a request.
    Other,
}

/// One protocol's side of a pipeline.
pub(crate) trait Protocol: Send {
    /// Whether the order can go out now; if not, an answer has to come first.
    fn admits(&self, order: &Order) -> bool;
    /// Writes the message before its payload into `head`, without the length of four bytes; gives its length.
    fn write(&mut self, order: &Order, head: &mut [u8]) -> usize;
    /// The four bytes before a message of this many bytes.
    fn mark(&self, length: usize) -> u32;
    /// The bytes of a message from the four before it.
    ///
    /// # Errors
    /// Where they are none of this protocol, in a few words.
    fn length(&self, mark: u32) -> Result<usize, String>;
    /// Reads the first bytes of an answer of `length` bytes.
    ///
    /// # Errors
    /// Where they are none of this protocol, in a few words.
    fn read(&mut self, prefix: &[u8], length: usize) -> Result<Answer, String>;
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
    /// The bytes of a request from the four before it.
    fn length(&self, mark: u32) -> usize;
    /// The four bytes before an answer of this many bytes.
    fn mark(&self, length: usize) -> u32;
    /// So many bytes of a request tell all that matters; `None` where it has to be taken whole.
    fn head_bytes(&self) -> Option<usize>;
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
