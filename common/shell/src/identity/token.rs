//! Join tokens: a text that is shown once, and the file by which the group recognises it.

use std::fmt;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use minicbor::{Decode, Encode};
use model::{Identity, IdentityError, Role, Span, Wall};
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom, SystemRandom};
use thiserror::Error;

use super::certificate::{Fingerprint, digits};
use super::files::{self, FileError, SECRET};

/// The prefix of a token's text.
const PREFIX: &str = "xav1";

/// Characters of the longest token: about 330 with the longest names.
const TOKEN_CHARACTERS_MAX: usize = 1_024;

/// Bytes of the checksum at the end of a token, which detects typing errors.
const SUM_BYTES: usize = 4;

/// Bytes of a token's secret.
const SECRET_BYTES: usize = 16;

/// Maximum number of unused tokens: people make them one by one.
const TOKENS_MAX: usize = 10_000;

/// Maximum number of tokens that are remembered after they were used or cancelled or have expired, so that a late user
/// is told why.
const ENDED_MAX: usize = 10_000;

const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// Permission to join a group once. The text alone is enough to join, so it is stored nowhere.
#[derive(Clone, PartialEq, Eq)]
pub struct JoinToken {
    /// The group's authority. A server with another one is not trusted.
    pub authority: Fingerprint,
    /// The grid.
    pub grid: String,
    /// The group.
    pub group: String,
    /// The role of the new member.
    pub role: Role,
    /// The address at which the group manager listens, as host and port.
    pub address: String,
    /// Until when it can be used.
    pub expires: Wall,
    secret: [u8; SECRET_BYTES],
}

#[derive(Encode, Decode)]
struct Plain {
    #[cbor(n(0), with = "minicbor::bytes")]
    authority: [u8; 32],
    #[n(1)]
    grid: String,
    #[n(2)]
    group: String,
    #[n(3)]
    role: String,
    #[n(4)]
    address: String,
    #[n(5)]
    expires: Wall,
    #[cbor(n(6), with = "minicbor::bytes")]
    secret: [u8; SECRET_BYTES],
}

/// Why a text is no token.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TokenError {
    /// The text does not have the form of a token.
    #[error("a join token begins with {PREFIX} and has small letters and digits alone")]
    Form,
    /// The checksum does not match: a character is wrong or missing.
    #[error("the join token was not copied whole: its check sum is wrong")]
    Sum,
    /// The token is of a later version, or was not made by this program.
    #[error("the join token cannot be read by this version of the program")]
    Content,
    /// A name in the token is invalid.
    #[error(transparent)]
    Name(#[from] IdentityError),
    /// There was no random number.
    #[error("could not draw a join token")]
    Random,
}

impl JoinToken {
    /// Creates a token with a random secret.
    pub fn create(
        authority: Fingerprint,
        (grid, group, role): (&str, &str, Role),
        address: &str,
        expires: Wall,
    ) -> Result<JoinToken, TokenError> {
        Identity::new(grid, group, role, "x")?;
        let mut secret = [0; SECRET_BYTES];
        let drawn = SystemRandom::new().fill(&mut secret);
        drawn.map_err(|_| TokenError::Random)?;
        Ok(JoinToken {
            authority,
            grid: grid.to_owned(),
            group: group.to_owned(),
            role,
            address: address.to_owned(),
            expires,
            secret,
        })
    }

    /// The text that is shown once.
    pub fn text(&self) -> String {
        let plain = Plain {
            authority: self.authority.0,
            grid: self.grid.clone(),
            group: self.group.clone(),
            role: self.role.word().to_owned(),
            address: self.address.clone(),
            expires: self.expires,
            secret: self.secret,
        };
        let mut bytes = wire::encode(&plain);
        let sum = sum(&bytes);
        bytes.extend_from_slice(&sum);
        let mut text = PREFIX.to_owned();
        letters(&bytes, &mut text);
        text
    }

    /// The id by which the group recognises the token. It reveals nothing of the text.
    pub fn id(&self) -> TokenId {
        TokenId::of(&self.secret)
    }

    /// The secret that the new member sends to the group's manager and to nobody else.
    pub fn secret(&self) -> Vec<u8> {
        self.secret.to_vec()
    }
}

impl FromStr for JoinToken {
    type Err = TokenError;

