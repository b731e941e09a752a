//! Submissions: the caller, and the check of a definition, which needs no state of the manager.

use std::collections::BTreeSet;
use std::convert::Infallible;

use minicbor::encode::Write;
use model::limits::{PARTS_MAX, TEMPLATE_BYTES_MAX, VALUE_DEPTH_MAX, VALUES_BYTES_MAX};
use model::{
    Bytes, Definition, Environment, Identity, Problem, ProcessId, Role, SubmitKey, Value, Wall,
    is_variable_name,
};
use wire::client::Submit;

use crate::limits::FOUNDED_BYTES_MAX;
use crate::record::{Accepted, Founded, SEMANTICS};
use crate::tree;

/// A client's connection, numbered by whoever accepts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(pub u64);

/// The identity on whose behalf a client asks. It decides which processes the client sees and may
/// change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Caller {
    /// The owner of the manager itself, on its own machine: sees everything.
    Local,
    /// The holder of a certificate: an administrator sees everything, a user their own processes, a
    /// manager nothing.
    Holder(Identity),
}

impl Caller {
    /// The recorded owner of a process that this caller submits.
    pub(crate) fn owner(&self) -> Option<String> {
        match self {
            Caller::Local => None,
            Caller::Holder(identity) => Some(identity.to_string()),
        }
    }

    /// Returns true if the caller may see a process of this owner.
    pub(crate) fn sees(&self, owner: Option<&str>) -> bool {
        match self {
            Caller::Local => true,
            Caller::Holder(identity) => match identity.role() {
                Role::Admin => true,
                Role::User => owner.is_some_and(|owner| owner == identity.to_string()),
                Role::Gm | Role::Pm | Role::Am => false,
            },
        }
    }
}

/// Bytes of the path of a definition's file, as long as paths may be: each list of processes has it.
const ORIGIN_BYTES_MAX: usize = 4_096;

/// A submission with the result of its check. The check takes longer for a larger submission, and
/// needs nothing else.
#[derive(Clone, Debug)]
pub struct Submission {
    pub(crate) caller: Caller,
    pub(crate) key: SubmitKey,
    pub(crate) base: Option<ProcessId>,
    /// The founding event but for its time, or all problems of the submission.
    pub(crate) checked: Result<Box<Founded>, Vec<String>>,
}

impl Submission {
    /// Checks a submission. A client is not trusted: what it has checked is checked again.
    pub fn check(caller: Caller, mut submit: Submit) -> Submission {
        let draft = std::mem::take(&mut submit.draft);
        Submission::of(caller, draft.check(), submit)
    }

    /// A submission of the program that the manager is a part of. The program has made the definition
    /// by [`Draft::check`](model::Draft::check), so it is neither copied nor checked again. The draft
    /// of `submit` is ignored.
    pub fn local(definition: Definition, submit: Submit) -> Submission {
        Submission::of(Caller::Local, Ok(definition), submit)
    }

    fn of(
        caller: Caller,
        definition: Result<Definition, Vec<Problem>>,
        submit: Submit,
    ) -> Submission {
        let (key, base) = (submit.key, submit.base);
        let checked = match definition {
            Ok(definition) => found(definition, submit, &caller).map(Box::new),
            Err(problems) => Err(problems.iter().map(ToString::to_string).collect()),
        };
        Submission {
            key,
            base,
            checked,
            caller,
        }
    }
}

