//! `cargo sim`: seeds of the test grid, one to be looked at, or the deliberate faults.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use sim::reach::Reach;
use sim::{large, mangled, mutants, recorded, run_seed};
use simulator::Setup;

const USAGE: &str = "\
cargo sim [--seeds FROM..TO] [--profile NAME|all]                        run seeds (0..1000, all)
          [--survey]                                                   a line for each that breaks a rule
cargo sim --seed N --profile NAME [--steps N]                          replay one, with its last steps
cargo sim --reach FROM..TO                                            what each rule judges in each profile
cargo sim --large [N]                                                  a parallel of N activities (100000)
cargo sim --mangled FROM..TO                                           seeds in which peers say what they should not
cargo sim --recorded FILE|DIR                                          recorded workflows, each to its end
cargo sim --mutants [NAME...]                                          each deliberate fault must be caught";

/// Steps shown of a seed that is replayed, where nothing is said.
const STEPS_SHOWN: usize = 120;

/// Seeds with mangled messages after which it is said how far they are.
const SEEDS_TOLD: u64 = 1_000;

#[global_allocator]
static ALLOCATOR: sim::allocator::Counting = sim::allocator::Counting;

enum Task {
    Seeds {
        from: u64,
        to: u64,
        profile: String,
        is_survey: bool,
    },
    Seed {
        seed: u64,
        profile: String,
        n_steps: usize,
    },
    Reach {
        from: u64,
        to: u64,
    },
    Large(u32),
    Mangled {
        from: u64,
        to: u64,
    },
    Recorded(PathBuf),
    Mutants(Vec<String>),
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--help") {
        say(USAGE);
        return ExitCode::SUCCESS;
    }
    match parse(&arguments) {
        Some(Task::Seeds {
            from,
            to,
            profile,
            is_survey,
        }) => run_seeds(from, to, &profile, is_survey),
        Some(Task::Seed {
            seed,
            profile,
            n_steps,
        }) => replay(seed, &profile, n_steps),
        Some(Task::Reach { from, to }) => run_reach(from, to),
        Some(Task::Large(n_activities)) => run_large(n_activities),
        Some(Task::Mangled { from, to }) => run_mangled(from, to),
        Some(Task::Recorded(path)) => run_recorded(&path),
        Some(Task::Mutants(names)) => run_mutants(&names),
        None => {
            say(USAGE);
            ExitCode::from(2)
        }
    }
}

fn parse(arguments: &[String]) -> Option<Task> {
    let mut task = None;
    let mut profile = None;
    let mut n_steps = STEPS_SHOWN;
    let mut is_survey = false;
    let mut words = arguments.iter().peekable();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--profile" => profile = Some(words.next()?.clone()),
            "--survey" => is_survey = true,
            "--steps" => n_steps = words.next()?.parse().ok()?,
            "--seeds" => {
                let (from, to) = range(words.next()?)?;
                task = Some(Task::Seeds {
                    from,
                    to,
                    profile: String::new(),
                    is_survey,
                });
            }
            "--seed" => {
                let seed = words.next()?.parse().ok()?;
                task = Some(Task::Seed {
                    seed,
                    profile: String::new(),
                    n_steps,
                });
            }
            "--reach" => {
                let (from, to) = range(words.next()?)?;
                task = Some(Task::Reach { from, to });
            }
            "--large" => {
                let n_activities = match words.peek() {
                    Some(_) => words.next()?.parse().ok()?,
                    None => large::ACTIVITIES,
                };
                task = Some(Task::Large(n_activities));
            }
            "--mangled" => {
                let (from, to) = range(words.next()?)?;
                task = Some(Task::Mangled { from, to });
            }
            "--recorded" => task = Some(Task::Recorded(words.next()?.into())),
            "--mutants" => task = Some(Task::Mutants(words.by_ref().cloned().collect())),
            _ => return None,
        }
    }
    let known = |name: &String| name == "all" || Setup::named(name).is_some();
    if profile.as_ref().is_some_and(|name| !known(name)) {
        return None;
    }
    match task {
        None => {
            let profile = profile.unwrap_or_else(|| "all".to_owned());
            Some(Task::Seeds {
                from: 0,
                to: 1_000,
                profile,
                is_survey,
            })
        }
        Some(Task::Seeds { from, to, .. }) => {
            let profile = profile.unwrap_or_else(|| "all".to_owned());
            Some(Task::Seeds {
                from,
                to,
                profile,
                is_survey,
            })
        }
        Some(Task::Seed { seed, .. }) => {
            let profile = profile.unwrap_or_else(|| "hard".to_owned());
            Some(Task::Seed {
                seed,
                profile,
                n_steps,
            })
        }
        other => other,
    }
}

fn range(text: &str) -> Option<(u64, u64)> {
    let (from, to) = text.split_once("..")?;
    Some((from.parse().ok()?, to.parse().ok()?))
}

fn profiles(name: &str) -> Vec<&str> {
    if name == "all" {
        Setup::NAMES.to_vec()
    } else {
        vec![name]
    }
}

