//! The registrar of a group manager: it admits members, renews and revokes their certificates, and
//! records them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use model::{Identity, IdentityError, Role, Span, Wall};
use thiserror::Error;

use super::authority::{Authority, AuthorityError, BACKDATE, Issued, SERIAL_BYTES, SigningRequest};
use super::certificate::Serial;
use super::files::FileError;
use super::issued::{IssuedCertificates, IssuedError, Origin, Signed, owns};
use super::lock::{Lock, Stamp};
use super::renewal::{Ending, Renewal, ending, renewal};
use super::revocation::{Revocations, RevocationsError, Revoked};
use super::token::{
    JoinToken, OpenToken, Terms, TokenCounts, TokenError, TokenId, Tokens, TokensError,
};

/// Default validity of a certificate. Members renew theirs when two thirds of it are over.
pub const CERTIFICATE_LIFE: Span = Span::from_secs(90 * 86_400);

/// Validity of an authority. After it the group must be created anew.
pub const AUTHORITY_LIFE: Span = Span::from_secs(3_650 * 86_400);

/// Longest validity of a join token.
const TOKEN_LIFE_MAX: Span = Span::from_secs(30 * 86_400);

/// Time for which an expired token is remembered, so that a late user is told that it expired.
const TOKEN_REMEMBERED: Span = Span::from_secs(7 * 86_400);

/// Shortest time between two renewals of a member, however short its certificates last.
const RENEWAL_GAP: Span = Span::from_secs(30);

/// Bytes of the longest address: a host name, and a port.
const ADDRESS_BYTES_MAX: usize = 253 + 6;

/// The files in its directory, beside the authority's own.
const ISSUED: &str = "certificates";
const REVOKED: &str = "revoked";
const TOKENS: &str = "tokens";

/// An authority with its directory. Every answer is durable before it is returned. Several programs
/// may use the same directory: each sees the others' changes. Times are passed in.
#[derive(Debug)]
pub struct Registrar {
    directory: PathBuf,
    authority: Authority,
    life: Span,
    issued: IssuedCertificates,
    revocations: Revocations,
    /// The versions of both files, as last read or written here.
    stamps: (Stamp, Stamp),
    tokens: Tokens,
}

/// A request to become a member.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// The id of the token.
    pub token: TokenId,
    /// The wanted role.
    pub role: Role,
    /// The required name; the token's own if it has one.
    pub name: Option<&'a str>,
    /// The name to use if neither the token nor the request requires one.
    pub otherwise: Option<&'a str>,
    /// The signing request, in DER.
    pub request: &'a [u8],
    /// The address at which others dial it.
    pub address: Option<&'a str>,
}

/// Why a registrar refused a request.
#[derive(Debug, Error)]
pub enum RegistrarError {
    /// The authority cannot be used, or refuses to sign.
    #[error(transparent)]
    Authority(#[from] AuthorityError),
    /// The list of certificates cannot be used.
    #[error(transparent)]
    Issued(#[from] IssuedError),
    /// The list of revoked certificates cannot be used.
    #[error(transparent)]
    Revocations(#[from] RevocationsError),
    /// The token is refused, or tokens cannot be stored.
    #[error(transparent)]
    Tokens(#[from] TokensError),
    /// The token cannot be made.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// A name cannot be one.
    #[error(transparent)]
    Name(#[from] IdentityError),
    /// The role cannot be given by a token.
    #[error("a join token is for the role am, pm, user or admin, and not for {0}")]
    Role(Role),
    /// A token that takes over another holder's processes needs a name.
    #[error(
        "a join token that takes over has a name, of the role user or pm: --role user --name NAME"
    )]
    TakesOver,
    /// The validity of the token is zero or too long.
    #[error("a join token can be used for at least a second and at most 30 days")]
    Lifetime,
    /// Neither the request nor the token has a name.
    #[error("the join token is for no particular name: one must be given")]
    Nameless,
    /// The token is for another name.
    #[error("the join token is for the name {0:?}")]
    OtherName(String),
    /// There is a member of this name.
    #[error("there is a member {0} already: revoke its certificate first, or take another name")]
    Taken(Box<Identity>),
    /// The address is not a host and a port.
    #[error("{0:?} is not a host and a port")]
    Address(String),
    /// The certificate is unknown to this authority, or no longer valid.
    #[error("the certificate is not one that can be renewed")]
    NotRenewed,
    /// The certificate is valid for long enough.
    #[error("the certificate cannot be renewed before two thirds of its time are over")]
    NotDue(Wall),
    /// The certificate was renewed for another key.
    #[error("the certificate was renewed already: its successor has the serial number {0}")]
    Renewed(Serial),
    /// The certificate was issued a moment ago, by a renewal.
    #[error("the certificate was renewed less than {RENEWAL_GAP} ago")]
    Hasty,
    /// No valid certificate matches.
    #[error(
        "there is no certificate of {0:?} that is valid: give a serial number, ROLE/NAME, or xav://..."
    )]
    Nobody(String),
    /// The group manager's own certificate cannot be revoked.
    #[error("the group manager does not revoke its own certificate")]
    Own,
}

impl Registrar {
    /// Creates an authority's files in a directory that has none.
    pub fn create(directory: &Path, authority: Authority) -> Result<Registrar, RegistrarError> {
        authority.save(directory)?;
        Registrar::open(directory, CERTIFICATE_LIFE)
    }

