//! `xav nodes`, `xav drain`, `xav undrain`: the machines of a grid.

use model::Span;
use serde_json::json;
use shell::clock;
use wire::admin::{Load, Node, Request, Response, Warning};
use wire::group::{Owners, owner_name};
use wire::resource::OWN_LABELS;

use super::admin_context::{AdminContext, unfit};
use super::arguments::{Drain, Nodes};
use super::{node_history, release};
use crate::failure::{Failure, Outcome};
use crate::{screen, text};

/// `xav nodes`
pub(super) fn nodes(arguments: &Nodes) -> Outcome {
    if let Some(what) = &arguments.release {
        return release::release(&arguments.of, what);
    }
    if let Some(name) = arguments.name.as_ref().filter(|_| arguments.history) {
        let ask = Request::NodeHistory { name: name.clone() };
        let Response::NodeHistory(moments) = AdminContext::of(&arguments.of)?.ask(&ask)? else {
            return Err(unfit());
        };
        return node_history::show(&moments, arguments.json);
    }
    let Response::Nodes(mut nodes, warnings, owners) =
        AdminContext::of(&arguments.of)?.ask(&Request::Nodes)?
    else {
        return Err(unfit());
    };
    for Warning { daemon, why } in &warnings {
        screen::warn(&text::harmless(&format!("{daemon}: {why}")));
    }
    if arguments.shares {
        return shares(arguments, owners);
    }
    if let Some(name) = &arguments.name {
        let names: Vec<String> = nodes.iter().map(|node| node.name.clone()).collect();
        nodes.retain(|node| node.name == *name);
        if nodes.is_empty() {
            let failure = Failure::new(format!("there is no machine {}", text::quoted(name)));
            return Err(
                match text::nearest(name, names.iter().map(String::as_str)) {
                    Some(meant) => failure.help(format!("did you mean {meant}?")),
                    None => failure,
                },
            );
        }
    }
    if arguments.json {
        let documents: serde_json::Value = nodes.iter().map(document).collect();
        screen::json(&documents)?;
    } else if nodes.is_empty() {
        screen::tell(
            "no machine has joined yet; one joins with a token: xav token create --role am\n",
        );
    } else {
        screen::out(&table(&nodes))?;
        if arguments.name.is_some() {
            nodes
                .iter()
                .try_for_each(|node| screen::out(&details(node)))?;
        }
    }
    Ok(0)
}

/// `xav nodes --shares`
fn shares(arguments: &Nodes, owners: Option<Owners>) -> Outcome {
    let Owners {
        is_fair,
        slots_max,
        owners,
    } = owners.unwrap_or_default();
    if arguments.json {
        let users = owners.iter().map(|one| {
            json!({
                "user": one.name,
                "share": is_fair.then_some(one.share),
                "used_slot_seconds": is_fair.then(|| one.usage.seconds()),
                "held": one.held,
                "slots_max": one.slots_max,
            })
        });
        let users: Vec<serde_json::Value> = users.collect();
        let document = json!({ "is_fair": is_fair, "slots_max": slots_max, "users": users });
        screen::json(&document)?;
        return Ok(0);
    }
    if !is_fair && slots_max.is_none() && owners.is_empty() {
        screen::tell("first come is first served here: gm.toml has no shares and no limits\n");
        return Ok(0);
    }
    let head = ["USER", "SHARE", "USED", "HELD", "LIMIT"].map(str::to_owned);
    let rows = owners.iter().map(|one| {
        let fair = |text: String| if is_fair { text } else { "-".to_owned() };
        let limit = one
            .slots_max
            .map_or("-".to_owned(), |most| most.to_string());
        vec![
            text::harmless(&one.name),
            fair(one.share.to_string()),
            fair(format!("{:.1} slot hours", one.usage.seconds() / 3_600.0)),
            one.held.to_string(),
            limit,
        ]
    });
    let rows: Vec<Vec<String>> = std::iter::once(head.to_vec()).chain(rows).collect();
    screen::out(&text::table(&rows))?;
    Ok(0)
}

/// `xav drain`, `xav undrain`
pub(super) fn drain(arguments: &Drain, is_drained: bool) -> Outcome {
    let name = arguments.name.clone();
    let told = AdminContext::of(&arguments.of)?.ask(&Request::Drain { name, is_drained })?;
    let Response::Drained = told else {
        return Err(unfit());
    };
    let name = &arguments.name;
    screen::out(&if is_drained {
        format!(
            "Nothing more is sent to {name}; what runs there goes on. `xav undrain {name}` ends that.\n"
        )
    } else {
        format!("{name} is offered again.\n")
    })?;
    Ok(0)
}

/// In a word, how a machine is.
fn state(node: &Node) -> (&'static str, Option<&str>) {
    if let Some(why) = &node.suspect {
        return ("suspect", Some(why));
    }
    let load = node.load.as_ref();
    if let Some(why) = load.and_then(|load| load.not_ready.as_deref()) {
        return ("not ready", Some(why));
    }
    let closed = load.and_then(|load| load.closed.as_deref());
    match (node.is_drained, closed) {
        (true, _) => ("drained", None),
        (false, Some(why)) => ("closed", Some(why)),
        (false, None) => ("ready", None),
    }
}

