//! Learns from the kernel's `format` files where the fields of an event lie, and reads them.

use std::collections::BTreeMap;

/// The bits of `common_flags` that mean an interrupt (enum trace_flag_type in include/linux/trace_events.h).
const IN_INTERRUPT: u64 = 0x08 | 0x10;

/// Fields by their names.
pub(crate) type Fields = BTreeMap<String, Field>;

/// Position of a field in a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) offset: usize,
    pub(crate) size: usize,
}

impl Field {
    /// Stands for a field that an event does not have: it is no number, and has no bytes.
    pub(crate) const ABSENT: Self = Self { offset: 0, size: 0 };

    /// The field's value, unsigned; `None` if the payload is too short, or the field is not a number.
    pub(crate) fn of(self, payload: &[u8]) -> Option<u64> {
        let bytes = self.bytes(payload)?;
        Some(match self.size {
            1 => u64::from(bytes[0]),
            2 => u64::from(u16::from_ne_bytes(bytes.try_into().ok()?)),
            4 => u64::from(u32::from_ne_bytes(bytes.try_into().ok()?)),
            8 => u64::from_ne_bytes(bytes.try_into().ok()?),
            _ => return None,
        })
    }

    /// As [`Field::of`], of a signed field.
    pub(crate) fn signed(self, payload: &[u8]) -> Option<i64> {
        let value = self.of(payload)?;
        let unused = 64 - 8 * self.size as u32;
        Some(((value << unused) as i64) >> unused)
    }

    /// The field's bytes; `None` if the payload is too short.
    pub(crate) fn bytes(self, payload: &[u8]) -> Option<&[u8]> {
        payload.get(self.offset..self.offset.checked_add(self.size)?)
    }
}

/// Parses the fields of a `format` file, or of `header_page`, by name.
pub(crate) fn fields(text: &str) -> Fields {
    text.lines().filter_map(field).collect()
}

/// Parses a line such as `field:char rwbs[10]; offset:28; size:10; signed:0;`.
fn field(line: &str) -> Option<(String, Field)> {
    let mut parts = line.trim().split(';').map(str::trim);
    let declared = parts.next()?.strip_prefix("field:")?;
    let name = declared.split_whitespace().last()?.split('[').next()?.to_string();
    let mut number = |key: &str| parts.next()?.strip_prefix(key)?.parse().ok();
    Some((name, Field { offset: number("offset:")?, size: number("size:")? }))
}

/// The fields of these names; `None` if one is missing.
pub(crate) fn named(fields: &Fields, names: &[&str]) -> Option<Vec<Field>> {
    names.iter().map(|name| fields.get(*name).copied()).collect()
}

/// The kernel's ID of an event, from its `format` file.
fn id(text: &str) -> Option<u16> {
    text.lines().find_map(|line| line.strip_prefix("ID:")?.trim().parse().ok())
}

/// The name of an event, from its `format` file.
fn name(text: &str) -> Option<&str> {
    text.lines().find_map(|line| line.strip_prefix("name: "))
}

/// How the events of one kind are read.
pub(crate) trait Kind: Copy {
    /// The fields that are taken, in the order in which they are numbered; `None` if one is missing that is needed.
    fn places(self, fields: &Fields) -> Option<Vec<Field>>;
}

/// An event to read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WantedEvent<K> {
    pub(crate) group: &'static str,
    pub(crate) name: &'static str,
    /// Its name in older kernels.
    pub(crate) older: Option<&'static str>,
    /// Whether tracing is impossible without it.
    pub(crate) needed: bool,
    pub(crate) kind: K,
}

/// An event to read, by its folder and its name.
pub(crate) const fn wanted<K: Copy>(group: &'static str, name: &'static str, needed: bool, kind: K) -> WantedEvent<K> {
    WantedEvent { group, name, older: None, needed, kind }
}

impl<K: Copy> WantedEvent<K> {
    /// The same event, which has another name in older kernels.
    pub(crate) const fn before(self, older: &'static str) -> Self {
        Self { older: Some(older), ..self }
    }

    /// The same event, of the kind that `make` makes of its own.
    pub(crate) fn made<J>(self, make: impl FnOnce(K) -> J) -> WantedEvent<J> {
        let Self { group, name, older, needed, kind } = self;
        WantedEvent { group, name, older, needed, kind: make(kind) }
    }

    /// Its names, newest first.
    pub(crate) fn names(self) -> impl Iterator<Item = &'static str> {
        [self.name].into_iter().chain(self.older)
    }
}

