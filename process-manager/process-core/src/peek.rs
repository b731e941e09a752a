//! What an attempt that runs has written so far: its machine is asked, and the client waits a while.

use machine::Context;
use model::{AttemptId, Now};
use wire::attempt::{Peeked, ToActivity};
use wire::client::Answer;

use crate::alphabet::{ClientId, Effect};
use crate::manager::{ProcessManager, Timer, limits, process};

impl ProcessManager {
    /// A client asks. None where it is answered later.
    pub(crate) fn peek(
        &mut self,
        cx: &mut Context<'_, Self>,
        now: Now,
        client: ClientId,
        number: u64,
        attempt: AttemptId,
    ) -> Option<Answer> {
        let Some(known) = process(cx, attempt.process) else {
            return Some(Answer::Unknown(attempt.process));
        };
        if !known.is_out(attempt) {
            return Some(refused(format!("{attempt} does not run")));
        }
        if self.peeks.len() >= limits::PEEKS_MAX {
            let many = limits::PEEKS_MAX;
            return Some(refused(format!(
                "{many} clients are looking at attempts here already"
            )));
        }
        let (resource, _) = known.out_of(attempt.activity);
        let link = self.machines.get(&resource);
        if link.is_none_or(|link| link.life.is_none()) {
            return Some(refused(format!(
                "the machine of {attempt} cannot be reached"
            )));
        }
        self.peeks.insert((client, number), attempt);
        self.arm(Timer::Peek(client, number), now.mono + limits::PEEK);
        cx.effect(Effect::ToActivity(resource, ToActivity::Peek(attempt)));
        None
    }

    /// The machine has answered.
    pub(crate) fn on_peeked(
        &mut self,
        cx: &mut Context<'_, Self>,
        attempt: AttemptId,
        peeked: Option<Box<Peeked>>,
    ) {
        let asking: Vec<(ClientId, u64)> = self
            .peeks
            .iter()
            .filter(|(_, asked)| **asked == attempt)
            .map(|(&asking, _)| asking)
            .collect();
        for (client, number) in asking {
            self.peeks.remove(&(client, number));
            self.disarm(Timer::Peek(client, number));
            let answer = match &peeked {
                Some(peeked) => Answer::Peeked(peeked.clone()),
                None => refused(format!("{attempt} does not run at this moment")),
            };
            cx.effect(Effect::Answer {
                client,
                number,
                answer,
            });
        }
    }

    /// The machine has not answered in time.
    pub(crate) fn give_up_peek(
        &mut self,
        cx: &mut Context<'_, Self>,
        client: ClientId,
        number: u64,
    ) {
        if let Some(attempt) = self.peeks.remove(&(client, number)) {
            let answer = refused(format!("the machine of {attempt} has not answered"));
            cx.effect(Effect::Answer {
                client,
                number,
                answer,
            });
        }
    }

    /// A client has gone.
    pub(crate) fn forget_peeks(&mut self, client: ClientId) {
        let asked: Vec<(ClientId, u64)> = self
            .peeks
            .range((client, 0)..=(client, u64::MAX))
            .map(|(&asking, _)| asking)
            .collect();
        for (client, number) in asked {
            self.peeks.remove(&(client, number));
            self.disarm(Timer::Peek(client, number));
        }
    }
}

fn refused(reason: String) -> Answer {
    Answer::Refused(vec![reason])
}
