//! Checks that answers that are garbled on their way neither hang nor crash the client, nor take its memory.
//!
//! `HALFPOWER_FUZZ_CASES` sets the number of garbled messages per protocol in the laboratory.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use halfpower_share::{Access, Credentials, Op, PipelineSource, Share};
use halfpower_spec::{ShareAddress, ShareProtocol, Target};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use socket2::SockRef;

use crate::carrying::{Slots, carry, lane, orders};
use crate::memory_nfs::MemoryNfs;
use crate::memory_s3::{KEY, MemoryS3, SECRET, Store};
use crate::memory_smb::MemorySmb;

/// Far longer than a whole exchange may take: a client that takes longer hangs.
const HANGS: Duration = Duration::from_secs(120);
const SLOT_BYTES: u32 = 4096;
/// Number of clients at once; most of the time they wait for answers that do not come.
const CLIENTS: usize = 8;
/// After so many exchanges the bucket is emptied. Each that fails leaves objects and uploads, every later one lists all of
/// them, and a hundred thousand would only be waiting for long lists.
const TALKS_OF_A_BUCKET: u64 = 200;

/// Reproducible pseudo-random numbers (xorshift).
struct Chance(u64);

impl Chance {
    fn next(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below
    }
}

/// Starts a proxy to the server at `port` that garbles and counts answers; returns the proxy's port.
fn garbling(protocol: ShareProtocol, port: u16, seed: u64, garbled: &Arc<AtomicU64>) -> u16 {
    let listener = TcpListener::bind(("0.0.0.0", 0)).unwrap();
    let own = listener.local_addr().unwrap().port();
    let garbled = Arc::clone(garbled);
    std::thread::spawn(move || {
        for (number, client) in (0..).zip(listener.incoming().flatten().filter(is_waited_for)) {
            let Ok(server) = TcpStream::connect(("127.0.0.1", port)) else { continue };
            // Close without TIME_WAIT; otherwise the connections of one minute would take all ports.
            SockRef::from(&server).set_linger(Some(Duration::ZERO)).unwrap();
            let mut there = client.try_clone().unwrap();
            let mut back = server.try_clone().unwrap();
            std::thread::spawn(move || {
                let _ = std::io::copy(&mut there, &mut back);
                let _ = back.shutdown(Shutdown::Read);
            });
            let garbled = Arc::clone(&garbled);
            let chance = Chance(seed.wrapping_add(number * 0x9e37_79b9) | 1);
            std::thread::spawn(move || {
                let _ = match protocol {
                    ShareProtocol::S3 => texts(server, &client, chance, &garbled),
                    _ => answers(server, &client, chance, &garbled),
                };
                let _ = client.shutdown(Shutdown::Both);
            });
        }
    });
    own
}

/// Whether the client has not given up yet. On a busy machine, serving those that have would delay the others until
/// they give up too.
fn is_waited_for(client: &TcpStream) -> bool {
    let mut ends = [PollFd::new(client, PollFlags::RDHUP)];
    poll(&mut ends, Some(&Timespec::default())).is_ok_and(|gone| gone == 0)
}

/// How many answers are passed on unchanged at first: often none, seldom nearly all.
fn sound(chance: &mut Chance) -> u64 {
    chance.next(4) * chance.next(5)
}

/// Passes answers on: the first ones unchanged, then some of them changed.
fn answers(
    mut server: TcpStream,
    mut client: &TcpStream,
    mut chance: Chance,
    garbled: &AtomicU64,
) -> std::io::Result<()> {
    let sound = sound(&mut chance);
    for number in 0.. {
        let mut mark = [0; 4];
        server.read_exact(&mut mark)?;
        let mut message = vec![0; (u32::from_be_bytes(mark) & 0x7fff_ffff) as usize];
        server.read_exact(&mut message)?;
        if number >= sound && chance.next(3) > 0 {
            garbled.fetch_add(1, Ordering::Relaxed);
            garble(&mut mark, &mut message, &mut chance);
        }
        client.write_all(&[&mark[..], &message].concat())?;
    }
    Ok(())
}