    fn from_str(text: &str) -> Result<JoinToken, TokenError> {
        let text = text.trim();
        let letters = text.strip_prefix(PREFIX).ok_or(TokenError::Form)?;
        if text.len() > TOKEN_CHARACTERS_MAX {
            return Err(TokenError::Form);
        }
        if letters.bytes().any(|letter| !ALPHABET.contains(&letter)) {
            return Err(TokenError::Form);
        }
        // A missing character leaves bits over.
        let bytes = bytes(letters).ok_or(TokenError::Sum)?;
        let (plain, rest) = bytes
            .split_last_chunk::<SUM_BYTES>()
            .ok_or(TokenError::Sum)?;
        if sum(plain) != *rest {
            return Err(TokenError::Sum);
        }
        let plain: Plain = wire::decode(plain).map_err(|_| TokenError::Content)?;
        let role = plain.role.parse()?;
        Identity::new(&plain.grid, &plain.group, role, "x")?;
        Ok(JoinToken {
            authority: Fingerprint(plain.authority),
            grid: plain.grid,
            group: plain.group,
            role,
            address: plain.address,
            expires: plain.expires,
            secret: plain.secret,
        })
    }
}

/// Omits the secret, which must not be logged.
impl fmt::Debug for JoinToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinToken")
            .field("id", &self.id())
            .field("role", &self.role)
            .field("expires", &self.expires)
            .finish_non_exhaustive()
    }
}

/// A token's name in its group, in hexadecimal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TokenId([u8; SECRET_BYTES]);

impl TokenId {
    /// The id of the token with this secret, known to the group or not.
    pub fn of(secret: &[u8]) -> TokenId {
        let mut bytes = [0; SECRET_BYTES];
        bytes.copy_from_slice(&digest(&SHA256, secret).as_ref()[..SECRET_BYTES]);
        TokenId(bytes)
    }
}

impl fmt::Display for TokenId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for TokenId {
    type Err = TokenError;

    fn from_str(text: &str) -> Result<TokenId, TokenError> {
        digits(text).ok_or(TokenError::Form).map(TokenId)
    }
}

impl fmt::Debug for TokenId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TokenId({self})")
    }
}

/// The tokens of a group in a directory: one file for each, named by its id and renamed when it is
/// used. The rename makes a token single-use, even with concurrent users and crashes.
#[derive(Clone, Debug)]
pub struct Tokens {
    directory: PathBuf,
}

/// Numbers of tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenCounts {
    /// Tokens that wait to be used. Expired ones are among them until they are removed.
    pub n_open: usize,
    /// Tokens that were used and are not removed yet.
    pub n_used: usize,
}

/// The terms under which a token admits a member, and who has set them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// The only permitted name; none if any name is permitted.
    pub name: Option<String>,
    /// True if the new holder takes over the processes of the name's previous holder.
    pub takes_over: bool,
    /// The administrator who has made the token; none if unknown.
    pub made_by: Option<Identity>,
}

/// A token that can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenToken {
    /// Its id.
    pub id: TokenId,
    /// The role of the new member.
    pub role: Role,
    /// Until when it can be used.
    pub expires: Wall,
    /// Its terms.
    pub terms: Terms,
}

/// The words for these terms in a token's file.
const TAKES_OVER: &str = "takes-over";
const MADE_BY: &str = "by:";

/// Endings of the files of tokens that admit nobody any more.
const USED: &str = "used";
const CANCELLED: &str = "cancelled";

/// Why a token is refused, or tokens cannot be stored.
#[derive(Debug, Error)]
pub enum TokensError {
    /// The group has given no such token, or has removed it.
    #[error("the join token is not known here")]
    Unknown,
    /// The token was used.
    #[error("the join token has been used")]
    Used,
    /// An administrator has cancelled the token.
    #[error("the join token was cancelled")]
    Cancelled,
    /// The token has expired.
    #[error("the join token has expired")]
    Expired,
    /// The token is for another role.
    #[error("the join token is for another role")]
    Role,
    /// There are too many tokens.
    #[error("{TOKENS_MAX} join tokens wait to be used")]
    Many,
    /// No open token has an id that begins so.
    #[error("there is no open join token whose ID begins with {0:?}")]
    Nothing(String),
    /// Several open tokens have ids that begin so.
    #[error("the IDs of {n_tokens} open join tokens begin with {prefix:?}: give more of the ID")]
    Ambiguous {
        /// The beginning.
        prefix: String,
        /// The tokens.
        n_tokens: usize,
    },
    /// A file cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// The stored token is damaged.
    #[error("what is kept of the join token {0} cannot be read")]
    Damaged(TokenId),
}

