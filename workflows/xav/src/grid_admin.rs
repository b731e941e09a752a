//! Commands for those who have a grid of their own: they make one, let members in, look at its
//! machines and its certificates. All but the making ask the group manager.

mod admin_context;
mod arguments;
mod backup;
mod certificates;
mod check;
mod init;
mod join;
mod log;
mod node_history;
mod nodes;
mod release;
mod token;

pub(crate) use arguments::{Certificates, Check, Drain, Grid, Nodes, Of, Token};

use crate::failure::Outcome;

pub(crate) use admin_context::{ask_given, warn_of_ending};
pub(crate) use log::log;

/// `xav grid`
pub(crate) fn grid(command: &Grid) -> Outcome {
    match command {
        Grid::Init(init) => init::init(init),
        Grid::Join(join) => join::join(join),
        Grid::Use(choice) => crate::remote::choose(choice),
        Grid::Backup(backup) => backup::backup(backup),
        Grid::Restore(restore) => backup::restore(restore),
    }
}

/// `xav token`
pub(crate) fn token(command: &Token) -> Outcome {
    match command {
        Token::Create(create) => token::create(create),
        Token::List(list) => token::list(list),
        Token::Cancel(cancel) => token::cancel(cancel),
    }
}

/// `xav cert`
pub(crate) fn certificates(command: &Certificates) -> Outcome {
    match command {
        Certificates::List(list) => certificates::list(list),
        Certificates::Renew(renew) => certificates::renew(renew),
        Certificates::Revoke(revoke) => certificates::revoke(revoke),
    }
}

/// `xav config`
pub(crate) fn check(Check::Check { files }: &Check) -> Outcome {
    check::check(files)
}

/// `xav nodes`
pub(crate) fn nodes(arguments: &Nodes) -> Outcome {
    nodes::nodes(arguments)
}

/// `xav drain` and `xav undrain`
pub(crate) fn drain(arguments: &Drain, is_drained: bool) -> Outcome {
    nodes::drain(arguments, is_drained)
}
