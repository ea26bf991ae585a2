//! Authenticates the user to a server with NTLM version 2 (MS-NLMP).

use std::time::{SystemTime, UNIX_EPOCH};

use hmac::{Hmac, KeyInit, Mac};
use md4::Md4;
use md5::Md5;
use sha2::Digest;

use super::key_derivation::Key;
use super::random;
use crate::bytes::{Reader, Writer};
use crate::credentials::Credentials;

/// The signature at the beginning of every message, and the message types (2.2.1).
const NTLM: [u8; 8] = *b"NTLMSSP\0";
const NEGOTIATE: u32 = 1;
const CHALLENGE: u32 = 2;
const AUTHENTICATE: u32 = 3;
/// Flags (2.2.2.5).
const UNICODE: u32 = 0x1;
const REQUEST_TARGET: u32 = 0x4;
const SIGN: u32 = 0x10;
const SEAL: u32 = 0x20;
const NTLM_AUTHENTICATION: u32 = 0x200;
const ALWAYS_SIGN: u32 = 0x8000;
const EXTENDED_SESSION_SECURITY: u32 = 0x8_0000;
const TARGET_INFO: u32 = 0x80_0000;
const KEYS_OF_128_BITS: u32 = 0x2000_0000;
const KEY_EXCHANGE: u32 = 0x4000_0000;
const KEYS_OF_56_BITS: u32 = 0x8000_0000;
/// All flags that the client offers.
const OFFERED: u32 = UNICODE
    | REQUEST_TARGET
    | SIGN
    | SEAL
    | NTLM_AUTHENTICATION
    | ALWAYS_SIGN
    | EXTENDED_SESSION_SECURITY
    | TARGET_INFO
    | KEYS_OF_128_BITS
    | KEY_EXCHANGE
    | KEYS_OF_56_BITS;
/// Kinds of a server's target information (2.2.2.1): the end, flags, and the time.
const END: u16 = 0;
const FLAGS: u16 = 6;
const TIME: u16 = 7;
/// The flag that says that the answer has an integrity code (MIC) over all messages.
const HAS_CODE: u32 = 2;
/// Position of that code.
const CODE: std::ops::Range<usize> = 72..88;
/// Seconds from 1601, where Windows starts to count, to 1970.
const SECONDS_TO_1970: u64 = 11_644_473_600;

/// Random values and the time for one sign-in.
pub(crate) struct SignInRandom {
    challenge: [u8; 8],
    key: Key,
    /// Used if the server sends no time: tenths of microseconds since 1601.
    now: u64,
}

/// The answer to a challenge, and the session key that results.
pub(crate) struct Proof {
    pub message: Vec<u8>,
    pub key: Key,
}

/// A server's challenge (2.2.1.2).
struct Challenge<'a> {
    flags: u32,
    number: [u8; 8],
    /// The server's target information.
    reported: &'a [u8],
}

impl SignInRandom {
    pub fn new() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = (since.as_secs() + SECONDS_TO_1970) * 10_000_000 + u64::from(since.subsec_nanos() / 100);
        Self { challenge: random(), key: random(), now }
    }
}

/// The first message: what the client supports (2.2.1.1).
pub(crate) fn negotiate() -> Vec<u8> {
    let mut message = Writer::default();
    message.all(&NTLM);
    [NEGOTIATE, OFFERED, 0, 0, 0, 0].into_iter().for_each(|word| message.le32(word));
    message.0
}

/// The answer to the server's challenge (2.2.1.3, 3.1.5.1.2 and 3.3.2); `None` if the challenge is invalid or the
/// answer too long.
pub(crate) fn authenticate(credentials: &Credentials, message: &[u8], drawn: &SignInRandom) -> Option<Proof> {
    let challenge = Challenge::read(message)?;
    let flags = challenge.flags & OFFERED;
    let time = challenge.time();
    let mut claim = Writer::default();
    claim.all(&[1, 1, 0, 0, 0, 0, 0, 0]);
    claim.le64(time.unwrap_or(drawn.now));
    claim.all(&drawn.challenge);
    claim.le32(0);
    challenge.tell(time.is_some(), &mut claim);
    claim.le32(0);
    let secret = secret(credentials);
    let proof = hmac_md5(&secret, &[&challenge.number, &claim.0]);
    let base = hmac_md5(&secret, &[&proof]);
    let exchanges = flags & KEY_EXCHANGE != 0 && flags & (SIGN | SEAL) != 0;
    let key = if exchanges { drawn.key } else { base };
    let sent = if exchanges { rc4(&base, &key).to_vec() } else { Vec::new() };
    // A server that sends its time expects zeros for the older LMv2 response.
    let old = match time {
        Some(_) => [0; 24].to_vec(),
        None => [&hmac_md5(&secret, &[&challenge.number, &drawn.challenge])[..], &drawn.challenge].concat(),
    };
    let new = [&proof[..], &claim.0].concat();
    let mut answer = answer(flags, credentials, [&old, &new, &sent], time.is_some())?;
    if time.is_some() {
        let code = hmac_md5(&key, &[&negotiate(), message, &answer]);
        answer[CODE].copy_from_slice(&code);
    }
    Some(Proof { message: answer, key })
}

