//! `xav why` of a process as a whole.

use model::OnFault;
use serde_json::{Value as Json, json};
use wire::client::{GroupShares, OwnerShare, Phase, WhyProcess};

use super::Explanation;
use crate::{fault, json, moves, screen, text};

impl Explanation<'_> {
    /// The answer for people: a line for each reason.
    pub(crate) fn sentences_of_process(&self, why: &WhyProcess, options: Option<&str>) -> String {
        let mut text = format!("{}\n", self.first_of_process(why));
        let mut line = |line: String| text.push_str(&format!("  {line}\n"));
        if let Some(waiting_for) = &why.waiting_for {
            line(format!("for {waiting_for}"));
        }
        if let Some(turn) = &why.turn {
            line(turn.words(self.now));
        }
        for plan in moves::lines(self.status) {
            line(plan);
        }
        if let Some(declined) = &why.declined {
            let told = moves::declined(declined, &json::machine_of(self.status));
            line(format!("{}: {told}", text::moment(declined.at)));
        }
        for shares in &why.shares {
            let group = match why.shares.len() {
                1 => String::new(),
                _ => format!("in group {}, ", shares.group),
            };
            for owner in owners(shares) {
                line(format!("{group}{}", used(owner, shares.is_fair)));
            }
            if shares.n_more > 0 {
                line(format!("{group}{} more have used it", shares.n_more));
            }
        }
        for activity in &why.activities {
            for reason in self.sentences(activity, options).lines() {
                line(reason.to_owned());
            }
        }
        if why.n_more > 0 {
            line(format!("and {} more", why.n_more));
        }
        if why.phase.has_ended() && !self.status.faults.is_empty() {
            let context = fault::Context {
                process: self.status.summary.process,
                definition: self.definition,
                origin: "",
                options,
            };
            let faults = fault::all(&self.status.faults, &context);
            text.push_str(&format!("\n{}\n", faults.trim_end()));
        }
        text
    }

    /// Where the process is.
    fn first_of_process(&self, why: &WhyProcess) -> String {
        let summary = &self.status.summary;
        let name = screen::bold(&summary.name);
        let totals = &summary.totals;
        let waits = totals.running == 0 && (why.waiting_for.is_some() || why.turn.is_some());
        let said = match why.phase {
            Phase::Running if waits => "waits",
            Phase::Running => "runs",
            Phase::Faulting => match self.status.on_fault {
                OnFault::Finish => {
                    "has a fault: what runs goes on to its end, and nothing more starts"
                }
                OnFault::Stop | OnFault::Continue => {
                    "has a fault: what runs of it is being stopped"
                }
            },
            Phase::Cancelling => "is being cancelled",
            Phase::Completed => "completed",
            Phase::Faulted => "failed",
            Phase::Cancelled => "was cancelled",
        };
        let all = self.definition.activities().len() as u64;
        let ended = totals.completed + totals.faulted + totals.skipped;
        let all = text::count(all, "activity", "activities");
        let so_far = format!("{ended} of {all} ended, {} at work", totals.running);
        match why.phase.has_ended() {
            true => format!("{name} {said}"),
            false if !self.is_live => {
                let id = fault::short(summary.process);
                format!(
                    "{name} {said}: {so_far}; nothing runs it at the moment (xav resume {id} goes on)"
                )
            }
            false => format!("{name} {said}: {so_far}"),
        }
    }

    /// The answer for programs.
    pub(crate) fn document_of_process(&self, why: &WhyProcess) -> Json {
        let activities = why.activities.iter().map(|one| self.document(one));
        let machine = json::machine_of(self.status);
        json!({
            "process": self.status.summary.process.to_string(),
            "state": why.phase.word(),
            "is_live": self.is_live,
            "waiting_for": why.waiting_for,
            "order": why.turn.as_ref().map(json::turn),
            "shares": why.shares.iter().map(shares_document).collect::<Json>(),
            "rescheduled": self.status.rescheduled.iter().map(|one| json::rescheduled(one, &machine)).collect::<Json>(),
            "rescheduled_times": self.status.n_rescheduled,
            "declined": why.declined.as_ref().map(|one| json::reason(one, &machine)),
            "activities": activities.collect::<Json>(),
            "activities_more": why.n_more,
            "faults": json::faults(self.status, self.definition),
        })
    }
}

/// The owner of the process, and then the others.
fn owners(shares: &GroupShares) -> impl Iterator<Item = &OwnerShare> {
    std::iter::once(&shares.own).chain(&shares.others)
}

fn used(owner: &OwnerShare, is_fair: bool) -> String {
    let holds = match owner.slots_max {
        Some(slots_max) => format!("holds {} of at most {slots_max} slots", owner.held),
        None => format!(
            "holds {}",
            text::count(u64::from(owner.held), "slot", "slots")
        ),
    };
    let name = screen::bold(&owner.name);
    match is_fair {
        true => format!(
            "{name} has used {} of slots for a share of {}, and {holds}",
            owner.used, owner.share
        ),
        false => format!("{name} {holds}"),
    }
}

