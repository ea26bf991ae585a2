//! Signs in to a server and connects to a share of it.

use std::hash::{BuildHasher, RandomState};

use halfpower_spec::ShareAddress;
use smb2::auth::{NtlmAuthenticator, NtlmCredentials};
use smb2::crypto::encryption::{Cipher, NonceGenerator};
use smb2::crypto::kdf::{PreauthHasher, derive_session_keys};
use smb2::crypto::signing::algorithm_for_dialect;
use smb2::types::Dialect;

use super::head::{self, Head};
use super::seal::{self, Keys};
use super::status::{MORE_PROCESSING, SUCCESS, sentence};
use crate::bytes::{Reader, Writer};
use crate::channel::{Channel, Peer};
use crate::credentials::Credentials;
use crate::protocol::{Limits, Outcome, Seal};

/// Credits that are asked for with each message of the beginning.
const CREDITS: u16 = 256;
const DIALECTS: [u16; 5] = [0x0202, 0x0210, 0x0300, 0x0302, 0x0311];
const LARGE_MTU: u32 = 4;
const ENCRYPTION: u32 = 0x40;
const SIGNING_REQUIRED: u16 = 2;
const GUEST: u16 = 1;
const NOBODY: u16 = 2;
const ENCRYPT_SESSION: u16 = 4;
const ENCRYPT_SHARE: u32 = 0x8000;
/// Most bytes of one request for a single credit.
pub(crate) const OF_A_CREDIT: u32 = 64 << 10;
/// A request larger than any block that is asked for.
const MOST_BYTES: u32 = 8 << 20;

/// A connection that has signed in.
pub(crate) struct Session {
    pub channel: Channel,
    pub limits: Limits,
    pub id: u64,
    pub tree: u32,
    /// Number of the next message.
    pub next: u64,
    pub credits: u32,
    /// Whether a request may be larger than what a single credit moves.
    pub has_large: bool,
    /// What signs or encrypts messages; `None` where neither is asked for.
    pub keys: Option<Keys>,
    pub dialect: u16,
    pub is_guest: bool,
    user: String,
    share: String,
}

/// What both sides agreed on first.
struct Agreed {
    dialect: Dialect,
    signs: bool,
    has_gmac: bool,
    cipher: Cipher,
    hasher: PreauthHasher,
}

impl Session {
    /// One that nobody signed in to, with as many credits as there can be: for a server that asks for nothing.
    pub fn rehearsed(channel: Channel, keys: Option<Keys>) -> Self {
        Self {
            channel,
            limits: Limits { read_bytes: MOST_BYTES, write_bytes: MOST_BYTES },
            id: 1,
            tree: 1,
            next: 0,
            credits: u16::MAX.into(),
            has_large: true,
            keys,
            dialect: DIALECTS[4],
            is_guest: true,
            user: String::new(),
            share: String::new(),
        }
    }

    /// Signs in and connects to the share of `address`.
    ///
    /// # Errors
    /// Where the server is not there, does not let the user in, or has no such share.
    pub fn open(peer: &Peer, address: &ShareAddress, credentials: &Credentials) -> Outcome<Self> {
        let mut session = Self {
            channel: peer.connect(address.reached_port(), false)?,
            limits: Limits { read_bytes: OF_A_CREDIT, write_bytes: OF_A_CREDIT },
            id: 0,
            tree: 0,
            next: 0,
            credits: 1,
            has_large: false,
            keys: None,
            dialect: 0,
            is_guest: false,
            user: credentials.user.clone(),
            share: address.path[0].clone(),
        };
        let agreed = session.negotiate()?;
        let sealing = session.sign_in(agreed, credentials)?;
        session.connect_tree(address, sealing)?;
        Ok(session)
    }

    /// Sends a request and waits for its answer: head, whole message.
    ///
    /// # Errors
    /// Where the connection is lost or the answer is none.
    pub fn ask(&mut self, command: u16, body: &[u8]) -> Outcome<(Head, Vec<u8>)> {
        let message = self.message(command, body);
        self.exchange(message)
    }

    /// The same, where another answer than success is a refusal.
    ///
    /// # Errors
    /// As [`Self::ask`], and what the server refuses.
    pub fn demand(&mut self, command: u16, body: &[u8]) -> Outcome<Vec<u8>> {
        let (head, message) = self.ask(command, body)?;
        if head.status == SUCCESS { Ok(message) } else { Err(self.refusal(head.status)) }
    }

