//! What a group manager does with its authority: lets members in, renews, revokes, and remembers.

use std::path::{Path, PathBuf};

use model::{Identity, IdentityError, Role, Span, Wall};
use thiserror::Error;

use super::authority::{Authority, AuthorityError, Issued};
use super::certificate::Serial;
use super::files::FileError;
use super::revocation::{Revocations, RevocationsError, Revoked};
use super::roll::{Roll, RollError, Signed};
use super::token::{JoinToken, TokenError, TokenId, Tokens, TokensError};

/// How long certificates last where nobody says otherwise: members renew theirs by themselves when
/// two thirds of it are over.
pub const CERTIFICATE_LIFE: Span = Span::from_secs(90 * 86_400);

/// How long an authority lasts: when it ends, the group is made anew.
pub const AUTHORITY_LIFE: Span = Span::from_secs(3_650 * 86_400);

/// How long a token may wait to be used.
const TOKEN_LIFE_MAX: Span = Span::from_secs(30 * 86_400);

/// How long a token that has expired is remembered, so that whoever comes late is told so.
const TOKEN_REMEMBERED: Span = Span::from_secs(7 * 86_400);

/// Bytes of the longest address: a host name, and a port.
const ADDRESS_BYTES_MAX: usize = 253 + 6;

/// The files in its directory, beside the authority's own.
const ROLL: &str = "certificates";
const REVOKED: &str = "revoked";
const TOKENS: &str = "tokens";

/// An authority with everything that it remembers, in a directory. What it answers is durable
/// before it answers. Times come in.
#[derive(Debug)]
pub struct Registrar {
    directory: PathBuf,
    authority: Authority,
    life: Span,
    roll: Roll,
    revocations: Revocations,
    tokens: Tokens,
}

/// A request to become a member.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// The token, by its id.
    pub token: TokenId,
    /// As what.
    pub role: Role,
    /// Under which name; the token's own where that has one.
    pub name: Option<&'a str>,
    /// Under which name where neither insists on one.
    pub otherwise: Option<&'a str>,
    /// The signing request, in DER.
    pub request: &'a [u8],
    /// Where others dial it.
    pub address: Option<&'a str>,
}

