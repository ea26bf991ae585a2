//! Runs kernels (loops over memory) over an arena larger than the processor caches.
//!
//! The kernels are memspeed's eight tests (Chung, Gray, Worthington and Horst, 2000), plus the vector instructions and
//! non-temporal stores that processors have gained since. A request moves megabytes, so the harness's own cost does not
//! show.

use std::io;
use std::path::Path;

use halfpower_os::loops::{self, Streams, Turn, Vectors};
use halfpower_os::{Arena, Buffers, Clock, DataFile, Mode, RunFile};
use halfpower_spec::{Bytes, EngineName, Kernel, Nanos};

use crate::open::Opened;
use crate::{BufferState, Completion, Engine, EngineError, Errno, Operation, Request, refusal, unavailable};

/// Size of an arena as a multiple of the last-level caches, as STREAM requires of its arrays.
const TIMES_CACHE: u64 = 4;
/// All arenas of a run together take at most the machine's memory divided by this.
const PART_OF_MEMORY: u64 = 8;
/// Bytes that file-read and file-write move in one call, as in memspeed.
const CALL_BYTES: usize = 64 << 10;
/// Reported for an error without a number; none of the calls returns one.
const EIO: i32 = 5;

/// Opens the engine `memory` for one of `threads` concurrent threads; also returns the bytes that its offsets may
/// cover. The kernels file-read and file-write use an unnamed file in `folder`.
///
/// # Errors
/// [`EngineError::Unavailable`] if the kernel is not available here, or cannot use blocks of this size.
pub fn open_memory(kernel: Kernel, bs: Bytes, threads: u32, folder: &Path) -> Result<(Opened, u64), EngineError> {
    let span_bytes = span_bytes(bs, threads, kernel)?;
    let work = Work::new(kernel, span_bytes, folder)?;
    let engine = Memory { clock: Clock::new(), work, complete: Vec::with_capacity(1) };
    let opened = Opened {
        engine: Box::new(engine),
        name: EngineName::Memory,
        most_in_flight: 1,
        buffers: BufferState::default(),
    };
    Ok((opened, span_bytes))
}

/// Bytes of one thread's arena in whole blocks, so that all arenas together exceed the caches.
fn span_bytes(bs: Bytes, threads: u32, kernel: Kernel) -> Result<u64, EngineError> {
    let unit = if is_file(kernel) { CALL_BYTES } else { loops::TURN_BYTES } as u64;
    if bs.0 == 0 || !bs.0.is_multiple_of(unit) || bs.0 > u64::from(u32::MAX / 2) {
        let unit = Bytes(unit);
        return Err(refused(format!("the kernel {kernel} moves multiples of {unit}, not {bs}: choose such a --bs")));
    }
    let threads = u64::from(threads.max(1));
    let most = loops::machine_memory_bytes() / PART_OF_MEMORY / threads;
    if bs.0 > most {
        let most = Bytes(most & !(unit - 1));
        let threads = Bytes(threads).0;
        return Err(refused(format!(
            "{threads} threads may take {most} of memory each, not {bs}: choose a smaller --bs"
        )));
    }
    let wanted = TIMES_CACHE * loops::reachable_cache_bytes(threads as u32) / threads;
    Ok(wanted.min(most).next_multiple_of(bs.0).min(most - most % bs.0))
}

fn is_file(kernel: Kernel) -> bool {
    matches!(kernel, Kernel::FileRead | Kernel::FileWrite)
}

fn refused(why: String) -> EngineError {
    refusal(EngineName::Memory, why)
}

/// Runs its kernel over the block of each request at once.
// Aligned to two cache lines, which processors fetch together, so that lanes do not slow each other.
#[repr(align(128))]
struct Memory {
    clock: Clock,
    work: Work,
    complete: Vec<Completion>,
}

/// A kernel and the memory that it uses.
enum Work {
    Read(Arena, Reading),
    Write(Arena, Writing),
    Copy { from: Arena, to: Arena, copying: Copying },
    File(Cached),
}

enum Reading {
    Nothing,
    Words,
    Vectors(Vectors),
}

enum Writing {
    Words,
    Vectors(Vectors),
    Stream(Streams),
}

enum Copying {
    Library,
    Vectors(Vectors),
    Stream(Streams),
}

