//! Sends single requests to an S3 server and waits for each answer; used before and after measured runs.

use std::io::ErrorKind;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use md5::{Digest, Md5};

use super::head::{Body, Head, MOST_HEAD};
use super::signer::Signer;
use super::site::BucketLocation;
use crate::channel::Channel;
use crate::chunks::Chunks;
use crate::credentials::Credentials;
use crate::peer::{Exchange, Peer};
use crate::protocol::Outcome;

/// Length limit of an answer.
const MOST_BYTES: usize = 16 << 20;
/// The answer to the end of an upload may take this many timeouts: while a server joins many parts, it sends bytes to
/// keep the connection alive.
const MOST_SILENCES: u32 = 20;
/// How many times a busy server is asked in total, and the wait after the first time; the wait doubles each time.
const TRIES: u32 = 4;
const PAUSE: Duration = Duration::from_millis(100);

/// A client of one bucket, with its credentials.
pub(crate) struct Client {
    pub site: BucketLocation,
    pub peer: Peer,
    pub signer: Signer,
    channel: Option<Channel>,
}

/// A request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asking<'a> {
    pub method: &'static str,
    /// The object's key; empty for the bucket itself.
    pub key: &'a str,
    /// Encoded names and values, sorted by name.
    pub query: &'a str,
    pub body: &'a [u8],
}

impl Asking<'_> {
    /// How many timeouts its answer may take.
    fn silences(&self) -> u32 {
        let ends_upload = self.method == "POST" && self.query.starts_with("uploadId=");
        if ends_upload { MOST_SILENCES } else { 1 }
    }
}

/// An answer.
#[derive(Debug, Default)]
pub(crate) struct Reply {
    pub status: u16,
    pub region: Option<String>,
    pub body: Vec<u8>,
    closes: bool,
}

