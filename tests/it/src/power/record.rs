//! The changes of a program and its children on the disk, recorded by `strace`: each system call that
//! creates, writes, renames or flushes something, with its bytes, in the order of time.
//!
//! Changes by a shared, writable mapping would not be seen. A recording that has one is refused.

use std::fs;
use std::path::{Component, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// The system calls that are recorded. A `?` marks those that not every processor has.
const CALLS: &str = "?open,openat,?openat2,?creat,write,pwrite64,writev,pwritev,pwritev2,lseek,\
    ftruncate,truncate,fallocate,copy_file_range,sendfile,splice,\
    ?rename,?renameat,renameat2,?link,linkat,?symlink,symlinkat,?unlink,unlinkat,?rmdir,?mkdir,mkdirat,\
    ?chmod,fchmod,fchmodat,?fchmodat2,fsync,fdatasync,sync,syncfs,sync_file_range,msync,mmap,\
    sendto,sendmsg,?sendmmsg";

/// Bytes of one string that are recorded: more than any program here writes at once.
const STRING_BYTES_MAX: &str = "268435456";

/// A system call that succeeded. Times count the lines of the recording.
#[derive(Clone, Debug)]
pub(super) struct Event {
    pub(super) begun: usize,
    pub(super) done: usize,
    pub(super) call: Call,
}

/// A recorded system call. Paths are absolute.
#[derive(Clone, Debug)]
pub(super) enum Call {
    Open {
        path: PathBuf,
        creates: bool,
        truncates: bool,
        appends: bool,
        mode: u32,
    },
    /// A file without a name, told by its descriptor until it gets one.
    Unnamed {
        descriptor: u64,
        path: PathBuf,
        mode: u32,
    },
    /// At the position of the file where none is named.
    Write {
        path: PathBuf,
        at: Option<u64>,
        bytes: Vec<u8>,
    },
    /// The position of the file is another one.
    Seek {
        path: PathBuf,
        at: u64,
    },
    /// The file has so many bytes from here on.
    Length {
        path: PathBuf,
        bytes: u64,
    },
    /// The file has at least so many bytes from here on.
    Reserve {
        path: PathBuf,
        bytes: u64,
    },
    /// So many bytes are copied from one position to the other.
    Copy {
        from: PathBuf,
        to: PathBuf,
        bytes: u64,
    },
    MakeDirectory {
        path: PathBuf,
        mode: u32,
    },
    Rename {
        from: PathBuf,
        to: PathBuf,
    },
    Link {
        from: PathBuf,
        to: PathBuf,
    },
    /// The file without a name gets one.
    LinkDescriptor {
        descriptor: u64,
        to: PathBuf,
    },
    Symlink {
        target: Vec<u8>,
        path: PathBuf,
    },
    /// A file or an empty directory goes.
    Remove {
        path: PathBuf,
    },
    Mode {
        path: PathBuf,
        mode: u32,
    },
    /// A file or directory is durable. `is_whole` is `fsync`, which includes more than the bytes and
    /// the length.
    Flush {
        path: PathBuf,
        is_whole: bool,
    },
    /// Everything is durable.
    FlushAll,
    /// Standard output or standard error has these bytes.
    Say(Vec<u8>),
    /// Something was sent to another program.
    Send,
}

/// True if `strace` is installed and may trace; else standard error says so.
pub(super) fn has_strace() -> bool {
    let tried = Command::new("strace")
        .args(["-f", "-o", "/dev/null", "true"])
        .stderr(Stdio::null())
        .status();
    let has = tried.is_ok_and(|status| status.success());
    if !has {
        eprintln!("skipped: needs strace");
    }
    has
}

/// Runs a command to its end. Gives what it said, and what it and its children did.
pub(super) fn record(command: &Command) -> (Output, Vec<Event>) {
    let place = TempDir::new().unwrap();
    let file = place.path().join("calls");
    let mut traced = Command::new("strace");
    traced
        .args(["-f", "-y", "-xx", "-s", STRING_BYTES_MAX, "-e"])
        .arg(format!("trace={CALLS}"))
        .args(["-e", "signal=none", "-o"])
        .arg(&file)
        .arg(command.get_program())
        .args(command.get_args())
        .stdin(Stdio::null());
    if let Some(directory) = command.get_current_dir() {
        traced.current_dir(directory);
    }
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => traced.env(name, value),
            None => traced.env_remove(name),
        };
    }
    let output = traced.output().unwrap();
    let text = fs::read_to_string(&file).unwrap();
    (output, parse(&text))
}

