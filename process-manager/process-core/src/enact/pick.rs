//! The picks of the bodies of a for-each or a loop: which output of which item each of their inputs reads.
//! They are worked out when the bodies are known, recorded with them, and never looked at again.

use std::ops::Range;

use expression::{Among, pick};
use model::{Fault, FaultName, NodeId, PickCase, Picked, Source};

use crate::enact::evaluate::{Evaluator, expression_fault, scope};
use crate::process::Process;
use crate::process::items::Items;

/// What the bodies of these places pick, one body after another; none where they pick nothing. An
/// expression that faults, or a place where there is no item, is a fault.
pub(crate) fn picks<'a>(
    process: &'a Process,
    each: NodeId,
    bodies: Range<u32>,
    names_of: impl Fn(u32) -> Items<'a>,
    evaluator: &mut Evaluator<'_>,
) -> Result<Option<Vec<Picked>>, Box<Fault>> {
    let definition = &process.definition;
    let sites = definition.pick_sites(each);
    if sites.is_empty() {
        return Ok(None);
    }
    let draft = definition.draft();
    let mut all = Vec::with_capacity(sites.len() * bodies.len());
    for body in bodies {
        let names = names_of(body);
        let scope = scope(process, &names);
        for site in sites {
            let among = |case: &PickCase| among(process, Some((each, body)), case);
            let cases = draft.pick_cases(site.pick);
            let Evaluator { programs, meter } = &mut *evaluator;
            let picked = pick(cases, &scope, (programs, meter), among);
            all.push(picked.map_err(|error| {
                let reader = &draft.nodes[site.reader.index()];
                let inputs = reader.activity().map_or(&[][..], |one| &one.inputs);
                let input = inputs.get(site.input as usize);
                let path = input.map_or("", |input| &input.path);
                let message = format!("input `{path}` of `{}[{body}]`: {error}", reader.name);
                expression_fault(process, each, &message)
            })?);
        }
    }
    Ok(Some(all))
}

/// The source of an output of the process that is picked at its end.
pub(crate) fn picked_output(
    process: &Process,
    (name, number): (&str, u32),
    evaluator: &mut Evaluator<'_>,
) -> Result<Source, Box<Fault>> {
    let definition = &process.definition;
    let names = process.items(NodeId(0));
    let scope = scope(process, &names);
    let cases = definition.draft().pick_cases(number);
    let Evaluator { programs, meter } = evaluator;
    let among = |case: &PickCase| among(process, None, case);
    let picked = pick(cases, &scope, (programs, meter), among);
    let source = picked
        .map_err(|error| error.to_string())
        .and_then(|picked| {
            let source =
                definition.picked_source((None, None), &cases[picked.case as usize], picked.place);
            source.ok_or_else(|| "the item is not there".to_owned())
        });
    source.map_err(|message| {
        let message = format!("output `{name}`: {message}");
        Box::new(Fault::new(FaultName::Expression, message))
    })
}

/// The items among which a case picks one, for a body of a controller or an output of the process.
fn among(process: &Process, body: Option<(NodeId, u32)>, case: &PickCase) -> Result<Among, String> {
    let definition = &process.definition;
    let each = body.map(|(each, _)| each);
    let among = definition.picked_among(each, case);
    if let Some((each, place)) = body
        && among == Some(each)
    {
        return Ok(Among::Before(place));
    }
    let n_items = among.and_then(|among| definition.n_items(among));
    n_items.map(Among::All).ok_or_else(|| {
        let of = match case.source {
            Source::Output { activity, .. } => definition.plain_name(activity),
            Source::Input(_) | Source::Item(_) | Source::Pick(_) => "",
        };
        format!("`{of}` ran for no items, because it was skipped")
    })
}
