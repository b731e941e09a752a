//! Parsing. The tree's depth is bounded by the nesting of the source, never by the length of a
//! chain such as `1 + 1 + ...`, so that no walk over it overflows the stack.

use model::Value;

use crate::ExpressionError;
use crate::function::{self, Each, Function};
use crate::limits::{COMPREHENSIONS_MAX, NESTING_MAX, SOURCE_BYTES_MAX, TOKENS_MAX};
use crate::token::{Lexer, Token};

/// A part of an expression and its offset in the source.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) offset: usize,
    pub(crate) kind: Kind,
}

#[derive(Debug)]
pub(crate) enum Kind {
    Literal(Value),
    Variable(String),
    Input(String),
    Link(String),
    /// The values of a variable of all bodies, as `step[*].variable`.
    Gathered(String),
    /// The item of a comprehension, by its nesting from the outside.
    Local(usize),
    List(Vec<Node>),
    Map(Vec<(Node, Node)>),
    Not(Box<Node>),
    Negate(Box<Node>),
    /// Operators of one precedence, from left to right.
    Chain(Box<Node>, Vec<(Operator, usize, Node)>),
    And(Vec<Node>),
    Or(Vec<Node>),
    Choose(Box<[Node; 3]>),
    Call(Function, Vec<Node>),
    /// A value and the steps into it, in order.
    Path(Box<Node>, Vec<Step>),
    /// Tests the last field of the path.
    Has(Box<Node>, String),
}

#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) offset: usize,
    pub(crate) kind: StepKind,
}

#[derive(Debug)]
pub(crate) enum StepKind {
    Field(String),
    Index(Node),
    Method(Function, Vec<Node>),
    Each(Each, Vec<Node>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    NotEqual,
    In,
}

/// A name that the expression reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    pub(crate) kind: NameKind,
    pub(crate) name: String,
    pub(crate) offset: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameKind {
    Variable,
    Input,
    Link,
    /// As `step[*].variable`.
    Gathered,
}

const RELATIONS: &[(&str, Operator)] = &[
    ("<", Operator::Less),
    ("<=", Operator::LessOrEqual),
    (">", Operator::Greater),
    (">=", Operator::GreaterOrEqual),
    ("==", Operator::Equal),
    ("!=", Operator::NotEqual),
    ("in", Operator::In),
];
const SUMS: &[(&str, Operator)] = &[("+", Operator::Add), ("-", Operator::Subtract)];
const PRODUCTS: &[(&str, Operator)] = &[
    ("*", Operator::Multiply),
    ("/", Operator::Divide),
    ("%", Operator::Remainder),
];
/// The weakest first.
const LEVELS: [&[(&str, Operator)]; 3] = [RELATIONS, SUMS, PRODUCTS];

/// Reserved words of CEL.
const WORDS: [&str; 15] = [
    "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let",
    "loop", "package", "return", "while",
];

/// Parses a source as one expression.
pub(crate) fn parse(source: &str) -> Result<(Node, Vec<Name>), ExpressionError> {
    if source.len() > SOURCE_BYTES_MAX {
        let message = format!(
            "an expression of {} bytes; at most {SOURCE_BYTES_MAX}",
            source.len()
        );
        return Err(ExpressionError::new(0, message));
    }
    let mut lexer = Lexer::new(source, 0);
    let (token, start) = lexer.next()?;
    let mut parser = Parser {
        source,
        lexer,
        token,
        start,
        n_tokens: 0,
        nesting: 0,
        locals: Vec::new(),
        names: Vec::new(),
    };
    if parser.token == Token::End {
        return Err(ExpressionError::new(0, "an empty expression"));
    }
    let node = parser.expression()?;
    if parser.token != Token::End {
        return Err(parser.unexpected("an operator or the end"));
    }
    Ok((node, parser.names))
}

struct Parser<'a> {
    source: &'a str,
    lexer: Lexer<'a>,
    token: Token<'a>,
    start: usize,
    n_tokens: usize,
    nesting: usize,
    locals: Vec<String>,
    names: Vec<Name>,
}

type Parsed<T> = Result<T, ExpressionError>;

