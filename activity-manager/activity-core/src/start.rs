//! Converts a process manager's dispatch into a start for the executor.

use model::Activation;
use wire::attempt::{CAPTURE_BYTES_MAX, Dispatch, STDERR_TAIL_BYTES_MAX};
use wire::executor::{Contained, ContainerKind, Made, MadeKind, Start, Stdin};

use crate::io::Config;
use crate::record::Note;

impl Config {
    /// The command of a dispatch, as the executor starts it.
    pub(crate) fn start(&self, dispatch: Dispatch, directory: String, note: &Note) -> Start {
        let user = dispatch.user.as_ref();
        let of_user = user.and_then(|user| self.of_users.get(user));
        let mut own = of_user.cloned().unwrap_or_default();
        let said: Vec<String> = dispatch.env.iter().map(|(name, _)| name.clone()).collect();
        let is_said = |name: &str| said.iter().any(|other| other == name);
        own.retain(|(name, _)| dispatch.env.iter().all(|(other, _)| other != name));
        own.extend(dispatch.env);
        let is_replaced = |name: &String| own.iter().any(|(other, _)| other == name);
        let mut env: Vec<(String, String)> = self
            .environment
            .iter()
            .filter(|(name, _)| !is_replaced(name))
            .cloned()
            .collect();
        env.extend(own);
        let (mut needs, mut made, mut contained) = (None, None, None);
        let mut program = dispatch.command;
        let of_file = |kind, file| Made {
            kind,
            file,
            root: self.environments.clone(),
        };
        match dispatch.activation {
            None => {}
            Some(Activation::Path(root)) => {
                let programs = format!("{}/bin", root.trim_end_matches('/'));
                put_first(&mut env, &programs);
                needs = Some(programs);
            }
            Some(Activation::Venv(file)) => made = Some(of_file(MadeKind::Venv, file)),
            Some(Activation::Conda(file)) => made = Some(of_file(MadeKind::Conda, file)),
            Some(Activation::Container(container)) => {
                let of_machine = || self.environment.iter().chain(of_user.into_iter().flatten());
                let path = of_machine().find(|(name, _)| name == "PATH");
                let is_directory = container.is_directory();
                contained = Some(Contained {
                    kind: match is_directory {
                        true => ContainerKind::Bwrap,
                        false => ContainerKind::Podman,
                    },
                    image: container.image,
                    has_network: container.has_network,
                    read_only: dispatch.inputs.into_iter().map(|(path, _)| path).collect(),
                    search_path: path.map(|(_, path)| path.clone()).unwrap_or_default(),
                    command: std::mem::take(&mut program),
                    env: of_machine()
                        .filter(|(name, _)| OF_RUNNERS.contains(&name.as_str()))
                        .cloned()
                        .collect(),
                });
                for (name, value) in IN_CONTAINERS {
                    if !is_said(name) {
                        env.retain(|(other, _)| other != name);
                        // An image says itself where its programs are.
                        if is_directory || name != "PATH" {
                            env.push((name.to_owned(), value.to_owned()));
                        }
                    }
                }
            }
        }
        Start {
            attempt: dispatch.attempt,
            program,
            env,
            directory,
            stdin: match dispatch.stdin {
                wire::attempt::Stdin::Empty => Stdin::Empty,
                wire::attempt::Stdin::Text(text) => Stdin::Bytes(text.into_bytes()),
                wire::attempt::Stdin::File(path) => Stdin::Path(path),
            },
            cores: dispatch.cores.max(1),
            memory_bytes_max: dispatch.memory.map(|memory| memory.0),
            timeout: dispatch.timeout,
            stdout_inline_max: if note.wants_stdout {
                CAPTURE_BYTES_MAX
            } else {
                0
            },
            stderr_inline_max: if note.wants_stderr {
                CAPTURE_BYTES_MAX
            } else {
                STDERR_TAIL_BYTES_MAX
            },
            note: note.bytes(),
            nice: self.nice,
            owner: self.lease.map(|_| note.owner),
            user: dispatch.user,
            needs,
            made,
            container: contained,
        }
    }
}

/// Variables of commands in containers, where the definition does not set them: those of the machine name
/// directories that a container does not have.
const IN_CONTAINERS: [(&str, &str); 3] = [
    (
        "PATH",
        "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    ),
    ("HOME", "/tmp"),
    ("TMPDIR", "/tmp"),
];

/// Variables of the machine that are for the program which runs containers: where it has its images, and whose they
/// are.
const OF_RUNNERS: [&str; 5] = ["HOME", "USER", "LOGNAME", "LANG", "LC_ALL"];

/// Puts a directory before all others in which programs are looked up.
fn put_first(env: &mut Vec<(String, String)>, directory: &str) {
    let Some((_, path)) = env.iter_mut().find(|(name, _)| name == "PATH") else {
        env.push(("PATH".to_owned(), directory.to_owned()));
        return;
    };
    *path = format!("{directory}:{path}");
}
