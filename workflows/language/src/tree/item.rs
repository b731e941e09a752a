//! An item of a file in 16 bytes: the largest files have millions of them.

use std::ops::Range;

use granit_parser::ScalarStyle;

use crate::limits::{FILE_BYTES_MAX, ITEMS_MAX};

/// A scalar, a list or a mapping.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    /// Where it begins in the file.
    pub(super) start: u32,
    /// Where it ends.
    pub(super) end: u32,
    /// Where its text or the first of its children is.
    first: u32,
    /// In the highest bits what it is, in the others how long it is.
    tag_and_length: u32,
}

/// The kind of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Text as it is in the file.
    Written {
        /// Its first byte there.
        first: u32,
        n_bytes: u32,
        style: ScalarStyle,
    },
    /// Text that had to be put together.
    Made {
        /// Its place among such texts.
        place: u32,
        style: ScalarStyle,
    },
    List {
        /// The place of its first item among the children.
        first: u32,
        n_items: u32,
    },
    Map {
        /// The place of its first key among the children.
        first: u32,
        n_entries: u32,
    },
}

/// Bits of a length.
const LENGTH_BITS: u32 = 28;

const _: () = assert!(FILE_BYTES_MAX < 1 << LENGTH_BITS && ITEMS_MAX < 1 << LENGTH_BITS);

/// By tag: what is written in each style, what is made in each style, then lists and mappings.
const STYLES: [ScalarStyle; 5] = [
    ScalarStyle::Plain,
    ScalarStyle::SingleQuoted,
    ScalarStyle::DoubleQuoted,
    ScalarStyle::Literal,
    ScalarStyle::Folded,
];
const MADE: u32 = STYLES.len() as u32;
const LIST: u32 = 2 * MADE;
const MAP: u32 = LIST + 1;

impl Item {
    pub(super) fn new(range: Range<usize>, kind: Kind) -> Item {
        let mut item = Item {
            start: range.start as u32,
            end: range.end as u32,
            first: 0,
            tag_and_length: 0,
        };
        item.turn_into(kind);
        item
    }

    pub(super) fn turn_into(&mut self, kind: Kind) {
        let (tag, first, length) = match kind {
            Kind::Written {
                first,
                n_bytes,
                style,
            } => (number(style), first, n_bytes),
            Kind::Made { place, style } => (MADE + number(style), place, 0),
            Kind::List { first, n_items } => (LIST, first, n_items),
            Kind::Map { first, n_entries } => (MAP, first, n_entries),
        };
        self.first = first;
        self.tag_and_length = tag << LENGTH_BITS | length;
    }

    pub(super) fn kind(&self) -> Kind {
        let first = self.first;
        let length = self.tag_and_length & ((1 << LENGTH_BITS) - 1);
        let tag = self.tag_and_length >> LENGTH_BITS;
        match tag {
            LIST => Kind::List {
                first,
                n_items: length,
            },
            MAP => Kind::Map {
                first,
                n_entries: length,
            },
            tag if tag < MADE => Kind::Written {
                first,
                n_bytes: length,
                style: STYLES[tag as usize],
            },
            tag => Kind::Made {
                place: first,
                style: STYLES[(tag - MADE) as usize],
            },
        }
    }
}

fn number(style: ScalarStyle) -> u32 {
    match style {
        ScalarStyle::Plain => 0,
        ScalarStyle::SingleQuoted => 1,
        ScalarStyle::DoubleQuoted => 2,
        ScalarStyle::Literal => 3,
        ScalarStyle::Folded => 4,
    }
}

#[test]
fn an_item_keeps_its_kind_in_16_bytes() {
    assert_eq!(size_of::<Item>(), 16);
    let (first, n) = (u32::MAX, FILE_BYTES_MAX as u32);
    let mut kinds = vec![
        Kind::List { first, n_items: n },
        Kind::Map {
            first,
            n_entries: n,
        },
    ];
    for style in STYLES {
        kinds.push(Kind::Made {
            place: first,
            style,
        });
        kinds.push(Kind::Written {
            first,
            n_bytes: n,
            style,
        });
    }
    for kind in kinds {
        assert_eq!(Item::new(1..2, kind).kind(), kind);
    }
}
