//! The kinds of an expression's value from those of the names that it reads, and what is certain to
//! fault whatever values they have.

use model::with_article;

use crate::function::{Each, Function};
use crate::kinds::{self, BOOL, FLOAT, INT, Kinds, LIST, MAP, NULL, NUMBER, Set, TEXT};
use crate::parse::{Kind, Node, Operator, Step, StepKind};
use crate::signature::{self, fit};
use crate::{ExpressionError, Severity, evaluate, function};

/// The kinds of the names that an expression reads.
pub(crate) trait NameKinds {
    fn variable(&self, name: &str) -> Kinds;
    fn input(&self, name: &str) -> Kinds;
    /// Of the variable of `step[*].variable` in one body.
    fn gathered(&self, name: &str) -> Kinds;
}

/// The inference of one expression.
pub(crate) struct Inference<'a> {
    names: &'a dyn NameKinds,
    /// The items of the comprehensions around, the outermost first.
    locals: Vec<Kinds>,
    /// What faults with all values that its operands may have, and what is true or false with all.
    pub(crate) found: Vec<(Severity, ExpressionError)>,
    /// True if an operation faults with some of the kinds that its operands may have.
    pub(crate) may_fault: bool,
}

impl<'a> Inference<'a> {
    pub(crate) fn new(names: &'a dyn NameKinds) -> Inference<'a> {
        Inference {
            names,
            locals: Vec::new(),
            found: Vec::new(),
            may_fault: false,
        }
    }

    /// The kinds of a part of the expression. Where it can only fault, this is found, and no value
    /// has its kinds, so that no other finding follows from it.
    pub(crate) fn kinds(&mut self, node: &Node) -> Kinds {
        match &node.kind {
            Kind::Literal(value) => Kinds::of_value(value),
            Kind::Variable(name) => self.names.variable(name),
            Kind::Input(name) => self.names.input(name),
            Kind::Link(_) => Kinds::of(BOOL),
            Kind::Gathered(written) => {
                let (_, variable) = written.split_once(crate::token::ALL).unwrap_or_default();
                Kinds::list_of(self.names.gathered(variable))
            }
            Kind::Local(place) => self.locals[*place].clone(),
            Kind::List(nodes) => {
                let items = nodes.iter().map(|node| self.kinds(node));
                Kinds::list_of(items.fold(Kinds::none(), Kinds::or))
            }
            Kind::Map(entries) => {
                let mut values = Kinds::none();
                for (key, value) in entries {
                    let kinds = self.kinds(key);
                    self.take(&kinds, TEXT, || {
                        let message =
                            format!("the keys of a map are string, not {}", kinds.names());
                        let hint = format!("write {}", called("string", key));
                        ExpressionError::new(key.offset, message).with_hint(hint)
                    });
                    values = values.or(self.kinds(value));
                }
                Kinds::map_of(values)
            }
            Kind::Not(inner) => {
                self.condition(inner);
                Kinds::of(BOOL)
            }
            Kind::Negate(inner) => {
                let kinds = self.kinds(inner);
                self.take(&kinds, NUMBER, || {
                    let message = format!("`-` cannot take {}", kinds.names());
                    ExpressionError::new(node.offset, message)
                });
                kinds.among(NUMBER)
            }
            Kind::Chain(first, rest) => self.chain(first, rest),
            Kind::And(nodes) | Kind::Or(nodes) => {
                nodes.iter().for_each(|node| self.condition(node));
                Kinds::of(BOOL)
            }
            Kind::Choose(parts) => {
                let [condition, first, second] = parts.as_ref();
                self.condition(condition);
                self.kinds(first).or(self.kinds(second))
            }
            Kind::Call(function, arguments) => {
                let operands: Vec<Kinds> = arguments.iter().map(|node| self.kinds(node)).collect();
                self.call(*function, &operands, arguments.first(), node.offset)
            }
            Kind::Path(base, steps) => {
                let mut value = self.kinds(base);
                for (place, step) in steps.iter().enumerate() {
                    let from = (place == 0).then_some(base.as_ref());
                    value = self.step(&value, from, step);
                }
                value
            }
            Kind::Has(base, _) => {
                let kinds = self.kinds(base);
                self.take(&kinds, MAP, || {
                    let message = format!("{} has no fields", a(&kinds));
                    ExpressionError::new(node.offset, message)
                });
                Kinds::of(BOOL)
            }
        }
    }

    /// A part that is true or false.
    pub(crate) fn condition(&mut self, node: &Node) {
        let kinds = self.kinds(node);
        self.wanted_true(&kinds, node);
    }

    /// Complains of a condition that is neither true nor false.
    pub(crate) fn wanted_true(&mut self, kinds: &Kinds, node: &Node) {
        self.take(kinds, BOOL, || {
            let message = format!("true or false is wanted, not {}", a(kinds));
            let error = ExpressionError::new(node.offset, message);
            let written = written(node).unwrap_or("x".to_owned());
            match kinds.set() & !NULL {
                set if set & !NUMBER == 0 => error.with_hint(format!("compare it: `{written} > 0`")),
                TEXT => error.with_hint(format!(
                    "compare it: `{written} == 'yes'`, or write `bool({written})` if the text says true or false"
                )),
                LIST => error.with_hint(format!("compare its length: `size({written}) > 0`")),
                _ => error,
            }
        });
    }

    /// Complains if no value of these kinds is among those that are taken.
    pub(crate) fn take(
        &mut self,
        kinds: &Kinds,
        taken: Set,
        error: impl FnOnce() -> ExpressionError,
    ) {
        self.may_fault |= kinds.set() & !taken != 0;
        if !kinds.is_none() && kinds.set() & taken == 0 {
            self.found.push((Severity::Error, error()));
        }
    }

    fn chain(&mut self, first: &Node, rest: &[(Operator, usize, Node)]) -> Kinds {
        let mut left = self.kinds(first);
        for (place, (operator, at, node)) in rest.iter().enumerate() {
            let right = self.kinds(node);
            let nodes = [(place == 0).then_some(first), Some(node)];
            left = self.operate(*operator, [&left, &right], nodes, *at);
        }
        left
    }

    fn operate(
        &mut self,
        operator: Operator,
        [left, right]: [&Kinds; 2],
        nodes: [Option<&Node>; 2],
        offset: usize,
    ) -> Kinds {
        if left.is_none() || right.is_none() {
            return Kinds::none();
        }
        let sign = evaluate::sign(operator);
        let fits = fit(signature::of_operator(operator), &[left, right]);
        self.may_fault |= fits.may_fault;
        if fits.gives == 0 {
            let sets = [left.set() & !NULL, right.set() & !NULL];
            let (one, other) = (left.names(), right.names());
            let message = match operator {
                Operator::In => format!("nothing can be in {}", a(right)),
                Operator::Less
                | Operator::LessOrEqual
                | Operator::Greater
                | Operator::GreaterOrEqual => format!("`{sign}` cannot compare {one} and {other}"),
                Operator::Add
                | Operator::Subtract
                | Operator::Multiply
                | Operator::Divide
                | Operator::Remainder
                | Operator::Equal
                | Operator::NotEqual => format!("`{sign}` cannot take {one} and {other}"),
            };
            let error = ExpressionError::new(offset, message);
            let hint = correction(operator, sets, nodes);
            let error = ExpressionError { hint, ..error };
            self.found.push((Severity::Error, error));
            return Kinds::none();
        }
        if matches!(operator, Operator::Equal | Operator::NotEqual) {
            self.compare_for_equality(operator, [left, right], nodes, offset);
        }
        match fits.gives & LIST != 0 {
            false => Kinds::of(fits.gives),
            true => {
                let lists = left.clone().among(LIST).or(right.clone().among(LIST));
                Kinds::of(fits.gives & !LIST).or(lists)
            }
        }
    }

    /// Values of different kinds are never equal, which is no fault.
    fn compare_for_equality(
        &mut self,
        operator: Operator,
        [left, right]: [&Kinds; 2],
        nodes: [Option<&Node>; 2],
        offset: usize,
    ) {
        let wide = |set: Set| if set & NUMBER != 0 { set | NUMBER } else { set };
        let sets = [left.set(), right.set()].map(|set| wide(set) & !NULL);
        if sets[0] & sets[1] != 0 || sets.contains(&0) {
            return;
        }
        let always = match operator == Operator::Equal {
            true => "never equal",
            false => "always unequal",
        };
        let message = format!("{} and {} are {always}", a(left), a(right));
        let error = ExpressionError::new(offset, message);
        let sets = [left.set() & !NULL, right.set() & !NULL];
        let hint = correction(Operator::Less, sets, nodes);
        let error = ExpressionError { hint, ..error };
        self.found.push((Severity::Warning, error));
    }

    fn call(
        &mut self,
        function: Function,
        operands: &[Kinds],
        first: Option<&Node>,
        offset: usize,
    ) -> Kinds {
        if operands.iter().any(Kinds::is_none) {
            return Kinds::none();
        }
        let ways = signature::of_function(function);
        let all: Vec<&Kinds> = operands.iter().collect();
        let fits = fit(ways, &all);
        let is_extreme = matches!(function, Function::Min | Function::Max);
        self.may_fault |= fits.may_fault;
        if let ([list], true) = (operands, is_extreme)
            && list.set() & LIST != 0
        {
            let kinds = signature::extreme(list);
            let is_one = matches!(list.items().set(), INT | FLOAT | TEXT);
            self.may_fault |= list.set() != LIST || !is_one;
            return Kinds::of(fits.gives).or(kinds);
        }
        if fits.gives == 0 {
            let error = self.unfit(function, operands, first, offset);
            self.found.push((Severity::Error, error));
            return Kinds::none();
        }
        match fits.gives & LIST != 0 {
            true => Kinds::list_of(signature::items_of(function)),
            false => Kinds::of(fits.gives),
        }
    }

    /// The error of a call whose operands no function of this name takes.
    fn unfit(
        &self,
        function: Function,
        operands: &[Kinds],
        first: Option<&Node>,
        offset: usize,
    ) -> ExpressionError {
        let name = function::name(function);
        let names: Vec<String> = operands.iter().map(Kinds::names).collect();
        let message = format!("`{name}` cannot take {}", names.join(" and "));
        let ways = signature::of_function(function);
        let taken = |place| signature::taken(ways, operands.len(), place);
        let wrong = operands
            .iter()
            .enumerate()
            .find(|(place, kinds)| kinds.set() & taken(*place) == 0);
        let error = ExpressionError::new(offset, message);
        match (wrong, first) {
            (Some((0, kinds)), Some(node))
                if taken(0) == TEXT && kinds.set() & (NUMBER | BOOL) != 0 =>
            {
                error.with_hint(format!("write {} before it", called("string", node)))
            }
            (Some((0, kinds)), Some(node)) if kinds.set() & TEXT != 0 && taken(0) & NUMBER != 0 => {
                error.with_hint(format!("write {} in its place", called("double", node)))
            }
            (Some((place, _)), _) if matches!(function, Function::Min | Function::Max) => {
                let place = place + 1;
                error.with_hint(format!("value {place} is no number and no text"))
            }
            (Some((place, _)), _) => {
                let wanted = kinds::names(taken(place));
                error.with_hint(match operands.len() {
                    1 => format!("it takes {wanted}"),
                    _ => format!("value {} of it is {wanted}", place + 1),
                })
            }
            (None, _) => {
                error.with_hint("all its values are of one kind: whole numbers, floats or texts")
            }
        }
    }

    /// The result of a step into a value; `from` is the value, where it is written just before.
    fn step(&mut self, value: &Kinds, from: Option<&Node>, step: &Step) -> Kinds {
        let offset = step.offset;
        match &step.kind {
            StepKind::Field(name) => {
                self.take(value, MAP, || {
                    let name = function::shorten(name);
                    let message = format!("{} has no field `{name}`", a(value));
                    ExpressionError::new(offset, message)
                });
                match value.set() & MAP != 0 {
                    true => value.values(),
                    false => Kinds::none(),
                }
            }
            StepKind::Index(index) => {
                let index = self.kinds(index);
                if value.is_none() || index.is_none() {
                    return Kinds::none();
                }
                let in_list = value.set() & LIST != 0 && index.set() & INT != 0;
                let in_map = value.set() & MAP != 0 && index.set() & TEXT != 0;
                let is_exact = matches!((value.set(), index.set()), (LIST, INT) | (MAP, TEXT));
                self.may_fault |= !is_exact;
                if !in_list && !in_map {
                    let message = format!("{} has no item by {}", a(value), index.names());
                    let error = ExpressionError::new(offset, message);
                    let error = match value.set() & !NULL {
                        LIST => error.with_hint("the items of a list are numbered from 0"),
                        MAP => error.with_hint("the values of a map are read by text"),
                        _ => error,
                    };
                    self.found.push((Severity::Error, error));
                    return Kinds::none();
                }
                let nothing = Kinds::none();
                let item = in_list.then(|| value.items());
                let entry = in_map.then(|| value.values());
                nothing
                    .or(item.unwrap_or(Kinds::none()))
                    .or(entry.unwrap_or(Kinds::none()))
            }
            StepKind::Method(function, arguments) => {
                let mut operands = vec![value.clone()];
                operands.extend(arguments.iter().map(|node| self.kinds(node)));
                self.call(*function, &operands, from, offset)
            }
            StepKind::Each(each, body) => self.each(value, *each, body, offset),
        }
    }

    fn each(&mut self, value: &Kinds, each: Each, body: &[Node], offset: usize) -> Kinds {
        self.take(value, LIST | MAP, || {
            let message = format!("a list is wanted here, not {}", a(value));
            let error = ExpressionError::new(offset, message);
            match value.set() & !NULL {
                TEXT => error.with_hint("`lines(text)` and `text.split(',')` make lists"),
                INT => error.with_hint("`range(n)` is the list of so many numbers"),
                _ => error,
            }
        });
        // Of a map the names.
        let items = match (value.set() & LIST != 0, value.set() & MAP != 0) {
            (true, true) => Kinds::any(),
            (true, false) => value.items(),
            (false, true) => Kinds::of(TEXT),
            (false, false) => Kinds::none(),
        };
        self.locals.push(items.clone());
        let (guard, result) = match body {
            [guard, result] => (Some(guard), Some(result)),
            [result, ..] => (None, Some(result)),
            [] => (None, None),
        };
        if let Some(guard) = guard {
            self.condition(guard);
        }
        let kinds = result.map_or(Kinds::none(), |result| self.kinds(result));
        if let (Some(result), Each::All | Each::Exists | Each::ExistsOne | Each::Filter) =
            (result, each)
        {
            self.wanted_true(&kinds, result);
        }
        self.locals.pop();
        match each {
            Each::Map => Kinds::list_of(kinds),
            Each::Filter => Kinds::list_of(items),
            Each::All | Each::Exists | Each::ExistsOne => Kinds::of(BOOL),
        }
    }
}

/// The kinds with an article: `an int`, `a string`.
pub(crate) fn a(kinds: &Kinds) -> String {
    let names = kinds.names();
    match names.as_bytes() {
        b"nothing" | b"anything" => names,
        _ => with_article(&names),
    }
}

/// The text of a part, where it is a name with fields behind it.
pub(crate) fn written(node: &Node) -> Option<String> {
    match &node.kind {
        Kind::Variable(name) => Some(name.clone()),
        Kind::Input(name) => Some(format!("inputs.{name}")),
        Kind::Gathered(written) => Some(written.clone()),
        Kind::Path(base, steps) => {
            let mut all = written(base)?;
            for step in steps {
                let StepKind::Field(name) = &step.kind else {
                    return None;
                };
                all.push('.');
                all.push_str(name);
            }
            Some(all)
        }
        Kind::Literal(_)
        | Kind::Link(_)
        | Kind::Local(_)
        | Kind::List(_)
        | Kind::Map(_)
        | Kind::Not(_)
        | Kind::Negate(_)
        | Kind::Chain(..)
        | Kind::And(_)
        | Kind::Or(_)
        | Kind::Choose(_)
        | Kind::Call(..)
        | Kind::Has(..) => None,
    }
}

/// A call around a part: `double(n)`.
fn called(function: &str, node: &Node) -> String {
    match written(node) {
        Some(written) => format!("`{function}({written})`"),
        None => format!("`{function}(...)`"),
    }
}

/// Advice where an operator cannot take these kinds.
fn correction(operator: Operator, sets: [Set; 2], nodes: [Option<&Node>; 2]) -> Option<String> {
    let around = |function: &str, place: usize| match nodes[place].and_then(written) {
        Some(written) => format!("`{function}({written})`"),
        None => format!("`{function}(...)`"),
    };
    let is = |place: usize, of: Set| sets[place] != 0 && sets[place] & !of == 0;
    let place_of = |of: Set, other: Set| {
        let places = [(0, 1), (1, 0)].into_iter();
        let mut found = places.filter(|&(one, another)| is(one, of) && is(another, other));
        found.next()
    };
    if operator == Operator::In {
        return match sets[1] {
            TEXT => Some("whether a text has a part is written `text.contains(part)`".to_owned()),
            _ => None,
        };
    }
    if operator == Operator::Remainder && place_of(FLOAT, NUMBER).is_some() {
        return Some("`%` is for whole numbers: write `int(...)` around the float".to_owned());
    }
    if let Some((whole, _)) = place_of(INT, FLOAT) {
        let call = around("double", whole);
        return Some(format!("write {call} for the whole number"));
    }
    if let Some((text, number)) = place_of(TEXT, NUMBER) {
        let numbers = match is(number, INT) {
            true => around("int", text),
            false => around("double", text),
        };
        return Some(match operator {
            Operator::Add => format!(
                "write {} to join texts, or {numbers} to add numbers",
                around("string", number)
            ),
            Operator::Subtract
            | Operator::Multiply
            | Operator::Divide
            | Operator::Remainder
            | Operator::Less
            | Operator::LessOrEqual
            | Operator::Greater
            | Operator::GreaterOrEqual
            | Operator::Equal
            | Operator::NotEqual
            | Operator::In => format!("write {numbers} for the number in the text"),
        });
    }
    if let Some((_, other)) = place_of(TEXT, BOOL)
        && operator == Operator::Add
    {
        return Some(format!("write {} to join texts", around("string", other)));
    }
    None
}