    /// Opens the registrar of a directory. New certificates are valid for `life`.
    pub fn open(directory: &Path, life: Span) -> Result<Registrar, RegistrarError> {
        let mut registrar = Registrar {
            authority: Authority::load(directory)?,
            life,
            issued: IssuedCertificates::default(),
            revocations: Revocations::default(),
            stamps: Default::default(),
            tokens: Tokens::of(&directory.join(TOKENS)),
            directory: directory.to_owned(),
        };
        registrar.refresh()?;
        Ok(registrar)
    }

    /// Reads the files again that another program has changed.
    pub fn refresh(&mut self) -> Result<(), RegistrarError> {
        let (issued, revoked) = (self.directory.join(ISSUED), self.directory.join(REVOKED));
        let stamps = (Stamp::of(&issued), Stamp::of(&revoked));
        if stamps.0 != self.stamps.0 {
            self.issued = IssuedCertificates::load(&issued)?;
        }
        if stamps.1 != self.stamps.1 {
            self.revocations = Revocations::load(&revoked)?;
        }
        // A change after this point is seen at the next call.
        self.stamps = stamps;
        Ok(())
    }

    /// Signs for an identity that the administrator names, without a token.
    pub fn admit(
        &mut self,
        request: &[u8],
        identity: &Identity,
        address: Option<&str>,
        now: Wall,
    ) -> Result<Issued, RegistrarError> {
        let _lock = self.begin()?;
        let request = SigningRequest::read(request)?;
        self.sign(&request, identity, (address, None), now)
    }

    /// Signs for somebody who works at the authority itself and presents an earlier certificate,
    /// which may have expired.
    pub fn admit_again(
        &mut self,
        request: &[u8],
        wanted: (Role, &str, bool),
        (before, address): (Option<&Identity>, Option<&str>),
        now: Wall,
    ) -> Result<Issued, RegistrarError> {
        let _lock = self.begin()?;
        let request = SigningRequest::read(request)?;
        let (role, name, takes_over) = wanted;
        let identity = self.identity(role, name)?;
        let identity = match before.filter(|before| before.has_name_of(&identity)) {
            Some(before) => before.clone(),
            None => {
                self.is_free(&identity, now)?;
                let holder = self.holder(&identity, takes_over);
                identity.of_holder(holder)
            }
        };
        let address = match address {
            Some(address) => Some(checked(address)?.to_owned()),
            None => self.issued.address(&identity).map(str::to_owned),
        };
        self.sign(&request, &identity, (address.as_deref(), None), now)
    }

