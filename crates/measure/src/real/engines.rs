//! Finds out which engines can drive the members of a target.

use std::collections::BTreeMap;

use halfpower_os::{DataFile, Mode};
use halfpower_record::Ability;
use halfpower_spec::{Cache, EngineName};

/// The cache mode to test each engine with: direct, or buffered for an engine that supports nothing else.
fn usual_cache(name: EngineName) -> Cache {
    if name == EngineName::Mmap { Cache::Both } else { Cache::Device }
}

/// Engines that cannot drive `files`, with the reason.
pub(crate) fn missing<'a>(files: impl Iterator<Item = &'a DataFile> + Clone) -> BTreeMap<Ability, String> {
    let for_storage = EngineName::ALL.iter().copied().filter(|name| name.is_for_storage());
    let why = |name: EngineName| {
        let mode = Mode { direct: usual_cache(name).direct(), ..Mode::default() };
        let asked = files.clone().try_for_each(|file| match file.reopen(mode) {
            Ok(run_file) => halfpower_engine::available(name, Some(&run_file)),
            // Without direct I/O, ask at least whether the kernel has the engine.
            Err(_) => halfpower_engine::available(name, None),
        });
        asked.err().map(|why| (Ability::Engine(name), why))
    };
    for_storage.filter_map(why).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn what_is_missing_is_what_the_engine_itself_refuses() {
        let file = DataFile::unnamed_in(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
        let missing = missing(std::iter::once(&file));
        for name in [EngineName::Sync, EngineName::Mmap] {
            assert!(!missing.contains_key(&Ability::Engine(name)), "{missing:?}");
        }
        for name in [EngineName::IoUring, EngineName::Sqpoll, EngineName::Libaio] {
            assert_eq!(missing.get(&Ability::Engine(name)).cloned(), halfpower_engine::available(name, None).err());
        }
    }
}
