//! Receives answers without blocking; their payload goes from the socket straight to the caller's buffers.

use std::io::{ErrorKind, Read};

use crate::channel::Wire;
use crate::chunks::Chunks;
use crate::protocol::{Answer, Done, Frame, PREFIX_BYTES, Protocol, SlotBytes};

/// Size of the buffer if slots are short: one read takes many answers.
const MANY: usize = 64 << 10;
/// Size of the buffer if slots are long: most of a payload should be read straight into its slot.
const FEW: usize = 512;
/// Slot size from which a slot counts as long.
const LONG: u32 = 16 << 10;
/// Length limit of a message that is collected whole.
const MOST_WHOLE: usize = 16 << 20;
/// Length limit of a message that is received in parts.
const MOST_BYTES: usize = 65 << 20;
/// Length limit of a payload that is skipped in chunks.
const MOST_SKIPPED: usize = 16 << 20;
/// Most bytes of messages one after the other that complete no request, such as word that an answer takes longer.
const MOST_IDLE: usize = MOST_BYTES;

/// The receiving side of a connection.
pub(crate) struct Inbox {
    buffer: Box<[u8]>,
    begin: usize,
    end: usize,
    state: State,
    /// Bytes of messages since the last one that completed a request.
    idle: usize,
}

enum State {
    /// The next byte is the first of a message.
    Between,
    /// The payload goes to a slot: `there` bytes have come, `missing` have not, and `after` bytes follow that are
    /// skipped.
    Carrying { slot: u32, there: usize, missing: usize, after: usize },
    /// This many bytes are skipped.
    Skipping(usize),
    /// The payload comes in chunks and is skipped, this many bytes so far; then this request is done.
    Chunked(Chunks, Done, usize),
    /// The message is collected whole, because it is signed or encrypted.
    Gathering { message: Vec<u8>, length: usize },
}

/// Why answers cannot be received.
pub(crate) enum ReceiveError {
    Lost(std::io::Error),
    Garbage(String),
}

impl Inbox {
    /// For slots of `slot_bytes` bytes.
    pub fn new(slot_bytes: u32, protocol: &dyn Protocol) -> Self {
        let least = protocol.least_bytes();
        let bytes = match slot_bytes {
            LONG.. => FEW.max(least),
            // Only one answer comes at a time.
            short if protocol.most_in_flight() == 1 => least + short as usize,
            _ => MANY.max(least),
        };
        Self { buffer: vec![0; bytes].into(), begin: 0, end: 0, state: State::Between, idle: 0 }
    }

    /// Whether no message is partly received.
    pub fn is_between(&self) -> bool {
        self.begin == self.end && matches!(self.state, State::Between | State::Skipping(0))
    }

    /// Discards what was received on a lost connection.
    pub fn clear(&mut self) {
        (self.begin, self.end, self.state, self.idle) = (0, 0, State::Between, 0);
    }

    /// Receives what has come, and calls `done` for each request that this completes.
    ///
    /// # Errors
    /// If the connection is lost, or the data violates the protocol.
    pub fn receive(
        &mut self,
        stream: &mut Wire,
        protocol: &mut dyn Protocol,
        slots: &mut dyn SlotBytes,
        expected: &dyn Fn(u32) -> u32,
        done: &mut dyn FnMut(Done),
    ) -> Result<(), ReceiveError> {
        loop {
            let room = match &mut self.state {
                State::Carrying { slot, there, missing, .. } if self.begin == self.end => {
                    &mut slots.incoming(*slot)[*there..*there + *missing]
                }
                _ => {
                    self.buffer.copy_within(self.begin..self.end, 0);
                    (self.begin, self.end) = (0, self.end - self.begin);
                    &mut self.buffer[self.end..]
                }
            };
            let wanted = room.len();
            let came = match stream.read(room) {
                Ok(0) => return Err(ReceiveError::Lost(ErrorKind::UnexpectedEof.into())),
                Ok(came) => came,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(ReceiveError::Lost(error)),
            };
            match &mut self.state {
                State::Carrying { there, missing, .. } if self.begin == self.end => {
                    (*there, *missing) = (*there + came, *missing - came);
                }
                _ => self.end += came,
            }
            while self.step(protocol, slots, expected, done).map_err(ReceiveError::Garbage)? {}
            if came < wanted && stream.is_read_whole() {
                return Ok(());
            }
        }
    }

