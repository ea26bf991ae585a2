//! Finds a figure that JSON cannot express where it must not be left out: stored, it would be null, and nobody could read back what
//! holds it.

use std::fmt;

use serde::Serialize;
use serde::ser::{
    self, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple, SerializeTupleStruct,
    SerializeTupleVariant, Serializer,
};

/// The first figure of `stored` that is not a finite number, such as `predicted.high`; `None` if all are. One that may be null
/// would be read back as unknown, and is none of them.
pub(crate) fn unreadable_figure(stored: &impl Serialize) -> Option<String> {
    match stored.serialize(Look { name: "", within: None, may_be_null: false }) {
        Err(Found::Figure(name)) => Some(name),
        // Whoever stores it comes upon any other error too.
        Ok(()) | Err(Found::Other) => None,
    }
}

/// A look at a value, and where it is.
#[derive(Clone, Copy)]
struct Look<'a> {
    /// The field that holds it; empty for the whole.
    name: &'static str,
    within: Option<&'a Look<'a>>,
    may_be_null: bool,
}

/// Why the look has ended.
#[derive(Debug)]
enum Found {
    Figure(String),
    Other,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

impl std::error::Error for Found {}

impl ser::Error for Found {
    fn custom<T: fmt::Display>(_message: T) -> Self {
        Self::Other
    }
}

impl Look<'_> {
    /// The names of the fields on the way, joined by dots.
    fn path(&self) -> String {
        let before = self.within.map(Look::path).filter(|path| !path.is_empty());
        before.map_or_else(|| self.name.to_string(), |before| format!("{before}.{}", self.name))
    }

    /// Looks at a value that this one holds.
    fn at<T: ?Sized + Serialize>(self, value: &T) -> Result<(), Found> {
        value.serialize(Self { may_be_null: false, ..self })
    }

    /// Looks at a field of this value.
    fn at_field<T: ?Sized + Serialize>(&self, name: &'static str, value: &T) -> Result<(), Found> {
        value.serialize(Look { name, within: Some(self), may_be_null: false })
    }
}

/// What holds no figure that could be infinite.
macro_rules! passed {
    ($($method:ident($value:ty)),* $(,)?) => {
        $(fn $method(self, _value: $value) -> Result<(), Found> {
            Ok(())
        })*
    };
}

impl Serializer for Look<'_> {
    type Ok = ();
    type Error = Found;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    passed! {
        serialize_bool(bool), serialize_char(char), serialize_str(&str), serialize_bytes(&[u8]),
        serialize_i8(i8), serialize_i16(i16), serialize_i32(i32), serialize_i64(i64), serialize_i128(i128),
        serialize_u8(u8), serialize_u16(u16), serialize_u32(u32), serialize_u64(u64), serialize_u128(u128),
        serialize_unit_struct(&'static str),
    }

    fn serialize_f32(self, value: f32) -> Result<(), Found> {
        self.serialize_f64(value.into())
    }

    fn serialize_f64(self, value: f64) -> Result<(), Found> {
        if value.is_finite() || self.may_be_null { Ok(()) } else { Err(Found::Figure(self.path())) }
    }

    fn serialize_none(self) -> Result<(), Found> {
        Ok(())
    }

    fn serialize_some<T: ?Sized + Serialize>(self, value: &T) -> Result<(), Found> {
        value.serialize(Self { may_be_null: true, ..self })
    }

    fn serialize_unit(self) -> Result<(), Found> {
        Ok(())
    }

    fn serialize_unit_variant(self, _name: &'static str, _index: u32, _variant: &'static str) -> Result<(), Found> {
        Ok(())
    }

    fn serialize_newtype_struct<T: ?Sized + Serialize>(self, _name: &'static str, value: &T) -> Result<(), Found> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: ?Sized + Serialize>(
        self,
        _name: &'static str,
        _index: u32,
        _variant: &'static str,
        value: &T,
    ) -> Result<(), Found> {
        self.at(value)
    }

    fn serialize_seq(self, _length: Option<usize>) -> Result<Self, Found> {
        Ok(self)
    }

    fn serialize_tuple(self, _length: usize) -> Result<Self, Found> {
        Ok(self)
    }

    fn serialize_tuple_struct(self, _name: &'static str, _length: usize) -> Result<Self, Found> {
        Ok(self)
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        _variant: &'static str,
        _length: usize,
    ) -> Result<Self, Found> {
        Ok(self)
    }

    fn serialize_map(self, _length: Option<usize>) -> Result<Self, Found> {
        Ok(self)
    }

    fn serialize_struct(self, _name: &'static str, _length: usize) -> Result<Self, Found> {
        Ok(self)
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        _variant: &'static str,
        _length: usize,
    ) -> Result<Self, Found> {
        Ok(self)
    }

    fn collect_str<T: ?Sized + fmt::Display>(self, _value: &T) -> Result<(), Found> {
        Ok(())
    }
}

