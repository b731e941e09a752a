//! What refers from one step to another: links, and the sources of files.

use model::{
    Expression, Link, Node, NodeId, NodeKind, OutputSource, Pick, PickCase, Source, Staged, Type,
    with_article,
};

use super::for_each::{Bodies, for_each};
use super::{Pending, Reader};
use crate::diagnostic::Diagnostic;
use crate::keys::{CARRIED, CHOSEN, LINK};
use crate::limits::DIAGNOSTICS_MAX;
use crate::tree::{Id, shorten};

/// What a file may come from.
const SOURCES: &str = "`activity.output` or `inputs.NAME`";

/// More than one file where one is wanted.
const GATHERED_MESSAGE: &str = "outputs of many items where one source is expected";
const GATHERED_HINT: &str = "let an activity gather them, and name its output";

/// The items whose output a source is.
enum Items {
    /// The same as that of the reader, or none.
    Own,
    All,
    /// The one in this place.
    One(Expression),
}

impl Reader<'_, '_> {
    /// Reads the references that needed all steps to be known.
    pub(super) fn references(&mut self) {
        let bodies = Bodies::of(&self.draft);
        for pending in std::mem::take(&mut self.pending) {
            match pending {
                Pending::Links(controller, at) => self.links(controller, at),
                Pending::Staged(activity, at) => self.staged(activity, at, &bodies),
                Pending::Output(place, at) => {
                    // Else the placeholder stays; what is wrong has been said.
                    if let Some((source, gathers)) = self.source(at, None, &bodies) {
                        let output = &mut self.draft.outputs[place as usize];
                        output.source = match gathers {
                            true => OutputSource::Gathered(source),
                            false => OutputSource::Produced(source),
                        };
                    }
                }
            }
        }
    }

    fn staged(&mut self, id: NodeId, at: Id, bodies: &Bodies) {
        let mut read = Vec::new();
        for (key, value) in self.entries(at, "a mapping (path: producer.output)") {
            let path = self.tree.text(key).unwrap_or_default().to_owned();
            let sources = if self.tree.map(value).is_none() {
                self.source(value, Some(id), bodies).map(|one| (one, None))
            } else if self.tree.entry(value, CHOSEN.keys[0].name).is_some() {
                let cases = self.chosen(value, id, bodies);
                cases.map(|cases| ((self.pick(cases), false), None))
            } else {
                self.carried(value, id, bodies)
            };
            match sources {
                Some(((source, gathers), carried)) => read.push(Staged {
                    path,
                    source,
                    gathers,
                    carried,
                }),
                None => self.lose(key),
            }
        }
        if let NodeKind::Activity(activity) = &mut self.draft.nodes[id.index()].kind {
            activity.inputs = read;
        }
    }

    /// `{ first: SOURCE, then: SOURCE }`: the source in the first iteration of a loop, and the one in all
    /// others.
    fn carried(
        &mut self,
        at: Id,
        reader: NodeId,
        bodies: &Bodies,
    ) -> Option<((Source, bool), Option<Source>)> {
        let fields = self.fields(at, &CARRIED)?;
        let mut one = |name| {
            let at = fields.get(name)?;
            let (source, gathers) = self.source(at, Some(reader), bodies)?;
            if gathers {
                self.hint(at, GATHERED_MESSAGE, GATHERED_HINT);
                return None;
            }
            if let Source::Pick(_) = source {
                let message = "one item's output where what a loop carries is expected";
                let hint = "write `{ if: \"${ i == 0 }\", then: ..., else: \"activity[i - 1].output\" }`, where `i` is the `index` of the loop";
                self.hint(at, message, hint);
                return None;
            }
            Some(source)
        };
        let (first, then) = (one("first"), one("then"));
        Some(((first?, false), Some(then?)))
    }

    /// `{ if: CONDITION, then: SOURCE, else: SOURCE }`, of which the last may be a choice again.
    fn chosen(&mut self, at: Id, reader: NodeId, bodies: &Bodies) -> Option<Vec<PickCase>> {
        let mut cases = Vec::new();
        let mut is_whole = false;
        let mut next = Some(at);
        while let Some(at) = next.take() {
            if self.tree.map(at).is_none() {
                cases.push(self.case(at, None, reader, bodies));
                is_whole = true;
                continue;
            }
            let fields = self.fields(at, &CHOSEN)?;
            let when = fields.get("if");
            let when = when.and_then(|when| self.expression(when, "`${...}`"));
            let then = fields.get("then");
            let then = then.and_then(|then| self.case(then, when, reader, bodies));
            cases.push(then.filter(|case| case.when.is_some()));
            next = fields.get("else");
        }
        let cases: Option<Vec<PickCase>> = cases.into_iter().collect();
        cases.filter(|_| is_whole)
    }

