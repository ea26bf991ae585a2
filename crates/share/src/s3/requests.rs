//! Writes GET and PUT requests and reads their answers: one request at a time on a connection, as in HTTP/1.1.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::client::connect;
use super::head::{Body, Head, MOST_HEAD};
use super::signer::Signer;
use super::site::BucketLocation;
use crate::channel::Channel;
use crate::credentials::Credentials;
use crate::peer::Peer;
use crate::protocol::{Answer, Done, Frame, Op, Order, Outcome, Protocol};

/// Room in a head for numbers and fixed words.
const NUMBERS_AND_WORDS: usize = 256;
/// Length limit of an entity tag.
const MOST_ETAG: usize = 1024;
const EIO: i32 = 5;

/// Which objects the requests go to.
pub(crate) enum Objects {
    /// Reads go to ranges of the laid out object; each write makes a new object, which is counted here, by this
    /// connection alone.
    FileAndBlocks(Arc<AtomicU64>),
    /// Reads go to the objects that writes have made.
    Blocks,
    /// Writes are parts of an upload.
    Parts(Upload),
}

/// An upload in parts.
#[derive(Clone)]
pub(crate) struct Upload {
    /// Its ID, encoded for a query.
    pub id: String,
    /// Bytes of each part except for the last.
    pub part_bytes: u64,
    /// The entity tags that the server returned for its parts.
    pub etags: Arc<Mutex<Vec<Option<String>>>>,
}

/// The S3 protocol of a pipeline.
pub(crate) struct S3Requests {
    objects: Objects,
    /// Path of the object to read, and path of written objects up to their number.
    file: Vec<u8>,
    blocks: Vec<u8>,
    /// The end of the request line and the `Host` field.
    host: Vec<u8>,
    reading: Signer,
    writing: Signer,
    /// The request in flight.
    in_flight: Option<Order>,
    /// The head of the current answer.
    answer: AnswerHead,
    /// Whether the server closes the connection.
    is_spent: bool,
    /// Where to open a replacement connection.
    anew: Option<(BucketLocation, Peer)>,
}

#[derive(Debug, Default)]
struct AnswerHead {
    status: u16,
    head: usize,
    length: usize,
    is_chunked: bool,
    etag: Option<String>,
}

impl S3Requests {
    /// Requests for objects whose keys begin with `folder`. `anew` is where to open a replacement when the server
    /// closes the connection.
    pub fn new(
        credentials: &Credentials,
        (site, folder): (&BucketLocation, &str),
        objects: Objects,
        anew: Option<(BucketLocation, Peer)>,
    ) -> Self {
        let signer = Signer::new(credentials, &site.authority);
        let path = |name: &str| site.path(&format!("{folder}{name}")).into_bytes();
        Self {
            objects,
            file: path("file"),
            blocks: path("blocks/"),
            host: format!(" HTTP/1.1\r\nHost: {}\r\n", site.authority).into_bytes(),
            reading: signer.clone(),
            writing: signer,
            in_flight: None,
            answer: AnswerHead::default(),
            is_spent: false,
            anew,
        }
    }

    fn write_read(&mut self, order: &Order, out: &mut Out<'_>) {
        out.put(b"GET ");
        let from = out.at;
        let path = match self.objects {
            Objects::Blocks => {
                out.put(&self.blocks);
                out.number(order.offset);
                from..out.at
            }
            _ => {
                out.put(&self.file);
                from..out.at
            }
        };
        out.put(&self.host);
        out.put(b"Range: bytes=");
        let begin = if matches!(self.objects, Objects::Blocks) { 0 } else { order.offset };
        out.number(begin);
        out.put(b"-");
        out.number(begin + u64::from(order.length.max(1)) - 1);
        out.put(b"\r\n");
        if matches!(self.objects, Objects::Blocks) {
            let (written, rest) = out.bytes.split_at_mut(out.at);
            let fields = self.reading.fields("GET", &written[path], b"");
            rest[..fields.len()].copy_from_slice(fields);
            out.at += fields.len();
        } else {
            out.put(self.reading.fields_again("GET", &self.file));
        }
    }