    /// Creates a token with which one member can join.
    pub fn create_token(
        &mut self,
        role: Role,
        terms: &Terms,
        address: &str,
        (now, lifetime): (Wall, Span),
    ) -> Result<JoinToken, RegistrarError> {
        match role {
            Role::Am | Role::Pm | Role::User | Role::Admin => {}
            Role::Gm => return Err(RegistrarError::Role(role)),
        }
        if terms.takes_over && (terms.name.is_none() || !owns(role)) {
            return Err(RegistrarError::TakesOver);
        }
        if !(Span::from_secs(1)..=TOKEN_LIFE_MAX).contains(&lifetime) {
            return Err(RegistrarError::Lifetime);
        }
        if let Some(name) = &terms.name {
            self.identity(role, name)?;
        }
        let _lock = self.begin()?;
        self.tokens.clear(now, TOKEN_REMEMBERED)?;
        let (grid, group) = (self.authority.grid(), self.authority.group());
        let fingerprint = self.authority.fingerprint();
        let expires = Wall(now.0.saturating_add(lifetime.0));
        let token = JoinToken::create(fingerprint, (grid, group, role), address, expires)?;
        self.tokens.add(&token, terms, now)?;
        Ok(token)
    }

    /// The tokens that can be used.
    pub fn open_tokens(&self, now: Wall) -> Result<Vec<OpenToken>, RegistrarError> {
        Ok(self.tokens.open(now)?)
    }

    /// Cancels the open token whose id begins so. It admits nobody from then on.
    pub fn cancel_token(&mut self, prefix: &str, now: Wall) -> Result<OpenToken, RegistrarError> {
        // Nobody joins with it meanwhile.
        let _lock = self.begin()?;
        Ok(self.tokens.cancel(prefix, now)?)
    }

    /// Admits the holder of a token. Everything that can be wrong is reported before the token is
    /// used up; it is used up once the certificate is durable. The same request gets the same
    /// answer again, in case the first one was lost.
    pub fn join(&mut self, entry: Entry<'_>, now: Wall) -> Result<Issued, RegistrarError> {
        let _lock = self.begin()?;
        let request = SigningRequest::read(entry.request)?;
        let origin = Origin::Token(entry.token);
        let given = match self.tokens.look(entry.token, entry.role, now) {
            Ok(given) => given,
            Err(TokensError::Used) => {
                let again = self.given_again(&origin, &request, now)?;
                return again.ok_or_else(|| TokensError::Used.into());
            }
            Err(error) => return Err(error.into()),
        };
        // If the token is not used up, its certificate has not been sent to anybody.
        if let Some((untold, _)) = self.issued.given_for(&origin) {
            let untold = untold.clone();
            self.issued.remove(&untold);
        }
        let name = match (given.name.as_deref(), entry.name) {
            (Some(given), Some(name)) if given != name => {
                return Err(RegistrarError::OtherName(given.to_owned()));
            }
            (Some(name), _) | (None, Some(name)) => name,
            (None, None) => entry.otherwise.ok_or(RegistrarError::Nameless)?,
        };
        let identity = self.identity(entry.role, name)?;
        self.is_free(&identity, now)?;
        let holder = self.holder(&identity, given.takes_over);
        let identity = identity.of_holder(holder);
        let address = entry.address.map(checked).transpose()?;
        let issued = self.sign(&request, &identity, (address, Some(origin)), now)?;
        if let Err(error) = self.tokens.redeem(entry.token, entry.role, now) {
            self.issued.remove(&issued.certificate.serial);
            self.save_issued(now)?;
            return Err(error.into());
        }
        Ok(issued)
    }

    /// Issues the successor of a certificate to its holder, when the renewal is due. The same
    /// request gets the same answer again.
    pub fn renew(
        &mut self,
        serial: &Serial,
        request: &[u8],
        now: Wall,
    ) -> Result<Issued, RegistrarError> {
        let _lock = self.begin()?;
        let request = SigningRequest::read(request)?;
        let own = self.valid(now).find(|(known, _)| *known == serial);
        let own = match own {
            Some((_, signed)) => signed.clone(),
            None => return Err(RegistrarError::NotRenewed),
        };
        let origin = Origin::After(serial.clone());
        if let Some(again) = self.given_again(&origin, &request, now)? {
            return Ok(again);
        }
        if let Some((successor, _)) = self.issued.given_for(&origin) {
            return Err(RegistrarError::Renewed(successor.clone()));
        }
        match renewal(own.not_before, own.not_after, now) {
            Renewal::Due | Renewal::Expired => {}
            Renewal::At(due) => return Err(RegistrarError::NotDue(due)),
        }
        let is_successor = matches!(own.origin, Some(Origin::After(_)));
        if is_successor && now < own.not_before + BACKDATE + RENEWAL_GAP {
            return Err(RegistrarError::Hasty);
        }
        let address = own.address.as_deref();
        self.sign(&request, &own.identity, (address, Some(origin)), now)
    }

