//! Carries out one request at a time, for engines that finish each request before the next begins.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use halfpower_os::{Buffers, Clock, Mapping, OsError, RunFile};
use halfpower_spec::Nanos;

use crate::check::Check;
use crate::config::EngineConfig;
use crate::pause::{rest, wait_until};
use crate::{BufferState, Completion, Engine, EngineError, Errno, Operation, Request, unavailable};

/// Moves the bytes of a request with blocking calls.
pub(crate) trait SynchronousIo: Send {
    /// Reads from `offset` on; returns the bytes read.
    fn read(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize>;
    /// Writes from `offset` on; returns the bytes written.
    fn write(&self, bytes: &[u8], offset: u64) -> io::Result<usize>;
    /// Discards the range.
    fn trim(&self, offset: u64, length: u32) -> io::Result<()>;
    /// Makes everything written durable.
    fn flush(&self) -> io::Result<()>;
}

impl SynchronousIo for RunFile {
    #[inline]
    fn read(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        self.read_at(bytes, offset)
    }

    #[inline]
    fn write(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.write_at(bytes, offset)
    }

    fn trim(&self, offset: u64, length: u32) -> io::Result<()> {
        self.discard(offset, length.into())
    }

    fn flush(&self) -> io::Result<()> {
        RunFile::flush(self)
    }
}

impl SynchronousIo for Mapping {
    #[inline]
    fn read(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        self.read_at(bytes, offset)
    }

    #[inline]
    fn write(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.write_at(bytes, offset)
    }

    fn trim(&self, offset: u64, length: u32) -> io::Result<()> {
        self.file().discard(offset, length.into())
    }

    /// Writes back the stored pages along with all others of the file.
    fn flush(&self) -> io::Result<()> {
        self.file().flush()
    }
}

/// Carries out `request` with a buffer of `buffers`; repeats a call that a signal interrupted.
#[inline]
pub(crate) fn carry_out(
    carrier: &impl SynchronousIo,
    (buffers, buffer): (&mut Buffers, u32),
    check: Option<&Check>,
    request: &Request,
    serial: u64,
) -> Result<u32, Errno> {
    let length = request.length as usize;
    if request.operation == Operation::Write {
        match check {
            None => buffers.stamp(buffer, request.offset, length, serial),
            Some(check) => check.write_headers(request.slot, &mut buffers.slot_mut(buffer)[..length]),
        }
    }
    loop {
        let moved = match request.operation {
            Operation::Read => carrier.read(&mut buffers.slot_mut(buffer)[..length], request.offset),
            Operation::Write => carrier.write(&buffers.outgoing(buffer)[..length], request.offset),
            Operation::Trim => carrier.trim(request.offset, request.length).map(|()| length),
            Operation::Flush => carrier.flush().map(|()| 0),
        };
        match moved {
            Ok(bytes) => {
                return match check {
                    None => Ok(bytes as u32),
                    Some(check) => check.verify(request.slot, buffers.slot(buffer), bytes as u32),
                };
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Errno::of(&error)),
        }
    }
}

/// Carries out requests on the calling thread, oldest first, one at a time whatever the depth.
// Aligned to two cache lines, which processors fetch together, so that lanes do not slow each other.
#[repr(align(128))]
pub(crate) struct InTurn<C> {
    clock: Clock,
    carriers: Vec<C>,
    /// The index of the carrier that each slot reaches.
    carrier_of_slot: Vec<u32>,
    buffers: Buffers,
    check: Option<Arc<Check>>,
    serial: u64,
    waiting: VecDeque<Request>,
}

impl<C: SynchronousIo> InTurn<C> {
    /// Opens the engine over the files of `config`; `carrier` turns each file into a carrier.
    pub(crate) fn new(
        name: &'static str,
        config: EngineConfig,
        carrier: impl Fn(RunFile) -> Result<C, OsError>,
    ) -> Result<Self, EngineError> {
        let buffers = config.buffers().map_err(unavailable(name))?;
        let carrier_of_slot = config.file_of_slot();
        let waiting = VecDeque::with_capacity(buffers.count() as usize);
        let EngineConfig { files, check, .. } = config;
        let carriers = files.into_iter().map(carrier).collect::<Result<_, _>>().map_err(unavailable(name))?;
        Ok(Self { clock: Clock::new(), carriers, carrier_of_slot, buffers, check, serial: 0, waiting })
    }
}

impl<C: SynchronousIo> Engine for InTurn<C> {
    #[inline]
    fn now(&self) -> Nanos {
        Nanos(self.clock.now_ns())
    }

    fn buffers(&self) -> BufferState {
        BufferState { segments: self.buffers.segments(), ..BufferState::default() }
    }

    #[inline]
    fn submit(&mut self, batch: &[Request]) -> Result<(), EngineError> {
        self.waiting.extend(batch);
        Ok(())
    }

    /// Carries out one request even if none is waited for, because requests make no progress otherwise.
    #[inline]
    fn reap(&mut self, least: usize, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        for _ in 0..least.max(1) {
            let Some(request) = self.waiting.pop_front() else { break };
            self.serial += 1;
            let carrier = &self.carriers[self.carrier_of_slot[request.slot as usize] as usize];
            let buffer = (&mut self.buffers, request.slot);
            let result = carry_out(carrier, buffer, self.check.as_deref(), &request, self.serial);
            done.push(Completion { slot: request.slot, result });
        }
        Ok(())
    }

    fn reap_until(&mut self, until: Nanos, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        wait_until(self, until, done, |engine, time, done| {
            if engine.waiting.is_empty() {
                rest(time);
            }
            engine.reap(0, done)
        })
    }
}
