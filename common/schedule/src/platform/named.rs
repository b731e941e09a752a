//! Platforms from what users write.

use model::Platform;
use thiserror::Error;

use super::{MessageCost, ReferenceError, ReferenceNetwork, paper, reference};
use crate::dag::Dag;

/// Why a name stands for no platform.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum NamedError {
    /// A name of another form.
    #[error(
        "{0:?} names no platform; there are reference:8:lan, reference:64:ccr1 and the like (8, 64 or 512 machines; lan or ccr and a number) and paper:10:7 (groups and seed, then low, medium or high)"
    )]
    Unknown(String),
    /// A part of a name that is not what is wanted there.
    #[error("{given:?} is not {wanted}")]
    Part {
        /// The part as given.
        given: String,
        /// The expected form.
        wanted: &'static str,
    },
    /// A number of machines or a network that there is no reference platform of.
    #[error("there is no such platform")]
    Reference(#[source] ReferenceError),
}

/// The platform that users call by a name: `reference:64:lan`, `reference:512:ccr0.5`,
/// `paper:10:7`, `paper:10:7:high`. Bandwidths follow from the graph where the name gives a ratio
/// of messages to work (`ccr`, and all of `paper`).
pub fn named(spec: &str, dag: &Dag) -> Result<Platform, NamedError> {
    let parts: Vec<&str> = spec.split(':').collect();
    match parts[..] {
        ["reference", hosts, network] => {
            let hosts = number(hosts, "a number of machines: 8, 64 or 512")?;
            let network = ReferenceNetwork::named(network).ok_or_else(|| NamedError::Part {
                given: network.to_owned(),
                wanted: "a network: lan, or ccr and a number above 0, as in ccr10",
            })?;
            reference(hosts, network, dag).map_err(NamedError::Reference)
        }
        ["paper", groups, seed] => of_paper(groups, seed, MessageCost::Medium, dag),
        ["paper", groups, seed, messages] => {
            let cost = MessageCost::named(messages).ok_or_else(|| NamedError::Part {
                given: messages.to_owned(),
                wanted: "a cost of messages: low, medium or high",
            })?;
            of_paper(groups, seed, cost, dag)
        }
        _ => Err(NamedError::Unknown(spec.to_owned())),
    }
}

fn of_paper(
    groups: &str,
    seed: &str,
    messages: MessageCost,
    dag: &Dag,
) -> Result<Platform, NamedError> {
    const WANTED: &str = "a number of groups from 1 to 1000";
    let count: u32 = number(groups, WANTED)?;
    let seed: u64 = number(seed, "a seed: a number from 0 up")?;
    let bandwidth = match super::means(dag) {
        Some((data, work)) => data / (work * messages.ratio()),
        None => 1.0,
    };
    paper(count, seed, bandwidth).ok_or_else(|| NamedError::Part {
        given: groups.to_owned(),
        wanted: WANTED,
    })
}

fn number<T: std::str::FromStr>(given: &str, wanted: &'static str) -> Result<T, NamedError> {
    given.parse().map_err(|_| NamedError::Part {
        given: given.to_owned(),
        wanted,
    })
}
