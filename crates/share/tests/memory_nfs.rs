//! Serves one NFS export from memory. Every RPC program answers on the same port, so no port mapper is needed.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Pause between the bytes of an answer.
const SLOWLY: Duration = Duration::from_millis(5);

/// How it behaves once a file is read or written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mood {
    /// As it should.
    Well,
    /// Never answers.
    Silent,
    /// Answers with bytes that are not NFS.
    Garbage,
    /// Ends the connection.
    Gone,
    /// Has no space left.
    Full,
    /// Changes its verifier with each COMMIT, as after a restart.
    Restarted,
    /// Sends every answer a byte at a time.
    Trickle,
    /// Never answers anything.
    Mute,
    /// Gives handles of 4 KiB when it mounts, looks up, or creates.
    LongHandle(u32),
    /// Reads bring nothing.
    Empty,
    /// Answers the removal of a file with this status.
    Keeps(u32),
    /// Puts off so many removals, and then does what they ask for (NFS3ERR_JUKEBOX).
    PutsOff(u64),
}

/// A server that lives until the process ends.
pub struct MemoryNfs {
    pub port: u16,
    pub files: Arc<Mutex<BTreeMap<String, Vec<u8>>>>,
    mood: Arc<Mutex<Mood>>,
    /// Number of commits requested.
    pub commits: Arc<AtomicU64>,
    /// Number of stable writes.
    pub stable_writes: Arc<AtomicU64>,
    /// Number of removals requested.
    pub removals: Arc<AtomicU64>,
}

impl MemoryNfs {
    pub fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let server = Self {
            port: listener.local_addr().unwrap().port(),
            files: Arc::default(),
            mood: Arc::new(Mutex::new(Mood::Well)),
            commits: Arc::default(),
            stable_writes: Arc::default(),
            removals: Arc::default(),
        };
        let shared = server.share();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let server = shared.share();
                std::thread::spawn(move || server.serve(stream));
            }
        });
        server
    }

    pub fn address(&self) -> String {
        format!("nfs://127.0.0.1:{}/export", self.port)
    }

    pub fn be(&self, mood: Mood) {
        *self.mood.lock().unwrap() = mood;
    }

    fn share(&self) -> Self {
        Self {
            port: self.port,
            files: Arc::clone(&self.files),
            mood: Arc::clone(&self.mood),
            commits: Arc::clone(&self.commits),
            stable_writes: Arc::clone(&self.stable_writes),
            removals: Arc::clone(&self.removals),
        }
    }

    fn serve(&self, mut stream: TcpStream) -> Option<()> {
        stream.set_nodelay(true).ok()?;
        loop {
            let mut mark = [0; 4];
            stream.read_exact(&mut mark).ok()?;
            let mut call = vec![0; (u32::from_be_bytes(mark) & 0x7fff_ffff) as usize];
            stream.read_exact(&mut call).ok()?;
            let mut words = Words(&call);
            let xid = words.next()?;
            words.take(8)?;
            let program = words.next()?;
            words.next()?;
            let procedure = words.next()?;
            (0..2).try_for_each(|_| {
                words.next()?;
                words.opaque().map(drop)
            })?;
            let mood = *self.mood.lock().unwrap();
            let is_data = program == 100_003 && matches!(procedure, 6 | 7 | 21);
            match mood {
                Mood::Silent if is_data => std::thread::park(),
                Mood::Mute => std::thread::park(),
                Mood::Gone if is_data => return None,
                Mood::Garbage if is_data => {
                    stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").ok()?;
                    continue;
                }
                _ => {}
            }
            let mut reply: Vec<u8> = [xid, 1, 0, 0, 0].iter().flat_map(|word| word.to_be_bytes()).collect();
            match (program, procedure) {
                (100_005, 1) => mount(&mut words, &mut reply, mood)?,
                (100_003, procedure) => self.nfs(procedure, &mut words, &mut reply, mood)?,
                _ => put(&mut reply, &[1]),
            }
            let whole = [&(0x8000_0000 | reply.len() as u32).to_be_bytes()[..], &reply].concat();
            for part in whole.chunks(if mood == Mood::Trickle { 1 } else { whole.len() }) {
                stream.write_all(part).ok()?;
                std::thread::sleep(if mood == Mood::Trickle { SLOWLY } else { Duration::ZERO });
            }
        }
    }

    fn nfs(&self, procedure: u32, words: &mut Words, reply: &mut Vec<u8>, mood: Mood) -> Option<()> {
        put(reply, &[0]);
        let handle = String::from_utf8(words.opaque()?.to_vec()).ok()?;
        let mut files = self.files.lock().unwrap();
        match procedure {
            8 => {
                let name = String::from_utf8(words.opaque()?.to_vec()).ok()?;
                if files.contains_key(&name) {
                    put(reply, &[17, 0, 0]);
                    return Some(());
                }
                put(reply, &[0, 1]);
                opaque(reply, &handle_of(name.as_bytes(), mood, 8));
                put(reply, &[0, 0, 0]);
                files.insert(name, Vec::new());
            }
            3 => {
                put(reply, &[0]);
                opaque(reply, &handle_of(b"root", mood, 3));
                put(reply, &[0, 0]);
            }
            12 => {
                let number = self.removals.fetch_add(1, Ordering::Relaxed);
                let status = match mood {
                    Mood::Keeps(status) => status,
                    Mood::PutsOff(most) if number < most => 10_008,
                    _ => u32::from(files.remove(std::str::from_utf8(words.opaque()?).ok()?).is_none()) * 2,
                };
                put(reply, &[status, 0, 0]);
            }
            // One name an answer: the cookie is the number of those before it.
            17 => {
                let cookie = words.long()? as usize;
                let entry = files.keys().nth(cookie);
                put(reply, &[0, 0, 0, 7, u32::from(entry.is_some())]);
                if let Some(name) = entry {
                    let cookie = cookie as u32 + 1;
                    put(reply, &[0, cookie]);
                    opaque(reply, name.as_bytes());
                    put(reply, &[0, cookie, 1]);
                    // Files of two days ago are those whose names end so.
                    let changed = if name.ends_with("01d01d01") { 1_000_000 } else { 1_200_000 };
                    let own = std::fs::metadata("/proc/self").map(|own| std::os::unix::fs::MetadataExt::uid(&own));
                    let owner = if name.contains("theirs") { u32::MAX } else { own.unwrap() };
                    put(reply, &[1, 0o600, 1, owner, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, changed, 0, 0, 0]);
                    put(reply, &[0, 0]);
                }
                put(reply, &[u32::from(cookie + 1 >= files.len())]);
            }
            // No attributes; 8 GiB free here, and requests of up to 1 MiB below.
            18 => put(reply, &[0, 0, 2, 0, 2, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0]),
            19 => put(reply, &[0, 0, 1 << 20, 1 << 20, 512, 1 << 20, 1 << 20, 512, 4096, 0, 0, 0, 0, 0]),
            6 => {
                let offset = words.long()? as usize;
                let count = words.next()? as usize;
                let file = files.get(&handle)?;
                let end = (offset + count).min(file.len());
                let bytes = file.get(offset..end).filter(|_| mood != Mood::Empty).unwrap_or_default();
                put(reply, &[0, 0, bytes.len() as u32, u32::from(end == file.len())]);
                opaque(reply, bytes);
            }
            7 => {
                let offset = words.long()? as usize;
                let count = words.next()?;
                let stable = words.next()?;
                let bytes = words.opaque()?;
                if mood == Mood::Full {
                    put(reply, &[28, 0, 0]);
                    return Some(());
                }
                let file = files.get_mut(&handle)?;
                file.resize(file.len().max(offset + bytes.len()), 0);
                file[offset..offset + bytes.len()].copy_from_slice(bytes);
                self.stable_writes.fetch_add(u64::from(stable == 2), Ordering::Relaxed);
                put(reply, &[0, 0, 0, count, stable, 7, 7]);
            }
            21 => {
                let number = self.commits.fetch_add(1, Ordering::Relaxed) as u32;
                put(reply, &[0, 0, 0, 7, if mood == Mood::Restarted { 100 + number } else { 7 }]);
            }
            _ => return None,
        }
        Some(())
    }
}