    /// The sentence for a status.
    pub fn refusal(&self, status: u32) -> crate::error::ShareError {
        self.channel.peer.refused(sentence(status, &self.user, &self.share))
    }

    pub fn short(&self) -> crate::error::ShareError {
        self.channel.peer.garbage("an answer that ends too early")
    }

    fn message(&mut self, command: u16, body: &[u8]) -> Vec<u8> {
        let head = Head {
            command,
            charge: u16::from(self.dialect > DIALECTS[0]),
            credits: CREDITS,
            message: self.next,
            tree: self.tree,
            session: self.id,
            ..Head::default()
        };
        let mut message = vec![0; head::BYTES];
        head.write(&mut message);
        message.extend_from_slice(body);
        message
    }

    fn exchange(&mut self, mut message: Vec<u8>) -> Outcome<(Head, Vec<u8>)> {
        let number = self.next;
        self.next += 1;
        self.credits = self.credits.saturating_sub(1);
        if let Some(keys) = &mut self.keys {
            keys.close(&mut message).map_err(|what| self.channel.peer.garbage(what))?;
        }
        self.channel.send(message.len() as u32, &message)?;
        loop {
            let (_, mut answer) = self.channel.receive()?;
            if let Some(keys) = &mut self.keys {
                keys.open(&mut answer).map_err(|what| self.channel.peer.garbage(what))?;
            }
            let Some(head) = Head::read(&answer) else {
                return Err(self.channel.peer.garbage("a message that does not begin as SMB 2 does"));
            };
            self.credits += u32::from(head.credits);
            if head.message == number && head.status != head::PENDING {
                return Ok((head, answer));
            }
            if head.message != number && head.message != head::UNASKED {
                return Err(self.channel.peer.garbage("an answer to another message"));
            }
        }
    }

    fn negotiate(&mut self) -> Outcome<Agreed> {
        let message = self.message(head::NEGOTIATE, &proposal());
        let mut hasher = PreauthHasher::new();
        hasher.update(&message);
        let (head, answer) = self.exchange(message)?;
        hasher.update(&answer);
        if head.status != SUCCESS {
            return Err(self.refusal(head.status));
        }
        let (agreed, capabilities, most) = agreement(&answer, hasher).ok_or_else(|| self.short())?;
        self.dialect = agreed.dialect.into();
        if !DIALECTS.contains(&self.dialect) {
            return Err(self.channel.peer.garbage("a dialect that was not proposed"));
        }
        self.has_large = self.dialect > DIALECTS[0] && capabilities & LARGE_MTU != 0;
        let most = most.map(|most| most.min(if self.has_large { MOST_BYTES } else { OF_A_CREDIT }));
        if most.iter().any(|most| *most < 4096) {
            return Err(self.channel.peer.garbage("requests of fewer than 4096 bytes"));
        }
        self.limits = Limits { read_bytes: most[0], write_bytes: most[1] };
        Ok(agreed)
    }

    /// Proves who the user is; gives the keys with which messages can be signed, and those with which they are encrypted.
    fn sign_in(&mut self, mut agreed: Agreed, credentials: &Credentials) -> Outcome<Sealing> {
        let Credentials { user, password, domain, .. } = credentials.clone();
        let mut proof = NtlmAuthenticator::new(NtlmCredentials { username: user, password, domain });
        let first = self.message(head::SESSION_SETUP, &setup(&proof.negotiate()));
        agreed.hasher.update(&first);
        let (head, answer) = self.exchange(first)?;
        agreed.hasher.update(&answer);
        if head.status != MORE_PROCESSING {
            return Err(self.refusal(head.status));
        }
        self.id = head.session;
        let (_, challenge) = token(&answer).ok_or_else(|| self.short())?;
        let response = proof
            .authenticate(challenge)
            .map_err(|_| self.channel.peer.garbage("no challenge of NTLM, with which alone halfpower signs in"))?;
        let second = self.message(head::SESSION_SETUP, &setup(&response));
        agreed.hasher.update(&second);
        let (head, answer) = self.exchange(second)?;
        if head.status != SUCCESS {
            return Err(self.refusal(head.status));
        }
        let (flags, _) = token(&answer).ok_or_else(|| self.short())?;
        self.is_guest = flags & (GUEST | NOBODY) != 0;
        let key = proof.session_key().unwrap_or_default().to_vec();
        let sealing = Sealing::new(agreed, &key, flags & ENCRYPT_SESSION != 0);
        // Else somebody in between could have changed what was agreed on.
        if self.dialect == DIALECTS[4] && !self.is_guest {
            let checked = seal::verify(&answer, &sealing.signing, sealing.algorithm(), head.message);
            checked.map_err(|what| self.channel.peer.garbage(what))?;
        }
        Ok(sealing)
    }

