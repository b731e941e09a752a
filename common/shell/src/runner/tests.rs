use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use machine::{Codec, Context};
use tempfile::TempDir;

use super::*;
use crate::inbox::inbox;

/// Adds numbers up and reports each sum.
struct Adder {
    wake_at: Option<Mono>,
}

#[derive(Debug, PartialEq)]
enum Event {
    Add(u64),
    Huge,
}

enum Input {
    Add(u64),
    AddLater(u64),
    Ask,
    WakeSoon,
    Panic,
    Huge,
}

#[derive(Debug, PartialEq)]
enum Effect {
    Sum(u64),
    Answer(u64),
    Woken,
    AskYourself,
}

impl Codec for Event {
    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Event::Add(n) => out.extend_from_slice(&n.to_le_bytes()),
            Event::Huge => out.resize(out.len() + journal::MESSAGE_BYTES_MAX + 1, 0),
        }
    }

    fn decode(bytes: &[u8]) -> Result<Event, minicbor::decode::Error> {
        let bytes = bytes
            .try_into()
            .map_err(|_| minicbor::decode::Error::message("length"))?;
        Ok(Event::Add(u64::from_le_bytes(bytes)))
    }
}

impl Machine for Adder {
    type Stream = u8;
    type State = u64;
    type Snapshot = u64;
    type Chapter = ();
    type Event = Event;
    type Input = Input;
    type Effect = Effect;

    fn apply(state: &mut u64, event: &Event) {
        if let Event::Add(n) = event {
            *state += n;
        }
    }

    fn weight(_: &u64) -> usize {
        1
    }

    fn snapshot(state: &u64) -> u64 {
        *state
    }

    fn restore(_: u64, snapshot: u64, _: Vec<(u32, ())>) -> u64 {
        snapshot
    }

    fn step(&mut self, cx: &mut Context<'_, Self>, now: Now, input: Input) {
        let sum = |cx: &Context<'_, Self>| cx.state(0).copied().unwrap_or(0);
        match input {
            Input::Add(n) => {
                cx.record(0, Event::Add(n));
                cx.effect(Effect::Sum(sum(cx)));
            }
            Input::AddLater(n) => {
                cx.record(0, Event::Add(n));
                cx.effect_later(Effect::Sum(sum(cx)));
            }
            Input::Ask => cx.effect(Effect::Answer(sum(cx))),
            Input::WakeSoon => self.wake_at = Some(now.mono + Span::from_millis(5)),
            Input::Panic => panic!("as it was told"),
            Input::Huge => cx.record(0, Event::Huge),
        }
    }

    fn wake(&mut self, cx: &mut Context<'_, Self>, _: Now) {
        self.wake_at = None;
        cx.effect(Effect::Woken);
        cx.effect(Effect::AskYourself);
    }

    fn resume(&mut self, cx: &mut Context<'_, Self>, _: Now) {
        cx.record(0, Event::Add(0));
        cx.effect(Effect::Sum(cx.state(0).copied().unwrap_or(0)));
    }

    fn next_wakeup(&self) -> Option<Mono> {
        self.wake_at
    }
}

struct Teller(SyncSender<Effect>);

impl EffectHandler<Adder> for Teller {
    fn carry_out(&mut self, effects: Vec<Effect>, inputs: &mut Vec<Input>) {
        for effect in effects {
            if effect == Effect::AskYourself {
                inputs.push(Input::Ask);
            } else {
                self.0.send(effect).unwrap();
            }
        }
    }
}

struct Bench {
    dir: TempDir,
}

impl Bench {
    fn new() -> Bench {
        Bench {
            dir: TempDir::new().unwrap(),
        }
    }

    fn start(&self) -> (Runner<Adder>, Receiver<Effect>, Receiver<RunError>) {
        let (told, tells) = sync_channel(100_000);
        let (fail, fails) = sync_channel(1);
        let runner = Runner::start(
            "adder",
            Adder { wake_at: None },
            Store::open(self.dir.path()).unwrap(),
            inbox(),
            Teller(told),
            move |error| fail.send(error.clone()).unwrap(),
        );
        (runner.unwrap(), tells, fails)
    }

    fn durable_sum(&self) -> u64 {
        let histories = crate::store::read_only::<Adder>(self.dir.path()).unwrap();
        let drive = Drive::replay(Adder { wake_at: None }, histories);
        drive.states().get(0).copied().unwrap()
    }
}

fn next(tells: &Receiver<Effect>) -> Effect {
    tells.recv_timeout(Duration::from_secs(20)).unwrap()
}

#[test]
fn answered_sums_are_recovered_by_the_next_epoch() {
    let bench = Bench::new();
    let (runner, tells, _fails) = bench.start();
    assert_eq!(next(&tells), Effect::Sum(0));
    for n in 1..=50 {
        runner.inbox().try_send(Input::Add(n)).unwrap();
        assert_eq!(next(&tells), Effect::Sum(n * (n + 1) / 2));
    }
    assert!(
        runner.stats().n_flushes_inline > 0,
        "a lone hop is flushed by the loop"
    );
    runner.stop().unwrap();
    assert_eq!(bench.durable_sum(), 1275);
    let (runner, tells, _fails) = bench.start();
    assert_eq!(next(&tells), Effect::Sum(1275));
    runner.stop().unwrap();
}

