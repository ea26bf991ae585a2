//! Works out which call flushes between a job's writes, from fio's three counters.

use halfpower_spec::FlushCall;

/// Writes of a thread after which each of fio's calls flushes; 0 is never.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Flushes {
    pub(super) fsync: u32,
    pub(super) fdatasync: u32,
    pub(super) sync_file_range: u32,
}

impl Flushes {
    /// Whether any call flushes.
    pub(super) fn any(self) -> bool {
        self != Self::default()
    }

    /// The call that flushes, and after how many writes; `None` if none does.
    ///
    /// # Errors
    /// If several do: a run has one.
    pub(super) fn asked(self) -> Result<Option<(FlushCall, u32)>, String> {
        let Self { fsync, fdatasync, sync_file_range } = self;
        let mut asked =
            [(FlushCall::Fsync, fsync), (FlushCall::Fdatasync, fdatasync), (FlushCall::SyncFileRange, sync_file_range)]
                .into_iter()
                .filter(|(_, writes)| *writes > 0);
        match (asked.next(), asked.next()) {
            (Some((one, _)), Some((other, _))) => {
                Err(format!("{one}, {other}: a run flushes by one call; leave one of them out, or set it to 0"))
            }
            (one, _) => Ok(one),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_call_flushes_or_none() {
        let none = Flushes::default();
        assert_eq!((none.asked(), none.any()), (Ok(None), false));
        let one = Flushes { sync_file_range: 8, ..none };
        assert_eq!((one.asked(), one.any()), (Ok(Some((FlushCall::SyncFileRange, 8))), true));
        let two = Flushes { fsync: 1, fdatasync: 4, ..none };
        assert!(two.asked().unwrap_err().starts_with("fsync, fdatasync: "));
    }
}
