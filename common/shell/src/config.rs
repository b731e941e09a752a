//! Configuration files of daemons: TOML, read with positions, so that all mistakes of a file are
//! reported at once.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, Read};
use std::net::SocketAddr;
use std::ops::{Range, RangeInclusive};
use std::path::{Path, PathBuf};

use model::{Bytes, Identity, Role, Span};
use thiserror::Error;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Bytes of the longest configuration file. A usual one has some hundred.
const FILE_BYTES_MAX: u64 = 64 << 10;

/// Peers that one file may name.
const PEERS_MAX: usize = 64;

/// Times that mistakes give as examples, where they are allowed.
const SPAN_EXAMPLES: [&str; 3] = ["30s", "2m", "7d"];

/// A file that is being read. Each method reads one key. A missing or wrong value is recorded as a
/// mistake and replaced by a default, which is discarded with the whole result.
pub struct Config<'t> {
    path: &'t Path,
    text: &'t str,
    values: Vec<Entry<'t>>,
    mistakes: Vec<Mistake>,
}

/// A key of the file with its value.
struct Entry<'t> {
    key: String,
    at: usize,
    value: Spanned<DeValue<'t>>,
    is_known: bool,
}

/// A value that is one text or a table of texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextOrTexts {
    /// One.
    Text(String),
    /// By their names.
    Texts(BTreeMap<String, String>),
}

/// A peer to dial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerAddress {
    /// Its name, as in its certificate.
    pub name: String,
    /// Host and port.
    pub address: String,
}

impl PeerAddress {
    /// The identity of the peer, in the grid and group of `of`.
    pub fn identity(&self, of: &Identity, role: Role) -> Identity {
        Identity::new(of.grid(), of.group(), role, &self.name)
            .expect("the name was checked when the file was read")
    }
}

/// A mistake at a position of a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mistake {
    /// From 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The mistake, and what is allowed instead.
    pub text: String,
}

/// Why a configuration cannot be used.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("could not read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// The file is longer than configurations are.
    #[error("{} is longer than {FILE_BYTES_MAX} bytes", .0.display())]
    Long(PathBuf),
    /// It has mistakes.
    #[error("{}", lines(path, mistakes))]
    Mistakes {
        /// The file.
        path: PathBuf,
        /// All of them, in their order.
        mistakes: Vec<Mistake>,
    },
}

