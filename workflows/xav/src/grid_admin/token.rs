//! `xav token`: who may join.

use serde_json::json;
use shell::identity::JoinToken;
use wire::admin::{Request, Response, TokenLine};

use super::admin_context::{AdminContext, unfit};
use super::arguments::{Cancel, Create, List};
use crate::failure::{Failure, Outcome};
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
    let made: JoinToken = token.parse().map_err(|_| unfit())?;
    let id = made.id().to_string();
    if arguments.json {
        let expires = text::moment_for_programs(expires);
        screen::json(&json!({ "token": token, "id": id, "expires": expires }))?;
    } else {
        // Alone on standard output, so that it can stand in a command.
        screen::out(&format!("{token}\n"))?;
        let expires = text::moment(expires);
        screen::tell(&format!(
            "It can be used once, until {expires}. Its ID is {}.\n",
            short(&id)
        ));
    }
    Ok(0)
}

/// `xav token list`
pub(super) fn list(arguments: &List) -> Outcome {
    let told = AdminContext::of(&arguments.of)?.ask(&Request::Tokens)?;
    let Response::Tokens(lines) = told else {
        return Err(unfit());
    };
    if arguments.json {
        let documents: serde_json::Value = lines.iter().map(document).collect();
        screen::json(&documents)?;
    } else if lines.is_empty() {
        screen::tell("No token can be used.\n");
    } else {
        screen::out(&table(&lines))?;
    }
    Ok(0)
}

/// `xav token cancel`
pub(super) fn cancel(arguments: &Cancel) -> Outcome {
    let mut what = arguments.what.clone();
    if what == "-" {
        what.clear();
        let read = std::io::stdin().read_line(&mut what);
        read.map_err(|error| Failure::because(&error))?;
    }
    // The token itself stays here: its id is enough.
    let id = match what.trim().parse::<JoinToken>() {
        Ok(token) => token.id().to_string(),
        Err(_) => what.trim().to_lowercase(),
    };
    let told = AdminContext::of(&arguments.of)?.ask(&Request::CancelToken { id })?;
    let Response::Tokens(lines) = told else {
        return Err(unfit());
    };
    if arguments.json {
        let documents: serde_json::Value = lines.iter().map(document).collect();
        screen::json(&documents)?;
    } else {
        for line in &lines {
            screen::out(&format!(
                "The token {} admits nobody any more.\n",
                short(&line.id)
            ))?;
        }
    }
    Ok(0)
}

/// Characters of a token's id that are shown: among all tokens of a group, one in millions is not the only
/// one that begins so.
const SHOWN: usize = 12;

fn short(id: &str) -> &str {
    id.get(..SHOWN).unwrap_or(id)
}

fn table(lines: &[TokenLine]) -> String {
    let head = ["ID", "ROLE", "NAME", "MADE BY", "UNTIL"].map(str::to_owned);
    let rows = lines.iter().map(|line| {
        let name = match (&line.name, line.takes_over) {
            (Some(name), true) => format!("{name}, takes over"),
            (Some(name), false) => name.clone(),
            (None, _) => "any".to_owned(),
        };
        vec![
            short(&line.id).to_owned(),
            line.role.clone(),
            name,
            line.made_by.clone().unwrap_or_else(|| "unknown".to_owned()),
            text::moment(line.expires),
        ]
    });
    let rows: Vec<Vec<String>> = std::iter::once(head.to_vec()).chain(rows).collect();
    text::table(&rows)
}

fn document(line: &TokenLine) -> serde_json::Value {
    json!({
        "id": line.id,
        "role": line.role,
        "name": line.name,
        "takes_over": line.takes_over,
        "made_by": line.made_by,
        "expires": text::moment_for_programs(line.expires),
    })
}
