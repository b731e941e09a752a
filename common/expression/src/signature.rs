//! The kinds that operators and functions take, and those that they give.

use crate::function::Function;
use crate::kinds::{ALL, ARTIFACT, BOOL, FLOAT, INT, Kinds, LIST, MAP, NUMBER, Set, TEXT};
use crate::parse::Operator;

/// One way to call an operator or a function: the kinds of each operand, and that of the result.
pub(crate) type Signature = (&'static [Set], Set);

/// The ways in which an operator can be called. What equality takes has an order or not: it is
/// never a fault.
pub(crate) fn of_operator(operator: Operator) -> &'static [Signature] {
    const ADDED: &[Signature] = &[
        (&[INT, INT], INT),
        (&[FLOAT, FLOAT], FLOAT),
        (&[TEXT, TEXT], TEXT),
        (&[LIST, LIST], LIST),
    ];
    const COMPARED: &[Signature] = &[
        (&[NUMBER, NUMBER], BOOL),
        (&[TEXT, TEXT], BOOL),
        (&[BOOL, BOOL], BOOL),
    ];
    match operator {
        Operator::Add => ADDED,
        Operator::Subtract | Operator::Multiply | Operator::Divide => {
            &[(&[INT, INT], INT), (&[FLOAT, FLOAT], FLOAT)]
        }
        Operator::Remainder => &[(&[INT, INT], INT)],
        Operator::Less | Operator::LessOrEqual | Operator::Greater | Operator::GreaterOrEqual => {
            COMPARED
        }
        Operator::Equal | Operator::NotEqual => &[(&[ALL, ALL], BOOL)],
        Operator::In => &[(&[ALL, LIST | MAP], BOOL)],
    }
}

/// The ways in which a function can be called; what stands before the dot comes first. `min` and
/// `max` have more, see [`extreme`].
pub(crate) fn of_function(function: Function) -> &'static [Signature] {
    const NAMED: Set = TEXT | ARTIFACT;
    match function {
        Function::Size => &[(&[TEXT | LIST | MAP | ARTIFACT], INT)],
        Function::Int => &[(&[NUMBER | TEXT], INT)],
        Function::Double => &[(&[NUMBER | TEXT], FLOAT)],
        Function::Text => &[(&[NUMBER | TEXT | BOOL], TEXT)],
        Function::Bool => &[(&[BOOL | TEXT], BOOL)],
        Function::Contains | Function::StartsWith | Function::EndsWith => &[(&[TEXT, TEXT], BOOL)],
        Function::Range => &[
            (&[INT], LIST),
            (&[INT, INT], LIST),
            (&[INT, INT, INT], LIST),
        ],
        Function::Lines | Function::Csv => &[(&[TEXT], LIST)],
        Function::Name => &[(&[NAMED], TEXT)],
        Function::Stem => &[(&[NAMED], TEXT), (&[NAMED, TEXT], TEXT)],
        Function::Split => &[(&[TEXT, TEXT], LIST), (&[TEXT, TEXT, INT], LIST)],
        Function::Join => &[(&[LIST], TEXT), (&[LIST, TEXT], TEXT)],
        Function::Replace => &[
            (&[TEXT, TEXT, TEXT], TEXT),
            (&[TEXT, TEXT, TEXT, INT], TEXT),
        ],
        Function::Lower | Function::Upper | Function::Trim => &[(&[TEXT], TEXT)],
        Function::Format => &[(&[TEXT, LIST], TEXT)],
        Function::Floor | Function::Ceil | Function::Abs => &[(&[INT], INT), (&[FLOAT], FLOAT)],
        Function::Round => &[
            (&[INT], INT),
            (&[FLOAT], FLOAT),
            (&[INT, INT], INT),
            (&[FLOAT, INT], FLOAT),
        ],
        Function::Min | Function::Max => &[
            (&[LIST], 0),
            (&[INT], INT),
            (&[FLOAT], FLOAT),
            (&[TEXT], TEXT),
            (&[INT, INT], INT),
            (&[FLOAT, FLOAT], FLOAT),
            (&[TEXT, TEXT], TEXT),
            (&[INT, INT, INT], INT),
            (&[FLOAT, FLOAT, FLOAT], FLOAT),
            (&[TEXT, TEXT, TEXT], TEXT),
            (&[INT, INT, INT, INT], INT),
            (&[FLOAT, FLOAT, FLOAT, FLOAT], FLOAT),
            (&[TEXT, TEXT, TEXT, TEXT], TEXT),
        ],
    }
}

/// The kinds of the least or greatest item of a list.
pub(crate) fn extreme(list: &Kinds) -> Kinds {
    list.items().among(NUMBER | TEXT)
}

/// The items of the list that a function gives.
pub(crate) fn items_of(function: Function) -> Kinds {
    match function {
        Function::Range => Kinds::of(INT),
        Function::Lines | Function::Split => Kinds::of(TEXT),
        Function::Csv => Kinds::map_of(Kinds::of(TEXT)),
        Function::Size
        | Function::Int
        | Function::Double
        | Function::Text
        | Function::Bool
        | Function::Contains
        | Function::StartsWith
        | Function::EndsWith
        | Function::Name
        | Function::Stem
        | Function::Join
        | Function::Replace
        | Function::Lower
        | Function::Upper
        | Function::Trim
        | Function::Format
        | Function::Floor
        | Function::Ceil
        | Function::Round
        | Function::Abs
        | Function::Min
        | Function::Max => Kinds::any(),
    }
}

/// The fit of operands and the ways to call something.
pub(crate) struct Fit {
    /// The kinds of the result; none where no way fits.
    pub(crate) gives: Set,
    /// True if operands of some of these kinds are a fault.
    pub(crate) may_fault: bool,
}

/// Tries all ways. Operands of which no value exists fit every one.
pub(crate) fn fit(ways: &[Signature], operands: &[&Kinds]) -> Fit {
    let mut fit = Fit {
        gives: 0,
        may_fault: true,
    };
    let sets = || operands.iter().map(|kinds| kinds.set());
    for (takes, gives) in ways
        .iter()
        .filter(|(takes, _)| takes.len() == operands.len())
    {
        let mut pairs = sets().zip(*takes);
        if pairs.all(|(set, takes)| set & takes != 0) {
            fit.gives |= gives;
            let mut pairs = sets().zip(*takes);
            fit.may_fault &= !pairs.all(|(set, takes)| set & !takes == 0);
        }
    }
    fit
}

/// The kinds that a function takes in one place, in any of the ways with so many operands.
pub(crate) fn taken(ways: &[Signature], n_operands: usize, place: usize) -> Set {
    let ways = ways.iter().filter(|(takes, _)| takes.len() == n_operands);
    ways.fold(0, |all, (takes, _)| all | takes[place])
}
