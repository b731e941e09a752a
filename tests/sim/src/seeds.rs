//! One seed: what it stands for, and whether all rules hold.

use std::collections::BTreeMap;

use model::{Bytes, Identity, Mono, OnFault, Policy, ProcessId, Role, Span, SubmitKey};
use simulator::generate::{self, Generated, Options, bodies};
use simulator::{Broken, Random, Rate, Setup, Sim, Submission};
use wire::client::Submit;

use crate::again;
use crate::known::Known;
use crate::reference;
use crate::rules::{Judged, Rules};

/// A seed that passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passed {
    /// The hash of everything that happened.
    pub hash: u64,
    /// Things that happened.
    pub n_happened: u64,
    /// Simulated time until everything was at rest.
    pub took: Span,
    /// The last steps, where they were asked for.
    pub steps: Vec<String>,
    /// How often each rule has judged something that could have broken it.
    pub judged: Vec<(&'static str, Judged)>,
}

/// A seed that broke a rule.
#[derive(Clone, Debug)]
pub struct Failed {
    /// The rule.
    pub broken: Broken,
    /// The last steps that led there, where they were asked for.
    pub steps: Vec<String>,
    /// The hash of everything that happened until then.
    pub hash: u64,
}

/// Makes the numbers that say which processes discard files.
const DISCARDS_SALT: u64 = 0x6469_7363_6172_6473;

/// The run that a seed stands for.
pub fn compose(seed: u64, setup: &Setup) -> (Sim, Rules) {
    let mut random = Random::new(seed);
    let mut options = Options::default();
    if setup.lease.is_some() {
        options.repeatable = setup.repeatable;
        options.replicates = setup.replicates;
        options.policy = match seed % 8 {
            5 if setup.rounds => Some(Policy::Rounds(1 + (seed / 8 % 6) as u32)),
            6 if setup.rounds => Some(Policy::Adaptive),
            _ => None,
        };
        // Some have so few activities that they hold a single machine: those are raced on a slot claimed for it.
        if setup.rounds && seed.is_multiple_of(4) {
            options.activities = (1, 3);
        }
        // A process has many activities, and one whose outcome is unknown ends it.
        let percent = random.pick(&[0, 5, 30]).unwrap_or_default();
        options.at_most_once = Rate::percent(percent);
    } else {
        // Two of them do not fit a machine together. With leases, what waits for memory would hide what
        // the rules on losses judge.
        options.memory = Some(Bytes(5 << 30));
    }
    let (_, n_managers) = setup.n_managers(seed);
    let n_processes = if random.happens(Rate::percent(20)) {
        2
    } else {
        1
    };
    // Users share what they have too little of.
    let n_processes = match setup.users {
        0 => n_processes,
        users => random.between(users.into(), 2 * u64::from(users)) as usize,
    };
    let n_processes = match setup.crowd {
        (_, 0) => n_processes,
        (least, most) => {
            options.activities = (1, 8);
            random.between(least.into(), most.into()) as usize
        }
    };
    // Each process manager has a process.
    let n_processes = n_processes.max(n_managers);
    let mut n_new = 0;
    let mut known = Known {
        is_lossy: setup.faults.loss != Rate::NEVER,
        step_max: setup.step_max(seed),
        // The rules judge how owners share, whatever is planned again.
        policy: group_core::Policy {
            rescheduling: None,
            ..(setup.policy)(seed)
        },
        rescheduling: (setup.policy)(seed).rescheduling,
        ..Known::default()
    };
    let mut behaviours = BTreeMap::new();
    let mut submissions = Vec::new();
    let mut cores_max = 1;
    let mut all: Vec<Generated> = Vec::new();
    for _ in 0..n_processes {
        let key = SubmitKey(random.draw());
        let generated = generate::process(&mut random, key, &options);
        again::follow(&mut random, generated, &mut all);
    }
    for generated in all {
        let key = generated.submit.key;
        let process: ProcessId = key.process();
        let (generated, mut submit) = unrolled(setup, seed, generated);
        // Drawn apart from everything else.
        let mut apart = Random::new(seed ^ DISCARDS_SALT);
        if apart.happens(setup.discards) {
            submit.draft.keep_intermediates = Some(false);
            known.note_reads(process, &generated);
        }
        known
            .expected
            .insert(process, reference::expected(&generated));
        if matches!(submit.on_fault, None | Some(OnFault::Finish)) {
            known.finishes.insert(process);
        }
        known.note_demands(process, &generated.submit.draft);
        let Generated {
            behaviours: own,
            cores_max: cores,
            ..
        } = generated;
        cores_max = cores_max.max(cores);
        behaviours.extend(
            own.into_iter()
                .map(|(activity, own)| ((process, activity), own)),
        );
        if let Some(base) = submit.base {
            known.bases.insert(process, base);
        }
        // Only the manager of a process knows its outcomes, so a rerun is submitted there.
        let of_base = submit.base.map(|base| known.manager_of(base));
        let manager = of_base.unwrap_or_else(|| {
            n_new += 1;
            (n_new - 1) % n_managers
        });
        known.managers.insert(process, manager);
        let user = owner(setup, &known, submit.base, &mut random);
        if let Some(user) = &user {
            known.owners.insert(process, user.label());
        }
        let at = Mono(random.below(300_000));
        let cancels = random.happens(Rate::percent(12));
        let cancels_at = cancels.then(|| at + Span(random.below(3_000_000)));
        submissions.push(Submission {
            submit,
            manager,
            user,
            at,
            cancels_at,
        });
    }
    let sim = Sim::new(seed, setup.clone(), submissions, behaviours, cores_max);
    (sim, Rules::new(known))
}

