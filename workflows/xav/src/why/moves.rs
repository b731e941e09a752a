//! Moves to other machines because one is not as fast as was planned.

use serde_json::{Value as Json, json};
use wire::client::{MovedBy, Why as Answered};

use super::Explanation;
use crate::moves::{self, Deviation};
use crate::{json, text};

/// Plans of a process that are told in sentences: of older ones their number.
const PLANS_SHOWN: usize = 3;

impl Explanation<'_> {
    /// The moves of an activity, a line each.
    pub(super) fn moves(&self, why: &Answered) -> Vec<String> {
        let n_older = why.n_moves.saturating_sub(why.moves.len() as u32);
        let older = (n_older > 0).then(|| {
            let times = text::count(u64::from(n_older), "time", "times");
            format!("it moved {times} before that")
        });
        let moves = why.moves.iter().map(|one| self.one_move(one));
        older.into_iter().chain(moves).collect()
    }

    /// `it moved from am-2 to am-1 at 18:02:11, because am-2 is 2.1 times slower than expected: by that the end comes
    /// 12.0s earlier`.
    fn one_move(&self, one: &MovedBy) -> String {
        let machine = json::machine_of(self.status);
        format!(
            "it moved from {} to {} at {}, because {}: {}",
            machine(one.from),
            machine(one.to),
            text::moment(one.at),
            Deviation::from(one).words(&machine(one.resource)),
            moves::effect(one.before, one.after)
        )
    }

    /// The same for programs.
    pub(super) fn moves_document(&self, why: &Answered) -> Json {
        let machine = json::machine_of(self.status);
        let moves = why.moves.iter().map(|one| {
            let part = f64::from(one.per_mille) / 1e3;
            json!({
                "at": text::moment_for_programs(one.at),
                "from": machine(one.from),
                "to": machine(one.to),
                "resource": machine(one.resource),
                "cause": if one.is_link { "link" } else { "power" },
                "power_part": (!one.is_link).then_some(part),
                "link_part": one.is_link.then_some(part),
                "expected_part": one.expected.map(|expected| f64::from(expected) / 1e3),
                "seconds_without": one.before.seconds(),
                "seconds": one.after.seconds(),
            })
        });
        moves.collect()
    }

    /// The last plans of a process that moved activities, a line each.
    pub(super) fn plans(&self) -> Vec<String> {
        let machine = json::machine_of(self.status);
        let all = &self.status.rescheduled;
        let n_shown = all.len().min(PLANS_SHOWN);
        let n_older = (self.status.n_rescheduled as usize).saturating_sub(n_shown);
        let older = (n_older > 0).then(|| {
            let plans = text::count(n_older as u64, "plan", "plans");
            format!("{plans} moved activities before that")
        });
        let last = all.iter().skip(all.len() - n_shown);
        let last =
            last.map(|one| format!("{}: {}", text::moment(one.at), moves::line(one, &machine)));
        older.into_iter().chain(last).collect()
    }
}

#[cfg(test)]
mod tests {
    use model::{ActivityId, ResourceId, Span, Wall};
    use wire::client::{ActivityPhase, Status};

    use super::*;
    use crate::moves::tests::slow;

    fn explained<T>(
        tell: impl FnOnce(&Explanation<'_>) -> T,
        change: impl FnOnce(&mut Status),
    ) -> T {
        let (definition, mut status) = crate::render::tests::two();
        let names = [(2, "am-2"), (1, "am-1")];
        let names = names.map(|(id, name)| (ResourceId::local(id), name.to_owned()));
        status.machines = names.to_vec();
        change(&mut status);
        tell(&Explanation {
            definition: &definition,
            status: &status,
            is_live: true,
            now: Wall(0),
        })
    }

    #[test]
    fn an_activity_tells_from_where_to_where_it_moved_and_why() {
        let one = MovedBy {
            at: slow().at,
            from: ResourceId::local(2),
            to: ResourceId::local(1),
            resource: ResourceId::local(2),
            per_mille: 480,
            expected: Some(1_000),
            is_link: false,
            before: Span::from_secs(42),
            after: Span::from_secs(30),
        };
        let why = Answered {
            activity: ActivityId(2),
            phase: ActivityPhase::Completed,
            reasons: Vec::new(),
            recall: None,
            moves: vec![one],
            n_moves: 3,
        };
        let tell = |of: &Explanation<'_>| (of.sentences(&why, None), of.document(&why));
        let (text, document) = explained(tell, |_| {});
        let text = anstream::adapter::strip_str(&text).to_string();
        assert_eq!(
            text,
            format!(
                "merge completed\n  it moved 2 times before that\n  it moved from am-2 to am-1 at {}, because am-2 is \
                 2.1 times slower than expected: the end comes 12.0s earlier\n",
                text::moment(one.at)
            )
        );
        assert_eq!(document["moves"][0]["from"], "am-2");
        assert_eq!(document["moves"][0]["expected_part"], 1.0);
        assert_eq!(document["moves_times"], 3);
    }

    #[test]
    fn a_process_tells_the_last_plans_that_moved_its_activities() {
        let plans = explained(
            |of| of.plans(),
            |status| {
                status.rescheduled = vec![slow(); 4];
                status.n_rescheduled = 20;
            },
        );
        assert_eq!(plans.len(), 4, "{plans:?}");
        assert_eq!(plans[0], "17 plans moved activities before that");
        let end = ": am-2 is 2.1 times slower than expected: 14 activities move to am-1, the end comes 12.0s earlier";
        assert!(plans[3].ends_with(end), "{plans:?}");
    }
}
