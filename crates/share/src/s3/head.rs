//! Reads the heads of HTTP responses.

use httparse::{EMPTY_HEADER, Response, Status};

/// Length limit of a head.
pub(crate) const MOST_HEAD: usize = 8 << 10;
const MOST_FIELDS: usize = 64;

/// The extent of a response after its head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Body {
    /// This many bytes.
    Bytes(usize),
    /// Chunked transfer coding.
    Chunks,
    /// To the end of the connection.
    Rest,
}

/// What the head of a response says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head<'a> {
    /// Length of the head, in bytes.
    pub bytes: usize,
    pub status: u16,
    pub body: Body,
    /// Whether the server closes the connection after this response.
    pub closes: bool,
    /// The entity tag of the object.
    pub etag: Option<&'a str>,
    /// The region of the bucket.
    pub region: Option<&'a str>,
}

impl<'a> Head<'a> {
    /// Reads the head at the beginning of `there`; `None` if it is not complete yet.
    ///
    /// # Errors
    /// If it is invalid, in a few words.
    pub fn read(there: &'a [u8]) -> Result<Option<Self>, String> {
        let mut fields = [EMPTY_HEADER; MOST_FIELDS];
        let mut response = Response::new(&mut fields);
        let bytes = match response.parse(there) {
            Ok(Status::Complete(bytes)) => bytes,
            Ok(Status::Partial) => return Ok(None),
            Err(error) => return Err(format!("no head of HTTP: {error}")),
        };
        let status = response.code.unwrap_or(0);
        let minor = response.version.unwrap_or(0);
        let mut head = Self { bytes, status, body: Body::Rest, closes: minor == 0, etag: None, region: None };
        for field in response.headers.iter() {
            let is = |name: &str| field.name.eq_ignore_ascii_case(name);
            let value = std::str::from_utf8(field.value).unwrap_or("").trim();
            if is("content-length") {
                let length = value.parse().map_err(|_| "a length that is no number".to_string())?;
                if head.body == Body::Rest {
                    head.body = Body::Bytes(length);
                }
            } else if is("transfer-encoding") && value.to_ascii_lowercase().ends_with("chunked") {
                head.body = Body::Chunks;
            } else if is("connection") {
                head.closes =
                    value.eq_ignore_ascii_case("close") || head.closes && !value.eq_ignore_ascii_case("keep-alive");
            } else if is("etag") {
                head.etag = Some(value);
            } else if is("x-amz-bucket-region") {
                head.region = Some(value);
            }
        }
        if matches!(status, 100..=199 | 204 | 304) {
            head.body = Body::Bytes(0);
        }
        head.closes |= head.body == Body::Rest;
        Ok(Some(head))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Head<'_> {
        Head::read(text.as_bytes()).unwrap().expect("a whole head")
    }

    #[test]
    fn an_answer_tells_how_far_it_goes() {
        let head = read("HTTP/1.1 206 Partial Content\r\nContent-Length: 4096\r\netag: \"ab\"\r\n\r\nxyz");
        assert_eq!((head.status, head.body, head.closes, head.etag), (206, Body::Bytes(4096), false, Some("\"ab\"")));
        let head = read("HTTP/1.1 503 Slow Down\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n");
        assert_eq!((head.body, head.closes), (Body::Chunks, true));
        assert_eq!(read("HTTP/1.1 204 No Content\r\n\r\n").body, Body::Bytes(0));
        assert_eq!((read("HTTP/1.0 200 OK\r\n\r\n").body, read("HTTP/1.0 200 OK\r\n\r\n").closes), (Body::Rest, true));
    }

    #[test]
    fn what_is_none_is_refused_and_a_part_of_one_is_not() {
        assert_eq!(Head::read(b"HTTP/1.1 200 OK\r\nContent-Le"), Ok(None));
        assert!(Head::read(b"SSH-2.0-OpenSSH_9\r\n").is_err());
        assert!(Head::read(b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n").is_err());
    }
}
