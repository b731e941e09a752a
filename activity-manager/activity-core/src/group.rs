//! The link to the group manager: registration, the slots that are lent, and grants.

use machine::Context;
use model::Mono;
use wire::resource::{Facts, FromResource, ToResource};

use crate::io::{Config, Effect};
use crate::manager::{ActivityManager, epoch};
use crate::parts::leaving::Leaving;

impl ActivityManager {
    pub(crate) fn on_group_up(&mut self, cx: &mut Context<'_, Self>, now: Mono) {
        self.group.is_up = true;
        self.group.is_registered = false;
        self.group.has_grants = false;
        self.register(cx, now);
    }

    /// Registers the machine. The group manager does not repeat its messages, so this also requests
    /// the grants.
    pub(crate) fn register(&mut self, cx: &mut Context<'_, Self>, now: Mono) {
        let Config {
            name,
            memory,
            power,
            labels,
            bulk,
            ..
        } = &self.config;
        let facts = Facts {
            name: name.clone(),
            slots: if self.watch.is_silent() {
                0
            } else {
                self.lends
            },
            memory: *memory,
            power: *power,
            labels: labels.clone(),
            bulk: bulk.clone(),
            is_store: self.config.slots == 0,
        };
        self.group.asked = now;
        cx.effect(Effect::ToGroup(FromResource::Register {
            epoch: epoch(cx),
            facts,
        }));
    }

    pub(crate) fn on_lend(&mut self, cx: &mut Context<'_, Self>, now: Mono, slots: u32) {
        let stays = self.leaving == Leaving::No;
        let slots = if stays {
            slots.min(self.config.slots)
        } else {
            0
        };
        if self.lends != slots {
            self.lends = slots;
            if self.group.is_up {
                self.register(cx, now);
            }
        }
    }

    pub(crate) fn on_power(&mut self, cx: &mut Context<'_, Self>, now: Mono, power: f64) {
        self.config.power = power;
        if self.group.is_up {
            self.register(cx, now);
        }
    }

    pub(crate) fn on_group(&mut self, cx: &mut Context<'_, Self>, now: Mono, message: ToResource) {
        self.group.heard = now;
        match message {
            ToResource::Registered(resource) => {
                self.group.is_registered = true;
                if self.group.resource != Some(resource) {
                    self.group.resource = Some(resource);
                    cx.effect(Effect::Numbered(resource));
                }
            }
            ToResource::Grants(grants) => {
                self.group.has_grants = true;
                let gone = self.attempts.set_grants(&grants);
                self.release(cx, gone);
            }
        }
    }
}
