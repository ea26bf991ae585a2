//! Sets the I/O priority of threads.

use std::io;
use std::thread;

/// Names a single thread; 0 is then the calling one (`IOPRIO_WHO_PROCESS`).
const OF_A_THREAD: libc::c_int = 1;
/// The bit from which on a priority has its class.
const CLASS_FROM: u32 = 13;

/// Gives the calling thread this I/O priority, in the kernel's form: the class from bit 13 on, a hint from bit 3 on, and
/// the level. Threads that it starts from then on have it too.
///
/// # Errors
/// If the kernel refuses it, such as the realtime class to those without CAP_SYS_NICE and CAP_SYS_ADMIN.
pub fn set_for_this_thread(bits: i32) -> io::Result<()> {
    // SAFETY: the call takes three numbers and touches no memory of ours.
    let refused = unsafe { libc::syscall(libc::SYS_ioprio_set, OF_A_THREAD, 0, bits) };
    if refused == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The calling thread's I/O priority, in the same form.
///
/// # Errors
/// If the kernel does not tell it.
pub fn of_this_thread() -> io::Result<i32> {
    // SAFETY: the call takes two numbers and touches no memory of ours.
    let bits = unsafe { libc::syscall(libc::SYS_ioprio_get, OF_A_THREAD, 0) };
    i32::try_from(bits).ok().filter(|bits| *bits >= 0).ok_or_else(io::Error::last_os_error)
}

/// Whether threads of this process may have this I/O priority; no thread that goes on gets it.
///
/// # Errors
/// Why not.
pub fn may_have(bits: i32) -> io::Result<()> {
    let tried = thread::Builder::new().name("io priority".to_string()).spawn(move || set_for_this_thread(bits))?;
    tried.join().unwrap_or_else(|_| Err(io::Error::other("the thread that tried it was lost")))
}

/// Calls `work` with this I/O priority of the calling thread, so that threads started in it have it too. Afterwards the
/// thread has the priority that it had before.
///
/// # Errors
/// If the kernel refuses it.
pub fn with<T>(bits: i32, work: impl FnOnce() -> T) -> io::Result<T> {
    let before = of_this_thread()?;
    set_for_this_thread(bits)?;
    let result = work();
    set_for_this_thread(as_taken(before))?;
    Ok(result)
}

/// A priority that the kernel told, as it takes it. Of a thread that has set none, kernels before 6.0 tell a level without a
/// class, which they refuse.
fn as_taken(told: i32) -> i32 {
    let has_class = told >> CLASS_FROM != 0;
    if has_class { told } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Best effort, level 7.
    const LOW: i32 = 2 << 13 | 7;

    #[test]
    fn what_is_told_of_a_thread_without_a_class_is_taken_back() {
        assert_eq!([4, 0, LOW, 1 << 13].map(as_taken), [0, 0, LOW, 1 << 13]);
    }

    #[test]
    fn threads_started_meanwhile_have_it_and_this_one_has_its_own_again() {
        // Who starts the tests may have given them a low priority, too.
        let other = if of_this_thread().unwrap() == LOW { LOW - 1 } else { LOW };
        let of_another = || thread::spawn(|| of_this_thread().unwrap()).join().unwrap();
        assert_eq!(with(other, of_another).unwrap(), other);
        // What is told of a thread that has set none is of the kernel's making, and may have another form afterwards.
        assert_ne!(of_this_thread().unwrap(), other);
        may_have(other).unwrap();
        assert_ne!(of_this_thread().unwrap(), other, "who asks whether it may keeps its own");
        assert!(may_have(7 << 13).is_err(), "there is no such class");
    }
}