/// Why a registrar did not do what it was asked for.
#[derive(Debug, Error)]
pub enum RegistrarError {
    /// The authority cannot be used, or does not sign this.
    #[error(transparent)]
    Authority(#[from] AuthorityError),
    /// The list of certificates cannot be used.
    #[error(transparent)]
    Roll(#[from] RollError),
    /// What was revoked cannot be used.
    #[error(transparent)]
    Revocations(#[from] RevocationsError),
    /// The token does not let in, or tokens cannot be kept.
    #[error(transparent)]
    Tokens(#[from] TokensError),
    /// There is no such token to be made.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// A name cannot be one.
    #[error(transparent)]
    Name(#[from] IdentityError),
    /// A token gives more than it may.
    #[error("a join token is for the role am, pm or user, and not for {0}")]
    Role(Role),
    /// A token would wait for too long, or not at all.
    #[error("a join token can be used for at least a second and at most 30 days")]
    Lifetime,
    /// Whoever joins has not said its name, and the token has none.
    #[error("the join token is for no particular name: one must be given")]
    Nameless,
    /// The token is for somebody else.
    #[error("the join token is for the name {0:?}")]
    OtherName(String),
    /// There is a member of this name.
    #[error("there is a member {0} already: revoke its certificate first, or take another name")]
    Taken(Box<Identity>),
    /// The address is none.
    #[error("{0:?} is not a host and a port")]
    Address(String),
    /// The certificate is not one of this authority's, or counts no more.
    #[error("the certificate is not one that can be renewed")]
    NotRenewed,
    /// There is nothing to revoke.
    #[error(
        "there is no certificate of {0:?} that is valid: give a serial number, ROLE/NAME, or xav://..."
    )]
    Nobody(String),
    /// The group manager's own certificate.
    #[error("the group manager does not revoke its own certificate")]
    Own,
}

impl Registrar {
    /// A registrar of another authority than any before, in a directory that has none.
    pub fn create(directory: &Path, authority: Authority) -> Result<Registrar, RegistrarError> {
        authority.save(directory)?;
        Registrar::open(directory, CERTIFICATE_LIFE)
    }

    /// The registrar of a directory, which gives certificates of this life.
    pub fn open(directory: &Path, life: Span) -> Result<Registrar, RegistrarError> {
        Ok(Registrar {
            authority: Authority::load(directory)?,
            life,
            roll: Roll::load(&directory.join(ROLL))?,
            revocations: Revocations::load(&directory.join(REVOKED))?,
            tokens: Tokens::of(&directory.join(TOKENS)),
            directory: directory.to_owned(),
        })
    }

    /// Signs for somebody whom the administrator names, without a token.
    pub fn admit(
        &mut self,
        request: &[u8],
        identity: &Identity,
        address: Option<&str>,
        now: Wall,
    ) -> Result<Issued, RegistrarError> {
        let issued = self.authority.issue(request, identity, now, self.life)?;
        self.roll
            .add(&issued.certificate, address.map(str::to_owned))?;
        self.roll.save(&self.directory.join(ROLL), now)?;
        Ok(issued)
    }

    /// A token by which somebody can join once.
    pub fn create_token(
        &mut self,
        role: Role,
        name: Option<&str>,
        address: &str,
        (now, lifetime): (Wall, Span),
    ) -> Result<JoinToken, RegistrarError> {
        match role {
            Role::Am | Role::Pm | Role::User => {}
            Role::Gm | Role::Admin => return Err(RegistrarError::Role(role)),
        }
        if !(Span::from_secs(1)..=TOKEN_LIFE_MAX).contains(&lifetime) {
            return Err(RegistrarError::Lifetime);
        }
        if let Some(name) = name {
            self.identity(role, name)?;
        }
        self.tokens.clear(now, TOKEN_REMEMBERED)?;
        let (grid, group) = (self.authority.grid(), self.authority.group());
        let fingerprint = self.authority.fingerprint();
        let expires = Wall(now.0.saturating_add(lifetime.0));
        let token = JoinToken::create(fingerprint, (grid, group, role), address, expires)?;
        self.tokens.add(&token, name)?;
        Ok(token)
    }

    /// Lets somebody in who has a token. What can be seen to be wrong is told before the token is
    /// used up; it is used up before anything is signed.
    pub fn join(&mut self, entry: Entry<'_>, now: Wall) -> Result<Issued, RegistrarError> {
        let given = self.tokens.look(entry.token, entry.role, now)?;
        let name = match (given.as_deref(), entry.name) {
            (Some(given), Some(name)) if given != name => {
                return Err(RegistrarError::OtherName(given.to_owned()));
            }
            (Some(name), _) | (None, Some(name)) => name,
            (None, None) => entry.otherwise.ok_or(RegistrarError::Nameless)?,
        };
        let identity = self.identity(entry.role, name)?;
        if self
            .valid(now)
            .any(|(_, signed)| signed.identity == identity)
        {
            return Err(RegistrarError::Taken(Box::new(identity)));
        }
        if let Some(address) = entry.address.filter(|address| !is_address(address)) {
            let address = address.chars().take(ADDRESS_BYTES_MAX).collect();
            return Err(RegistrarError::Address(address));
        }
        self.tokens.redeem(entry.token, entry.role, now)?;
        self.admit(entry.request, &identity, entry.address, now)
    }

    /// Another certificate for the holder of one.
    pub fn renew(
        &mut self,
        serial: &Serial,
        request: &[u8],
        now: Wall,
    ) -> Result<Issued, RegistrarError> {
        let own = self.valid(now).find(|(known, _)| *known == serial);
        let (identity, address) = match own {
            Some((_, signed)) => (signed.identity.clone(), signed.address.clone()),
            None => return Err(RegistrarError::NotRenewed),
        };
        self.admit(request, &identity, address.as_deref(), now)
    }

    /// Revokes a certificate by its number, or all of a member, and says which.
    pub fn revoke(
        &mut self,
        what: &str,
        (me, now): (&Identity, Wall),
    ) -> Result<Vec<Serial>, RegistrarError> {
        let is_meant = |serial: &Serial, identity: &Identity| {
            what == serial.to_string()
                || what == identity.to_string()
                || what == format!("{}/{}", identity.role(), identity.name())
        };
        let meant: Vec<(Serial, Identity)> = self
            .valid(now)
            .filter(|(serial, signed)| is_meant(serial, &signed.identity))
            .map(|(serial, signed)| (serial.clone(), signed.identity.clone()))
            .collect();
        if meant.is_empty() {
            return Err(RegistrarError::Nobody(what.chars().take(80).collect()));
        }
        if meant.iter().any(|(_, identity)| identity == me) {
            return Err(RegistrarError::Own);
        }
        let mut revocations = self.revocations.clone();
        for (serial, identity) in &meant {
            let identity = identity.clone();
            revocations.add(serial.clone(), Revoked { at: now, identity })?;
        }
        revocations.save(&self.directory.join(REVOKED))?;
        self.revocations = revocations;
        Ok(meant.into_iter().map(|(serial, _)| serial).collect())
    }

    /// The authority.
    pub fn authority(&self) -> &Authority {
        &self.authority
    }

    /// Certificates that were signed.
    pub fn roll(&self) -> &Roll {
        &self.roll
    }

    /// What counts no more.
    pub fn revocations(&self) -> &Revocations {
        &self.revocations
    }

    /// Certificates that count at this time.
    pub fn valid(&self, now: Wall) -> impl Iterator<Item = (&Serial, &Signed)> {
        self.roll.iter().filter(move |(serial, signed)| {
            signed.not_after > now && !self.revocations.contains(serial)
        })
    }

    /// The members of a role that are dialled: names and addresses, by their names.
    pub fn contacts(&self, role: Role, now: Wall) -> Vec<(String, String)> {
        let mut contacts: Vec<(String, String)> = self
            .valid(now)
            .filter(|(_, signed)| signed.identity.role() == role)
            .filter_map(|(_, signed)| {
                let address = self.roll.address(&signed.identity)?;
                Some((signed.identity.name().to_owned(), address.to_owned()))
            })
            .collect();
        contacts.sort();
        contacts.dedup();
        contacts
    }

    fn identity(&self, role: Role, name: &str) -> Result<Identity, IdentityError> {
        Identity::new(self.authority.grid(), self.authority.group(), role, name)
    }
}

/// Whether a text is a host and a port, and a word.
pub fn is_address(address: &str) -> bool {
    address.rsplit_once(':').is_some_and(|(host, port)| {
        !host.is_empty()
            && address.len() <= ADDRESS_BYTES_MAX
            && address.bytes().all(|byte| byte.is_ascii_graphic())
            && port.parse::<u16>().is_ok_and(|port| port > 0)
    })
}

impl From<FileError> for RegistrarError {
    fn from(error: FileError) -> RegistrarError {
        RegistrarError::Roll(error.into())
    }
}

#[cfg(test)]
mod tests;
