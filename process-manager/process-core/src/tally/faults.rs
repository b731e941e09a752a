//! The names of faults as labels: a bounded number, whatever processes throw.

use model::FaultName;

/// The labels of faults. A name given by `throw` counts as `thrown`, since users make it up.
pub const FAULTS: [&str; 16] = [
    "exit-code",
    "timeout",
    "lost",
    "outcome-unknown",
    "no-resource",
    "missing-output",
    "expression",
    "too-many-iterations",
    "too-large",
    "cancelled",
    "out-of-memory",
    "not-started",
    "staging",
    "thrown",
    "disk-full",
    "too-few-items",
];

/// The place of a name among the labels.
pub(super) fn place(name: &FaultName) -> usize {
    match name {
        FaultName::ExitCode => 0,
        FaultName::Timeout => 1,
        FaultName::Lost => 2,
        FaultName::OutcomeUnknown => 3,
        FaultName::NoResource => 4,
        FaultName::MissingOutput => 5,
        FaultName::Expression => 6,
        FaultName::TooManyIterations => 7,
        FaultName::TooLarge => 8,
        FaultName::Cancelled => 9,
        FaultName::OutOfMemory => 10,
        FaultName::NotStarted => 11,
        FaultName::Staging => 12,
        FaultName::Thrown(_) => 13,
        FaultName::DiskFull => 14,
        FaultName::TooFewItems => 15,
    }
}

#[test]
fn a_label_is_the_name_that_users_see() {
    let names = [
        FaultName::ExitCode,
        FaultName::Timeout,
        FaultName::Lost,
        FaultName::OutcomeUnknown,
        FaultName::NoResource,
        FaultName::MissingOutput,
        FaultName::Expression,
        FaultName::TooManyIterations,
        FaultName::TooLarge,
        FaultName::Cancelled,
        FaultName::OutOfMemory,
        FaultName::NotStarted,
        FaultName::Staging,
        FaultName::DiskFull,
        FaultName::TooFewItems,
    ];
    for name in names {
        assert_eq!(FAULTS[place(&name)], name.to_string());
    }
    let thrown = FaultName::Thrown("no \"such\" {sample}".to_owned());
    assert_eq!(FAULTS[place(&thrown)], "thrown");
}