/// The same for HTTP, whose answers are self-delimiting.
fn texts(
    mut server: TcpStream,
    mut client: &TcpStream,
    mut chance: Chance,
    garbled: &AtomicU64,
) -> std::io::Result<()> {
    let sound = sound(&mut chance);
    for number in 0.. {
        let mut message = Vec::new();
        while !message.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            server.read_exact(&mut byte)?;
            message.push(byte[0]);
        }
        let head = String::from_utf8_lossy(&message);
        let length = head.split("Content-Length: ").nth(1).and_then(|rest| rest.lines().next()?.parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        server.read_exact(&mut body)?;
        message.extend(body);
        if number >= sound && chance.next(3) > 0 {
            garbled.fetch_add(1, Ordering::Relaxed);
            garble(&mut [0; 4], &mut message, &mut chance);
        }
        client.write_all(&message)?;
    }
    Ok(())
}

fn garble(mark: &mut [u8; 4], message: &mut Vec<u8>, chance: &mut Chance) {
    let is_last = mark[0] & 0x80;
    match chance.next(8) {
        0 => *mark = (chance.next(1 << 32) as u32).to_be_bytes(),
        1 => message.truncate(chance.next(message.len() as u64 + 1) as usize),
        2 => message.extend((0..chance.next(300)).map(|byte| byte as u8)),
        3 => message.iter_mut().for_each(|byte| *byte = chance.next(256) as u8),
        _ => {
            // Change bytes where the heads and lengths are.
            let near = message.len().min(160) as u64;
            for _ in 0..=chance.next(4).min(near) {
                if let Some(byte) = message.get_mut(chance.next(near.max(1)) as usize) {
                    *byte = [0, 1, 0x7f, 0x80, 0xff, byte.wrapping_add(1)][chance.next(6) as usize];
                }
            }
        }
    }
    if chance.next(8) > 0 {
        *mark = (message.len() as u32).to_be_bytes();
        mark[0] |= is_last;
    }
}

/// Signs in, creates a file, writes, reads and flushes, as far as possible; returns the error that ended it.
fn talk(address: &ShareAddress, timeout: Duration) -> Option<String> {
    let (user, password) = match address.protocol {
        ShareProtocol::S3 => (KEY.to_string(), SECRET.to_string()),
        _ => ("ann".to_string(), "hidden-word".to_string()),
    };
    let credentials = Credentials { user, password, region: "r".to_string(), ..Credentials::default() };
    let access = Access { credentials, timeout, stop: Arc::default() };
    let said = || -> Result<(), String> {
        let mut share = Share::connect(address, &access).map_err(|error| error.to_string())?;
        share.free_bytes().map_err(|error| error.to_string())?;
        let mut pipeline = share.pipeline(lane(false, 4, SLOT_BYTES)).map_err(|error| error.to_string())?;
        let mut slots = Slots(vec![vec![1; SLOT_BYTES as usize]; 4]);
        let all = [Op::Write, Op::Read, Op::Write, Op::Flush, Op::Read, Op::Read, Op::Read];
        for op in all.into_iter().filter(|op| *op != Op::Flush || address.protocol.has_flush()) {
            carry(&mut pipeline, &mut slots, &orders(op, 4, SLOT_BYTES, 0))?;
        }
        Ok(())
    };
    said().err()
}

/// The server's address for an exchange. Toward one address, a used port is blocked for a minute, and NFS has only a
/// few hundred ports, so exchanges go round this machine's loopback addresses.
fn address(protocol: ShareProtocol, talk: u64, port: u16) -> ShareAddress {
    let host = format!("127.0.0.{}", 1 + talk % 250);
    let text = match protocol {
        ShareProtocol::Smb => format!("smb://ann@{host}:{port}/share"),
        ShareProtocol::Nfs => format!("nfs://{host}:{port}/export"),
        ShareProtocol::S3 => "s3://bucket/garbled".to_string(),
    };
    let Ok(Target::Share(address)) = Target::parse(&text, |_| Err(std::io::Error::other("none"))) else {
        panic!("{text}")
    };
    match protocol {
        ShareProtocol::S3 => {
            ShareAddress { endpoint: Some(format!("http://{host}:{port}").parse().unwrap()), ..address }
        }
        _ => address,
    }
}

