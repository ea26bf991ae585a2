//! Serves reads and writes from memory, over loopback, in threads of this process: what our own client can do at best.
//!
//! Nobody signs in and nothing is kept: a read brings zeros, a write is taken and forgotten. Whatever this gives, a real
//! server and a network can only give less of it.

use std::io::{BufRead, BufReader, IoSlice, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use halfpower_spec::ShareProtocol;

use crate::channel::Peer;
use crate::pipeline::{LaneOptions, Pipeline, PipelineSource};
use crate::protocol::{Answers, Asked, Opened, Outcome};
use crate::smb::SealKind;
use crate::{nfs, smb};

/// Bytes that are taken from a connection at a time.
const INPUT_BYTES: usize = 256 << 10;
/// What is carried up to this size waits for further answers, and goes out with them.
const SHORT: usize = 32 << 10;
/// Bytes of answers that go out at the latest.
const OUTPUT_BYTES: usize = 256 << 10;
/// Longer than any request.
const MOST_BYTES: usize = 64 << 20;
/// How long neither side may be silent.
const TIMEOUT: Duration = Duration::from_secs(10);
static ZEROS: [u8; 1 << 20] = [0; 1 << 20];

/// A server in this process that answers from memory.
pub struct Rehearsal {
    protocol: ShareProtocol,
    seal: Option<SealKind>,
    served: Mutex<Vec<Served>>,
}

/// A connection, and who answers on it.
struct Served {
    stream: TcpStream,
    thread: JoinHandle<()>,
}

impl Rehearsal {
    /// A server of `protocol`; messages of it are sealed so.
    pub(crate) fn new(protocol: ShareProtocol, seal: Option<SealKind>) -> Self {
        Self { protocol, seal, served: Mutex::default() }
    }

    /// One whose messages are neither signed nor encrypted.
    pub fn plain(protocol: ShareProtocol) -> Self {
        Self::new(protocol, None)
    }

    /// Whether its messages are neither signed nor encrypted.
    pub fn is_plain(&self) -> bool {
        self.seal.is_none()
    }
}

impl PipelineSource for Rehearsal {
    fn pipeline(&self, options: LaneOptions) -> Outcome<Pipeline> {
        let LaneOptions { slots, slot_bytes, .. } = options;
        let peer = Peer {
            address: "our own client against itself".into(),
            host: Ipv4Addr::LOCALHOST.to_string().into(),
            protocol: self.protocol.name(),
            timeout: TIMEOUT,
        };
        let lost = |error| peer.lost(error);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(lost)?;
        let channel = peer.connect(listener.local_addr().map_err(lost)?.port(), false)?;
        let (stream, _) = listener.accept().map_err(lost)?;
        stream.set_nodelay(true).map_err(lost)?;
        let (opened, answers): (Opened, Box<dyn Answers>) = match self.protocol {
            ShareProtocol::Smb => {
                let (opened, answers) = smb::rehearse(channel, self.seal, slots);
                (opened, Box::new(answers))
            }
            ShareProtocol::Nfs => {
                let (opened, answers) = nfs::rehearse(channel, slots);
                (opened, Box::new(answers))
            }
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
            // Who still reads or writes there ends.
            let _ = stream.shutdown(Shutdown::Both);
            let _ = thread.join();
        }
    }
}

/// Answers until the connection ends.
fn serve(stream: &TcpStream, mut answers: Box<dyn Answers>) {
    let mut requests = Requests {
        input: BufReader::with_capacity(INPUT_BYTES, stream),
        output: Vec::with_capacity(OUTPUT_BYTES + SHORT + 1024),
        message: Vec::new(),
    };
    // How it ends is of no concern to anybody.
    while let Ok(Some(())) = requests.next(stream, answers.as_mut()) {}
}

struct Requests<'a> {
    input: BufReader<&'a TcpStream>,
    /// Answers that have not gone out.
    output: Vec<u8>,
    message: Vec<u8>,
}

impl Requests<'_> {
    /// Answers one request; `None` where it is none.
    fn next(&mut self, stream: &TcpStream, answers: &mut dyn Answers) -> std::io::Result<Option<()>> {
        self.flush_before(stream, size_of::<u32>())?;
        let mut mark = [0; 4];
        self.input.read_exact(&mut mark)?;
        let length = answers.length(u32::from_be_bytes(mark));
        if length > MOST_BYTES {
            return Ok(None);
        }
        self.flush_before(stream, length)?;
        let wanted = answers.head_bytes().unwrap_or(length).min(length);
        self.message.resize(wanted, 0);
        self.input.read_exact(&mut self.message)?;
        self.skip(length - wanted)?;
        if answers.open(&mut self.message).is_err() {
            return Ok(None);
        }
        let at = self.output.len();
        self.output.extend_from_slice(&[0; 4]);
        let Some(Asked { carried, padding }) = answers.answer(&self.message, &mut self.output) else { return Ok(None) };
        let head = self.output.len() - at - 4;
        if answers.seals() {
            let mut whole = self.output.split_off(at + 4);
            whole.resize(whole.len() + carried + padding, 0);
            if answers.close(&mut whole).is_err() {
                return Ok(None);
            }
            self.output[at..].copy_from_slice(&answers.mark(whole.len()).to_be_bytes());
            self.output.append(&mut whole);
        } else {
            self.output[at..at + 4].copy_from_slice(&answers.mark(head + carried + padding).to_be_bytes());
            if carried <= SHORT {
                self.output.resize(self.output.len() + carried + padding, 0);
            } else {
                let first = carried.min(ZEROS.len());
                write_both(stream, &self.output, &ZEROS[..first])?;
                self.output.clear();
                write_zeros(stream, carried - first)?;
                self.output.resize(padding, 0);
            }
        }
        if self.output.len() >= OUTPUT_BYTES { self.flush(stream).map(Some) } else { Ok(Some(())) }
    }

    /// Sends answers before it may have to wait for `bytes` more.
    fn flush_before(&mut self, stream: &TcpStream, bytes: usize) -> std::io::Result<()> {
        if self.input.buffer().len() < bytes { self.flush(stream) } else { Ok(()) }
    }

    fn flush(&mut self, mut stream: &TcpStream) -> std::io::Result<()> {
        stream.write_all(&self.output)?;
        self.output.clear();
        Ok(())
    }

    fn skip(&mut self, mut bytes: usize) -> std::io::Result<()> {
        while bytes > 0 {
            let there = self.input.fill_buf()?.len().min(bytes);
            if there == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            self.input.consume(there);
            bytes -= there;
        }
        Ok(())
    }
}

/// Sends one after the other, with one call where it takes them.
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