    /// One of several sources, which is the one under this condition.
    fn case(
        &mut self,
        at: Id,
        when: Option<Expression>,
        reader: NodeId,
        bodies: &Bodies,
    ) -> Option<PickCase> {
        let (source, items) = self.named_source(at, Some(reader), bodies)?;
        let place = match items {
            Items::Own => None,
            Items::One(place) => Some(place),
            Items::All => {
                self.hint(at, GATHERED_MESSAGE, GATHERED_HINT);
                return None;
            }
        };
        Some(PickCase {
            when,
            source,
            place,
        })
    }

    fn pick(&mut self, cases: Vec<PickCase>) -> Source {
        let picks = self.draft.picks.get_or_insert_default();
        picks.push(Pick { cases });
        Source::Pick(picks.len() as u32 - 1)
    }

    /// One source, and true if it stands for the outputs of all items.
    fn source(
        &mut self,
        at: Id,
        reader: Option<NodeId>,
        bodies: &Bodies,
    ) -> Option<(Source, bool)> {
        let (source, items) = self.named_source(at, reader, bodies)?;
        Some(match items {
            Items::Own => (source, false),
            Items::All => (source, true),
            Items::One(place) => {
                let cases = vec![PickCase {
                    when: None,
                    source,
                    place: Some(place),
                }];
                (self.pick(cases), false)
            }
        })
    }

    /// `producer.output`, `producer[*].output` for that of each item, `producer[PLACE].output` for that of one,
    /// `inputs.NAME`, or the item of a for-each around the reader.
    fn named_source(
        &mut self,
        at: Id,
        reader: Option<NodeId>,
        bodies: &Bodies,
    ) -> Option<(Source, Items)> {
        let text = self.text(at, SOURCES)?;
        if text.contains("${") {
            let message = format!("an expression where {SOURCES} is expected");
            let inner = text
                .trim()
                .strip_prefix("${")
                .and_then(|text| text.strip_suffix('}'));
            let is_item = |name: &&str| bodies.items(&self.draft, reader).any(|item| item == *name);
            let hint = match inner.map(str::trim).filter(is_item) {
                Some(item) => format!("write `{item}`"),
                None if text.contains("[${") => {
                    "in the brackets an expression stands by itself: `activity[2 * i].output`"
                        .to_owned()
                }
                None => "a file is named, not computed".to_owned(),
            };
            self.hint(at, message, hint);
            return None;
        }
        if let Some((producer, rest)) = text.split_once('[') {
            return self.of_items(at, producer, rest);
        }
        if let Some(reader) = reader
            && let Some(each) = bodies.find(&self.draft, reader, |each| each.item == text)
        {
            return Some((self.item(at, each)?, Items::Own));
        }
        let Some((producer, output)) = text.split_once('.') else {
            self.not_a_source(at, text, reader, bodies);
            return None;
        };
        if producer == "inputs" {
            return Some((self.input_source(at, output)?, Items::Own));
        }
        let item = reader
            .and_then(|reader| bodies.find(&self.draft, reader, |each| each.item == producer));
        if item.is_some() && !self.names.contains_key(producer) {
            let message = format!("`{producer}` is an item, and no part of an item is a file");
            self.hint(at, message, format!("write `{producer}` for all of it"));
            return None;
        }
        Some((self.output_source(at, producer, output)?, Items::Own))
    }

    fn not_a_source(&mut self, at: Id, text: &str, reader: Option<NodeId>, bodies: &Bodies) {
        let message = format!("`{}` where {SOURCES} is expected", shorten(text));
        let read_by = |what: &str| format!("the {what} is read by \"${{ {text} }}\"");
        let is_index = |id: &NodeId| bodies.is_index(&self.draft, *id, text);
        let hint = if self.variables.contains_key(text) {
            Some(read_by("variable"))
        } else if reader.as_ref().is_some_and(is_index) {
            Some(read_by("index"))
        } else if self.names.contains_key(text) && !self.ambiguous.contains(text) {
            self.outputs_of(text, ".")
        } else if self.diagnostics.list().len() >= DIAGNOSTICS_MAX {
            None
        } else {
            let nodes = 0..self.draft.nodes.len() as u32;
            let mut all = nodes.filter_map(|id| for_each(&self.draft, NodeId(id)));
            let is_outside = all.any(|each| each.item == text) && !self.lost.has(text);
            match is_outside {
                true => Some(format!("the item `{text}` is known in its for-each alone")),
                false => self.meant(text, bodies.items(&self.draft, reader)),
            }
        };
        self.add(Diagnostic::error(self.tree.span(at), message).hint_if(hint));
    }

