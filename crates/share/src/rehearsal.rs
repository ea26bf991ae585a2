//! Serves reads and writes from memory over loopback, in threads of this process, to measure the limit of our own
//! clients.
//!
//! There is no sign-in and no storage: reads return zeros, and written bytes are discarded. With a real server and
//! network, the client can only be slower.

use std::io::{ErrorKind, IoSlice, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use halfpower_spec::ShareProtocol;

use crate::peer::Peer;
use crate::pipeline::{LaneOptions, Pipeline, PipelineSource};
use crate::protocol::{Answers, Asked, Frame, MARK_BYTES, Opened, Outcome};
use crate::s3::S3Client;
use crate::smb::SealKind;
use crate::{nfs, s3, smb};

/// Size of the input buffer.
const INPUT_BYTES: usize = 256 << 10;
/// Payloads up to this size are collected and sent together with other answers.
const SHORT: usize = 32 << 10;
/// Collected answers are sent at the latest when they reach this size.
const OUTPUT_BYTES: usize = 256 << 10;
/// Length limit of a request.
const MOST_BYTES: usize = 64 << 20;
/// How long either side may be silent.
const TIMEOUT: Duration = Duration::from_secs(60);
/// The payload of reads. Filled on first use, which keeps the program file small; written explicitly, so that it has
/// its own pages, as a server's data have, and not the kernel's shared zero page.
static ZEROS: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut zeros = vec![1; 1 << 20];
    std::hint::black_box(&mut zeros).fill(0);
    zeros
});

/// A server in this process that answers from memory.
pub struct Rehearsal {
    part: Part,
    served: Mutex<Vec<Served>>,
}

/// What the client does for each message.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Part {
    /// SMB messages are signed or encrypted like this, or plain.
    Smb(Option<SealKind>),
    Nfs,
    S3(S3Client),
    /// S3 over TLS, which cannot be rehearsed because there is no certificate for it.
    Unrehearsed,
}

impl Part {
    fn protocol(self) -> ShareProtocol {
        match self {
            Self::Smb(_) => ShareProtocol::Smb,
            Self::Nfs => ShareProtocol::Nfs,
            Self::S3(_) | Self::Unrehearsed => ShareProtocol::S3,
        }
    }
}

/// A connection, and the thread that serves it.
struct Served {
    stream: TcpStream,
    thread: JoinHandle<()>,
}

impl Rehearsal {
    /// A server for such a client.
    pub(crate) fn new(part: Part) -> Self {
        Self { part, served: Mutex::default() }
    }

    /// A server of `protocol` whose messages are neither signed nor encrypted.
    pub fn plain(protocol: ShareProtocol) -> Self {
        Self::new(match protocol {
            ShareProtocol::Smb => Part::Smb(None),
            ShareProtocol::Nfs => Part::Nfs,
            ShareProtocol::S3 => Part::S3(S3Client { signs: false }),
        })
    }

    /// Whether its messages are neither signed nor encrypted.
    pub fn is_plain(&self) -> bool {
        !matches!(self.part, Part::Smb(Some(_)))
    }
}

impl PipelineSource for Rehearsal {
    fn pipeline(&self, options: LaneOptions) -> Outcome<Pipeline> {
        let LaneOptions { slots, slot_bytes, .. } = options;
        let peer = Peer {
            address: "our own client against itself".into(),
            host: Ipv4Addr::LOCALHOST.to_string().into(),
            protocol: self.part.protocol().name(),
            timeout: TIMEOUT,
            stop: Arc::default(),
        };
        let lost = |error| peer.lost(error);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(lost)?;
        let channel = peer.connect(listener.local_addr().map_err(lost)?.port(), false)?;
        let (stream, _) = listener.accept().map_err(lost)?;
        stream.set_nodelay(true).map_err(lost)?;
        let (opened, answers): (Opened, Box<dyn Answers>) = match self.part {
            Part::Smb(seal) => {
                let (opened, answers) = smb::rehearse(channel, seal, slots);
                (opened, Box::new(answers))
            }
            Part::Nfs => {
                let (opened, answers) = nfs::rehearse(channel, slots);
                (opened, Box::new(answers))
            }
            Part::S3(client) => {
                let (opened, answers) = s3::rehearse(channel, client);
                (opened, Box::new(answers))
            }
            Part::Unrehearsed => return Err(peer.refused("nobody here speaks TLS")),
        };
        let own = stream.try_clone().map_err(lost)?;
        let name = "rehearsal".to_string();
        let thread = std::thread::Builder::new().name(name).spawn(move || serve(&own, answers)).map_err(lost)?;
        self.served.lock().unwrap_or_else(PoisonError::into_inner).push(Served { stream, thread });
        Pipeline::new(opened, slots, slot_bytes)
    }
}

impl Drop for Rehearsal {
    fn drop(&mut self) {
        for Served { stream, thread } in self.served.get_mut().unwrap_or_else(PoisonError::into_inner).drain(..) {
            // This ends a thread that still reads or writes.
            let _ = stream.shutdown(Shutdown::Both);
            let _ = thread.join();
        }
    }
}

