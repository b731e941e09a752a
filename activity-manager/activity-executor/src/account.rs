//! The accounts of commands if the executor is root: other accounts, never root.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// The files of accounts and groups. Accounts of a directory service are not supported.
const ACCOUNTS: &str = "/etc/passwd";
const GROUPS: &str = "/etc/group";

/// Maximum number of supplementary groups of an account; the kernel permits 65,536.
const GROUPS_MAX: usize = 1_024;

/// An account of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Its name.
    pub name: String,
    /// Its number; never 0.
    pub user: u32,
    /// The number of its own group; never 0.
    pub group: u32,
    /// The numbers of its other groups.
    pub others: Vec<u32>,
    /// Its home directory.
    pub home: PathBuf,
}

/// Why an account cannot be used.
#[derive(Debug, Error)]
pub enum AccountError {
    /// There is no account of this name.
    #[error("there is no account {0:?} in {ACCOUNTS}")]
    Unknown(String),
    /// The account is root, or in root's group.
    #[error("commands do not run as the account {0:?}, which is root or of root's group")]
    Root(String),
    /// The system's files cannot be read.
    #[error("could not read {path}")]
    Read {
        /// The file.
        path: &'static str,
        /// The system's error.
        #[source]
        source: io::Error,
    },
}

impl Account {
    /// The account of this name.
    pub fn named(name: &str) -> Result<Account, AccountError> {
        let read = |path: &'static str| {
            fs::read_to_string(path).map_err(|source| AccountError::Read { path, source })
        };
        Account::of(name, &read(ACCOUNTS)?, &read(GROUPS)?)
    }

    fn of(name: &str, accounts: &str, groups: &str) -> Result<Account, AccountError> {
        let unknown = || AccountError::Unknown(name.to_owned());
        let line = accounts.lines().map(|line| line.split(':'));
        let found = line.map(Iterator::collect::<Vec<&str>>);
        let found = found
            .into_iter()
            .find(|fields| fields.first() == Some(&name));
        let fields = found.ok_or_else(unknown)?;
        let number = |index: usize| -> Option<u32> { fields.get(index)?.parse().ok() };
        let (user, group) = number(2).zip(number(3)).ok_or_else(unknown)?;
        if user == 0 || group == 0 {
            return Err(AccountError::Root(name.to_owned()));
        }
        let mut others: Vec<u32> = groups
            .lines()
            .filter_map(|line| {
                let fields: Vec<&str> = line.split(':').collect();
                let is_member = fields.get(3)?.split(',').any(|member| member == name);
                fields.get(2)?.parse().ok().filter(|_| is_member)
            })
            // Members of root's group are refused too.
            .filter(|&other| other != 0 && other != group)
            .collect();
        others.truncate(GROUPS_MAX);
        Ok(Account {
            name: name.to_owned(),
            user,
            group,
            others,
            home: PathBuf::from(fields.get(5).copied().unwrap_or("/")),
        })
    }

    /// The account as an argument of the executor.
    fn argument(&self) -> String {
        argument(self.user, self.group, &self.others)
    }
}

fn argument(user: u32, group: u32, others: &[u32]) -> String {
    let mut text = format!("{user}:{group}:");
    for (index, other) in others.iter().enumerate() {
        let comma = if index > 0 { "," } else { "" };
        write!(text, "{comma}{other}").expect("a String takes every text");
    }
    text
}

/// The name of the account that has a number.
pub(crate) fn account_of_number(user: u32) -> Result<Option<String>, AccountError> {
    let accounts = fs::read_to_string(ACCOUNTS).map_err(|source| AccountError::Read {
        path: ACCOUNTS,
        source,
    })?;
    let mut lines = accounts.lines();
    Ok(lines.find_map(|line| {
        let mut fields = line.split(':');
        let (name, number) = (fields.next()?, fields.nth(1)?);
        (number.parse() == Ok(user)).then(|| name.to_owned())
    }))
}

