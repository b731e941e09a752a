//! Cache keys of activities: if two runs have the same key, one may reuse the recorded outcome of
//! the other.
//!
//! A key is made of the command, environment, stdin, inputs and outputs. Resources (cores, memory,
//! labels, timeout, retries, work) are not part of it, nor is any name or number of a process, an
//! activity or a machine.

use minicbor::Encode;
use model::{Activity, Artifact, Hash, Parse};
use wire::attempt::Dispatch;

use crate::enact::message::{ACTIVITY_VARIABLE, ATTEMPT_VARIABLE, PROCESS_VARIABLE};
use crate::record::CacheKey;

/// Variables of the environment that name the attempt: they differ from run to run.
const OWN: [&str; 3] = [PROCESS_VARIABLE, ACTIVITY_VARIABLE, ATTEMPT_VARIABLE];

/// Returns true if a variable of the environment names the attempt.
pub(super) fn is_own(variable: &str) -> bool {
    OWN.contains(&variable)
}

impl CacheKey {
    /// The cache key of an activity as it is sent.
    pub(crate) fn of(activity: &Activity, dispatch: &Dispatch) -> CacheKey {
        let mut environment: Vec<&(String, String)> = dispatch
            .env
            .iter()
            .filter(|(name, _)| !is_own(name))
            .collect();
        environment.sort();
        let command = part(&dispatch.command);
        let environment = match &dispatch.activation {
            None => part((environment, &dispatch.stdin)),
            Some(activation) => part((environment, &dispatch.stdin, activation)),
        };
        let inputs = part(sorted(&dispatch.inputs));
        let outputs = part(taken(activity));
        let mut all = blake3::Hasher::new();
        for part in [command, environment, inputs, outputs] {
            all.update(&part);
        }
        CacheKey {
            key: Hash(*all.finalize().as_bytes()),
            command: short(command),
            environment: short(environment),
        }
    }
}

/// The outputs taken from an activity's directory, and the formats in which its streams are read.
pub(crate) fn taken(activity: &Activity) -> (&[model::Produced], Option<Parse>, Option<Parse>) {
    let read = |capture: Option<model::Capture>| capture.map(|capture| capture.parse);
    (
        &activity.outputs,
        read(activity.stdout),
        read(activity.stderr),
    )
}

/// Inputs in the order of their paths: the order of staging does not matter.
pub(crate) fn sorted(inputs: &[(String, Artifact)]) -> Vec<&(String, Artifact)> {
    let mut sorted: Vec<&(String, Artifact)> = inputs.iter().collect();
    sorted.sort_by(|one, other| one.0.cmp(&other.0));
    sorted
}

fn part(value: impl Encode<()>) -> [u8; 32] {
    let mut bytes = Vec::new();
    minicbor::encode(value, &mut bytes).expect("a Vec takes every byte");
    *blake3::hash(&bytes).as_bytes()
}

fn short(part: [u8; 32]) -> u32 {
    u32::from_le_bytes([part[0], part[1], part[2], part[3]])
}

#[cfg(test)]
mod tests;
