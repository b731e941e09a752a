//! `join TOKEN --dir DIR`: a certificate and a configuration for a daemon that has neither.

use std::error::Error;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use model::Role;
use wire::admin::{Contact, Joined};

use super::{DaemonConfig, Service};
use crate::config::Config;
use crate::enrolment::{self, Wishes, name_default, own_address};
use crate::identity::{JoinToken, is_address, write_secret};

/// The settings with which a kind of daemon joins a group.
#[derive(Clone, Copy, Debug)]
pub struct Joining {
    /// The role of the daemon.
    pub role: Role,
    /// The name of its configuration file.
    pub file: &'static str,
    /// The port that others dial, unless given; 0 if nobody dials the daemon.
    pub port: u16,
    /// True if its configuration names the process managers.
    pub names_process_managers: bool,
    /// Further arguments that go into the configuration.
    pub settings: &'static [Setting],
}

/// An argument that becomes a line of the configuration: `--slots 4` becomes `slots = 4`.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The key; the argument is the same after `--`.
    pub key: &'static str,
    /// The form of its value.
    pub kind: Kind,
}

/// The form of an argument's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// No value: it becomes `true`.
    Flag,
    /// Digits.
    Number,
    /// A text, in quotes in the configuration.
    Text,
}

impl Joining {
    pub(super) fn usage(&self, name: &str) -> String {
        let mut text = format!(
            "\n       {name} join TOKEN --dir DIR [--name NAME] [--listen IP:PORT] [--address HOST:PORT] [--run]"
        );
        for setting in self.settings {
            let key = setting.key;
            let shown = match setting.kind {
                Kind::Flag => format!(" [--{key}]"),
                Kind::Number => format!(" [--{key} N]"),
                Kind::Text => format!(" [--{key} TEXT]"),
            };
            text.push_str(&shown);
        }
        text + "\n                            become a member of the group that made the token"
    }
}

#[derive(Default)]
struct Arguments {
    directory: Option<PathBuf>,
    name: Option<String>,
    listen: Option<SocketAddr>,
    address: Option<String>,
    /// Lines of the configuration.
    lines: String,
    runs: bool,
}

/// A daemon that has joined.
pub(super) struct Enrolled {
    /// The message for the user.
    pub(super) told: String,
    /// Its configuration.
    pub(super) config: PathBuf,
    /// True if the daemon is to run at once.
    pub(super) runs: bool,
}

/// Joins, and returns the message about the next step.
pub(super) fn join<S: Service>(
    joining: &Joining,
    token: &str,
    given: &[OsString],
) -> Result<Enrolled, Box<dyn Error>> {
    let token: JoinToken = token.parse()?;
    let arguments = parse(joining, given)?;
    let directory = arguments.directory.ok_or("--dir is missing")?;
    let listen = match arguments.listen {
        Some(listen) => listen,
        None => SocketAddr::new(
            own_address(&token.address)
                .map_err(|error| format!("could not find a way to {}: {error}", token.address))?,
            joining.port,
        ),
    };
    let address = match (arguments.address, joining.port) {
        (Some(address), _) => Some(address),
        (None, 0) => None,
        (None, _) if is_any(listen.ip()) => {
            let text =
                "--address is missing: it listens everywhere, and others must know where to dial";
            return Err(text.into());
        }
        (None, _) => Some(listen.to_string()),
    };
    let path = directory.join(joining.file);
    let head = Head {
        joining,
        token: &token,
        listen,
        lines: &arguments.lines,
    };
    // Mistakes are reported before the token is used up.
    let nobody = || Contact {
        name: "x".to_owned(),
        address: "x:1".to_owned(),
    };
    let draft = head.text(&nobody(), &[nobody()]);
    let (_, settings) = Config::read_text(&path, &draft, |config| {
        (DaemonConfig::ask(config), S::ask(config))
    })?;
    S::approve(&settings)?;
    let wishes = Wishes {
        name: arguments.name.as_deref(),
        otherwise: &name_default(),
        address: address.as_deref(),
    };
    let place = directory.join("identity");
    // A directory without a configuration belongs to an interrupted join, which goes on.
    if path.exists() {
        enrolment::refuse_member(&place)?;
    }
    let (identity, joined) = enrolment::join(&token, joining.role, &wishes, &place)?;
    let Joined {
        group_manager,
        process_managers,
        ..
    } = joined;
    write_secret(&path, &head.text(&group_manager, &process_managers))?;
    let mut told = format!(
        "{} has joined the group {} of the grid {}.",
        identity.label(),
        token.group,
        token.grid
    );
    if !arguments.runs {
        write!(
            told,
            " Run it with\n\n  {} --config {}",
            S::NAME,
            path.display()
        )?;
    }
    Ok(Enrolled {
        told,
        config: path,
        runs: arguments.runs,
    })
}