    fn connect_tree(&mut self, address: &ShareAddress, sealing: Sealing) -> Outcome<()> {
        let mut path = Writer::default();
        path.utf16(&format!(r"\\{}\{}", address.host, self.share));
        let mut body = Writer::default();
        [9, 0, (head::BYTES + 8) as u16, path.0.len() as u16].into_iter().for_each(|word| body.le16(word));
        body.all(&path.0);
        let (signs, encrypts) = (sealing.agreed.signs && !self.is_guest, sealing.encrypts);
        if encrypts {
            self.keys = Some(self.encrypting(&sealing)?);
        } else if signs {
            self.keys = Some(sealing.signing());
        }
        let mut message = self.message(head::TREE_CONNECT, &body.0);
        if self.keys.is_none() && !self.is_guest && self.dialect == DIALECTS[4] {
            // Of this message the newest dialect wants it always.
            let signed = seal::sign(&mut message, &sealing.signing, sealing.algorithm());
            signed.map_err(|what| self.channel.peer.garbage(what))?;
        }
        let (head, answer) = self.exchange(message)?;
        if head.status != SUCCESS {
            return Err(self.refusal(head.status));
        }
        let mut reader = Reader(&answer[head::BYTES..]);
        let mut told = || -> Option<(u8, u32)> {
            reader.le16()?;
            Some((reader.take(2)?[0], reader.le32()?))
        };
        let (kind, flags) = told().ok_or_else(|| self.short())?;
        if kind != 1 {
            return Err(self.channel.peer.refused("it is no share of files; name another one"));
        }
        self.tree = head.tree;
        if flags & ENCRYPT_SHARE != 0 && !encrypts {
            self.keys = Some(self.encrypting(&sealing)?);
        }
        Ok(())
    }

    fn encrypting(&self, sealing: &Sealing) -> Outcome<Keys> {
        let Some((own, server)) = sealing.encryption.clone() else {
            let what = "it wants encryption, and this server speaks a dialect that has none; look at its settings";
            return Err(self.channel.peer.refused(what));
        };
        let (cipher, nonces) = (sealing.agreed.cipher, NonceGenerator::new());
        Ok(Keys::Encrypt { session: self.id, own, server, cipher, nonces })
    }
}

/// What messages can be signed and encrypted with.
struct Sealing {
    agreed: Agreed,
    signing: Vec<u8>,
    encryption: Option<(Vec<u8>, Vec<u8>)>,
    /// Whether everything is to be encrypted, whatever the share.
    encrypts: bool,
}

impl Sealing {
    fn new(agreed: Agreed, key: &[u8], encrypts: bool) -> Self {
        let is_old = matches!(agreed.dialect, Dialect::Smb2_0_2 | Dialect::Smb2_1);
        if is_old {
            return Self { agreed, signing: key.to_vec(), encryption: None, encrypts };
        }
        let hash = (agreed.dialect == Dialect::Smb3_1_1).then(|| agreed.hasher.value());
        let keys = derive_session_keys(key, agreed.dialect, hash, 128);
        let encryption = Some((keys.encryption_key, keys.decryption_key));
        Self { signing: keys.signing_key, encryption, encrypts, agreed }
    }

    fn algorithm(&self) -> smb2::crypto::signing::SigningAlgorithm {
        algorithm_for_dialect(self.agreed.dialect, self.agreed.has_gmac)
    }

    fn signing(&self) -> Keys {
        Keys::Sign { key: self.signing.clone(), algorithm: self.algorithm(), checks: true }
    }
}

