//! From a place in a definition back to the place in the file.

use std::ops::Range;

use model::{Place, Problem};

use super::Reader;
use crate::diagnostic::Diagnostic;
use crate::keys::STEPS;
use crate::tree::Id;

impl Reader<'_, '_> {
    /// A problem of the definition at its place in the file; `offset` is in the text of its field.
    pub(super) fn located(&self, problem: &Problem, offset: Option<usize>) -> Diagnostic {
        // Names of steps, variables and inputs are keys; those of items are values.
        let of_name = !problem.place.field.starts_with("for-each.")
            && problem.place.field != "index"
            && ["not a name", "twice", "is a word of"]
                .iter()
                .any(|part| problem.message.contains(part));
        let found = self.find(&problem.place, of_name);
        let span = match (found, offset) {
            (Target::Value(id), Some(offset)) => {
                // The text of an expression begins after its `${`, that of a template with the field.
                let field = problem.place.field.as_str();
                let names_value = field.starts_with("env.") || field.starts_with("publish.");
                let is_expression = problem.place.node.is_none() && !names_value
                    || field.starts_with("inputs.")
                    || matches!(field, "join" | "if" | "while" | "repeat-until")
                    || field.starts_with("elif.")
                    || field.starts_with("for-each.")
                    || field.starts_with("links.")
                    || field.starts_with("assign.");
                let text = self
                    .tree
                    .text(id)
                    .filter(|_| is_expression)
                    .unwrap_or_default();
                let whole = expression::whole_expression(text).ok().flatten();
                let whole = whole.map(|(_, start)| start);
                // The place of an item stands in brackets.
                let place = || text.find('[').map_or(0, |bracket| bracket + 1);
                self.inside(id, whole.unwrap_or_else(place) + offset)
            }
            (Target::Value(id) | Target::Key(id), _) => self.tree.span(id),
        };
        let located = Diagnostic::error(span, problem.message.clone());
        let located = located.hint_if(problem.hint.clone());
        match self.first_of_name(problem) {
            Some(first) => located.also(first, "the first one is here"),
            None => located,
        }
    }

    /// The place of the step that has a name first, where a second one has it.
    fn first_of_name(&self, problem: &Problem) -> Option<Range<usize>> {
        let name = problem.message.strip_prefix("a second node is called `")?;
        let first = *self.names.get(name.strip_suffix('`')?)?;
        let step = *self.steps.get(first.index())?;
        let mut named = ["activity", "name"].into_iter();
        let own = named.find_map(|key| self.tree.entry(step, key));
        let place = own.map_or(step, |(_, name)| name);
        Some(self.tree.span(place))
    }

    /// The place of a field in the file.
    pub(super) fn located_place(&self, place: &Place) -> Range<usize> {
        match self.find(place, false) {
            Target::Value(id) | Target::Key(id) => self.tree.span(id),
        }
    }

    fn find(&self, place: &Place, of_name: bool) -> Target {
        let tree = self.tree;
        if let Some(found) = self.find_link(place) {
            return found;
        }
        let step = place
            .node
            .and_then(|node| self.steps.get(node.index()))
            .copied();
        let base = step.unwrap_or(tree.root());
        if let Some(found) = self.find_case(base, &place.field) {
            return found;
        }
        let keyword = step.and_then(|step| {
            let mut tables = STEPS.iter();
            tables.find_map(|table| tree.entry(step, table.keys[0].name))
        });
        let form = keyword
            .map(|(_, value)| value)
            .filter(|value| tree.map(*value).is_some());
        if let Some((key, value)) = keyword {
            let field = place.field.as_str();
            let is_controller = matches!(field, "sequence" | "parallel" | "empty");
            let name = tree
                .entry(base, "name")
                .or_else(|| tree.entry(form?, "name"));
            match name {
                Some((_, name)) if is_controller => return Target::Value(name),
                _ if field.is_empty() => return Target::Key(key),
                _ if tree.text(key) == Some(field) => {
                    return if tree.text(value).is_some() {
                        Target::Value(value)
                    } else {
                        Target::Key(key)
                    };
                }
                _ => {}
            }
        }
        let inside = form.filter(|form| {
            let first = place.field.split('.').next().unwrap_or_default();
            tree.entry(base, first).is_none() && tree.entry(*form, first).is_some()
        });
        let (mut at, mut rest) = (Target::Key(base), place.field.as_str());
        let mut current = inside.unwrap_or(base);
        if let Some(map) = step.is_none().then_some(base)
            && rest.is_empty()
            && let Some((key, _)) = tree.map(map).and_then(|mut entries| entries.next())
        {
            return Target::Key(key);
        }
        while !rest.is_empty() {
            if let Some(items) = tree.list(current) {
                let (number, after) = rest.split_once('.').unwrap_or((rest, ""));
                let Some(&item) = number.parse::<usize>().ok().and_then(|n| items.get(n)) else {
                    break;
                };
                (at, current, rest) = (Target::Value(item), item, after);
                continue;
            }
            let Some(entries) = tree.map(current) else {
                break;
            };
            let next = entries
                .filter_map(|(key, value)| {
                    let after = rest.strip_prefix(tree.text(key)?)?;
                    let after = if after.is_empty() {
                        after
                    } else {
                        after.strip_prefix('.')?
                    };
                    Some((key, value, after))
                })
                .min_by_key(|(.., after)| after.len());
            let Some((key, value, after)) = next else {
                break;
            };
            at = match tree.text(value) {
                Some(_) if !(of_name && after.is_empty()) => Target::Value(value),
                _ => Target::Key(key),
            };
            (current, rest) = (value, after);
        }
        at
    }

    /// The condition of a case, which the definition knows as that of a branch.
    fn find_case(&self, step: Id, field: &str) -> Option<Target> {
        let (_, cases) = self.tree.entry(step, "switch")?;
        let items = self.tree.list(cases)?;
        let mut conditions = (0..items.len()).map(Place::condition);
        let case = items[conditions.position(|condition| condition == field)?];
        let condition = self
            .tree
            .entry(case, "case")
            .map(|(_, condition)| condition);
        Some(Target::Value(condition.unwrap_or(case)))
    }

    /// A link, or a part of one: those that could not be read are not counted.
    fn find_link(&self, place: &Place) -> Option<Target> {
        let rest = place.field.strip_prefix("links.")?;
        let (number, part) = rest.split_once('.').unwrap_or((rest, ""));
        let links = self.links.get(&place.node?)?;
        let link = *links.get(number.parse::<usize>().ok()?)?;
        let part = self.tree.entry(link, part).map(|(_, value)| value);
        Some(Target::Value(part.unwrap_or(link)))
    }

    /// The word at an offset of a scalar's text.
    fn inside(&self, id: Id, offset: usize) -> Range<usize> {
        let tree = self.tree;
        let text = tree.text(id).unwrap_or_default();
        let start = tree.place_in(id, offset);
        let rest = text.get(offset..).unwrap_or_default();
        let length = match rest.strip_prefix("${") {
            Some(after) => after.find(['}', '\n']).map_or(rest.len(), |end| end + 3),
            None => rest
                .find(|c: char| !(c.is_alphanumeric() || c == '_'))
                .unwrap_or(rest.len()),
        };
        let length = length.max(rest.chars().next().map_or(0, char::len_utf8));
        start..(start + length).min(tree.span(id).end.max(start))
    }
}

enum Target {
    Key(Id),
    Value(Id),
}
