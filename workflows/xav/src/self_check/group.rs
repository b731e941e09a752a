//! What a group manager tells: that it is reached, the time, versions, and its warnings.

use model::{Identity, Span, Wall};
use shell::clock;
use shell::identity::Credentials;
use shell::quic::{self, Requester};
use wire::admin::{Node, Refused, Request, Response};

use super::Finding;
use crate::failure::{Failure, chain};
use crate::grid_admin::{self, Of};

/// The time by which a clock may be off: machines report each four seconds, and nothing depends on less.
const CLOCK_MARGIN: Span = Span::from_secs(30);

pub(super) const SET_CLOCK: &str =
    "set the clock, and run a time service on all hosts (chrony, systemd-timesyncd)";

/// Checks the grid that was given. Returns true if one was.
pub(super) fn check(of: &Of, findings: &mut Vec<Finding>) -> bool {
    let Some(asked) = grid_admin::ask_given(of, &Request::Nodes) else {
        return false;
    };
    match asked {
        Ok(response) => judge(&response, clock::wall(), findings),
        Err(Failure { message, help, .. }) => {
            let help = help.unwrap_or_else(|| UNREACHED.to_owned());
            findings.push(Finding::fault("group-manager", "the grid", message, &help));
        }
    }
    true
}

const UNREACHED: &str = "does it run, is its port (UDP) open, and does its address lead to it?";

/// Asks a manager's group manager.
pub(super) fn ask(
    address: &str,
    credentials: &Credentials,
    gm: &Identity,
    findings: &mut Vec<Finding>,
) {
    let requester = Requester::Member(credentials, gm);
    match quic::ask(address, requester, &wire::encode(&Request::Nodes)) {
        Err(error) => {
            let what = format!("it cannot be asked: {}", chain(&error));
            findings.push(Finding::fault("group-manager", address, what, UNREACHED));
        }
        Ok(told) => match wire::decode(&told) {
            Ok(response) => judge(&response, clock::wall(), findings),
            Err(_) => {
                let what = "its answer cannot be understood: it has another version";
                findings.push(Finding::fault("version", address, what, UPGRADE));
            }
        },
    }
}

const UPGRADE: &str =
    "upgrade the group manager first, then process managers, then machines (docs/operate.md)";

/// Judges what a group manager has told.
fn judge(response: &Response, now: Wall, findings: &mut Vec<Finding>) {
    let Response::Nodes(nodes, warnings, _) = response else {
        // Activity managers are not told of machines; that they are refused says that it was reached.
        if let Response::Refused(refused) = response
            && !matches!(refused, Refused::Role(_))
        {
            findings.push(Finding::fault(
                "group-manager",
                "its answer",
                refused.to_string(),
                UNREACHED,
            ));
        }
        return;
    };
    findings.extend(clock_off(nodes, now));
    let own = env!("CARGO_PKG_VERSION");
    for node in nodes {
        if let Some(program) = node.program.as_deref().filter(|program| *program != own) {
            let what = format!("it has version {program}, and this is {own}");
            findings.push(Finding::fault("version", &node.name, what, UPGRADE));
        }
    }
    for warning in warnings {
        let help = "see what docs/operate.md says of it";
        findings.push(Finding::fault(
            "warning",
            &warning.daemon,
            &*warning.why,
            help,
        ));
    }
}

/// Compares this clock with the group manager's: the time at which it has heard a machine that is well is at
/// most some seconds ago. Nothing is known where there is no such machine.
fn clock_off(nodes: &[Node], now: Wall) -> Option<Finding> {
    let well = nodes.iter().filter(|node| node.suspect.is_none());
    let heard = well.map(|node| node.seen).max()?;
    let what = if now + CLOCK_MARGIN < heard {
        format!("it is {} behind the group manager's", heard.since(now))
    } else if now.since(heard) > CLOCK_MARGIN {
        format!("it is {} ahead of the group manager's", now.since(heard))
    } else {
        return None;
    };
    Some(Finding::fault("clock", "this machine", what, SET_CLOCK))
}

#[cfg(test)]
mod tests {
    use wire::admin::Warning;

    use super::*;

    fn node(name: &str, seen: u64) -> Node {
        Node {
            name: name.to_owned(),
            seen: Wall(seen * 1_000_000),
            program: Some(env!("CARGO_PKG_VERSION").to_owned()),
            ..Node::default()
        }
    }

    fn found(nodes: Vec<Node>, now: u64) -> Vec<(&'static str, String)> {
        let mut findings = Vec::new();
        let response = Response::Nodes(nodes, Vec::new(), None);
        judge(&response, Wall(now * 1_000_000), &mut findings);
        findings
            .into_iter()
            .map(|one| (one.check, one.what))
            .collect()
    }

    #[test]
    fn a_clock_that_is_off_is_found_by_the_machines_that_are_well() {
        let at = |now| found(vec![node("am1", 900), node("am2", 1_000)], now);
        assert_eq!(at(1_004), []);
        assert_eq!(at(980), []);
        assert_eq!(at(600)[0].0, "clock");
        assert!(at(600)[0].1.contains("behind"), "{:?}", at(600));
        assert!(at(2_000)[0].1.contains("ahead"), "{:?}", at(2_000));
        // A machine that is away says nothing of the time.
        let away = Node {
            suspect: Some("silent".to_owned()),
            ..node("am1", 1_000)
        };
        assert_eq!(found(vec![away], 2_000), []);
    }

    #[test]
    fn another_version_a_warning_and_a_refusal_are_told() {
        let old = Node {
            program: Some("0.0.9".to_owned()),
            ..node("am1", 1_000)
        };
        let own = env!("CARGO_PKG_VERSION");
        let what = format!("it has version 0.0.9, and this is {own}");
        assert_eq!(found(vec![old], 1_000), [("version", what)]);
        let warning = Warning {
            daemon: "pm pm1".to_owned(),
            why: "its disk is full".to_owned(),
        };
        let mut findings = Vec::new();
        judge(
            &Response::Nodes(Vec::new(), vec![warning], None),
            Wall(0),
            &mut findings,
        );
        assert_eq!(
            (findings[0].check, &*findings[0].place),
            ("warning", "pm pm1")
        );
        findings.clear();
        judge(
            &Response::Refused(Refused::Role("users".to_owned())),
            Wall(0),
            &mut findings,
        );
        assert_eq!(findings, []);
        judge(
            &Response::Refused(Refused::Unreadable),
            Wall(0),
            &mut findings,
        );
        assert_eq!(findings[0].check, "group-manager");
    }
}
