//! Says whether the target takes what single requests can ask for: that their pages are dropped after use, and that a
//! write is atomic.

use std::collections::BTreeMap;

use halfpower_os::{AtomicSizes, DataFile};
use halfpower_record::Ability;
use halfpower_spec::{Bytes, Workload, WorkloadOptions};

use super::member::Member;
use super::run_volume::{RunLayout, RunVolume};
use crate::MeasureError;

const NOWHERE: &str = "there is no storage here";
const DROPS_NOTHING: &str = "its kernel or file system drops no pages after use (RWF_DONTCACHE: from Linux 6.14 on, files of \
                             XFS, ext4 and btrfs)";
const NONE_ATOMIC: &str = "its device or file system offers no atomic writes (statx tells no sizes of any; it takes Linux \
                           6.11, a drive that has them, and XFS, ext4 or the device itself)";

/// Abilities that these files lack, with the reason.
pub(super) fn unavailable<'a>(files: impl Iterator<Item = &'a DataFile> + Clone) -> BTreeMap<Ability, String> {
    let refusals =
        [(Ability::DroppedPages, drops_pages(files.clone()).err()), (Ability::AtomicWrites, atomic_sizes(files).err())];
    refusals.into_iter().filter_map(|(ability, why)| Some((ability, why?))).collect()
}

/// Checks that these members take what each request of `workload` asks for.
///
/// # Errors
/// Which flag they do not take, why, and what to do.
pub(super) fn admit(workload: &Workload, members: &[Member], volume: RunVolume) -> Result<(), MeasureError> {
    let WorkloadOptions { uncached, atomic, .. } = workload.options;
    let files = members.iter().map(Member::reached);
    if uncached && let Err(why) = drops_pages(files.clone()) {
        return Err(MeasureError::Unfit {
            what: format!("--uncached: this target does not take it: {why}; leave it out"),
        });
    }
    if !atomic {
        return Ok(());
    }
    let misfit = match atomic_sizes(files) {
        Ok(sizes) => misfit_of_size(workload.bs, sizes, volume),
        Err(why) => Some(format!("this target takes none: {why}; leave it out")),
    };
    misfit.map_or(Ok(()), |what| Err(MeasureError::Unfit { what: format!("--atomic: {what}") }))
}

/// Why writes of `bs` bytes cannot be atomic on a target that takes these sizes; `None` if they can.
fn misfit_of_size(bs: Bytes, sizes: AtomicSizes, volume: RunVolume) -> Option<String> {
    let [least, most] = [sizes.least_bytes, sizes.most_bytes].map(|bytes| Bytes(bytes.into()));
    if !sizes.admit(bs.0) {
        return Some(format!(
            "this target takes atomic writes of {least} to {most}, and --bs {bs} is none of these: choose such a power of two"
        ));
    }
    match volume.layout {
        RunLayout::Stripe(chunk) if !chunk.0.is_multiple_of(bs.0) => Some(format!(
            "chunks of {chunk} cut writes of --bs {bs}, and each part would be atomic alone: let chunk be a multiple of it"
        )),
        _ => None,
    }
}

fn drops_pages<'a>(files: impl Iterator<Item = &'a DataFile>) -> Result<(), String> {
    let mut files = files.peekable();
    if files.peek().is_none() {
        return Err(NOWHERE.to_string());
    }
    let lacks = |file: &'a DataFile| match file.drops_pages() {
        Ok(true) => None,
        Ok(false) => Some(DROPS_NOTHING.to_string()),
        Err(error) => Some(error.to_string()),
    };
    files.find_map(lacks).map_or(Ok(()), Err)
}

/// The sizes of atomic writes that all of these files take.
fn atomic_sizes<'a>(files: impl Iterator<Item = &'a DataFile>) -> Result<AtomicSizes, String> {
    let mut files = files.peekable();
    if files.peek().is_none() {
        return Err(NOWHERE.to_string());
    }
    let mut each = files.map(DataFile::atomic_sizes);
    let first = each.next().flatten();
    let common = each.fold(first, |common, sizes| common?.common(sizes?));
    common.ok_or_else(|| NONE_ATOMIC.to_string())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn what_a_file_in_memory_lacks_is_told_with_its_reason() {
        let Ok(file) = DataFile::unnamed_in(Path::new("/dev/shm")) else {
            return eprintln!("left out: there is no /dev/shm to write to");
        };
        let lacking = unavailable(std::iter::once(&file));
        assert!(lacking[&Ability::DroppedPages].contains("RWF_DONTCACHE"), "{lacking:?}");
        assert!(lacking[&Ability::AtomicWrites].contains("statx"), "{lacking:?}");
        let nowhere = unavailable(std::iter::empty());
        assert_eq!(nowhere[&Ability::DroppedPages], NOWHERE);
    }
}