/// A handle, longer than it may be if it is that procedure's turn.
fn handle_of(name: &[u8], mood: Mood, procedure: u32) -> Vec<u8> {
    if mood == Mood::LongHandle(procedure) { vec![9; 4096] } else { name.to_vec() }
}

fn mount(words: &mut Words, reply: &mut Vec<u8>, mood: Mood) -> Option<()> {
    put(reply, &[0]);
    if words.opaque()? == b"/export" {
        put(reply, &[0]);
        opaque(reply, &handle_of(b"root", mood, 1));
        put(reply, &[0]);
    } else {
        put(reply, &[2]);
    }
    Some(())
}

fn put(reply: &mut Vec<u8>, words: &[u32]) {
    words.iter().for_each(|word| reply.extend(word.to_be_bytes()));
}

fn opaque(reply: &mut Vec<u8>, bytes: &[u8]) {
    put(reply, &[bytes.len() as u32]);
    reply.extend(bytes);
    reply.resize(reply.len().next_multiple_of(4), 0);
}

struct Words<'a>(&'a [u8]);

impl<'a> Words<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (front, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(front)
    }

    fn next(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.take(4)?.try_into().ok()?))
    }

    fn long(&mut self) -> Option<u64> {
        Some(u64::from_be_bytes(self.take(8)?.try_into().ok()?))
    }

    fn opaque(&mut self) -> Option<&'a [u8]> {
        let count = self.next()? as usize;
        let bytes = self.take(count)?;
        self.take(count.next_multiple_of(4) - count)?;
        Some(bytes)
    }
}