/// Answers until the connection ends.
fn serve(stream: &TcpStream, mut answers: Box<dyn Answers>) {
    let mut requests = Requests {
        stream,
        input: vec![0; INPUT_BYTES].into(),
        begin: 0,
        end: 0,
        output: Vec::with_capacity(OUTPUT_BYTES + SHORT + 1024),
        message: Vec::new(),
    };
    // The client reports errors of the connection.
    while let Ok(Some(())) = requests.next(answers.as_mut()) {}
}

struct Requests<'a> {
    stream: &'a TcpStream,
    /// Received bytes; those from `begin` to `end` are not processed yet.
    input: Box<[u8]>,
    begin: usize,
    end: usize,
    /// Answers that were not sent yet.
    output: Vec<u8>,
    message: Vec<u8>,
}

impl Requests<'_> {
    /// Answers one request; `None` if it is invalid.
    fn next(&mut self, answers: &mut dyn Answers) -> std::io::Result<Option<()>> {
        let Frame { before, prefix, length } = loop {
            match answers.frame(&self.input[self.begin..self.end]) {
                Err(_) => return Ok(None),
                Ok(Some(frame)) => break frame,
                Ok(None) => self.more()?,
            }
        };
        if length > MOST_BYTES {
            return Ok(None);
        }
        self.take(before, None)?;
        let mut message = std::mem::take(&mut self.message);
        message.clear();
        self.take(prefix, Some(&mut message))?;
        self.take(length - prefix, None)?;
        let answered = self.answer(&mut message, answers);
        self.message = message;
        answered
    }

    fn answer(&mut self, message: &mut Vec<u8>, answers: &mut dyn Answers) -> std::io::Result<Option<()>> {
        if answers.open(message).is_err() {
            return Ok(None);
        }
        let at = self.output.len();
        let marks = answers.mark(0).map_or(0, |_| MARK_BYTES);
        self.output.resize(at + marks, 0);
        let Some(Asked { carried, padding }) = answers.answer(message, &mut self.output) else { return Ok(None) };
        let head = self.output.len() - at - marks;
        let mark = |length: usize| answers.mark(length).map(u32::to_be_bytes);
        if answers.seals() {
            let mut whole = self.output.split_off(at + marks);
            whole.resize(whole.len() + carried + padding, 0);
            if answers.close(&mut whole).is_err() {
                return Ok(None);
            }
            let mark = answers.mark(whole.len()).map(u32::to_be_bytes);
            mark.iter().for_each(|mark| self.output[at..].copy_from_slice(mark));
            self.output.append(&mut whole);
        } else {
            mark(head + carried + padding).iter().for_each(|mark| self.output[at..at + marks].copy_from_slice(mark));
            if carried <= SHORT {
                self.output.resize(self.output.len() + carried + padding, 0);
            } else {
                let first = carried.min(ZEROS.len());
                write_both(self.stream, &self.output, &ZEROS[..first])?;
                self.output.clear();
                write_zeros(self.stream, carried - first)?;
                self.output.resize(padding, 0);
            }
        }
        if self.output.len() >= OUTPUT_BYTES { self.flush(self.stream).map(Some) } else { Ok(Some(())) }
    }

    /// Receives more; sends collected answers first, because this may block.
    fn more(&mut self) -> std::io::Result<()> {
        self.flush(self.stream)?;
        self.input.copy_within(self.begin..self.end, 0);
        (self.begin, self.end) = (0, self.end - self.begin);
        match self.stream.read(&mut self.input[self.end..])? {
            0 => Err(ErrorKind::UnexpectedEof.into()),
            came => {
                self.end += came;
                Ok(())
            }
        }
    }

    /// Consumes this many bytes, and appends them to `kept` if given.
    fn take(&mut self, mut bytes: usize, mut kept: Option<&mut Vec<u8>>) -> std::io::Result<()> {
        while bytes > 0 {
            if self.begin == self.end {
                self.more()?;
            }
            let there = &self.input[self.begin..self.end][..bytes.min(self.end - self.begin)];
            kept.iter_mut().for_each(|kept| kept.extend_from_slice(there));
            (self.begin, bytes) = (self.begin + there.len(), bytes - there.len());
        }
        Ok(())
    }

    fn flush(&mut self, mut stream: &TcpStream) -> std::io::Result<()> {
        stream.write_all(&self.output)?;
        self.output.clear();
        Ok(())
    }
}

/// Sends both, with one system call if possible.
fn write_both(mut stream: &TcpStream, first: &[u8], second: &[u8]) -> std::io::Result<()> {
    let sent = stream.write_vectored(&[IoSlice::new(first), IoSlice::new(second)])?;
    match sent.checked_sub(first.len()) {
        Some(of_second) => stream.write_all(&second[of_second..]),
        None => {
            stream.write_all(&first[sent..])?;
            stream.write_all(second)
        }
    }
}

fn write_zeros(mut stream: &TcpStream, mut bytes: usize) -> std::io::Result<()> {
    while bytes > 0 {
        let part = bytes.min(ZEROS.len());
        stream.write_all(&ZEROS[..part])?;
        bytes -= part;
    }
    Ok(())
}
