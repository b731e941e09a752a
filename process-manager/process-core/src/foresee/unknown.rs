//! Values that are not known before commands have run: the outputs that they will make, and the variables that they
//! or what follows from them will write.

use std::collections::{BTreeMap, BTreeSet};

use expression::Programs;
use model::{ActivityId, Command, Expression, Join, NodeId, NodeKind, Source, Stdin, Template};
use wire::client::REASONS_MAX;

use crate::process::Process;
use crate::tree::Decision;

/// A variable, of the process or of a body.
type Place = (Option<NodeId>, u32);

/// Outputs and variables that are not known, and the activities that they come from.
#[derive(Debug, Default)]
pub(super) struct Unknown {
    makers: BTreeSet<ActivityId>,
    variables: BTreeMap<Place, BTreeSet<ActivityId>>,
}

impl Unknown {
    /// The outputs of an activity are not known.
    pub(super) fn add_maker(&mut self, activity: ActivityId) {
        self.makers.insert(activity);
    }

    /// Variables that a node writes get values that are not known.
    pub(super) fn note(
        &mut self,
        process: &Process,
        written: &[u32],
        node: Option<NodeId>,
        writers: &[ActivityId],
    ) {
        for &variable in written {
            let writers = writers.iter().copied().collect();
            let place = place(process, variable, node);
            self.variables.insert(place, writers);
        }
    }

    /// Variables that a node writes get known values.
    pub(super) fn forget(&mut self, process: &Process, written: &[u32], node: Option<NodeId>) {
        for &variable in written {
            self.variables.remove(&place(process, variable, node));
        }
    }

    /// The activities that make what an activity reads and nobody knows; none if all is known.
    pub(super) fn made_for(
        &self,
        process: &Process,
        activity: ActivityId,
        programs: &mut Programs,
    ) -> Vec<ActivityId> {
        let Some(declared) = process.definition().activity(activity) else {
            return Vec::new();
        };
        let made = declared
            .inputs
            .iter()
            .filter_map(|staged| match staged.source {
                Source::Output { activity, .. } => Some(ActivityId(activity.0)),
                Source::Input(_) | Source::Item(_) | Source::Pick(_) => None,
            });
        let mut found: BTreeSet<ActivityId> =
            made.filter(|maker| self.makers.contains(maker)).collect();
        if !self.variables.is_empty() {
            let command: &[Template] = match &declared.command {
                Command::List(parts) => parts,
                Command::Shell(line) => std::slice::from_ref(line),
            };
            let stdin = match &declared.stdin {
                Some(Stdin::Text(text)) => Some(text),
                Some(Stdin::File(_)) | None => None,
            };
            let common = process.definition().draft().common_env();
            let env = common.iter().chain(&declared.env).map(|(_, text)| text);
            for text in command.iter().chain(env).chain(stdin) {
                if let Ok(text) = programs.text(text) {
                    let names = text.variables();
                    self.add_writers(process, activity.node(), names, &mut found);
                }
            }
        }
        found.into_iter().take(REASONS_MAX).collect()
    }

    /// The activities by which what a decision reads is not known; none if all is known.
    pub(super) fn read_by(
        &self,
        process: &Process,
        decision: Decision,
        programs: &mut Programs,
    ) -> Vec<ActivityId> {
        let mut found = BTreeSet::new();
        if self.variables.is_empty() {
            return Vec::new();
        }
        let definition = process.definition();
        let (node, read) = match decision {
            Decision::Link(number) => match definition.links().get(number as usize) {
                Some((_, link)) => (link.from, link.when.iter().collect()),
                None => return Vec::new(),
            },
            Decision::Join(node) => {
                let condition = match &definition.as_written(node).join {
                    Join::When(condition) => vec![condition],
                    Join::All | Join::Any => Vec::new(),
                };
                (node, condition)
            }
            Decision::Choose(node)
            | Decision::Assign(node)
            | Decision::Expand(node)
            | Decision::Repeat(node) => (node, expressions(&definition.as_written(node).kind)),
            Decision::Spread(_) | Decision::Close => return Vec::new(),
        };
        for expression in read {
            if let Ok(program) = programs.of(expression) {
                self.add_writers(process, node, program.variables(), &mut found);
            }
        }
        found.into_iter().take(REASONS_MAX).collect()
    }

    /// Adds the activities by which variables of these names, as a node reads them, are not known.
    fn add_writers<'n>(
        &self,
        process: &Process,
        node: NodeId,
        names: impl Iterator<Item = &'n str>,
        found: &mut BTreeSet<ActivityId>,
    ) {
        let definition = process.definition();
        for name in names {
            let Some(variable) = definition.variable(name).map(|place| place as u32) else {
                continue;
            };
            let is_of_body = definition.draft().variables[variable as usize].of.is_some();
            let own = place(process, variable, Some(node));
            let all = self.variables.iter();
            // Outside of its bodies, those of all of them are read.
            let is_read = |(body, known): &Place| match (is_of_body, own.0) {
                (true, None) => *known == variable,
                (true, Some(_)) | (false, _) => (*body, *known) == own,
            };
            let read = all.filter(|(place, _)| is_read(place));
            found.extend(read.flat_map(|(_, writers)| writers.iter().copied()));
        }
    }
}

fn place(process: &Process, variable: u32, node: Option<NodeId>) -> Place {
    let body = node.and_then(|node| process.definition().body_of(variable as usize, node));
    (body, variable)
}

/// The expressions that decide about a controller or an `assign`.
fn expressions(kind: &NodeKind) -> Vec<&Expression> {
    match kind {
        NodeKind::If { conditions, .. } => conditions.iter().collect(),
        NodeKind::Assign(assignments) => assignments.iter().map(|one| &one.value).collect(),
        NodeKind::ForEach(each) => {
            let all = [
                Some(&each.items),
                each.key.as_ref(),
                each.complete_when.as_ref(),
            ];
            all.into_iter().flatten().collect()
        }
        NodeKind::Repeat(repeat) => vec![&repeat.condition],
        NodeKind::Sequence(_)
        | NodeKind::Parallel { .. }
        | NodeKind::Activity(_)
        | NodeKind::Empty => Vec::new(),
    }
}
