//! Files that are picked among the outputs of many items: what may be picked, and by whom.

use super::bodies::{Bodies, is_around};
use super::problems::Problems;
use super::words::check_expression;
use super::{check_source, has_output};
use crate::NodeId;
use crate::definition::limits::PARTS_MAX;
use crate::definition::{Draft, OutputSource, PickCase, Place, Source};

/// Whoever picks a file, and the field that says it.
type Picker = (u32, Option<NodeId>, String);

pub(super) fn check(draft: &Draft, bodies: &Bodies<'_>, problems: &mut Problems) {
    let mut n_uses = vec![0u32; draft.picks.as_ref().map_or(0, Vec::len)];
    for (pick, reader, field) in pickers(draft) {
        match n_uses.get_mut(pick as usize) {
            None => problems.add(reader, &field, "there is no such pick"),
            Some(n_uses) => {
                *n_uses += 1;
                check_pick(draft, bodies, (pick, reader, field), problems);
            }
        }
    }
    if n_uses.iter().any(|&n_uses| n_uses != 1) {
        problems.add(None, "picks", "each pick is that of one input or output");
    }
}

fn pickers(draft: &Draft) -> Vec<Picker> {
    let mut found = Vec::new();
    for (index, node) in draft.nodes.iter().enumerate() {
        let inputs = node.activity().map_or(&[][..], |activity| &activity.inputs);
        for staged in inputs {
            if let Source::Pick(pick) = staged.source {
                let field = format!("inputs.{}", staged.path);
                found.push((pick, Some(NodeId(index as u32)), field));
            }
        }
    }
    for output in &draft.outputs {
        if let OutputSource::Produced(Source::Pick(pick))
        | OutputSource::Gathered(Source::Pick(pick)) = output.source
        {
            found.push((pick, None, format!("outputs.{}", output.name)));
        }
    }
    found
}

fn check_pick(
    draft: &Draft,
    bodies: &Bodies<'_>,
    (pick, reader, field): Picker,
    problems: &mut Problems,
) {
    let cases = draft.pick_cases(pick);
    if cases.is_empty() || cases.len() > PARTS_MAX {
        let message = format!("{} sources to pick from; 1 to {PARTS_MAX}", cases.len());
        return problems.add(reader, field, message);
    }
    let inputs = reader.and_then(|reader| draft.nodes[reader.index()].activity());
    let staged = inputs.and_then(|activity| {
        let mut inputs = activity.inputs.iter();
        inputs.find(|staged| staged.source == Source::Pick(pick))
    });
    if staged.is_some_and(|staged| staged.gathers || staged.carried.is_some()) {
        return problems.add(
            reader,
            field,
            "a file that is picked is one, and the same in all iterations",
        );
    }
    if let Some(reader) = reader
        && bodies.of(reader).is_none()
    {
        let message = "one item's output is read by an activity in a for-each or a loop";
        let hint = "put this one into a for-each, or gather all with `[*]` and take the file in the command";
        return problems.hint(Some(reader), field, message, hint);
    }
    let n_others = cases.len() - 1;
    for (number, case) in cases.iter().enumerate() {
        if case.when.is_some() != (number < n_others) {
            problems.add(
                reader,
                &field,
                "each source has a condition but the last one",
            );
        }
        if let Some(when) = &case.when {
            check_expression(when, reader, &Place::picked_when(&field, number), problems);
        }
        let field = Place::picked(&field, number, cases.len());
        if let Some(place) = &case.place {
            check_expression(place, reader, &field, problems);
        }
        check_case(draft, bodies, (case, reader, &field), problems);
    }
}

