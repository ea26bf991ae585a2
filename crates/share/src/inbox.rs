//! Receives answers without waiting: what they carry goes from the socket to the caller's buffers.

use std::io::{ErrorKind, Read};

use crate::chunks::Chunks;
use crate::protocol::{Answer, Done, Frame, PREFIX_BYTES, Protocol, SlotBytes};
use crate::wire::Wire;

/// Bytes that are taken at a time where many answers are short.
const MANY: usize = 64 << 10;
/// Bytes that are taken at a time where what they carry is long: it should go to its slot at once.
const FEW: usize = 512;
/// A slot from which on what answers carry is long.
const LONG: u32 = 16 << 10;
/// Longest message that is taken whole.
const MOST_WHOLE: usize = 16 << 20;
/// Longest message that is taken in parts.
const MOST_BYTES: usize = 65 << 20;

/// Answers on their way in.
pub(crate) struct Inbox {
    buffer: Box<[u8]>,
    begin: usize,
    end: usize,
    state: State,
}

enum State {
    /// The next byte is the first of a message.
    Between,
    /// What the message carries goes to a slot: so much is there, so much is not, and so much follows that nobody wants.
    Carrying { slot: u32, there: usize, missing: usize, after: usize },
    /// So many bytes are of no concern.
    Skipping(usize),
    /// What the message carries comes in chunks, and is of no concern; then this is done.
    Chunked(Chunks, Done),
    /// The message is taken whole, since it is sealed.
    Gathering { message: Vec<u8>, length: usize },
}

/// What keeps answers from being received.
pub(crate) enum Trouble {
    Lost(std::io::Error),
    Garbage(String),
}

impl Inbox {
    /// For slots of so many bytes.
    pub fn new(slot_bytes: u32, protocol: &dyn Protocol) -> Self {
        let least = protocol.least_bytes();
        let bytes = match slot_bytes {
            LONG.. => FEW.max(least),
            // Never more than one answer comes.
            short if protocol.most_in_flight() == 1 => least + short as usize,
            _ => MANY.max(least),
        };
        Self { buffer: vec![0; bytes].into(), begin: 0, end: 0, state: State::Between }
    }

    /// Whether nothing has come of a message that has not ended.
    pub fn is_between(&self) -> bool {
        self.begin == self.end && matches!(self.state, State::Between | State::Skipping(0))
    }

    /// Forgets what has come, since its connection is gone.
    pub fn clear(&mut self) {
        (self.begin, self.end, self.state) = (0, 0, State::Between);
    }

    /// Takes what has come, and tells `done` which requests that ends; gives whether there was anything.
    ///
    /// # Errors
    /// Where the connection is lost, or what comes is not of the protocol.
    pub fn receive(
        &mut self,
        stream: &mut Wire,
        protocol: &mut dyn Protocol,
        slots: &mut dyn SlotBytes,
        expected: &dyn Fn(u32) -> u32,
        done: &mut dyn FnMut(Done),
    ) -> Result<bool, Trouble> {
        let mut anything = false;
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
                Ok(0) => return Err(Trouble::Lost(ErrorKind::UnexpectedEof.into())),
                Ok(came) => came,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(anything),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(Trouble::Lost(error)),
            };
            anything = true;
            match &mut self.state {
                State::Carrying { there, missing, .. } if self.begin == self.end => {
                    (*there, *missing) = (*there + came, *missing - came);
                }
                _ => self.end += came,
            }
            while self.step(protocol, slots, expected, done).map_err(Trouble::Garbage)? {}
            if came < wanted && stream.is_read_whole() {
                return Ok(true);
            }
        }
    }

    /// Goes on with what is there; gives whether that was anything.
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
            State::Chunked(chunks, ended) => {
                let (gone, is_over) = chunks.take(there, &mut |_| {})?;
                self.begin += gone;
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
                opened(&mut message, protocol, slots, expected, done)?;
            }
        }
        Ok(true)
    }

    /// Looks at the beginning of a message, once enough of it is there.
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
        self.state = match answer {
            Answer::Other => State::Skipping(length),
            Answer::Done(ended) => {
                checked(&ended, expected)?;
                done(ended);
                State::Skipping(length)
            }
            Answer::Chunked(ended) => {
                self.begin += length;
                State::Chunked(Chunks::default(), ended)
            }
            Answer::Data { slot, from, length: carried } => {
                carries(from, carried as usize, length, expected(slot))?;
                // The data begin within what is there, or right behind it.
                if from > prefix {
                    return Err("data that begin too late".to_string());
                }
                self.begin += from;
                let (missing, after) = (carried as usize, length - from - carried as usize);
                State::Carrying { slot, there: 0, missing, after }
            }
        };
        Ok(true)
    }
}

/// Reads a message that was sealed.
fn opened(
    message: &mut Vec<u8>,
    protocol: &mut dyn Protocol,
    slots: &mut dyn SlotBytes,
    expected: &dyn Fn(u32) -> u32,
    done: &mut dyn FnMut(Done),
) -> Result<(), String> {
    if let Some(seal) = protocol.seal() {
        seal.open(message)?;
    }
    match protocol.read(&message[..message.len().min(PREFIX_BYTES)], message.len())? {
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
    Ok(())
}

/// Refuses an answer that says to have moved more than was asked.
fn checked(ended: &Done, expected: &dyn Fn(u32) -> u32) -> Result<(), String> {
    match ended.result {
        Ok(moved) if moved > expected(ended.slot) => Err(format!("{moved} bytes for a request of fewer")),
        _ => Ok(()),
    }
}

/// Refuses data that lie outside of their message, or are more than was asked for.
fn carries(from: usize, carried: usize, length: usize, expected: u32) -> Result<(), String> {
    let fits = from.checked_add(carried).is_some_and(|end| end <= length);
    if fits && carried <= expected as usize { Ok(()) } else { Err(format!("{carried} bytes of data in {length}")) }
}
