//! Identities of daemons and persons, as certificates name them; each request is authorized by one.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// The purpose of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// A group manager.
    Gm,
    /// A process manager.
    Pm,
    /// An activity manager.
    Am,
    /// Somebody who submits processes and sees their own.
    User,
    /// Somebody who administers a group.
    Admin,
}

impl Role {
    /// All of them.
    pub const ALL: [Role; 5] = [Role::Gm, Role::Pm, Role::Am, Role::User, Role::Admin];

    /// The word that stands in certificates, tokens and configurations.
    pub const fn word(self) -> &'static str {
        match self {
            Role::Gm => "gm",
            Role::Pm => "pm",
            Role::Am => "am",
            Role::User => "user",
            Role::Admin => "admin",
        }
    }

    /// True if it is a manager's and not a person's.
    pub const fn is_manager(self) -> bool {
        match self {
            Role::Gm | Role::Pm | Role::Am => true,
            Role::User | Role::Admin => false,
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl FromStr for Role {
    type Err = IdentityError;

    fn from_str(text: &str) -> Result<Role, IdentityError> {
        Role::ALL
            .into_iter()
            .find(|role| role.word() == text)
            .ok_or_else(|| IdentityError::Role(text.chars().take(NAME_BYTES_MAX).collect()))
    }
}

/// One holder of a certificate: unique in its grid. Written as `xav://grid/group/role/name`, and with
/// `~2` behind it for the second holder of the name, who has nothing of what the first one has.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity {
    grid: String,
    group: String,
    role: Role,
    name: String,
    /// The number of the holder of the name, from 1.
    holder: u32,
}

/// Bytes of the longest name in an identity, as in a host name's part.
pub const NAME_BYTES_MAX: usize = 63;

/// Before the names of a written identity.
const SCHEME: &str = "xav://";

/// Between a name and the number of its holder.
const HOLDER: char = '~';

impl Identity {
    /// The identity with these names, each of 1 to 63 characters: `a` to `z`, digits, and after the
    /// first also `-`, `_` and `.`.
    pub fn new(grid: &str, group: &str, role: Role, name: &str) -> Result<Identity, IdentityError> {
        Ok(Identity {
            grid: checked("grid", grid)?,
            group: checked("group", group)?,
            role,
            name: checked("name", name)?,
            holder: 1,
        })
    }

    /// The same name, for its n-th holder; 0 is taken for 1.
    pub fn of_holder(self, holder: u32) -> Identity {
        let holder = holder.max(1);
        Identity { holder, ..self }
    }

    /// The grid, which may be several groups.
    pub fn grid(&self) -> &str {
        &self.grid
    }

    /// The group whose authority vouches for it.
    pub fn group(&self) -> &str {
        &self.group
    }

    /// Its role.
    pub const fn role(&self) -> Role {
        self.role
    }

    /// Its own name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The number of the holder among those of its name, from 1.
    pub const fn holder(&self) -> u32 {
        self.holder
    }

    /// Its name, which no other holder shares: `ana`, and `ana~2` for the second one of the name.
    pub fn label(&self) -> String {
        match self.holder {
            1 => self.name.clone(),
            holder => format!("{}{HOLDER}{holder}", self.name),
        }
    }

    /// True if both have the same name, even as different holders of it. A program that dials a
    /// manager knows its name alone.
    pub fn has_name_of(&self, other: &Identity) -> bool {
        (&self.grid, &self.group, self.role, &self.name)
            == (&other.grid, &other.group, other.role, &other.name)
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Identity {
            grid,
            group,
            role,
            name: _,
            holder: _,
        } = self;
        write!(f, "{SCHEME}{grid}/{group}/{role}/{}", self.label())
    }
}

impl FromStr for Identity {
    type Err = IdentityError;

    fn from_str(text: &str) -> Result<Identity, IdentityError> {
        let form = || IdentityError::Form(text.chars().take(4 * NAME_BYTES_MAX).collect());
        let rest = text.strip_prefix(SCHEME).ok_or_else(form)?;
        let mut parts = rest.split('/');
        let (Some(grid), Some(group), Some(role), Some(name), None) = (
            parts.next(),
            parts.next(),
            parts.next(),
            parts.next(),
            parts.next(),
        ) else {
            return Err(form());
        };
        let (name, holder) = match name.split_once(HOLDER) {
            None => (name, 1),
            Some((name, number)) => {
                let holder = number.parse().ok().filter(|holder: &u32| *holder > 1);
                let holder = holder.filter(|holder| holder.to_string() == number);
                (name, holder.ok_or_else(form)?)
            }
        };
        Ok(Identity::new(grid, group, role.parse()?, name)?.of_holder(holder))
    }
}

/// Why a text is nobody's identity.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum IdentityError {
    /// A name has other characters than it may have, or is too long.
    #[error(
        "the {what} cannot be {name:?}: 1 to {NAME_BYTES_MAX} characters of a to z and 0 to 9, \
         and after the first also -, _ and ."
    )]
    Name {
        /// The kind of the name.
        what: &'static str,
        /// Its beginning.
        name: String,
    },
    /// There is no such role.
    #[error("there is no role {0:?}: roles are gm, pm, am, user and admin")]
    Role(String),
    /// It has other parts.
    #[error("{0:?} is not of the form xav://grid/group/role/name")]
    Form(String),
}

fn checked(what: &'static str, name: &str) -> Result<String, IdentityError> {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let mut bytes = name.bytes();
    let is_good = name.len() <= NAME_BYTES_MAX
        && bytes.next().is_some_and(is_plain)
        && bytes.all(|byte| is_plain(byte) || b"-_.".contains(&byte));
    if is_good {
        Ok(name.to_owned())
    } else {
        let name = name.chars().take(NAME_BYTES_MAX + 1).collect();
        Err(IdentityError::Name { what, name })
    }
}

#[cfg(test)]
mod tests;
