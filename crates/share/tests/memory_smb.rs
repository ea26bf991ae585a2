//! Serves one SMB share from memory: to guests, or to one user who may sign and encrypt. Has only as much NTLM as these
//! need.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::memory_smb_keys::{Came, SessionKeys};

const SUCCESS: u32 = 0;
const MORE_PROCESSING: u32 = 0xC000_0016;
const END_OF_FILE: u32 = 0xC000_0011;
const COLLISION: u32 = 0xC000_0035;
const FULL: u32 = 0xC000_007F;
const BAD_NAME: u32 = 0xC000_00CC;
const NOT_SUPPORTED: u32 = 0xC000_00BB;
const PENDING: u32 = 0x103;
/// Commands.
pub const SIGN_IN: u16 = 1;
pub const CREATE: u16 = 5;
pub const CLOSE: u16 = 6;
pub const READ: u16 = 8;
pub const WRITE: u16 = 9;
const CONFIRM: u16 = 11;
/// Tree and session of each answer.
const TREE: u32 = 5;
const SESSION: u64 = 77;
/// Pause between bytes, or between messages that say nothing.
const SLOWLY: Duration = Duration::from_millis(5);
const HEAD: usize = 64;
/// Free bytes: 2^20 units of 8 sectors of 1024 bytes.
const FREE: [u32; 2] = [8, 1024];

/// A server that lives until the process ends.
#[derive(Clone)]
pub struct MemorySmb {
    pub port: u16,
    pub files: Arc<Mutex<BTreeMap<String, Vec<u8>>>>,
    /// Number of flushes requested.
    pub flushes: Arc<AtomicU64>,
    /// Number of writes with the write-through flag.
    pub durable_writes: Arc<AtomicU64>,
    /// Whether its disk is full.
    pub full: Arc<Mutex<bool>>,
    /// The user that it serves, and what it offers.
    user: Option<KnownUser>,
    twist: Arc<Mutex<Twist>>,
    /// Number of reads and writes that came signed, and of those that came encrypted.
    pub signed: Arc<AtomicU64>,
    pub encrypted: Arc<AtomicU64>,
}

/// What it does wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Twist {
    /// Nothing.
    None,
    /// It says for ever that the answer to this command takes longer.
    Pending(u16),
    /// It sends the answer to this command a byte at a time.
    Trickle(u16),
    /// It never answers this command.
    Silent(u16),
    /// Answers to this command name another command, session or share.
    OtherCommand(u16),
    OtherSession(u16),
    OtherTree(u16),
    /// The data of reads lie in the head.
    DataInHead,
    /// Reads bring nothing.
    Empty,
    /// Asked to confirm the negotiation, it names SMB 3.1.1, does not sign, does not know the question, or ends the
    /// connection.
    ConfirmsAnother,
    ConfirmsUnsigned,
    KnowsNoConfirmation,
    EndsWhenAsked,
}

/// A server for the user ann alone.
#[derive(Debug, Clone, Copy)]
pub struct KnownUser {
    /// SMB 2.1 or 3.0.
    pub dialect: u16,
    pub offers_encryption: bool,
    /// Whether the share requires encryption.
    pub wants_encryption: bool,
}

/// One connection: the names of open files by number, and of those that are removed when it ends.
#[derive(Default)]
struct Session {
    open: Vec<String>,
    own: Vec<String>,
    keys: Option<SessionKeys>,
}

impl MemorySmb {
    pub fn start() -> Self {
        Self::serving(None)
    }