impl Work {
    fn new(kernel: Kernel, span_bytes: u64, folder: &Path) -> Result<Self, EngineError> {
        let arena = || Arena::new(span_bytes as usize).map_err(unavailable(EngineName::Memory.word()));
        let vectors = Vectors::widest();
        let streams = || {
            let why =
                || refused(format!("halfpower knows no stores past the caches on this processor, so no {kernel}"));
            vectors.streams().ok_or_else(why)
        };
        Ok(match kernel {
            Kernel::Null => Self::Read(arena()?, Reading::Nothing),
            Kernel::Read => Self::Read(arena()?, Reading::Words),
            Kernel::ReadVector => Self::Read(arena()?, Reading::Vectors(vectors)),
            Kernel::Write => Self::Write(arena()?, Writing::Words),
            Kernel::WriteVector => Self::Write(arena()?, Writing::Vectors(vectors)),
            Kernel::WriteStream => Self::Write(arena()?, Writing::Stream(streams()?)),
            Kernel::Copy => Self::Copy { from: arena()?, to: arena()?, copying: Copying::Library },
            Kernel::CopyVector => Self::Copy { from: arena()?, to: arena()?, copying: Copying::Vectors(vectors) },
            Kernel::CopyStream => Self::Copy { from: arena()?, to: arena()?, copying: Copying::Stream(streams()?) },
            Kernel::FileRead | Kernel::FileWrite => Self::File(Cached::new(folder, kernel, span_bytes)?),
        })
    }

    /// Touches all memory, so that its pages lie near the processor that will use it.
    fn fill(&mut self) -> Result<(), EngineError> {
        match self {
            Self::Read(_, Reading::Nothing) => {}
            Self::Read(arena, _) | Self::Write(arena, _) => arena.fill(),
            Self::Copy { from, to, .. } => {
                from.fill();
                to.fill();
            }
            Self::File(cached) => cached.fill()?,
        }
        Ok(())
    }

    #[inline]
    fn run(&mut self, request: &Request) -> Result<u32, Errno> {
        let first = request.offset as usize / loops::TURN_BYTES;
        let part = first..first + request.length as usize / loops::TURN_BYTES;
        match self {
            Self::Read(arena, reading) => reading.run(&arena.turns()[part]),
            Self::Write(arena, writing) => writing.run(&mut arena.turns_mut()[part]),
            Self::Copy { from, to, copying } => copying.run(&mut to.turns_mut()[part.clone()], &from.turns()[part]),
            Self::File(cached) => return cached.run(request),
        }
        Ok(request.length)
    }
}

impl Reading {
    fn run(&self, from: &[Turn]) {
        match self {
            Self::Nothing => loops::turn_only(from),
            Self::Words => loops::read_words(from),
            Self::Vectors(vectors) => vectors.read(from),
        }
    }
}

impl Writing {
    fn run(&self, to: &mut [Turn]) {
        match self {
            Self::Words => loops::write_words(to),
            Self::Vectors(vectors) => vectors.write(to),
            Self::Stream(streams) => streams.write(to),
        }
    }
}

impl Copying {
    fn run(&self, to: &mut [Turn], from: &[Turn]) {
        match self {
            Self::Library => loops::copy(to, from),
            Self::Vectors(vectors) => vectors.copy(to, from),
            Self::Stream(streams) => streams.copy(to, from),
        }
    }
}

/// A file that lives only in the page cache: it has no name, and is gone before the kernel writes it back.
struct Cached {
    file: RunFile,
    data: DataFile,
    buffer: Buffers,
    writes: bool,
    bytes: u64,
}

impl Cached {
    fn new(folder: &Path, kernel: Kernel, bytes: u64) -> Result<Self, EngineError> {
        let unavailable = || unavailable(EngineName::Memory.word());
        let data = DataFile::unnamed_in(folder).map_err(unavailable())?;
        let file = data.reopen(Mode { write: true, ..Mode::default() }).map_err(unavailable())?;
        let buffer = Buffers::new(1, CALL_BYTES, 1).map_err(unavailable())?;
        Ok(Self { file, data, buffer, writes: kernel == Kernel::FileWrite, bytes })
    }

    fn fill(&mut self) -> Result<(), EngineError> {
        for offset in (0..self.bytes).step_by(CALL_BYTES) {
            let written = self.data.write_all_at(self.buffer.slot(0), offset);
            written.map_err(unavailable(EngineName::Memory.word()))?;
        }
        Ok(())
    }

    /// Moves the block of a request, one call after the other; an error ends it.
    fn run(&mut self, request: &Request) -> Result<u32, Errno> {
        let end = request.offset + u64::from(request.length);
        let mut moved = 0;
        for offset in (request.offset..end).step_by(CALL_BYTES) {
            let came = match self.writes {
                true => self.file.write_at(self.buffer.slot(0), offset),
                false => self.file.read_at(self.buffer.slot_mut(0), offset),
            };
            moved += came.map_err(|error: io::Error| Errno(error.raw_os_error().unwrap_or(EIO)))?;
        }
        Ok(moved as u32)
    }
}

