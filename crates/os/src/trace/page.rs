//! Reads events from a page of the kernel's ring buffer.
//!
//! The layout is the kernel's interface to its own tools (include/linux/ring_buffer.h and `header_event` in tracefs). A
//! page has a time stamp, a byte count, and then entries of four-byte words. The first word of an entry holds five bits
//! of type and 27 bits of time since the previous entry.

use super::format::{Field, fields};

/// Largest type of entries that carry events; type 0 means that the length is in a separate word.
const LAST_DATA: u32 = 28;
const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;
/// Bits of the time in an entry's first word.
const DELTA_BITS: u32 = 27;
/// Bits of an absolute time stamp; the bits above come from the page.
const STAMP_BITS: u32 = 59;
/// Masks out the two topmost bits of the byte count, which say that events were lost before this page.
const COUNT_MASK: u64 = (1 << 30) - 1;
/// The bits that say that events were lost, and that their number stands after the data.
const LOST: u64 = 1 << 31;
const LOST_IS_COUNTED: u64 = 1 << 30;

/// Positions of the fields in a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PageLayout {
    stamp: Field,
    count: Field,
    data_offset: usize,
    /// Bytes of a whole page.
    pub(crate) bytes: usize,
}

impl PageLayout {
    /// Parses the text of `header_page`; `None` if it is not as expected.
    pub(crate) fn parse(header_page: &str) -> Option<Self> {
        let fields = fields(header_page);
        let stamp = *fields.get("timestamp")?;
        let count = *fields.get("commit")?;
        let data = *fields.get("data")?;
        let bytes = data.offset.checked_add(data.size)?;
        (stamp.size == 8 && (4096..=1 << 20).contains(&bytes)).then_some(Self {
            stamp,
            count,
            data_offset: data.offset,
            bytes,
        })
    }

    /// The entries of a page, after its header.
    fn open<'a>(&self, page: &'a [u8]) -> Option<Entries<'a>> {
        let now_ns = self.stamp.of(page)?;
        let count = (self.count.of(page)? & COUNT_MASK) as usize;
        let data = page.get(self.data_offset..)?;
        Some(Entries { rest: &data[..count.min(data.len())], now_ns })
    }

    /// Hands the time and the payload of each event of a page to `take`.
    pub(crate) fn read(&self, page: &[u8], mut take: impl FnMut(u64, &[u8])) {
        self.open(page).into_iter().flatten().for_each(|(at_ns, payload)| take(at_ns, payload));
    }

    /// Events that later ones overwrote before this page was read; 1 if the kernel had no room to count them.
    pub(crate) fn lost_before(&self, page: &[u8]) -> u64 {
        let count = self.count.of(page).unwrap_or(0);
        if count & LOST == 0 {
            return 0;
        }
        let after = self.data_offset.saturating_add((count & COUNT_MASK) as usize);
        let counted = Field { offset: after, size: self.count.size }.of(page);
        counted.filter(|_| count & LOST_IS_COUNTED != 0).unwrap_or(1)
    }

    /// The time of the first entry of a page.
    pub(crate) fn first_ns(&self, page: &[u8]) -> Option<u64> {
        self.open(page)?.next().map(|(at_ns, _)| at_ns)
    }
}

/// Iterates over the entries of a page: times and payloads.
struct Entries<'a> {
    rest: &'a [u8],
    now_ns: u64,
}

impl<'a> Entries<'a> {
    /// Takes the next word.
    fn word(&mut self) -> Option<u32> {
        let (word, rest) = self.rest.split_first_chunk::<4>()?;
        self.rest = rest;
        Some(u32::from_ne_bytes(*word))
    }

    fn pass(&mut self, ns: u64) {
        self.now_ns = self.now_ns.saturating_add(ns);
    }

    fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(bytes)?;
        self.rest = rest;
        Some(taken)
    }
}

