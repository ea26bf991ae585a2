//! Carries out operations on small files: each request creates, looks at, renames or removes one, or lists the folder.
//!
//! Each is a few plain system calls on names, as an application makes them. A request names its file by its offset, in
//! files of the block size. The files that it needs are made before the window opens.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use halfpower_os::{Clock, FileFolder, file_names};
use halfpower_spec::{EngineName, FileOperation, Nanos};

use crate::open::Opened;
use crate::{BufferState, Completion, Engine, EngineError, Errno, Operation, Request};

/// What one thread does with its files.
#[derive(Debug, Clone)]
pub struct FileWork {
    /// What each request does.
    pub operation: FileOperation,
    /// The folder of the run, which goes with the last thread.
    pub folder: Arc<FileFolder>,
    /// The thread's number.
    pub thread: u32,
    /// Whether it has a folder of its own within that of the run.
    pub has_own_folder: bool,
    /// Its number of files.
    pub files: u32,
    /// Bytes of each file.
    pub file_bytes: u32,
    /// Whether each change is made durable, file and folder, before it counts.
    pub is_durable: bool,
}

/// Opens the operations of one thread. Nothing is made before [`Engine::settle`].
pub fn open_files(work: FileWork) -> Opened {
    let within = work.folder.of_thread(work.thread, work.has_own_folder);
    let engine = Files {
        clock: Clock::new(),
        within,
        names: Vec::new(),
        is_renamed: Vec::new(),
        content: Vec::new(),
        opened: None,
        complete: Vec::with_capacity(1),
        work,
    };
    Opened { engine: Box::new(engine), name: EngineName::Sync, most_in_flight: 1, buffers: BufferState::default() }
}

/// Carries out each request at once.
// Aligned to two cache lines, which processors fetch together, so that lanes do not slow each other.
#[repr(align(128))]
struct Files {
    clock: Clock,
    work: FileWork,
    /// The folder that its files are in.
    within: PathBuf,
    /// Both paths of each file, and which of them it has.
    names: Vec<[PathBuf; 2]>,
    is_renamed: Vec<bool>,
    /// What each file holds.
    content: Vec<u8>,
    /// That folder, opened to make its names durable.
    opened: Option<File>,
    complete: Vec<Completion>,
}

impl Files {
    /// Makes the thread's folder, and the files that its operation needs.
    fn make(&mut self) -> io::Result<()> {
        let FileWork { operation, thread, has_own_folder, files, file_bytes, .. } = self.work;
        if has_own_folder {
            fs::create_dir(&self.within)?;
        }
        let first = u64::from(thread) * u64::from(files);
        let both = |number: u64| file_names(first + number).map(|name| self.within.join(name));
        self.names = (0..u64::from(files)).map(both).collect();
        self.is_renamed = vec![false; files as usize];
        // Not zeros, which some file systems do not keep.
        self.content = (0..file_bytes).map(|at| (at % 251) as u8 + 1).collect();
        if operation != FileOperation::Create {
            self.names.iter().try_for_each(|[name, _]| create(name, &self.content).map(drop))?;
        }
        self.opened = Some(File::open(&self.within)?);
        Ok(())
    }

    /// Carries out one operation on the file of this number.
    fn run(&mut self, number: usize) -> io::Result<()> {
        let [name, other] = &self.names[number];
        match self.work.operation {
            FileOperation::Create => {
                let file = create(name, &self.content)?;
                if self.work.is_durable {
                    file.sync_all()?;
                }
            }
            FileOperation::Stat => fs::symlink_metadata(name).map(drop)?,
            FileOperation::List => fs::read_dir(&self.within)?.try_for_each(|entry| entry.map(drop))?,
            FileOperation::Rename => {
                let renamed = &mut self.is_renamed[number];
                let (from, to) = if *renamed { (other, name) } else { (name, other) };
                fs::rename(from, to)?;
                *renamed = !*renamed;
            }
            FileOperation::Remove => fs::remove_file(name)?,
        }
        match &self.opened {
            Some(folder) if self.work.is_durable => folder.sync_all(),
            _ => Ok(()),
        }
    }
}

