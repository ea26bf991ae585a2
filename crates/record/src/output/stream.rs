//! Writes to a stream, and tells the stream's errors apart from those of what is written.

use std::io::{self, Write};

/// Why what was to be written is not on the stream.
#[derive(Debug)]
pub enum Unwritten<E> {
    /// The stream took no more.
    Stream(io::Error),
    /// What was to be written could not be made.
    Content(E),
}

impl<E> Unwritten<E> {
    /// Whether the reader of a pipe has closed it, as `head` does when it has enough.
    pub fn has_no_reader(&self) -> bool {
        matches!(self, Self::Stream(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

/// Calls `write` with the stream `to`, and flushes it. An error of the stream stays one, whatever `write` makes of it.
///
/// # Errors
/// The first error of the stream, or else that of `write`.
pub fn written<E>(to: impl Write, write: impl FnOnce(&mut dyn Write) -> Result<(), E>) -> Result<(), Unwritten<E>> {
    let mut out = Remembering { to, error: None };
    let content = write(&mut out);
    if content.is_ok() && out.error.is_none() {
        let _ = out.flush();
    }
    match out.error {
        Some(error) => Err(Unwritten::Stream(error)),
        None => content.map_err(Unwritten::Content),
    }
}

/// A stream that keeps its first error.
struct Remembering<W> {
    to: W,
    error: Option<io::Error>,
}

impl<W> Remembering<W> {
    /// Keeps the error of a call, and passes one of its kind on.
    fn kept<T>(&mut self, outcome: io::Result<T>) -> io::Result<T> {
        outcome.map_err(|error| {
            let kind = error.kind();
            // Whoever writes calls again after this one.
            if kind != io::ErrorKind::Interrupted {
                self.error.get_or_insert(error);
            }
            kind.into()
        })
    }
}

impl<W: Write> Write for Remembering<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes);
        self.kept(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.to.flush();
        self.kept(flushed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stream that takes so many bytes.
    struct Full(usize);

    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.0 < bytes.len() {
                return Err(io::Error::from_raw_os_error(28));
            }
            self.0 -= bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn an_error_of_the_stream_stays_one_whatever_the_writer_makes_of_it() {
        let say = |out: &mut dyn Write| out.write_all(b"four").map_err(|_| "words of its own");
        assert!(written(Full(4), say).is_ok());
        for stream in [
            written(Full(3), say),
            written(io::BufWriter::new(Full(3)), say),
            written(Full(3), |out| {
                let _ = say(out);
                Ok(())
            }),
        ] {
            assert!(matches!(&stream, Err(Unwritten::Stream(error)) if error.raw_os_error() == Some(28)), "{stream:?}");
        }
        let content = written(Full(4), |_| Err("nothing to say"));
        assert!(matches!(content, Err(Unwritten::Content("nothing to say"))), "{content:?}");
    }
}
