//! Asks the driver of a network card for its offloads and for the speeds of its link (`ethtool`).
//!
//! Any user may ask. The layouts are those of `linux/ethtool.h`.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// The `ioctl` of ethtool (`linux/sockios.h`).
const SIOCETHTOOL: libc::c_ulong = 0x8946;
/// Bytes of an interface's name, the zero at its end included (`IFNAMSIZ`).
const NAME_BYTES: usize = 16;
/// `ETHTOOL_GLINKSETTINGS`.
const LINK_SETTINGS: u32 = 0x4c;
/// Words of `struct ethtool_link_settings` before the masks, and of one mask at most.
const HEAD_WORDS: usize = 12;
const MASK_WORDS: usize = 127;
/// Bytes of the head: whether the speed is negotiated, and the words of a mask.
const NEGOTIATED: usize = 11;
const WORDS: usize = 15;
/// Offloads: the name that ethtool gives them, and the command that asks.
const OFFLOADS: [(&str, u32); 6] = [
    ("rx-checksumming", 0x14),
    ("tx-checksumming", 0x16),
    ("scatter-gather", 0x18),
    ("tcp-segmentation-offload", 0x1e),
    ("generic-segmentation-offload", 0x23),
    ("generic-receive-offload", 0x2b),
];
/// Speeds in Mbit/s by the numbers of link modes (`enum ethtool_link_mode_bit_indices`); modes at half duplex, which
/// nobody wants, are left out.
const SPEEDS: [(std::ops::RangeInclusive<usize>, u32); 29] = [
    (1..=1, 10),
    (3..=3, 100),
    (5..=5, 1000),
    (12..=12, 10_000),
    (15..=15, 2500),
    (17..=17, 1000),
    (18..=20, 10_000),
    (21..=22, 20_000),
    (23..=26, 40_000),
    (27..=30, 56_000),
    (31..=33, 25_000),
    (34..=35, 50_000),
    (36..=39, 100_000),
    (40..=40, 50_000),
    (41..=41, 1000),
    (42..=46, 10_000),
    (47..=47, 2500),
    (48..=48, 5000),
    (52..=56, 50_000),
    (57..=61, 100_000),
    (62..=66, 200_000),
    (67..=67, 100),
    (68..=68, 1000),
    (69..=73, 400_000),
    (75..=79, 100_000),
    (80..=84, 200_000),
    (85..=89, 400_000),
    (91..=91, 100),
    (93..=98, 800_000),
];

