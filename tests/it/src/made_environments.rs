//! Environments that a definition makes of a file: virtual environments of Python by the real pip, of packages
//! that the test makes itself, and environments of conda, by a small program in its place and by a real one.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use crate::sandbox::{Done, Sandbox};

/// Two activities beside each other that print what they find.
fn both(environment: &str, command: &str) -> String {
    format!(
        "\
xavantes: 1
name: both
variables: {{ one: string, other: string }}
outputs: {{ one: '${{ one }}', other: '${{ other }}' }}
environment: {{ {environment} }}
body:
  parallel:
    - activity: one
      run: {{ shell: \"{command}\" }}
      stdout: {{ into: one }}
      cache: true
    - activity: other
      run: {{ shell: \"{command}; true\" }}
      stdout: {{ into: other }}
      cache: true
"
    )
}

/// The environments of this user.
fn made(sandbox: &Sandbox) -> Vec<PathBuf> {
    let entries = fs::read_dir(sandbox.path("data/xavantes/environments"));
    let paths = entries.unwrap().map(|entry| entry.unwrap().path());
    paths.filter(|path| path.is_dir()).collect()
}

/// Writes the script that writes a wheel of a package `greeting`, and writes one.
fn wheel(sandbox: &Sandbox, version: &str) -> String {
    let script = "
import sys, zipfile
path, version = sys.argv[1:]
info = f'greeting-{version}.dist-info'
with zipfile.ZipFile(path, 'w') as wheel:
    wheel.writestr('greeting.py', f'TEXT = \"hello {version}\"\\n')
    wheel.writestr(f'{info}/METADATA', f'Metadata-Version: 2.1\\nName: greeting\\nVersion: {version}\\n')
    wheel.writestr(f'{info}/WHEEL', 'Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
    wheel.writestr(f'{info}/RECORD', '')
";
    let script = sandbox.file("wheel.py", script);
    let path = sandbox.path(&format!("greeting-{version}-py3-none-any.whl"));
    let path = path.display().to_string();
    let status = Command::new("python3")
        .args([&script, &path, version])
        .status();
    assert!(status.unwrap().success());
    path
}

/// False where python makes no virtual environments, which is said.
fn has_venv() -> bool {
    let mut asked = Command::new("python3");
    let asked = asked.args(["-c", "import venv, ensurepip"]).output();
    let has = asked.is_ok_and(|output| output.status.success());
    if !has {
        eprintln!("skipped: needs python3 -m venv");
    }
    has
}

#[test]
fn a_virtual_environment_is_made_once_and_reused_until_its_file_changes() {
    if !has_venv() {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.file("requirements.txt", wheel(&sandbox, "1.0"));
    let command = "python -c 'import greeting; print(greeting.TEXT)'";
    let file = sandbox.file("both.yaml", both("venv: requirements.txt", command));
    let done = sandbox.xav(&["run", &file]);
    assert_eq!(done.status, Some(0), "{done:?}");
    assert!(done.stdout.contains("one: hello 1.0"), "{done:?}");
    assert!(done.stdout.contains("other: hello 1.0"), "{done:?}");
    let first = made(&sandbox);
    assert_eq!(first.len(), 1, "{first:?}");
    // Another process finds it, though its package is not to be had any more.
    fs::remove_file(sandbox.path("greeting-1.0-py3-none-any.whl")).unwrap();
    let text = both("venv: requirements.txt", &format!("{command}; echo again"));
    let done = sandbox.xav(&["run", &sandbox.file("again.yaml", text)]);
    assert_eq!(done.status, Some(0), "{done:?}");
    assert_eq!(made(&sandbox), first);
    // The file is an input: what runs in the environment runs again when it has changed.
    sandbox.file("requirements.txt", wheel(&sandbox, "2.0"));
    let done = sandbox.xav(&["run", &file]);
    assert_eq!(done.status, Some(0), "{done:?}");
    assert!(done.stdout.contains("one: hello 2.0"), "{done:?}");
    assert_eq!(made(&sandbox).len(), 2);
}

#[test]
fn the_fault_of_a_virtual_environment_shows_what_pip_said() {
    if !has_venv() {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.file("requirements.txt", "/nowhere/absent-1.0-py3-none-any.whl\n");
    let file = sandbox.file("both.yaml", both("venv: requirements.txt", "python -V"));
    let done = sandbox.xav(&["run", &file]);
    assert_eq!(done.status, Some(1), "{done:?}");
    for part in [
        "xavantes: the environment of requirements.txt cannot be had: `",
        "-m pip install ",
        "ended with exit status: 1; the end of what it said:",
        "ERROR: ",
        "absent-1.0-py3-none-any.whl",
    ] {
        assert!(done.stderr.contains(part), "{part} in {}", done.stderr);
    }
    assert_eq!(made(&sandbox), Vec::<PathBuf>::new());
}

#[test]
fn an_environment_of_conda_is_made_by_the_program_that_is_there() {
    let sandbox = Sandbox::new();
    let program = sandbox.path("bin/micromamba");
    fs::create_dir(sandbox.path("bin")).unwrap();
    let calls = sandbox.path("calls").display().to_string();
    let text = format!(
        "#!/bin/sh\necho \"$1 $2 $3 $5 $6\" >> {calls}\nmkdir -p \"$4/bin\" && cp \"$6\" \"$4/file\"\n\
         echo 'echo the tool of conda' > \"$4/bin/tool\" && chmod +x \"$4/bin/tool\"\n"
    );
    fs::write(&program, text).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    sandbox.file("env.yaml", "dependencies: [tool]\n");
    let text = both("conda: env.yaml", "tool; ls $CONDA_PREFIX");
    let file = sandbox.file("both.yaml", text);
    let path = format!("{}:/usr/bin:/bin", sandbox.path("bin").display());
    let done = sandbox.xav_with(("PATH", &path), &["run", &file]);
    assert_eq!(done.status, Some(0), "{done:?}");
    assert!(done.stdout.contains("the tool of conda"), "{done:?}");
    assert_eq!(
        sandbox.lines("calls"),
        ["create --yes --prefix --file env.yaml"]
    );
}

#[test]
fn nothing_runs_where_no_machine_can_make_the_environment() {
    let sandbox = Sandbox::new();
    sandbox.file("env.yaml", "dependencies: [tool]\n");
    fs::create_dir(sandbox.path("bin")).unwrap();
    for tool in ["sh", "touch"] {
        std::os::unix::fs::symlink(format!("/bin/{tool}"), sandbox.path("bin").join(tool)).unwrap();
    }
    let log = sandbox.path("log").display().to_string();
    let text = both("conda: env.yaml", &format!("touch {log}"));
    let file = sandbox.file("both.yaml", text);
    let path = sandbox.path("bin").display().to_string();
    let done: Done = sandbox.xav_with(("PATH", &path), &["run", &file]);
    assert_eq!(done.status, Some(1), "{done:?}");
    let told = "needs micromamba, mamba or conda for its environment; no machine has it (label conda: yes)";
    assert!(done.stderr.contains(told), "{done:?}");
    assert!(!sandbox.path("log").exists());
}

#[test]
fn a_real_conda_makes_an_environment_without_packages() {
    let programs = ["micromamba", "mamba", "conda"];
    let is_there = |program: &&str| Command::new(program).arg("--version").output().is_ok();
    if !programs.iter().any(is_there) {
        eprintln!("skipped: needs micromamba, mamba or conda");
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.file("env.yaml", "channels: [conda-forge]\ndependencies: []\n");
    let text = both(
        "conda: env.yaml",
        "test -d $CONDA_PREFIX/conda-meta && echo there",
    );
    let done = sandbox.xav(&["run", &sandbox.file("both.yaml", text)]);
    assert_eq!(done.status, Some(0), "{done:?}");
    assert!(done.stdout.contains("there"), "{done:?}");
}
