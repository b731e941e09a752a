//! Evaluation of a tree within a budget of steps and bytes.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeMap;

use model::limits::VALUE_BYTES;
use model::{Value, with_article};

use crate::function::{Each, Function, shorten};
use crate::parse::{Kind, Node, Operator, Step, StepKind};
use crate::token::ALL;
use crate::{ExpressionError, Meter, Scope};

/// Steps for looking up a variable or an input by name, among the largest permitted number.
const NAME_STEPS: u64 = 4;

/// Steps for an error that another operand may override, because its message is formatted.
const FAILURE_STEPS: u64 = 4;

/// One evaluation: its scope and its used budget.
pub(crate) struct Evaluation<'a, 'm> {
    scope: &'a dyn Scope,
    /// The current items of the enclosing comprehensions, the outermost first.
    locals: Vec<Cow<'a, Value>>,
    meter: &'m mut Meter,
}

/// An error, and whether another operand may override it: `false && error` is false, but an
/// exceeded budget ends the evaluation.
struct Failure {
    error: ExpressionError,
    last: bool,
}

type Evaluated<'a> = Result<Cow<'a, Value>, Failure>;

fn failure(offset: usize, message: impl Into<String>) -> Failure {
    Failure {
        error: ExpressionError::new(offset, message),
        last: false,
    }
}

/// An evaluation without budget ends at once.
fn used_up(error: ExpressionError) -> Failure {
    Failure { error, last: true }
}

impl<'a, 'm> Evaluation<'a, 'm> {
    pub(crate) fn new(scope: &'a dyn Scope, meter: &'m mut Meter) -> Evaluation<'a, 'm> {
        Evaluation {
            scope,
            locals: Vec::new(),
            meter,
        }
    }

    /// The value of the whole tree.
    pub(crate) fn value(mut self, node: &'a Node) -> Result<Value, ExpressionError> {
        let value = self.owned(node).map_err(|failure| failure.error)?;
        Ok(value)
    }

    fn use_steps(&mut self, n_steps: u64, offset: usize) -> Result<(), Failure> {
        self.meter.use_steps(n_steps, offset).map_err(used_up)
    }

    /// Counts the time of searching values.
    fn look_through(&mut self, values: &[&Value], offset: usize) -> Result<(), Failure> {
        self.meter.look_through(values, offset).map_err(used_up)
    }

    /// Counts bytes before they are allocated, in one text, list or map.
    fn charge(&mut self, bytes: usize, offset: usize) -> Result<(), Failure> {
        self.meter.make(bytes, 1, offset).map_err(used_up)
    }

    fn owned(&mut self, node: &'a Node) -> Result<Value, Failure> {
        let value = self.node(node)?;
        self.own(value, node.offset)
    }

    fn own(&mut self, value: Cow<'_, Value>, offset: usize) -> Result<Value, Failure> {
        match value {
            // Counted when it was made.
            Cow::Owned(value) => Ok(value),
            Cow::Borrowed(value) => {
                self.meter.copy(value, offset).map_err(used_up)?;
                Ok(value.clone())
            }
        }
    }

