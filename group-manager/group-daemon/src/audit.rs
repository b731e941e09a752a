//! The audit lines of requests to a group manager. They name what was asked for and never what a
//! token or a request for a certificate contains.

use model::Wall;
use shell::audit::{Audit, Deed};
use shell::clock;
use shell::identity::TokenId;
use shell::quic::RequestOrigin;
use wire::admin::{Refused, Request, Response};

/// A change that a request asks for.
pub(crate) struct Asked {
    action: &'static str,
    subject: String,
}

impl Asked {
    /// The change; none where the request only reads, or comes from daemons all the time.
    pub(crate) fn of(request: &Request) -> Option<Asked> {
        let (action, subject) = match request {
            Request::Join(join) => {
                let token = TokenId::of(&join.secret);
                let name = join.name.as_deref().or(join.otherwise.as_deref());
                let name = name.unwrap_or_default();
                ("join", format!("{}/{name} with token {token}", join.role))
            }
            Request::CreateToken {
                role,
                name,
                takes_over,
                lifetime: _,
            } => {
                let name = name.as_deref().unwrap_or("*");
                let over = if *takes_over { ", taking over" } else { "" };
                ("create-token", format!("{role}/{name}{over}"))
            }
            // The given text may be the token itself: the answer has its ID.
            Request::CancelToken { id: _ } => ("cancel-token", String::new()),
            Request::Renew { .. } => ("renew-certificate", String::new()),
            Request::Revoke { what } => ("revoke-certificate", what.clone()),
            Request::Drain { name, is_drained } => {
                let action = if *is_drained { "drain" } else { "undrain" };
                (action, format!("am/{name}"))
            }
            Request::Release { what } => ("release", what.clone()),
            Request::Certificates
            | Request::Tokens
            | Request::Present(_)
            | Request::Nodes
            | Request::NodeHistory { .. }
            | Request::Log { .. }
            | Request::Written(_) => return None,
        };
        Some(Asked { action, subject })
    }

    /// Writes the line.
    pub(crate) fn tell(
        self,
        audit: &Audit,
        origin: RequestOrigin<'_>,
        answer: &Result<Response, Refused>,
    ) {
        // A daemon asks to be renewed until it may be. Where a word is the beginning of a process's ID, the
        // question is asked again with the whole of it.
        if matches!(answer, Err(Refused::NotDue(_) | Refused::NoHolder(_))) {
            return;
        }
        let member = origin.certificate.map(|member| member.identity.to_string());
        let address = origin.address.to_canonical().to_string();
        let mut subject = self.subject;
        if let Some(more) = issued(answer) {
            let separator = if subject.is_empty() { "" } else { ": " };
            subject.push_str(separator);
            subject.push_str(&more);
        }
        let refusal = answer.as_ref().err().map(ToString::to_string);
        audit.tell(&Deed {
            action: self.action,
            by: member.as_deref().unwrap_or("stranger"),
            address: &address,
            subject: Some(&subject).filter(|it| !it.is_empty()).map(|it| &**it),
            refusal: refusal.as_deref(),
            ..Deed::default()
        });
    }
}

/// Says that a machine is forgotten, which did not come back.
pub(crate) fn tell_forgotten(audit: &Audit, name: &str, seen: Wall) {
    let silent = clock::wall().since(seen);
    tracing::warn!(
        machine = name,
        "the machine did not come back for {silent} and is forgotten (forget-machines)"
    );
    let subject = format!("am/{name}");
    audit.tell(&Deed {
        action: "forget-machine",
        by: "local",
        address: "configuration",
        subject: Some(&subject),
        ..Deed::default()
    });
}

/// The things that an answer has issued or changed, as far as it can be told.
fn issued(answer: &Result<Response, Refused>) -> Option<String> {
    match answer.as_ref().ok()? {
        Response::Token { text, .. } => {
            let token = text.parse::<shell::identity::JoinToken>().ok()?;
            Some(format!("token {}", token.id()))
        }
        Response::Revoked(lines) => {
            let members = lines.iter().map(|line| {
                let (identity, serial) = (&line.identity, &line.serial);
                format!("{identity} ({serial})")
            });
            Some(members.collect::<Vec<_>>().join(", "))
        }
        Response::Tokens(lines) => {
            let tokens = lines.iter().map(|line| format!("token {}", line.id));
            Some(tokens.collect::<Vec<_>>().join(", "))
        }
        Response::Released { slots } => Some(format!("{slots} slots")),
        Response::Joined(_)
        | Response::Renewed { .. }
        | Response::Certificates(_)
        | Response::Present(_)
        | Response::Nodes(..)
        | Response::NodeHistory(_)
        | Response::Drained
        | Response::Log(_)
        | Response::Awaited
        | Response::Taken
        | Response::Refused(_) => None,
    }
}