/// The accounts of users' commands. By default all run as the executor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accounts<A = Account> {
    /// The account for other users' commands and those without a user; none if they are refused
    /// (when `of_users` has any), or run as the executor.
    pub others: Option<A>,
    /// The accounts by user name.
    pub of_users: BTreeMap<String, A>,
    /// Accounts that attempts get one by one: two concurrent attempts never share one. If there are
    /// any, the other fields are empty.
    pub of_slots: Vec<A>,
}

impl<A> Default for Accounts<A> {
    fn default() -> Accounts<A> {
        Accounts {
            others: None,
            of_users: BTreeMap::new(),
            of_slots: Vec::new(),
        }
    }
}

impl<A> Accounts<A> {
    /// All these accounts.
    pub fn iter(&self) -> impl Iterator<Item = &A> {
        let named = self.others.iter().chain(self.of_users.values());
        named.chain(&self.of_slots)
    }
}

impl Accounts {
    /// The accounts as arguments of the executor.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let others = self.others.iter();
        let others = others.flat_map(|account| ["--account".to_owned(), account.argument()]);
        let users = self.of_users.iter().flat_map(|(user, account)| {
            let value = format!("{user}={}", account.argument());
            ["--account-of".to_owned(), value]
        });
        let slots = self.of_slots.iter().flat_map(|account| {
            let value = format!("{}={}", account.name, account.argument());
            ["--account-of-slot".to_owned(), value]
        });
        others.chain(users).chain(slots).collect()
    }
}

impl Accounts<Lendable> {
    /// Parses an argument for all others. Returns false if it is invalid, or root.
    pub(crate) fn parse_others(&mut self, text: &str) -> bool {
        let numbers = Numbers::parse(text);
        self.others = numbers.map(|numbers| Lendable {
            name: String::new(),
            numbers,
        });
        self.others.is_some()
    }

    /// Parses an argument for a user.
    pub(crate) fn parse_of_user(&mut self, text: &str) -> bool {
        let parsed = Lendable::parse(text);
        let user = parsed.map(|one| self.of_users.insert(one.name.clone(), one));
        user.is_some()
    }

    /// Parses an argument for the attempts of a slot.
    pub(crate) fn parse_of_slot(&mut self, text: &str) -> bool {
        let parsed = Lendable::parse(text);
        parsed.map(|one| self.of_slots.push(one)).is_some()
    }

    /// The account of a user's commands, none for the executor's own; an error if the user's
    /// commands are refused.
    pub(crate) fn of(&self, user: Option<&str>) -> Result<Option<&Numbers>, String> {
        let own = user.and_then(|user| self.of_users.get(user));
        match own.or(self.others.as_ref()) {
            Some(found) => Ok(Some(&found.numbers)),
            None if self.of_users.is_empty() => Ok(None),
            None => {
                let user = user.unwrap_or("nobody");
                Err(format!("there is no account for user {user:?} here"))
            }
        }
    }
}

/// An account of the executor: its name, or that of the user whose commands run as it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lendable {
    pub(crate) name: String,
    pub(crate) numbers: Numbers,
}

impl Lendable {
    fn parse(text: &str) -> Option<Lendable> {
        let (name, numbers) = text.split_once('=')?;
        let numbers = Numbers::parse(numbers)?;
        let name = name.to_owned();
        Some(Lendable { name, numbers })
    }
}

/// The ids of an account that the executor needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Numbers {
    pub(crate) user: u32,
    pub(crate) group: u32,
    pub(crate) others: Vec<u32>,
}

impl Numbers {
    /// The argument that [`Numbers::parse`] reads.
    pub(crate) fn argument(&self) -> String {
        argument(self.user, self.group, &self.others)
    }