    fn node(&mut self, node: &'a Node) -> Evaluated<'a> {
        let offset = node.offset;
        self.use_steps(1, offset)?;
        let value = match &node.kind {
            Kind::Literal(value) => return Ok(Cow::Borrowed(value)),
            Kind::Variable(name) => {
                self.use_steps(NAME_STEPS, offset)?;
                let found = self.scope.variable(name);
                let missing = || failure(offset, format!("no variable is called `{name}`"));
                return found.map(Cow::Borrowed).ok_or_else(missing);
            }
            Kind::Input(name) => {
                self.use_steps(NAME_STEPS, offset)?;
                let found = self.scope.input(name);
                let missing = || failure(offset, format!("no input is called `{name}`"));
                return found.map(Cow::Borrowed).ok_or_else(missing);
            }
            Kind::Link(name) => {
                let missing = || failure(offset, format!("no link comes from `{name}`"));
                Value::Bool(self.scope.link(name).ok_or_else(missing)?)
            }
            Kind::Gathered(written) => {
                let (_, variable) = written.split_once(ALL).unwrap_or_default();
                let list = self.scope.gathered(variable);
                let list = list.map_err(|why| failure(offset, format!("`{written}`: {why}")))?;
                // It was made of values that are kept, within their limit.
                self.meter.copy(&list, offset).map_err(used_up)?;
                list
            }
            Kind::Local(place) => {
                if let Cow::Borrowed(item) = self.locals[*place] {
                    return Ok(Cow::Borrowed(item));
                }
                let copied = self.meter.copy(&self.locals[*place], offset);
                copied.map_err(used_up)?;
                self.locals[*place].clone().into_owned()
            }
            Kind::List(nodes) => {
                self.charge(nodes.len() * VALUE_BYTES, offset)?;
                let items: Result<Vec<Value>, Failure> =
                    nodes.iter().map(|node| self.owned(node)).collect();
                Value::List(items?)
            }
            Kind::Map(entries) => self.map(entries)?,
            Kind::Not(inner) => Value::Bool(!self.condition(inner)?),
            Kind::Negate(inner) => match self.node(inner)?.as_ref() {
                Value::Int(number) => {
                    let negative = number.checked_neg();
                    Value::Int(negative.ok_or_else(|| failure(offset, "a whole number overflows"))?)
                }
                Value::Float(number) => Value::Float(-number),
                other @ (Value::Null
                | Value::Bool(_)
                | Value::Text(_)
                | Value::List(_)
                | Value::Map(_)
                | Value::Artifact(..)) => {
                    return Err(failure(
                        offset,
                        format!("`-` cannot take {}", other.type_name()),
                    ));
                }
            },
            Kind::Chain(first, rest) => {
                let mut left = self.node(first)?;
                for (operator, at, right) in rest {
                    let right = self.node(right)?;
                    left = Cow::Owned(self.operate(*operator, left, &right, *at)?);
                }
                return Ok(left);
            }
            Kind::And(nodes) => Value::Bool(self.decide(nodes, false)?),
            Kind::Or(nodes) => Value::Bool(self.decide(nodes, true)?),
            Kind::Choose(parts) => {
                let [condition, first, second] = parts.as_ref();
                return if self.condition(condition)? {
                    self.node(first)
                } else {
                    self.node(second)
                };
            }
            Kind::Call(function, arguments) => self.call(*function, None, arguments, offset)?,
            Kind::Path(base, steps) => {
                let mut value = self.node(base)?;
                for step in steps {
                    self.use_steps(1, step.offset)?;
                    value = self.take(value, step)?;
                }
                return Ok(value);
            }
            Kind::Has(base, field) => match self.node(base)?.as_ref() {
                Value::Map(entries) => Value::Bool(entries.contains_key(field)),
                other @ (Value::Null
                | Value::Bool(_)
                | Value::Int(_)
                | Value::Float(_)
                | Value::Text(_)
                | Value::List(_)
                | Value::Artifact(..)) => {
                    let message = format!("{} has no fields", with_article(&other.type_name()));
                    return Err(failure(offset, message));
                }
            },
        };
        Ok(Cow::Owned(value))
    }

    fn map(&mut self, entries: &'a [(Node, Node)]) -> Result<Value, Failure> {
        let mut map = BTreeMap::new();
        for (key, node) in entries {
            let Value::Text(name) = self.owned(key)? else {
                return Err(failure(key.offset, "the keys of a map are text"));
            };
            self.charge(name.len() + 2 * VALUE_BYTES, key.offset)?;
            let value = self.owned(node)?;
            if map.contains_key(&name) {
                let message = format!("`{}` is twice in a map", shorten(&name));
                return Err(failure(key.offset, message));
            }
            map.insert(name, value);
        }
        Ok(Value::Map(map))
    }

    fn condition(&mut self, node: &'a Node) -> Result<bool, Failure> {
        match self.node(node)?.as_ref() {
            Value::Bool(value) => Ok(*value),
            other @ (Value::Null
            | Value::Int(_)
            | Value::Float(_)
            | Value::Text(_)
            | Value::List(_)
            | Value::Map(_)
            | Value::Artifact(..)) => {
                let message = format!("true or false is wanted, not {}", other.type_name());
                Err(failure(node.offset, message))
            }
        }
    }

    /// Returns `decisive` if one node has that value, whatever the others are, errors included.
    fn decide(&mut self, nodes: &'a [Node], decisive: bool) -> Result<bool, Failure> {
        let mut pending = None;
        for node in nodes {
            match self.condition(node) {
                Ok(value) if value == decisive => return Ok(decisive),
                Ok(_) => {}
                Err(failure) if failure.last => return Err(failure),
                Err(failure) => {
                    self.use_steps(FAILURE_STEPS, node.offset)?;
                    pending = pending.or(Some(failure));
                }
            }
        }
        pending.map_or(Ok(!decisive), Err)
    }

    fn call(
        &mut self,
        function: Function,
        target: Option<&Value>,
        arguments: &'a [Node],
        offset: usize,
    ) -> Result<Value, Failure> {
        let arguments: Result<Vec<Cow<'a, Value>>, Failure> =
            arguments.iter().map(|node| self.node(node)).collect();
        let arguments = arguments?;
        let all: Vec<&Value> = target
            .into_iter()
            .chain(arguments.iter().map(Cow::as_ref))
            .collect();
        self.look_through(&all, offset)?;
        let too_much = |message| used_up(ExpressionError::new(offset, message));
        let (n_bytes, n_pieces) = function.makes(&all).map_err(too_much)?;
        let made = self.meter.make(n_bytes, n_pieces, offset);
        made.map_err(used_up)?;
        function
            .call(&all)
            .map_err(|message| failure(offset, message))
    }

    fn take(&mut self, value: Cow<'a, Value>, step: &'a Step) -> Evaluated<'a> {
        let offset = step.offset;
        match &step.kind {
            StepKind::Field(name) => self.field(value, name, offset),
            StepKind::Index(index) => {
                let index = self.node(index)?;
                match (value.as_ref(), index.as_ref()) {
                    (Value::Map(_), Value::Text(name)) => self.field(value, name, offset),
                    (Value::List(items), Value::Int(place)) => {
                        let found = usize::try_from(*place).ok().filter(|at| *at < items.len());
                        let Some(at) = found else {
                            let message = format!("no item {place} in a list of {}", items.len());
                            return Err(failure(offset, message));
                        };
                        if let Cow::Borrowed(Value::List(items)) = value {
                            return Ok(Cow::Borrowed(&items[at]));
                        }
                        self.own(Cow::Borrowed(&items[at]), offset).map(Cow::Owned)
                    }
                    (left, right) => {
                        let (left, right) = (with_article(&left.type_name()), right.type_name());
                        Err(failure(offset, format!("{left} has no item by {right}")))
                    }
                }
            }
            StepKind::Method(function, arguments) => self
                .call(*function, Some(&value), arguments, offset)
                .map(Cow::Owned),
            StepKind::Each(each, body) => {
                let value = match value {
                    Cow::Borrowed(Value::List(items)) => {
                        self.each(*each, items.iter().map(Cow::Borrowed), body, offset)
                    }
                    Cow::Owned(Value::List(items)) => {
                        self.each(*each, items.into_iter().map(Cow::Owned), body, offset)
                    }
                    // The names of a map, in their order.
                    Cow::Borrowed(Value::Map(entries)) => {
                        let names = entries.keys().cloned();
                        self.each(*each, names.map(Value::Text).map(Cow::Owned), body, offset)
                    }
                    Cow::Owned(Value::Map(entries)) => {
                        let names = entries.into_keys();
                        self.each(*each, names.map(Value::Text).map(Cow::Owned), body, offset)
                    }
                    other @ (Cow::Borrowed(_) | Cow::Owned(_)) => {
                        let message = format!("a list is wanted here, not {}", other.type_name());
                        Err(failure(offset, message))
                    }
                };
                value.map(Cow::Owned)
            }
        }
    }

