//! The static entries: schedules of HEFT, CPOP and PCH, with their clusters, in both modes.

use schedule::{
    Controlled, Cpop, Figures, Heft, MeanRule, Pch, PchRun, Placing, Problem, Schedule, Scheduler,
    check, check_through_controllers, through_controllers,
};
use serde_json::Value;

use super::case::{Case, Controllers};
use super::compare_time;

/// The vectors' HEFT and CPOP divide by the mean bandwidth.
fn run(algorithm: &str, problem: &Problem) -> Option<Result<(Schedule, Option<PchRun>), String>> {
    let scheduler: &dyn Scheduler = match algorithm {
        "heft" => &Heft::new(MeanRule::Bandwidths),
        "cpop" => &Cpop::new(MeanRule::Bandwidths),
        "pch" => {
            let run = Pch::new().run(problem).map_err(|error| error.to_string());
            return Some(run.map(|run| (run.schedule.clone(), Some(run))));
        }
        _ => return None,
    };
    let schedule = scheduler.schedule(problem);
    Some(
        schedule
            .map(|schedule| (schedule, None))
            .map_err(|error| error.to_string()),
    )
}

/// The differences; none for an entry of an unknown algorithm or mode.
pub(super) fn compare(
    case: &Case,
    problem: &Problem,
    entry: &str,
    expected: &Value,
) -> Result<Option<Vec<String>>, String> {
    case.compare(problem, entry, expected)
}

impl Case {
    fn compare(
        &self,
        problem: &Problem,
        entry: &str,
        expected: &Value,
    ) -> Result<Option<Vec<String>>, String> {
        let Some((algorithm, mode)) = entry.split_once('/') else {
            return Ok(None);
        };
        let Some(result) = run(algorithm, problem) else {
            return Ok(None);
        };
        let (mut schedule, pch) = result?;
        check(problem, &schedule).map_err(|error| error.to_string())?;
        let mut found = Vec::new();
        match (mode, &self.controllers) {
            ("direct", _) => {}
            ("controllers", Some(controllers)) => {
                let controlled = controllers.place(problem, &schedule)?;
                for (name, &host) in controllers.names.iter().zip(&controlled.controllers) {
                    let resource = &self.resources[host as usize];
                    if expected["controllers"][name].as_str() != Some(resource.as_str()) {
                        let want = &expected["controllers"][name];
                        found.push(format!("{name} is on {resource}, expected on {want}"));
                    }
                }
                schedule = controlled.schedule;
            }
            _ => return Ok(None),
        }
        if let Some(run) = pch {
            self.compare_clusters(problem, &run, expected, &mut found);
        }
        self.compare_schedule(problem, &schedule, expected, &mut found);
        Ok(Some(found))
    }

    fn compare_clusters(
        &self,
        problem: &Problem,
        run: &PchRun,
        expected: &Value,
        found: &mut Vec<String>,
    ) {
        let name = |task: u32| self.names[problem.dag().given(task) as usize].as_str();
        for (task, &priority) in (0u32..).zip(&run.priorities) {
            let want = &expected["priorities"][name(task)];
            compare_time(
                found,
                &format!("priority of {}", name(task)),
                priority,
                want,
            );
        }
        let got = run.clusters.iter().map(|cluster| {
            let tasks: Vec<&str> = cluster.tasks.iter().map(|&task| name(task)).collect();
            serde_json::json!({ "tasks": tasks, "resource": self.resources[cluster.host as usize] })
        });
        let got = Value::Array(got.collect());
        if got != expected["clusters"] {
            let want = &expected["clusters"];
            found.push(format!("clusters are {got}, expected {want}"));
        }
    }

    fn compare_schedule(
        &self,
        problem: &Problem,
        schedule: &Schedule,
        expected: &Value,
        found: &mut Vec<String>,
    ) {
        let name = |task: u32| &self.names[problem.dag().given(task) as usize];
        let figures = Figures::new(problem, schedule);
        compare_time(found, "makespan", figures.makespan, &expected["makespan"]);
        compare_time(found, "slr", figures.slr, &expected["slr"]);
        compare_time(found, "speedup", figures.speedup, &expected["speedup"]);
        for entry in &schedule.entries {
            let (task, want) = (name(entry.task), &expected["tasks"][name(entry.task)]);
            let resource = &self.resources[entry.host as usize];
            if want["resource"].as_str() != Some(resource.as_str()) {
                found.push(format!(
                    "{task} is on {resource}, expected on {}",
                    want["resource"]
                ));
            }
            compare_time(
                found,
                &format!("start of {task}"),
                entry.start,
                &want["start"],
            );
            compare_time(
                found,
                &format!("finish of {task}"),
                entry.finish,
                &want["finish"],
            );
        }
        for (resource, slots) in self.resources.iter().zip(&schedule.order) {
            let got: Vec<&String> = slots.iter().flatten().map(|&task| name(task)).collect();
            let want = expected["order"][resource]
                .as_array()
                .cloned()
                .unwrap_or_default();
            let want: Vec<&str> = want.iter().filter_map(Value::as_str).collect();
            if got != want {
                found.push(format!("{resource} runs {got:?}, expected {want:?}"));
            }
        }
    }
}

impl Controllers {
    fn place(&self, problem: &Problem, schedule: &Schedule) -> Result<Controlled, String> {
        let tree = self.tree(problem)?;
        let controlled = through_controllers(problem, &tree, schedule, Placing::Paper);
        check_through_controllers(problem, &tree, &controlled)
            .map_err(|error| error.to_string())?;
        Ok(controlled)
    }
}
