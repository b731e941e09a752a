//! `xav cert`: who has which certificate.

use serde_json::json;
use shell::clock;
use shell::identity::Credentials;
use wire::admin::{CertificateLine, Request, Response};

use super::admin_context::{AdminContext, load, unfit};
use super::arguments::{List, Renew, Revoke};
use crate::failure::{Failure, Outcome};
use crate::{screen, text};

/// `xav cert list`
pub(super) fn list(arguments: &List) -> Outcome {
    let told = AdminContext::of(&arguments.of)?.ask(&Request::Certificates)?;
    let Response::Certificates(lines) = told else {
        return Err(unfit());
    };
    if arguments.json {
        let documents: serde_json::Value = lines.iter().map(document).collect();
        screen::json(&documents)?;
    } else {
        screen::out(&table(&lines))?;
    }
    Ok(0)
}

/// `xav cert renew`
pub(super) fn renew(arguments: &Renew) -> Outcome {
    let admin = AdminContext::of(&arguments.of)?;
    let failed = |error| Failure::because(&error);
    let request = Credentials::request(&admin.identity).map_err(failed)?;
    let Response::Renewed { certificate } = admin.ask(&Request::Renew { request })? else {
        return Err(unfit());
    };
    Credentials::replace(&admin.identity, &certificate).map_err(failed)?;
    let until = load(&admin.identity)?.certificate().not_after;
    screen::out(&format!(
        "Your certificate is valid until {}.\n",
        text::moment(until)
    ))?;
    Ok(0)
}

/// `xav cert revoke`
pub(super) fn revoke(arguments: &Revoke) -> Outcome {
    let ask = Request::Revoke {
        what: arguments.what.clone(),
    };
    let Response::Revoked(lines) = AdminContext::of(&arguments.of)?.ask(&ask)? else {
        return Err(unfit());
    };
    if arguments.json {
        let documents: serde_json::Value = lines.iter().map(document).collect();
        screen::json(&documents)?;
    } else {
        screen::out(&table(&lines))?;
        screen::tell("Members hear of it within some seconds, and end their links.\n");
    }
    Ok(0)
}

fn state(line: &CertificateLine) -> &'static str {
    if line.revoked.is_some() {
        "revoked"
    } else if line.not_after < clock::wall() {
        "expired"
    } else {
        "valid"
    }
}

fn table(lines: &[CertificateLine]) -> String {
    let head = ["SERIAL", "HOLDER", "UNTIL", "STATE"].map(str::to_owned);
    let rows = lines.iter().map(|line| {
        let state = match state(line) {
            "valid" => screen::good("valid"),
            other => screen::bad(other),
        };
        vec![
            line.serial.clone(),
            line.identity.clone(),
            text::moment(line.not_after),
            state,
        ]
    });
    let rows: Vec<Vec<String>> = std::iter::once(head.to_vec()).chain(rows).collect();
    text::table(&rows)
}

fn document(line: &CertificateLine) -> serde_json::Value {
    json!({
        "serial": line.serial,
        "holder": line.identity,
        "not_before": text::moment_for_programs(line.not_before),
        "not_after": text::moment_for_programs(line.not_after),
        "revoked": line.revoked.map(text::moment_for_programs),
        "state": state(line),
    })
}
