//! Generates the figures of a record from the rows that declare them.

use rusqlite::types::Value;

use halfpower_spec::{Cache, Direction, EngineName, Experiment, IoMem, Pass, Pattern, Rw};

use crate::Record;

/// A figure of a record: a column, a key, or both.
pub(crate) struct Figure {
    pub column: Option<Column>,
    pub key: Option<FlatKey>,
}

/// A column of the study file and of the CSV.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    /// Its name; the unit comes last.
    pub name: &'static str,
    /// One sentence that says what it is.
    pub doc: &'static str,
    /// Its type in the study file: TEXT, INTEGER or REAL.
    pub kind: &'static str,
    /// The value in a record; null if unknown or meaningless for the run.
    pub(crate) value: fn(&Record) -> Value,
}

/// A key of `run --json`.
pub(crate) struct FlatKey {
    pub name: &'static str,
    #[cfg(feature = "schema")]
    pub doc: &'static str,
    pub value: fn(&Record) -> serde_json::Result<serde_json::Value>,
    #[cfg(feature = "schema")]
    pub schema: fn(&mut schemars::SchemaGenerator) -> schemars::Schema,
}

/// Generates the array of figures. A row says what the figure is, its name and type, how a record gives it and, after
/// `if`, when a record knows it. It is a column `in file` (study file, CSV, JSON of `export`), a key `in run` (`run
/// --json`), or `everywhere`.
macro_rules! figures {
    ($(
        $(#[doc = $doc:literal])+
        $name:ident: $type:ty = |$record:ident| $value:expr $(, if $is_known:expr)? => $($place:ident)+;
    )*) => {
        static FIGURES: &[Figure] = &[$({
            const NAME: &str = stringify!($name);
            #[allow(dead_code, reason = "a key alone tells it in schemas only")]
            const DOC: &str = concat!($($doc),+).trim_ascii_start();
            fn value($record: &Record) -> $type {
                $value
            }
            #[allow(dead_code, unused_variables, reason = "a key has only figures that are known")]
            fn is_known($record: &Record) -> bool {
                true $(&& $is_known)?
            }
            figures!(@figure $type; $($place)+)
        },)*];
    };
    (@figure $type:ty; everywhere) => {
        Figure { column: Some(figures!(@column $type)), key: Some(figures!(@key $type)) }
    };
    (@figure $type:ty; in file) => {
        Figure { column: Some(figures!(@column $type)), key: None }
    };
    (@figure $type:ty; in run) => {
        Figure { column: None, key: Some(figures!(@key $type)) }
    };
    (@column $type:ty) => {
        Column {
            name: NAME,
            doc: DOC,
            kind: <$type as Cell>::KIND,
            value: |record| if is_known(record) { value(record).cell() } else { Value::Null },
        }
    };
    (@key $type:ty) => {
        FlatKey {
            name: NAME,
            #[cfg(feature = "schema")]
            doc: DOC,
            value: |record| serde_json::to_value(value(record)),
            #[cfg(feature = "schema")]
            schema: |generator| generator.subschema_for::<$type>(),
        }
    };
}
pub(crate) use figures;

/// A value of a column.
pub(crate) trait Cell {
    /// Its type in the study file.
    const KIND: &'static str;

    fn cell(self) -> Value;
}

impl Cell for String {
    const KIND: &'static str = "TEXT";

    fn cell(self) -> Value {
        Value::Text(self)
    }
}

impl Cell for f64 {
    const KIND: &'static str = "REAL";

    fn cell(self) -> Value {
        Value::Real(self)
    }
}

impl Cell for i64 {
    const KIND: &'static str = "INTEGER";

    fn cell(self) -> Value {
        Value::Integer(self)
    }
}

impl Cell for u64 {
    const KIND: &'static str = i64::KIND;

    /// SQLite's integers end at 2^63 - 1; counts and times stay far below.
    fn cell(self) -> Value {
        Value::Integer(i64::try_from(self).unwrap_or(i64::MAX))
    }
}

impl Cell for u32 {
    const KIND: &'static str = u64::KIND;

    fn cell(self) -> Value {
        u64::from(self).cell()
    }
}

impl Cell for u8 {
    const KIND: &'static str = u64::KIND;

    fn cell(self) -> Value {
        u64::from(self).cell()
    }
}

impl<T: Cell> Cell for Option<T> {
    const KIND: &'static str = T::KIND;

    fn cell(self) -> Value {
        self.map_or(Value::Null, T::cell)
    }
}

/// Settings with one spelling each.
macro_rules! words {
    ($($setting:ty),+) => {
        $(impl Cell for $setting {
            const KIND: &'static str = String::KIND;

            fn cell(self) -> Value {
                self.to_string().cell()
            }
        })+
    };
}
words!(Cache, Direction, EngineName, Experiment, IoMem, Pass, Pattern, Rw);
