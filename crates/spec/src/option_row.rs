//! Generates a struct, an enum and a table from the rows that declare options, and parses their values.

use std::str::FromStr;

use crate::{Nanos, ParseError};

/// Parses a value of a type with its own text form.
pub(crate) fn word<T: FromStr<Err = ParseError>>(text: &str) -> Result<T, ParseError> {
    text.parse()
}

/// Parses a whole number from `LEAST` to `MOST`.
pub(crate) fn count<const LEAST: u32, const MOST: u32>(text: &str) -> Result<u32, ParseError> {
    match text.parse() {
        Ok(number) if (LEAST..=MOST).contains(&number) => Ok(number),
        _ => Err(ParseError::new(text, 0, format!("write a whole number from {LEAST} to {MOST}"))),
    }
}

/// Parses a time; without a unit it is in microseconds, as in fio.
pub(crate) fn microseconds(text: &str) -> Result<Nanos, ParseError> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return text.parse();
    }
    format!("{text}us").parse().map_err(|error: ParseError| ParseError { text: text.to_string(), ..error })
}

/// Generates `WorkloadOptions`, `WorkloadOption` and `OPTIONS` from the rows. A value is read as `one` (it has a
/// default),
/// `perhaps` (it may be unset) or `switch` (the flag alone turns it on).
macro_rules! options {
    ($(
        $(#[$meta:meta])*
        $option:ident $field:ident: $type:ty = $default:expr;
            $kind:ident($($reader:expr)?), $flag:literal pinned $pinned:literal $(alias $alias:literal)? $(takes $value:literal)?;
            $help:expr;
    )*) => {
        /// Options of a workload that usually keep their defaults. Each is a flag of `halfpower run`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(default)]
        pub struct WorkloadOptions {
            $($(#[$meta])* pub $field: $type,)*
        }

        impl Default for WorkloadOptions {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }

        /// The name of an option: a field of [`WorkloadOptions`].
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum WorkloadOption {
            $(#[doc = $help] $option,)*
        }

        /// All options, in the order of their fields.
        pub static OPTIONS: &[OptionRow] = &[$(
            OptionRow {
                option: WorkloadOption::$option,
                flag: $flag,
                pinned: $pinned,
                alias: options!(@given $($alias)?),
                value_name: options!(@given $($value)?),
                help: $help,
                is_switch: options!(@is_switch $kind),
                text: options!(@text $kind $field),
                read: options!(@read $kind $field $($reader)?),
                usual: options!(@usual $kind $field),
            },
        )*];
    };
    (@given) => { None };
    (@given $given:literal) => { Some($given) };
    (@is_switch switch) => { true };
    (@is_switch $kind:ident) => { false };
    (@text one $field:ident) => {
        |options| (options.$field != WorkloadOptions::default().$field).then(|| options.$field.to_string())
    };
    (@text perhaps $field:ident) => { |options| options.$field.map(|value| value.to_string()) };
    (@text switch $field:ident) => { |options| options.$field.then(String::new) };
    (@read one $field:ident $reader:expr) => {
        |options, text| {
            options.$field = $reader(text)?;
            Ok(())
        }
    };
    (@read perhaps $field:ident $reader:expr) => {
        |options, text| {
            options.$field = Some($reader(text)?);
            Ok(())
        }
    };
    (@read switch $field:ident) => {
        |options, _| {
            options.$field = true;
            Ok(())
        }
    };
    (@usual one $field:ident) => { || Some(WorkloadOptions::default().$field.to_string()) };
    (@usual $kind:ident $field:ident) => { || None };
}
pub(crate) use options;
