//! The environment of commands: names of variables, and directories of software.

use std::collections::BTreeSet;

use super::problems::Problems;
use super::words::{check_path, check_template, shorten};
use crate::NodeId;
use crate::definition::environment::{Activation, Container, Environment, is_variable_name};
use crate::definition::limits::{PARTS_MAX, PATH_BYTES_MAX};
use crate::definition::{Activity, Draft};

pub(super) fn check_environment(environment: &Environment, problems: &mut Problems) {
    for (field, n_entries) in [
        ("env", environment.env.len()),
        ("pass", environment.pass.len()),
    ] {
        if n_entries > PARTS_MAX {
            let message = format!("{n_entries} entries; at most {PARTS_MAX}");
            problems.add(None, field, message);
        }
    }
    for (name, value) in &environment.env {
        let field = format!("env.{name}");
        check_variable_name(name, None, &field, problems);
        check_template(value, None, &field, problems);
    }
    let said: BTreeSet<&String> = environment.env.iter().map(|(name, _)| name).collect();
    let mut names = BTreeSet::new();
    for (number, name) in environment.pass.iter().enumerate() {
        let field = format!("pass.{number}");
        check_variable_name(name, None, &field, problems);
        if !names.insert(name) {
            problems.add(None, &field, format!("`{}` is listed twice", shorten(name)));
        }
        if said.contains(name) {
            let message = format!("`{}` is in `env` too, which counts", shorten(name));
            problems.hint(None, &field, message, "leave one of the two out");
        }
    }
    if let Some(path) = &environment.file {
        check_path(path, None, "env-file", problems);
        if path.ends_with('/') {
            problems.add(None, "env-file", "a directory, not a file");
        }
    }
    check_activation(environment.activation.as_ref(), None, problems);
}

pub(super) fn check_variable_name(
    name: &str,
    node: Option<NodeId>,
    field: &str,
    problems: &mut Problems,
) {
    if !is_variable_name(name) {
        problems.add(node, field, "not a name of an environment variable");
    }
}

pub(super) fn check_activation(
    activation: Option<&Activation>,
    node: Option<NodeId>,
    problems: &mut Problems,
) {
    match activation {
        None => {}
        Some(Activation::Path(path)) => check_directory(path, node, problems),
        Some(Activation::Venv(path)) => check_file(path, node, "environment.venv", problems),
        Some(Activation::Conda(path)) => {
            let field = "environment.conda";
            check_file(path, node, field, problems);
            // conda itself refuses other names.
            if !path.ends_with(".yaml") && !path.ends_with(".yml") {
                let message = format!("`{}` is no file for conda", shorten(path));
                problems.hint(node, field, message, "its name ends with `.yaml` or `.yml`");
            }
        }
        Some(Activation::Container(container)) => check_image(container, node, problems),
    }
}

fn check_image(container: &Container, node: Option<NodeId>, problems: &mut Problems) {
    let (image, field) = (&container.image, "container");
    if image.len() > PATH_BYTES_MAX {
        return problems.add(node, field, "an image whose name is too long");
    }
    if container.is_directory() {
        if image.contains(['\0', '\n']) {
            problems.add(node, field, "a path with a line end or a NUL in it");
        }
        return;
    }
    // The characters of references to images: a host with its port, a path, a tag, a digest.
    let is_known = |c: char| c.is_ascii_alphanumeric() || "._-/:@".contains(c);
    let begins_well = image.starts_with(|c: char| c.is_ascii_alphanumeric());
    if !begins_well || !image.chars().all(is_known) {
        let message = format!("`{}` is no image", shorten(image));
        let hint = "a directory on the machine, as `/opt/images/alpine`, or the name of an image for podman, as \
                    `docker.io/library/alpine:3.20`";
        problems.hint(node, field, message, hint);
    }
}

fn check_directory(path: &str, node: Option<NodeId>, problems: &mut Problems) {
    let field = "environment.path";
    if !path.starts_with('/') {
        let message = format!("`{}` is not an absolute path", shorten(path));
        let hint = "it is looked for on the machine where the command runs: begin it with `/`";
        problems.hint(node, field, message, hint);
    } else if path.len() > PATH_BYTES_MAX {
        problems.add(node, field, "a path that is too long");
    } else if path.contains([':', '\0', '\n']) {
        let message = "a path with a colon, a line end or a NUL in it";
        problems.hint(node, field, message, "`PATH` cannot have these");
    }
}

fn check_file(path: &str, node: Option<NodeId>, field: &str, problems: &mut Problems) {
    check_path(path, node, field, problems);
    if path.ends_with('/') {
        problems.add(node, field, "a directory, not a file");
    }
}

/// The file that the environment of an activity is made of has to lie in its directory.
pub(super) fn check_environment_file(
    draft: &Draft,
    activity: &Activity,
    node: NodeId,
    problems: &mut Problems,
) {
    let activation = draft.activation_of(activity);
    let Some(file) = activation.and_then(Activation::file) else {
        return;
    };
    let mut inputs = activity.inputs.iter();
    let is_known = inputs.any(|staged| staged.path == file)
        || draft.files_of(activity).any(|(_, path)| path == file);
    if !is_known {
        let message = format!(
            "`{}` is neither among the inputs nor among the files",
            shorten(file)
        );
        problems.add(Some(node), "environment", message);
    }
}
