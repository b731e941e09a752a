//! The audit log: who has done what, a line each with the target `audit` in the daemon's log.
//!
//! A line has no secret and no text of a definition: names and reasons only, without control
//! characters and of bounded length. Refusals are limited to a line a minute for each person and action.

use crate::clock;
use crate::refusal_log::RefusalLog;

/// The target of audit lines.
pub const TARGET: &str = "audit";

/// Characters of a text in a line: a reason may name several files.
const TEXT_CHARS_MAX: usize = 300;

/// Writes audit lines.
#[derive(Debug, Default)]
pub struct Audit {
    refusals: RefusalLog,
}

/// A change that somebody has asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Deed<'a> {
    /// The request, in a word.
    pub action: &'a str,
    /// By whom: an identity, or `local` for the account of the daemon.
    pub by: &'a str,
    /// Their address, or how they are connected.
    pub address: &'a str,
    /// The process that it is about.
    pub process: Option<&'a str>,
    /// The owner of that process.
    pub owner: Option<&'a str>,
    /// The other thing that it is about: a member, a machine, a certificate.
    pub subject: Option<&'a str>,
    /// The reason why it was refused; none where it was done.
    pub refusal: Option<&'a str>,
}

impl Audit {
    /// Writes the line of a change, unless it is one refusal of many.
    pub fn tell(&self, deed: &Deed<'_>) {
        let Deed {
            action,
            by,
            address,
            ..
        } = *deed;
        let (by, address) = (&*plain(by), &*plain(address));
        let process = deed.process.map(plain);
        let owner = deed.owner.map(plain);
        let subject = deed.subject.map(plain);
        let (process, owner, subject) = (process.as_deref(), owner.as_deref(), subject.as_deref());
        let Some(why) = deed.refusal else {
            tracing::info!(
                target: TARGET, action, by, address, process, owner, subject, result = "done", "done"
            );
            return;
        };
        let source = format!("{by} {action}");
        if let Some(line) = self.refusals.note(&source, clock::mono()) {
            let (why, n_more) = (&*plain(why), line.n_more);
            tracing::warn!(
                target: TARGET, action, by, address, process, owner, subject, result = "refused", why,
                n_more, "refused"
            );
        }
    }
}

/// A text in one line, without characters that a terminal takes as commands.
fn plain(text: &str) -> String {
    let shown = |letter: char| {
        let is_hidden = letter.is_control() || is_direction(letter);
        let escaped = is_hidden.then(|| letter.escape_unicode());
        let kept = (!is_hidden).then_some(letter);
        escaped.into_iter().flatten().chain(kept)
    };
    let mut plain: String = text.chars().take(TEXT_CHARS_MAX).flat_map(shown).collect();
    if text.chars().nth(TEXT_CHARS_MAX).is_some() {
        plain.push_str("...");
    }
    plain
}

/// Line separators, and marks that change the direction of what follows them.
fn is_direction(letter: char) -> bool {
    matches!(letter, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[test]
fn a_text_stays_in_its_line_whatever_is_in_it() {
    assert_eq!(plain("am/node7"), "am/node7");
    assert_eq!(
        plain("a\nb\u{1b}[2Jc\u{9b}d\u{202e}e"),
        r"a\u{a}b\u{1b}[2Jc\u{9b}d\u{202e}e"
    );
    let long = plain(&"\u{7f}".repeat(TEXT_CHARS_MAX + 1));
    assert_eq!(long, r"\u{7f}".repeat(TEXT_CHARS_MAX) + "...");
}
