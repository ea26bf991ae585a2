//! Draws cryptographically secure random numbers.

use rustix::rand::{GetRandomFlags, getrandom};

/// `N` random bytes from the system, at most 256.
///
/// # Panics
/// If the system has no random numbers; the standard library's hash maps panic then too.
pub(crate) fn random<const N: usize>() -> [u8; N] {
    const { assert!(N <= 256, "no more come at once for certain") };
    let mut drawn = [0; N];
    let filled = getrandom(&mut drawn, GetRandomFlags::empty());
    assert_eq!(filled, Ok(N), "the system gives random numbers");
    drawn
}
