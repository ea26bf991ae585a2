//! Sends messages without waiting: heads from a place of their own for each slot, payloads from the caller's buffers.

use std::collections::VecDeque;
use std::io::{ErrorKind, IoSlice, Write};
use std::net::TcpStream;

use crate::protocol::{HEAD_BYTES, Op, Order, Protocol, SlotBytes};

/// Parts of messages that go out with one call.
const PARTS: usize = 48;
/// The most zeros after a payload.
const ZEROS: [u8; 4] = [0; 4];
/// Bytes of the length before a message.
const MARK: usize = 4;

/// Messages on their way out.
pub(crate) struct Outbox {
    heads: Vec<[u8; HEAD_BYTES]>,
    queue: VecDeque<Sending>,
}

/// A message, and how much of it has gone.
struct Sending {
    slot: u32,
    head: usize,
    payload: usize,
    padding: usize,
    sent: usize,
    /// The whole message where it was signed or encrypted; empty where its parts go out as they are.
    sealed: Vec<u8>,
}

impl Outbox {
    pub fn new(slots: u32) -> Self {
        let heads = vec![[0; HEAD_BYTES]; slots as usize];
        Self { heads, queue: VecDeque::with_capacity(slots as usize) }
    }

    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Takes a request in.
    ///
    /// # Errors
    /// Where it cannot be sealed.
    pub fn add(&mut self, order: &Order, protocol: &mut dyn Protocol, slots: &dyn SlotBytes) -> Result<(), String> {
        let head = &mut self.heads[order.slot as usize];
        let written = protocol.write(order, &mut head[MARK..]);
        let payload = if order.op == Op::Write { order.length as usize } else { 0 };
        let padding = protocol.padding(payload);
        let length = written + payload + padding;
        let mut sending =
            Sending { slot: order.slot, head: MARK + written, payload, padding, sent: 0, sealed: Vec::new() };
        if let Some(seal) = protocol.seal() {
            let mut message = Vec::with_capacity(MARK + length + 64);
            message.extend_from_slice(&head[MARK..MARK + written]);
            message.extend_from_slice(&slots.outgoing(order.slot)[..payload]);
            message.resize(length, 0);
            seal.close(&mut message)?;
            let mark = protocol.mark(message.len()).to_be_bytes();
            message.splice(0..0, mark);
            sending.sealed = message;
        } else {
            head[..MARK].copy_from_slice(&protocol.mark(length).to_be_bytes());
        }
        self.queue.push_back(sending);
        Ok(())
    }

    /// Sends as much as the connection takes now.
    ///
    /// # Errors
    /// Where the connection is lost.
    pub fn send(&mut self, mut stream: &TcpStream, slots: &dyn SlotBytes) -> std::io::Result<()> {
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
                Ok(sent) => self.has_sent(sent),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
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

    /// What has not gone yet.
    fn rest<'a>(&'a self, heads: &'a [[u8; HEAD_BYTES]], slots: &'a dyn SlotBytes) -> [&'a [u8]; 3] {
        if !self.sealed.is_empty() {
            return [&self.sealed[self.sent..], &[], &[]];
        }
        let payload = if self.payload > 0 { &slots.outgoing(self.slot)[..self.payload] } else { &[] };
        let parts = [&heads[self.slot as usize][..self.head], payload, &ZEROS[..self.padding]];
        let mut sent = self.sent;
        parts.map(|part| {
            let gone = sent.min(part.len());
            sent -= gone;
            &part[gone..]
        })
    }
}