/// How to read the payloads of one event.
#[derive(Debug, Clone)]
struct Layout<K> {
    kind: K,
    thread: Field,
    flags: Field,
    places: Vec<Field>,
}

/// How to read the payloads of the events that were learned, by the kernel's ID of each.
#[derive(Debug, Clone)]
pub(crate) struct Layouts<K>(BTreeMap<u16, Layout<K>>);

impl<K> Default for Layouts<K> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<K: Kind> Layouts<K> {
    /// Adds an event from its `format` file; false if the file is not as expected.
    pub(crate) fn learn(&mut self, kind: K, format: &str) -> bool {
        let all = fields(format);
        let shared = all.get("common_pid").copied().zip(all.get("common_flags").copied());
        let (Some(id), Some((thread, flags)), Some(places)) = (id(format), shared, kind.places(&all)) else {
            return false;
        };
        self.0.insert(id, Layout { kind, thread, flags, places });
        true
    }

    /// Adds those of the wanted events whose `format` file is among these.
    pub(crate) fn learn_all(&mut self, wanted: impl Iterator<Item = WantedEvent<K>>, formats: &[&str]) {
        for wanted in wanted {
            let of_it = |format: &&&str| wanted.names().any(|own| name(format) == Some(own));
            if let Some(format) = formats.iter().find(of_it) {
                self.learn(wanted.kind, format);
            }
        }
    }

    /// The payload of an event that was learned; `None` if it is of another.
    pub(crate) fn open<'a>(&'a self, payload: &'a [u8]) -> Option<Payload<'a, K>> {
        let id = u16::from_ne_bytes(payload.get(..2)?.try_into().ok()?);
        Some(Payload { layout: self.0.get(&id)?, bytes: payload })
    }
}

/// A payload, and how to read it. Its fields are numbered as [`Kind::places`] names them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Payload<'a, K> {
    layout: &'a Layout<K>,
    bytes: &'a [u8],
}

impl<'a, K: Kind> Payload<'a, K> {
    pub(crate) fn kind(self) -> K {
        self.layout.kind
    }

    /// The value of a field, unsigned; `None` if it is missing or no number.
    pub(crate) fn number(self, place: usize) -> Option<u64> {
        self.layout.places.get(place)?.of(self.bytes)
    }

    /// The value of a signed field; `None` if it is missing or no number.
    pub(crate) fn signed(self, place: usize) -> Option<i64> {
        self.layout.places.get(place)?.signed(self.bytes)
    }

    /// The bytes of a field; none of one that the event does not have.
    pub(crate) fn bytes(self, place: usize) -> Option<&'a [u8]> {
        self.layout.places.get(place)?.bytes(self.bytes)
    }

    /// The thread that was running.
    pub(crate) fn thread(self) -> Option<u32> {
        Some(self.layout.thread.of(self.bytes)? as u32)
    }

    /// Whether it happened in an interrupt or in work deferred from one.
    pub(crate) fn in_interrupt(self) -> Option<bool> {
        Some(self.layout.flags.of(self.bytes)? & IN_INTERRUPT != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::events::tests::ISSUE;
    use super::*;

    #[test]
    fn fields_are_found_where_the_kernel_says() {
        let fields = fields(ISSUE);
        assert_eq!(fields["sector"], Field { offset: 16, size: 8 });
        assert_eq!(fields["rwbs"], Field { offset: 34, size: 10 });
        let page = super::fields("\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n");
        assert_eq!(page["commit"], Field { offset: 8, size: 8 });
        assert_eq!((name(ISSUE), id(ISSUE)), (Some("block_rq_issue"), Some(1083)));
    }

    #[test]
    fn numbers_are_read_with_their_sign_and_their_size() {
        let payload = [0xff; 12];
        let field = |offset, size| Field { offset, size };
        assert_eq!(field(4, 4).of(&payload), Some(u64::from(u32::MAX)));
        assert_eq!([1, 2, 4, 8].map(|size| field(4, size).signed(&payload)), [Some(-1); 4]);
        assert_eq!(field(0, 2).signed(&7i16.to_ne_bytes()), Some(7));
        assert_eq!(field(8, 8).of(&payload), None, "too short");
        assert_eq!(field(usize::MAX, 2).of(&payload), None);
        assert_eq!((Field::ABSENT.of(&payload), Field::ABSENT.bytes(&payload)), (None, Some(&[][..])));
    }
}
