//! The details of an activity, packed once it has ended: there may be a million of them.

use std::borrow::Cow;
use std::fmt;
use std::sync::LazyLock;

use minicbor::data::Type;
use minicbor::{Decode, Decoder, Encode, Encoder, decode, encode};

use super::activity::Details;

static NO_DETAILS: LazyLock<Details> = LazyLock::new(Details::default);

/// The details of one activity. Whether they are packed makes no difference to anybody.
#[derive(Clone, Default)]
pub(crate) enum Kept {
    /// There is nothing to tell.
    #[default]
    None,
    /// They may still change.
    Open(Box<Details>),
    /// They are unlikely to: their encoded form, some 100 bytes instead of 400.
    Packed(Box<[u8]>),
}

impl Kept {
    pub(crate) fn read(&self) -> Cow<'_, Details> {
        match self {
            Kept::None => Cow::Borrowed(&*NO_DETAILS),
            Kept::Open(details) => Cow::Borrowed(details),
            Kept::Packed(bytes) => Cow::Owned(unpacked(bytes)),
        }
    }

    /// Those that may still change, where there are any.
    pub(crate) fn open(&self) -> Option<&Details> {
        match self {
            Kept::Open(details) => Some(details),
            Kept::None | Kept::Packed(_) => None,
        }
    }

    /// The same, to be changed; none where there is nothing to tell.
    pub(crate) fn change(&mut self) -> Option<&mut Details> {
        if let Kept::Packed(bytes) = self {
            *self = Kept::Open(Box::new(unpacked(bytes)));
        }
        match self {
            Kept::Open(details) => Some(details),
            Kept::None | Kept::Packed(_) => None,
        }
    }

    pub(crate) fn get_or_insert(&mut self) -> &mut Details {
        match self {
            Kept::Open(_) => {}
            Kept::None => *self = Kept::Open(Box::default()),
            Kept::Packed(bytes) => *self = Kept::Open(Box::new(unpacked(bytes))),
        }
        match self {
            Kept::Open(details) => details,
            Kept::None | Kept::Packed(_) => unreachable!("they were opened above"),
        }
    }

    /// Packs details that are unlikely to change. Those of an activity that is made again stay open.
    pub(crate) fn pack(&mut self) {
        let Kept::Open(details) = self else {
            return;
        };
        if details.recomputation.is_none() {
            let bytes = minicbor::to_vec(&**details).expect("a Vec takes every byte");
            *self = Kept::Packed(bytes.into_boxed_slice());
        }
    }
}

fn unpacked(bytes: &[u8]) -> Details {
    minicbor::decode(bytes).expect("it was encoded here, or read before it was kept")
}

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kept::None => f.write_str("None"),
            Kept::Open(_) | Kept::Packed(_) => self.read().fmt(f),
        }
    }
}

impl PartialEq for Kept {
    fn eq(&self, other: &Kept) -> bool {
        match (self, other) {
            (Kept::None, Kept::None) => true,
            (Kept::None, _) | (_, Kept::None) => false,
            (Kept::Packed(one), Kept::Packed(other)) => one == other,
            (Kept::Open(_) | Kept::Packed(_), Kept::Open(_) | Kept::Packed(_)) => {
                self.read() == other.read()
            }
        }
    }
}

impl<C> Encode<C> for Kept {
    fn encode<W: encode::Write>(
        &self,
        encoder: &mut Encoder<W>,
        cx: &mut C,
    ) -> Result<(), encode::Error<W::Error>> {
        match self {
            Kept::None => encoder.null()?.ok(),
            Kept::Open(details) => details.encode(encoder, cx),
            Kept::Packed(bytes) => {
                let written = encoder.writer_mut().write_all(bytes);
                written.map_err(encode::Error::write)
            }
        }
    }

    fn is_nil(&self) -> bool {
        matches!(self, Kept::None)
    }
}

impl<'b, C> Decode<'b, C> for Kept {
    fn decode(decoder: &mut Decoder<'b>, cx: &mut C) -> Result<Kept, decode::Error> {
        if decoder.datatype()? == Type::Null {
            decoder.null()?;
            return Ok(Kept::None);
        }
        let begin = decoder.position();
        let details = Details::decode(decoder, cx)?;
        if details.recomputation.is_some() {
            return Ok(Kept::Open(Box::new(details)));
        }
        let bytes = &decoder.input()[begin..decoder.position()];
        Ok(Kept::Packed(bytes.into()))
    }

    fn nil() -> Option<Kept> {
        Some(Kept::None)
    }
}