    fn field(&mut self, value: Cow<'a, Value>, name: &str, offset: usize) -> Evaluated<'a> {
        let missing = || failure(offset, format!("the map has no `{}`", shorten(name)));
        if let Cow::Borrowed(Value::Map(entries)) = value {
            return entries.get(name).map(Cow::Borrowed).ok_or_else(missing);
        }
        if let Value::Map(entries) = value.as_ref() {
            let found = entries.get(name).ok_or_else(missing)?;
            return self.own(Cow::Borrowed(found), offset).map(Cow::Owned);
        }
        let message = format!(
            "{} has no field `{}`",
            with_article(&value.type_name()),
            shorten(name)
        );
        Err(failure(offset, message))
    }

    fn each(
        &mut self,
        each: Each,
        items: impl Iterator<Item = Cow<'a, Value>>,
        body: &'a [Node],
        offset: usize,
    ) -> Result<Value, Failure> {
        let mut list = Vec::new();
        let mut n_true = 0;
        let mut pending = None;
        let (guard, result) = match body {
            [guard, result] => (Some(guard), result),
            [result, ..] => (None, result),
            [] => return Err(failure(offset, "nothing to do for each item")),
        };
        for item in items {
            self.use_steps(1, offset)?;
            self.locals.push(item);
            let taken = guard.map_or(Ok(true), |guard| self.condition(guard));
            let outcome = match (taken, each) {
                (Ok(false), _) => Ok(None),
                (Err(failure), _) => Err(failure),
                (Ok(true), Each::Map) => self.owned(result).map(|value| {
                    list.push(value);
                    None
                }),
                (Ok(true), Each::All | Each::Exists | Each::ExistsOne | Each::Filter) => {
                    self.condition(result).map(Some)
                }
            };
            let item = self.locals.pop();
            match (outcome, each) {
                (Ok(Some(false)), Each::All) => return Ok(Value::Bool(false)),
                (Ok(Some(true)), Each::Exists) => return Ok(Value::Bool(true)),
                (Ok(Some(true)), Each::ExistsOne) => n_true += 1,
                (Ok(Some(true)), Each::Filter) => {
                    if let Some(item) = item {
                        list.push(self.own(item, offset)?);
                    }
                }
                (Ok(_), _) => {}
                (Err(failure), Each::All | Each::Exists) if !failure.last => {
                    self.use_steps(FAILURE_STEPS, offset)?;
                    pending = pending.or(Some(failure));
                }
                (Err(failure), _) => return Err(failure),
            }
        }
        match each {
            Each::All | Each::Exists => match pending {
                Some(failure) => Err(failure),
                None => Ok(Value::Bool(each == Each::All)),
            },
            Each::ExistsOne => Ok(Value::Bool(n_true == 1)),
            Each::Map | Each::Filter => Ok(Value::List(list)),
        }
    }

    fn operate(
        &mut self,
        operator: Operator,
        left: Cow<'a, Value>,
        right: &Value,
        offset: usize,
    ) -> Result<Value, Failure> {
        self.look_through(&[left.as_ref(), right], offset)?;
        match operator {
            Operator::Equal => return Ok(Value::Bool(equal(&left, right))),
            Operator::NotEqual => return Ok(Value::Bool(!equal(&left, right))),
            Operator::Less => return compared(&left, right, "<", offset, Ordering::is_lt),
            Operator::LessOrEqual => return compared(&left, right, "<=", offset, Ordering::is_le),
            Operator::Greater => return compared(&left, right, ">", offset, Ordering::is_gt),
            Operator::GreaterOrEqual => {
                return compared(&left, right, ">=", offset, Ordering::is_ge);
            }
            Operator::In => {
                return match right {
                    Value::List(items) => {
                        Ok(Value::Bool(items.iter().any(|item| equal(&left, item))))
                    }
                    Value::Map(entries) => Ok(Value::Bool(
                        matches!(left.as_ref(), Value::Text(name) if entries.contains_key(name)),
                    )),
                    Value::Null
                    | Value::Bool(_)
                    | Value::Int(_)
                    | Value::Float(_)
                    | Value::Text(_)
                    | Value::Artifact(..) => {
                        let message = format!("nothing can be in {}", right.type_name());
                        Err(failure(offset, message))
                    }
                };
            }
            Operator::Add
            | Operator::Subtract
            | Operator::Multiply
            | Operator::Divide
            | Operator::Remainder => {}
        }
        match (left.as_ref(), right) {
            (Value::Int(a), Value::Int(b)) => whole(operator, *a, *b, offset),
            (Value::Float(a), Value::Float(b)) if operator == Operator::Add => {
                Ok(Value::Float(a + b))
            }
            (Value::Float(a), Value::Float(b)) if operator == Operator::Subtract => {
                Ok(Value::Float(a - b))
            }
            (Value::Float(a), Value::Float(b)) if operator == Operator::Multiply => {
                Ok(Value::Float(a * b))
            }
            (Value::Float(a), Value::Float(b)) if operator == Operator::Divide => {
                Ok(Value::Float(a / b))
            }
            (Value::Text(_), Value::Text(_)) | (Value::List(_), Value::List(_))
                if operator == Operator::Add =>
            {
                self.meter.copy(right, offset).map_err(used_up)?;
                match (self.own(left, offset)?, right) {
                    (Value::Text(mut a), Value::Text(b)) => {
                        a.push_str(b);
                        Ok(Value::Text(a))
                    }
                    (Value::List(mut a), Value::List(b)) => {
                        a.extend_from_slice(b);
                        Ok(Value::List(a))
                    }
                    (other, _) => Ok(other),
                }
            }
            (a, b) => {
                let (sign, kinds) = (sign(operator), [a.type_name(), b.type_name()]);
                let mut message = format!("`{sign}` cannot take {} and {}", kinds[0], kinds[1]);
                if kinds.contains(&"int") && kinds.contains(&"float") {
                    message.push_str("; write `double(...)` around the whole number");
                } else if kinds.contains(&"string") && operator == Operator::Add {
                    message.push_str("; write `string(...)` around what is not text");
                }
                Err(failure(offset, message))
            }
        }
    }
}

/// The sign of an operator, as it is written.
pub(crate) fn sign(operator: Operator) -> &'static str {
    match operator {
        Operator::Add => "+",
        Operator::Subtract => "-",
        Operator::Multiply => "*",
        Operator::Divide => "/",
        Operator::Remainder => "%",
        Operator::Less => "<",
        Operator::LessOrEqual => "<=",
        Operator::Greater => ">",
        Operator::GreaterOrEqual => ">=",
        Operator::Equal => "==",
        Operator::NotEqual => "!=",
        Operator::In => "in",
    }
}

