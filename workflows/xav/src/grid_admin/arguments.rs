//! The command line of these commands.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use model::{Role, Span};

use crate::arguments::duration;
use crate::remote;

/// The choice of a grid.
#[derive(Args, Clone, Debug)]
pub(crate) struct Of {
    /// The directory that `xav grid init` or `xav grid join` made, or its name among the user's grids;
    /// without it, the one that XAVANTES_GRID names or that `xav grid use` has chosen
    #[arg(long = "grid", value_name = "DIR|NAME")]
    pub(crate) dir: Option<PathBuf>,
}

/// `xav grid`
#[derive(Debug, Subcommand)]
pub(crate) enum Grid {
    /// Make a grid: an authority, a group manager, a process manager, and your own key to it
    Init(Init),
    /// Become a user of a grid with a join token
    Join(Join),
    /// Choose the grid that commands are about where none is named
    Use(remote::Use),
    /// Copy a group manager's or process manager's directory: authority, identity, configuration, journals
    Backup(Backup),
    /// Make a manager's directory from such a copy
    Restore(Restore),
}

/// `xav grid backup`
#[derive(Args, Debug)]
pub(crate) struct Backup {
    /// The manager's gm.toml or pm.toml; everything beside it is copied
    #[arg(value_name = "FILE")]
    pub(crate) config: PathBuf,
    /// Where; the directory must be empty or not there
    #[arg(long, value_name = "DIR")]
    pub(crate) to: PathBuf,
    /// Leave the journals out, so that the manager may run meanwhile
    #[arg(long)]
    pub(crate) without_state: bool,
}

/// `xav grid restore`
#[derive(Args, Debug)]
pub(crate) struct Restore {
    /// The copy
    #[arg(value_name = "BACKUP")]
    pub(crate) backup: PathBuf,
    /// Where the manager's directory goes; it must be empty or not there
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
}

/// `xav grid init`
#[derive(Args, Debug)]
pub(crate) struct Init {
    /// Where; the directory must be empty or not there
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// The grid's name
    #[arg(long, value_name = "NAME", default_value = "grid")]
    pub(crate) grid: String,
    /// The group's name
    #[arg(long, value_name = "NAME", default_value = "main")]
    pub(crate) group: String,
    /// This machine's name or address, as other machines reach it
    #[arg(long, value_name = "HOST", default_value = "127.0.0.1")]
    pub(crate) host: String,
    /// The port (UDP) of the group manager; the process manager has the next one
    #[arg(long, value_name = "N", default_value_t = 7400)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=65_534))]
    pub(crate) port: u16,
}

/// `xav grid join`
#[derive(Args, Debug)]
pub(crate) struct Join {
    /// The token, from `xav token create --role user` or admin; `-` reads it from standard input
    #[arg(value_name = "TOKEN")]
    pub(crate) token: String,
    /// Where your key and the grid's addresses go; the directory must be empty or not there
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// Your name in the grid; the one of your account where left out
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
}

/// `xav token`
#[derive(Debug, Subcommand)]
pub(crate) enum Token {
    /// Print a token by which a machine, a manager or a user joins once
    Create(Create),
    /// List the tokens that can be used
    List(List),
    /// Have a token admit nobody any more, at once
    Cancel(Cancel),
}

/// `xav token cancel`
#[derive(Args, Debug)]
pub(crate) struct Cancel {
    /// Its ID or the beginning of it, as `xav token list` shows; or the token itself, or `-` to read that from
    /// standard input
    #[arg(value_name = "ID|TOKEN")]
    pub(crate) what: String,
    #[command(flatten)]
    pub(crate) of: Of,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `xav token create`
#[derive(Args, Debug)]
pub(crate) struct Create {
    /// As what
    #[arg(long, value_enum)]
    pub(crate) role: Joiner,
    /// Under this name only
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Whoever joins gets the processes of the one who had the name before
    #[arg(long, requires = "name")]
    pub(crate) take_over: bool,
    /// For how long it can be used
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = duration)]
    pub(crate) ttl: Span,
    #[command(flatten)]
    pub(crate) of: Of,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// The roles that may join.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Joiner {
    /// An activity manager: a machine
    Am,
    /// A process manager
    Pm,
    /// Somebody who runs processes
    User,
    /// Somebody who administers the grid
    Admin,
}

impl Joiner {
    pub(crate) fn role(self) -> Role {
        match self {
            Joiner::Am => Role::Am,
            Joiner::Pm => Role::Pm,
            Joiner::User => Role::User,
            Joiner::Admin => Role::Admin,
        }
    }
}

/// `xav cert`
#[derive(Debug, Subcommand)]
pub(crate) enum Certificates {
    /// List all certificates of a grid
    List(List),
    /// Renew your own certificate; managers renew theirs by themselves
    Renew(Renew),
    /// Have a certificate count no more, at once
    Revoke(Revoke),
}

/// `xav cert list`
#[derive(Args, Debug)]
pub(crate) struct List {
    #[command(flatten)]
    pub(crate) of: Of,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `xav cert renew`
#[derive(Args, Debug)]
pub(crate) struct Renew {
    #[command(flatten)]
    pub(crate) of: Of,
}

/// `xav cert revoke`
#[derive(Args, Debug)]
pub(crate) struct Revoke {
    /// A serial number, ROLE/NAME such as am/node7, or xav://GRID/GROUP/ROLE/NAME
    #[arg(value_name = "WHAT")]
    pub(crate) what: String,
    #[command(flatten)]
    pub(crate) of: Of,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `xav config`
#[derive(Debug, Subcommand)]
pub(crate) enum Check {
    /// Name all mistakes of configuration files
    Check {
        /// gm.toml, pm.toml, am.toml or grid.toml
        #[arg(value_name = "FILE", required = true)]
        files: Vec<PathBuf>,
    },
}

/// `xav nodes`
#[derive(Args, Debug)]
pub(crate) struct Nodes {
    /// One machine, with everything that is known of it
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// The powers and loads that the machine had
    #[arg(long, requires = "name", conflicts_with_all = ["shares", "release"])]
    pub(crate) history: bool,
    /// The users' shares and limits, what they have used, and the slots that they hold
    #[arg(long, conflicts_with_all = ["name", "release"])]
    pub(crate) shares: bool,
    /// Give back the slots of a process, by the beginning of its ID, or of a process manager that is
    /// away, by its name, as soon as machines have nothing of it
    #[arg(long, value_name = "PROCESS|PROCESS-MANAGER", conflicts_with_all = ["name", "json"])]
    pub(crate) release: Option<String>,
    #[command(flatten)]
    pub(crate) of: Of,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `xav drain`, `xav undrain`
#[derive(Args, Debug)]
pub(crate) struct Drain {
    /// The machine, by its name
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) of: Of,
}

impl Token {
    pub(crate) fn wants_json(&self) -> bool {
        match self {
            Token::Create(create) => create.json,
            Token::List(list) => list.json,
            Token::Cancel(cancel) => cancel.json,
        }
    }
}

impl Certificates {
    pub(crate) fn wants_json(&self) -> bool {
        match self {
            Certificates::List(list) => list.json,
            Certificates::Renew(_) => false,
            Certificates::Revoke(revoke) => revoke.json,
        }
    }
}