fn found(definition: Definition, submit: Submit, caller: &Caller) -> Result<Founded, Vec<String>> {
    let Submit {
        key,
        draft: _,
        inputs: given_inputs,
        files,
        origin,
        base,
        on_fault,
        keep,
        store,
        environment,
    } = submit;
    let on_fault = on_fault.or(definition.draft().on_fault).unwrap_or_default();
    let mut reasons: Vec<String> = expression::check(&definition)
        .iter()
        .map(ToString::to_string)
        .collect();
    let inputs = inputs(&definition, &given_inputs, &mut reasons);
    let n_bytes: usize = inputs.iter().map(Value::size).sum();
    if n_bytes > VALUES_BYTES_MAX {
        reasons.push(format!(
            "the inputs take {n_bytes} bytes together; at most {VALUES_BYTES_MAX}: give larger data as files"
        ));
    }
    if origin.len() > ORIGIN_BYTES_MAX {
        reasons.push(format!(
            "the name of the definition's file has {} bytes; at most {ORIGIN_BYTES_MAX}",
            origin.len()
        ));
    }
    check_environment(
        &definition,
        environment.as_deref().unwrap_or_default(),
        &mut reasons,
    );
    let n_files = definition.draft().files.len();
    if files.len() != n_files {
        reasons.push(format!("{} files given, {n_files} declared", files.len()));
    }
    if !reasons.is_empty() {
        return Err(reasons);
    }
    let flow = tree::begin(&definition);
    let founded = Founded {
        key,
        draft: Accepted::Checked(definition),
        inputs,
        files,
        origin,
        at: Wall(0),
        base,
        on_fault,
        keep,
        owner: caller.owner(),
        store,
        semantics: SEMANTICS,
        environment: environment.filter(|variables| !variables.is_empty()),
        flow,
    };
    let taken = bytes_of(&founded);
    if taken > FOUNDED_BYTES_MAX {
        let (taken, most) = (Bytes(taken), Bytes(FOUNDED_BYTES_MAX));
        return Err(vec![format!(
            "the process takes {taken} in the journal; at most {most}: give longer texts as files"
        )]);
    }
    Ok(founded)
}

/// The variables that came with a submission are those that its definition asks for.
fn check_environment(
    definition: &Definition,
    given: &[(String, String)],
    reasons: &mut Vec<String>,
) {
    let asked = definition.draft().environment.as_deref();
    let asks = asked.is_some_and(Environment::is_given);
    if !asks && !given.is_empty() {
        reasons.push("variables of the environment were given, and it asks for none".to_owned());
    }
    if given.len() > PARTS_MAX {
        let n_given = given.len();
        reasons.push(format!(
            "{n_given} variables of the environment; at most {PARTS_MAX}"
        ));
        return;
    }
    let mut names = BTreeSet::new();
    for (name, value) in given {
        if !is_variable_name(name) {
            reasons.push(format!("`{name}` is not a name of an environment variable"));
        } else if value.len() > TEMPLATE_BYTES_MAX || value.contains('\0') {
            let n_bytes = value.len();
            reasons.push(format!(
                "the variable {name} of the environment has {n_bytes} bytes or a NUL in it; at most \
                 {TEMPLATE_BYTES_MAX}, without NUL"
            ));
        } else if !names.insert(name) {
            reasons.push(format!(
                "the variable {name} of the environment is given twice"
            ));
        }
    }
}

/// Counts the bytes that are written.
struct Counter(u64);

impl Write for Counter {
    type Error = Infallible;

    fn write_all(&mut self, bytes: &[u8]) -> Result<(), Infallible> {
        self.0 += bytes.len() as u64;
        Ok(())
    }
}

/// Bytes of a founding event in the journal.
fn bytes_of(founded: &Founded) -> u64 {
    let mut counter = Counter(0);
    minicbor::encode(founded, &mut counter).expect("a counter takes every byte");
    counter.0
}

/// The values of all inputs in the order of their declarations, defaults filled in.
fn inputs(
    definition: &Definition,
    given: &[(String, Value)],
    reasons: &mut Vec<String>,
) -> Vec<Value> {
    let declared = &definition.draft().inputs;
    for (name, _) in given {
        if !declared.iter().any(|input| input.name == *name) {
            reasons.push(format!("the process has no input `{name}`"));
        }
    }
    let mut values = Vec::with_capacity(declared.len());
    for input in declared {
        let name = &input.name;
        let given = given.iter().find(|(given, _)| given == name);
        let value = match (given, &input.default) {
            (Some((_, value)), _) => value.clone(),
            (None, Some(_)) if input.paths_beside().is_some() => {
                reasons.push(format!(
                    "input `{name}` is missing: its default is a file beside the definition, which \
                     whoever submits it has to give"
                ));
                Value::Null
            }
            (None, Some(default)) => default.clone(),
            (None, None) => {
                let missing = format!("input `{name}` is missing: give it with --input {name}=...");
                reasons.push(missing);
                Value::Null
            }
        };
        if !value.is_within_depth(VALUE_DEPTH_MAX) {
            reasons.push(format!(
                "input `{name}`: more than {VALUE_DEPTH_MAX} lists and maps within each other"
            ));
        } else if value != Value::Null
            && let Err(reason) = input.check(&value)
        {
            reasons.push(format!("input `{name}`: {reason}"));
        }
        values.push(input.kind.converted(value));
    }
    values
}

#[cfg(test)]
mod tests;