impl Config<'_> {
    /// Reads a file. `ask` reads all keys that the file may have; its result is returned if the
    /// file has no mistakes.
    pub fn read<T>(path: &Path, ask: impl FnOnce(&mut Config<'_>) -> T) -> Result<T, ConfigError> {
        let failed = |source| ConfigError::Read {
            path: path.to_owned(),
            source,
        };
        let file = File::open(path).map_err(failed)?;
        let mut text = String::new();
        let read = file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text);
        read.map_err(failed)?;
        if text.len() as u64 > FILE_BYTES_MAX {
            return Err(ConfigError::Long(path.to_owned()));
        }
        Config::read_text(path, &text, ask)
    }

    /// [`Config::read`] for a text. Relative paths in it start at the file's directory.
    pub(crate) fn read_text<T>(
        path: &Path,
        text: &str,
        ask: impl FnOnce(&mut Config<'_>) -> T,
    ) -> Result<T, ConfigError> {
        let (table, errors) = DeTable::parse_recoverable(text);
        let values = table.into_inner().into_iter().map(|(key, value)| Entry {
            at: key.span().start,
            key: key.into_inner().into_owned(),
            value,
            is_known: false,
        });
        let mut config = Config {
            path,
            text,
            values: values.collect(),
            mistakes: Vec::new(),
        };
        for error in errors {
            let at = error.span().map_or(0, |span| span.start);
            config.mistake(at, error.message().replace('\n', "; "));
        }
        let answer = ask(&mut config);
        config.finish()?;
        Ok(answer)
    }

    /// A required text.
    pub fn text(&mut self, key: &str) -> String {
        let text = self.optional_text(key);
        self.must_be(key, text).unwrap_or_default()
    }

    /// An optional text.
    pub fn optional_text(&mut self, key: &str) -> Option<String> {
        self.value(key, "a text in quotes", |value| {
            value.as_str().map(str::to_owned)
        })
    }

    /// An optional text or table of texts by name. `wanted` explains both forms.
    pub fn optional_text_or_texts(&mut self, key: &str, wanted: &str) -> Option<TextOrTexts> {
        self.value(key, wanted, |value| {
            if let Some(text) = value.as_str() {
                return Some(TextOrTexts::Text(text.to_owned()));
            }
            texts(value).map(TextOrTexts::Texts)
        })
    }

    /// An optional table of texts by name, which `check` approves.
    pub fn optional_texts<E: Display>(
        &mut self,
        key: &str,
        wanted: &str,
        check: impl FnOnce(&BTreeMap<String, String>) -> Result<(), E>,
    ) -> Option<BTreeMap<String, String>> {
        let found = self.value(key, wanted, texts)?;
        let checked = check(&found);
        if let Err(why) = checked {
            let entry = self.values.iter().find(|entry| entry.key == key);
            let at = entry.map_or(0, |entry| entry.value.span().start);
            self.mistake(at, why.to_string());
            return None;
        }
        Some(found)
    }

    /// A required path; a relative one starts at the file's directory.
    pub fn path(&mut self, key: &str) -> PathBuf {
        let text = self.text(key);
        self.beside(&text)
    }

    /// An optional path; a relative one starts at the file's directory.
    pub fn optional_path(&mut self, key: &str) -> Option<PathBuf> {
        let text = self.optional_text(key)?;
        Some(self.beside(&text))
    }

    /// A required address to listen on.
    pub fn address(&mut self, key: &str) -> SocketAddr {
        let address = self.optional_address(key);
        let nowhere = SocketAddr::from(([0, 0, 0, 0], 0));
        self.must_be(key, address).unwrap_or(nowhere)
    }

    /// An optional address to listen on.
    pub fn optional_address(&mut self, key: &str) -> Option<SocketAddr> {
        self.value(key, LISTENED, |value| value.as_str()?.parse().ok())
    }

    /// An optional host and port that others are told.
    pub fn optional_host_and_port(&mut self, key: &str) -> Option<String> {
        self.value(key, "\"HOST:PORT\"", |value| {
            let text = value.as_str()?;
            is_host_and_port(text).then(|| text.to_owned())
        })
    }

    /// An optional whole number.
    pub fn optional_number(&mut self, key: &str, range: RangeInclusive<u32>) -> Option<u32> {
        let wanted = format!("a number from {} to {}", range.start(), range.end());
        self.value(key, &wanted, |value| {
            whole(value).filter(|number| range.contains(number))
        })
    }

    /// An optional table of whole numbers by users, named as in their certificates.
    pub fn optional_numbers_by_user(
        &mut self,
        key: &str,
        range: RangeInclusive<u32>,
    ) -> Option<BTreeMap<String, u32>> {
        let (least, most) = (range.start(), range.end());
        let wanted = format!(
            "numbers from {least} to {most} by names of users, such as {{ ana = {least} }}"
        );
        self.value(key, &wanted, |value| {
            let numbers = value.as_table()?.iter().map(|(name, number)| {
                let name = name.get_ref().to_string();
                let number = whole(number.get_ref()).filter(|number| range.contains(number))?;
                is_user(&name).then_some((name, number))
            });
            numbers.collect()
        })
    }

    /// An optional table of at most `n_max` whole numbers by names, which are those of labels.
    pub fn optional_numbers_by_name(
        &mut self,
        key: &str,
        n_max: usize,
        range: RangeInclusive<u32>,
    ) -> Option<BTreeMap<String, u32>> {
        let (least, most) = (range.start(), range.end());
        let wanted = format!(
            "at most {n_max} numbers from {least} to {most} by names, such as {{ licence = {least} }}"
        );
        self.value(key, &wanted, |value| {
            let table = value.as_table().filter(|table| table.len() <= n_max)?;
            let numbers = table.iter().map(|(name, number)| {
                let name = name.get_ref().to_string();
                let number = whole(number.get_ref()).filter(|number| range.contains(number))?;
                let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
                let is_name = !name.is_empty() && name.bytes().all(is_letter);
                is_name.then_some((name, number))
            });
            numbers.collect()
        })
    }

    /// An optional text that `read` can convert.
    pub fn optional<T>(
        &mut self,
        key: &str,
        wanted: &str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Option<T> {
        self.value(key, wanted, |value| read(value.as_str()?))
    }

    /// An optional length of time.
    pub fn optional_span(&mut self, key: &str) -> Option<Span> {
        self.optional(key, "a time such as \"30s\", \"12h\" or \"90d\"", span)
    }

    /// An optional length of time within bounds.
    pub fn optional_span_in(&mut self, key: &str, range: RangeInclusive<Span>) -> Option<Span> {
        let (least, most) = (range.start().seconds(), range.end().seconds());
        let is_allowed = |text: &&&str| span(text).is_some_and(|span| range.contains(&span));
        let allowed = SPAN_EXAMPLES.iter().filter(is_allowed).take(2);
        let examples: Vec<String> = allowed.map(|text| format!("{text:?}")).collect();
        let such_as = match examples.is_empty() {
            true => String::new(),
            false => format!(", such as {}", examples.join(" or ")),
        };
        let wanted = format!("a time from {least} to {most} seconds{such_as}");
        self.optional(key, &wanted, |text| {
            span(text).filter(|span| range.contains(span))
        })
    }

    /// An optional number of bytes.
    pub fn optional_bytes(&mut self, key: &str) -> Option<Bytes> {
        self.optional(key, "an amount such as \"512MiB\" or \"8GiB\"", bytes)
    }

    /// An optional boolean.
    pub fn optional_flag(&mut self, key: &str) -> Option<bool> {
        self.value(key, "true or false", |value| value.as_bool())
    }

    /// An optional number with a fraction.
    pub fn optional_fraction(&mut self, key: &str, range: RangeInclusive<f64>) -> Option<f64> {
        let wanted = format!("a number from {} to {}", range.start(), range.end());
        self.optional_float(key, &wanted, |number| {
            range.contains(&number).then_some(number)
        })
    }

    /// An optional number with a fraction that `read` can convert.
    pub fn optional_float<T>(
        &mut self,
        key: &str,
        wanted: &str,
        read: impl Fn(f64) -> Option<T>,
    ) -> Option<T> {
        self.value(key, wanted, |value| {
            let number: f64 = match value.as_float() {
                Some(float) => float.as_str().parse().ok()?,
                None => value.as_integer()?.as_str().parse().ok()?,
            };
            read(number)
        })
    }

    /// A required peer to dial.
    pub fn peer(&mut self, key: &str) -> PeerAddress {
        let nobody = PeerAddress {
            name: String::new(),
            address: String::new(),
        };
        let found = self.value(key, PEER, peer);
        self.must_be(key, found).unwrap_or(nobody)
    }

    /// Peers to dial, at least one.
    pub fn peers(&mut self, key: &str) -> Vec<PeerAddress> {
        let wanted = format!("a list of 1 to {PEERS_MAX} of {PEER}");
        let found = self.value(key, &wanted, |value| {
            let all = value.as_array()?.iter().map(|one| peer(one.get_ref()));
            let all: Option<Vec<PeerAddress>> = all.collect();
            all.filter(|all| (1..=PEERS_MAX).contains(&all.len()))
        });
        self.must_be(key, found).unwrap_or_default()
    }

    /// Peers to dial, possibly none.
    pub fn optional_peers(&mut self, key: &str) -> Vec<PeerAddress> {
        let is_there = self.values.iter().any(|entry| entry.key == key);
        if is_there {
            self.peers(key)
        } else {
            Vec::new()
        }
    }

    /// Reports keys that no method has read, and all mistakes.
    fn finish(mut self) -> Result<(), ConfigError> {
        let unknown: Vec<(usize, String)> = self
            .values
            .iter()
            .filter(|entry| !entry.is_known)
            .map(|entry| (entry.at, format!("there is no setting {:?}", entry.key)))
            .collect();
        for (at, text) in unknown {
            self.mistake(at, text);
        }
        if self.mistakes.is_empty() {
            return Ok(());
        }
        self.mistakes.sort();
        Err(ConfigError::Mistakes {
            path: self.path.to_owned(),
            mistakes: self.mistakes,
        })
    }

    fn value<T>(
        &mut self,
        key: &str,
        wanted: &str,
        read: impl Fn(&DeValue<'_>) -> Option<T>,
    ) -> Option<T> {
        let entry = self.values.iter_mut().find(|entry| entry.key == key)?;
        entry.is_known = true;
        let (value, Range { start, .. }) = (read(entry.value.get_ref()), entry.value.span());
        if value.is_none() {
            self.mistake(start, format!("{key} must be {wanted}"));
        }
        value
    }

    /// Reports that a key is missing, at its table.
    fn must_be<T>(&mut self, key: &str, value: Option<T>) -> Option<T> {
        let is_there = self.values.iter().any(|entry| entry.key == key);
        if value.is_none() && !is_there {
            self.mistake(self.text.len(), format!("{key} is missing"));
        }
        value
    }

    fn beside(&self, text: &str) -> PathBuf {
        let directory = self.path.parent().unwrap_or(Path::new(""));
        directory.join(text)
    }

    fn mistake(&mut self, at: usize, text: String) {
        let before = self.text.get(..at).unwrap_or(self.text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        self.mistakes.push(Mistake {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            text,
        });
    }
}

fn texts(value: &DeValue<'_>) -> Option<BTreeMap<String, String>> {
    let texts = value.as_table()?.iter().map(|(name, text)| {
        let text = text.get_ref().as_str()?;
        Some((name.get_ref().to_string(), text.to_owned()))
    });
    texts.collect()
}

fn whole(value: &DeValue<'_>) -> Option<u32> {
    let integer = value.as_integer()?;
    u32::from_str_radix(integer.as_str(), integer.radix()).ok()
}

/// Returns true if a user may be called so, as the second holder of a name may: `ana~2`.
fn is_user(name: &str) -> bool {
    let identity = format!("xav://grid/group/user/{name}");
    identity.parse::<Identity>().is_ok()
}

/// The form of an address to listen on.
const LISTENED: &str = "an address and a port, such as \"0.0.0.0:7400\"";

fn is_host_and_port(text: &str) -> bool {
    let parts = text.rsplit_once(':');
    parts.is_some_and(|(host, port)| {
        !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0)
    })
}

/// A whole number and a unit.
fn span(text: &str) -> Option<Span> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let seconds = match &text[digits.len()..] {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        _ => return None,
    };
    let number: u32 = digits.parse().ok()?;
    Some(Span::from_secs(u64::from(number) * seconds))
}

/// A whole number and a unit.
fn bytes(text: &str) -> Option<Bytes> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let shift = match &text[digits.len()..] {
        "KiB" => 10,
        "MiB" => 20,
        "GiB" => 30,
        "TiB" => 40,
        _ => return None,
    };
    let number: u32 = digits.trim_end().parse().ok()?;
    Some(Bytes(u64::from(number) << shift))
}

/// The form of a peer.
const PEER: &str = "{ name = \"NAME\", address = \"HOST:PORT\" }";

fn peer(value: &DeValue<'_>) -> Option<PeerAddress> {
    let table = value.as_table()?;
    let text = |key| Some(table.get(key)?.get_ref().as_str()?.to_owned());
    let (name, address): (String, String) = (text("name")?, text("address")?);
    // The role does not matter: only the name is checked.
    let is_name = Identity::new("x", "x", Role::Gm, &name).is_ok();
    (table.len() == 2 && is_name && is_host_and_port(&address))
        .then_some(PeerAddress { name, address })
}

fn lines(path: &Path, mistakes: &[Mistake]) -> String {
    let lines = mistakes.iter().map(|Mistake { line, column, text }| {
        format!("{}:{line}:{column}: {text}", path.display())
    });
    lines.collect::<Vec<String>>().join("\n")
}

#[cfg(test)]
mod tests;
