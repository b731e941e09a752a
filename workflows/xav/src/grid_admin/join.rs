//! `xav grid join`: become a user of a grid.

use model::{Identity, Role};
use shell::enrolment::{self, Wishes};
use shell::identity::{JoinToken, write_secret};
use wire::admin::Joined;

use super::admin_context;
use super::arguments::Join;
use super::init::Beside;
use crate::failure::{Failure, Outcome, chain};
use crate::{screen, text};

/// `xav grid join`
pub(super) fn join(arguments: &Join) -> Outcome {
    let given = match &*arguments.token {
        "-" => {
            let mut line = String::new();
            let read = std::io::stdin().read_line(&mut line);
            read.map_err(|error| Failure::new(format!("could not read the token: {error}")))?;
            line
        }
        token => token.to_owned(),
    };
    let token: JoinToken = given
        .parse()
        .map_err(|error| Failure::refused(chain(&error)))?;
    let made = Beside::of(&arguments.dir)?;
    let wishes = Wishes {
        name: arguments.name.as_deref(),
        otherwise: &account_name(),
        address: None,
    };
    let role = match token.role {
        role @ (Role::User | Role::Admin) => role,
        // A manager's token is refused by what it is for.
        Role::Gm | Role::Pm | Role::Am => Role::User,
    };
    let joined = enrolment::join(&token, role, &wishes, &made.path.join("identity"));
    let (identity, joined) = match joined {
        Ok(joined) => joined,
        Err(error) => {
            let failure = Failure::new(chain(&error));
            if made.path.join("identity").exists() {
                // The token may be used up: with the key of this try it is good again.
                made.keep();
            }
            return Err(failure);
        }
    };
    let Joined {
        group_manager,
        process_managers,
        ..
    } = joined;
    let JoinToken { grid, group, .. } = &token;
    let head = format!("# The group {group} of the grid {grid}.\n");
    let text = head + &shell::program::grid_file(&group_manager, &process_managers);
    let written = write_secret(&made.path.join(admin_context::FILE), &text);
    written.map_err(|error| Failure::because(&error))?;
    let name = identity.label();
    made.into_place(&arguments.dir)?;
    let dir = text::quoted(&arguments.dir.display().to_string());
    screen::out(&format!(
        "You are {name} in the grid {grid}. Run something:\n\n  xav run --grid {dir} FILE\n"
    ))?;
    if identity.holder() > 1 {
        screen::tell(&format!(
            "Somebody else was {} before you: what they have is not yours, unless your token takes it \
             over (`xav token create --take-over`).\n",
            identity.name()
        ));
    }
    Ok(0)
}

/// The name of the user's account where that can be a name in a grid, else `admin`.
pub(super) fn account_name() -> String {
    let account = shell::environment::text("USER").or_else(|| shell::environment::text("LOGNAME"));
    let account = account.map(|name| name.to_lowercase());
    account
        .filter(|name| Identity::new("x", "x", Role::User, name).is_ok())
        .unwrap_or_else(|| "admin".to_owned())
}
