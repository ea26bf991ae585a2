//! Signs in to an SMB server and connects to a share.

use halfpower_spec::{Sealing, ShareAddress};

use super::head::{self, Head, MORE_PROCESSING_REQUIRED, PENDING, SUCCESS, sentence};
use super::key_derivation::PreauthHash;
use super::negotiation::{Agreed, LARGE_MTU, agreement, proposal, security_mode};
use super::ntlm::{self, SignInRandom};
use super::seal::{Keys, SealOffer, SessionKeys};
use super::{Dialect, random};
use crate::bytes::{Reader, Writer};
use crate::channel::Channel;
use crate::credentials::Credentials;
use crate::error::ShareError;
use crate::peer::Peer;
use crate::protocol::{Limits, Outcome, Seal};

/// Credits to ask for with each message while connecting.
const CREDITS: u16 = 256;
/// Offsets of the token and of the path in a message: after the fixed part of its body.
const TOKEN_AT: u16 = head::BYTES as u16 + head::SESSION_SETUP_SIZE - 1;
const PATH_AT: u16 = head::BYTES as u16 + head::TREE_CONNECT_SIZE - 1;
/// Flags of a session (MS-SMB2 2.2.6), and kind and flags of a share (2.2.10).
const GUEST: u16 = 1;
const NOBODY: u16 = 2;
const ENCRYPT_SESSION: u16 = 4;
const SHARE_TYPE_DISK: u8 = 1;
const ENCRYPT_SHARE: u32 = 0x8000;
/// Most bytes of one request for a single credit.
pub(crate) const OF_A_CREDIT: u32 = 64 << 10;
/// Upper limit of a request; larger than any block size.
const MOST_BYTES: u32 = 8 << 20;

/// A connection after sign-in.
pub(crate) struct Session {
    pub channel: Channel,
    pub limits: Limits,
    pub id: u64,
    pub tree: u32,
    /// Whether the session is connected to its share.
    is_connected: bool,
    /// Number of the next message.
    pub next: u64,
    pub credits: u32,
    /// Whether a request may move more than a single credit covers.
    pub has_large: bool,
    /// What signs or encrypts messages; `None` if they are sent plain.
    pub keys: Option<Keys>,
    /// The dialect; the oldest one until the negotiation.
    pub dialect: Dialect,
    pub is_guest: bool,
    /// How messages can be signed or encrypted.
    pub offer: SealOffer,
    user: String,
    share: String,
}

impl Session {
    /// A session for a rehearsal, without sign-in and with the most credits.
    pub fn rehearsed(channel: Channel, keys: Option<Keys>) -> Self {
        Self {
            channel,
            limits: Limits { read_bytes: MOST_BYTES, write_bytes: MOST_BYTES },
            id: 1,
            tree: 1,
            is_connected: true,
            next: 0,
            credits: u16::MAX.into(),
            has_large: true,
            keys,
            dialect: Dialect::Smb311,
            is_guest: true,
            offer: SealOffer::NONE,
            user: String::new(),
            share: String::new(),
        }
    }

    /// Signs in and connects to the share of `address`; from then on, messages are signed or encrypted like this.
    ///
    /// # Errors
    /// If the server cannot be reached, does not let the user in, has no such share, or does not support this
    /// `sealing`.
    pub fn open(peer: &Peer, address: &ShareAddress, credentials: &Credentials, sealing: Sealing) -> Outcome<Self> {
        let mut session = Self {
            channel: peer.connect(address.reached_port(), false)?,
            limits: Limits { read_bytes: OF_A_CREDIT, write_bytes: OF_A_CREDIT },
            id: 0,
            tree: 0,
            is_connected: false,
            next: 0,
            credits: 1,
            has_large: false,
            keys: None,
            dialect: Dialect::Smb202,
            is_guest: false,
            offer: SealOffer::NONE,
            user: credentials.user.clone(),
            share: address.path[0].clone(),
        };
        let agreed = session.negotiate(sealing)?;
        let keys = session.sign_in(agreed, credentials, sealing)?;
        session.connect_tree(address, &keys, sealing)?;
        session.confirm(&keys, sealing)?;
        Ok(session)
    }

    /// Sends a request and waits for its answer; returns its head and the whole message.
    ///
    /// # Errors
    /// If the connection is lost or the answer is invalid.
    pub fn ask(&mut self, command: u16, body: &[u8]) -> Outcome<(Head, Vec<u8>)> {
        let message = self.message(command, body);
        self.exchange(command, message)
    }

    /// The same, but any status other than success is an error.
    ///
    /// # Errors
    /// As [`Self::ask`], and if the server refuses the request.
    pub fn demand(&mut self, command: u16, body: &[u8]) -> Outcome<Vec<u8>> {
        let (head, message) = self.ask(command, body)?;
        if head.status == SUCCESS { Ok(message) } else { Err(self.refusal(head.status)) }
    }

    /// The error for a status.
    pub fn refusal(&self, status: u32) -> ShareError {
        self.channel.peer.refused(sentence(status, &self.user, &self.share))
    }