    fn write_write(&mut self, order: &Order, out: &mut Out<'_>) {
        out.put(b"PUT ");
        let from = out.at;
        let (path, query) = if let Objects::Parts(upload) = &self.objects {
            out.put(&self.file);
            let path = from..out.at;
            out.put(b"?");
            let query = out.at;
            out.put(b"partNumber=");
            out.number(order.offset / upload.part_bytes + 1);
            out.put(b"&uploadId=");
            out.put(upload.id.as_bytes());
            (path, query..out.at)
        } else {
            if let Objects::FileAndBlocks(puts) = &self.objects {
                puts.store(puts.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
            }
            out.put(&self.blocks);
            out.number(order.offset);
            (from..out.at, out.at..out.at)
        };
        out.put(&self.host);
        out.put(b"Content-Length: ");
        out.number(order.length.into());
        out.put(b"\r\n");
        let (written, rest) = out.bytes.split_at_mut(out.at);
        let fields = self.writing.fields("PUT", &written[path], &written[query]);
        rest[..fields.len()].copy_from_slice(fields);
        out.at += fields.len();
    }

    /// Turns the head of the current answer into the outcome of `order`.
    fn ended(&mut self, order: Order) -> Result<Answer, String> {
        let AnswerHead { status, head, length, is_chunked, .. } = self.answer;
        let slot = order.slot;
        let result = match (status, order.op) {
            (200 | 206, Op::Read) if is_chunked => return Err("data in chunks".to_string()),
            (200, Op::Read) if length > order.length as usize || order.offset > 0 && self.is_ranged() => {
                return Err("a whole object for a range of it".to_string());
            }
            (200 | 206, Op::Read) => return Ok(Answer::Data { slot, from: head, length: length as u32 }),
            // The range begins after the end of the object.
            (416, Op::Read) => Ok(0),
            (200..=299, Op::Write) => {
                self.keep_mark(&order)?;
                Ok(order.length)
            }
            (status, _) => Err(errno(status)),
        };
        let done = Done { slot, result };
        Ok(if is_chunked { Answer::Chunked(done) } else { Answer::Done(done) })
    }

    fn is_ranged(&self) -> bool {
        !matches!(self.objects, Objects::Blocks)
    }

    /// Keeps the entity tag of a part for the end of the upload.
    fn keep_mark(&mut self, order: &Order) -> Result<(), String> {
        let Objects::Parts(upload) = &self.objects else { return Ok(()) };
        let etag = self.answer.etag.take().filter(|etag| etag.len() <= MOST_ETAG);
        let etag = etag.ok_or("a part without a mark (ETag), or with one that is too long")?;
        let mut etags = upload.etags.lock().unwrap_or_else(PoisonError::into_inner);
        let at = (order.offset / upload.part_bytes) as usize;
        if etags.len() <= at {
            etags.resize(at + 1, None);
        }
        etags[at] = Some(etag);
        Ok(())
    }
}

impl Protocol for S3Requests {
    fn head_bytes(&self) -> usize {
        let upload = if let Objects::Parts(upload) = &self.objects { upload.id.len() } else { 0 };
        self.file.len().max(self.blocks.len()) + upload + self.host.len() + self.reading.bytes() + NUMBERS_AND_WORDS
    }

    fn least_bytes(&self) -> usize {
        MOST_HEAD
    }

    fn most_in_flight(&self) -> usize {
        1
    }

    fn admits(&self, _order: &Order) -> bool {
        self.in_flight.is_none() && !self.is_spent
    }

    fn write(&mut self, order: &Order, head: &mut [u8]) -> usize {
        let mut out = Out { bytes: head, at: 0 };
        match order.op {
            Op::Write => self.write_write(order, &mut out),
            Op::Read | Op::Flush => self.write_read(order, &mut out),
        }
        self.in_flight = Some(*order);
        out.at
    }

    fn mark(&self, _length: usize) -> Option<u32> {
        None
    }

    fn frame(&mut self, there: &[u8]) -> Result<Option<Frame>, String> {
        // What follows the last answer on a connection is a body without a given length: skip it.
        if self.is_spent && self.in_flight.is_none() {
            return Ok((!there.is_empty()).then_some(Frame { before: 0, prefix: 0, length: there.len() }));
        }
        let Some(Head { bytes, status, body, closes, etag, .. }) = Head::read(there)? else { return Ok(None) };
        let (length, is_chunked) = match body {
            Body::Bytes(length) => (length, false),
            Body::Chunks => (0, true),
            Body::Rest => (0, false),
        };
        let etag = etag.filter(|_| matches!(self.objects, Objects::Parts(_))).map(str::to_string);
        self.answer = AnswerHead { status, head: bytes, length, is_chunked, etag };
        // A head that only announces the answer ends nothing.
        self.is_spent |= closes && status >= 200;
        let length = bytes.checked_add(length).ok_or("a length that is none")?;
        Ok(Some(Frame { before: 0, prefix: bytes, length }))
    }

    fn read(&mut self, _prefix: &[u8], _length: usize) -> Result<Answer, String> {
        if matches!(self.answer.status, 100..=199) {
            return Ok(Answer::Other);
        }
        match self.in_flight.take() {
            Some(order) => self.ended(order),
            // A server may say why it closes an idle connection.
            None if self.is_spent => Ok(Answer::Other),
            None => Err("an answer to no request".to_string()),
        }
    }

    fn is_spent(&self) -> bool {
        self.is_spent
    }

    fn can_renew(&self) -> bool {
        self.anew.is_some()
    }

    fn renewed(&mut self) -> Outcome<Channel> {
        let (site, peer) = self.anew.as_ref().expect("only who can renew is asked to");
        let channel = connect(site, peer)?;
        (self.in_flight, self.is_spent) = (None, false);
        Ok(channel)
    }
}

/// Appends to a fixed buffer, without allocating.
struct Out<'a> {
    bytes: &'a mut [u8],
    at: usize,
}

impl Out<'_> {
    fn put(&mut self, bytes: &[u8]) {
        self.bytes[self.at..self.at + bytes.len()].copy_from_slice(bytes);
        self.at += bytes.len();
    }

    fn number(&mut self, mut number: u64) {
        let mut digits = [0; 20];
        let mut first = digits.len();
        loop {
            first -= 1;
            digits[first] = b'0' + (number % 10) as u8;
            number /= 10;
            if number == 0 {
                break;
            }
        }
        self.put(&digits[first..]);
    }
}

/// Converts an HTTP status to an error number of <errno.h>.
fn errno(status: u16) -> i32 {
    match status {
        400 | 411 | 412 | 416 => 22,
        401 | 403 => 13,
        404 | 410 => 2,
        405 | 501 => 95,
        408 | 504 => 110,
        // The server is busy (SlowDown).
        409 | 429 | 503 => 16,
        413 => 27,
        507 => 28,
        _ => EIO,
    }
}
