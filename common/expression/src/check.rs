//! Checking all expressions of a definition before it runs: their names, and the kinds of values that
//! they certainly have.

mod environment;
mod picks;
mod published;
mod wanted;

use std::collections::BTreeSet;

use model::{
    Command, Definition, Draft, Expression, Join, NodeId, NodeKind, OutputSource, Place, Problem,
    Stdin, Template, limits::PROBLEMS_MAX,
};

use self::environment::Environment;
use self::wanted::{Joined, Wanted};
use crate::infer::Inference;
use crate::parse::NameKind;
use crate::shell::Around;
use crate::text::{Piece, Pieces};
use crate::token::ALL;
use crate::{ExpressionError, Program, Programs, Severity, nearest, shell};

/// A problem with an expression of a definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The problem and its place in the definition.
    pub problem: Problem,
    /// The offset in the text of that field, in bytes.
    pub offset: usize,
    /// Error or warning.
    pub severity: Severity,
}

/// All errors in the expressions of a definition: invalid expressions, unknown names, values
/// inside the quotes of a shell, and what faults whenever it is evaluated, because of the kinds of
/// its values. What values there are is not known before; so of an expression that may have values of
/// several kinds, or of any, this says nothing where one of them is sound.
pub fn check(definition: &Definition) -> Vec<Problem> {
    let findings = check_draft(definition.draft()).into_iter();
    let errors = findings.filter(|finding| finding.severity == Severity::Error);
    errors.map(|finding| finding.problem).collect()
}

/// [`check`] with the offset of each problem in its text and with warnings, for a draft that may have
/// other problems too. Returns at most [`PROBLEMS_MAX`] errors, and as many warnings after them.
pub fn check_draft(draft: &Draft) -> Vec<Finding> {
    let around = around(draft);
    let mut programs = Programs::default();
    let environment = Environment::new(draft, &around, &mut programs);
    let mut check = Check {
        environment: &environment,
        variables: draft
            .variables
            .iter()
            .filter(|variable| variable.of.is_none())
            .map(|variable| variable.name.as_str())
            .collect(),
        inputs: draft
            .inputs
            .iter()
            .map(|input| input.name.as_str())
            .collect(),
        draft,
        around: &around,
        at: None,
        inside: None,
        is_early: false,
        programs,
        findings: Vec::new(),
        warnings: Vec::new(),
    };
    for output in &draft.outputs {
        if let OutputSource::Expression(expression) = &output.source {
            let place = || (None, format!("outputs.{}", output.name));
            check.expression(expression, None, Wanted::Output, &place);
        }
    }
    for (name, value) in draft.common_env() {
        check.template(value, Joined::Text, &|| (None, format!("env.{name}")));
    }
    let joins: BTreeSet<NodeId> = draft
        .nodes
        .iter()
        .enumerate()
        .filter(|(_, node)| matches!(node.join, Join::When(_)))
        .map(|(index, _)| NodeId(index as u32))
        .collect();
    let mut incoming: Vec<(NodeId, &str)> = Vec::new();
    for node in &draft.nodes {
        if let NodeKind::Parallel { links, .. } = &node.kind {
            for link in links.iter().filter(|link| joins.contains(&link.to)) {
                if let Some(from) = draft.nodes.get(link.from.index()) {
                    incoming.push((link.to, from.label()));
                }
            }
        }
    }
    incoming.sort_unstable();
    for (index, node) in draft.nodes.iter().enumerate() {
        let id = NodeId(index as u32);
        let here = Some(id);
        check.at = check.around[index];
        check.inside = check.at;
        if let Join::When(expression) = &node.join {
            let first = incoming.partition_point(|(to, _)| *to < id);
            let links: Vec<&str> = incoming[first..]
                .iter()
                .take_while(|(to, _)| *to == id)
                .map(|(_, from)| *from)
                .collect();
            check.expression(expression, Some(&links), Wanted::Truth, &|| {
                (here, "join".to_owned())
            });
        }
        match &node.kind {
            NodeKind::Sequence(_) | NodeKind::Empty => {}
            NodeKind::Parallel { links, .. } => {
                for (number, link) in links.iter().enumerate() {
                    if let Some(when) = &link.when {
                        let place = || (here, format!("links.{number}.when"));
                        check.expression(when, None, Wanted::Truth, &place);
                    }
                }
            }
            NodeKind::If { conditions, .. } => {
                for (number, condition) in conditions.iter().enumerate() {
                    let place = || (here, Place::condition(number));
                    check.expression(condition, None, Wanted::Truth, &place);
                }
            }
            NodeKind::ForEach(each) => {
                let field = || (here, "for-each.in".to_owned());
                check.expression(&each.items, None, Wanted::List, &field);
                if let Some(enough) = &each.complete_when {
                    let field = || (here, "for-each.complete-when".to_owned());
                    check.expression(enough, None, Wanted::Count, &field);
                }
                if let Some(key) = &each.key {
                    check.at = here;
                    let field = || (here, "for-each.key".to_owned());
                    check.expression(key, None, Wanted::Key, &field);
                }
            }
            NodeKind::Repeat(repeat) => {
                // The condition reads the number of the iteration too.
                check.at = here;
                let field = || (here, repeat.test.keyword().to_owned());
                check.expression(&repeat.condition, None, Wanted::Truth, &field);
            }
            NodeKind::Assign(writes) => {
                for write in writes {
                    let variable = draft.variables.get(write.variable as usize);
                    let name = variable.map_or("", |variable| variable.name.as_str());
                    let wanted = variable.map_or(Wanted::Output, Wanted::Variable);
                    let place = || (here, format!("assign.{name}"));
                    check.expression(&write.value, None, wanted, &place);
                }
            }
            NodeKind::Activity(activity) => {
                match &activity.command {
                    Command::List(parts) => {
                        for (number, part) in parts.iter().enumerate() {
                            check
                                .template(part, Joined::Words, &|| (here, format!("run.{number}")));
                        }
                    }
                    Command::Shell(line) => {
                        check.template(line, Joined::Shell, &|| (here, "run.shell".to_owned()));
                    }
                }
                for (name, value) in &activity.env {
                    check.template(value, Joined::Text, &|| (here, format!("env.{name}")));
                }
                if let Some(Stdin::Text(text)) = &activity.stdin {
                    check.template(text, Joined::Text, &|| (here, "stdin".to_owned()));
                }
            }
        }
    }
    picks::check(&mut check);
    published::check(&mut check);
    let mut findings = check.findings;
    findings.append(&mut check.warnings);
    findings
}

