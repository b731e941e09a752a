//! A process to be submitted, with its inputs and files.

use std::path::Path;

use model::{Artifact, Definition, Draft, OnFault, Policy, ProcessId, ResourceId, Span, SubmitKey};
use shell::Client;
use wire::client::{Answer, Submit};

use crate::failure::Failure;
use crate::files_beside::FilesBeside;
use crate::grid::Grid;
use crate::inputs::InputValue;
use crate::text;

/// A process to be submitted.
pub(crate) struct Order<'a> {
    /// The key by which a repeat is the same submission.
    pub(crate) key: SubmitKey,
    /// The definition.
    pub(crate) definition: &'a Definition,
    /// Its inputs.
    pub(crate) inputs: Vec<(String, InputValue)>,
    /// The files beside it.
    pub(crate) files: Files,
    /// The file that it was read from.
    pub(crate) origin: String,
    /// The process whose outcomes stand.
    pub(crate) base: Option<ProcessId>,
    /// Its action on a fault, in place of that of its definition.
    pub(crate) on_fault: Option<OnFault>,
    /// Its rule for slow machines, in place of that of its definition.
    pub(crate) policy: Option<Policy>,
    /// The time for which it is kept after its end.
    pub(crate) keep: Option<Span>,
    /// The machine of a grid that has files of it already.
    pub(crate) store: Option<ResourceId>,
}

/// The files beside a definition.
pub(crate) enum Files {
    /// In its directory.
    Beside(FilesBeside),
    /// They are in the state directory, or on a machine of the grid.
    Kept(Vec<Artifact>),
}

impl Order<'_> {
    pub(crate) fn submit(&self, grid: &Grid, client: &mut Client) -> Result<(), Failure> {
        // The managers are in this program and take the definition as it is.
        let mut add = |path: &Path, is_directory| grid.add(path, is_directory);
        let submit = self.resolved(Draft::default(), &mut add)?;
        grid.flush()?;
        self.accepted(&grid.submit(client, self.definition, submit)?)
    }

    /// The submission with this draft, and with files and directories added to a store.
    pub(crate) fn resolved(
        &self,
        mut draft: Draft,
        add: &mut impl FnMut(&Path, bool) -> Result<Artifact, Failure>,
    ) -> Result<Submit, Failure> {
        draft.policy = self.policy.or(draft.policy);
        let mut values = Vec::new();
        for (name, given) in &self.inputs {
            values.push((name.clone(), given.resolve(add)?));
        }
        let files = match &self.files {
            Files::Beside(files) => files.add(add)?,
            Files::Kept(files) => files.clone(),
        };
        Ok(Submit {
            key: self.key,
            draft,
            inputs: values,
            files,
            origin: self.origin.clone(),
            base: self.base,
            on_fault: self.on_fault,
            keep: self.keep,
            store: self.store,
        })
    }

    /// The failure where it was refused.
    pub(crate) fn refused(&self, reasons: &str) -> Failure {
        let shown = text::quoted(&self.origin);
        Failure::refused(format!("{shown} was refused: {reasons}"))
    }

    /// True if the process manager has taken it.
    pub(crate) fn accepted(&self, answer: &Answer) -> Result<(), Failure> {
        if let Answer::Refused(reasons) = answer {
            return Err(self.refused(&reasons.join("; ")));
        }
        if let Answer::NoRoom(reason) = answer {
            return Err(self.refused(reason));
        }
        let is_accepted = matches!(answer, Answer::Submitted(_));
        let unfit = || Failure::new("the process manager did not understand it");
        is_accepted.then_some(()).ok_or_else(unfit)
    }
}
