//! The directory by which somebody knows a grid, and questions to its group manager.

use std::path::{Path, PathBuf};

use model::{Identity, Role};
use shell::clock;
use shell::config::{Config, PeerAddress};
use shell::identity::{Credentials, Ending};
use shell::quic::{self, Requester};
use wire::admin::{Refused, Request, Response};

use super::arguments::Of;
use crate::failure::{Failure, chain};
use crate::{remote, screen, text};

/// The file in such a directory.
pub(crate) const FILE: &str = "grid.toml";

/// A grid as its users know it.
pub(crate) struct AdminContext {
    group_manager: PeerAddress,
    /// Where the own certificate is.
    pub(crate) identity: PathBuf,
}

/// The content of an administrator's grid file.
pub(super) struct GridFile {
    group_manager: PeerAddress,
    identity: PathBuf,
}

impl GridFile {
    pub(super) fn ask(config: &mut Config<'_>) -> GridFile {
        let group_manager = config.peer("group-manager");
        let identity = config.path("identity");
        config.optional_peers("process-managers");
        GridFile {
            group_manager,
            identity,
        }
    }
}

impl AdminContext {
    /// The grid that was given, else the one that XAVANTES_GRID names or `xav grid use` has chosen.
    pub(super) fn of(of: &Of) -> Result<AdminContext, Failure> {
        let Some(dir) = remote::directory(of.dir.as_deref())? else {
            let failure = Failure::refused("no grid was given");
            return Err(failure.help(
                "give one: --grid DIR, as `xav grid init DIR` has made it; `xav grid use` chooses one for good",
            ));
        };
        AdminContext::in_directory(&dir)
    }

    /// The grid that a directory describes.
    pub(super) fn in_directory(dir: &Path) -> Result<AdminContext, Failure> {
        let candidates = [dir.join(FILE), dir.join("client").join(FILE)];
        let Some(path) = candidates.into_iter().find(|path| path.exists()) else {
            let dir = text::quoted(&dir.display().to_string());
            let failure = Failure::refused(format!("{dir} is no grid: there is no {FILE} in it"));
            return Err(failure.help("`xav grid init DIR` makes one"));
        };
        let file = Config::read(&path, GridFile::ask);
        let file = file.map_err(|error| Failure::refused(chain(&error)))?;
        if let Ok(credentials) = Credentials::load(&file.identity) {
            warn_of_ending(&credentials, dir);
        }
        Ok(AdminContext {
            group_manager: file.group_manager,
            identity: file.identity,
        })
    }

    /// Asks, and gives the answer if it is not a refusal.
    pub(super) fn ask(&self, ask: &Request) -> Result<Response, Failure> {
        self.told(ask)?.map_err(|refused| refusal(&refused))
    }

    /// Asks, and gives the answer or the refusal.
    pub(super) fn told(&self, ask: &Request) -> Result<Result<Response, Refused>, Failure> {
        let credentials = load(&self.identity)?;
        let me = credentials.identity();
        let gm: Identity = self.group_manager.identity(me, Role::Gm);
        let requester = Requester::Member(&credentials, &gm);
        let address = &self.group_manager.address;
        let told = quic::ask(address, requester, &wire::encode(ask)).map_err(|error| {
            let error = chain(&error);
            Failure::new(format!(
                "could not ask the group manager at {address}: {error}"
            ))
        })?;
        match wire::decode(&told) {
            Ok(Response::Refused(refused)) => Ok(Err(refused)),
            Ok(told) => Ok(Ok(told)),
            Err(_) => Err(unfit()),
        }
    }
}

/// The failure when the group manager has refused.
pub(super) fn refusal(refused: &Refused) -> Failure {
    Failure::new(match refused {
        Refused::NotDue(due) => format!(
            "the certificate is renewed from {} on, when two thirds of its time are over",
            text::moment(*due)
        ),
        Refused::Role(_)
        | Refused::Unreadable
        | Refused::Not(_)
        | Refused::Failed(_)
        | Refused::NoHolder(_) => format!("the group manager refused: {refused}"),
    })
}

/// Asks the group manager of the grid that was given or chosen; none if none was.
pub(crate) fn ask_given(of: &Of, ask: &Request) -> Option<Result<Response, Failure>> {
    let directory = remote::directory(of.dir.as_deref()).transpose()?;
    Some(directory.and_then(|directory| AdminContext::in_directory(&directory)?.ask(ask)))
}

/// Reads somebody's own certificate.
pub(super) fn load(identity: &Path) -> Result<Credentials, Failure> {
    Credentials::load(identity).map_err(|error| Failure::refused(chain(&error)))
}

/// Says that the user's own certificate ends soon, or has ended.
pub(crate) fn warn_of_ending(credentials: &Credentials, dir: &Path) {
    let Some(ending) = credentials.ending(clock::wall()) else {
        return;
    };
    let help = match ending {
        Ending::Soon(_) => {
            let dir = text::quoted(&dir.display().to_string());
            format!("renew it with `xav cert renew --grid {dir}`")
        }
        Ending::Over(_) => "join again with a token of an administrator, or have it issued where \
                            the authority is (`xavantes-gm issue`)"
            .to_owned(),
    };
    screen::warn(&format!("your certificate {ending}: {help}"));
}

/// An answer of another kind than the question.
pub(super) fn unfit() -> Failure {
    Failure::new("the group manager's answer could not be understood: is it of another version?")
}