    /// A hint with the outputs of an activity, if it has some.
    fn outputs_of(&self, name: &str, between: &str) -> Option<String> {
        let node = &self.draft.nodes[self.names.get(name)?.index()];
        let NodeKind::Activity(activity) = &node.kind else {
            return None;
        };
        let shown = activity.outputs.iter().take(5);
        let shown: Vec<String> = shown
            .map(|output| format!("`{name}{between}{}`", output.name))
            .collect();
        (!shown.is_empty()).then(|| format!("its outputs are {}", shown.join(", ")))
    }

    /// `producer[*].output` or `producer[PLACE].output`; `rest` is what follows the first bracket.
    fn of_items(&mut self, at: Id, producer: &str, rest: &str) -> Option<(Source, Items)> {
        match rest.starts_with("*]") {
            true => Some((self.gathered(at, producer, rest)?, Items::All)),
            false => self.of_one(at, producer, rest),
        }
    }

    fn of_one(&mut self, at: Id, producer: &str, rest: &str) -> Option<(Source, Items)> {
        let (place, after) = rest.rsplit_once(']').unwrap_or((rest, ""));
        let written = shorten(&format!("{producer}[{rest}")).to_owned();
        if let Some(list) = producer.strip_prefix("inputs.") {
            let message = format!("`{written}` where {SOURCES} is expected");
            let list = shorten(list);
            let hint = format!("a file of a list is the item of a for-each over `inputs.{list}`");
            self.hint(at, message, hint);
            return None;
        }
        let output = after.strip_prefix('.').unwrap_or_default();
        if output.is_empty() || place.trim().is_empty() {
            let message = format!(
                "`{written}` where `activity[*].output` or `activity[PLACE].output` is expected"
            );
            let hint = self.outputs_of(producer, "[0].");
            self.add(Diagnostic::error(self.tree.span(at), message).hint_if(hint));
            return None;
        }
        let source = self.output_source(at, producer, output)?;
        Some((source, Items::One(Expression(place.to_owned()))))
    }

    fn gathered(&mut self, at: Id, producer: &str, rest: &str) -> Option<Source> {
        let (_, after) = rest.split_once(']').unwrap_or((rest, ""));
        let wanted = "`activity[*].output`";
        let again = after.trim_start_matches("[*]");
        let output = again.strip_prefix('.').unwrap_or_default();
        if again.len() < after.len() {
            let all = shorten(&format!("{producer}[*].{output}"));
            let message = "`[*]` stands for the items of all for-eachs, within each other too";
            self.hint(at, message, format!("write it once: `{all}`"));
            return None;
        }
        if output.is_empty() {
            let written = shorten(&format!("{producer}[{rest}"));
            let message = format!("`{written}` where {wanted} is expected");
            let hint = self.outputs_of(producer, "[*].");
            self.add(Diagnostic::error(self.tree.span(at), message).hint_if(hint));
            return None;
        }
        if producer == "inputs" {
            let message = "the inputs of the process are none of many items";
            self.hint(at, message, format!("write `inputs.{}`", shorten(output)));
            return None;
        }
        self.output_source(at, producer, output)
    }

    /// The item of a for-each, as a file.
    fn item(&mut self, at: Id, each: NodeId) -> Option<Source> {
        let each = for_each(&self.draft, each)?;
        let body = *each.children.first()?;
        let (name, kind) = (each.item.clone(), self.item_kind(&each.items));
        if let Some(kind) = kind.filter(|kind| !matches!(kind, Type::File | Type::Directory)) {
            let message = format!("`{name}` is {}", with_article(&kind));
            let hint = "only a file or a directory can be staged";
            self.hint(at, message, hint);
            return None;
        }
        Some(Source::Item(body))
    }