fn whole(operator: Operator, a: i64, b: i64, offset: usize) -> Result<Value, Failure> {
    let divides = matches!(operator, Operator::Divide | Operator::Remainder);
    if divides && b == 0 {
        return Err(failure(offset, "division by zero"));
    }
    let result = match operator {
        Operator::Add => a.checked_add(b),
        Operator::Subtract => a.checked_sub(b),
        Operator::Multiply => a.checked_mul(b),
        Operator::Divide => a.checked_div(b),
        Operator::Remainder => a.checked_rem(b),
        Operator::Less
        | Operator::LessOrEqual
        | Operator::Greater
        | Operator::GreaterOrEqual
        | Operator::Equal
        | Operator::NotEqual
        | Operator::In => None,
    };
    let overflow = || {
        failure(
            offset,
            format!("{a} {} {b} overflows 64 bits", sign(operator)),
        )
    };
    result.map(Value::Int).ok_or_else(overflow)
}

fn compared(
    left: &Value,
    right: &Value,
    sign: &str,
    offset: usize,
    holds: fn(Ordering) -> bool,
) -> Result<Value, Failure> {
    let order = match (left, right) {
        (Value::Bool(a), Value::Bool(b)) => Some(a.cmp(b)),
        (Value::Text(a), Value::Text(b)) => Some(a.cmp(b)),
        (Value::Int(_) | Value::Float(_), Value::Int(_) | Value::Float(_)) => {
            // Not-a-number is neither less nor more.
            return Ok(Value::Bool(numbers(left, right).is_some_and(holds)));
        }
        _ => None,
    };
    let order = order.ok_or_else(|| {
        let (left, right) = (left.type_name(), right.type_name());
        failure(
            offset,
            format!("`{sign}` cannot compare {left} and {right}"),
        )
    })?;
    Ok(Value::Bool(holds(order)))
}

