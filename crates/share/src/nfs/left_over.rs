//! Removes the files that killed processes of ours left in a folder of an NFS server.

use std::time::Duration;

use super::file::{NfsFile, NfsShare, REMOVE, uid};
use super::requests::MOST_HANDLE;
use crate::bytes::{Reader, Writer};
use crate::own_names::is_left_over;
use crate::protocol::Outcome;

const READDIRPLUS: u32 = 17;
/// Bytes of names, and of whole answers, that the server may send at once.
const NAMES_BYTES: u32 = 8 << 10;
const ANSWER_BYTES: u32 = 32 << 10;
/// Answers after which the rest of a large folder is not looked at.
const MOST_ANSWERS: u32 = 64;
/// Bytes of a file's attributes (RFC 1813, `fattr3`).
const ATTRIBUTES: usize = 84;
/// Bytes of a name at most; longer ones are nobody's of ours.
const MOST_NAME: usize = 1 << 12;
/// Type of a regular file, the first of these attributes.
const REGULAR: u32 = 1;

/// A name in a folder.
struct Entry {
    name: String,
    cookie: u64,
    /// Owner, and the time of the last change in nanoseconds; `None` if the server did not tell, or for another kind.
    file: Option<(u32, u64)>,
}

/// One answer of the server.
struct Answer {
    verifier: u64,
    entries: Vec<Entry>,
    is_last: bool,
}

impl NfsShare {
    /// Removes files of our names and our user whose owners are gone; `own` was just created and gives the server's
    /// time. What cannot be listed or removed stays: another study tries again.
    pub(crate) fn remove_left_over(&mut self, own: &NfsFile) {
        let Ok(files) = self.files() else { return };
        let Some(now_ns) = files.iter().find(|file| file.0 == own.name).map(|file| file.1) else { return };
        let age = |changed_ns: u64| Duration::from_nanos(now_ns.saturating_sub(changed_ns));
        for (name, _) in
            files.iter().filter(|(name, changed_ns)| *name != own.name && is_left_over(name, age(*changed_ns)))
        {
            let mut arguments = Writer::default();
            arguments.opaque(&self.folder);
            arguments.opaque(name.as_bytes());
            if let Ok(0) = self.nfs.call(REMOVE, &arguments.0, |reader| reader.be32()) {
                let address = &self.peer.address;
                crate::told::tell(&format!(
                    "halfpower: {address}: removed {name}, which a killed halfpower left there"
                ));
            }
        }
    }

    /// Names and times of the last change of this user's regular files.
    fn files(&mut self) -> Outcome<Vec<(String, u64)>> {
        let mut files = Vec::new();
        let (mut cookie, mut verifier) = (0, 0);
        for _ in 0..MOST_ANSWERS {
            let mut arguments = Writer::default();
            arguments.opaque(&self.folder);
            arguments.all(&u64::to_be_bytes(cookie));
            arguments.all(&u64::to_be_bytes(verifier));
            arguments.be32(NAMES_BYTES);
            arguments.be32(ANSWER_BYTES);
            let Some(answer) = self.nfs.call(READDIRPLUS, &arguments.0, answer)? else { break };
            let Some(last) = answer.entries.last() else { break };
            (cookie, verifier) = (last.cookie, answer.verifier);
            let own = answer.entries.into_iter().filter_map(|entry| Some((entry.name, entry.file?)));
            files.extend(
                own.filter(|(_, (owner, _))| *owner == uid()).map(|(name, (_, changed_ns))| (name, changed_ns)),
            );
            if answer.is_last {
                break;
            }
        }
        Ok(files)
    }
}

/// Reads an answer to READDIRPLUS: `Some(None)` if the server refused, `None` if the answer ends too early.
fn answer(reader: &mut Reader<'_>) -> Option<Option<Answer>> {
    let status = reader.be32()?;
    attributes(reader)?;
    if status != 0 {
        return Some(None);
    }
    let verifier = reader.be64()?;
    let mut entries = Vec::new();
    while reader.be32()? != 0 {
        reader.be64()?;
        let name = String::from_utf8_lossy(reader.opaque(MOST_NAME)?).into_owned();
        let cookie = reader.be64()?;
        let file = attributes(reader)?;
        if reader.be32()? != 0 {
            reader.opaque(MOST_HANDLE)?;
        }
        entries.push(Entry { name, cookie, file });
    }
    Some(Some(Answer { verifier, entries, is_last: reader.be32()? != 0 }))
}

/// Owner and time of the last change, if there are attributes and they are of a regular file.
fn attributes(reader: &mut Reader<'_>) -> Option<Option<(u32, u64)>> {
    if reader.be32()? == 0 {
        return Some(None);
    }
    let mut attributes = Reader(reader.take(ATTRIBUTES)?);
    let kind = attributes.be32()?;
    // Mode and number of links.
    attributes.take(8)?;
    let owner = attributes.be32()?;
    // Group, size, used bytes, device, file system, number, and the time of the last reading.
    attributes.take(4 + 8 + 8 + 8 + 8 + 8 + 8)?;
    let changed_ns = u64::from(attributes.be32()?) * 1_000_000_000 + u64::from(attributes.be32()?);
    Some((kind == REGULAR).then_some((owner, changed_ns)))
}