/// When a silent machine is forgotten, or why it is not.
fn forgotten(node: &Node) -> Option<String> {
    node.suspect.as_ref()?;
    match node.forgotten_in {
        Some(left) => Some(format!(
            "it is forgotten in {left} if it does not come back"
        )),
        None if node.holders.is_empty() => None,
        None => Some("it is not forgotten while processes have slots or files there".to_owned()),
    }
}

fn free(node: &Node) -> u32 {
    match state(node) {
        ("ready", _) => node.slots.saturating_sub(node.held),
        _ => 0,
    }
}

fn table(nodes: &[Node]) -> String {
    let head = [
        "MACHINE", "STATE", "SLOTS", "FREE", "BUSY", "POWER", "MEMORY", "VERSION", "SEEN",
        "LABELS", "",
    ];
    let now = clock::wall();
    let rows = nodes.iter().map(|node| {
        let (word, why) = state(node);
        let word = match word {
            "ready" => screen::good(word),
            "suspect" | "not ready" => screen::bad(word),
            other => screen::odd(other),
        };
        let busy = node.load.as_ref().map_or("-".to_owned(), |load| {
            format!("{:.1}/{}", load.busy, load.cores)
        });
        vec![
            node.name.clone(),
            word,
            node.slots.to_string(),
            free(node).to_string(),
            busy,
            match node.shown {
                Some(shown) => format!("{:.2}*{:.2}", node.power, f64::from(shown) / 1e3),
                None => format!("{:.2}", node.power),
            },
            node.memory.to_string(),
            node.program.clone().unwrap_or_else(|| "-".to_owned()),
            format!("{} ago", text::span(now.since(node.seen))),
            given_labels(node),
            [why.map(str::to_owned), forgotten(node)]
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
                .join("; "),
        ]
    });
    let head = head.map(str::to_owned).to_vec();
    let rows: Vec<Vec<String>> = std::iter::once(head).chain(rows).collect();
    text::table(&rows)
}

/// The labels that the administrator of a machine gave it: `gpu=a100,site=lab`.
fn given_labels(node: &Node) -> String {
    let given = node.labels.iter();
    let given = given.filter(|(name, _)| !OWN_LABELS.contains(&name.as_str()));
    let given: Vec<String> = given
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    match given.is_empty() {
        true => "-".to_owned(),
        false => text::harmless(&given.join(",")),
    }
}

fn details(node: &Node) -> String {
    let mut shown = String::from("\n");
    if let Some(load) = &node.load {
        let Load {
            queue,
            memory_free,
            disk_free,
            containment,
            accounts,
            others,
            others_expected,
            ..
        } = load;
        shown.push_str(&format!(
            "load {queue:.2}, {memory_free} of memory free, {disk_free} of disk free\n"
        ));
        if let (Some(others), Some(expected)) = (others, others_expected) {
            shown.push_str(&format!(
                "others use {others:.1} cores, and {expected:.1} are expected over the next minute\n"
            ));
        }
        if let Some(containment) = containment {
            shown.push_str(&format!("containment: {}\n", text::harmless(containment)));
        }
        if let Some(accounts) = accounts {
            shown.push_str(&format!(
                "accounts of commands: {}\n",
                text::harmless(accounts)
            ));
        }
    }
    if let Some(part) = node.shown {
        shown.push_str(&format!(
            "processes had {} % of its power (xav nodes {} --history)\n",
            part / 10,
            text::harmless(&node.name)
        ));
    }
    if let Some(until) = node.certificate_until {
        let until = text::moment(until);
        shown.push_str(&format!("its certificate is valid until {until}\n"));
    }
    for holder in &node.holders {
        let slots = text::count(u64::from(holder.slots), "slot", "slots");
        let owner = owner_name(holder.owner.as_deref());
        let process = crate::fault::short(holder.process);
        shown.push_str(&format!(
            "{process} of {} holds {slots}\n",
            text::harmless(owner)
        ));
    }
    for (name, value) in &node.labels {
        shown.push_str(&text::harmless(&format!("{name}: {value}")));
        shown.push('\n');
    }
    shown
}

fn document(node: &Node) -> serde_json::Value {
    let (state, why) = state(node);
    json!({
        "name": node.name,
        "number": node.resource.number,
        "state": state,
        "why": why,
        "slots": node.slots,
        "held": node.held,
        "free": free(node),
        "power": node.power,
        "shown_part": node.shown.map(|shown| f64::from(shown) / 1e3),
        "memory_bytes": node.memory.0,
        "labels": node.labels,
        "holders": node.holders.iter().map(|holder| json!({
            "process": holder.process.to_string(),
            "owner": holder.owner,
            "slots": holder.slots,
        })).collect::<Vec<_>>(),
        "is_drained": node.is_drained,
        "seen": text::moment_for_programs(node.seen),
        "forgotten_in_seconds": node.forgotten_in.map(Span::seconds),
        "version": node.program,
        "certificate_until": node.certificate_until.map(text::moment_for_programs),
        "load": node.load.as_ref().map(|load| json!({
            "cores": load.cores,
            "slots": load.slots,
            "busy_cores": load.busy,
            "others_cores": load.others,
            "others_expected_cores": load.others_expected,
            "queue": load.queue,
            "memory_free_bytes": load.memory_free.0,
            "disk_free_bytes": load.disk_free.0,
            "closed": load.closed,
            "containment": load.containment,
            "accounts": load.accounts,
        })),
    })
}