/// The order of two numbers; none if one is not a number (or not of a numeric type).
fn numbers(left: &Value, right: &Value) -> Option<Ordering> {
    match (left, right) {
        (Value::Int(a), Value::Int(b)) => Some(a.cmp(b)),
        (Value::Float(a), Value::Float(b)) => a.partial_cmp(b),
        (Value::Int(a), Value::Float(b)) => mixed(*a, *b),
        (Value::Float(a), Value::Int(b)) => mixed(*b, *a).map(Ordering::reverse),
        _ => None,
    }
}

/// Exact even if a float cannot represent the whole number.
fn mixed(whole: i64, float: f64) -> Option<Ordering> {
    let rough = (whole as f64).partial_cmp(&float)?;
    match rough {
        Ordering::Equal => Some(i128::from(whole).cmp(&(float as i128))),
        Ordering::Less | Ordering::Greater => Some(rough),
    }
}

fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Int(_) | Value::Float(_), Value::Int(_) | Value::Float(_)) => {
            numbers(left, right) == Some(Ordering::Equal)
        }
        (Value::List(a), Value::List(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
        }
        (Value::Map(a), Value::Map(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(name, a)| b.get(name).is_some_and(|b| equal(a, b)))
        }
        // Files are equal by their content, whatever they are called.
        (Value::Artifact(a, _), Value::Artifact(b, _)) => a == b,
        (left, right) => left == right,
    }
}
