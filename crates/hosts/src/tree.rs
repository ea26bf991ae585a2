//! Sends a value from process 0 to all, and gathers values of all on process 0, over a tree with process 0 at its root.
//!
//! The children of process r are 2r + 1 and 2r + 2, so no process receives from more than two others, however many
//! there are.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{HostsError, Ranks};

/// The parent of `rank`; `None` for the root.
pub(crate) fn above(rank: u32) -> Option<u32> {
    (rank > 0).then(|| (rank - 1) / 2)
}

/// The children of `rank`.
pub(crate) fn below(rank: u32, size: u32) -> impl Iterator<Item = u32> {
    let first = rank.saturating_mul(2).saturating_add(1);
    (first..first.saturating_add(2)).filter(move |child| *child < size)
}

/// Levels of the tree below its root.
pub(crate) fn depth(size: u32) -> u32 {
    size.max(1).ilog2()
}

/// Encodes a value as a message: JSON, deflated.
pub(crate) fn message<T: Serialize>(value: &T) -> Vec<u8> {
    let text = serde_json::to_string(value).expect("what is sent has a form in JSON");
    let mut deflater = DeflateEncoder::new(Vec::new(), Compression::fast());
    deflater.write_all(text.as_bytes()).expect("memory takes all");
    deflater.flush().expect("memory takes all");
    deflater.finish().expect("memory takes all")
}

/// Decodes a message that `rank` sent.
pub(crate) fn read<T: DeserializeOwned>(rank: u32, bytes: &[u8]) -> Result<T, HostsError> {
    let mut text = String::new();
    let inflated = DeflateDecoder::new(bytes).read_to_string(&mut text);
    let unread = |why: String| HostsError::Unread { rank, why };
    inflated.map_err(|error| unread(error.to_string()))?;
    serde_json::from_str(&text).map_err(|error| unread(error.to_string()))
}

/// Sends a value from process 0 to all and returns it on all; the other processes pass `None`.
///
/// # Errors
/// If a process is gone, or a message cannot be read.
pub fn tell<T: Serialize + DeserializeOwned>(ranks: &dyn Ranks, said: Option<T>) -> Result<T, HostsError> {
    let rank = ranks.rank();
    let size = ranks.size();
    let (bytes, said) = match (above(rank), said) {
        (Some(above), _) => {
            let bytes = ranks.receive(above)?;
            let said = read(above, &bytes)?;
            (bytes, said)
        }
        (None, Some(said)) => (message(&said), said),
        (None, None) => unreachable!("process 0 says what it tells"),
    };
    below(rank, size).try_for_each(|below| ranks.send(below, &bytes))?;
    Ok(said)
}

/// Joins the values of all processes, two at a time; returns the result on process 0, `None` elsewhere. The order of
/// joining depends only on the number of processes.
///
/// # Errors
/// If a process is gone, or a message cannot be read.
pub fn bring_together<T: Serialize + DeserializeOwned>(
    ranks: &dyn Ranks,
    own: T,
    mut join: impl FnMut(T, T) -> T,
) -> Result<Option<T>, HostsError> {
    let mut joined = own;
    for below in below(ranks.rank(), ranks.size()) {
        joined = join(joined, read(below, &ranks.receive(below)?)?);
    }
    match above(ranks.rank()) {
        None => Ok(Some(joined)),
        Some(above) => ranks.send(above, &message(&joined)).map(|()| None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_process_hangs_below_the_root_once() {
        for size in [1, 2, 3, 7, 8, 1000] {
            let mut seen = vec![0];
            seen.extend((0..size).flat_map(|rank| below(rank, size)));
            seen.sort_unstable();
            assert_eq!(seen, (0..size).collect::<Vec<_>>());
            assert!((1..size).all(|rank| below(above(rank).unwrap(), size).any(|below| below == rank)));
        }
        assert_eq!([1, 2, 4, 1024, 10_000].map(depth), [0, 1, 2, 10, 13]);
    }
}