/// The innermost for-each or loop around each node of a draft, which may be no tree.
fn around(draft: &Draft) -> Vec<Option<NodeId>> {
    let mut around = vec![None; draft.nodes.len()];
    for (index, node) in draft.nodes.iter().enumerate() {
        let outer = match node.kind.has_bodies() {
            true => Some(NodeId(index as u32)),
            false => around[index],
        };
        // Parents come before their children, so nothing lies in itself.
        let later = |child: &&NodeId| child.index() > index;
        for child in node.children().iter().filter(later) {
            if let Some(place) = around.get_mut(child.index()) {
                *place = outer;
            }
        }
    }
    around
}

struct Check<'a> {
    variables: BTreeSet<&'a str>,
    inputs: BTreeSet<&'a str>,
    draft: &'a Draft,
    /// The kinds of all names.
    environment: &'a Environment<'a>,
    around: &'a [Option<NodeId>],
    /// The for-each or loop whose item and index can be read where the check is.
    at: Option<NodeId>,
    /// The for-each or loop whose body has it: its variables can be read.
    inside: Option<NodeId>,
    /// True where only what is known with the items can be read: no variables.
    is_early: bool,
    /// The same expression is often used in many places.
    programs: Programs,
    findings: Vec<Finding>,
    warnings: Vec<Finding>,
}

/// Called only for problems, because it makes a new text for each.
type PlaceOf<'p> = dyn Fn() -> (Option<NodeId>, String) + 'p;