/// What the driver of a network interface says, a line each, as ethtool would: `tcp-segmentation-offload: on`, and of
/// the link `supported: 100 1000`, `advertised: ...` and `partner: ...` in Mbit/s, and `negotiated: on`. What it does
/// not tell has no line.
///
/// # Errors
/// The system's error if there is no such interface, or no sockets may be made.
pub fn told(interface: &str) -> io::Result<String> {
    let card = Card::of(interface)?;
    let mut lines = String::new();
    for (name, command) in OFFLOADS {
        let mut words = [command, 0];
        match card.ask(&mut words) {
            Ok(()) => lines += &format!("{name}: {}\n", if words[1] == 0 { "off" } else { "on" }),
            Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(lines + &link(&|words| card.ask(words)).unwrap_or_default())
}

/// The lines of the link.
fn link(ask: &dyn Fn(&mut [u32]) -> io::Result<()>) -> io::Result<String> {
    let mut words = vec![0_u32; HEAD_WORDS + 3 * MASK_WORDS];
    words[0] = LINK_SETTINGS;
    ask(&mut words)?;
    // Asked without room, the kernel says how much it wants, as a negative number.
    let wanted = byte(&words, WORDS).cast_signed().unsigned_abs();
    let length = usize::from(wanted);
    if !(1..=MASK_WORDS).contains(&length) {
        return Err(io::ErrorKind::InvalidData.into());
    }
    words.fill(0);
    words[0] = LINK_SETTINGS;
    set_byte(&mut words, WORDS, wanted);
    ask(&mut words)?;
    let masks: Vec<&[u32]> = words[HEAD_WORDS..].chunks_exact(length).take(3).collect();
    let mut lines = format!("negotiated: {}\n", if byte(&words, NEGOTIATED) == 0 { "off" } else { "on" });
    for (name, mask) in ["supported", "advertised", "partner"].into_iter().zip(masks) {
        let speeds: Vec<String> = speeds(mask).iter().map(u32::to_string).collect();
        if !speeds.is_empty() {
            lines += &format!("{name}: {}\n", speeds.join(" "));
        }
    }
    Ok(lines)
}

/// The speeds of a mask of link modes, each once, the slowest first.
fn speeds(mask: &[u32]) -> Vec<u32> {
    let is_set = |mode: usize| mask.get(mode / 32).is_some_and(|word| word >> (mode % 32) & 1 == 1);
    let known = SPEEDS.iter().filter(|(modes, _)| modes.clone().any(is_set));
    let found: std::collections::BTreeSet<u32> = known.map(|(_, speed)| *speed).collect();
    found.into_iter().collect()
}

fn byte(words: &[u32], at: usize) -> u8 {
    words[at / 4].to_ne_bytes()[at % 4]
}

fn set_byte(words: &mut [u32], at: usize, value: u8) {
    let mut bytes = words[at / 4].to_ne_bytes();
    bytes[at % 4] = value;
    words[at / 4] = u32::from_ne_bytes(bytes);
}

/// A socket through which a network interface is asked.
struct Card {
    socket: OwnedFd,
    name: [u8; NAME_BYTES],
}

/// The kernel's `struct ifreq` with the address of data.
#[repr(C)]
struct Request {
    name: [u8; NAME_BYTES],
    data: *mut u32,
    rest: [u8; 16],
}

impl Card {
    fn of(interface: &str) -> io::Result<Self> {
        let mut name = [0_u8; NAME_BYTES];
        // The last byte stays zero.
        if interface.is_empty() || interface.len() >= name.len() {
            return Err(io::ErrorKind::NotFound.into());
        }
        name[..interface.len()].copy_from_slice(interface.as_bytes());
        // SAFETY: the call takes numbers alone.
        let number = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
        if number < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the socket was just made, and nothing else has it.
        Ok(Self { socket: unsafe { OwnedFd::from_raw_fd(number) }, name })
    }

    /// Asks by a command, which is the first word; the answer takes its place.
    fn ask(&self, words: &mut [u32]) -> io::Result<()> {
        let mut request = Request { name: self.name, data: words.as_mut_ptr(), rest: [0; 16] };
        // SAFETY: the structure has the kernel's layout; the command in the words writes no more of them than there are:
        // two for an offload, and for the link the head with three masks of as many words as it says.
        if unsafe { libc::ioctl(self.socket.as_raw_fd(), SIOCETHTOOL as _, &raw mut request) } < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_modes_of_a_link_are_speeds() {
        // 100 Mbit/s at half and full duplex, 1 Gbit/s, 10 Gbit/s in two forms.
        assert_eq!(speeds(&[1 << 2 | 1 << 3 | 1 << 5 | 1 << 12, 1 << (43 - 32)]), [100, 1000, 10_000]);
        assert_eq!(speeds(&[0, 0]), [0_u32; 0]);
        assert_eq!(speeds(&[1 << 2]), [0_u32; 0]);
        // Pause and other words are no speeds.
        assert_eq!(speeds(&[1 << 6 | 1 << 7 | 1 << 13 | 1 << 14]), [0_u32; 0]);
    }

    #[test]
    fn the_link_is_asked_twice_and_told_in_lines() {
        let card = |words: &mut [u32]| -> io::Result<()> {
            match byte(words, WORDS) {
                0 => set_byte(words, WORDS, (-4_i8).cast_unsigned()),
                4 => {
                    set_byte(words, NEGOTIATED, 1);
                    words[HEAD_WORDS] = 1 << 3 | 1 << 5;
                    words[HEAD_WORDS + 4] = 1 << 3 | 1 << 5;
                    words[HEAD_WORDS + 8] = 1 << 3;
                }
                other => panic!("{other} words were not asked for"),
            }
            Ok(())
        };
        assert_eq!(link(&card).unwrap(), "negotiated: on\nsupported: 100 1000\nadvertised: 100 1000\npartner: 100\n");
        assert!(link(&|_| Ok(())).is_err());
    }

    #[test]
    fn the_layout_is_the_kernels() {
        if cfg!(target_pointer_width = "64") {
            assert_eq!(size_of::<Request>(), 40);
        }
        assert_eq!(HEAD_WORDS * 4, 48);
    }

    #[test]
    fn an_interface_that_is_not_there_is_an_error() {
        for name in ["", "no-such-interface-here", "nosuch0"] {
            assert!(told(name).is_err(), "{name}");
        }
    }
}