    /// Parses an argument; none if it is invalid, or root.
    pub(crate) fn parse(text: &str) -> Option<Numbers> {
        let mut parts = text.split(':');
        let (user, group, others) = (parts.next()?, parts.next()?, parts.next()?);
        let others: Option<Vec<u32>> = others
            .split(',')
            .filter(|other| !other.is_empty())
            .map(|other| other.parse().ok())
            .collect();
        let numbers = Numbers {
            user: user.parse().ok()?,
            group: group.parse().ok()?,
            others: others?,
        };
        let is_root = numbers.user == 0 || numbers.group == 0 || numbers.others.contains(&0);
        (parts.next().is_none() && !is_root).then_some(numbers)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const ACCOUNTS: &str = "root:x:0:0:root:/r:/bin/sh\nada:x:1000:1000:Ada,,,:/h/ada:/bin/sh\n\
                            toor:x:7:0::/t:\nodd:x:a:b::/:\n";
    const GROUPS: &str = "root:x:0:ada\ndisk:x:6:ada,bob\nada:x:1000:ada\nvideo:x:44:bob\n";

    #[test]
    fn an_account_is_found_and_is_not_root() {
        let ada = Account::of("ada", ACCOUNTS, GROUPS).unwrap();
        assert_eq!(
            (ada.user, ada.group, &ada.others[..]),
            (1000, 1000, &[6][..])
        );
        assert_eq!(ada.home, Path::new("/h/ada"));
        assert_eq!(ada.argument(), "1000:1000:6");
        for root in ["root", "toor"] {
            let found = Account::of(root, ACCOUNTS, GROUPS);
            assert!(matches!(found, Err(AccountError::Root(_))), "{root}");
        }
        for nobody in ["bob", "odd", "", "ada:x"] {
            let found = Account::of(nobody, ACCOUNTS, GROUPS);
            assert!(matches!(found, Err(AccountError::Unknown(_))), "{nobody}");
        }
    }

    #[test]
    fn each_user_has_an_account_or_that_of_the_others_or_none() {
        let ada = Account::of("ada", ACCOUNTS, GROUPS).unwrap();
        let other = Account {
            user: 7,
            ..ada.clone()
        };
        let users = BTreeMap::from([("ana".to_owned(), ada)]);
        let read = |accounts: &Accounts| {
            let mut read: Accounts<Lendable> = Accounts::default();
            for pair in accounts.arguments().chunks(2) {
                assert!(match pair[0].as_str() {
                    "--account" => read.parse_others(&pair[1]),
                    "--account-of" => read.parse_of_user(&pair[1]),
                    _ => read.parse_of_slot(&pair[1]),
                });
            }
            read
        };
        let named = read(&Accounts {
            of_users: users.clone(),
            ..Accounts::default()
        });
        assert_eq!(named.of(Some("ana")).unwrap().unwrap().user, 1000);
        assert!(named.of(Some("bo")).unwrap_err().contains("\"bo\""));
        assert!(named.of(None).is_err());
        let all = read(&Accounts {
            others: Some(other.clone()),
            of_users: users,
            ..Accounts::default()
        });
        assert_eq!(all.of(Some("ana")).unwrap().unwrap().user, 1000);
        assert_eq!(all.of(Some("bo")).unwrap().unwrap().user, 7);
        assert_eq!(read(&Accounts::default()).of(Some("bo")), Ok(None));
        let slots = read(&Accounts {
            of_slots: vec![other],
            ..Accounts::default()
        });
        assert_eq!(slots.of_slots[0].name, "ada");
        assert_eq!(slots.of_slots[0].numbers.user, 7);
        assert!(!Accounts::default().parse_of_user("ana=0:0:"));
        assert!(!Accounts::default().parse_of_user("1:1:"));
    }

    #[test]
    fn an_argument_is_read_as_it_is_written_and_root_is_refused() {
        let numbers = Numbers::parse("1000:1000:6,44").unwrap();
        assert_eq!(numbers.others, [6, 44]);
        assert_eq!(Numbers::parse("5:6:").unwrap().others, []);
        for odd in [
            "0:5:", "5:0:", "5:6:0", "5:6", "5:6:7:8", "a:6:", "5:6:x", "-1:6:",
        ] {
            assert_eq!(Numbers::parse(odd), None, "{odd}");
        }
    }
}