impl Check<'_> {
    /// The items of the bodies around, and their indexes.
    fn items(&self) -> impl Iterator<Item = &str> {
        let around = std::iter::successors(self.at, |id| self.around[id.index()]);
        around.flat_map(|id| {
            let (item, index) = match &self.draft.nodes[id.index()].kind {
                NodeKind::ForEach(each) => (Some(each.item.as_str()), each.index.as_deref()),
                NodeKind::Repeat(repeat) => (None, repeat.index.as_deref()),
                NodeKind::Sequence(_)
                | NodeKind::Parallel { .. }
                | NodeKind::If { .. }
                | NodeKind::Activity(_)
                | NodeKind::Assign(_)
                | NodeKind::Empty => (None, None),
            };
            item.into_iter().chain(index)
        })
    }

    /// The variables of the bodies around.
    fn own_variables(&self) -> impl Iterator<Item = &str> {
        let around = || std::iter::successors(self.inside, |id| self.around[id.index()]);
        let variables = self.draft.variables.iter();
        let own = variables.filter(move |one| one.of.is_some_and(|of| around().any(|at| at == of)));
        own.map(|variable| variable.name.as_str())
    }

    fn is_known(&self, name: &str) -> bool {
        self.items().any(|item| item == name)
            || !self.is_early
                && (self.variables.contains(name) || self.own_variables().any(|own| own == name))
    }

    /// The problem with a variable that is read before it has its value.
    fn too_early(&self, name: &str) -> Option<(String, Option<String>)> {
        let is_variable = self.draft.variables.iter().any(|one| one.name == name);
        (self.is_early && is_variable).then(|| {
            let message = format!("`{name}` is a variable, and which item is read is known before");
            let hint = "inputs, items and indexes can be read here; a variable may be the list of the for-each";
            (message, Some(hint.to_owned()))
        })
    }

    /// The problem with `step[*].variable`, and its correction.
    fn gathered(&self, written: &str) -> Option<(String, Option<String>)> {
        let (step, name) = written.split_once(ALL).unwrap_or_default();
        let mut variables = self.draft.variables.iter();
        let Some(variable) = variables.find(|variable| variable.name == name) else {
            let owned = self.draft.variables.iter().filter(|one| one.of.is_some());
            let owned: Vec<&str> = owned.map(|one| one.name.as_str()).collect();
            let hint = meant(name, &format!("{step}{ALL}"), owned.iter());
            let hint = hint.or_else(|| {
                let files = "`[*]` of a file stands in `inputs:` or `outputs:`, without `${ }`";
                Some(files.to_owned())
            });
            return Some((format!("no body has a variable `{name}`"), hint));
        };
        let Some(of) = variable.of else {
            let message = format!("`{name}` is a variable of the process, so there is one of it");
            return Some((message, Some(format!("write `{name}`"))));
        };
        let mut around = std::iter::successors(self.inside, |id| self.around[id.index()]);
        if around.any(|at| at == of) {
            let message = format!("`{written}` is read inside of the body that has `{name}`");
            return Some((
                message,
                Some(format!("write `{name}` for that of the same item")),
            ));
        }
        let named = |id: &NodeId| self.draft.nodes[id.index()].name == step;
        let is_inside = |id: &NodeId| {
            let around = self.around[id.index()];
            let mut around = std::iter::successors(around, |id| self.around[id.index()]);
            *id == of || around.any(|at| at == of)
        };
        let mut all = (0..self.draft.nodes.len() as u32).map(NodeId);
        if all.any(|id| named(&id) && is_inside(&id)) {
            return None;
        }
        let message = format!("`{step}` is no step of the body that has `{name}`");
        Some((
            message,
            self.all_of(of, name).map(|all| format!("write `{all}`")),
        ))
    }

    /// The values of a variable of a body, as they are written: by the step that captures into it, or by
    /// another one that has a name.
    fn all_of(&self, of: NodeId, name: &str) -> Option<String> {
        let place = self
            .draft
            .variables
            .iter()
            .position(|one| one.name == name)?;
        let captures = |node: &model::Node| match &node.kind {
            NodeKind::Activity(activity) => {
                let streams = [activity.stdout, activity.stderr];
                let mut captures = streams.into_iter().flatten();
                captures.any(|capture| capture.variable as usize == place)
            }
            NodeKind::Sequence(_)
            | NodeKind::Parallel { .. }
            | NodeKind::If { .. }
            | NodeKind::ForEach(_)
            | NodeKind::Repeat(_)
            | NodeKind::Assign(_)
            | NodeKind::Empty => false,
        };
        let controller = &self.draft.nodes[of.index()];
        let step = self.draft.nodes.iter().find(|node| captures(node));
        let step = step.unwrap_or(controller);
        (!step.name.is_empty()).then(|| format!("{}{ALL}{name}", step.name))
    }

    /// The hint for a variable of a body that is read outside of it.
    fn of_body(&self, name: &str) -> Option<(String, Option<String>)> {
        let mut variables = self.draft.variables.iter();
        let of = variables.find(|variable| variable.name == name)?.of?;
        let message = format!("`{name}` is a variable of a body, and is read outside of it");
        let all = self.all_of(of, name);
        let hint = all.map(|all| format!("write `{all}` for the values of all items"));
        Some((message, hint))
    }

    fn expression(
        &mut self,
        expression: &Expression,
        links: Option<&[&str]>,
        wanted: Wanted<'_>,
        place: &PlaceOf<'_>,
    ) {
        if expression.0.trim().is_empty() {
            // The definition's own check reports that.
            return;
        }
        match self.programs.of(expression) {
            Ok(program) => {
                let n_before = self.findings.len();
                self.names(&program, 0, links, false, place);
                // Nothing is known of the values of unknown names.
                if self.findings.len() == n_before {
                    self.kinds(&program, 0, wanted, place);
                }
            }
            Err(error) => self.add(error, false, place),
        }
    }

    fn template(&mut self, template: &Template, joined: Joined, place: &PlaceOf<'_>) {
        if !template.0.contains("${") {
            return;
        }
        let shell = joined == Joined::Shell;
        for piece in Pieces::new(&template.0) {
            match piece {
                Ok(Piece::Fixed(_)) => {}
                Ok(Piece::Source(source, start)) => match self.programs.of_source(source) {
                    Ok(program) => {
                        let n_before = self.findings.len();
                        self.names(&program, start, None, shell, place);
                        if self.findings.len() == n_before {
                            self.kinds(&program, start, Wanted::Text(joined), place);
                        }
                    }
                    Err(error) => self.add(error.moved(start), shell, place),
                },
                Err(error) => self.add(error, shell, place),
            }
        }
        if shell {
            self.quotes(template, place);
        }
    }

    /// Complains of what is certain of the kinds of values.
    fn kinds(&mut self, program: &Program, start: usize, wanted: Wanted<'_>, place: &PlaceOf<'_>) {
        let names = self.environment.at(self.at);
        let mut inference = Inference::new(&names);
        let kinds = inference.kinds(program.node());
        wanted.judge(&kinds, program, self.environment, &mut inference);
        for (severity, error) in inference.found {
            let error = error.moved(start);
            match severity {
                Severity::Error => self.add(error, false, place),
                Severity::Warning if self.warnings.len() < PROBLEMS_MAX => {
                    self.warnings.push(finding(error, severity, place));
                }
                Severity::Warning => {}
            }
        }
    }

    fn names(
        &mut self,
        program: &Program,
        start: usize,
        links: Option<&[&str]>,
        shell: bool,
        place: &PlaceOf<'_>,
    ) {
        for name in program.names() {
            if self.findings.len() >= PROBLEMS_MAX {
                return;
            }
            let error = |message: String, hint: Option<String>| ExpressionError {
                message,
                hint,
                offset: start + name.offset,
            };
            let written = name.name.as_str();
            match name.kind {
                NameKind::Gathered => {
                    let name = written.split_once(ALL).map_or(written, |(_, name)| name);
                    if let Some((message, hint)) = self.too_early(name) {
                        self.add(error(message, hint), false, place);
                    } else if let Some((message, hint)) = self.gathered(written) {
                        self.add(error(message, hint), false, place);
                    }
                }
                NameKind::Variable if !self.is_known(written) => {
                    let known = self.too_early(written).or_else(|| self.of_body(written));
                    if let Some((message, hint)) = known {
                        self.add(error(message, hint), false, place);
                        continue;
                    }
                    let input = self.inputs.contains(&written);
                    let hint = match input {
                        true => Some(format!("write `inputs.{written}` for the input")),
                        false => meant(written, "", self.items().collect::<Vec<_>>().iter())
                            .or_else(|| meant(written, "", &self.variables))
                            .or_else(|| meant(written, "inputs.", &self.inputs)),
                    };
                    let known = hint.is_some();
                    self.add(
                        error(format!("no variable is called `{written}`"), hint),
                        shell && !known,
                        place,
                    );
                }
                NameKind::Input if !self.inputs.contains(&written) => {
                    let hint = meant(written, "inputs.", &self.inputs);
                    self.add(
                        error(format!("no input is called `{written}`"), hint),
                        false,
                        place,
                    );
                }
                NameKind::Link => match links {
                    None => {
                        let message = "`links` are read in a `join` only".to_owned();
                        self.add(error(message, None), false, place);
                    }
                    Some(links) if !links.contains(&written) => {
                        let hint = meant(written, "links.", links);
                        let message = format!("no link comes from `{written}`");
                        self.add(error(message, hint), false, place);
                    }
                    Some(_) => {}
                },
                NameKind::Variable | NameKind::Input => {}
            }
        }
    }

    fn quotes(&mut self, template: &Template, place: &PlaceOf<'_>) {
        let mut reached = shell::QuotingState::default();
        for piece in Pieces::new(&template.0) {
            match piece {
                Ok(Piece::Fixed(text)) => reached.pass(text),
                Ok(Piece::Source(source, start)) => {
                    if let Some(around) = reached.around() {
                        let error = misplaced(around, source.trim(), start - 2);
                        self.add(error, false, place);
                    }
                    reached.pass_value();
                }
                Err(_) => return,
            }
        }
    }

    fn add(&mut self, mut error: ExpressionError, shell: bool, place: &PlaceOf<'_>) {
        if self.findings.len() >= PROBLEMS_MAX {
            return;
        }
        if shell && error.hint.is_none() {
            let hint = "a variable of the shell is written `$NAME` or `$${NAME}`";
            error.hint = Some(hint.to_owned());
        }
        self.findings.push(finding(error, Severity::Error, place));
    }
}