    pub fn short(&self) -> ShareError {
        self.channel.peer.garbage("an answer that ends too early")
    }

    fn message(&mut self, command: u16, body: &[u8]) -> Vec<u8> {
        let head = Head {
            command,
            charge: u16::from(self.dialect > Dialect::Smb202),
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

    /// Sends a message for `command`, and waits for its answer as [`Self::ask`] does.
    fn exchange(&mut self, command: u16, mut message: Vec<u8>) -> Outcome<(Head, Vec<u8>)> {
        let number = self.next;
        self.next += 1;
        self.credits = self.credits.saturating_sub(1);
        if let Some(keys) = &mut self.keys {
            keys.close(&mut message).map_err(|what| self.channel.peer.garbage(what))?;
        }
        let exchange = self.channel.peer.exchange(1);
        self.channel.send(message.len() as u32, &message, &exchange)?;
        loop {
            let (_, mut answer) = self.channel.receive(&exchange)?;
            if let Some(keys) = &mut self.keys {
                keys.open(&mut answer).map_err(|what| self.channel.peer.garbage(what))?;
            }
            let Some(head) = Head::read(&answer) else {
                return Err(self.channel.peer.garbage("a message that does not begin as SMB 2 does"));
            };
            self.credits = self.credits.saturating_add(head.credits.into());
            if head.message == number && head.status != PENDING {
                let session = Some(self.id).filter(|id| *id != 0);
                let tree = Some(self.tree).filter(|_| command != head::TREE_CONNECT && self.is_connected);
                head.answers(command, session, tree).map_err(|what| self.channel.peer.garbage(what))?;
                return Ok((head, answer));
            }
            if head.message != number && head.message != head::UNASKED {
                return Err(self.channel.peer.garbage("an answer to another message"));
            }
            // Word that the answer takes longer gives it no more time.
            self.channel.peer.goes_on(&exchange)?;
        }
    }

    fn negotiate(&mut self, sealing: Sealing) -> Outcome<Agreed> {
        let guid = random();
        let message = self.message(head::NEGOTIATE, &proposal(sealing, guid));
        let mut hash = PreauthHash::new();
        hash.update(&message);
        let (head, answer) = self.exchange(head::NEGOTIATE, message)?;
        hash.update(&answer);
        if head.status != SUCCESS {
            return Err(self.refusal(head.status));
        }
        let (agreed, most) = agreement(&answer, guid, hash).ok_or_else(|| self.short())?;
        self.dialect = agreed.dialect;
        self.has_large = self.dialect > Dialect::Smb202 && agreed.server.capabilities & LARGE_MTU != 0;
        let most = most.map(|most| most.min(if self.has_large { MOST_BYTES } else { OF_A_CREDIT }));
        if most.iter().any(|most| *most < 4096) {
            return Err(self.channel.peer.garbage("requests of fewer than 4096 bytes"));
        }
        self.limits = Limits { read_bytes: most[0], write_bytes: most[1] };
        Ok(agreed)
    }

    /// Authenticates the user; returns the keys of the session.
    fn sign_in(&mut self, mut agreed: Agreed, credentials: &Credentials, sealing: Sealing) -> Outcome<SessionKeys> {
        let mode = security_mode(sealing);
        let first = self.message(head::SESSION_SETUP, &setup(&ntlm::negotiate(), mode));
        agreed.hash.update(&first);
        let (head, answer) = self.exchange(head::SESSION_SETUP, first)?;
        agreed.hash.update(&answer);
        if head.status != MORE_PROCESSING_REQUIRED {
            return Err(self.refusal(head.status));
        }
        self.id = head.session;
        let (_, challenge) = token(&answer).ok_or_else(|| self.short())?;
        let proof = ntlm::authenticate(credentials, challenge, &SignInRandom::new())
            .ok_or_else(|| self.channel.peer.garbage("no challenge of NTLM, with which alone halfpower signs in"))?;
        let second = self.message(head::SESSION_SETUP, &setup(&proof.message, mode));
        agreed.hash.update(&second);
        let (head, mut answer) = self.exchange(head::SESSION_SETUP, second)?;
        if head.status != SUCCESS {
            return Err(self.refusal(head.status));
        }
        let (flags, _) = token(&answer).ok_or_else(|| self.short())?;
        self.is_guest = flags & (GUEST | NOBODY) != 0;
        let keys = SessionKeys::new(agreed, &proof.key, flags & ENCRYPT_SESSION != 0);
        // Otherwise an attacker in between could have changed the negotiation.
        if self.dialect == Dialect::Smb311 && !self.is_guest {
            keys.signer.verify(&mut answer).map_err(|what| self.channel.peer.garbage(what))?;
        }
        Ok(keys)
    }

    fn connect_tree(&mut self, address: &ShareAddress, keys: &SessionKeys, sealing: Sealing) -> Outcome<()> {
        let mut path = Writer::default();
        path.utf16(&format!(r"\\{}\{}", address.host, self.share));
        let mut body = Writer::default();
        [head::TREE_CONNECT_SIZE, 0, PATH_AT, path.0.len() as u16].into_iter().for_each(|word| body.le16(word));
        body.all(&path.0);
        self.check_offer(keys, sealing)?;
        let encrypts = keys.encrypts || sealing == Sealing::Encrypted;
        if encrypts {
            self.encrypt(keys)?;
        } else if (keys.agreed.signs || sealing == Sealing::Signed) && !self.is_guest {
            self.keys = Some(keys.signing());
        }
        let mut message = self.message(head::TREE_CONNECT, &body.0);
        if self.keys.is_none() && !self.is_guest && self.dialect == Dialect::Smb311 {
            // SMB 3.1.1 requires that this message is signed.
            keys.signer.sign(&mut message).map_err(|what| self.channel.peer.garbage(what))?;
        }
        let (head, answer) = self.exchange(head::TREE_CONNECT, message)?;
        if head.status != SUCCESS {
            return Err(self.refusal(head.status));
        }
        let mut reader = Reader(&answer[head::BYTES..]);
        let mut reported = || -> Option<(u8, u32)> {
            reader.le16()?;
            Some((reader.take(2)?[0], reader.le32()?))
        };
        let (kind, flags) = reported().ok_or_else(|| self.short())?;
        if kind != SHARE_TYPE_DISK {
            return Err(self.channel.peer.refused("it is no share of files; name another one"));
        }
        (self.tree, self.is_connected) = (head.tree, true);
        if flags & ENCRYPT_SHARE != 0 && !encrypts {
            self.encrypt(keys)?;
        }
        self.check_offer(keys, sealing)
    }

    /// Has the server confirm what was agreed on, signed with the key of the session: before SMB 3.1.1, somebody in
    /// between could have changed it. A server that does not know the question says so, signed. A guest has no key.
    fn confirm(&mut self, keys: &SessionKeys, sealing: Sealing) -> Outcome<()> {
        if self.dialect == Dialect::Smb311 || self.is_guest {
            return Ok(());
        }
        let dialect = self.dialect.name();
        let peer = self.channel.peer.clone();
        let unconfirmed = |why: &str| {
            peer.refused(format!(
                "the server does not confirm that SMB {dialect} was agreed on ({why}): somebody in between may have \
                 changed it, so nothing is sent; look at the network and at what stands between"
            ))
        };
        let mut message = self.message(head::IOCTL, &keys.agreed.claim(sealing));
        let signs_alone = self.keys.is_none();
        if signs_alone {
            keys.signer.sign(&mut message).map_err(|what| peer.garbage(what))?;
        }
        let (head, mut answer) = self.exchange(head::IOCTL, message).map_err(|error| match error {
            // A server that sees another proposal than ours ends the connection.
            ShareError::Lost { .. } => unconfirmed("it ended the connection"),
            ShareError::Garbage { what, .. } => unconfirmed(&what),
            other => other,
        })?;
        if signs_alone {
            keys.signer.verify(&mut answer).map_err(|_| unconfirmed("its answer is not signed"))?;
        }
        if head::is_unknown_control(head.status) {
            return Ok(());
        }
        if head.status != SUCCESS {
            return Err(unconfirmed(&format!("it refused, {:#010x}", head.status)));
        }
        match keys.agreed.is_confirmed(&answer) {
            Ok(true) => Ok(()),
            Ok(false) => Err(unconfirmed("it says something else now")),
            Err(what) => Err(peer.garbage(what)),
        }
    }

    /// Refuses a sealing that, as far as is known now, the session cannot have.
    fn check_offer(&mut self, keys: &SessionKeys, sealing: Sealing) -> Outcome<()> {
        self.offer = keys.offer(self.keys.as_ref().map(Keys::kind), self.is_guest);
        let refused = |why| self.channel.peer.refused(format!("--sealing {sealing}: {why}"));
        self.offer.of(sealing).map(drop).map_err(refused)
    }

    fn encrypt(&mut self, keys: &SessionKeys) -> Outcome<()> {
        let what = "it wants encryption, and this server has none to offer; look at its settings";
        self.keys = Some(keys.encrypting(self.id).ok_or_else(|| self.channel.peer.refused(what))?);
        Ok(())
    }
}

fn setup(token: &[u8], mode: u16) -> Vec<u8> {
    let mut body = Writer::default();
    body.le16(head::SESSION_SETUP_SIZE);
    body.all(&[0, mode as u8]);
    [0, 0].into_iter().for_each(|word| body.le32(word));
    [TOKEN_AT, token.len() as u16].into_iter().for_each(|word| body.le16(word));
    body.le64(0);
    body.all(token);
    body.0
}

/// The session flags and the security token of an answer.
fn token(answer: &[u8]) -> Option<(u16, &[u8])> {
    let mut reader = Reader(answer.get(head::BYTES..)?);
    reader.le16()?;
    let flags = reader.le16()?;
    let at = usize::from(reader.le16()?);
    let length = usize::from(reader.le16()?);
    Some((flags, head::carried(answer, 8, at, length).ok()?))
}
