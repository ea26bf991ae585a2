//! Answers GET and PUT from memory, without checking signatures: the S3 server of a rehearsal.

use std::sync::Arc;

use halfpower_spec::{ShareAddress, ShareProtocol};
use httparse::{EMPTY_HEADER, Request, Status};

use super::requests::{Objects, S3Requests};
use super::site::BucketLocation;
use crate::channel::Channel;
use crate::credentials::Credentials;
use crate::protocol::{Answers, Asked, Frame, Opened};

/// Header fields as a real server sends them, so that our client has as much to read.
const FIELDS: &str = "x-amz-request-id: 17F3C2A9D4B05E61\r\nx-amz-id-2: dd9025bab4ad464b049177c95eb6ebf374d3b3fd1af9251148b65\
                      8df7ac2e3e8\r\nServer: rehearsal\r\nAccept-Ranges: bytes\r\nETag: \"d41d8cd98f00b204e9800998ecf8427e\
                      \"\r\nLast-Modified: Sat, 01 Jan 2000 00:00:00 GMT\r\nContent-Type: application/octet-stream\r\n";
const MOST_FIELDS: usize = 32;

/// What the client does for each request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct S3Client {
    /// Whether it signs requests.
    pub signs: bool,
}

/// Both sides of a rehearsal: the client over `channel`, and the server's [`S3Answers`].
pub(crate) fn rehearse(channel: Channel, client: S3Client) -> (Opened, S3Answers) {
    let word = |text: &str| if client.signs { text.to_string() } else { String::new() };
    let user = word("AKIAIOSFODNN7EXAMPLE");
    let password = word("a secret key of usual length, 40 letters");
    let credentials = Credentials { user, password, region: "us-east-1".to_string(), ..Credentials::default() };
    let address = ShareAddress {
        protocol: ShareProtocol::S3,
        domain: None,
        user: None,
        host: "rehearsal".to_string(),
        port: None,
        path: Vec::new(),
        endpoint: None,
    };
    let site = BucketLocation::of(&address, "us-east-1");
    let protocol = S3Requests::new(&credentials, (&site, ".halfpower/"), Objects::FileAndBlocks(Arc::default()), None);
    (Opened { channel, protocol: Box::new(protocol) }, S3Answers)
}

/// The server's side.
pub(crate) struct S3Answers;

/// What matters of a request.
struct Wanted {
    is_read: bool,
    head: usize,
    /// Bytes of its body.
    brought: usize,
    /// Bytes that it asks for.
    carried: usize,
}

/// Reads the request at the beginning of `there`; `None` if its head is not complete.
fn wanted(there: &[u8]) -> Result<Option<Wanted>, String> {
    let mut fields = [EMPTY_HEADER; MOST_FIELDS];
    let mut request = Request::new(&mut fields);
    let head = match request.parse(there) {
        Ok(Status::Complete(head)) => head,
        Ok(Status::Partial) => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    let field = |name: &str| {
        let found = request.headers.iter().find(|field| field.name.eq_ignore_ascii_case(name))?;
        std::str::from_utf8(found.value).ok()
    };
    let brought = field("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let range = field("range").and_then(|range| range.strip_prefix("bytes=")?.split_once('-'));
    let ends = range.and_then(|(first, last)| Some((first.parse::<u64>().ok()?, last.parse::<u64>().ok()?)));
    let carried = ends.map_or(0, |(first, last)| (last + 1).saturating_sub(first) as usize);
    Ok(Some(Wanted { is_read: request.method == Some("GET"), head, brought, carried }))
}

impl Answers for S3Answers {
    fn frame(&self, there: &[u8]) -> Result<Option<Frame>, String> {
        let frame = |wanted: Wanted| Frame { before: 0, prefix: wanted.head, length: wanted.head + wanted.brought };
        Ok(wanted(there)?.map(frame))
    }

    fn mark(&self, _length: usize) -> Option<u32> {
        None
    }

    fn open(&mut self, _message: &mut Vec<u8>) -> Result<(), String> {
        Ok(())
    }

    fn answer(&mut self, request: &[u8], out: &mut Vec<u8>) -> Option<Asked> {
        let Wanted { is_read, carried, .. } = wanted(request).ok()??;
        let (status, carried) = if is_read { ("206 Partial Content", carried) } else { ("200 OK", 0) };
        out.extend_from_slice(format!("HTTP/1.1 {status}\r\n{FIELDS}Content-Length: {carried}\r\n\r\n").as_bytes());
        Some(Asked { carried, padding: 0 })
    }

    fn seals(&self) -> bool {
        false
    }

    fn close(&mut self, _message: &mut Vec<u8>) -> Result<(), String> {
        Ok(())
    }
}