impl Reply {
    pub fn is_well(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

impl Client {
    /// A client for a bucket that `peer` serves.
    pub fn new(site: BucketLocation, peer: Peer, credentials: &Credentials) -> Self {
        let signer = Signer::new(credentials, &site.authority);
        Self { site, peer, signer, channel: None }
    }

    /// From now on, requests clean up: a wish to stop that came before does not keep them.
    pub fn cleans_up(&mut self) {
        self.peer = self.peer.for_clean_up();
        self.channel.iter_mut().for_each(|channel| channel.peer = self.peer.clone());
    }

    /// Opens a connection to the server.
    ///
    /// # Errors
    /// If it does not accept the connection.
    pub fn connect(&self) -> Outcome<Channel> {
        connect(&self.site, &self.peer)
    }

    /// Sends a request and waits for the answer, whatever its status; repeats it a few times while the server is busy.
    ///
    /// # Errors
    /// If the connection is lost or the answer is invalid.
    pub fn ask(&mut self, asking: Asking<'_>) -> Outcome<Reply> {
        let mut pause = PAUSE.min(self.peer.timeout / 10);
        for _ in 1..TRIES {
            let reply = self.ask_once(asking)?;
            if !matches!(reply.status, 429 | 500 | 502 | 503) {
                return Ok(reply);
            }
            std::thread::sleep(pause);
            pause *= 2;
        }
        self.ask_once(asking)
    }

    fn ask_once(&mut self, asking: Asking<'_>) -> Outcome<Reply> {
        // The server may have closed an idle connection.
        let reply = match self.channel.take() {
            Some(mut channel) => match self.exchange(&mut channel, asking) {
                Ok(reply) => Ok((channel, reply)),
                Err(crate::ShareError::Lost { .. }) => self.anew(asking),
                Err(error) => Err(error),
            },
            None => self.anew(asking),
        };
        let (channel, reply) = reply?;
        self.channel = Some(channel).filter(|_| !reply.closes);
        Ok(reply)
    }

    fn anew(&mut self, asking: Asking<'_>) -> Outcome<(Channel, Reply)> {
        let mut channel = self.connect()?;
        let reply = self.exchange(&mut channel, asking)?;
        Ok((channel, reply))
    }

    fn exchange(&mut self, channel: &mut Channel, asking: Asking<'_>) -> Outcome<Reply> {
        let Asking { method, key, query, body } = asking;
        let path = self.site.path(key);
        let mark = if query.is_empty() { "" } else { "?" };
        let mut request = format!("{method} {path}{mark}{query} HTTP/1.1\r\nHost: {}\r\n", self.site.authority);
        if matches!(method, "POST" | "PUT") {
            request += &format!("Content-Length: {}\r\n", body.len());
        }
        if !body.is_empty() {
            request +=
                &format!("Content-Type: application/xml\r\nContent-MD5: {}\r\n", STANDARD.encode(Md5::digest(body)));
        }
        let mut request = request.into_bytes();
        request.extend_from_slice(self.signer.fields(method, path.as_bytes(), query.as_bytes()));
        request.extend_from_slice(body);
        let exchange = channel.peer.exchange(asking.silences());
        channel.send_all(&request, &exchange)?;
        receive(channel, &exchange)
    }
}

/// Opens a connection to the server of a bucket.
///
/// # Errors
/// If it does not accept the connection, or its certificate is not trusted.
pub(crate) fn connect(site: &BucketLocation, peer: &Peer) -> Outcome<Channel> {
    let channel = peer.connect(site.port, false)?;
    if !site.is_tls {
        return Ok(channel);
    }
    #[cfg(feature = "s3")]
    return over_tls(channel, &site.host);
    #[cfg(not(feature = "s3"))]
    Err(peer.refused(
        "this halfpower speaks S3 over http:// alone; for https:// build it with `cargo build --release --features s3`",
    ))
}

/// The same connection, over TLS.
#[cfg(feature = "s3")]
fn over_tls(channel: Channel, host: &str) -> Outcome<Channel> {
    use rustix::event::PollFlags;

    use crate::channel::Wire;
    use crate::tls::{BUNDLE, Refusal, TlsWire, flaw};

    let Channel { stream, peer } = channel;
    let untrusted = |what: String| {
        peer.refused(format!(
            "{host} is not trusted, or speaks no TLS ({what}); look at the endpoint, or name its certificate with {BUNDLE}"
        ))
    };
    let wire = match stream {
        Wire::Tls(wire) => wire,
        Wire::Plain(stream) => Box::new(TlsWire::over(stream, host).map_err(|refusal| match refusal {
            Refusal::Untrusted(what) => untrusted(what),
            Refusal::NoTrust(what) => peer.refused(what),
        })?),
    };
    let mut channel = Channel { stream: Wire::Tls(wire), peer: peer.clone() };
    let exchange = peer.exchange(1);
    while let Wire::Tls(wire) = &mut channel.stream {
        match wire.shake_hands() {
            Ok(()) => break,
            Err(error) if error.kind() == ErrorKind::InvalidData => {
                return Err(match flaw(&error) {
                    Some(flaw) => peer.refused(format!("{host} is not trusted: {flaw}")),
                    None => untrusted(error.to_string()),
                });
            }
            Err(error) => {
                let flags = if wire.owes() { PollFlags::OUT } else { PollFlags::IN };
                channel.wait_after(error, flags, &exchange)?;
            }
        }
    }
    Ok(channel)
}

/// Receives one whole answer.
fn receive(channel: &mut Channel, exchange: &Exchange) -> Outcome<Reply> {
    let mut there = Vec::new();
    let (mut reply, bytes, body) = loop {
        match Head::read(&there).map_err(|what| channel.peer.garbage(what))? {
            Some(Head { bytes, status: 100..=199, .. }) => {
                there.drain(..bytes);
                continue;
            }
            Some(Head { bytes, status, body, closes, region, .. }) => {
                break (Reply { status, region: region.map(str::to_string), body: Vec::new(), closes }, bytes, body);
            }
            None => {}
        }
        if there.len() > MOST_HEAD {
            return Err(channel.peer.garbage("a head that does not end"));
        }
        if more(channel, &mut there, exchange)? == 0 {
            return Err(channel.peer.lost(ErrorKind::UnexpectedEof.into()));
        }
    };
    there.drain(..bytes);
    let mut chunks = Chunks::default();
    loop {
        match body {
            Body::Bytes(length) if length > MOST_BYTES => {
                return Err(channel.peer.garbage(format!("an answer of {length} bytes")));
            }
            Body::Bytes(length) if there.len() >= length => {
                there.truncate(length);
                reply.body = there;
                return Ok(reply);
            }
            Body::Chunks => {
                let taken = chunks.take(&there, &mut |part| reply.body.extend_from_slice(part));
                let (_, is_over) = taken.map_err(|what| channel.peer.garbage(what))?;
                there.clear();
                if is_over {
                    return Ok(reply);
                }
            }
            Body::Bytes(_) | Body::Rest => {}
        }
        if there.len() + reply.body.len() > MOST_BYTES {
            return Err(channel.peer.garbage("an answer that does not end"));
        }
        if more(channel, &mut there, exchange)? == 0 {
            if body == Body::Rest {
                reply.body = there;
                return Ok(reply);
            }
            return Err(channel.peer.lost(ErrorKind::UnexpectedEof.into()));
        }
    }
}

/// Receives more bytes; returns their number, 0 at the end of the connection.
fn more(channel: &mut Channel, there: &mut Vec<u8>, exchange: &Exchange) -> Outcome<usize> {
    // A server that is never waited for could send heads without end.
    channel.peer.goes_on(exchange)?;
    let mut part = [0; 16 << 10];
    let came = channel.receive_some(&mut part, exchange)?;
    there.extend_from_slice(&part[..came]);
    Ok(came)
}