/// Type and time of an entry's first word; on big-endian machines the bit field begins at the other end.
fn parts(word: u32) -> (u32, u64) {
    if cfg!(target_endian = "little") {
        (word & 31, u64::from(word >> 5))
    } else {
        (word >> DELTA_BITS, u64::from(word & ((1 << DELTA_BITS) - 1)))
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = (u64, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (kind, delta) = parts(self.word()?);
            match kind {
                TIME_EXTEND => {
                    let high = u64::from(self.word()?) << DELTA_BITS;
                    self.pass(high + delta);
                }
                TIME_STAMP => {
                    let low = (u64::from(self.word()?) << DELTA_BITS) + delta;
                    self.now_ns = (self.now_ns >> STAMP_BITS << STAMP_BITS) | low;
                }
                // Padding without a time fills the rest of the page; with a time it replaces an event that was
                // discarded.
                PADDING if delta == 0 => return None,
                PADDING => {
                    self.pass(delta);
                    let bytes = self.word()? as usize;
                    self.take(bytes.checked_sub(4)?)?;
                }
                0 => {
                    self.pass(delta);
                    let bytes = self.word()? as usize;
                    return Some((self.now_ns, self.take(bytes.checked_sub(4)?)?));
                }
                words @ 1..=LAST_DATA => {
                    self.pass(delta);
                    return Some((self.now_ns, self.take(words as usize * 4)?));
                }
                _ => return None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::block::Step;
    use super::super::events::tests::{ISSUE, decoder, issue};
    use super::super::events::{TraceEvent, What, events_of_page};
    use super::*;

    const HEADER: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
        \tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
        \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\
        \tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";

    fn word(kind: u32, delta: u32) -> [u8; 4] {
        let word = if cfg!(target_endian = "little") { kind | delta << 5 } else { kind << DELTA_BITS | delta };
        word.to_ne_bytes()
    }

    fn page(stamp_ns: u64, flags: u64, data: &[u8]) -> Vec<u8> {
        let mut page = stamp_ns.to_ne_bytes().to_vec();
        page.extend((data.len() as u64 | flags).to_ne_bytes());
        page.extend(data);
        page.resize(4096, 0xff);
        page
    }

    fn event(delta: u32, sector: u64) -> Vec<u8> {
        let payload = issue(254 << 20, sector, 8);
        let mut entry = word(payload.len() as u32 / 4, delta).to_vec();
        entry.extend(payload);
        entry
    }

    fn read(page: &[u8]) -> Vec<(u64, u64)> {
        let mut events = Vec::new();
        let decoder = decoder();
        let layout = PageLayout::parse(HEADER).unwrap();
        layout.read(page, |at_ns, payload| events.extend(decoder.decode(at_ns, 0, payload)));
        let sector = |event: &TraceEvent| match &event.what {
            What::Block { step: Step::Issued, sectors, .. } => sectors.start,
            other => panic!("{other:?}"),
        };
        events.iter().map(|event| (event.at_ns, sector(event))).collect()
    }

    #[test]
    fn times_add_up_over_events_extensions_and_taken_back_ones() {
        let mut data = event(7, 1);
        data.extend(word(TIME_EXTEND, 3));
        data.extend(2u32.to_ne_bytes());
        data.extend(event(5, 2));
        data.extend(word(PADDING, 10));
        data.extend(8u32.to_ne_bytes());
        data.extend([0; 4]);
        data.extend(event(1, 3));
        let extended = 1000 + 7 + (2 << 27) + 3 + 5;
        assert_eq!(read(&page(1000, 0, &data)), [(1007, 1), (extended, 2), (extended + 11, 3)]);
    }

    #[test]
    fn long_events_and_absolute_stamps_are_read() {
        let payload = issue(254 << 20, 9, 8);
        let mut data = word(TIME_STAMP, 5).to_vec();
        data.extend(1u32.to_ne_bytes());
        data.extend(word(0, 2));
        data.extend((payload.len() as u32 + 4).to_ne_bytes());
        data.extend(&payload);
        assert_eq!(read(&page(1 << 59, 0, &data)), [((1 << 59) + (1 << 27) + 5 + 2, 9)]);
    }

    #[test]
    fn the_page_ends_at_its_count_or_its_padding() {
        let mut data = event(1, 1);
        let whole = data.len();
        data.extend(event(1, 2));
        let mut cut = page(0, 0, &data);
        cut[8..16].copy_from_slice(&(whole as u64).to_ne_bytes());
        assert_eq!(read(&cut), [(1, 1)]);
        let mut padded = event(1, 1);
        padded.extend(word(PADDING, 0));
        padded.extend(event(1, 2));
        assert_eq!(read(&page(0, 3 << 30, &padded)), [(1, 1)]);
        assert_eq!(PageLayout::parse(HEADER).unwrap().first_ns(&cut), Some(1));
        let of_page = |disk: &[u64]| events_of_page(HEADER, &["name: sched_switch", ISSUE], disk, &cut).len();
        assert_eq!((of_page(&[254 << 20]), of_page(&[7 << 20])), (1, 0));
    }

    #[test]
    fn events_lost_before_a_page_are_counted_behind_its_data() {
        let layout = PageLayout::parse(HEADER).unwrap();
        let data = event(1, 1);
        let mut page = page(0, 3 << 30, &data);
        page[16 + data.len()..24 + data.len()].copy_from_slice(&77u64.to_ne_bytes());
        assert_eq!(layout.lost_before(&page), 77);
        let lost = |flags: u64| layout.lost_before(&self::page(0, flags, &data));
        assert_eq!((lost(0), lost(1 << 31)), (0, 1), "none, and some that are not counted");
    }

    #[test]
    fn no_page_makes_it_stumble() {
        let mut data = event(1, 1);
        data.extend(event(1, 2));
        let whole = page(0, 0, &data);
        for length in 0..200 {
            read(&whole[..length]);
        }
        for kind in 0..32 {
            let mut strange = word(kind, 1).to_vec();
            strange.extend(1u32.to_ne_bytes());
            read(&page(u64::MAX >> 1, 0, &strange));
        }
        assert_eq!(PageLayout::parse("nothing"), None);
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig {
            cases: std::env::var("HALFPOWER_FUZZ_CASES").map_or(4000, |cases| cases.parse().unwrap()),
            failure_persistence: None,
            ..Default::default()
        })]
        #[test]
        fn no_mangled_page_makes_it_stumble(
            stamp_ns: u64,
            flags in 0..1u64 << 32,
            count in 0..8usize,
            changes in proptest::collection::vec((0..4096usize, proptest::prelude::any::<u8>()), 0..40),
            length in 0..5000usize,
        ) {
            let data: Vec<u8> = (0..count).flat_map(|sector| event(7, sector as u64)).collect();
            let mut page = page(stamp_ns, flags, &data);
            changes.iter().for_each(|(at, byte)| page[at % (data.len() + 20)] = *byte);
            page.truncate(length);
            let layout = PageLayout::parse(HEADER).unwrap();
            let decoder = decoder();
            layout.read(&page, |at_ns, payload| {
                decoder.decode(at_ns, 0, payload);
            });
            layout.first_ns(&page);
            layout.lost_before(&page);
        }

        #[test]
        fn no_header_makes_it_stumble(
            changes in proptest::collection::vec((0..HEADER.len(), proptest::prelude::any::<u8>()), 0..12),
            sizes in proptest::array::uniform2(proptest::prelude::any::<u64>()),
        ) {
            let mut text = HEADER.replace("4080", &sizes[0].to_string()).replace("offset:16", &format!("offset:{}", sizes[1]));
            for (at, byte) in changes {
                text = text.chars().enumerate().map(|(index, c)| if index == at { char::from(byte) } else { c }).collect();
            }
            if let Some(layout) = PageLayout::parse(&text) {
                let whole = page(1, 0, &event(1, 1));
                layout.read(&whole, |_, _| {});
                layout.lost_before(&page(1, 3 << 30, &event(1, 1)));
            }
        }
    }
}
