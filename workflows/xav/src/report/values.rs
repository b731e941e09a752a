//! The inputs, outputs and variables of a process, as a table.

use model::Value;
use wire::client::Status;

use super::escape::{html, visible};
use super::written::shortened;
use crate::text;

/// Values of each kind that the page shows; `xav status --json` has them all.
const SHOWN_MAX: usize = 200;

/// The section with all values; nothing where there are none.
pub(crate) fn values(status: &Status) -> String {
    let kinds = [
        ("Input", &status.inputs),
        ("Output", &status.outputs),
        ("Variable", &status.variables),
    ];
    let rows: String = kinds
        .iter()
        .map(|(kind, named)| rows(kind, named))
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    format!(
        "<section aria-labelledby=\"values\">\n<h2 id=\"values\">Inputs, outputs and variables</h2>\n\
<div class=\"scroll tall\" tabindex=\"0\" role=\"group\" aria-label=\"Table of values\"><table>\n<thead><tr><th scope=\"col\" class=\"text\">Kind</th>\
<th scope=\"col\" class=\"text\">Name</th><th scope=\"col\" class=\"text\">Value</th></tr></thead>\n\
<tbody>\n{rows}</tbody>\n</table></div>\n</section>\n"
    )
}

fn rows(kind: &str, named: &[(String, Value)]) -> String {
    let shown = named.iter().take(SHOWN_MAX).map(|(name, value)| {
        let value = html(&visible(&shortened(&text::value(value))));
        row(kind, &html(name), &format!("<code>{value}</code>"))
    });
    let more = named.len().saturating_sub(SHOWN_MAX);
    let more = (more > 0).then(|| row(kind, &format!("and {more} more"), ""));
    shown.chain(more).collect()
}

fn row(kind: &str, name: &str, value: &str) -> String {
    format!(
        "<tr><td class=\"text\">{kind}</td><th scope=\"row\" class=\"text\">{name}</th><td class=\"text\">{value}</td></tr>\n"
    )
}
