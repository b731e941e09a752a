//! The expressions by which one of many items is picked.

use model::{NodeId, OutputSource, Place, Source};

use super::{Check, Wanted};

pub(super) fn check(check: &mut Check<'_>) {
    let draft = check.draft;
    if draft.picks.is_none() {
        return;
    }
    check.is_early = true;
    for (index, node) in draft.nodes.iter().enumerate() {
        let inputs = node.activity().into_iter().flat_map(|one| &one.inputs);
        for staged in inputs {
            if let Source::Pick(pick) = staged.source {
                check.at = check.around[index];
                check.inside = check.at;
                let field = format!("inputs.{}", staged.path);
                cases(check, pick, (Some(NodeId(index as u32)), &field));
            }
        }
    }
    (check.at, check.inside) = (None, None);
    for output in &draft.outputs {
        if let OutputSource::Produced(Source::Pick(pick)) = output.source {
            let field = format!("outputs.{}", output.name);
            cases(check, pick, (None, &field));
        }
    }
    check.is_early = false;
}

fn cases(check: &mut Check<'_>, pick: u32, (node, field): (Option<NodeId>, &str)) {
    let cases = check.draft.pick_cases(pick);
    for (number, case) in cases.iter().enumerate() {
        if let Some(when) = &case.when {
            let place = || (node, Place::picked_when(field, number));
            check.expression(when, None, Wanted::Truth, &place);
        }
        if let Some(expression) = &case.place {
            let place = || (node, Place::picked(field, number, cases.len()));
            check.expression(expression, None, Wanted::Count, &place);
        }
    }
}
