//! The tree of a platform file becomes what it says, strictly. Reading goes on after an error, so
//! that all of them are named at once.

mod power;
mod rates;

use std::collections::BTreeMap;

use expression::nearest;
use model::{Bytes, NetworkLink, PowerSteps, Span, Value};

use super::limits::{GROUPS_MAX, LABELS_MAX, MACHINES_MAX, NAME_BYTES_MAX, SLOTS_MAX};
use super::{LINK_DEFAULT, PlatformFile, PlatformGroup, PlatformMachine, parse_bandwidth};
use crate::diagnostic::{Diagnostic, Diagnostics, line_and_column};
use crate::limits::DIAGNOSTICS_MAX;
use crate::tree::{Id, Tree, shorten};
use crate::units::{UnitError, parse_duration, parse_size};

const FILE: (&str, &[&str]) = (
    "a platform",
    &[
        "xavantes-platform",
        "machines",
        "groups",
        "inside",
        "between",
        "links",
    ],
);
const GROUP: (&str, &[&str]) = ("a group", &["name", "inside", "machines"]);
const MACHINE: (&str, &[&str]) = (
    "a machine",
    &[
        "name",
        "count",
        "slots",
        "power",
        "memory",
        "labels",
        "price",
        "idle-watts",
        "busy-watts",
    ],
);
const LINK: (&str, &[&str]) = ("a link", &["bandwidth", "latency"]);
const PAIR: (&str, &[&str]) = ("a link", &["groups", "bandwidth", "latency"]);

const BEGINNING: &str = "the least platform is `machines: [{ name: here, slots: 2 }]`";

/// True if a text has nothing but comments.
pub(crate) fn is_empty(source: &str) -> bool {
    let mut lines = source.lines().map(str::trim);
    lines.all(|line| line.is_empty() || line.starts_with('#') || line == "---")
}

/// The message about such a text.
pub(crate) fn nothing() -> Diagnostic {
    Diagnostic::of_file("the file holds no platform").hint(BEGINNING)
}

