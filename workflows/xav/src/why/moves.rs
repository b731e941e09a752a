//! Moves to other machines because one is not as fast as was planned.

use serde_json::{Value as Json, json};
use wire::client::{MovedBy, Why as Answered};

use super::Explanation;
use crate::moves::{self, Deviation};
use crate::{json, text};

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
        let (machine, plan) = (json::machine_of(self.status), &one.plan);
        format!(
            "it moved from {} to {} at {}, because {}: {}",
            machine(one.from),
            machine(one.to),
            text::moment(plan.at),
            Deviation::from(plan).words(&machine(plan.resource)),
            moves::effect(plan.before, plan.after)
        )
    }

    /// The same for programs.
    pub(super) fn moves_document(&self, why: &Answered) -> Json {
        let machine = json::machine_of(self.status);
        let moves = why.moves.iter().map(|one| {
            let mut document = json::reason(&one.plan, &machine);
            document["from"] = json!(machine(one.from));
            document["to"] = json!(machine(one.to));
            document
        });
        moves.collect()
    }
}

#[cfg(test)]
mod tests {
    use model::{ActivityId, ResourceId, Wall};
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
            from: ResourceId::local(2),
            to: ResourceId::local(1),
            plan: slow(),
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
                text::moment(slow().at)
            )
        );
        assert_eq!(document["moves"][0]["from"], "am-2");
        assert_eq!(document["moves"][0]["expected_part"], 1.0);
        assert_eq!(document["moves_times"], 3);
    }

    #[test]
    fn a_process_tells_the_last_plans_that_moved_its_activities() {
        let plans = explained(
            |of| moves::lines(of.status),
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