/// The calls of a recording, in the order in which they began.
fn parse(text: &str) -> Vec<Event> {
    let mut events = Vec::new();
    // By thread: when a call began that has not ended, and its text up to there.
    let mut open: Vec<(&str, usize, &str)> = Vec::new();
    for (time, line) in text.lines().enumerate() {
        let Some((thread, rest)) = line.split_once(' ') else {
            continue;
        };
        let rest = rest.trim_start();
        if let Some(begun) = rest.strip_suffix(" <unfinished ...>") {
            open.push((thread, time, begun));
            continue;
        }
        let (begun, whole) = match rest.strip_prefix("<... ") {
            Some(resumed) => {
                let at = open.iter().position(|(own, ..)| *own == thread);
                let (_, begun, head) = open.remove(at.expect("what is resumed had begun"));
                let (_, tail) = resumed
                    .split_once(" resumed>")
                    .expect("strace says `resumed>`");
                (begun, format!("{head}{tail}"))
            }
            None => (time, rest.to_owned()),
        };
        if let Some(call) = understand(&whole) {
            events.push(Event {
                begun,
                done: time,
                call,
            });
        }
    }
    events.sort_by_key(|event| event.begun);
    events
}

/// One call: its name, its arguments, its result.
fn understand(line: &str) -> Option<Call> {
    let (name, rest) = line.split_once('(')?;
    let (arguments, result) = rest.rsplit_once(") ")?;
    let result = result.trim_start().strip_prefix("= ")?;
    // A failed call has changed nothing.
    if result.starts_with('-') || result.starts_with('?') {
        return None;
    }
    let arguments = split(arguments);
    let argument = |index: usize| arguments.get(index).copied().unwrap_or_default();
    let number = |index: usize| number(argument(index));
    // A path behind the directory that it begins in.
    let beneath = |index: usize| path(&string(argument(index + 1)), described(argument(index)));
    let alone = |index: usize| path(&string(argument(index)), None);
    let file = |index: usize| described(argument(index));
    let call = match name {
        "open" | "creat" | "openat" | "openat2" => {
            let at = usize::from(name.starts_with("openat"));
            let flags = if name == "creat" {
                "O_CREAT|O_TRUNC"
            } else {
                argument(at + 1)
            };
            // The result tells the real path, whatever links were followed.
            let path = described(result)?;
            let mode = octal(arguments.last().copied().unwrap_or_default());
            if flags.contains("O_TMPFILE") {
                return Some(Call::Unnamed {
                    descriptor: self::number(result),
                    path,
                    mode,
                });
            }
            Call::Open {
                path,
                creates: flags.contains("O_CREAT"),
                truncates: flags.contains("O_TRUNC"),
                appends: flags.contains("O_APPEND"),
                mode,
            }
        }
        "write" | "pwrite64" | "writev" | "pwritev" | "pwritev2" => {
            let n_written = usize::try_from(self::number(result)).ok()?;
            let mut bytes = match name {
                "write" | "pwrite64" => string(argument(1)),
                _ => strings(argument(1)),
            };
            assert!(bytes.len() >= n_written, "strace has cut a string: {name}");
            bytes.truncate(n_written);
            let at = match name {
                "pwrite64" | "pwritev" | "pwritev2" => Some(number(3)),
                _ => None,
            };
            match file(0) {
                Some(path) => Call::Write { path, at, bytes },
                None => Call::Say(bytes),
            }
        }
        "lseek" => Call::Seek {
            path: file(0)?,
            at: self::number(result),
        },
        "ftruncate" => Call::Length {
            path: file(0)?,
            bytes: number(1),
        },
        "truncate" => Call::Length {
            path: alone(0)?,
            bytes: number(1),
        },
        "fallocate" => {
            assert_eq!(argument(1), "0", "this way of reserving is not understood");
            Call::Reserve {
                path: file(0)?,
                bytes: number(2) + number(3),
            }
        }
        "copy_file_range" => {
            let positions = (argument(1), argument(3));
            assert_eq!(positions, ("NULL", "NULL"), "copying at a position");
            Call::Copy {
                from: file(0)?,
                to: file(2)?,
                bytes: self::number(result),
            }
        }
        "sendfile" | "splice" => {
            let to = if name == "sendfile" { file(0) } else { file(2) };
            assert!(to.is_none(), "{name} to a file is not understood: {line}");
            return None;
        }
        "rename" => Call::Rename {
            from: alone(0)?,
            to: alone(1)?,
        },
        "renameat" | "renameat2" => {
            assert!(!line.contains("RENAME_EXCHANGE"), "an exchange: {line}");
            Call::Rename {
                from: beneath(0)?,
                to: beneath(2)?,
            }
        }
        "link" => Call::Link {
            from: alone(0)?,
            to: alone(1)?,
        },
        "linkat" => {
            let (from, to) = (beneath(0)?, beneath(2)?);
            match from.strip_prefix("/proc/self/fd") {
                Ok(descriptor) => Call::LinkDescriptor {
                    descriptor: self::number(descriptor.to_str()?),
                    to,
                },
                Err(_) => Call::Link { from, to },
            }
        }
        "symlink" => Call::Symlink {
            target: string(argument(0)),
            path: alone(1)?,
        },
        "symlinkat" => Call::Symlink {
            target: string(argument(0)),
            path: beneath(1)?,
        },
        "unlink" | "rmdir" => Call::Remove { path: alone(0)? },
        "unlinkat" => Call::Remove { path: beneath(0)? },
        "mkdir" => Call::MakeDirectory {
            path: alone(0)?,
            mode: octal(argument(1)),
        },
        "mkdirat" => Call::MakeDirectory {
            path: beneath(0)?,
            mode: octal(argument(2)),
        },
        "chmod" => Call::Mode {
            path: alone(0)?,
            mode: octal(argument(1)),
        },
        "fchmod" => Call::Mode {
            path: file(0)?,
            mode: octal(argument(1)),
        },
        "fchmodat" | "fchmodat2" => Call::Mode {
            path: beneath(0)?,
            mode: octal(argument(2)),
        },
        "fsync" | "fdatasync" => Call::Flush {
            path: file(0)?,
            is_whole: name == "fsync",
        },
        "sync" | "syncfs" => Call::FlushAll,
        // It promises nothing of a file's length, so nothing is taken from it.
        "sync_file_range" | "msync" => return None,
        "mmap" => {
            let writes = argument(2).contains("PROT_WRITE") && argument(3).contains("MAP_SHARED");
            assert!(
                !writes || argument(3).contains("MAP_ANON") || file(4).is_none(),
                "a file is written by a mapping, which nobody sees: {line}"
            );
            return None;
        }
        "sendto" | "sendmsg" | "sendmmsg" => Call::Send,
        _ => return None,
    };
    Some(call)
}