    pub fn serving(user: Option<KnownUser>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let server = Self {
            port: listener.local_addr().unwrap().port(),
            files: Arc::default(),
            flushes: Arc::default(),
            durable_writes: Arc::default(),
            full: Arc::default(),
            user,
            twist: Arc::new(Mutex::new(Twist::None)),
            signed: Arc::default(),
            encrypted: Arc::default(),
        };
        let shared = server.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let server = shared.clone();
                std::thread::spawn(move || {
                    let mut session = Session::default();
                    let _ = server.serve(stream, &mut session);
                    let mut files = server.files.lock().unwrap();
                    session.own.iter().for_each(|name| drop(files.remove(name)));
                });
            }
        });
        server
    }

    pub fn be(&self, twist: Twist) {
        *self.twist.lock().unwrap() = twist;
    }

    fn serve(&self, mut stream: TcpStream, session: &mut Session) -> Option<()> {
        stream.set_nodelay(true).ok()?;
        loop {
            let mut mark = [0; 4];
            stream.read_exact(&mut mark).ok()?;
            let mut request = vec![0; u32::from_be_bytes(mark) as usize];
            stream.read_exact(&mut request).ok()?;
            let came = session.keys.as_ref().map_or(Some(Came::Plain), |keys| keys.open(&mut request))?;
            self.count(&request, came);
            let twist = *self.twist.lock().unwrap();
            let command = u16_at(&request, 12)?;
            let asked = command == CONFIRM;
            match twist {
                Twist::Silent(of) if of == command => std::thread::park(),
                Twist::EndsWhenAsked if asked => return None,
                _ => {}
            }
            while twist == Twist::Pending(command) {
                let pending = [head_of(&request, PENDING, twist)?, vec![9, 0, 0, 0, 0, 0, 0, 0, 0]].concat();
                stream.write_all(&[&(pending.len() as u32).to_be_bytes()[..], &pending].concat()).ok()?;
                std::thread::sleep(SLOWLY);
            }
            let (status, body) = match (asked, came) {
                // This question is worth nothing unless it is signed.
                (true, Came::Plain) => return None,
                (true, _) => self.confirmed(twist),
                _ => self.answer(&request, session)?,
            };
            let answer = [head_of(&request, status, twist)?, body].concat();
            let answer = match &mut session.keys {
                Some(keys) if !(asked && twist == Twist::ConfirmsUnsigned) => keys.close(answer, came),
                _ => answer,
            };
            let whole = [&(answer.len() as u32).to_be_bytes()[..], &answer].concat();
            let part = if twist == Twist::Trickle(command) { 1 } else { whole.len() };
            for part in whole.chunks(part) {
                stream.write_all(part).ok()?;
                std::thread::sleep(if part.len() == 1 { SLOWLY } else { Duration::ZERO });
            }
        }
    }

    /// What the negotiation had said, as an answer to FSCTL_VALIDATE_NEGOTIATE_INFO.
    fn confirmed(&self, twist: Twist) -> (u32, Vec<u8>) {
        if twist == Twist::KnowsNoConfirmation {
            return (NOT_SUPPORTED, vec![9, 0, 0, 0, 0, 0, 0, 0, 0]);
        }
        let mut body = words(&[49, 0, 0x0204, 0x0014]);
        body.extend([0xff; 16]);
        let at = HEAD as u32 + 48;
        [at, 0, at, 24, 0, 0].iter().for_each(|word: &u32| body.extend(word.to_le_bytes()));
        let dialect = if twist == Twist::ConfirmsAnother { 0x0311 } else { dialect(self.user) };
        body.extend(capabilities(self.user).to_le_bytes());
        body.extend([7; 16]);
        body.extend(words(&[1, dialect]));
        (SUCCESS, body)
    }

    fn count(&self, request: &[u8], came: Came) {
        let is_io = u16_at(request, 12).is_some_and(|command| matches!(command, 8 | 9));
        let counts = match came {
            Came::Plain => return,
            Came::Signed => &self.signed,
            Came::Encrypted => &self.encrypted,
        };
        counts.fetch_add(u64::from(is_io), Ordering::Relaxed);
    }

    /// Status and body of the answer; `None` for requests that our client never sends.
    fn answer(&self, request: &[u8], session: &mut Session) -> Option<(u32, Vec<u8>)> {
        let body = request.get(HEAD..)?;
        let mut files = self.files.lock().unwrap();
        match u16_at(request, 12)? {
            0 => Some((SUCCESS, negotiated(self.user))),
            1 => set_up(request, self.user, session),
            3 => {
                let at = u16_at(body, 4)? as usize;
                let length = u16_at(body, 6)? as usize;
                let path = utf16(request.get(at..at + length)?);
                if path.ends_with(r"\share") {
                    let wants = self.user.is_some_and(|user| user.wants_encryption);
                    Some((SUCCESS, words(&[16, 1, if wants { 0x8000 } else { 0 }, 0, 0, 0, 0, 0])))
                } else {
                    refused(BAD_NAME)
                }
            }
            5 => {
                let at = u16_at(body, 44)? as usize;
                let length = u16_at(body, 46)? as usize;
                let name = utf16(request.get(at..at + length)?);
                // Disposition: only a new file, or only an existing one.
                if (u32_at(body, 36)? == 2) == files.contains_key(&name) {
                    return refused(COLLISION);
                }
                // Delete on close.
                if u32_at(body, 40)? & 0x1000 != 0 {
                    session.own.push(name.clone());
                }
                files.entry(name.clone()).or_default();
                session.open.push(name);
                let mut answer = vec![0; 88];
                answer[0] = 89;
                answer[64..66].copy_from_slice(&(session.open.len() as u16 - 1).to_le_bytes());
                Some((SUCCESS, answer))
            }
            6 => Some((SUCCESS, vec![0; 60])),
            7..=9 => self.moved(request, session, &mut files),
            16 => {
                let units = (1_u64 << 20).to_le_bytes();
                let sizes = FREE.map(u32::to_le_bytes).concat();
                let reported = [&units[..], &units, &units, &sizes].concat();
                let front = [&[9, 0, HEAD as u8 + 8, 0][..], &(reported.len() as u32).to_le_bytes()].concat();
                Some((SUCCESS, [front, reported].concat()))
            }
            _ => None,
        }
    }

    /// FLUSH, READ and WRITE.
    fn moved(
        &self,
        request: &[u8],
        session: &Session,
        files: &mut BTreeMap<String, Vec<u8>>,
    ) -> Option<(u32, Vec<u8>)> {
        let body = request.get(HEAD..)?;
        let file_at = |at: usize| session.open.get(u16_at(body, at)? as usize).cloned();
        match u16_at(request, 12)? {
            7 => {
                self.flushes.fetch_add(1, Ordering::Relaxed);
                Some((SUCCESS, vec![4, 0, 0, 0]))
            }
            8 => {
                let length = u32_at(body, 4)? as usize;
                let offset = u64_at(body, 8)? as usize;
                let file = files.get(&file_at(16)?)?;
                let data = file.get(offset..(offset + length).min(file.len())).unwrap_or_default();
                let twist = *self.twist.lock().unwrap();
                if data.is_empty() {
                    return refused(END_OF_FILE);
                }
                if twist == Twist::Empty {
                    return Some((SUCCESS, [17, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0].to_vec()));
                }
                let at = if twist == Twist::DataInHead { 0 } else { HEAD as u8 + 16 };
                let front = [&[17, 0, at, 0][..], &(data.len() as u32).to_le_bytes(), &[0; 8]].concat();
                Some((SUCCESS, [&front, data].concat()))
            }
            9 => {
                let at = u16_at(body, 2)? as usize;
                let length = u32_at(body, 4)? as usize;
                let offset = u64_at(body, 8)? as usize;
                let data = request.get(at..at + length)?;
                if *self.full.lock().unwrap() {
                    return refused(FULL);
                }
                let file = files.get_mut(&file_at(16)?)?;
                file.resize(file.len().max(offset + length), 0);
                file[offset..offset + length].copy_from_slice(data);
                self.durable_writes.fetch_add(u64::from(u32_at(body, 44)? == 1), Ordering::Relaxed);
                Some((SUCCESS, [&[17, 0, 0, 0][..], &(length as u32).to_le_bytes(), &[0; 8]].concat()))
            }
            _ => None,
        }
    }
}

