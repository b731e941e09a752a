//! The membership of a manager in its group: every few seconds it reports to the group manager,
//! receives revocations and new members, and renews its certificate.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use model::{Identity, Mono, Role, Span};
use thiserror::Error;
use wire::admin::{Contact, Load, Presence, Refused, Request, Response};

use crate::beat::Beat;
use crate::clock;
use crate::identity::{Credentials, CredentialsError, CredentialsReader, Renewal, is_address};
use crate::log_part::log_part;
use crate::quic::{LinkError, RequestClient, Stopper};

/// Process managers of a group that are dialled.
const PROCESS_MANAGERS_MAX: usize = 64;

/// Pause after a failed renewal. A third of the certificate's validity is left then.
const RENEWAL_PAUSE: Span = Span::from_secs(60);

/// Interval of warnings about the end of a certificate.
const WARNING_PERIOD: Span = Span::from_secs(86_400);

/// The state that a member reports.
#[derive(Debug, Default)]
pub struct Said {
    /// The load of its machine, from an activity manager.
    pub load: Option<Load>,
    /// The member's warning; none if it is well.
    pub trouble: Option<String>,
}

/// A membership that is kept up by a thread of its own.
pub struct Membership {
    shared: Arc<Shared>,
    stopper: Stopper,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    has_ended: bool,
    has_credentials: bool,
    process_managers: Vec<Contact>,
}

/// Why a request failed.
#[derive(Debug, Error)]
enum MembershipError {
    #[error("could not ask the group manager")]
    Link(#[from] LinkError),
    #[error("could not understand the group manager's answer")]
    Answer(#[from] minicbor::decode::Error),
    #[error("refused by the group manager: {0}")]
    Refused(Refused),
    #[error("the group manager's answer does not fit the question")]
    Unfit,
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
    #[error("the own certificate has expired: this member has to join again")]
    Expired,
}

impl Membership {
    /// Starts the membership of a member over a request client. The certificate is in `identity`, the
    /// member's log is `log`; `say` returns its state. It reports at its beat: a revocation is known
    /// everywhere after one period, and what a machine says of its load is for people, and no
    /// slot is granted by it.
    pub fn begin(
        name: &str,
        line: RequestClient,
        (identity, log): (&Path, &Path),
        say: impl FnMut() -> Said + Send + 'static,
    ) -> std::io::Result<Membership> {
        let shared: Arc<Shared> = Arc::default();
        let stopper = line.stopper();
        let mut member = Member {
            beat: Beat::of(name),
            shared: Arc::clone(&shared),
            line,
            identity: identity.to_owned(),
            credentials: CredentialsReader::of(identity),
            log: log.to_owned(),
            say: Box::new(say),
            renew_from: Mono(0),
            warn_from: Mono(0),
        };
        let thread = std::thread::Builder::new()
            .name("membership".to_owned())
            .spawn(move || member.run())?;
        Ok(Membership {
            shared,
            stopper,
            thread: Some(thread),
        })
    }

    /// Returns true if certificate or revocations have changed on the disk since the last call.
    pub fn take_credentials_changed(&self) -> bool {
        std::mem::take(&mut self.shared.lock().has_credentials)
    }

    /// The process managers of the group, as last received.
    pub fn process_managers(&self) -> Vec<Contact> {
        self.shared.lock().process_managers.clone()
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        self.shared.lock().has_ended = true;
        self.shared.changed.notify_all();
        self.stopper.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl std::fmt::Debug for Membership {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Membership").finish_non_exhaustive()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it holds the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the next report. Returns false if there is none.
    fn wait(&self, pause: Duration) -> bool {
        let waited = self
            .changed
            .wait_timeout_while(self.lock(), pause, |state| !state.has_ended);
        !waited.unwrap_or_else(PoisonError::into_inner).0.has_ended
    }
}

struct Member {
    beat: Beat,
    shared: Arc<Shared>,
    line: RequestClient,
    identity: PathBuf,
    credentials: CredentialsReader,
    log: PathBuf,
    say: Box<dyn FnMut() -> Said + Send>,
    renew_from: Mono,
    warn_from: Mono,
}

impl Member {
    fn run(&mut self) {
        // A repeated failure is logged once.
        let mut last = String::new();
        loop {
            let done = self.report();
            match done {
                Ok(()) => last.clear(),
                Err(error) => {
                    let text = crate::program::chain(&error);
                    if text != last {
                        tracing::warn!(error = text, "the membership is not kept up");
                        last = text;
                    }
                }
            }
            if !self.shared.wait(self.beat.next(clock::wall())) {
                return;
            }
        }
    }

    fn report(&mut self) -> Result<(), MembershipError> {
        let credentials = self.credentials.read(clock::wall())?;
        self.present(&credentials)?;
        self.renew(&credentials)
    }

    fn present(&mut self, credentials: &Credentials) -> Result<(), MembershipError> {
        let Said { load, trouble } = (self.say)();
        let presence = Presence {
            program: env!("CARGO_PKG_VERSION").to_owned(),
            revision: credentials.revocations().revision(),
            load,
            trouble,
        };
        let Response::Present(present) = self.ask(&Request::Present(presence))? else {
            return Err(MembershipError::Unfit);
        };
        if let Some(revoked) = &present.revoked {
            Credentials::revoke(&self.identity, revoked)?;
            tracing::info!(revision = present.revision, "certificates were revoked");
            self.shared.lock().has_credentials = true;
        }
        // Dialling relies on the form of names and addresses.
        let is_sound = |contact: &Contact| {
            Identity::new("x", "x", Role::Pm, &contact.name).is_ok() && is_address(&contact.address)
        };
        let mut contacts = present.process_managers;
        contacts.retain(is_sound);
        contacts.truncate(PROCESS_MANAGERS_MAX);
        self.shared.lock().process_managers = contacts;
        if let Some(wanted) = &present.log {
            let Response::Taken = self.ask(&Request::Written(log_part(&self.log, wanted)))? else {
                return Err(MembershipError::Unfit);
            };
        }
        Ok(())
    }

    fn renew(&mut self, credentials: &Credentials) -> Result<(), MembershipError> {
        if let Some(ending) = credentials.ending(clock::wall())
            && clock::mono() >= self.warn_from
        {
            self.warn_from = clock::mono() + WARNING_PERIOD;
            tracing::warn!("the own certificate {ending}");
        }
        match credentials.renewal(clock::wall()) {
            Renewal::At(_) => return Ok(()),
            Renewal::Expired => return Err(MembershipError::Expired),
            Renewal::Due if clock::mono() < self.renew_from => return Ok(()),
            Renewal::Due => {}
        }
        self.renew_from = clock::mono() + RENEWAL_PAUSE;
        let request = Credentials::request(&self.identity)?;
        let Response::Renewed { certificate } = self.ask(&Request::Renew { request })? else {
            return Err(MembershipError::Unfit);
        };
        Credentials::replace(&self.identity, &certificate)?;
        tracing::info!("the own certificate was renewed");
        self.shared.lock().has_credentials = true;
        // The next request uses the new certificate.
        self.line.hang_up();
        Ok(())
    }

    fn ask(&mut self, ask: &Request) -> Result<Response, MembershipError> {
        let told = self.line.ask(&wire::encode(ask))?;
        let response = wire::decode(&told)?;
        if let Response::Refused(refused) = response {
            return Err(MembershipError::Refused(refused));
        }
        Ok(response)
    }
}
