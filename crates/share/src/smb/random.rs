//! Draws numbers that nobody can foretell.

use rustix::rand::{GetRandomFlags, getrandom};

/// So many bytes from the system, at most 256.
///
/// # Panics
/// Where the system has none, with which the standard library's maps do not work either.
pub(crate) fn random<const N: usize>() -> [u8; N] {
    const { assert!(N <= 256, "no more come at once for certain") };
    let mut drawn = [0; N];
    let filled = getrandom(&mut drawn, GetRandomFlags::empty());
    assert_eq!(filled, Ok(N), "the system gives random numbers");
    drawn
}
