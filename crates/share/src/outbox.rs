//! Sends messages without blocking: heads from a buffer for each slot, payloads straight from the caller's buffers.

use std::collections::VecDeque;
use std::io::{ErrorKind, IoSlice, Write};

use crate::channel::Wire;
use crate::protocol::{MARK_BYTES, Op, Order, Protocol, SlotBytes};

/// Most parts of messages in one system call.
const PARTS: usize = 48;
/// Padding after a payload.
const ZEROS: [u8; 4] = [0; 4];

/// The sending side of a connection.
pub(crate) struct Outbox {
    /// Buffers for heads, each with room for four bytes of length before the head.
    heads: Vec<Box<[u8]>>,
    queue: VecDeque<Sending>,
}

/// A message, and how much of it was sent.
struct Sending {
    slot: u32,
    /// The buffer that holds the head, and where in it the head begins.
    place: usize,
    from: usize,
    head: usize,
    payload: usize,
    padding: usize,
    sent: usize,
    /// The whole message if it is signed or encrypted; otherwise empty.
    sealed: Vec<u8>,
}

impl Outbox {
    /// For requests in `slots` slots.
    pub fn new(slots: u32, protocol: &dyn Protocol) -> Self {
        let places = (slots as usize).min(protocol.most_in_flight());
        let heads = vec![vec![0; MARK_BYTES + protocol.head_bytes()].into(); places];
        Self { heads, queue: VecDeque::with_capacity(places) }
    }

    /// Discards what was not sent on a lost connection.
    pub fn clear(&mut self) {
        self.queue.clear();
    }

    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Queues a request.
    ///
    /// # Errors
    /// If it cannot be signed or encrypted.
    pub fn add(&mut self, order: &Order, protocol: &mut dyn Protocol, slots: &dyn SlotBytes) -> Result<(), String> {
        let place = order.slot as usize % self.heads.len();
        let head = &mut self.heads[place];
        let written = protocol.write(order, &mut head[MARK_BYTES..]);
        let payload = if order.op == Op::Write { order.length as usize } else { 0 };
        let padding = protocol.padding(payload);
        let length = written + payload + padding;
        let mark = protocol.mark(length).map(u32::to_be_bytes);
        let from = if mark.is_some() { 0 } else { MARK_BYTES };
        let head_bytes = MARK_BYTES + written - from;
        let mut sending =
            Sending { slot: order.slot, place, from, head: head_bytes, payload, padding, sent: 0, sealed: Vec::new() };
        if let Some(seal) = protocol.seal() {
            let mut message = Vec::with_capacity(MARK_BYTES + length + 64);
            message.extend_from_slice(&head[MARK_BYTES..MARK_BYTES + written]);
            message.extend_from_slice(&slots.outgoing(order.slot)[..payload]);
            message.resize(length, 0);
            seal.close(&mut message)?;
            let mark = protocol.mark(message.len()).map(u32::to_be_bytes);
            message.splice(0..0, mark.into_iter().flatten());
            sending.sealed = message;
        } else if let Some(mark) = mark {
            head[..MARK_BYTES].copy_from_slice(&mark);
        }
        self.queue.push_back(sending);
        Ok(())
    }

    /// Sends as much as the connection accepts now; returns the bytes of messages that were sent.
    ///
    /// # Errors
    /// If the connection is lost.
    pub fn send(&mut self, stream: &mut Wire, slots: &dyn SlotBytes) -> std::io::Result<usize> {
        let mut all = 0;
        while !self.queue.is_empty() {
            let mut parts = [IoSlice::new(&[]); PARTS];
            let mut count = 0;
            for sending in &self.queue {
                if count + 3 > PARTS {
                    break;
                }
                for part in sending.rest(&self.heads, slots) {
                    parts[count] = IoSlice::new(part);
                    count += usize::from(!part.is_empty());
                }
            }
            match stream.write_vectored(&parts[..count]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(sent) => {
                    self.has_sent(sent);
                    all += sent;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(all),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        // TLS may still hold encrypted bytes that it could not send.
        match if stream.owes() { stream.flush() } else { Ok(()) } {
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(all),
            flushed => flushed.map(|()| all),
        }
    }

    fn has_sent(&mut self, mut bytes: usize) {
        while let Some(first) = self.queue.front_mut() {
            let left = first.length() - first.sent;
            if bytes < left {
                first.sent += bytes;
                return;
            }
            bytes -= left;
            self.queue.pop_front();
        }
    }
}

impl Sending {
    fn length(&self) -> usize {
        if self.sealed.is_empty() { self.head + self.payload + self.padding } else { self.sealed.len() }
    }

    /// The parts that were not sent yet.
    fn rest<'a>(&'a self, heads: &'a [Box<[u8]>], slots: &'a dyn SlotBytes) -> [&'a [u8]; 3] {
        if !self.sealed.is_empty() {
            return [&self.sealed[self.sent..], &[], &[]];
        }
        let payload = if self.payload > 0 { &slots.outgoing(self.slot)[..self.payload] } else { &[] };
        let parts = [&heads[self.place][self.from..self.from + self.head], payload, &ZEROS[..self.padding]];
        let mut sent = self.sent;
        parts.map(|part| {
            let gone = sent.min(part.len());
            sent -= gone;
            &part[gone..]
        })
    }
}