struct Head<'a> {
    joining: &'a Joining,
    token: &'a JoinToken,
    listen: SocketAddr,
    lines: &'a str,
}

impl Head<'_> {
    fn text(&self, group_manager: &Contact, process_managers: &[Contact]) -> String {
        let JoinToken { grid, group, .. } = self.token;
        let mut text = format!(
            "# {} of the group {group} of the grid {grid}.\n{}group-manager = {}\n",
            match self.joining.role {
                Role::Pm => "A process manager",
                Role::Gm | Role::Am | Role::User | Role::Admin => "An activity manager",
            },
            place(self.listen),
            contact(group_manager)
        );
        if self.joining.names_process_managers && !process_managers.is_empty() {
            let all: Vec<String> = process_managers.iter().map(contact).collect();
            writeln!(text, "process-managers = [{}]", all.join(", "))
                .expect("a String takes every text");
        }
        text + self.lines
    }
}

/// The configuration lines that every daemon has.
pub fn place(listen: SocketAddr) -> String {
    format!("directory = \"state\"\nidentity = \"identity\"\nlisten = \"{listen}\"\n")
}

/// A peer to dial, in the form of a configuration.
pub fn contact(contact: &Contact) -> String {
    let Contact { name, address } = contact;
    format!("{{ name = \"{name}\", address = \"{address}\" }}")
}

/// The text of `grid.toml`, with which users address a grid: the managers to dial, and their own
/// certificate in `identity` beside it.
pub fn grid_file(group_manager: &Contact, process_managers: &[Contact]) -> String {
    let mut text = format!("group-manager = {}\n", contact(group_manager));
    if !process_managers.is_empty() {
        let all: Vec<String> = process_managers.iter().map(contact).collect();
        text.push_str(&format!("process-managers = [{}]\n", all.join(", ")));
    }
    text + "identity = \"identity\"\n"
}

fn is_any(address: IpAddr) -> bool {
    address.is_unspecified()
}

fn parse(joining: &Joining, given: &[OsString]) -> Result<Arguments, Box<dyn Error>> {
    let mut arguments = Arguments::default();
    let mut given = given.iter();
    while let Some(word) = given.next() {
        let word = word.to_str().ok_or("an argument is not text")?;
        let setting = joining
            .settings
            .iter()
            .find(|setting| word.strip_prefix("--") == Some(setting.key));
        if let Some(Setting {
            key,
            kind: Kind::Flag,
        }) = setting
        {
            writeln!(arguments.lines, "{key} = true")?;
            continue;
        }
        if word == "--run" {
            arguments.runs = true;
            continue;
        }
        let value = given.next().and_then(|value| value.to_str());
        let value = value.ok_or_else(|| format!("{word} needs a value"))?;
        match (word, setting) {
            ("--dir", _) => arguments.directory = Some(PathBuf::from(value)),
            ("--name", _) => arguments.name = Some(value.to_owned()),
            ("--listen", _) => {
                let listen = value.parse();
                arguments.listen = Some(
                    listen.map_err(|_| "--listen must be an address and a port: 10.0.0.7:7401")?,
                );
            }
            ("--address", _) if is_address(value) => arguments.address = Some(value.to_owned()),
            ("--address", _) => return Err("--address must be a host and a port".into()),
            (_, Some(Setting { key, kind })) => match kind {
                Kind::Number => writeln!(arguments.lines, "{key} = {}", value.parse::<u32>()?)?,
                Kind::Text | Kind::Flag => {
                    writeln!(arguments.lines, "{key} = {}", quoted(value)?)?;
                }
            },
            (_, None) => return Err(format!("there is no argument {word}").into()),
        }
    }
    Ok(arguments)
}

/// A quoted TOML text.
fn quoted(text: &str) -> Result<String, Box<dyn Error>> {
    if text.contains(|letter: char| letter.is_control() || letter == '"' || letter == '\\') {
        return Err(format!("{text:?} has characters that a setting cannot have").into());
    }
    Ok(format!("\"{text}\""))
}

/// Reads the token from standard input if it was given as `-`, so that it appears in no list of
/// processes.
pub(super) fn token_text(given: &str) -> Result<String, Box<dyn Error>> {
    if given != "-" {
        return Ok(given.to_owned());
    }
    let mut line = String::new();
    std::io::stdin().read_line(&mut line)?;
    Ok(line)
}