/// Values without names of their own: each is looked at in the place of what holds it.
macro_rules! unnamed {
    ($($held:ident::$method:ident),* $(,)?) => {
        $(impl $held for Look<'_> {
            type Ok = ();
            type Error = Found;

            fn $method<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<(), Found> {
                self.at(value)
            }

            fn end(self) -> Result<(), Found> {
                Ok(())
            }
        })*
    };
}

/// Fields.
macro_rules! named {
    ($($held:ident),* $(,)?) => {
        $(impl $held for Look<'_> {
            type Ok = ();
            type Error = Found;

            fn serialize_field<T: ?Sized + Serialize>(&mut self, name: &'static str, value: &T) -> Result<(), Found> {
                self.at_field(name, value)
            }

            fn end(self) -> Result<(), Found> {
                Ok(())
            }
        })*
    };
}

unnamed!(
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field,
);
named!(SerializeStruct, SerializeStructVariant);

impl SerializeMap for Look<'_> {
    type Ok = ();
    type Error = Found;

    fn serialize_key<T: ?Sized + Serialize>(&mut self, _key: &T) -> Result<(), Found> {
        Ok(())
    }

    fn serialize_value<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<(), Found> {
        self.at(value)
    }

    fn end(self) -> Result<(), Found> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[derive(Serialize, Default)]
    struct Whole {
        plain: f64,
        unknown: Option<f64>,
        list: Vec<f64>,
        part: Option<Part>,
        by_name: BTreeMap<String, (u8, f64)>,
        kind: Kind,
    }

    #[derive(Serialize, Default)]
    struct Part {
        low: f64,
    }

    #[derive(Serialize, Default)]
    enum Kind {
        #[default]
        None,
        Of(f64),
        With {
            share: f64,
        },
    }

    #[test]
    fn each_place_that_null_would_not_fill_is_found() {
        let endless = f64::INFINITY;
        for (whole, path) in [
            (Whole { plain: f64::NAN, ..Whole::default() }, "plain"),
            (Whole { list: vec![1.0, endless], ..Whole::default() }, "list"),
            (Whole { part: Some(Part { low: -endless }), ..Whole::default() }, "part.low"),
            (Whole { by_name: BTreeMap::from([("a".to_string(), (1, endless))]), ..Whole::default() }, "by_name"),
            (Whole { kind: Kind::Of(endless), ..Whole::default() }, "kind"),
            (Whole { kind: Kind::With { share: endless }, ..Whole::default() }, "kind.share"),
        ] {
            assert_eq!(unreadable_figure(&whole).as_deref(), Some(path));
        }
        let finite = Whole { list: vec![0.5], part: Some(Part { low: 1.0 }), ..Whole::default() };
        assert_eq!(unreadable_figure(&finite), None);
        assert_eq!(unreadable_figure(&Whole { unknown: Some(endless), ..finite }), None, "it is read back as unknown");
    }
}
