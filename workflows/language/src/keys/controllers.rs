//! The controllers: the keys of each, and of the mappings below them.

use super::{JOIN, Key, NAME, Shape, Table, key, must};

pub(crate) const SEQUENCE: Table = Table {
    what: "a sequence",
    keys: &[
        must("sequence", Shape::SequenceSteps, "Steps, one after another"),
        NAME,
        JOIN,
    ],
    later: &[],
};

pub(crate) const PARALLEL: Table = Table {
    what: "a parallel",
    keys: &[
        must(
            "parallel",
            Shape::ParallelSteps,
            "Steps that may run at the same time",
        ),
        key("links", Shape::Links, "Orders between any two steps below"),
        NAME,
        JOIN,
    ],
    later: &[],
};

pub(crate) const SEQUENCE_FORM: Table = Table {
    what: "a sequence",
    keys: &[must("do", Shape::Steps, "Steps, one after another"), NAME],
    later: &[],
};

pub(crate) const PARALLEL_FORM: Table = Table {
    what: "a parallel",
    keys: &[
        must("do", Shape::Steps, "Steps that may run at the same time"),
        key("links", Shape::Links, "Orders between any two steps below"),
        NAME,
    ],
    later: &[],
};

pub(crate) const IF: Table = Table {
    what: "an if",
    keys: &[
        must(
            "if",
            Shape::Expression,
            "The condition, found out when the step's turn comes",
        ),
        must("then", Shape::Block, "What is done where it is true"),
        key(
            "elif",
            Shape::Branches,
            "Further conditions, tried in order where those before are false",
        ),
        key("else", Shape::Block, "What is done where none is true"),
        NAME,
        JOIN,
    ],
    later: &[],
};

pub(crate) const BRANCH: Table = Table {
    what: "a branch",
    keys: &[
        must("if", Shape::Expression, "The condition"),
        must("then", Shape::Block, "What is done where it is true"),
    ],
    later: &[],
};

pub(crate) const SWITCH: Table = Table {
    what: "a switch",
    keys: &[
        must(
            "switch",
            Shape::Cases,
            "Cases, of which the first is done whose condition is true",
        ),
        NAME,
        JOIN,
    ],
    later: &[],
};

pub(crate) const CASE: Table = Table {
    what: "a case",
    keys: &[
        must("case", Shape::Expression, "The condition"),
        must("do", Shape::Block, "What is done where it is true"),
    ],
    later: &[],
};

pub(crate) const DEFAULT: Table = Table {
    what: "the last case",
    keys: &[must(
        "default",
        Shape::Block,
        "What is done where none is true",
    )],
    later: &[],
};

pub(crate) const WHILE: Table = Table {
    what: "a while",
    keys: &[
        must(
            "while",
            Shape::Expression,
            "The condition, found out before each iteration, which only begins if it is true",
        ),
        must("do", Shape::Block, "What is done in each iteration"),
        ITERATION,
        MAX_ITERATIONS,
        OWN_VARIABLES,
        NAME,
        JOIN,
    ],
    later: &[],
};

pub(crate) const REPEAT_UNTIL: Table = Table {
    what: "a repeat-until",
    keys: &[
        must(
            "repeat-until",
            Shape::Expression,
            "The condition, found out after each iteration, which is the last one if it is true",
        ),
        must("do", Shape::Block, "What is done in each iteration"),
        ITERATION,
        MAX_ITERATIONS,
        OWN_VARIABLES,
        NAME,
        JOIN,
    ],
    later: &[],
};

const OWN_VARIABLES: Key = key(
    "variables",
    Shape::Variables,
    "Variables of the body: each item or iteration has its own",
);
const ITERATION: Key = key(
    "index",
    Shape::Identifier,
    "The name by which expressions of the body and the condition read the number of the iteration, counted from 0",
);
const MAX_ITERATIONS: Key = key(
    "max-iterations",
    Shape::Iterations,
    "The most iterations; one more is the fault too-many-iterations",
);

/// The sources of a file in a loop.
pub(crate) const CARRIED: Table = Table {
    what: "a file that a loop carries",
    keys: &[
        must("first", Shape::Source, "Its source in the first iteration"),
        must(
            "then",
            Shape::Source,
            "An output of the iteration before, in all others",
        ),
    ],
    later: &[],
};

/// The sources of a file between which a condition chooses.
pub(crate) const CHOSEN: Table = Table {
    what: "a file that is chosen",
    keys: &[
        must(
            "if",
            Shape::Expression,
            "The condition, found out when the items around are known: inputs, items and indexes can be read",
        ),
        must(
            "then",
            Shape::Source,
            "Its source where the condition is true",
        ),
        must(
            "else",
            Shape::ChosenSource,
            "Its source where the condition is false, or another choice",
        ),
    ],
    later: &[],
};

pub(crate) const FOR_EACH: Table = Table {
    what: "a for-each",
    keys: &[
        must(
            "for-each",
            Shape::ForEach,
            "A list, and what is done for each item of it",
        ),
        NAME,
        JOIN,
    ],
    later: &[],
};

pub(crate) const FOR_EACH_FORM: Table = Table {
    what: "a for-each",
    keys: &[
        must(
            "item",
            Shape::Identifier,
            "The name by which expressions of the body read the item",
        ),
        key(
            "index",
            Shape::Identifier,
            "The name by which they read its place in the list, counted from 0",
        ),
        must(
            "in",
            Shape::Items,
            "The list: `${...}`, or its items written out",
        ),
        key(
            "key",
            Shape::Expression,
            "The name of an item, found out for each: no two items have the same",
        ),
        key(
            "parallel",
            Shape::Truth,
            "Whether items may be done at the same time; true where nothing is said",
        ),
        key(
            "at-most",
            Shape::AtMost,
            "Items that are done at the same time",
        ),
        key(
            "complete-when",
            Shape::Enough,
            "Items after whose success it completes, stopping the others; all where nothing is said",
        ),
        OWN_VARIABLES,
        must("do", Shape::Block, "What is done for each item"),
    ],
    later: &[],
};