    fn input_source(&mut self, at: Id, name: &str) -> Option<Source> {
        if let Some(place) = self.inputs.get(name) {
            return Some(Source::Input(*place));
        }
        if self.lost.has(name) {
            return None;
        }
        let inputs = &self.draft.inputs;
        let hint = self.meant(name, inputs.iter().map(|input| input.name.as_str()));
        let message = format!("the process has no input `{}`", shorten(name));
        let hint = hint.unwrap_or_else(|| "declare it under `inputs:` of the process".to_owned());
        self.hint(at, message, hint);
        None
    }

    fn output_source(&mut self, at: Id, producer: &str, output: &str) -> Option<Source> {
        let activity = self.producer(at, producer)?;
        let node = &self.draft.nodes[activity.index()];
        let NodeKind::Activity(declared) = &node.kind else {
            let message = format!(
                "`{producer}` is {}; activities have outputs",
                with_article(&node.keyword())
            );
            self.error(at, message);
            return None;
        };
        let outputs = &declared.outputs;
        let place = outputs.iter().position(|produced| produced.name == output);
        if place.is_none() && !self.lost.has(output) {
            let names = outputs.iter().map(|produced| produced.name.as_str());
            let hint = self.meant(output, names).unwrap_or_else(|| {
                let name = shorten(output);
                format!("declare it there: `outputs: {{ {name}: PATH }}`")
            });
            let message = format!("`{producer}` has no output `{}`", shorten(output));
            self.hint(at, message, hint);
        }
        place.map(|output| Source::Output {
            activity,
            output: output as u32,
        })
    }

    fn producer(&mut self, at: Id, name: &str) -> Option<NodeId> {
        if self.ambiguous.contains(name) {
            return None;
        }
        if let Some(&activity) = self.names.get(name) {
            return Some(activity);
        }
        if !self.lost.has(name) {
            let nodes = self.draft.nodes.iter();
            let hint = self.meant(name, nodes.map(|node| node.name.as_str()));
            let hint = hint.or_else(|| {
                let owner = self.owner_of_output(name)?;
                Some(format!("the output of `{owner}` is `{owner}.{name}`"))
            });
            let message = format!("no activity is called `{}`", shorten(name));
            let place = self.tree.span(at);
            self.add(Diagnostic::error(place, message).hint_if(hint));
        }
        None
    }

    /// The first activity that has an output of this name.
    fn owner_of_output(&self, name: &str) -> Option<&str> {
        let has_it = |node: &&Node| {
            let NodeKind::Activity(declared) = &node.kind else {
                return false;
            };
            let mut outputs = declared.outputs.iter();
            outputs.any(|produced| produced.name == name)
        };
        let owner = self.draft.nodes.iter().find(has_it);
        owner.map(|node| node.name.as_str())
    }

    fn links(&mut self, controller: NodeId, at: Id) {
        let mut read = Vec::new();
        let mut places = Vec::new();
        let n_before = self.diagnostics.n_all();
        for &item in self.items(at, "a list of links") {
            match self.link(item) {
                Some(link) => {
                    read.push(link);
                    places.push(item);
                }
                None => self.lost.links = true,
            }
        }
        self.lost.links |= self.diagnostics.n_all() > n_before;
        self.links
            .entry(controller)
            .or_default()
            .append(&mut places);
        if let NodeKind::Parallel { links, .. } = &mut self.draft.nodes[controller.index()].kind {
            links.append(&mut read);
        }
    }

    fn link(&mut self, at: Id) -> Option<Link> {
        let fields = self.fields(at, &LINK)?;
        let from = fields.get("from").and_then(|at| self.named(at));
        let to = fields.get("to").and_then(|at| self.named(at));
        let when = fields
            .get("when")
            .and_then(|at| self.expression(at, "`${...}`"));
        Some(Link {
            from: from?,
            to: to?,
            when,
        })
    }

    fn named(&mut self, at: Id) -> Option<NodeId> {
        let name = self.text(at, "the name of a step")?;
        if self.ambiguous.contains(name) {
            return None;
        }
        if let Some(id) = self.names.get(name) {
            return Some(*id);
        }
        if self.lost.has(name) {
            return None;
        }
        let names = self.draft.nodes.iter().map(|node| node.name.as_str());
        let hint = self.meant(name, names);
        let message = format!("no step is called `{}`", shorten(name));
        let hint = hint.unwrap_or_else(|| "a controller is named by `name:`".to_owned());
        self.hint(at, message, hint);
        None
    }
}