impl Engine for Memory {
    #[inline]
    fn now(&self) -> Nanos {
        Nanos(self.clock.now_ns())
    }

    fn settle(&mut self) -> Result<(), EngineError> {
        self.work.fill()
    }

    fn submit(&mut self, batch: &[Request]) -> Result<(), EngineError> {
        for request in batch {
            let result = if request.operation == Operation::Flush { Ok(0) } else { self.work.run(request) };
            self.complete.push(Completion { slot: request.slot, result });
        }
        Ok(())
    }

    fn reap(&mut self, _least: usize, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        done.append(&mut self.complete);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BS: Bytes = Bytes(1 << 20);

    fn carry(engine: &mut dyn Engine, offset: u64) -> Completion {
        let mut done = Vec::with_capacity(1);
        let request = Request { slot: 0, operation: Operation::Read, offset, length: BS.0 as u32 };
        engine.submit(&[request]).unwrap();
        engine.reap(1, &mut done).unwrap();
        done[0]
    }

    #[test]
    fn every_kernel_moves_the_first_block_and_the_last() {
        for kernel in Kernel::ALL.iter().copied() {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
            // Use many threads so that each has a small arena: the test checks behaviour, not speed.
            let (mut opened, span_bytes) = match open_memory(kernel, BS, 64, folder) {
                Err(EngineError::Unavailable { why, .. }) if why.contains("past the caches") => continue,
                other => other.unwrap(),
            };
            assert!(span_bytes >= BS.0 && span_bytes.is_multiple_of(BS.0), "{kernel}: {span_bytes}");
            opened.engine.settle().unwrap();
            for offset in [0, span_bytes - BS.0] {
                assert_eq!(
                    carry(&mut *opened.engine, offset),
                    Completion { slot: 0, result: Ok(BS.0 as u32) },
                    "{kernel}"
                );
            }
        }
    }

    #[test]
    fn copies_and_files_bear_what_was_asked() {
        let request = Request { slot: 0, operation: Operation::Write, offset: BS.0, length: BS.0 as u32 };
        for kernel in [Kernel::Copy, Kernel::CopyVector, Kernel::CopyStream] {
            let Ok(mut work) = Work::new(kernel, 3 * BS.0, Path::new(".")) else { continue };
            let Work::Copy { from, to, .. } = &mut work else { panic!("{kernel} copies") };
            from.fill();
            assert_ne!(from.turns(), to.turns());
            work.run(&request).unwrap();
            let Work::Copy { from, to, .. } = &work else { panic!("{kernel} copies") };
            let block = BS.0 as usize / loops::TURN_BYTES;
            assert_eq!(from.turns()[block..2 * block], to.turns()[block..2 * block], "{kernel}: the block itself");
            assert_ne!(from.turns()[..block], to.turns()[..block], "{kernel}: and no other");
        }
        let mut cached = Cached::new(Path::new(env!("CARGO_MANIFEST_DIR")), Kernel::FileRead, 2 * BS.0).unwrap();
        cached.fill().unwrap();
        let written = cached.buffer.slot(0).to_vec();
        cached.buffer.slot_mut(0).fill(0);
        assert_eq!(cached.run(&request), Ok(BS.0 as u32));
        assert_eq!(cached.buffer.slot(0), written, "the buffer holds the file's last bytes");
        assert_eq!(cached.run(&Request { offset: 3 * BS.0, ..request }), Ok(0), "past the end nothing comes");
    }

    #[test]
    fn what_cannot_be_run_is_refused_in_a_sentence() {
        let refusal = |kernel, bs, threads| {
            open_memory(kernel, Bytes(bs), threads, Path::new(".")).err().expect("it is refused").to_string()
        };
        assert!(refusal(Kernel::Read, 1000, 1).contains("multiples of 512"));
        assert!(refusal(Kernel::FileRead, 4096, 1).contains("multiples of 64KiB"));
        assert!(refusal(Kernel::Copy, 1 << 30, 100_000).contains("choose a smaller --bs"));
        let nowhere = open_memory(Kernel::FileWrite, BS, 1, Path::new("/nowhere/at/all"));
        assert!(nowhere.err().unwrap().to_string().contains("does not exist"));
    }

    #[test]
    fn all_threads_together_go_beyond_the_caches() {
        for threads in [1, 2, 7] {
            let each = span_bytes(BS, threads, Kernel::Read).unwrap();
            let limit = loops::machine_memory_bytes() / PART_OF_MEMORY;
            let caches = loops::reachable_cache_bytes(threads);
            assert!(each * u64::from(threads) >= (TIMES_CACHE * caches).min(limit - limit / 8), "{threads}: {each}");
            assert!(each * u64::from(threads) <= limit);
        }
    }
}
