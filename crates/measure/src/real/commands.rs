//! Says whether the target takes NVMe commands that pass the block layer by, and what goes with them.
//!
//! A target that is named by its generic device (`/dev/ng0n1`) is held as the block device beside it: all checks of what
//! must not be lost are those of the block device, which is claimed and laid out. Only the requests of runs take the
//! other way.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use halfpower_os::generic_device::disk_beside;
use halfpower_os::{DataFile, DeviceNumber, Namespace, OsError};
use halfpower_record::Ability;
use halfpower_spec::{Bytes, EngineName, Workload};

use crate::MeasureError;

/// How a member takes commands.
pub(super) struct CommandPath {
    /// The file or device that is held.
    path: PathBuf,
    /// Whether it was named by its generic device, so that nothing else than commands is sent to it.
    pub is_generic: bool,
    /// The namespace that takes them, or why there is none.
    pub namespace: Result<Namespace, String>,
}

impl CommandPath {
    /// That of opened data, which was named by its generic device or not.
    pub fn of(data: &DataFile, is_generic: bool) -> Self {
        let namespace = data.namespace().map_err(|error| match error {
            OsError::NoCommands { why, .. } => why,
            other => other.to_string(),
        });
        Self { path: data.path().to_path_buf(), is_generic, namespace }
    }
}

/// A path to be opened: the block device beside a generic device, and whether there is one.
///
/// # Errors
/// If the kernel has no block device beside it.
pub(super) fn place(path: &Path) -> Result<(PathBuf, bool), MeasureError> {
    let beside = disk_beside(path)?;
    let is_generic = beside.is_some();
    Ok((beside.unwrap_or_else(|| path.to_path_buf()), is_generic))
}

/// The workload with its engine, if that follows from the name of the target.
pub(super) fn settled<'a>(workload: &Workload, mut members: impl Iterator<Item = &'a CommandPath>) -> Workload {
    match workload.engine {
        EngineName::Auto if members.any(|member| member.is_generic) => {
            Workload { engine: EngineName::Commands, ..*workload }
        }
        _ => *workload,
    }
}

/// Checks that these members take the requests of a workload whose engine is settled, if they are commands, and nothing
/// else if they were named by their generic devices.
///
/// # Errors
/// What does not fit, why, and what to do.
pub(super) fn admit<'a>(
    workload: &Workload,
    mut members: impl Iterator<Item = &'a CommandPath>,
) -> Result<(), MeasureError> {
    let engine = workload.engine;
    let refuse = |what: String| Err(MeasureError::Unfit { what });
    if !engine.sends_commands() {
        return match members.find(|member| member.is_generic) {
            Some(member) => refuse(format!("--engine {engine}: {}", takes_commands_alone(&member.path))),
            None => Ok(()),
        };
    }
    let largest = workload.sizes().max().unwrap_or(workload.bs);
    for member in members {
        let path = member.path.display();
        match &member.namespace {
            Err(why) => return refuse(format!("--engine {engine}: commands cannot be sent to {path}: {why}")),
            Ok(namespace) if largest.0 > namespace.most_bytes => {
                let most = Bytes(namespace.most_bytes);
                return refuse(format!(
                    "--bs {largest}: a command moves {most} at most on {path} (queue/max_hw_sectors_kb, and a piece of memory \
                     for each 4 KiB of queue/max_segments): ask for that or less"
                ));
            }
            Ok(_) => {}
        }
    }
    Ok(())
}

fn takes_commands_alone(disk: &Path) -> String {
    let disk = disk.display();
    format!("the target is named by its generic device, which takes commands alone; name {disk} for other engines")
}

/// Abilities that members lack to which a study sends commands, with the reason; none if it sends others.
pub(super) fn unavailable<'a>(
    mut members: impl Iterator<Item = &'a CommandPath>,
    engine: EngineName,
) -> BTreeMap<Ability, String> {
    let generic = members.find(|member| member.is_generic);
    if generic.is_none() && !engine.sends_commands() {
        return BTreeMap::new();
    }
    let by_cache = "commands pass the page cache by";
    let by_layer = "commands pass the block layer by, and its tracepoints tell no place of them";
    let lacking = [
        (Ability::PageCache, by_cache),
        (Ability::WarmPageCache, by_cache),
        (Ability::DroppedPages, by_cache),
        (Ability::DurableBufferedWrites, by_cache),
        (Ability::AtomicWrites, "a command carries no flag of a system call, and none that makes it atomic"),
        (Ability::Layouts, "a namespace holds no files"),
        (Ability::Trace, by_layer),
    ];
    let mut lacking: BTreeMap<_, _> = lacking.map(|(ability, why)| (ability, why.to_string())).into();
    if let Some(member) = generic {
        let others = EngineName::ALL.iter().filter(|name| name.is_for_storage() && !name.sends_commands());
        let why = takes_commands_alone(&member.path);
        lacking.extend(others.map(|name| (Ability::Engine(*name), why.clone())));
    }
    lacking
}

/// Whether the counters of this device (a kernel name) tell of commands.
pub(super) fn are_counted(device: &str) -> bool {
    let number = std::fs::read_to_string(Path::new("/sys/block").join(device).join("dev"));
    number.ok().and_then(|text| DeviceNumber::parse(&text)).is_some_and(DeviceNumber::counts_commands)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_no_generic_device_and_takes_no_commands() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let (path, is_generic) = place(here).unwrap();
        assert_eq!((path.as_path(), is_generic), (here, false));
        let data = DataFile::unnamed_in(here).unwrap();
        let found = CommandPath::of(&data, false);
        assert!(found.namespace.as_ref().unwrap_err().contains("no NVMe namespace"));
        let by = |engine| Workload { engine, ..Workload::default() };
        let refused = admit(&by(EngineName::Commands), std::iter::once(&found)).unwrap_err().to_string();
        assert!(refused.contains("--engine io_uring_cmd") && refused.contains("/dev/nvme0n1"), "{refused}");
        assert!(admit(&by(EngineName::Sync), std::iter::once(&found)).is_ok());
        assert_eq!(settled(&by(EngineName::Auto), std::iter::once(&found)).engine, EngineName::Auto);
        assert!(unavailable(std::iter::once(&found), EngineName::Auto).is_empty());
        assert!(!are_counted("no-such-device"));
    }

    #[test]
    fn what_is_named_by_its_generic_device_gets_commands_and_nothing_else() {
        let path = PathBuf::from("/dev/nvme0n1");
        let found = CommandPath { path, is_generic: true, namespace: Err("not asked".to_string()) };
        let by = |engine| Workload { engine, ..Workload::default() };
        assert_eq!(settled(&by(EngineName::Auto), std::iter::once(&found)).engine, EngineName::Commands);
        for engine in [EngineName::Sync, EngineName::IoUring, EngineName::Pool, EngineName::Mmap] {
            assert_eq!(settled(&by(engine), std::iter::once(&found)).engine, engine);
            let refused = admit(&by(engine), std::iter::once(&found)).unwrap_err().to_string();
            assert!(refused.contains("takes commands alone; name /dev/nvme0n1"), "{refused}");
        }
        let lacking = unavailable(std::iter::once(&found), EngineName::Auto);
        for ability in [Ability::PageCache, Ability::Trace, Ability::Engine(EngineName::IoUring)] {
            assert!(lacking.contains_key(&ability), "{lacking:?}");
        }
        assert!(!lacking.contains_key(&Ability::Engine(EngineName::Commands)));
    }
}
