//! Picking one of many items: the first case whose condition is true, and the place of the item.

use model::{Expression, PickCase, Picked, Value, with_article};

use crate::{Meter, Programs, Scope};

/// The items among which one is picked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Among {
    /// All of a list, which has so many.
    All(u32),
    /// Those before the reader's own one, which is in this place.
    Before(u32),
}

/// Why nothing was picked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PickError {
    /// An expression could not be evaluated, or there are no items.
    #[error("{0}")]
    Unknown(String),
    /// A whole number that is the place of no item.
    #[error("{0}")]
    NoItem(String),
}

/// Picks one of these cases, and in it the item. `among` says which items there are for a case, or why there
/// are none.
pub fn pick(
    cases: &[PickCase],
    scope: &impl Scope,
    (programs, meter): (&mut Programs, &mut Meter),
    among: impl Fn(&PickCase) -> Result<Among, String>,
) -> Result<Picked, PickError> {
    // A pick counts, whatever its expressions take.
    let used = meter.use_steps(1, 0);
    used.map_err(|error| PickError::Unknown(error.to_string()))?;
    for (number, case) in cases.iter().enumerate() {
        if let Some(when) = &case.when {
            let program = programs.of(when);
            let holds = program.and_then(|program| program.evaluate_bool(scope, meter));
            let holds = holds
                .map_err(|error| PickError::Unknown(format!("`{}`: {error}", when.0.trim())))?;
            if !holds {
                continue;
            }
        }
        let place = match &case.place {
            Some(expression) => {
                let among = among(case).map_err(PickError::Unknown)?;
                place(expression, scope, (programs, meter), among)?
            }
            None => 0,
        };
        let case = number as u32;
        return Ok(Picked { case, place });
    }
    Err(PickError::Unknown("no condition is true".to_owned()))
}

fn place(
    expression: &Expression,
    scope: &impl Scope,
    (programs, meter): (&mut Programs, &mut Meter),
    among: Among,
) -> Result<u32, PickError> {
    let written = expression.0.trim();
    let program = programs.of(expression);
    let value = program.and_then(|program| program.evaluate(scope, meter));
    let wrong = |error| PickError::Unknown(format!("`[{written}]`: {error}"));
    let number = match value.map_err(wrong)? {
        Value::Int(number) => number,
        other @ (Value::Null
        | Value::Bool(_)
        | Value::Float(_)
        | Value::Text(_)
        | Value::List(_)
        | Value::Map(_)
        | Value::Artifact(..)) => {
            let kind = with_article(&other.type_name());
            let message = format!("`[{written}]` is {kind}, not a whole number");
            return Err(PickError::Unknown(message));
        }
    };
    let (n_items, why) = match among {
        Among::All(n_items) => (n_items, format!("there are {n_items}, counted from 0")),
        Among::Before(own) => (own, format!("item {own} can read those before it alone")),
    };
    let place = u32::try_from(number).ok().filter(|&place| place < n_items);
    place.ok_or_else(|| PickError::NoItem(format!("`[{written}]` is item {number}, and {why}")))
}