#[test]
fn many_inputs_share_flushes_and_their_effects_keep_their_order() {
    const N: u64 = 20_000;
    let bench = Bench::new();
    let (runner, tells, _fails) = bench.start();
    let inbox = runner.inbox().clone();
    let sender = std::thread::spawn(move || {
        inbox
            .send_all((1..=N).flat_map(|n| [Input::Add(n), Input::Ask]))
            .unwrap();
    });
    assert_eq!(next(&tells), Effect::Sum(0));
    for n in 1..=N {
        assert_eq!(next(&tells), Effect::Sum(n * (n + 1) / 2));
        assert_eq!(next(&tells), Effect::Answer(n * (n + 1) / 2));
    }
    sender.join().unwrap();
    let stats = runner.stats();
    assert_eq!((stats.n_inputs, stats.n_effects), (2 * N, 2 * N + 1));
    assert!(stats.n_flushes_beside > 0 && stats.n_flushes_inline + stats.n_flushes_beside < N / 4);
    runner.stop().unwrap();
    assert_eq!(bench.durable_sum(), N * (N + 1) / 2);
}

#[test]
fn what_nobody_waits_for_is_flushed_all_the_same_and_in_its_order() {
    let bench = Bench::new();
    let (runner, tells, _fails) = bench.start();
    assert_eq!(next(&tells), Effect::Sum(0));
    for n in 1..=20 {
        runner.inbox().tell_inline([Input::AddLater(1)]);
        assert_eq!(next(&tells), Effect::Sum(3 * n - 2));
        // One that is awaited takes those before it along.
        let inputs = [Input::AddLater(1), Input::AddLater(1), Input::Ask];
        runner.inbox().tell_all(inputs);
        assert_eq!(next(&tells), Effect::Sum(3 * n - 1));
        assert_eq!(next(&tells), Effect::Sum(3 * n));
        assert_eq!(next(&tells), Effect::Answer(3 * n));
    }
    runner.inbox().tell_inline([Input::AddLater(40)]);
    runner.stop().unwrap();
    // The last input came too late for its turn, or is durable and was told: an end waits for no other batch.
    let told = tells.try_iter().last();
    let expected = told.map_or(60, |last| match last {
        Effect::Sum(sum) => sum,
        Effect::Answer(_) | Effect::Woken | Effect::AskYourself => 0,
    });
    assert_eq!(bench.durable_sum(), expected);
}

#[test]
fn the_machines_clock_is_honoured_and_effects_may_give_inputs_at_once() {
    let bench = Bench::new();
    let (runner, tells, _fails) = bench.start();
    assert_eq!(next(&tells), Effect::Sum(0));
    runner.inbox().try_send(Input::Add(3)).unwrap();
    runner.inbox().try_send(Input::WakeSoon).unwrap();
    assert_eq!(next(&tells), Effect::Sum(3));
    assert_eq!(next(&tells), Effect::Woken);
    assert_eq!(next(&tells), Effect::Answer(3));
    runner.stop().unwrap();
}

#[test]
fn a_thread_that_is_lent_does_the_work_and_comes_back() {
    let bench = Bench::new();
    let (runner, tells, _fails) = bench.start();
    assert_eq!(next(&tells), Effect::Sum(0));
    for n in 1..=200 {
        runner.inbox().tell_inline([Input::Add(1), Input::Ask]);
        assert_eq!(next(&tells), Effect::Sum(n));
        assert_eq!(next(&tells), Effect::Answer(n));
    }
    runner.inbox().tell_inline([Input::WakeSoon]);
    assert_eq!(next(&tells), Effect::Woken);
    runner.stop().unwrap();
    assert_eq!(bench.durable_sum(), 200);
}

#[test]
fn an_error_in_a_thread_that_is_lent_ends_the_manager_and_not_the_lender() {
    for n_before in 0..20 {
        let bench = Bench::new();
        let (runner, tells, fails) = bench.start();
        assert_eq!(next(&tells), Effect::Sum(0));
        let before = (0..n_before).map(|_| Input::Add(1));
        runner.inbox().tell_inline(before);
        runner.inbox().tell_inline([Input::Panic]);
        let error = fails.recv_timeout(Duration::from_secs(20)).unwrap();
        assert!(
            matches!(&error, RunError::Panicked(text) if text == "as it was told"),
            "{error}"
        );
        assert!(runner.stop().is_err());
    }
}

#[test]
fn an_error_in_the_program_ends_the_manager_and_is_told() {
    let bench = Bench::new();
    let (runner, _tells, fails) = bench.start();
    runner.inbox().try_send(Input::Panic).unwrap();
    let error = fails.recv_timeout(Duration::from_secs(20)).unwrap();
    assert!(
        matches!(&error, RunError::Panicked(text) if text == "as it was told"),
        "{error}"
    );
    assert!(!runner.inbox().is_open());
    assert!(runner.stop().is_err());
}

#[test]
fn a_flush_that_fails_ends_the_manager_and_nothing_of_that_batch_is_carried_out() {
    let bench = Bench::new();
    let (runner, tells, fails) = bench.start();
    assert_eq!(next(&tells), Effect::Sum(0));
    runner
        .inbox()
        .send_all([Input::Add(1), Input::Huge, Input::Ask])
        .unwrap();
    let error = fails.recv_timeout(Duration::from_secs(60)).unwrap();
    assert!(matches!(error, RunError::Journal(_)), "{error}");
    assert!(runner.stop().is_err());
    assert_eq!(tells.try_iter().count(), 0);
    assert_eq!(bench.durable_sum(), 0);
}
