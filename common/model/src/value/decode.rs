//! Reading values and types from bytes. Both hold others of their kind, so whoever writes the bytes
//! would choose how much of the stack their reader takes: here it has a bound.

use std::collections::BTreeMap;

use minicbor::decode::{Decode, Decoder, Error};

use super::{Type, Value};
use crate::limits::{FILE_NAME_BYTES_MAX, VALUE_DEPTH_MAX};

/// Types within each other: the checks of a definition allow two, and name a third.
const TYPE_DEPTH_MAX: usize = 8;

impl<'b, C> Decode<'b, C> for Value {
    fn decode(decoder: &mut Decoder<'b>, cx: &mut C) -> Result<Value, Error> {
        value(decoder, cx, VALUE_DEPTH_MAX)
    }
}

impl<'b, C> Decode<'b, C> for Type {
    fn decode(decoder: &mut Decoder<'b>, _: &mut C) -> Result<Type, Error> {
        kind(decoder, TYPE_DEPTH_MAX)
    }
}

fn value<'b, C>(decoder: &mut Decoder<'b>, cx: &mut C, depth_max: usize) -> Result<Value, Error> {
    variant(decoder, |decoder, number, n_fields| {
        Ok(match number {
            0 => Some((Value::Null, 0)),
            1 => Some((Value::Bool(decoder.bool()?), 1)),
            2 => Some((Value::Int(decoder.i64()?), 1)),
            3 => Some((Value::Float(decoder.f64()?), 1)),
            4 => Some((Value::Text(decoder.str()?.to_owned()), 1)),
            5 => {
                let below = below(decoder, depth_max)?;
                let mut items = Vec::new();
                for _ in 0..definite(decoder.array()?, decoder)? {
                    items.push(value(decoder, cx, below)?);
                }
                Some((Value::List(items), 1))
            }
            6 => {
                let below = below(decoder, depth_max)?;
                let mut items = BTreeMap::new();
                for _ in 0..definite(decoder.map()?, decoder)? {
                    let name = decoder.str()?.to_owned();
                    items.insert(name, value(decoder, cx, below)?);
                }
                Some((Value::Map(items), 1))
            }
            7 => {
                let artifact = decoder.decode_with(cx)?;
                let name: Option<String> = match n_fields {
                    0 | 1 => None,
                    _ => decoder.decode_with(cx)?,
                };
                let at = decoder.position();
                if name
                    .as_ref()
                    .is_some_and(|name| name.len() > FILE_NAME_BYTES_MAX)
                {
                    return Err(Error::message("the name of a file is too long").at(at));
                }
                let name = name.map(String::into_boxed_str);
                Some((Value::Artifact(artifact, name), n_fields.clamp(1, 2)))
            }
            _ => None,
        })
    })
}

fn kind(decoder: &mut Decoder<'_>, depth_max: usize) -> Result<Type, Error> {
    variant(decoder, |decoder, number, _| {
        Ok(match number {
            0 => Some((Type::Text, 0)),
            1 => Some((Type::Int, 0)),
            2 => Some((Type::Float, 0)),
            3 => Some((Type::Bool, 0)),
            4 => Some((Type::Json, 0)),
            5 => Some((Type::File, 0)),
            6 => Some((Type::Directory, 0)),
            7 => {
                let below = below(decoder, depth_max)?;
                Some((Type::List(Box::new(kind(decoder, below)?)), 1))
            }
            _ => None,
        })
    })
}

/// A variant as the derived encoders write it: its number, and its fields in an array. `read` gets the
/// number of the variant and that of its fields, and says how many it has read; those of a later version
/// are passed over.
fn variant<'b, T>(
    decoder: &mut Decoder<'b>,
    read: impl FnOnce(&mut Decoder<'b>, u32, u64) -> Result<Option<(T, u64)>, Error>,
) -> Result<T, Error> {
    let at = decoder.position();
    if definite(decoder.array()?, decoder)? != 2 {
        return Err(Error::message("not a variant").at(at));
    }
    let number = decoder.u32()?;
    let n_fields = definite(decoder.array()?, decoder)?;
    let first = decoder.position();
    let Some((read, n_read)) = read(decoder, number, n_fields)? else {
        return Err(Error::unknown_variant(number.into()).at(at));
    };
    if n_read > n_fields {
        return Err(Error::missing_value(0).at(first));
    }
    for _ in n_read..n_fields {
        decoder.skip()?;
    }
    Ok(read)
}

fn definite(length: Option<u64>, decoder: &Decoder<'_>) -> Result<u64, Error> {
    length.ok_or_else(|| Error::message("a length is not given").at(decoder.position()))
}

fn below(decoder: &Decoder<'_>, depth_max: usize) -> Result<usize, Error> {
    let below = depth_max.checked_sub(1);
    below.ok_or_else(|| {
        Error::message("too many values are within each other").at(decoder.position())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Artifact, ArtifactKind, Bytes, Hash};

    #[test]
    fn values_and_types_are_read_as_they_were_written() {
        let artifact = Artifact {
            hash: Hash([7; 32]),
            bytes: Bytes(9),
            kind: ArtifactKind::Program,
        };
        let values = [
            Value::Null,
            Value::Bool(true),
            Value::Int(-3),
            Value::Float(2.5),
            Value::Text("a\0b".into()),
            Value::List(vec![Value::Null, Value::List(vec![Value::Int(1)])]),
            Value::Map(BTreeMap::from([("k".to_owned(), Value::Int(i64::MIN))])),
            Value::Artifact(artifact, None),
            Value::Artifact(artifact, Some("a.txt".into())),
        ];
        for value in values {
            let bytes = minicbor::to_vec(&value).unwrap();
            assert_eq!(minicbor::decode::<Value>(&bytes).unwrap(), value);
            for end in 0..bytes.len() {
                assert!(
                    minicbor::decode::<Value>(&bytes[..end]).is_err(),
                    "{value:?}"
                );
            }
        }
        let kinds = [Type::Text, Type::Int, Type::Float, Type::Bool, Type::Json];
        let more = [Type::File, Type::Directory, Type::List(Box::new(Type::Int))];
        for kind in kinds.into_iter().chain(more) {
            let bytes = minicbor::to_vec(&kind).unwrap();
            assert_eq!(minicbor::decode::<Type>(&bytes).unwrap(), kind);
        }
    }

    #[test]
    fn values_within_values_are_read_to_a_depth_and_refused_below() {
        // [5, [[ .. ]]]: a list with one item; the innermost is nothing.
        let nested = |open: &[u8], depth: usize| {
            let mut bytes = open.repeat(depth);
            bytes.extend([0x82, 0, 0x80]);
            bytes
        };
        let lists = |depth| nested(&[0x82, 5, 0x81, 0x81], depth);
        let types = |depth| nested(&[0x82, 7, 0x81], depth);
        let value = minicbor::decode::<Value>(&lists(VALUE_DEPTH_MAX)).unwrap();
        assert!(value.is_within_depth(VALUE_DEPTH_MAX));
        assert!(!value.is_within_depth(VALUE_DEPTH_MAX - 1));
        for depth in [VALUE_DEPTH_MAX + 1, 1_000_000] {
            let error = minicbor::decode::<Value>(&lists(depth)).unwrap_err();
            assert!(error.to_string().contains("within each other"), "{error}");
            assert!(minicbor::decode::<Type>(&types(depth)).is_err());
        }
        assert!(minicbor::decode::<Type>(&types(2)).is_ok());
    }
}