impl<'a> Challenge<'a> {
    fn read(message: &'a [u8]) -> Option<Self> {
        let mut reader = Reader(message);
        let is_challenge = reader.take(NTLM.len())? == NTLM && reader.le32()? == CHALLENGE;
        reader.take(8)?;
        let flags = reader.le32()?;
        let number = reader.le64()?.to_le_bytes();
        let mut reported = || {
            reader.take(8)?;
            let length = reader.le16()?;
            reader.le16()?;
            let at = reader.le32()? as usize;
            message.get(at..)?.get(..length.into())
        };
        let reported = reported().unwrap_or_default();
        is_challenge.then_some(Self { flags, number, reported })
    }

    /// The pairs of kind and value in its target information, up to the end or the first invalid one.
    fn pairs(&self) -> impl Iterator<Item = (u16, &'a [u8])> {
        let mut reader = Reader(self.reported);
        std::iter::from_fn(move || {
            let kind = reader.le16()?;
            let length = reader.le16()?;
            let value = reader.take(length.into())?;
            (kind != END).then_some((kind, value))
        })
    }

    fn value(&self, wanted: u16) -> Option<&'a [u8]> {
        self.pairs().find(|(kind, _)| *kind == wanted).map(|(_, value)| value)
    }

    /// The server's time, in tenths of microseconds since 1601; a server that sends it expects an integrity code.
    fn time(&self) -> Option<u64> {
        self.value(TIME).and_then(|time| Reader(time).le64())
    }

    /// Writes the target information for the answer, with the flag for the code if there is one.
    fn tell(&self, has_code: bool, out: &mut Writer) {
        let mut pair = |kind: u16, value: &[u8]| {
            out.le16(kind);
            out.le16(value.len() as u16);
            out.all(value);
        };
        self.pairs().filter(|(kind, _)| !has_code || *kind != FLAGS).for_each(|(kind, value)| pair(kind, value));
        if has_code {
            let flags = self.value(FLAGS).and_then(|flags| Reader(flags).le32()).unwrap_or(0);
            pair(FLAGS, &(flags | HAS_CODE).to_le_bytes());
        }
        pair(END, &[]);
    }
}

/// The last message, with the LMv2 response, the NTLMv2 response, the encrypted key, and room for a code; `None` if it
/// would be too long.
fn answer(flags: u32, credentials: &Credentials, [old, new, key]: [&[u8]; 3], has_code: bool) -> Option<Vec<u8>> {
    let front = if has_code { CODE.end } else { CODE.start };
    let mut carried = Vec::new();
    let mut field = |bytes: &[u8]| {
        let length = u16::try_from(bytes.len()).ok()?;
        let at = (front + carried.len()) as u32;
        carried.extend_from_slice(bytes);
        Some((length, at))
    };
    let domain = field(&utf16(&credentials.domain))?;
    let user = field(&utf16(&credentials.user))?;
    let station = field(&[])?;
    let old = field(old)?;
    let new = field(new)?;
    let key = field(key)?;
    let mut message = Writer::default();
    message.all(&NTLM);
    message.le32(AUTHENTICATE);
    for (length, at) in [old, new, domain, user, station, key] {
        [length, length].into_iter().for_each(|word| message.le16(word));
        message.le32(at);
    }
    message.le32(flags);
    message.0.resize(front, 0);
    message.all(&carried);
    Some(message.0)
}

/// The secret that user and server share (NTOWFv2, 3.3.2).
fn secret(credentials: &Credentials) -> Key {
    // As in Windows, a letter whose upper case has several letters stays.
    let upper = |letter: char| {
        let mut upper = letter.to_uppercase();
        if upper.len() == 1 { upper.next().unwrap_or(letter) } else { letter }
    };
    let user: String = credentials.user.chars().map(upper).collect();
    let hash: Key = Md4::digest(utf16(&credentials.password)).into();
    hmac_md5(&hash, &[&utf16(&user), &utf16(&credentials.domain)])
}

fn utf16(text: &str) -> Vec<u8> {
    let mut bytes = Writer::default();
    bytes.utf16(text);
    bytes.0
}

fn hmac_md5(key: &Key, parts: &[&[u8]]) -> Key {
    let mac = Hmac::<Md5>::new_from_slice(key).expect("a key may have any length");
    parts.iter().fold(mac, |mac, part| mac.chain_update(part)).finalize().into_bytes().into()
}