/// The body of the first message: what this side can.
fn proposal() -> Vec<u8> {
    let mut body = Writer::default();
    [36, DIALECTS.len() as u16, 1, 0].into_iter().for_each(|word| body.le16(word));
    body.le32(LARGE_MTU | ENCRYPTION);
    [1, 2].into_iter().for_each(|half| body.le64(random(half)));
    let contexts_at = (head::BYTES + body.0.len() + 8 + 2 * DIALECTS.len()).next_multiple_of(8);
    body.le32(contexts_at as u32);
    [3, 0].into_iter().for_each(|word| body.le16(word));
    DIALECTS.into_iter().for_each(|dialect| body.le16(dialect));
    let mut preauth = Writer::default();
    [1, 32, 1].into_iter().for_each(|word| preauth.le16(word));
    (3..7).for_each(|part| preauth.le64(random(part)));
    let words = |words: &[u16]| {
        let mut list = Writer::default();
        list.le16(words.len() as u16);
        words.iter().for_each(|word| list.le16(*word));
        list.0
    };
    // SHA-512 over what is agreed on; AES-128-GCM and -CCM to encrypt; AES-GMAC and -CMAC to sign.
    for (kind, data) in [(1, preauth.0), (2, words(&[2, 1])), (8, words(&[2, 1]))] {
        body.0.resize((head::BYTES + body.0.len()).next_multiple_of(8) - head::BYTES, 0);
        [kind, data.len() as u16, 0, 0].into_iter().for_each(|word| body.le16(word));
        body.all(&data);
    }
    body.0
}

/// Reads what the server chose: that, its capabilities, and the most bytes of a read and of a write.
fn agreement(answer: &[u8], hasher: PreauthHasher) -> Option<(Agreed, u32, [u32; 2])> {
    let mut reader = Reader(answer.get(head::BYTES..)?);
    reader.le16()?;
    let (mode, dialect, contexts) = (reader.le16()?, reader.le16()?, reader.le16()?);
    reader.take(16)?;
    let (capabilities, _, read, write) = (reader.le32()?, reader.le32()?, reader.le32()?, reader.le32()?);
    reader.take(20)?;
    let at = reader.le32()? as usize;
    let (mut has_gmac, mut cipher) = (false, Cipher::Aes128Ccm);
    let mut rest = Reader(if dialect == DIALECTS[4] { answer.get(at..)? } else { &[] });
    for _ in 0..if dialect == DIALECTS[4] { contexts } else { 0 } {
        let (kind, length) = (rest.le16()?, usize::from(rest.le16()?));
        rest.take(4)?;
        let chosen = rest.take(length)?.get(2..4).map(|word| u16::from_le_bytes([word[0], word[1]]));
        rest.take((length.next_multiple_of(8) - length).min(rest.0.len()))?;
        match (kind, chosen) {
            (2, Some(2)) => cipher = Cipher::Aes128Gcm,
            (8, Some(2)) => has_gmac = true,
            _ => {}
        }
    }
    let dialect = Dialect::ALL.iter().copied().find(|known| u16::from(*known) == dialect)?;
    let agreed = Agreed { dialect, signs: mode & SIGNING_REQUIRED != 0, has_gmac, cipher, hasher };
    Some((agreed, capabilities, [read, write]))
}

fn setup(token: &[u8]) -> Vec<u8> {
    let mut body = Writer::default();
    body.le16(25);
    body.all(&[0, 1]);
    [0, 0].into_iter().for_each(|word| body.le32(word));
    [(head::BYTES + 24) as u16, token.len() as u16].into_iter().for_each(|word| body.le16(word));
    body.le64(0);
    body.all(token);
    body.0
}

/// The flags of a session, and the bytes that prove something.
fn token(answer: &[u8]) -> Option<(u16, &[u8])> {
    let mut reader = Reader(answer.get(head::BYTES..)?);
    reader.le16()?;
    let (flags, at, length) = (reader.le16()?, usize::from(reader.le16()?), usize::from(reader.le16()?));
    Some((flags, answer.get(at..at + length)?))
}

/// A number from the system's random ones: the standard library draws the keys of a `RandomState` from them.
pub(crate) fn random(part: u64) -> u64 {
    RandomState::new().hash_one(part)
}