fn shares_document(shares: &GroupShares) -> Json {
    json!({
        "group": shares.group.to_string(),
        "is_fair": shares.is_fair,
        "own": owner_document(&shares.own),
        "others": shares.others.iter().map(owner_document).collect::<Json>(),
        "others_more": shares.n_more,
    })
}

fn owner_document(owner: &OwnerShare) -> Json {
    json!({
        "owner": owner.name,
        "share": owner.share,
        "used_seconds": owner.used.seconds(),
        "held": owner.held,
        "slots_max": owner.slots_max,
    })
}

#[cfg(test)]
mod tests {
    use model::{ActivityId, GroupId, ResourceId, Span, Wall};
    use wire::client::{ActivityPhase, Reason, Turn, Why};

    use super::*;

    fn owner(name: &str, share: u32, held: u32, slots_max: Option<u32>) -> OwnerShare {
        OwnerShare {
            name: name.to_owned(),
            share,
            used: Span::from_secs(60 * u64::from(share)),
            held,
            slots_max,
        }
    }

    fn told(why: &WhyProcess) -> (String, Json) {
        let (definition, mut status) = crate::render::tests::two();
        status.summary.phase = why.phase;
        status.summary.totals.running = u32::from(!why.activities.is_empty());
        let explanation = Explanation {
            definition: &definition,
            status: &status,
            is_live: true,
            now: Wall(0),
        };
        let text = explanation.sentences_of_process(why, None);
        let text = anstream::adapter::strip_str(&text).to_string();
        (text, explanation.document_of_process(why))
    }

    fn nothing(phase: Phase) -> WhyProcess {
        WhyProcess {
            phase,
            waiting_for: None,
            turn: None,
            shares: Vec::new(),
            activities: Vec::new(),
            n_more: 0,
            declined: None,
        }
    }

    #[test]
    fn a_process_that_waits_tells_its_order_and_the_shares_of_owners() {
        let group = GroupId::new(7);
        let shares = GroupShares {
            group,
            is_fair: true,
            own: owner("ana", 2, 3, Some(4)),
            others: vec![owner("ben", 1, 1, None)],
            n_more: 0,
        };
        let turn = Turn {
            n_before: 1,
            last: None,
            last_owner: Some("ben".to_owned()),
            free_at: Some(Wall(20_000_000)),
        };
        let why = WhyProcess {
            waiting_for: Some("a free slot".to_owned()),
            turn: Some(turn),
            shares: vec![shares.clone()],
            ..nothing(Phase::Running)
        };
        let (text, document) = told(&why);
        let (first, rest) = text.split_once('\n').unwrap();
        assert!(first.contains(" waits: "), "{first}");
        assert_eq!(
            rest,
            "  for a free slot\n  \
             1 process is before it, the last of them of ben; machines are expected to be free for it \
             in 20.0s\n  \
             ana has used 2m 00s of slots for a share of 2, and holds 3 of at most 4 slots\n  \
             ben has used 1m 00s of slots for a share of 1, and holds 1 slot\n"
        );
        assert_eq!(document["order"]["before"], 1);
        assert_eq!(document["order"]["last_owner"], "ben");
        assert_eq!(document["shares"][0]["own"]["used_seconds"], 120.0);
        assert_eq!(document["shares"][0]["others"][0]["held"], 1);
        // Without shares, only limits and slots are told, and groups are named where there are two.
        let limits = GroupShares {
            is_fair: false,
            ..shares
        };
        let why = WhyProcess {
            shares: vec![limits.clone(), limits],
            ..nothing(Phase::Running)
        };
        let (text, _) = told(&why);
        assert!(
            text.contains(&format!(
                "  in group {group}, ana holds 3 of at most 4 slots\n"
            )),
            "{text}"
        );
    }

    #[test]
    fn a_process_that_runs_tells_what_it_waits_for() {
        let why = |activity, phase, reasons| Why {
            activity: ActivityId(activity),
            phase,
            reasons,
            recall: None,
            moves: Vec::new(),
            n_moves: 0,
        };
        let queue = Reason::Queue {
            resource: ResourceId::local(1),
            n_before: 3,
            n_out: 1,
        };
        let (text, document) = told(&WhyProcess {
            activities: vec![
                why(1, ActivityPhase::Running, Vec::new()),
                why(2, ActivityPhase::Ready, vec![queue]),
            ],
            n_more: 5,
            ..nothing(Phase::Running)
        });
        let (first, rest) = text.split_once('\n').unwrap();
        assert!(first.contains(" runs: "), "{first}");
        assert_eq!(
            rest,
            "  range runs\n  merge is ready, and was not sent yet\n    3 come before it on host, where \
             1 activity is at work\n  and 5 more\n"
        );
        assert_eq!(document["activities"][1]["reasons"][0]["before"], 3);
        assert_eq!(document["activities_more"], 5);
        let (text, document) = told(&WhyProcess {
            declined: Some(crate::moves::tests::in_vain()),
            ..nothing(Phase::Running)
        });
        assert!(
            text.contains(": r2 is 2.1 times slower than expected; nothing moves"),
            "{text}"
        );
        assert_eq!(document["declined"]["expected_part"], 1.0);
        let (text, _) = told(&nothing(Phase::Cancelled));
        assert!(text.ends_with(" was cancelled\n"), "{text}");
    }
}