/// What a process means, and what is submitted: they differ where a part is the body of a `for-each`.
/// All processes of a seed draw the same part, so that one may take over what another has made.
fn unrolled(setup: &Setup, seed: u64, generated: Generated) -> (Generated, Submit) {
    const SALT: u64 = 0x6561_6368_2069_7465;
    let mut random = Random::new(seed ^ SALT);
    let folded = match random.happens(setup.bodies) {
        true => bodies::fold(&mut random, &generated),
        false => None,
    };
    match folded {
        Some(folded) => (folded.unrolled, folded.submitted.submit),
        None => {
            let submit = generated.submit.clone();
            (generated, submit)
        }
    }
}

/// The owner of a process, which is that of the process that it mends.
fn owner(
    setup: &Setup,
    known: &Known,
    base: Option<ProcessId>,
    random: &mut Random,
) -> Option<Identity> {
    if setup.users == 0 {
        return None;
    }
    let of_base = base.and_then(|base| known.owners.get(&base));
    let name = of_base.cloned();
    let name = name.unwrap_or_else(|| format!("u{}", random.below(setup.users.into())));
    let user = Identity::new("grid", "lab", Role::User, &name);
    Some(user.expect("it is a name"))
}

/// Lines of a screen for the last steps, and the letters of a line that are shown.
const SCREEN: (usize, usize) = (20, 200);
/// Letters that are shown of a rule and how it was broken.
const RULE: usize = 1_000;

impl Failed {
    /// The last steps, the rule, and how to see it again: a screen at most.
    pub fn screen(&self, seed: u64, profile: &str) -> String {
        let (n_lines, width) = SCREEN;
        let cut = |text: &str, most: usize| text.chars().take(most).collect::<String>();
        let last = self.steps.len().saturating_sub(n_lines);
        let mut lines: Vec<String> = self.steps[last..]
            .iter()
            .map(|step| cut(step, width))
            .collect();
        lines.push(format!("broken: {}", cut(&self.broken.to_string(), RULE)));
        lines.push(format!(
            "replay: cargo sim --seed {seed} --profile {profile} --steps 120"
        ));
        lines.join("\n")
    }
}

/// Runs a seed to its end or to the first broken rule, and remembers so many of the last steps as
/// text, which takes longer than all the rest.
pub fn run_seed(seed: u64, setup: &Setup, n_steps: usize) -> Result<Passed, Box<Failed>> {
    let (sim, mut rules) = compose(seed, setup);
    let mut sim = sim.telling(n_steps);
    let result = sim.run(&mut rules);
    let steps = sim.trace().lines().map(str::to_owned).collect();
    let hash = sim.trace().hash();
    match result {
        Ok(()) => Ok(Passed {
            hash,
            n_happened: sim.n_happened(),
            took: sim.at().since(Mono(0)),
            steps,
            judged: rules.judged().collect(),
        }),
        Err(broken) => Err(Box::new(Failed {
            broken,
            steps,
            hash,
        })),
    }
}