fn run_seeds(from: u64, to: u64, profile: &str, is_survey: bool) -> ExitCode {
    let mut is_broken = false;
    for name in profiles(profile) {
        let Some(setup) = Setup::named(name) else {
            return ExitCode::from(2);
        };
        let (mut n_happened, mut seconds) = (0, 0.0);
        for seed in from..to {
            match run_seed(seed, &setup, 0) {
                Ok(passed) => {
                    n_happened += passed.n_happened;
                    seconds += passed.took.seconds();
                }
                Err(failed) if is_survey => {
                    is_broken = true;
                    say(&format!("{name} {seed}: {}", failed.broken));
                }
                Err(_) => {
                    if let Err(failed) = run_seed(seed, &setup, STEPS_SHOWN) {
                        say(&failed.screen(seed, name));
                    }
                    return ExitCode::FAILURE;
                }
            }
        }
        say(&format!(
            "{name}: seeds {from}..{to} done; {n_happened} things happened in {seconds:.0} simulated seconds"
        ));
    }
    if is_broken {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

fn replay(seed: u64, profile: &str, n_steps: usize) -> ExitCode {
    let Some(setup) = Setup::named(profile) else {
        return ExitCode::from(2);
    };
    match run_seed(seed, &setup, n_steps) {
        Ok(passed) => {
            for step in &passed.steps {
                say(step);
            }
            let (n_happened, took) = (passed.n_happened, passed.took);
            say(&format!(
                "seed {seed} of {profile} holds: {n_happened} things happened in {took} simulated"
            ));
            ExitCode::SUCCESS
        }
        Err(failed) => {
            for step in &failed.steps {
                say(step);
            }
            say(&format!("broken: {}", failed.broken));
            say(&format!(
                "replay: cargo sim --seed {seed} --profile {profile}"
            ));
            ExitCode::FAILURE
        }
    }
}

fn run_reach(from: u64, to: u64) -> ExitCode {
    let reach = match Reach::of(from..to) {
        Ok(reach) => reach,
        Err((seed, profile, failed)) => {
            say(&failed.screen(seed, profile));
            return ExitCode::FAILURE;
        }
    };
    say(&reach.to_string());
    let unexpected = Setup::NAMES.map(|profile| reach.unexpected(profile));
    for line in unexpected.iter().flatten() {
        say(line);
    }
    if unexpected.iter().all(Vec::is_empty) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn run_mangled(from: u64, to: u64) -> ExitCode {
    let mut n_happened = 0;
    for seed in from..to {
        match mangled::run(seed) {
            Ok(happened) => n_happened += happened,
            Err(panicked) => {
                say(&format!("seed {seed}: {panicked}"));
                say(&format!("replay: cargo sim --mangled {seed}..{}", seed + 1));
                return ExitCode::FAILURE;
            }
        }
        if (seed + 1 - from).is_multiple_of(SEEDS_TOLD) {
            let n_seeds = seed + 1 - from;
            say(&format!("{n_seeds} seeds, {n_happened} things happened"));
        }
    }
    say(&format!(
        "seeds {from}..{to} done; {n_happened} things happened"
    ));
    ExitCode::SUCCESS
}

fn run_large(n_activities: u32) -> ExitCode {
    match large::run(n_activities) {
        Ok(figures) => {
            say(&figures.to_string());
            ExitCode::SUCCESS
        }
        Err(broken) => {
            say(&format!("broken: {broken}"));
            ExitCode::FAILURE
        }
    }
}

fn run_recorded(path: &Path) -> ExitCode {
    let files = match path.is_dir() {
        true => recorded::files(path),
        false => Ok(vec![path.to_owned()]),
    };
    let files = match files {
        Ok(files) => files,
        Err(error) => {
            say(&format!("could not list {}: {error}", path.display()));
            return ExitCode::FAILURE;
        }
    };
    let mut n_ended = 0;
    for file in &files {
        let name = file.file_name().unwrap_or(file.as_os_str()).display();
        let bytes = match std::fs::read(file) {
            Ok(bytes) => bytes,
            Err(error) => {
                say(&format!("{name}: could not be read: {error}"));
                continue;
            }
        };
        match recorded::run(&bytes) {
            Ok(figures) => {
                n_ended += 1;
                say(&format!("{name}: {figures}"));
            }
            Err(error) => {
                let cause = error.source().map(|cause| format!(": {cause}"));
                say(&format!("{name}: {error}{}", cause.unwrap_or_default()));
            }
        }
    }
    say(&format!("{n_ended} of {} ran to their end", files.len()));
    if n_ended == files.len() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn run_mutants(names: &[String]) -> ExitCode {
    match mutants::run(names, &mut |line| say(line)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("{error}"));
            ExitCode::FAILURE
        }
    }
}

#[expect(clippy::print_stdout, reason = "this is the program's output")]
fn say(line: &str) {
    println!("{line}");
}
