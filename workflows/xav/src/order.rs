//! A process to be submitted, with its inputs and files.

use std::path::Path;

use model::{Artifact, Definition, Draft, OnFault, ProcessId, ResourceId, Span, SubmitKey};
use shell::Client;
use wire::client::{Answer, Submit};

use crate::arguments::Following;
use crate::failure::Failure;
use crate::files_beside::FilesBeside;
use crate::garbage::artifacts_of;
use crate::grid::Grid;
use crate::inputs::{InputValue, Taking, not_taken};
use crate::sources::{Intake, Sources, Wanted};
use crate::state::StateDirectory;
use crate::{fault, foresight, input_copies, text};

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
    /// The time for which it is kept after its end.
    pub(crate) keep: Option<Span>,
    /// The machine of a grid that has files of it already.
    pub(crate) store: Option<ResourceId>,
    /// Variables of the environment of its commands that go with the submission.
    pub(crate) environment: Option<Vec<(String, String)>>,
    /// The places that its files come from, as far as they are known.
    pub(crate) sources: Sources,
}

/// Has `take` copy again what a store lacks of the files of a rerun. One that has changed since is an error.
pub(crate) fn take_again(
    mut wanted: Vec<Wanted>,
    sources: &Sources,
    has: &dyn Fn(Artifact) -> bool,
    take: &mut dyn FnMut(&Path, Artifact) -> Result<bool, Failure>,
) -> Result<(), Failure> {
    wanted.retain(|one| !has(one.artifact));
    let lost = sources.take_again(&wanted, take)?;
    match lost.is_empty() {
        true => Ok(()),
        false => Err(input_copies::lost(lost)),
    }
}

/// The files beside a definition.
pub(crate) enum Files {
    /// In its directory.
    Beside(FilesBeside),
    /// They are in the state directory, or on a machine of the grid.
    Kept(Vec<Artifact>),
}

impl Order<'_> {
    /// Gives it to the managers of this program. What is known of its files is written beside it.
    pub(crate) fn submit(
        &self,
        grid: &Grid,
        client: &mut Client,
        directory: &StateDirectory,
        how: Following,
    ) -> Result<(), Failure> {
        let (submit, mut sources) = self.taken(grid)?;
        if self.base.is_some() {
            let wanted = self.wanted(&submit);
            sources.carry(&self.sources, &wanted);
            let has = |artifact| grid.has(artifact);
            let lacks = wanted.iter().any(|one| !has(one.artifact));
            let foresight = match lacks || !how.quiet && !how.json {
                true => foresight::of_rerun(client, self.definition, &submit)?,
                false => None,
            };
            if lacks && foresight.as_ref().is_none_or(foresight::may_run) {
                let mut take = |path: &Path, artifact| grid.take_again(path, artifact);
                take_again(wanted, &sources, &has, &mut take)?;
            }
            if let Some(foresight) = foresight {
                foresight::tell(&foresight, self.definition, how);
            }
        }
        grid.flush()?;
        let process = self.key.process();
        sources.write(directory.path(), process)?;
        let accepted = grid
            .submit(client, self.definition, submit)
            .and_then(|answer| self.accepted(&answer));
        if accepted.is_err() {
            Sources::remove(directory.path(), process);
        }
        accepted
    }

    /// The submission without its draft, with its files in the store of this program's managers.
    fn taken(&self, grid: &Grid) -> Result<(Submit, Sources), Failure> {
        // The managers are in this program and take the definition as it is. What a rerun lacks of files that have
        // not changed is seen to where something runs.
        let has = |artifact| self.base.is_some() || grid.has(artifact);
        let mut add = |path: &Path, is_directory| grid.add(path, is_directory);
        self.resolved(Draft::default(), Intake::new(&self.sources, &has, &mut add))
    }

    /// The files of a submission, with their names for messages.
    pub(crate) fn wanted(&self, submit: &Submit) -> Vec<Wanted> {
        let of = self.base.map(|base| format!(" of {}", fault::short(base)));
        let of = of.unwrap_or_default();
        let mut wanted = Vec::new();
        for (name, value) in &submit.inputs {
            let mut artifacts = Vec::new();
            artifacts_of(value, &mut artifacts);
            wanted.extend(artifacts.into_iter().map(|artifact| Wanted {
                what: format!("input `{name}`{of}"),
                artifact,
            }));
        }
        let names = &self.definition.draft().files;
        let files = names.iter().zip(&submit.files);
        wanted.extend(files.map(|(name, artifact)| Wanted {
            what: format!("the file `{name}`{of}"),
            artifact: *artifact,
        }));
        wanted
    }

    /// The submission with nothing stored anywhere: files are read, if they have to be.
    pub(crate) fn identified(&self) -> Result<Submit, Failure> {
        let mut add = |path: &Path, is_directory| {
            let found = match is_directory {
                true => activity_blobs::identify_tree(path),
                false => activity_blobs::identify_file(path),
            };
            found.map_err(|error| not_taken(&error))
        };
        let intake = Intake::new(&self.sources, &|_| true, &mut add);
        let draft = self.definition.draft().clone();
        self.resolved(draft, intake).map(|(submit, _)| submit)
    }

    /// The submission with this draft, and with files and directories taken. Returns also what is known of
    /// them now.
    pub(crate) fn resolved(
        &self,
        draft: Draft,
        mut intake: Intake<'_>,
    ) -> Result<(Submit, Sources), Failure> {
        let mut take = |taking: Taking<'_>| intake.take(taking);
        let mut values = Vec::new();
        for (name, given) in &self.inputs {
            let value = given.resolve(&mut take).map_err(|failure| Failure {
                message: format!("input `{name}`: {}", failure.message),
                ..failure
            })?;
            values.push((name.clone(), value));
        }
        let files = match &self.files {
            Files::Beside(files) => files.resolve(&mut take)?,
            Files::Kept(files) => files.clone(),
        };
        let submit = Submit {
            key: self.key,
            draft,
            inputs: values,
            files,
            origin: self.origin.clone(),
            base: self.base,
            on_fault: self.on_fault,
            keep: self.keep,
            store: self.store,
            environment: self.environment.clone(),
        };
        Ok((submit, intake.sources()))
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
