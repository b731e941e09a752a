//! Accounts of the slots of a machine, and the separation by accounts.

use activity_blobs::Placement;
use activity_executor::{Account, Accounts, RangeError};
use thiserror::Error;

/// Why a range cannot be used for a machine's slots.
#[derive(Debug, Error)]
pub(crate) enum SlotsError {
    /// It is no range of accounts.
    #[error(transparent)]
    Range(#[from] RangeError),
    /// There are fewer accounts than slots.
    #[error(
        "{n_slots} slots need {n_slots} accounts, and accounts = {range:?} has {n_accounts}: \
         name more, or lend fewer slots with slots = {n_accounts}"
    )]
    Few {
        /// The range.
        range: String,
        /// The number of its accounts.
        n_accounts: usize,
        /// The machine's slots.
        n_slots: u32,
    },
}

/// Accounts that attempts get one by one; each slot needs one.
pub(crate) fn accounts_of_slots(range: &str, n_slots: u32) -> Result<Accounts, SlotsError> {
    let of_slots = Account::of_range(range)?;
    if of_slots.len() < n_slots as usize {
        return Err(SlotsError::Few {
            range: range.to_owned(),
            n_accounts: of_slots.len(),
            n_slots,
        });
    }
    Ok(Accounts {
        of_slots,
        ..Accounts::default()
    })
}

/// Links to the store are only for commands that cannot write through them.
#[derive(Debug, Error)]
#[error(
    "inputs = \"link\" needs commands that run as other accounts than the manager (account or \
     accounts): these could write to files that other activities read"
)]
pub(crate) struct LinksNeedAccounts;

/// Refuses links as inputs of commands that run as the manager does.
pub(crate) fn approve_inputs(
    inputs: Placement,
    accounts: &Accounts,
) -> Result<(), LinksNeedAccounts> {
    match inputs {
        Placement::ReadOnlyLink if accounts.iter().next().is_none() => Err(LinksNeedAccounts),
        Placement::ReadOnlyLink | Placement::Copy => Ok(()),
    }
}

/// The separation by accounts, as shown by `xav nodes NAME`.
pub(crate) fn told(accounts: &Accounts) -> &'static str {
    if !accounts.of_slots.is_empty() {
        "one for each attempt, which keeps users from each other"
    } else if !accounts.of_users.is_empty() {
        "one for each user, which keeps users from each other"
    } else if accounts.others.is_some() {
        "one for all commands, which keeps users from the manager and not from each other"
    } else {
        "the manager's own, which keeps users neither from it nor from each other"
    }
}

#[test]
fn links_to_the_store_need_accounts() {
    let shared = Accounts::default();
    approve_inputs(Placement::Copy, &shared).unwrap();
    approve_inputs(Placement::ReadOnlyLink, &shared).unwrap_err();
    let separate = accounts_of_slots("70000..70002", 2).unwrap();
    approve_inputs(Placement::ReadOnlyLink, &separate).unwrap();
}

#[test]
fn a_range_with_fewer_accounts_than_slots_is_refused_and_says_how_many() {
    let refused = accounts_of_slots("70000..70002", 4).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "4 slots need 4 accounts, and accounts = \"70000..70002\" has 3: \
         name more, or lend fewer slots with slots = 3"
    );
    for n_slots in [0, 3] {
        let accounts = accounts_of_slots("70000..70002", n_slots).unwrap();
        assert_eq!(accounts.of_slots.len(), 3);
    }
}