impl Tokens {
    /// The tokens of a directory, which is created with the first token.
    pub fn of(directory: &Path) -> Tokens {
        let directory = directory.to_owned();
        Tokens { directory }
    }

    /// Stores the id and terms of a token.
    pub fn add(&self, token: &JoinToken, terms: &Terms, now: Wall) -> Result<(), TokensError> {
        if self.open(now)?.len() >= TOKENS_MAX {
            return Err(TokensError::Many);
        }
        let mut text = format!("{} {}", token.role, token.expires.0 / 1_000_000);
        if let Some(name) = &terms.name {
            text.push_str(&format!(" {name}"));
            if terms.takes_over {
                text.push_str(&format!(" {TAKES_OVER}"));
            }
        }
        if let Some(maker) = &terms.made_by {
            text.push_str(&format!(" {MADE_BY}{maker}"));
        }
        text.push('\n');
        files::write(&self.path(token.id()), text.as_bytes(), SECRET)?;
        Ok(())
    }

    /// Checks that a token would admit somebody, and returns its terms.
    pub fn look(&self, id: TokenId, role: Role, now: Wall) -> Result<Terms, TokensError> {
        let path = self.path(id);
        let text = match files::read(&path) {
            Ok(text) => text,
            Err(FileError::System { source, .. }) if source.kind() == ErrorKind::NotFound => {
                return Err(if self.ended(id, USED).exists() {
                    TokensError::Used
                } else if self.ended(id, CANCELLED).exists() {
                    TokensError::Cancelled
                } else {
                    TokensError::Unknown
                });
            }
            Err(error) => return Err(error.into()),
        };
        let (given, expires, terms) = kept(&text).ok_or(TokensError::Damaged(id))?;
        if now >= expires {
            return Err(TokensError::Expired);
        }
        if given != role {
            return Err(TokensError::Role);
        }
        Ok(terms)
    }

    /// Uses a token up. It is refused from then on.
    pub fn redeem(&self, id: TokenId, role: Role, now: Wall) -> Result<(), TokensError> {
        self.look(id, role, now)?;
        self.end(id, USED)
    }