    /// Processes the buffered bytes by one step; returns whether there may be another.
    fn step(
        &mut self,
        protocol: &mut dyn Protocol,
        slots: &mut dyn SlotBytes,
        expected: &dyn Fn(u32) -> u32,
        done: &mut dyn FnMut(Done),
    ) -> Result<bool, String> {
        let there = &self.buffer[self.begin..self.end];
        match &mut self.state {
            State::Between => return self.begin_message(protocol, expected, done),
            State::Skipping(left) => {
                let gone = (*left).min(there.len());
                (self.begin, *left) = (self.begin + gone, *left - gone);
                if *left > 0 {
                    return Ok(false);
                }
                self.state = State::Between;
            }
            State::Carrying { slot, there: filled, missing, after } => {
                let part = (*missing).min(there.len());
                slots.incoming(*slot)[*filled..*filled + part].copy_from_slice(&there[..part]);
                (self.begin, *filled, *missing) = (self.begin + part, *filled + part, *missing - part);
                if *missing > 0 {
                    return Ok(false);
                }
                done(Done { slot: *slot, result: Ok(*filled as u32) });
                self.state = State::Skipping(*after);
            }
            State::Chunked(chunks, ended, skipped) => {
                let (gone, is_over) = chunks.take(there, &mut |_| {})?;
                self.begin += gone;
                *skipped += gone;
                if *skipped > MOST_SKIPPED {
                    return Err("an answer that does not end".to_string());
                }
                if !is_over {
                    return Ok(false);
                }
                checked(ended, expected)?;
                done(*ended);
                self.state = State::Between;
            }
            State::Gathering { message, length } => {
                let part = (*length - message.len()).min(there.len());
                message.extend_from_slice(&there[..part]);
                self.begin += part;
                if message.len() < *length {
                    return Ok(false);
                }
                let mut message = std::mem::take(message);
                self.state = State::Between;
                let length = message.len();
                idles(&mut self.idle, &opened(&mut message, protocol, slots, expected, done)?, length)?;
            }
        }
        Ok(true)
    }

    /// Reads the beginning of a message, once enough of it is there.
    fn begin_message(
        &mut self,
        protocol: &mut dyn Protocol,
        expected: &dyn Fn(u32) -> u32,
        done: &mut dyn FnMut(Done),
    ) -> Result<bool, String> {
        let there = &self.buffer[self.begin..self.end];
        let Some(Frame { before, prefix, length }) = protocol.frame(there)? else {
            let is_full = there.len() == self.buffer.len();
            return if is_full { Err("a head that does not end".to_string()) } else { Ok(false) };
        };
        if length > if protocol.seal().is_some() { MOST_WHOLE } else { MOST_BYTES } {
            return Err(format!("a message of {length} bytes"));
        }
        if protocol.seal().is_some() {
            self.begin += before;
            self.state = State::Gathering { message: Vec::with_capacity(length), length };
            return Ok(true);
        }
        let Some(begun) = there.get(before..before + prefix) else { return Ok(false) };
        let answer = protocol.read(begun, length)?;
        self.begin += before;
        idles(&mut self.idle, &answer, length)?;
        self.state = match answer {
            Answer::Other => State::Skipping(length),
            Answer::Done(ended) => {
                checked(&ended, expected)?;
                done(ended);
                State::Skipping(length)
            }
            Answer::Chunked(ended) => {
                self.begin += length;
                State::Chunked(Chunks::default(), ended, 0)
            }
            Answer::Data { slot, from, length: carried } => {
                carries(from, carried as usize, length, expected(slot))?;
                // The data must begin within the prefix, or right after it.
                if from > prefix {
                    return Err("data that begin too late".to_string());
                }
                self.begin += from;
                let missing = carried as usize;
                let after = length - from - carried as usize;
                State::Carrying { slot, there: 0, missing, after }
            }
        };
        Ok(true)
    }
}

/// Counts the bytes of messages that complete no request.
fn idles(idle: &mut usize, answer: &Answer, length: usize) -> Result<(), String> {
    *idle = if *answer == Answer::Other { *idle + length } else { 0 };
    if *idle > MOST_IDLE { Err(format!("{idle} bytes that answer nothing")) } else { Ok(()) }
}

/// Reads a signed or encrypted message; returns what it said.
fn opened(
    message: &mut Vec<u8>,
    protocol: &mut dyn Protocol,
    slots: &mut dyn SlotBytes,
    expected: &dyn Fn(u32) -> u32,
    done: &mut dyn FnMut(Done),
) -> Result<Answer, String> {
    if let Some(seal) = protocol.seal() {
        seal.open(message)?;
    }
    let answer = protocol.read(&message[..message.len().min(PREFIX_BYTES)], message.len())?;
    match answer {
        Answer::Other => {}
        Answer::Done(ended) | Answer::Chunked(ended) => {
            checked(&ended, expected)?;
            done(ended);
        }
        Answer::Data { slot, from, length } => {
            carries(from, length as usize, message.len(), expected(slot))?;
            let data = &message[from..from + length as usize];
            slots.incoming(slot)[..data.len()].copy_from_slice(data);
            done(Done { slot, result: Ok(length) });
        }
    }
    Ok(answer)
}

/// Refuses an answer that claims to have moved more bytes than the request asked for.
fn checked(ended: &Done, expected: &dyn Fn(u32) -> u32) -> Result<(), String> {
    match ended.result {
        Ok(moved) if moved > expected(ended.slot) => Err(format!("{moved} bytes for a request of fewer")),
        _ => Ok(()),
    }
}

/// Refuses data that do not fit in their message, or are more than the request asked for.
fn carries(from: usize, carried: usize, length: usize, expected: u32) -> Result<(), String> {
    let fits = from.checked_add(carried).is_some_and(|end| end <= length);
    if fits && carried <= expected as usize { Ok(()) } else { Err(format!("{carried} bytes of data in {length}")) }
}