/// The key `sent`, encrypted with RC4.
fn rc4(key: &Key, sent: &Key) -> Key {
    let mut state: [u8; 256] = std::array::from_fn(|at| at as u8);
    let mut other = 0_u8;
    for at in 0..state.len() {
        other = other.wrapping_add(state[at]).wrapping_add(key[at % key.len()]);
        state.swap(at, other.into());
    }
    let mut at = 0_u8;
    let mut other = 0_u8;
    sent.map(|byte| {
        at = at.wrapping_add(1);
        let first = state[usize::from(at)];
        other = other.wrapping_add(first);
        let second = state[usize::from(other)];
        state.swap(at.into(), other.into());
        byte ^ state[usize::from(first.wrapping_add(second))]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of MS-NLMP 4.2.1 and 4.2.4.
    fn user() -> Credentials {
        let of = str::to_string;
        Credentials { user: of("User"), password: of("Password"), domain: of("Domain"), ..Credentials::default() }
    }

    const DRAWN: SignInRandom = SignInRandom { challenge: [0xaa; 8], key: [0x55; 16], now: 0 };

    fn challenge(flags: u32, reported: &[(u16, &[u8])]) -> Vec<u8> {
        let mut pairs = Writer::default();
        for (kind, value) in reported.iter().chain(&[(END, &[][..])]) {
            pairs.le16(*kind);
            pairs.le16(value.len() as u16);
            pairs.all(value);
        }
        let mut message = Writer::default();
        message.all(&NTLM);
        [CHALLENGE, 0, 0, flags].into_iter().for_each(|word| message.le32(word));
        message.all(&[0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef]);
        message.le64(0);
        [pairs.0.len() as u16; 2].into_iter().for_each(|word| message.le16(word));
        message.le32(48);
        message.all(&pairs.0);
        message.0
    }

    fn example() -> Vec<u8> {
        challenge(0xe28a_8233, &[(2, &utf16("Domain")), (1, &utf16("Server"))])
    }

    /// The bytes of the field that the length at `at` describes.
    fn field(message: &[u8], at: usize) -> &[u8] {
        let length = u16::from_le_bytes([message[at], message[at + 1]]);
        let from = u32::from_le_bytes(message[at + 4..at + 8].try_into().unwrap());
        &message[from as usize..][..length.into()]
    }

    #[test]
    fn the_answer_is_that_of_the_specification() {
        let user = user();
        assert_eq!(secret(&user), 0x0c86_8a40_3bfd_7a93_a300_1ef2_2ef0_2e3f_u128.to_be_bytes());
        let proof = authenticate(&user, &example(), &DRAWN).unwrap();
        let old = [&0x86c3_5097_ac9c_ec10_2554_764a_57cc_cc19_u128.to_be_bytes()[..], &[0xaa; 8]].concat();
        assert_eq!(field(&proof.message, 12), old, "LMv2");
        assert_eq!(field(&proof.message, 20)[..16], 0x68cd_0ab8_51e5_1c96_aabc_927b_ebef_6a1c_u128.to_be_bytes());
        assert_eq!(field(&proof.message, 28), utf16("Domain"));
        assert_eq!(field(&proof.message, 36), utf16("User"));
        assert_eq!(field(&proof.message, 52), 0xc5da_d254_4fc9_7990_94ce_1ce9_0bc9_d03e_u128.to_be_bytes());
        assert_eq!(proof.key, [0x55; 16]);
        let plain =
            authenticate(&user, &challenge(1, &[(2, &utf16("Domain")), (1, &utf16("Server"))]), &DRAWN).unwrap();
        assert_eq!(plain.key, 0x8de4_0cca_dbc1_4a82_f15c_b0ad_0de9_5ca3_u128.to_be_bytes(), "no key is exchanged");
        assert!(field(&plain.message, 52).is_empty());
    }

    #[test]
    fn a_server_that_tells_the_time_gets_a_code_over_all_messages() {
        let asked = challenge(OFFERED, &[(FLAGS, &[1, 0, 0, 0]), (TIME, &[9; 8])]);
        let Proof { message, key } = authenticate(&user(), &asked, &DRAWN).unwrap();
        assert_eq!(field(&message, 12), [0; 24], "no proof of the older kind");
        let claim = &field(&message, 20)[16..];
        assert_eq!(claim[8..16], [9; 8], "the server's time");
        assert_eq!(claim[28..], [7, 0, 8, 0, 9, 9, 9, 9, 9, 9, 9, 9, 6, 0, 4, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        let mut without = message.clone();
        without[CODE].fill(0);
        assert_eq!(message[CODE], hmac_md5(&key, &[&negotiate(), &asked, &without]));
        assert_ne!(message[CODE], [0; 16]);
    }

    #[test]
    fn a_challenge_cut_anywhere_is_none_or_tells_less() {
        let asked = example();
        for end in 0..asked.len() {
            assert_eq!(authenticate(&user(), &asked[..end], &DRAWN).is_some(), end >= 32, "{end} bytes");
        }
        let long = challenge(1, &[(2, &[1; 65_500])]);
        assert!(authenticate(&user(), &long, &DRAWN).is_none(), "an answer longer than can be said");
    }

    #[test]
    fn a_letter_without_one_upper_case_stays() {
        let of = |name: &str| secret(&Credentials { user: name.to_string(), ..user() });
        assert_eq!(of("anné"), of("ANNÉ"));
        assert_ne!(of("straße"), of("STRASSE"));
    }
}
