//! A submission of 100,000 activities, counted by an allocator: a test binary of its own, so that
//! nothing else allocates meanwhile.

use machine::Drive;
use model::{Draft, Mono, Now, SubmitKey, Wall};
use process_core::{Caller, ClientId, Config, Input, ProcessManager, State, Stream, Submission};
use sim::allocator;
use wire::client::Submit;

#[global_allocator]
static ALLOCATOR: sim::allocator::Counting = sim::allocator::Counting;

/// Fewer where nothing is optimised.
const ACTIVITIES: u32 = if cfg!(debug_assertions) {
    10_000
} else {
    sim::large::ACTIVITIES
};

fn submit(draft: Draft) -> Submit {
    Submit::new(SubmitKey(7), draft, "flat.yaml")
}

/// What something returns, and the bytes that it allocates.
fn counted<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = allocator::allocated();
    let done = work();
    (done, allocator::allocated() - before)
}

#[test]
fn a_definition_is_checked_once_and_never_copied_until_its_process_is_accepted() {
    let draft = sim::large::flat(ACTIVITIES);
    let (copy, of_copy) = counted(|| draft.clone());
    let (definition, of_check) = counted(|| copy.check().expect("it is sound"));
    let less = of_copy.min(of_check);

    // A client is not trusted: the manager checks what it says, and once is enough.
    let ((), of_client) = counted(|| {
        let submission = Submission::check(Caller::Local, submit(draft));
        drop(submission);
    });
    let figures = format!("{of_client} bytes; a check takes {of_check}, a copy {of_copy}");
    assert!(of_client > of_check, "a client's: {figures}");
    assert!(of_client < of_check + less / 2, "a client's: {figures}");

    // The program that the manager is a part of has checked it already.
    let checked = definition.clone();
    let (submission, of_local) = counted(|| Submission::local(checked, submit(Draft::default())));
    assert!(of_local < less / 2, "a local one: {of_local}, {figures}");

    let now = Now {
        mono: Mono(0),
        wall: Wall(0),
    };
    let mut drive = Drive::start(ProcessManager::new(Config::default()), Vec::new(), now);
    let input = Input::Submission(ClientId(1), 1, Box::new(submission));
    let ((), of_step) = counted(|| drive.step(now, input));
    assert!(of_step < less / 2, "its step: {of_step}, {figures}");
    let process = Stream::Process(SubmitKey(7).process());
    let Some(State::Process(process)) = drive.states().get(process) else {
        panic!("it was not accepted");
    };
    let (accepted, given) = (process.definition().draft(), definition.draft());
    assert!(std::ptr::eq(accepted, given), "it is a copy");
}
