//! `publish`: the outputs that are laid beside the definition, by name.

use model::{NodeId, Publish, PublishOf, Template};

use super::{Fields, Reader};
use crate::tree::{Id, shorten};

impl Reader<'_, '_> {
    /// The outputs of the process that are published.
    pub(super) fn published(&mut self, fields: &Fields) {
        let names: Vec<String> = self
            .draft
            .outputs
            .iter()
            .map(|one| one.name.clone())
            .collect();
        self.publish(fields, &names, PublishOf::Output);
    }

    /// The outputs of an activity that are published.
    pub(super) fn published_by(
        &mut self,
        activity: NodeId,
        fields: &Fields,
        outputs: &[model::Produced],
    ) {
        let names: Vec<String> = outputs.iter().map(|one| one.name.clone()).collect();
        let of = |output| PublishOf::Produced { activity, output };
        self.publish(fields, &names, of);
    }

    fn publish(&mut self, fields: &Fields, names: &[String], of: impl Fn(u32) -> PublishOf) {
        let Some(at) = fields.get("publish") else {
            return;
        };
        for (key, value) in self.entries(at, "a mapping (output: path)") {
            let name = self.tree.text(key).unwrap_or_default();
            let output = names.iter().position(|one| one == name);
            if output.is_none() && !self.is_declared(fields, name) {
                let message = format!("there is no output `{}` to publish", shorten(name));
                let meant = self.meant(name, names.iter().map(String::as_str));
                let hint = meant.unwrap_or_else(|| {
                    "`publish: { NAME: PATH }` has the names of `outputs` beside it".to_owned()
                });
                self.hint(key, message, hint);
            }
            let path = self.text(value, "a path");
            if let (Some(output), Some(path)) = (output, path) {
                let all = self.draft.publish.get_or_insert_default();
                all.push(Publish {
                    of: of(output as u32),
                    path: Template(path.to_owned()),
                });
            }
        }
    }

    /// True if there is an output of this name, which could perhaps not be read.
    fn is_declared(&self, fields: &Fields, name: &str) -> bool {
        let outputs = fields.get("outputs").and_then(|at| self.tree.map(at));
        let mut declared = outputs.into_iter().flatten();
        declared.any(|(key, _): (Id, Id)| self.tree.text(key) == Some(name))
    }
}