fn check_case(
    draft: &Draft,
    bodies: &Bodies<'_>,
    (case, reader, field): (&PickCase, Option<NodeId>, &str),
    problems: &mut Problems,
) {
    if case.place.is_none() {
        return check_plain(draft, bodies, (case.source, reader, field), problems);
    }
    let activity = match case.source {
        Source::Output { activity, output } if has_output(draft, activity, output) => activity,
        Source::Output { .. } | Source::Input(_) | Source::Item(_) | Source::Pick(_) => {
            return problems.add(reader, field, "no activity has such an output");
        }
    };
    let name = draft.nodes[activity.index()].label();
    let body = bodies.of(activity);
    let Some(among) = body.and_then(|body| bodies.owner(body)) else {
        let message = format!("`{name}` runs for no item, so there is one of its outputs");
        let hint = "leave the brackets out";
        return problems.hint(reader, field, message, hint);
    };
    let around = bodies.of(among);
    let Some(reader) = reader else {
        if around.is_some() {
            let message = format!(
                "`{name}` lies in bodies within each other, and one place picks one item of one list"
            );
            let hint = "name an activity that lies in one for-each alone";
            problems.hint(None, field, message, hint);
        }
        return;
    };
    if bodies.of(reader) == body {
        // Items before its own are there to be read.
        return;
    }
    if bodies.lift(reader, body).is_some() {
        let message = format!("`{name}` runs for an item around this, of which this is a part");
        let hint = "leave the brackets out for the output of the same item";
        return problems.hint(Some(reader), field, message, hint);
    }
    if bodies.lift(reader, around).is_none() {
        let message = format!(
            "`{name}` lies in bodies within each other, and one place picks one item of one list"
        );
        let hint = "name an activity whose for-each lies beside a step around this";
        return problems.hint(Some(reader), field, message, hint);
    }
    if bodies.of(reader) == around {
        let of = draft.nodes[among.index()].keyword();
        let message =
            format!("what `{name}` is picked by is known before the {of} around `{name}` begins");
        let hint = "put this activity into a for-each of its own, behind that one";
        problems.hint(Some(reader), field, message, hint);
    }
}

/// A case that names one file.
fn check_plain(
    draft: &Draft,
    bodies: &Bodies<'_>,
    (source, reader, field): (Source, Option<NodeId>, &str),
    problems: &mut Problems,
) {
    check_source(draft, source, reader, field, problems);
    let is_sound = match (source, reader) {
        (Source::Output { activity, output }, _) if !has_output(draft, activity, output) => true,
        (Source::Output { activity, .. }, Some(reader)) => {
            let ends = bodies.ends(activity, reader, false);
            ends.is_some_and(|(from, _)| from == activity)
        }
        (Source::Output { activity, .. }, None) => bodies.of(activity).is_none(),
        (Source::Item(body), Some(reader)) => is_around(draft, bodies, body, reader),
        (Source::Input(input), _) => {
            let input = draft.inputs.get(input as usize);
            !input.is_some_and(|input| input.kind.is_list_of_files())
        }
        (Source::Item(_), None) => true,
        (Source::Pick(_), _) => false,
    };
    if !is_sound {
        let message = "one of many files is meant, and none is named";
        let hint = "write the place of its item in brackets: `activity[0].output`";
        problems.hint(reader, field, message, hint);
    }
}

/// The outputs that an input may come from, each with true if it is that of one or all of many items.
pub(super) fn outputs_of(
    draft: &Draft,
    (source, gathers): (Source, bool),
) -> impl Iterator<Item = (NodeId, u32, bool)> + '_ {
    let (own, cases) = match source {
        Source::Pick(pick) => (None, draft.pick_cases(pick)),
        Source::Output { .. } | Source::Input(_) | Source::Item(_) => {
            (Some((source, gathers)), &[][..])
        }
    };
    let cases = cases.iter().map(|case| (case.source, case.place.is_some()));
    let all = own.into_iter().chain(cases);
    all.filter_map(|(source, is_of_many)| match source {
        Source::Output { activity, output } => Some((activity, output, is_of_many)),
        Source::Input(_) | Source::Item(_) | Source::Pick(_) => None,
    })
}
