//! The details of an activity, packed once it has ended: there may be a million of them.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::LazyLock;

use minicbor::data::Type;
use minicbor::{Decode, Decoder, Encode, Encoder, decode, encode};
use model::{Artifact, AttemptId, Bytes, ResourceId, Span, Value, Wall};

use crate::process::moved::Moved;
use crate::process::recompute::Recomputation;
use crate::record::{CacheKey, Log, PastAttempt};

/// Everything else that is recorded of an activity.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub(crate) struct Details {
    /// When the last attempt started; zero while unknown.
    #[n(0)]
    pub(crate) started: Wall,
    /// Its run time.
    #[n(1)]
    pub(crate) wall: Span,
    /// CPU time that it used.
    #[n(2)]
    pub(crate) cpu: Span,
    /// The most memory that it used.
    #[n(3)]
    pub(crate) peak_memory: Bytes,
    /// The command's process id on its machine.
    #[n(4)]
    pub(crate) pid: u32,
    /// Its exit status, where it exited.
    #[n(5)]
    pub(crate) exit_code: Option<i32>,
    /// The place of its streams on its machine.
    #[n(6)]
    pub(crate) log: Option<Log>,
    /// Attempts before the last one.
    #[n(7)]
    pub(crate) earlier: Vec<PastAttempt>,
    /// When the activity may be tried again.
    #[n(8)]
    pub(crate) backoff: Option<Wall>,
    /// The cache key that it was sent or reused with.
    #[n(9)]
    pub(crate) cache_key: Option<CacheKey>,
    /// Its outputs, once it has completed.
    #[n(10)]
    pub(crate) produced: Vec<Artifact>,
    /// Values read from its streams, once it has completed: stdout before stderr. None where they are
    /// too long to be kept.
    #[n(11)]
    pub(crate) captured: Option<Vec<Value>>,
    /// The attempt whose outcome stands, where one was reused.
    #[n(12)]
    pub(crate) reused: Option<Recalled>,
    /// Its recomputation, where its files were gone.
    #[n(13)]
    pub(crate) recomputation: Option<Box<Recomputation>>,
    /// The machine that keeps a copy of its outputs.
    #[n(14)]
    pub(crate) copy: Option<ResourceId>,
    /// The machine that has its outputs, where that is not the one that made them.
    #[n(15)]
    pub(crate) holder: Option<ResourceId>,
    /// The lost one of the two machines that have its outputs, until there is another copy.
    #[n(16)]
    pub(crate) lost_holder: Option<ResourceId>,
    /// The machines on which folded activities have read its outputs, in a process that discards files.
    #[n(17)]
    pub(crate) read_at: Option<BTreeSet<ResourceId>>,
    /// Its moves by plans that were made because a machine is not as fast as planned.
    #[n(18)]
    pub(crate) moved: Option<Box<Moved>>,
}

/// The attempt whose outcome stands for an activity; its figures are in the details.
#[derive(Clone, Copy, Debug, PartialEq, Encode, Decode)]
pub(crate) struct Recalled {
    #[n(0)]
    pub(crate) of: AttemptId,
    /// Slots that it held.
    #[n(1)]
    pub(crate) slots: u32,
}

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
    /// They were given up: see [`crate::process::folding`].
    Folded,
}

impl Kept {
    pub(crate) fn read(&self) -> Cow<'_, Details> {
        match self {
            Kept::None | Kept::Folded => Cow::Borrowed(&*NO_DETAILS),
            Kept::Open(details) => Cow::Borrowed(details),
            Kept::Packed(bytes) => Cow::Owned(unpacked(bytes)),
        }
    }

    /// Those that may still change, where there are any.
    pub(crate) fn open(&self) -> Option<&Details> {
        match self {
            Kept::Open(details) => Some(details),
            Kept::None | Kept::Packed(_) | Kept::Folded => None,
        }
    }

    /// The same, to be changed; none where there is nothing to tell.
    pub(crate) fn change(&mut self) -> Option<&mut Details> {
        if let Kept::Packed(bytes) = self {
            *self = Kept::Open(Box::new(unpacked(bytes)));
        }
        match self {
            Kept::Open(details) => Some(details),
            Kept::None | Kept::Packed(_) | Kept::Folded => None,
        }
    }

    pub(crate) fn get_or_insert(&mut self) -> &mut Details {
        match self {
            Kept::Open(_) => {}
            Kept::None | Kept::Folded => *self = Kept::Open(Box::default()),
            Kept::Packed(bytes) => *self = Kept::Open(Box::new(unpacked(bytes))),
        }
        match self {
            Kept::Open(details) => details,
            Kept::None | Kept::Packed(_) | Kept::Folded => unreachable!("they were opened above"),
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
            Kept::Folded => f.write_str("Folded"),
            Kept::Open(_) | Kept::Packed(_) => self.read().fmt(f),
        }
    }
}

impl PartialEq for Kept {
    fn eq(&self, other: &Kept) -> bool {
        match (self, other) {
            (Kept::None, Kept::None) | (Kept::Folded, Kept::Folded) => true,
            (Kept::None | Kept::Folded, _) | (_, Kept::None | Kept::Folded) => false,
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
            Kept::Folded => encoder.undefined()?.ok(),
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
        if decoder.datatype()? == Type::Undefined {
            decoder.undefined()?;
            return Ok(Kept::Folded);
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
