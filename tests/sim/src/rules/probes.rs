//! Probes: a machine whose links are not known fetches a few bytes from few others, once in ten minutes for each process
//! manager that wants to know.

use std::collections::BTreeMap;

use model::{Mono, Span};
use simulator::Seen;
use wire::attempt::{PROBES_MAX, ToActivity};

use super::{Judged, Rule};
use crate::known::Known;

/// Time in which a machine is asked once.
const EACH: Span = Span::from_secs(600);

/// The machines that were asked.
#[derive(Debug, Default)]
pub(super) struct Probes {
    asked: BTreeMap<usize, Vec<Mono>>,
    /// Beginnings of process managers: each forgets whom those before have asked.
    n_begun: usize,
    runs: BTreeMap<usize, bool>,
}

impl Rule for Probes {
    fn see(&mut self, known: &Known, seen: &Seen<'_>, judged: &mut Judged) -> Result<(), String> {
        match seen {
            Seen::Managers {
                manager, process, ..
            } => {
                let before = self.runs.insert(*manager, *process);
                self.n_begun += usize::from(*process && before != Some(true));
            }
            Seen::ToActivity(machine, ToActivity::Probe(peers)) => {
                judged.count();
                if peers.len() > PROBES_MAX {
                    let n = peers.len();
                    return Err(format!("machine {machine} is to fetch from {n} others"));
                }
                let asked = self.asked.entry(*machine).or_default();
                asked.retain(|at| known.at.since(*at) < EACH);
                asked.push(known.at);
                // A machine may have had another number, of which nothing was known.
                let numbers = known.machines.values().filter(|one| *one == machine);
                let most = self.n_begun.max(1) * numbers.count().max(1);
                if asked.len() > most {
                    return Err(format!(
                        "machine {machine} is asked for the speed of its links at {asked:?}"
                    ));
                }
            }
            _ => {}
        }
        Ok(())
    }
}
