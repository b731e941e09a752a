//! Probes: where files are to cross machines of whose links nothing is known, the machines fetch a few bytes from each
//! other. Nothing waits for that: a slow link that is known in time is planned with, and otherwise the first file that
//! crosses it tells.

use std::collections::BTreeMap;

use model::{Definition, Mono, ResourceId, Source};

use super::Market;
use crate::limits;

/// The machines that were asked, and those that are to be.
#[derive(Debug, Default)]
pub(super) struct Probes {
    asked: BTreeMap<ResourceId, Mono>,
    /// By the machine that is to fetch, the machine that is to give.
    wanted: BTreeMap<ResourceId, ResourceId>,
}

impl Probes {
    /// Notes that links of these machines are to be measured, each with the next one, as far as nothing is known and
    /// nobody was asked lately. A machine that is far slower than others is told apart from its peers by their other
    /// links.
    fn want(&mut self, machines: &[ResourceId], is_known: impl Fn(ResourceId) -> bool, now: Mono) {
        self.asked
            .retain(|_, at| now.since(*at) < limits::PROBE_EACH);
        let next = machines.iter().cycle().skip(1);
        for (&machine, &peer) in machines.iter().zip(next) {
            let was_asked = self.asked.contains_key(&machine) || is_known(machine);
            if machine == peer || was_asked || self.wanted.len() >= limits::PROBES_AT_ONCE {
                continue;
            }
            self.wanted.insert(machine, peer);
            self.asked.insert(machine, now);
        }
    }
}

impl Market {
    /// A process with this definition is planned on these machines, which pass files to each other.
    pub(super) fn want_probes(
        &mut self,
        definition: &Definition,
        machines: &[ResourceId],
        now: Mono,
    ) {
        let ways = &self.ways;
        let is_known = |machine| ways.knows(machine);
        if machines.iter().all(|&one| is_known(one)) || !passes_files(definition) {
            return;
        }
        self.probes.want(machines, is_known, now);
    }

    /// The links to be measured: the machine that fetches, and the one that gives.
    pub(crate) fn take_probes(&mut self) -> BTreeMap<ResourceId, ResourceId> {
        std::mem::take(&mut self.probes.wanted)
    }
}

/// Returns true if an activity reads what another one has made.
fn passes_files(definition: &Definition) -> bool {
    let all = definition.activities().iter();
    let inputs = all
        .filter_map(|&id| definition.activity_as_written(id))
        .flat_map(|activity| &activity.inputs);
    inputs
        .map(|input| &input.source)
        .any(|source| matches!(source, Source::Output { .. } | Source::Pick(_)))
}

#[cfg(test)]
mod tests {
    use model::Span;

    use super::*;

    const NONE: [ResourceId; 0] = [];

    fn ids(numbers: &[u32]) -> Vec<ResourceId> {
        numbers.iter().map(|&one| ResourceId::local(one)).collect()
    }

    /// The links that are wanted among these machines at a time, by numbers.
    fn wanted(probes: &mut Probes, machines: &[u32], known: &[u32], at: Mono) -> Vec<(u32, u32)> {
        let known = ids(known);
        probes.want(&ids(machines), |one| known.contains(&one), at);
        let wanted = std::mem::take(&mut probes.wanted);
        let numbers = wanted
            .into_iter()
            .map(|(one, peer)| (one.number, peer.number));
        numbers.collect()
    }

    #[test]
    fn machines_of_which_nothing_is_known_fetch_from_the_next_one() {
        let mut probes = Probes::default();
        let start = Mono(1);
        let links = wanted(&mut probes, &[1, 2, 3, 4], &[2], start);
        assert_eq!(links, [(1, 2), (3, 4), (4, 1)]);
        // A probe may be lost; it is asked for again with a process that is planned much later.
        let soon = start + Span::from_secs(1);
        assert_eq!(wanted(&mut probes, &[1, 2, 3, 5], &[2], soon), [(5, 1)]);
        let later = start + limits::PROBE_EACH;
        assert_eq!(wanted(&mut probes, &[1, 2], &[2], later), [(1, 2)]);
    }

    #[test]
    fn a_machine_alone_and_a_large_group_are_bounded() {
        let mut probes = Probes::default();
        assert_eq!(wanted(&mut probes, &[1], &[], Mono(1)), []);
        probes.want(&NONE, |_| false, Mono(1));
        let all: Vec<u32> = (0..1_000).collect();
        let links = wanted(&mut probes, &all, &[], Mono(1));
        assert_eq!(links.len(), limits::PROBES_AT_ONCE);
        assert!(probes.asked.len() <= limits::PROBES_AT_ONCE);
    }
}
