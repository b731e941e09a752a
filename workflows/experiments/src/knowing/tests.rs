use schedule::platform::{MessageCost, paper_with};
use schedule::rounds::Messages;
use schedule::structured::{Shape, Structured};
use schedule::{Placing, Problem, Tree};

use super::*;
use crate::ideal::execute_under;

/// A graph of 34 activities on machines of ten groups.
fn planned(bandwidth: f64, through: bool) -> Arc<Setting> {
    let drawn = Structured::new(34, Shape::MIDDLE, 3);
    let dag = drawn.graph(MessageCost::Medium, 4);
    let platform = paper_with(10, 5, bandwidth, 0.5 * bandwidth).unwrap();
    let problem = Problem::new(dag, &platform).unwrap();
    let messages = match through {
        true => Messages::Controllers(
            Tree::new(&problem, &drawn.parents, &drawn.controllers).unwrap(),
            Placing::Paper,
        ),
        false => Messages::Direct,
    };
    Arc::new(Setting::new(problem, messages).unwrap())
}

fn knowing(planned: &Arc<Setting>, links: &[f64]) -> f64 {
    let powers = Powers::nominal(planned.problem().hosts().len());
    let conditions = Conditions {
        links,
        ..Conditions::of(&powers)
    };
    makespan(planned, &conditions).unwrap()
}

#[test]
fn links_as_the_platform_says_lead_to_the_first_plan() {
    for through in [false, true] {
        let planned = planned(1.0, through);
        let links = vec![1.0; planned.problem().hosts().len()];
        let (here, plan) = (knowing(&planned, &links), planned.plan().makespan());
        assert!((here / plan - 1.0).abs() < 1e-9, "{here}, {plan}");
    }
}

#[test]
fn slow_links_that_are_known_cost_less_than_unknown_ones() {
    // Controllers are placed by a rule that does not look at links.
    for (through, share) in [(false, 0.9), (true, 1.0)] {
        let planned = planned(1.0, through);
        let n_hosts = planned.problem().hosts().len();
        // Every third machine has slow links, among them some that the first plan uses.
        let links: Vec<f64> = (0..n_hosts)
            .map(|host| if host % 3 == 0 { 0.1 } else { 1.0 })
            .collect();
        let powers = Powers::nominal(n_hosts);
        let conditions = Conditions {
            links: &links,
            ..Conditions::of(&powers)
        };
        let unknown = execute_under(&planned, &Policy::fixed(), &conditions, HORIZON).unwrap();
        let known = knowing(&planned, &links);
        assert!(
            known < share * unknown.makespan,
            "{known}, {}",
            unknown.makespan
        );
        assert!(known >= planned.plan().makespan(), "{known}");
    }
}
