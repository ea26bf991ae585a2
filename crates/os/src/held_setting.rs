//! Holds a setting that is switched for a while: it is put back by its owner, or after a kill by the next start.

use std::io;
use std::path::Path;

use crate::setting::{Setting, put_back};
use crate::switched::{Note, Switched, block_identity, boot_identity};

/// A setting that may be switched until this is dropped, which puts it back.
#[derive(Debug)]
pub struct HeldSetting {
    /// The setting, then those that the kernel changes along with it, each with its value from before.
    before: Vec<(Setting, String)>,
    /// The note from which the next start puts them back if this process is killed.
    note: Option<Note>,
}

impl HeldSetting {
    /// Notes what a setting is now, before it is switched. `followers` are settings that the kernel may change along with
    /// it; those that cannot be read are left out. `device` is the folder in sysfs of the device that has them.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] if another process holds it, else if it cannot be read or noted.
    pub fn take(name: &str, setting: Setting, followers: Vec<Setting>, device: Option<&Path>) -> io::Result<Self> {
        Self::take_in(None, name, setting, followers, device)
    }

    /// As [`HeldSetting::take`], with its note in the given folder.
    ///
    /// # Errors
    /// As [`Self::take`].
    pub fn take_in(
        notes: Option<&Path>,
        name: &str,
        setting: Setting,
        followers: Vec<Setting>,
        device: Option<&Path>,
    ) -> io::Result<Self> {
        let now = setting.read()?;
        if now.contains('\n') {
            return Err(io::Error::other("it is no setting of one line"));
        }
        let mut before = vec![(setting, now)];
        before.extend(followers.into_iter().filter_map(|setting| {
            let now = setting.read().ok().filter(|now| !now.contains('\n'))?;
            Some((setting, now))
        }));
        let switched = Switched::Settings {
            boot: boot_identity(),
            device: device.map(Path::to_path_buf),
            identity: device.and_then(block_identity),
            before: before.clone(),
        };
        let note = match notes {
            Some(notes) => Note::write_in(notes, name, &switched),
            None => Note::write(name, &switched),
        };
        Ok(Self { before, note: Some(note?) })
    }

    /// The value from before.
    pub fn before(&self) -> &str {
        self.before.first().map_or("", |(_, value)| value)
    }

    /// Switches the setting.
    ///
    /// # Errors
    /// If the kernel refuses the value, or permission is missing.
    pub fn switch(&self, to: &str) -> io::Result<()> {
        self.before.first().map_or(Ok(()), |(setting, _)| setting.write(to))
    }

    /// Puts everything back as it was; it may be switched again.
    ///
    /// # Errors
    /// If the kernel refuses an old value.
    pub fn put_back(&self) -> io::Result<()> {
        match put_back(&self.before) {
            // A kernel may refuse what it has already.
            Err(error) if !self.is_as_before() => Err(error),
            _ => Ok(()),
        }
    }

    /// Whether everything is now as it was.
    pub fn is_as_before(&self) -> bool {
        self.before.iter().all(|(setting, value)| setting.read().ok().as_ref() == Some(value))
    }
}