/// The arguments of a call. Strings and the names of descriptors hold hexadecimal digits alone.
fn split(arguments: &str) -> Vec<&str> {
    let (mut depth, mut is_quoted, mut start) = (0, false, 0);
    let mut found = Vec::new();
    for (at, letter) in arguments.char_indices() {
        match letter {
            '"' => is_quoted = !is_quoted,
            '[' | '{' | '<' if !is_quoted => depth += 1,
            ']' | '}' | '>' if !is_quoted => depth -= 1,
            ',' if !is_quoted && depth == 0 => {
                found.push(arguments[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    found.push(arguments[start..].trim());
    found
}

/// The bytes of a string in quotes.
fn string(argument: &str) -> Vec<u8> {
    let inside = argument.split('"').nth(1).unwrap_or_default();
    bytes(inside)
}

/// The bytes of all strings of a list of buffers.
fn strings(argument: &str) -> Vec<u8> {
    argument
        .split('"')
        .skip(1)
        .step_by(2)
        .flat_map(bytes)
        .collect()
}

/// Reads text that is written as `\x2f\x74`.
fn bytes(text: &str) -> Vec<u8> {
    let digits = text.split("\\x").skip(1);
    digits
        .map(|pair| u8::from_str_radix(pair, 16).expect("strace writes two digits"))
        .collect()
}

/// The file behind a descriptor, `3</a/file>`; none where it is no file, or one that is gone.
fn described(argument: &str) -> Option<PathBuf> {
    let (_, rest) = argument.split_once('<')?;
    let inside = rest.split('>').next()?;
    // Only files are written in digits alone.
    let bytes = bytes(inside);
    let text = String::from_utf8(bytes).expect("the paths of a test are text");
    text.starts_with('/').then(|| PathBuf::from(text))
}

/// A path as it is meant; none where nobody knows the directory that it begins in.
fn path(bytes: &[u8], directory: Option<PathBuf>) -> Option<PathBuf> {
    let text = std::str::from_utf8(bytes).expect("the paths of a test are text");
    let joined = match directory {
        Some(directory) => directory.join(text),
        None => PathBuf::from(text),
    };
    if !joined.is_absolute() {
        return None;
    }
    let mut plain = PathBuf::new();
    for component in joined.components() {
        match component {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            Component::RootDir | Component::Normal(_) | Component::Prefix(_) => {
                plain.push(component);
            }
        }
    }
    Some(plain)
}

fn number(text: &str) -> u64 {
    let end = text.find(|letter: char| !letter.is_ascii_digit());
    text[..end.unwrap_or(text.len())].parse().unwrap_or(0)
}

fn octal(text: &str) -> u32 {
    u32::from_str_radix(text.trim_start_matches('0'), 8).unwrap_or(0)
}