    /// The tokens that can be used, the one that expires first before the others. Damaged files, which admit
    /// nobody, are left out.
    pub fn open(&self, now: Wall) -> Result<Vec<OpenToken>, TokensError> {
        let entries = match fs::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(self.failed("read", source)),
        };
        let mut open = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|source| self.failed("read", source))?;
            let Some(Ok(id)) = entry.file_name().to_str().map(str::parse::<TokenId>) else {
                continue;
            };
            // Between the list and this line it may have been used.
            let text = files::read(&entry.path()).ok();
            if let Some((role, expires, terms)) = text.and_then(|text| kept(&text))
                && now < expires
            {
                open.push(OpenToken {
                    id,
                    role,
                    expires,
                    terms,
                });
            }
        }
        open.sort_by_key(|token| (token.expires, token.id));
        Ok(open)
    }

    /// Cancels the open token whose id begins so: it admits nobody from then on, also after a crash.
    pub fn cancel(&self, prefix: &str, now: Wall) -> Result<OpenToken, TokensError> {
        let mut meant = self.open(now)?;
        meant.retain(|token| !prefix.is_empty() && token.id.to_string().starts_with(prefix));
        let shown = || prefix.chars().take(2 * SECRET_BYTES).collect();
        let n_tokens = meant.len();
        match meant.pop() {
            None => Err(TokensError::Nothing(shown())),
            Some(token) if n_tokens == 1 => {
                self.end(token.id, CANCELLED)?;
                Ok(token)
            }
            Some(_) => Err(TokensError::Ambiguous {
                prefix: shown(),
                n_tokens,
            }),
        }
    }

    /// Renames the file of a token that admits nobody from then on.
    fn end(&self, id: TokenId, how: &str) -> Result<(), TokensError> {
        match fs::rename(self.path(id), self.ended(id, how)) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => return Err(TokensError::Used),
            Err(source) => return Err(self.failed("write", source)),
        }
        files::sync_directory(&self.directory).map_err(|source| self.failed("write", source))
    }

    /// Removes the files of tokens that expired longer ago than `age`, and of those that admit nobody any more all but
    /// the ones that expire last.
    pub fn clear(&self, now: Wall, age: Span) -> Result<(), TokensError> {
        let entries = match fs::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(source) => return Err(self.failed("read", source)),
        };
        let mut ended: Vec<(Wall, PathBuf)> = Vec::new();
        for path in entries.flatten().map(|entry| entry.path()) {
            let text = files::read(&path);
            if let Some((_, expires, _)) = text.ok().and_then(|text| kept(&text))
                && (expires <= now || path.extension().is_some())
            {
                ended.push((expires, path));
            }
        }
        ended.sort_unstable();
        let is_old = |&(expires, _): &(Wall, PathBuf)| expires.0.saturating_add(age.0) < now.0;
        let n_old = ended.partition_point(is_old);
        let n_removed = n_old.max(ended.len().saturating_sub(ENDED_MAX));
        for (_, path) in &ended[..n_removed] {
            let removed = fs::remove_file(path);
            removed.map_err(|source| self.failed("remove", source))?;
        }
        Ok(())
    }

    /// The numbers of tokens that wait to be used, and that were used and are not removed yet.
    pub fn counts(&self) -> TokenCounts {
        let mut counts = TokenCounts::default();
        let entries = fs::read_dir(&self.directory).into_iter().flatten();
        for entry in entries.flatten() {
            match entry.path().extension() {
                Some(_) => counts.n_used += 1,
                None => counts.n_open += 1,
            }
        }
        counts
    }

    fn path(&self, id: TokenId) -> PathBuf {
        self.directory.join(id.to_string())
    }

    fn ended(&self, id: TokenId, how: &str) -> PathBuf {
        self.directory.join(format!("{id}.{how}"))
    }

    fn failed(&self, action: &'static str, source: std::io::Error) -> TokensError {
        FileError::System {
            action,
            path: self.directory.clone(),
            source,
        }
        .into()
    }
}

/// Role, end and terms of a token, from its file.
fn kept(text: &str) -> Option<(Role, Wall, Terms)> {
    let mut words = text.split_whitespace();
    let role = words.next()?.parse().ok()?;
    let seconds: u64 = words.next()?.parse().ok()?;
    let mut terms = Terms::default();
    for word in words {
        if let Some(maker) = word.strip_prefix(MADE_BY) {
            terms.made_by = Some(maker.parse().ok()?);
        } else if terms.name.is_none() {
            terms.name = Some(word.to_owned());
        } else {
            terms.takes_over |= word == TAKES_OVER;
        }
    }
    Some((role, Wall(seconds.checked_mul(1_000_000)?), terms))
}

fn sum(bytes: &[u8]) -> [u8; SUM_BYTES] {
    let mut sum = [0; SUM_BYTES];
    sum.copy_from_slice(&digest(&SHA256, bytes).as_ref()[..SUM_BYTES]);
    sum
}

/// Encodes five bits a letter; the last letter is padded with zeros.
fn letters(bytes: &[u8], text: &mut String) {
    let (mut bits, mut n_bits) = (0_u32, 0);
    for &byte in bytes {
        bits = bits << 8 | u32::from(byte);
        n_bits += 8;
        while n_bits >= 5 {
            n_bits -= 5;
            text.push(char::from(ALPHABET[(bits >> n_bits & 31) as usize]));
        }
    }
    if n_bits > 0 {
        text.push(char::from(ALPHABET[(bits << (5 - n_bits) & 31) as usize]));
    }
}

fn bytes(letters: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(letters.len() * 5 / 8);
    let (mut bits, mut n_bits) = (0_u32, 0);
    for letter in letters.bytes() {
        let value = ALPHABET.iter().position(|&known| known == letter)?;
        bits = (bits << 5 | u32::try_from(value).ok()?) & 0xfff;
        n_bits += 5;
        if n_bits >= 8 {
            n_bits -= 8;
            bytes.push(u8::try_from(bits >> n_bits & 0xff).ok()?);
        }
    }
    let is_rest_zero = bits & ((1 << n_bits) - 1) == 0;
    (n_bits < 5 && is_rest_zero).then_some(bytes)
}
