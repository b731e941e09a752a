//! `xav nodes --release`: slots that are given back without waiting for their process manager.

use std::collections::BTreeSet;

use model::ProcessId;
use wire::admin::{HOLDERS_MAX, Node, Refused, Request, Response};

use super::admin_context::{AdminContext, refusal, unfit};
use super::arguments::Of;
use crate::failure::{Failure, Outcome};
use crate::{home, screen, text};

/// `xav nodes --release`
pub(super) fn release(of: &Of, what: &str) -> Outcome {
    let context = AdminContext::of(of)?;
    let what = what.to_owned();
    let ask = Request::Release { what: what.clone() };
    // The group manager knows names of process managers and whole IDs; these come before the beginning of an ID.
    let told = match context.told(&ask)? {
        Err(Refused::NoHolder(_)) => {
            let Response::Nodes(nodes, _, _) = context.ask(&Request::Nodes)? else {
                return Err(unfit());
            };
            let what = holder(&what, &nodes)?.to_string();
            context.ask(&Request::Release { what })?
        }
        Err(refused) => return Err(refusal(&refused)),
        Ok(told) => told,
    };
    let Response::Released { slots } = told else {
        return Err(unfit());
    };
    screen::out(&match slots {
        0 => "It holds no slots.\n".to_owned(),
        1 => "1 slot is free as soon as its machine has nothing of it.\n".to_owned(),
        slots => format!("{slots} slots are free as soon as their machines have nothing of it.\n"),
    })?;
    Ok(0)
}

/// The process whose ID begins so, among those that hold slots: their process managers need not answer.
fn holder(word: &str, nodes: &[Node]) -> Result<ProcessId, Failure> {
    if let Some(node) = nodes.iter().find(|node| may_hide_one(node, word)) {
        let name = text::harmless(&node.name);
        let failure = Failure::refused(format!(
            "more processes hold slots of {name} than the group manager tells"
        ));
        return Err(failure.help("give the whole ID of the process"));
    }
    let holders = nodes.iter().flat_map(|node| &node.holders);
    let known: BTreeSet<ProcessId> = holders.map(|holder| holder.process).collect();
    let is_known = known.iter().any(|&process| home::begins(process, word));
    let known = known.into_iter().map(|process| (process, String::new()));
    let known: Vec<(ProcessId, String)> = known.collect();
    match home::choose(Some(word), &known) {
        Ok(chosen) => Ok(chosen),
        Err(failure) if is_known => Err(failure),
        Err(failure) => Err(failure.help(
            "nor a process manager of that name; xav nodes NAME shows the processes that hold slots of a \
             machine",
        )),
    }
}

/// True if a process whose ID begins so may hold slots of a machine and not be told: those with the lowest IDs
/// are.
fn may_hide_one(node: &Node, word: &str) -> bool {
    let told = node.holders.iter().map(|holder| holder.process);
    let last = told.max().filter(|_| node.holders.len() >= HOLDERS_MAX);
    last.is_some_and(|last| {
        home::begins(last, word) || last.to_string() < word.to_ascii_lowercase()
    })
}

#[cfg(test)]
mod tests {
    use model::{Bytes, ResourceId, Wall};
    use wire::admin::Holder;

    use super::*;

    /// A machine with slots of these processes.
    fn node(processes: impl IntoIterator<Item = ProcessId>) -> Node {
        let holder = |process| Holder {
            process,
            owner: None,
            slots: 1,
        };
        Node {
            name: "am1".to_owned(),
            resource: ResourceId::local(1),
            slots: 64,
            held: 0,
            memory: Bytes(0),
            power: 1.0,
            labels: Default::default(),
            seen: Wall(0),
            is_drained: false,
            suspect: None,
            program: None,
            load: None,
            certificate_until: None,
            holders: processes.into_iter().map(holder).collect(),
            forgotten_in: None,
            shown: None,
        }
    }

    fn ids(texts: &[&str]) -> Vec<ProcessId> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn a_holder_is_named_by_the_beginning_of_its_id_as_in_other_commands() {
        let known = ids(&["0abc000000000", "0abd000000000", "1xyz000000000"]);
        let nodes = [node(known[..2].to_vec()), node(known[1..].to_vec())];
        assert_eq!(holder("1", &nodes).unwrap(), known[2]);
        // It holds slots of two machines, and is one process.
        assert_eq!(holder("0ABD", &nodes).unwrap(), known[1]);
        let several = holder("0ab", &nodes).unwrap_err();
        assert_eq!(
            several.to_string(),
            "2 processes begin with 0ab\n  0abc000000000\n  0abd000000000"
        );
        let none = holder("9", &nodes).unwrap_err();
        assert!(
            none.to_string().starts_with("there is no process 9\n"),
            "{none}"
        );
    }

    #[test]
    fn a_beginning_is_refused_where_a_process_that_is_not_told_may_have_it() {
        let told: Vec<ProcessId> = (0..HOLDERS_MAX as u64)
            .map(|id| ProcessId(id << 32))
            .collect();
        let (first, last) = (told[0].to_string(), *told.last().unwrap());
        let nodes = [node(told.clone())];
        assert_eq!(holder(&first, &nodes).unwrap(), told[0]);
        for word in [last.to_string(), "z".to_owned()] {
            let refused = holder(&word, &nodes).unwrap_err();
            assert_eq!(
                refused.help.as_deref(),
                Some("give the whole ID of the process")
            );
        }
        let nodes = [node(told[1..].to_vec())];
        assert_eq!(holder(&last.to_string(), &nodes).unwrap(), last);
    }
}