impl<'a> Parser<'a> {
    fn advance(&mut self) -> Parsed<Token<'a>> {
        self.n_tokens += 1;
        if self.n_tokens > TOKENS_MAX {
            let message = format!("an expression of more than {TOKENS_MAX} words and signs");
            let error = ExpressionError::new(self.start, message);
            return Err(match self.source.trim_start().starts_with('[') {
                true => error.with_hint(
                    "a longer list is the default of an input, read as `${ inputs.NAME }`",
                ),
                false => error,
            });
        }
        let (token, start) = self.lexer.next()?;
        self.start = start;
        Ok(std::mem::replace(&mut self.token, token))
    }

    fn accept(&mut self, sign: &'static str) -> Parsed<bool> {
        let found = self.token == Token::Sign(sign);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    fn expect(&mut self, sign: &'static str) -> Parsed<()> {
        match self.accept(sign)? {
            true => Ok(()),
            false => Err(self.unexpected(&format!("`{sign}`"))),
        }
    }

    fn unexpected(&self, wanted: &str) -> ExpressionError {
        if self.token == Token::End {
            let message = format!("the expression ends where {wanted} is expected");
            return ExpressionError::new(self.start, message);
        }
        let written = self.source[self.start..self.lexer.position()].trim_end();
        let written = function::shorten(written);
        let error = ExpressionError::new(
            self.start,
            format!("`{written}` where {wanted} is expected"),
        );
        match written.as_str() {
            "and" => error.with_hint("and is written `&&`"),
            "or" => error.with_hint("or is written `||`"),
            "not" => error.with_hint("not is written `!`"),
            "if" => error.with_hint("a choice is written `condition ? one : other`"),
            _ => error,
        }
    }

    fn deeper<T>(&mut self, inside: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.nesting >= NESTING_MAX {
            let message = format!("nested deeper than {NESTING_MAX}");
            return Err(ExpressionError::new(self.start, message));
        }
        self.nesting += 1;
        let parsed = inside(self);
        self.nesting -= 1;
        parsed
    }

    fn expression(&mut self) -> Parsed<Node> {
        let offset = self.start;
        let condition = self.or()?;
        if !self.accept("?")? {
            return Ok(condition);
        }
        let first = self.deeper(Self::or)?;
        self.expect(":")?;
        let second = self.deeper(Self::expression)?;
        Ok(Node {
            offset,
            kind: Kind::Choose(Box::new([condition, first, second])),
        })
    }

    fn or(&mut self) -> Parsed<Node> {
        let offset = self.start;
        let first = self.and()?;
        if self.token != Token::Sign("||") {
            return Ok(first);
        }
        let mut nodes = vec![first];
        while self.accept("||")? {
            nodes.push(self.and()?);
        }
        Ok(Node {
            offset,
            kind: Kind::Or(nodes),
        })
    }

    fn and(&mut self) -> Parsed<Node> {
        let offset = self.start;
        let first = self.chain(0)?;
        if self.token != Token::Sign("&&") {
            return Ok(first);
        }
        let mut nodes = vec![first];
        while self.accept("&&")? {
            nodes.push(self.chain(0)?);
        }
        Ok(Node {
            offset,
            kind: Kind::And(nodes),
        })
    }

    fn chain(&mut self, level: usize) -> Parsed<Node> {
        let Some(operators) = LEVELS.get(level) else {
            return self.unary();
        };
        let offset = self.start;
        let first = self.chain(level + 1)?;
        let mut rest = Vec::new();
        loop {
            let sign = match &self.token {
                Token::Sign(sign) => *sign,
                Token::Name("in") => "in",
                Token::Name(_)
                | Token::Whole(_)
                | Token::Float(_)
                | Token::Text(_)
                | Token::Gathered(_)
                | Token::End => break,
            };
            let Some((_, operator)) = operators.iter().find(|(known, _)| *known == sign) else {
                break;
            };
            let at = self.start;
            self.advance()?;
            rest.push((*operator, at, self.chain(level + 1)?));
        }
        match rest.is_empty() {
            true => Ok(first),
            false => Ok(Node {
                offset,
                kind: Kind::Chain(Box::new(first), rest),
            }),
        }
    }

    fn unary(&mut self) -> Parsed<Node> {
        let offset = self.start;
        if self.accept("!")? {
            let node = self.deeper(Self::unary)?;
            return Ok(Node {
                offset,
                kind: Kind::Not(Box::new(node)),
            });
        }
        if self.accept("-")? {
            if let Token::Whole(size) = self.token {
                let number = 0i64.checked_sub_unsigned(size);
                let number = number
                    .ok_or_else(|| ExpressionError::new(offset, "a number that is too large"))?;
                self.advance()?;
                let literal = Node {
                    offset,
                    kind: Kind::Literal(Value::Int(number)),
                };
                return self.path(literal);
            }
            let node = self.deeper(Self::unary)?;
            return Ok(Node {
                offset,
                kind: Kind::Negate(Box::new(node)),
            });
        }
        let primary = self.primary()?;
        self.path(primary)
    }

    fn primary(&mut self) -> Parsed<Node> {
        let offset = self.start;
        let kind = match &self.token {
            Token::Whole(size) => {
                let number = i64::try_from(*size)
                    .map_err(|_| ExpressionError::new(offset, "a number that is too large"))?;
                Kind::Literal(Value::Int(number))
            }
            Token::Float(number) => Kind::Literal(Value::Float(*number)),
            Token::Text(text) => Kind::Literal(Value::Text(text.clone())),
            Token::Name(name) => return self.name(name, offset),
            Token::Gathered(written) => {
                let written = (*written).to_owned();
                self.names.push(Name {
                    kind: NameKind::Gathered,
                    name: written.clone(),
                    offset,
                });
                Kind::Gathered(written)
            }
            Token::Sign("(") => {
                self.advance()?;
                let node = self.deeper(Self::expression)?;
                self.expect(")")?;
                return Ok(node);
            }
            Token::Sign("[") => {
                self.advance()?;
                let items = self.deeper(|parser| parser.items("]"))?;
                return Ok(Node {
                    offset,
                    kind: Kind::List(items),
                });
            }
            Token::Sign("{") => {
                self.advance()?;
                let entries = self.deeper(Self::entries)?;
                return Ok(Node {
                    offset,
                    kind: Kind::Map(entries),
                });
            }
            Token::Sign(_) | Token::End => return Err(self.unexpected("a value")),
        };
        self.advance()?;
        Ok(Node { offset, kind })
    }

    /// Expressions up to a closing sign, which is consumed; a comma may precede it.
    fn items(&mut self, end: &'static str) -> Parsed<Vec<Node>> {
        let mut items = Vec::new();
        while !self.accept(end)? {
            items.push(self.expression()?);
            if !self.accept(",")? {
                self.expect(end)?;
                break;
            }
        }
        Ok(items)
    }

    fn entries(&mut self) -> Parsed<Vec<(Node, Node)>> {
        let mut entries = Vec::new();
        while !self.accept("}")? {
            let key = self.expression()?;
            self.expect(":")?;
            entries.push((key, self.expression()?));
            if !self.accept(",")? {
                self.expect("}")?;
                break;
            }
        }
        Ok(entries)
    }

    fn name(&mut self, name: &'a str, offset: usize) -> Parsed<Node> {
        let literal = match name {
            "true" => Some(Value::Bool(true)),
            "false" => Some(Value::Bool(false)),
            "null" => Some(Value::Null),
            _ => None,
        };
        if literal.is_none() && WORDS.contains(&name) {
            return Err(self.unexpected("a value"));
        }
        self.advance()?;
        if let Some(value) = literal {
            return Ok(Node {
                offset,
                kind: Kind::Literal(value),
            });
        }
        if self.token == Token::Sign("(") {
            return self.call(name, offset);
        }
        if let Some(nesting) = self.locals.iter().rposition(|local| local == name) {
            return Ok(Node {
                offset,
                kind: Kind::Local(nesting),
            });
        }
        let (kind, node_kind): (NameKind, fn(String) -> Kind) = match name {
            "inputs" => (NameKind::Input, Kind::Input),
            "links" => (NameKind::Link, Kind::Link),
            _ => (NameKind::Variable, Kind::Variable),
        };
        let (found, at) = match kind {
            NameKind::Variable | NameKind::Gathered => (name.to_owned(), offset),
            NameKind::Input | NameKind::Link => self.member(name)?,
        };
        self.names.push(Name {
            kind,
            name: found.clone(),
            offset: at,
        });
        Ok(Node {
            offset,
            kind: node_kind(found),
        })
    }

    /// `.NAME` or `["NAME"]` after `inputs` or `links`.
    fn member(&mut self, of: &str) -> Parsed<(String, usize)> {
        if self.accept(".")? {
            let at = self.start;
            return match self.advance()? {
                Token::Name(name) => Ok((name.to_owned(), at)),
                Token::Whole(_)
                | Token::Float(_)
                | Token::Text(_)
                | Token::Sign(_)
                | Token::Gathered(_)
                | Token::End => Err(ExpressionError::new(
                    at,
                    format!("a name is expected after `{of}.`"),
                )),
            };
        }
        let wanted = || format!("`{of}` is read as `{of}.NAME` or `{of}[\"NAME\"]`");
        if !self.accept("[")? {
            return Err(ExpressionError::new(self.start, wanted()));
        }
        let at = self.start;
        let Token::Text(name) = self.advance()? else {
            return Err(ExpressionError::new(at, wanted()));
        };
        self.expect("]")?;
        Ok((name, at))
    }

    fn call(&mut self, name: &str, offset: usize) -> Parsed<Node> {
        self.expect("(")?;
        let at = self.start;
        let mut arguments = self.deeper(|parser| parser.items(")"))?;
        if name != "has" {
            let function =
                function::find(name, false, arguments.len()).map_err(|(message, hint)| {
                    ExpressionError {
                        message,
                        hint,
                        offset,
                    }
                })?;
            return Ok(Node {
                offset,
                kind: Kind::Call(function, arguments),
            });
        }
        let wanted = || ExpressionError::new(at, "`has` takes one field, as in `has(map.field)`");
        let argument = arguments
            .pop()
            .filter(|_| arguments.is_empty())
            .ok_or_else(wanted)?;
        let Kind::Path(base, mut steps) = argument.kind else {
            return Err(wanted());
        };
        let Some(Step {
            kind: StepKind::Field(field),
            ..
        }) = steps.pop()
        else {
            return Err(wanted());
        };
        let map = match steps.is_empty() {
            true => base,
            false => Box::new(Node {
                offset: argument.offset,
                kind: Kind::Path(base, steps),
            }),
        };
        Ok(Node {
            offset,
            kind: Kind::Has(map, field),
        })
    }

    /// The steps after a value: fields, indices and methods.
    fn path(&mut self, base: Node) -> Parsed<Node> {
        let offset = base.offset;
        let mut steps = Vec::new();
        loop {
            let at = self.start;
            if self.accept("[")? {
                let index = self.deeper(Self::expression)?;
                self.expect("]")?;
                steps.push(Step {
                    offset: at,
                    kind: StepKind::Index(index),
                });
                continue;
            }
            if !self.accept(".")? {
                break;
            }
            let offset = self.start;
            let Token::Name(name) = self.token else {
                return Err(self.unexpected("a name"));
            };
            self.advance()?;
            let kind = match self.token {
                Token::Sign("(") => self.method(name, offset)?,
                Token::Sign(_)
                | Token::Name(_)
                | Token::Whole(_)
                | Token::Float(_)
                | Token::Text(_)
                | Token::Gathered(_)
                | Token::End => StepKind::Field(name.to_owned()),
            };
            steps.push(Step { offset, kind });
        }
        match steps.is_empty() {
            true => Ok(base),
            false => Ok(Node {
                offset,
                kind: Kind::Path(Box::new(base), steps),
            }),
        }
    }

    fn method(&mut self, name: &str, offset: usize) -> Parsed<StepKind> {
        self.expect("(")?;
        let Some(each) = function::comprehension(name) else {
            let arguments = self.deeper(|parser| parser.items(")"))?;
            let function =
                function::find(name, true, arguments.len()).map_err(|(message, hint)| {
                    ExpressionError {
                        message,
                        hint,
                        offset,
                    }
                })?;
            return Ok(StepKind::Method(function, arguments));
        };
        if self.locals.len() >= COMPREHENSIONS_MAX {
            let message =
                format!("more than {COMPREHENSIONS_MAX} comprehensions within each other");
            return Err(ExpressionError::new(offset, message));
        }
        let at = self.start;
        let Token::Name(item) = self.token else {
            let wanted = format!("a name for the item, as in `list.{name}(x, ...)`,");
            return Err(self.unexpected(&wanted));
        };
        if ["inputs", "links", "true", "false", "null"].contains(&item) || WORDS.contains(&item) {
            return Err(ExpressionError::new(
                at,
                format!("`{item}` cannot name an item"),
            ));
        }
        self.advance()?;
        self.expect(",")?;
        self.locals.push(item.to_owned());
        let body = self.deeper(|parser| parser.items(")"));
        self.locals.pop();
        let body = body?;
        let sound = body.len() == 1 || (each == Each::Map && body.len() == 2);
        match sound {
            true => Ok(StepKind::Each(each, body)),
            false => Err(ExpressionError::new(
                offset,
                format!("`{name}` is called as `list.{name}(x, ...)`"),
            )),
        }
    }
}
