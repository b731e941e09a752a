//! Accounts by slot, as a configuration names them: `"xav-1..xav-8"` or `"70000..70007"`, both ends
//! included.

use std::path::PathBuf;

use thiserror::Error;

use crate::account::{Account, AccountError, account_of_number};

/// Maximum number of accounts of one range: more slots than any machine has.
const ACCOUNTS_MAX: u32 = 4_096;

/// Why a range is invalid.
#[derive(Debug, Error)]
pub enum RangeError {
    /// It has another form.
    #[error("{0:?} is not a range of accounts: write \"xav-1..xav-8\" or \"70000..70007\"")]
    Form(String),
    /// The last is before the first, or there are too many.
    #[error("{0:?} has to have 1 to {ACCOUNTS_MAX} accounts")]
    Number(String),
    /// A number of it belongs to an account, whose own processes and files would be removed.
    #[error("user {user} of {range:?} is the account {name:?}: take numbers that nobody has")]
    Taken {
        /// The range.
        range: String,
        /// The number.
        user: u32,
        /// The account's name.
        name: String,
    },
    /// Two of its accounts have the same number.
    #[error("{range:?} has user {user} twice")]
    Twice {
        /// The range.
        range: String,
        /// The number.
        user: u32,
    },
    /// One of its accounts cannot be used.
    #[error(transparent)]
    Account(#[from] AccountError),
}

impl Account {
    /// The accounts of a range. Numbers alone are users without an account, each with the group of the
    /// same number.
    pub fn of_range(range: &str) -> Result<Vec<Account>, RangeError> {
        let form = || RangeError::Form(range.to_owned());
        let (first, last) = range.split_once("..").ok_or_else(form)?;
        let ((prefix, first_digits), (other, last_digits)) = (split(first), split(last));
        let number = |digits: &str| digits.parse::<u32>().map_err(|_| form());
        let (first, last) = (number(first_digits)?, number(last_digits)?);
        if prefix != other {
            return Err(form());
        }
        if last < first || last - first >= ACCOUNTS_MAX {
            return Err(RangeError::Number(range.to_owned()));
        }
        // "01" is followed by "02".
        let width = first_digits.len();
        let numbers = first..=last;
        let accounts: Vec<Account> = if prefix.is_empty() {
            numbers
                .map(|user| numbered(range, user))
                .collect::<Result<_, _>>()?
        } else {
            let names = numbers.map(|number| format!("{prefix}{number:0width$}"));
            names
                .map(|name| Account::named(&name))
                .collect::<Result<_, _>>()?
        };
        let mut users: Vec<u32> = accounts.iter().map(|account| account.user).collect();
        users.sort_unstable();
        match users.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(RangeError::Twice {
                range: range.to_owned(),
                user: pair[0],
            }),
            None => Ok(accounts),
        }
    }
}

fn numbered(range: &str, user: u32) -> Result<Account, RangeError> {
    let name = user.to_string();
    // The last number stands for none in system calls.
    if user == 0 || user == u32::MAX {
        return Err(AccountError::Root(name).into());
    }
    if let Some(owner) = account_of_number(user)? {
        return Err(RangeError::Taken {
            range: range.to_owned(),
            user,
            name: owner,
        });
    }
    Ok(Account {
        name,
        user,
        group: user,
        others: Vec::new(),
        home: PathBuf::from("/"),
    })
}

/// Splits a name into its stem and the digits at its end.
fn split(name: &str) -> (&str, &str) {
    let prefix = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
    (prefix, &name[prefix.len()..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_users_without_an_account() {
        let accounts = Account::of_range("70000..70007").unwrap();
        assert_eq!(accounts.len(), 8);
        assert_eq!((accounts[7].user, accounts[7].group), (70_007, 70_007));
        assert_eq!(Account::of_range("70000..70000").unwrap().len(), 1);
    }

    #[test]
    fn a_range_that_is_none_is_refused_with_what_is_wrong() {
        let refused = |range: &str| Account::of_range(range).unwrap_err().to_string();
        for odd in [
            "", "xav", "xav-1", "xav-1..", "..xav-8", "a-1..b-8", "x..y", "1..b-8",
        ] {
            assert!(refused(odd).contains("is not a range of accounts"), "{odd}");
        }
        for odd in ["70007..70000", "70000..80000"] {
            assert!(refused(odd).contains("1 to 4096 accounts"), "{odd}");
        }
        assert!(refused("0..3").contains("which is root"));
        assert!(refused("1..3").contains("take numbers that nobody has"));
        assert!(refused("no-such-1..no-such-2").contains("\"no-such-1\""));
    }
}