/// Makes a new file and fills it.
fn create(path: &Path, content: &[u8]) -> io::Result<File> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(content)?;
    Ok(file)
}

impl Engine for Files {
    fn now(&self) -> Nanos {
        Nanos(self.clock.now_ns())
    }

    fn settle(&mut self) -> Result<(), EngineError> {
        self.make().map_err(|error| EngineError::Call { call: "making the small files of the run", error })
    }

    fn submit(&mut self, batch: &[Request]) -> Result<(), EngineError> {
        for request in batch {
            let number = (request.offset / u64::from(self.work.file_bytes.max(1))) as usize;
            let result = if request.operation == Operation::Flush { Ok(()) } else { self.run(number) };
            let result = result.map(|()| request.length).map_err(|error| Errno::of(&error));
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

    const BYTES: u32 = 4096;

    /// The engine of thread 0 of a run in `place`, with four files.
    fn opened(place: &Path, operation: FileOperation, has_own_folder: bool) -> (Opened, PathBuf) {
        let folder = Arc::new(FileFolder::new_in(place).unwrap());
        let within = folder.of_thread(0, has_own_folder);
        let mut opened = open_files(FileWork {
            operation,
            folder,
            thread: 0,
            has_own_folder,
            files: 4,
            file_bytes: BYTES,
            is_durable: true,
        });
        opened.engine.settle().unwrap();
        (opened, within)
    }

    fn carry(opened: &mut Opened, number: u64) -> Result<u32, Errno> {
        let offset = number * u64::from(BYTES);
        let request = Request { slot: 0, operation: Operation::Write, offset, length: BYTES };
        let mut done = Vec::new();
        opened.engine.submit(&[request]).unwrap();
        opened.engine.reap(1, &mut done).unwrap();
        done[0].result
    }

    #[test]
    fn each_operation_does_what_its_name_says_and_all_goes_with_the_engine() {
        let place = Place::new("files-each");
        let names = |folder: &Path| fs::read_dir(folder).unwrap().count();
        for (operation, own, before, after) in [
            (FileOperation::Create, true, 0, 2),
            (FileOperation::Create, false, 0, 2),
            (FileOperation::Stat, true, 4, 4),
            (FileOperation::List, false, 4, 4),
            (FileOperation::Rename, true, 4, 4),
            (FileOperation::Remove, true, 4, 2),
        ] {
            let (mut opened, within) = opened(&place.0, operation, own);
            assert_eq!(names(&within), before, "{operation}");
            for number in [1, 3] {
                assert_eq!(carry(&mut opened, number), Ok(BYTES), "{operation}");
            }
            assert_eq!(names(&within), after, "{operation}");
            drop(opened);
            assert_eq!(names(&place.0), 0, "{operation} leaves nothing");
        }
    }

    #[test]
    fn a_file_that_is_renamed_again_gets_its_name_back_and_what_is_gone_is_an_error() {
        let place = Place::new("files-again");
        let (mut renames, within) = opened(&place.0, FileOperation::Rename, false);
        let has = |name: &str| within.join(name).exists();
        carry(&mut renames, 2).unwrap();
        assert!(has(&file_names(2)[1]) && !has(&file_names(2)[0]));
        carry(&mut renames, 2).unwrap();
        assert!(has(&file_names(2)[0]) && !has(&file_names(2)[1]));
        assert_eq!(fs::metadata(within.join(&file_names(2)[0])).unwrap().len(), u64::from(BYTES));
        let (mut removes, _) = opened(&place.0, FileOperation::Remove, true);
        carry(&mut removes, 0).unwrap();
        assert_eq!(carry(&mut removes, 0), Err(Errno(2)), "it is gone");
    }

    /// A folder of the test, removed at its end.
    struct Place(PathBuf);

    impl Place {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("halfpower-test-{name}-{}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }
    }

    impl Drop for Place {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}
