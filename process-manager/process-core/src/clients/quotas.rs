//! What each user has here at a time, and may have.

use std::collections::BTreeMap;

use model::ProcessId;
use wire::group::owner_name;

use crate::config::Quota;
use crate::process::Process;

/// The processes that hold something or wait, by their users.
#[derive(Debug, Default)]
pub(super) struct Quotas {
    by_process: BTreeMap<ProcessId, (String, u64)>,
    by_user: BTreeMap<String, Open>,
}

/// What a user has.
#[derive(Debug, Default)]
struct Open {
    processes: u64,
    activities: u64,
}

impl Quotas {
    /// Counts a process. One without an owner was submitted by who runs the manager, and counts for
    /// nobody.
    pub(super) fn begin(&mut self, process: &Process) {
        self.end(process.id());
        if let Some(owner) = &process.owner {
            let activities = process.definition().activities().len() as u64;
            self.by_process
                .insert(process.id(), (owner.clone(), activities));
            let open = self.by_user.entry(owner.clone()).or_default();
            open.processes += 1;
            open.activities += activities;
        }
    }

    /// Checks that a process may have so many activities more.
    pub(super) fn check_growth(
        &self,
        quota: Quota,
        process: &Process,
        n_more: u64,
    ) -> Result<(), String> {
        let (Some(most), Some(owner)) = (quota.activities_max, &process.owner) else {
            return Ok(());
        };
        let open = self.by_user.get(owner).map_or(0, |open| open.activities);
        if open + n_more <= u64::from(most) {
            return Ok(());
        }
        Err(format!(
            "it would add {n_more} activities, {} has {open} on this process manager, and may \
             have {most} (`user-activities-max`)",
            owner_name(Some(owner))
        ))
    }

    /// A process has ended, and holds nothing any more.
    pub(super) fn end(&mut self, id: ProcessId) {
        let Some((owner, activities)) = self.by_process.remove(&id) else {
            return;
        };
        if let Some(open) = self.by_user.get_mut(&owner) {
            open.processes -= 1;
            open.activities -= activities;
            if open.processes == 0 {
                self.by_user.remove(&owner);
            }
        }
    }

    /// Checks that a user may have one more process of so many activities.
    pub(super) fn check(
        &self,
        quota: Quota,
        owner: Option<&str>,
        activities: u64,
    ) -> Result<(), String> {
        let Some(user) = owner else {
            return Ok(());
        };
        let (none, name) = (Open::default(), owner_name(owner));
        let open = self.by_user.get(user).unwrap_or(&none);
        let instead = "submit it when some of them have ended";
        if let Some(most) = quota.processes_max
            && open.processes >= u64::from(most)
        {
            return Err(format!(
                "{name} has {} processes on this process manager that have not ended, and may have \
                 {most} (`user-processes-max`): {instead}",
                open.processes
            ));
        }
        if let Some(most) = quota.activities_max
            && open.activities + activities > u64::from(most)
        {
            return Err(format!(
                "the process has {activities} activities, the other processes of {name} on this \
                 process manager have {}, and together they may have {most} (`user-activities-max`): \
                 {}",
                open.activities,
                match open.processes {
                    0 => "divide it into several",
                    _ => instead,
                }
            ));
        }
        Ok(())
    }
}