/// The error of a value at a place of a shell line where it is not one word.
fn misplaced(around: Around, source: &str, offset: usize) -> ExpressionError {
    match around {
        Around::Quote(quote) => ExpressionError::new(
            offset,
            format!(
                "`${{{source}}}` stands inside {quote}...{quote}, but a value is quoted by itself"
            ),
        )
        .with_hint(format!(
            "take the {quote} away around it, or give it by `env:` and write \"$NAME\""
        )),
        Around::Document => ExpressionError::new(
            offset,
            format!("`${{{source}}}` stands in a document of `<<`, where its quotes would be seen"),
        )
        .with_hint(
            "give it by `env:` and write $NAME in the document, with no quotes around the word behind `<<`",
        ),
    }
}

fn finding(error: ExpressionError, severity: Severity, place: &PlaceOf<'_>) -> Finding {
    let (node, field) = place();
    let problem = Problem {
        place: Place { node, field },
        message: error.message,
        hint: error.hint,
    };
    Finding {
        problem,
        offset: error.offset,
        severity,
    }
}

/// A hint with the name that was probably meant.
fn meant<'n>(
    written: &str,
    prefix: &str,
    names: impl IntoIterator<Item = &'n &'n str>,
) -> Option<String> {
    /// With more names, many wrong ones would be slow to compare.
    const COMPARED_MAX: usize = 1_000;
    let found = nearest(written, names.into_iter().take(COMPARED_MAX).copied());
    found.map(|meant| format!("did you mean `{prefix}{meant}`?"))
}