    /// Revokes the certificate with a serial number, or all of a member, and returns them. A whole serial number that
    /// is not listed counts too: a restored list lacks what was signed since the backup.
    pub fn revoke(
        &mut self,
        what: &str,
        (me, now): (&Identity, Wall),
    ) -> Result<Vec<Serial>, RegistrarError> {
        let _lock = self.begin()?;
        let is_meant = |serial: &Serial, identity: &Identity| {
            what == serial.to_string()
                || what == identity.to_string()
                || what == format!("{}/{}", identity.role(), identity.name())
                || what == format!("{}/{}", identity.role(), identity.label())
        };
        let mut meant: Vec<(Serial, Option<Identity>)> = self
            .valid(now)
            .filter(|(serial, signed)| is_meant(serial, &signed.identity))
            .map(|(serial, signed)| (serial.clone(), Some(signed.identity.clone())))
            .collect();
        meant.extend(self.unlisted(what).map(|serial| (serial, None)));
        if meant.is_empty() {
            return Err(RegistrarError::Nobody(what.chars().take(80).collect()));
        }
        if meant
            .iter()
            .any(|(_, identity)| identity.as_ref() == Some(me))
        {
            return Err(RegistrarError::Own);
        }
        let mut revocations = self.revocations.clone();
        for (serial, identity) in &meant {
            let identity = identity.clone();
            revocations.add(serial.clone(), Revoked { at: now, identity })?;
        }
        let path = self.directory.join(REVOKED);
        revocations.save(&path)?;
        self.stamps.1 = Stamp::of(&path);
        self.revocations = revocations;
        Ok(meant.into_iter().map(|(serial, _)| serial).collect())
    }

    /// The authority.
    pub fn authority(&self) -> &Authority {
        &self.authority
    }

    /// Certificates that were signed.
    pub fn issued_certificates(&self) -> &IssuedCertificates {
        &self.issued
    }

    /// The revoked certificates.
    pub fn revocations(&self) -> &Revocations {
        &self.revocations
    }

    /// The numbers of join tokens.
    pub fn token_counts(&self) -> TokenCounts {
        self.tokens.counts()
    }

    /// The certificates that are valid at this time.
    pub fn valid(&self, now: Wall) -> impl Iterator<Item = (&Serial, &Signed)> {
        self.issued.iter().filter(move |(serial, signed)| {
            signed.not_after > now && !self.revocations.contains(serial)
        })
    }

    /// The certificate of a name that is valid longest, unless it is revoked.
    pub fn newest(&self, role: Role, name: &str) -> Option<&Signed> {
        let all = self.issued.iter();
        let own = all.filter(|(serial, signed)| {
            let identity = &signed.identity;
            (identity.role(), identity.name()) == (role, name) && !self.revocations.contains(serial)
        });
        own.map(|(_, signed)| signed)
            .max_by_key(|signed| signed.not_after)
    }

    /// The members whose last certificate ends soon.
    pub fn endings(&self, now: Wall) -> Vec<(Identity, Ending)> {
        let mut last: BTreeMap<&Identity, &Signed> = BTreeMap::new();
        for (_, signed) in self.valid(now) {
            let known = last.entry(&signed.identity).or_insert(signed);
            if known.not_after < signed.not_after {
                *known = signed;
            }
        }
        let endings = last.into_iter().filter_map(|(identity, signed)| {
            let ending = ending(signed.not_before, signed.not_after, now)?;
            Some((identity.clone(), ending))
        });
        endings.collect()
    }