/// Garbles answers until there were `messages`; returns how many there were.
fn survive(protocol: ShareProtocol, messages: u64) -> u64 {
    let smb = MemorySmb::start();
    let nfs = MemoryNfs::start();
    let s3 = MemoryS3::start();
    let port = match protocol {
        ShareProtocol::Smb => smb.port,
        ShareProtocol::Nfs => nfs.port,
        ShareProtocol::S3 => s3.port,
    };
    let garbled = Arc::new(AtomicU64::new(0));
    let port = garbling(protocol, port, 0x5eed + messages, &garbled);
    let (reported, heard) = mpsc::channel();
    let count = Arc::clone(&garbled);
    let talks = Arc::new(AtomicU64::new(0));
    let client = move || {
        while count.load(Ordering::Relaxed) < messages {
            let talk_number = talks.fetch_add(1, Ordering::Relaxed);
            // On a busy machine clients of little patience are gone before anybody hears them.
            let in_vain = talk_number / (4 * (count.load(Ordering::Relaxed) + 100));
            let timeout = Duration::from_millis(10 * (1 + in_vain).min(500));
            if reported.send(talk(&address(protocol, talk_number, port), timeout)).is_err() {
                return;
            }
        }
    };
    let clients: Vec<_> = (0..CLIENTS).map(|_| std::thread::spawn(client.clone())).collect();
    drop(client);
    let mut failed = 0;
    for ended in 1.. {
        if ended % TALKS_OF_A_BUCKET == 0 {
            *s3.store.lock().unwrap() = Store::default();
        }
        match heard.recv_timeout(HANGS) {
            Ok(Some(said)) => {
                assert!(said.contains("127.0.0.") && !said.contains("hidden-word"), "{said}");
                failed += 1;
            }
            Ok(None) => {}
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
            Err(mpsc::RecvTimeoutError::Timeout) => panic!("{protocol:?}: it hangs"),
        }
    }
    clients.into_iter().for_each(|client| client.join().expect("no panic"));
    let garbled = garbled.load(Ordering::Relaxed);
    assert!(garbled >= messages && failed > 0);
    garbled
}

#[test]
fn smb_survives_garbled_answers() {
    survive(ShareProtocol::Smb, 300);
}

#[test]
fn nfs_survives_garbled_answers() {
    survive(ShareProtocol::Nfs, 300);
}

#[test]
fn s3_survives_garbled_answers() {
    survive(ShareProtocol::S3, 300);
}

/// Tests for the laboratory.
mod lab {
    use halfpower_lab::Campaign;

    use super::*;

    /// Memory that clients and servers of all three protocols may have taken at most: answers and objects of a few MiB
    /// each, and no more however long they talk.
    const MOST_MEMORY_MIB: u64 = 1024;

    /// The most memory that this process has had.
    fn peak_mib() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() >> 10
    }

    fn survive_many(protocol: ShareProtocol, name: &str) {
        let messages = std::env::var("HALFPOWER_FUZZ_CASES").map_or(100_000, |text| text.parse().expect("a number"));
        let mut campaign = Campaign::new(name);
        campaign.tried = survive(protocol, messages);
        // A panic or a client that hangs has ended the test.
        campaign.survived = campaign.tried;
        let peak = peak_mib();
        println!("{peak} MiB at most");
        assert!(peak < MOST_MEMORY_MIB, "{peak} MiB");
        campaign.judge("faults");
    }

    #[test]
    #[ignore = "lab: 100,000 messages"]
    fn s3_survives_many_garbled_answers() {
        survive_many(ShareProtocol::S3, "garbled answers of S3");
    }

    #[test]
    #[ignore = "lab: 100,000 messages"]
    fn smb_survives_many_garbled_answers() {
        survive_many(ShareProtocol::Smb, "garbled answers of SMB");
    }

    #[test]
    #[ignore = "lab: 100,000 messages"]
    fn nfs_survives_many_garbled_answers() {
        survive_many(ShareProtocol::Nfs, "garbled answers of NFS");
    }
}