impl Drop for HeldSetting {
    fn drop(&mut self) {
        let is_back = self.put_back().is_ok();
        if let Some(note) = self.note.take()
            && is_back
        {
            note.done();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::path::PathBuf;

    use super::*;
    use crate::switched::mend_in;

    /// A disk's queue, with a folder for notes.
    struct Queue {
        folder: tempfile::TempDir,
    }

    impl Queue {
        fn new() -> Self {
            let queue = Self { folder: tempfile::tempdir().unwrap() };
            fs::create_dir_all(queue.disk().join("queue")).unwrap();
            queue.set("scheduler", "none [mq-deadline] bfq");
            queue.set("nr_requests", "256");
            fs::write(queue.disk().join("wwid"), "naa.1").unwrap();
            queue
        }

        fn disk(&self) -> PathBuf {
            self.folder.path().join("sda")
        }

        fn notes(&self) -> PathBuf {
            self.folder.path().join("notes")
        }

        fn file(&self, name: &str) -> PathBuf {
            self.disk().join("queue").join(name)
        }

        fn set(&self, name: &str, value: &str) {
            fs::write(self.file(name), format!("{value}\n")).unwrap();
        }

        fn now(&self, name: &str) -> String {
            Setting::File(self.file(name)).read().unwrap()
        }

        fn take(&self) -> io::Result<HeldSetting> {
            let scheduler = Setting::File(self.file("scheduler"));
            let followers = vec![Setting::File(self.file("nr_requests")), Setting::File(self.file("absent"))];
            HeldSetting::take_in(Some(&self.notes()), "setting-sda-scheduler", scheduler, followers, Some(&self.disk()))
        }

        fn mend(&self) -> Vec<String> {
            mend_in(&self.notes(), &self.folder.path().join("block"), |_| Ok(false))
        }

        fn notes_left(&self) -> usize {
            fs::read_dir(self.notes()).unwrap().count()
        }

        /// What a killed process leaves: the note without its lock, and the setting switched.
        fn kill(&self, held: HeldSetting) {
            let note = fs::read(self.notes().join("setting-sda-scheduler")).unwrap();
            drop(held);
            fs::write(self.notes().join("setting-sda-scheduler"), note).unwrap();
            self.set("scheduler", "[none] mq-deadline bfq");
            self.set("nr_requests", "63");
        }
    }

    #[test]
    fn it_is_switched_and_put_back_with_what_followed_it() {
        let queue = Queue::new();
        let held = queue.take().unwrap();
        assert_eq!(held.before(), "mq-deadline");
        for _ in 0..2 {
            held.switch("none").unwrap();
            queue.set("nr_requests", "63");
            assert_eq!((queue.now("scheduler").as_str(), held.is_as_before()), ("none", false));
            held.put_back().unwrap();
            assert_eq!((queue.now("scheduler"), queue.now("nr_requests")), ("mq-deadline".into(), "256".into()));
        }
        assert_eq!(queue.take().unwrap_err().kind(), io::ErrorKind::WouldBlock);
        held.switch("none").unwrap();
        assert!(queue.mend().is_empty() && queue.now("scheduler") == "none", "its owner lives");
        drop(held);
        assert_eq!((queue.now("scheduler").as_str(), queue.notes_left()), ("mq-deadline", 0));
    }

    #[test]
    fn a_panic_puts_it_back() {
        let queue = Queue::new();
        let held = queue.take().unwrap();
        let panicked = catch_unwind(AssertUnwindSafe(move || {
            held.switch("bfq").unwrap();
            panic!("in the middle of a trial");
        }));
        assert!(panicked.is_err());
        assert_eq!((queue.now("scheduler").as_str(), queue.notes_left()), ("mq-deadline", 0));
    }

    #[test]
    fn what_a_killed_process_left_is_put_back_once_and_said() {
        let queue = Queue::new();
        queue.kill(queue.take().unwrap());
        let said = queue.mend();
        assert!(said.len() == 1 && said[0].contains("is `mq-deadline` again"), "{said:?}");
        assert_eq!((queue.now("scheduler"), queue.now("nr_requests")), ("mq-deadline".into(), "256".into()));
        assert_eq!((queue.notes_left(), queue.mend().len()), (0, 0));
    }

    #[test]
    fn another_device_of_the_same_name_and_one_that_is_gone_are_left_alone() {
        let queue = Queue::new();
        queue.kill(queue.take().unwrap());
        fs::write(queue.disk().join("wwid"), "naa.2").unwrap();
        assert_eq!((queue.mend().len(), queue.now("scheduler").as_str(), queue.notes_left()), (0, "none", 0));
        fs::write(queue.disk().join("wwid"), "naa.1").unwrap();
        queue.set("scheduler", "none [mq-deadline] bfq");
        queue.kill(queue.take().unwrap());
        fs::remove_dir_all(queue.disk()).unwrap();
        assert_eq!((queue.mend().len(), queue.notes_left()), (0, 0));
    }
}
