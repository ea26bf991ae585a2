//! Shuts the rest of the process out from all but the files that it was started for: Landlock for files and network,
//! seccomp for what a program that reads and writes files never calls.
//!
//! A study file, or another tool's result, may come from anybody. If a reader of ours had a fault that such a file could
//! use, it would still reach nothing but that file and the folder of its own output.

use std::collections::BTreeMap;
use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError, RulesetStatus,
};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule, TargetArch,
};

/// The newest Landlock that is asked for; an older kernel gives what it has.
const NEWEST: ABI = ABI::V5;

/// System calls that no reader of files makes.
const NEVER: &[libc::c_long] = &[
    libc::SYS_execve,
    libc::SYS_execveat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_fork,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_vfork,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_setns,
    libc::SYS_unshare,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_io_uring_setup,
    libc::SYS_userfaultfd,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_setuid,
    libc::SYS_setgid,
    libc::SYS_setresuid,
    libc::SYS_setresgid,
    libc::SYS_setreuid,
    libc::SYS_setregid,
    libc::SYS_setgroups,
    libc::SYS_open_by_handle_at,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
    libc::SYS_clock_settime,
    libc::SYS_settimeofday,
];

/// What became of the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sandboxed {
    /// Whether files and network are shut out, wholly or as far as the kernel can.
    pub files: bool,
    /// Whether system calls are.
    pub calls: bool,
}

/// From now on, this thread and those that it starts can read `files`, and make and change files in `folders`; nothing
/// else that has a path, and no network. What is open already stays so. A path that does not exist adds nothing.
///
/// A kernel that lacks the one or the other is no error: the answer says what holds.
pub fn enter<'a, 'b>(
    files: impl IntoIterator<Item = &'a Path>,
    folders: impl IntoIterator<Item = &'b Path>,
) -> Sandboxed {
    Sandboxed { files: shut_files(files, folders).unwrap_or(false), calls: shut_calls().is_some() }
}

fn shut_files<'a, 'b>(
    files: impl IntoIterator<Item = &'a Path>,
    folders: impl IntoIterator<Item = &'b Path>,
) -> Result<bool, RulesetError> {
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))?
        .handle_access(AccessNet::from_all(NEWEST))?
        .create()?;
    let read = files.into_iter().map(|path| (path, AccessFs::from_read(NEWEST) & !AccessFs::Execute));
    let read = read.map(|(path, access)| (PathFd::new(path), access));
    let write = folders.into_iter().map(|path| (PathFd::new(path), AccessFs::from_all(NEWEST) & !AccessFs::Execute));
    for (opened, access) in read.chain(write) {
        if let Ok(opened) = opened {
            rules = rules.add_rule(PathBeneath::new(opened, access))?;
        }
    }
    Ok(rules.restrict_self()?.ruleset != RulesetStatus::NotEnforced)
}

/// `None` if the kernel or the architecture has no such filter.
fn shut_calls() -> Option<()> {
    let architecture = TargetArch::try_from(std::env::consts::ARCH).ok()?;
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = NEVER.iter().map(|call| (*call, Vec::new())).collect();
    // Sockets of this machine alone: an output may be one.
    let is_foreign = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, libc::AF_UNIX as u64).ok()?;
    rules.insert(libc::SYS_socket, vec![SeccompRule::new(vec![is_foreign]).ok()?]);
    let refused = SeccompAction::Errno(libc::EPERM as u32);
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refused, architecture).ok()?;
    let program = BpfProgram::try_from(filter).ok()?;
    seccompiler::apply_filter(&program).ok()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::net::TcpStream;
    use std::process::Command;

    use super::*;

    /// What a sandbox holds, holds for its thread alone: each test has one of its own.
    #[test]
    fn what_was_named_can_be_reached_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let other = tempfile::tempdir().unwrap();
        let named = other.path().join("named");
        let beside = other.path().join("beside");
        fs::write(&named, "named").unwrap();
        fs::write(&beside, "beside").unwrap();
        let made = folder.path().join("made");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let Sandboxed { files, calls } = enter([named.as_path()], [folder.path()]);
                if !files || !calls {
                    return crate::skip("the kernel has no Landlock, or no seccomp");
                }
                assert_eq!(fs::read_to_string(&named).unwrap(), "named");
                assert!(fs::write(&named, "changed").is_err() && fs::remove_file(&named).is_err());
                assert!(fs::read_to_string(&beside).is_err() && fs::read("/etc/passwd").is_err());
                fs::write(&made, "made").unwrap();
                fs::rename(&made, folder.path().join("renamed")).unwrap();
                fs::remove_file(folder.path().join("renamed")).unwrap();
                assert!(Command::new("/bin/true").status().is_err(), "no program is started");
                assert!(TcpStream::connect(("127.0.0.1", 1)).unwrap_err().raw_os_error() == Some(libc::EPERM));
                // Threads that it starts are held as well.
                assert!(std::thread::spawn(|| fs::read("/etc/passwd").is_err()).join().unwrap());
            });
        });
        assert_eq!(fs::read_to_string(&named).unwrap(), "named");
        assert!(fs::read("/etc/passwd").is_ok(), "other threads are not");
    }
}