    /// Names and addresses of the members of a role that can be dialled, by name.
    pub fn contacts(&self, role: Role, now: Wall) -> Vec<(String, String)> {
        let mut contacts: Vec<(String, String)> = self
            .valid(now)
            .filter(|(_, signed)| signed.identity.role() == role)
            .filter_map(|(_, signed)| {
                let address = self.issued.address(&signed.identity)?;
                Some((signed.identity.name().to_owned(), address.to_owned()))
            })
            .collect();
        contacts.sort();
        contacts.dedup();
        contacts
    }

    /// Returns true if a name had a holder before and the next holder will be another one.
    pub fn was_held(&self, role: Role, name: &str) -> bool {
        owns(role) && self.issued.last_holder(role, name).is_some()
    }

    /// Locks the directory for a change and reads it again.
    fn begin(&mut self) -> Result<Lock, RegistrarError> {
        let lock = Lock::take(&self.directory)?;
        self.refresh()?;
        Ok(lock)
    }

    fn sign(
        &mut self,
        request: &SigningRequest,
        identity: &Identity,
        (address, origin): (Option<&str>, Option<Origin>),
        now: Wall,
    ) -> Result<Issued, RegistrarError> {
        self.issued.make_room(now)?;
        let issued = self
            .authority
            .issue_for(request, identity, now, self.life)?;
        let (certificate, key) = (&issued.certificate, request.fingerprint());
        let address = address.map(str::to_owned);
        self.issued.add(certificate, address, key, origin)?;
        if let Err(error) = self.save_issued(now) {
            // No other holder is valid.
            self.issued.remove(&issued.certificate.serial);
            return Err(error);
        }
        Ok(issued)
    }

    fn save_issued(&mut self, now: Wall) -> Result<(), RegistrarError> {
        let path = self.directory.join(ISSUED);
        self.issued.save(&path, now)?;
        self.stamps.0 = Stamp::of(&path);
        Ok(())
    }

    /// The valid certificate that was issued for an origin and the same key, if any.
    fn given_again(
        &self,
        origin: &Origin,
        request: &SigningRequest,
        now: Wall,
    ) -> Result<Option<Issued>, RegistrarError> {
        let Some((serial, signed)) = self.issued.given_for(origin) else {
            return Ok(None);
        };
        let counts = signed.not_after > now && !self.revocations.contains(serial);
        if !counts || signed.key != Some(request.fingerprint()) {
            return Ok(None);
        }
        let times = (signed.not_before, signed.not_after);
        let again = self
            .authority
            .issue_again(request, &signed.identity, serial, times)?;
        Ok(Some(again))
    }

    /// Checks that a name has no valid certificate at this time.
    fn is_free(&self, identity: &Identity, now: Wall) -> Result<(), RegistrarError> {
        let mut valid = self.valid(now);
        match valid.find(|(_, signed)| signed.identity.has_name_of(identity)) {
            None => Ok(()),
            Some((_, signed)) => Err(RegistrarError::Taken(Box::new(signed.identity.clone()))),
        }
    }

    /// The serial number that a text is, if no certificate with it is listed.
    fn unlisted(&self, text: &str) -> Option<Serial> {
        let is_whole = text.len() == 2 * SERIAL_BYTES;
        let serial: Serial = text.parse().ok().filter(|_| is_whole)?;
        self.issued.get(&serial).is_none().then_some(serial)
    }

    /// The number of the next holder of a name.
    fn holder(&self, identity: &Identity, takes_over: bool) -> u32 {
        let last = self.issued.last_holder(identity.role(), identity.name());
        match last {
            None => 1,
            Some(last) if takes_over || !owns(identity.role()) => last,
            Some(last) => last.saturating_add(1),
        }
    }

    fn identity(&self, role: Role, name: &str) -> Result<Identity, IdentityError> {
        Identity::new(self.authority.grid(), self.authority.group(), role, name)
    }
}

/// Checks that an address is a host and a port.
fn checked(address: &str) -> Result<&str, RegistrarError> {
    match is_address(address) {
        true => Ok(address),
        false => {
            let address = address.chars().take(ADDRESS_BYTES_MAX).collect();
            Err(RegistrarError::Address(address))
        }
    }
}

/// Returns true if a text is a host and a port, in one word.
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
        RegistrarError::Issued(error.into())
    }
}

#[cfg(test)]
mod tests;