/// The head of an answer to this request.
fn head_of(request: &[u8], status: u32, twist: Twist) -> Option<Vec<u8>> {
    let command = u16_at(request, 12)?;
    let mut head = request[..HEAD].to_vec();
    head[8..12].copy_from_slice(&status.to_le_bytes());
    head[14..16].copy_from_slice(&(u16_at(request, 14)?.min(64)).to_le_bytes());
    head[16] |= 1;
    let is_other = |wanted: fn(u16) -> Twist| twist == wanted(command);
    head[12] ^= u8::from(is_other(Twist::OtherCommand)) << 1;
    head[36..40].copy_from_slice(&(TREE + u32::from(is_other(Twist::OtherTree))).to_le_bytes());
    head[40..48].copy_from_slice(&(SESSION + u64::from(is_other(Twist::OtherSession))).to_le_bytes());
    Some(head)
}

fn refused(status: u32) -> Option<(u32, Vec<u8>)> {
    Some((status, vec![9, 0, 0, 0, 0, 0, 0, 0, 0]))
}

/// SMB 2.1, or the user's dialect, with large requests of up to 1 MiB and no required signatures.
fn negotiated(user: Option<KnownUser>) -> Vec<u8> {
    let mut body = words(&[65, 1, dialect(user), 0]);
    body.extend([7; 16]);
    [capabilities(user), 1 << 20, 1 << 20, 1 << 20].iter().for_each(|word: &u32| body.extend(word.to_le_bytes()));
    body.extend([0; 24]);
    body
}

fn dialect(user: Option<KnownUser>) -> u16 {
    user.map_or(0x0210, |user| user.dialect)
}

/// Large requests, and encryption if it offers that.
fn capabilities(user: Option<KnownUser>) -> u32 {
    4 | if user.is_some_and(|user| user.offers_encryption) { 0x40 } else { 0 }
}

/// First sends the NTLM challenge, then accepts the client as a guest or as the user.
fn set_up(request: &[u8], user: Option<KnownUser>, session: &mut Session) -> Option<(u32, Vec<u8>)> {
    let body = request.get(HEAD..)?;
    let at = u16_at(body, 12)? as usize;
    let length = u16_at(body, 14)? as usize;
    let token = request.get(at..at + length)?;
    if u32_at(token, 8)? == 3 {
        let at = u32_at(token, 24)? as usize;
        session.keys = user.map(|user| SessionKeys::of(&token[at..], user.dialect));
        return Some((SUCCESS, words(&[9, u16::from(user.is_none()), HEAD as u16 + 8, 0])));
    }
    let mut challenge = [&b"NTLMSSP\0"[..], &2_u32.to_le_bytes(), &[0; 8], &0x0002_8201_u32.to_le_bytes()].concat();
    challenge.extend([3; 8]);
    challenge.extend([0; 16]);
    let mut answer = words(&[9, 0, HEAD as u16 + 8, challenge.len() as u16]);
    answer.extend(challenge);
    Some((MORE_PROCESSING, answer))
}

fn words(words: &[u16]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn utf16(bytes: &[u8]) -> String {
    let units: Vec<u16> = bytes.chunks_exact(2).map(|unit| u16::from_le_bytes([unit[0], unit[1]])).collect();
    String::from_utf16_lossy(&units)
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

pub fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

pub fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}
