//! `xav token create`.

use serde_json::json;
use wire::admin::{Request, Response};

use super::admin_context::{AdminContext, unfit};
use super::arguments::Create;
use crate::failure::Outcome;
use crate::{screen, text};

/// `xav token create`
pub(super) fn create(arguments: &Create) -> Outcome {
    let ask = Request::CreateToken {
        role: arguments.role.role().word().to_owned(),
        name: arguments.name.clone(),
        lifetime: arguments.ttl,
        takes_over: arguments.take_over,
    };
    let Response::Token {
        text: token,
        expires,
        was_held,
    } = AdminContext::of(&arguments.of)?.ask(&ask)?
    else {
        return Err(unfit());
    };
    if let (true, Some(name)) = (was_held, &arguments.name) {
        screen::warn(&format!(
            "{name} was another one before: whoever joins does not see their processes, unless the \
             token is made with --take-over"
        ));
    }
    if arguments.json {
        let expires = text::moment_for_programs(expires);
        screen::json(&json!({ "token": token, "expires": expires }))?;
    } else {
        // Alone on standard output, so that it can stand in a command.
        screen::out(&format!("{token}\n"))?;
        let expires = text::moment(expires);
        screen::tell(&format!("It can be used once, until {expires}.\n"));
    }
    Ok(0)
}
