//! Seeds of what is drawn: one of its own for each purpose, repetition and point of a study, so that
//! an experiment may be repeated in part, in any order and on any number of threads.

use schedule::random::Random;

/// The thing that is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The fifteen trees of a study.
    Trees = 1,
    /// The works and messages of one graph.
    Costs = 2,
    /// The machines of one platform.
    Machines = 3,
    /// The parts of the machines that others take.
    Load = 4,
}

/// The seed of a purpose at a place, which is a list of numbers such as setting, groups,
/// repetition and graph.
pub fn seed(study: u64, purpose: Purpose, place: &[u64]) -> u64 {
    place
        .iter()
        .fold(mixed(study, purpose as u64), |state, &number| {
            mixed(state, number)
        })
}

fn mixed(state: u64, number: u64) -> u64 {
    // Two steps of the generator part numbers that differ in one bit.
    let first = half(&mut Random::new(state ^ number.rotate_left(32)));
    let mut random = Random::new(state.rotate_left(17) ^ number ^ first);
    half(&mut random) << 32 | half(&mut random)
}

fn half(random: &mut Random) -> u64 {
    random.below(1 << 32) as u64
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_purpose_and_place_has_a_seed_of_its_own() {
        let mut seeds = BTreeSet::new();
        let purposes = [
            Purpose::Trees,
            Purpose::Costs,
            Purpose::Machines,
            Purpose::Load,
        ];
        for study in 0..4 {
            for purpose in purposes {
                for setting in 0..10 {
                    for repetition in 0..100 {
                        seeds.insert(seed(study, purpose, &[setting, repetition]));
                    }
                }
            }
        }
        assert_eq!(seeds.len(), 4 * 4 * 10 * 100);
        assert_eq!(
            seed(1, Purpose::Load, &[2, 3]),
            seed(1, Purpose::Load, &[2, 3])
        );
    }
}