/// Reads a file; what it gives is of use only where no error was found.
pub(crate) fn file(
    source: &str,
    tree: &Tree<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<PlatformFile> {
    let mut reader = Reader {
        source,
        tree,
        diagnostics,
        names: BTreeMap::new(),
        n_machines: 0,
    };
    reader.file()
}

struct Reader<'t, 's> {
    source: &'t str,
    tree: &'t Tree<'s>,
    diagnostics: &'t mut Diagnostics,
    /// Names of machines, and where they are given.
    names: BTreeMap<String, Id>,
    n_machines: usize,
}

/// The entries of a mapping whose keys are known: name, key, value.
struct Fields(Vec<(&'static str, Id, Id)>);

impl Fields {
    fn get(&self, name: &str) -> Option<Id> {
        self.entry(name).map(|(_, value)| value)
    }

    fn entry(&self, name: &str) -> Option<(Id, Id)> {
        let found = self.0.iter().find(|(known, ..)| *known == name);
        found.map(|&(_, key, value)| (key, value))
    }
}

impl<'t> Reader<'t, '_> {
    fn file(&mut self) -> Option<PlatformFile> {
        let root = self.tree.root();
        let fields = self.fields(root, FILE)?;
        if let Some(version) = fields.get("xavantes-platform")
            && self.tree.value(version) != Value::Int(1)
        {
            let written = shorten(self.tree.text(version).unwrap_or_default());
            let message = format!("`{written}` is not a version of platform files");
            self.hint(version, message, "this program reads version 1");
        }
        let inside = fields.get("inside").and_then(|at| self.link(at));
        let between = fields.get("between").and_then(|at| self.link(at));
        let groups = match (fields.entry("machines"), fields.get("groups")) {
            (Some((key, _)), Some(_)) => {
                let message = "`machines` beside `groups`";
                self.hint(
                    key,
                    message,
                    "machines are listed in their groups, or there are no groups",
                );
                return None;
            }
            (None, None) => {
                self.hint(root, "a platform without `machines` or `groups`", BEGINNING);
                return None;
            }
            (Some((_, machines)), None) => {
                for name in ["between", "links"] {
                    if let Some((key, _)) = fields.entry(name) {
                        let message = format!("`{name}` where there are no groups");
                        self.hint(key, message, "`inside` says what lies between the machines");
                    }
                }
                vec![PlatformGroup {
                    name: String::new(),
                    inside: None,
                    machines: self.machines(machines),
                }]
            }
            (None, Some(groups)) => self.groups(groups),
        };
        let links = match fields.get("links") {
            Some(links) => self.links(links, &groups),
            None => Vec::new(),
        };
        Some(PlatformFile {
            groups,
            inside: inside.unwrap_or(LINK_DEFAULT),
            between: between.unwrap_or(LINK_DEFAULT),
            links,
        })
    }

    fn groups(&mut self, at: Id) -> Vec<PlatformGroup> {
        let items = self.items(at, "a list of groups");
        if items.len() > GROUPS_MAX {
            let n_groups = items.len();
            self.error(
                at,
                format!("{n_groups} groups; at most {GROUPS_MAX} are planned for"),
            );
            return Vec::new();
        }
        let mut groups = Vec::with_capacity(items.len());
        let mut names: BTreeMap<String, Id> = BTreeMap::new();
        for &item in items {
            let Some(fields) = self.fields(item, GROUP) else {
                continue;
            };
            let name = match self.wanted(item, &fields, GROUP.0, "name") {
                Some(at) => self.name(at, "a group").map(|name| (name, at)),
                None => None,
            };
            if let Some((name, at)) = &name
                && let Some(first) = names.insert(name.clone(), *at)
            {
                self.twice(*at, first, &format!("the group `{name}`"));
            }
            let inside = fields.get("inside").and_then(|at| self.link(at));
            let machines = match self.wanted(item, &fields, GROUP.0, "machines") {
                Some(at) => self.machines(at),
                None => Vec::new(),
            };
            groups.push(PlatformGroup {
                name: name.map(|(name, _)| name).unwrap_or_default(),
                inside,
                machines,
            });
        }
        if items.is_empty() && self.tree.list(at).is_some() {
            self.hint(at, "a platform without a group", BEGINNING);
        }
        groups
    }

    fn machines(&mut self, at: Id) -> Vec<PlatformMachine> {
        let items = self.items(at, "a list of machines");
        if items.is_empty() && self.tree.list(at).is_some() {
            self.hint(at, "no machine: there is nothing to run on", BEGINNING);
        }
        items
            .iter()
            .filter_map(|&item| self.machine(item))
            .collect()
    }

    fn machine(&mut self, at: Id) -> Option<PlatformMachine> {
        let fields = self.fields(at, MACHINE)?;
        let name = match self.wanted(at, &fields, MACHINE.0, "name") {
            Some(at) => self.name(at, "a machine").map(|name| (name, at)),
            None => None,
        };
        let count = match fields.get("count") {
            Some(at) => {
                let wanted = format!("a number of machines from 1 to {MACHINES_MAX}");
                self.whole(at, MACHINES_MAX as u32, &wanted)?
            }
            None => 1,
        };
        let slots = match fields.get("slots") {
            Some(at) => {
                let wanted = format!("a number of slots from 1 to {SLOTS_MAX}");
                self.whole(at, SLOTS_MAX, &wanted)
            }
            None => Some(1),
        };
        let power = match fields.get("power") {
            Some(at) => self.power(at),
            None => Some(PowerSteps::default()),
        };
        let memory = match fields.get("memory") {
            Some(at) => self.memory(at),
            None => None,
        };
        let labels = match fields.get("labels") {
            Some(at) => self.labels(at),
            None => BTreeMap::new(),
        };
        let price = self.price(&fields);
        let watts = self.watts(&fields);
        let too_many = self.n_machines.saturating_add(count as usize) > MACHINES_MAX;
        if too_many {
            if self.n_machines <= MACHINES_MAX {
                self.error(at, format!("more than {MACHINES_MAX} machines"));
            }
            self.n_machines = MACHINES_MAX + 1;
            return None;
        }
        self.n_machines += count as usize;
        let (name, place) = name?;
        let machine = PlatformMachine {
            name,
            count,
            slots: slots?,
            power: power?,
            memory,
            labels,
            price,
            watts,
        };
        for name in machine.names() {
            if let Some(&first) = self.names.get(&name) {
                self.twice(place, first, &format!("the machine `{name}`"));
                break;
            }
            self.names.insert(name, place);
        }
        Some(machine)
    }

    fn links(&mut self, at: Id, groups: &[PlatformGroup]) -> Vec<((usize, usize), NetworkLink)> {
        let places: BTreeMap<&str, usize> = groups
            .iter()
            .map(|group| group.name.as_str())
            .zip(0..)
            .collect();
        let mut links = Vec::new();
        let mut seen: BTreeMap<(usize, usize), Id> = BTreeMap::new();
        for &item in self.items(at, "a list of links") {
            let Some(fields) = self.fields(item, PAIR) else {
                continue;
            };
            let link = self.link_of(item, &fields, PAIR.0);
            let Some(names) = self.wanted(item, &fields, PAIR.0, "groups") else {
                continue;
            };
            let &[one, other] = self.items(names, "a list of two groups") else {
                if self.tree.list(names).is_some() {
                    self.error(names, "a link goes between two groups");
                }
                continue;
            };
            let (one_place, other_place) = (self.group(one, &places), self.group(other, &places));
            let (Some(one_place), Some(other_place)) = (one_place, other_place) else {
                continue;
            };
            if one_place == other_place {
                let hint =
                    "what lies inside a group is said in it: `inside: { bandwidth: 1Gbit/s }`";
                self.hint(names, "a link from a group to itself", hint);
                continue;
            }
            let pair = (one_place.min(other_place), one_place.max(other_place));
            if let Some(first) = seen.insert(pair, names) {
                self.twice(names, first, "the link between these groups");
                continue;
            }
            links.extend(link.map(|link| (pair, link)));
        }
        links
    }

    fn group(&mut self, at: Id, places: &BTreeMap<&str, usize>) -> Option<usize> {
        let name = self.text(at, "the name of a group")?;
        let place = places.get(name).copied();
        if place.is_none() && self.is_seen() {
            let hint = match nearest(name, places.keys().copied()) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => "links go between groups of this file".to_owned(),
            };
            self.hint(at, format!("no group is called `{}`", shorten(name)), hint);
        }
        place
    }

    fn link(&mut self, at: Id) -> Option<NetworkLink> {
        let fields = self.fields(at, LINK)?;
        self.link_of(at, &fields, LINK.0)
    }

    fn link_of(&mut self, at: Id, fields: &Fields, what: &str) -> Option<NetworkLink> {
        let latency = match fields.get("latency") {
            Some(at) => self.amount(at, "a latency", parse_duration),
            None => Some(Span::ZERO),
        };
        let bandwidth = self.wanted(at, fields, what, "bandwidth")?;
        let bandwidth = self.amount(bandwidth, "a bandwidth", parse_bandwidth)?;
        Some(NetworkLink {
            bandwidth,
            latency: latency?.seconds(),
        })
    }

    fn memory(&mut self, at: Id) -> Option<Bytes> {
        let memory = self.amount(at, "a size", parse_size)?;
        if memory == Bytes::ZERO {
            self.error(at, "a machine without memory");
            return None;
        }
        Some(memory)
    }

    fn labels(&mut self, at: Id) -> BTreeMap<String, String> {
        let tree = self.tree;
        let Some(entries) = tree.map(at) else {
            let error = self.expected(at, "a mapping of labels");
            self.diagnostics.add(error);
            return BTreeMap::new();
        };
        if entries.len() > LABELS_MAX {
            self.error(at, format!("more than {LABELS_MAX} labels"));
            return BTreeMap::new();
        }
        let mut labels = BTreeMap::new();
        for (key, value) in entries {
            let name = tree.text(key).unwrap_or_default().to_owned();
            if let Some(value) = self.text(value, "the text of a label") {
                labels.insert(name, value.to_owned());
            }
        }
        labels
    }

    /// A name that may be the name of a directory.
    fn name(&mut self, at: Id, what: &str) -> Option<String> {
        let name = self.text(at, &format!("the name of {what}"))?;
        let may_be_in = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        let is_name = name.len() <= NAME_BYTES_MAX
            && name.bytes().all(may_be_in)
            && name.as_bytes()[0].is_ascii_alphanumeric();
        if is_name {
            return Some(name.to_owned());
        }
        let message = format!("`{}` is not the name of {what}", shorten(name));
        let hint = format!(
            "names have a letter or a digit, then letters, digits, `-`, `_` and `.`, at most {NAME_BYTES_MAX}"
        );
        self.hint(at, message, hint);
        None
    }

    fn whole(&mut self, at: Id, max: u32, wanted: &str) -> Option<u32> {
        let number = self.tree.integer(at);
        let number = number.filter(|number| (1..=max).contains(number));
        if number.is_none() {
            match self.tree.text(at) {
                Some(written) => {
                    let written = shorten(written);
                    self.error(at, format!("`{written}` where {wanted} is expected"));
                }
                None => {
                    let error = self.expected(at, wanted);
                    self.diagnostics.add(error);
                }
            }
        }
        number
    }

    fn amount<T>(
        &mut self,
        at: Id,
        wanted: &str,
        parse: fn(&str) -> Result<T, UnitError>,
    ) -> Option<T> {
        let text = self.text(at, wanted)?;
        match parse(text) {
            Ok(amount) => Some(amount),
            Err(UnitError { message, hint }) => {
                self.hint(at, message, hint);
                None
            }
        }
    }

    fn text(&mut self, at: Id, wanted: &str) -> Option<&'t str> {
        let tree = self.tree;
        match tree.text(at) {
            Some(text) if !text.is_empty() => Some(text),
            Some(_) | None => {
                let error = self.expected(at, wanted);
                self.diagnostics.add(error);
                None
            }
        }
    }

    fn items(&mut self, at: Id, wanted: &str) -> &'t [Id] {
        let tree = self.tree;
        match tree.list(at) {
            Some(items) => items,
            None => {
                let error = self.expected(at, wanted);
                self.diagnostics.add(error);
                &[]
            }
        }
    }

    /// The keys of a mapping; complains of those that are not known.
    fn fields(
        &mut self,
        at: Id,
        (what, known): (&'static str, &'static [&'static str]),
    ) -> Option<Fields> {
        let tree = self.tree;
        let Some(entries) = tree.map(at) else {
            let error = self.expected(at, &format!("a mapping ({what})"));
            self.diagnostics.add(error);
            return None;
        };
        let mut fields = Fields(Vec::with_capacity(entries.len()));
        for (key, value) in entries {
            let written = tree.text(key).unwrap_or_default();
            if let Some(name) = known.iter().find(|name| **name == written) {
                fields.0.push((name, key, value));
                continue;
            }
            let hint = match nearest(written, known.iter().copied()) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => {
                    let names: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
                    format!("{what} has {}", names.join(", "))
                }
            };
            self.hint(key, format!("unknown key `{}`", shorten(written)), hint);
        }
        Some(fields)
    }

    /// The value of a key that must be there.
    fn wanted(&mut self, at: Id, fields: &Fields, what: &str, name: &str) -> Option<Id> {
        let found = fields.get(name);
        if found.is_none() {
            self.error(at, format!("{what} without `{name}`"));
        }
        found
    }

    fn twice(&mut self, at: Id, first: Id, what: &str) {
        let error = Diagnostic::error(self.tree.span(at), format!("{what} is there twice"));
        // Finding the line costs a pass over the text.
        let label = if self.is_seen() {
            let (line, _) = line_and_column(self.source, self.tree.span(first).start);
            format!("first in line {line}")
        } else {
            String::new()
        };
        self.diagnostics.add(error.label(label));
    }

    /// True if somebody would see one more diagnostic.
    fn is_seen(&self) -> bool {
        self.diagnostics.list().len() < DIAGNOSTICS_MAX
    }

    fn expected(&self, at: Id, wanted: &str) -> Diagnostic {
        let what = self.tree.describe(at);
        Diagnostic::error(
            self.tree.span(at),
            format!("{what} where {wanted} is expected"),
        )
    }

    fn error(&mut self, at: Id, message: impl Into<String>) {
        let span = self.tree.span(at);
        self.diagnostics.add(Diagnostic::error(span, message));
    }

    fn hint(&mut self, at: Id, message: impl Into<String>, hint: impl Into<String>) {
        let span = self.tree.span(at);
        self.diagnostics
            .add(Diagnostic::error(span, message).hint(hint));
    }
}
