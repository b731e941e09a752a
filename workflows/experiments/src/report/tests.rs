use super::*;
use crate::instance::Source;
use crate::traces::Traces;

fn two_repetitions(study: Study) -> Results {
    let design = Design::new(study, 3, 2, vec![2, 10]).unwrap();
    let traces = Traces::parse("vm,s0,s1\na,10,60\nb,0,90\n").unwrap();
    let source = Source::new(design.clone(), traces);
    let mut results = Results::none(design.clone());
    for number in 0..design.n_units() {
        let unit = design.unit(number);
        assert!(results.add(&Results::line(unit, &source.results(unit).unwrap())));
    }
    results
}

#[test]
fn every_study_has_tables_charts_and_claims() {
    for study in Study::ALL {
        let results = two_repetitions(study);
        assert!(results.is_complete());
        let csv = csv(&results);
        let n_figures = Figure::all(study).len() * study.settings().len() * 2;
        assert_eq!(csv.lines().count(), 1 + n_figures);
        assert!(csv.lines().all(|line| line.split(',').count() == 8));
        assert!(!csv.contains("NaN") && !csv.contains("inf"));
        let json = json(&results);
        assert_eq!(json["figures"].as_array().unwrap().len(), n_figures);
        assert!(!json["claims"].as_array().unwrap().is_empty());
        let markdown = markdown(&results, "figures/");
        for (name, chart) in charts(&results) {
            assert!(markdown.contains(&format!("(figures/{name})")));
            let svg = chart.svg();
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{name}");
            assert!(chart.curves.len() <= Chart::CURVES_MAX);
        }
        let columns = |line: &str| line.matches('|').count();
        let tables = markdown.split("\n\n").filter(|part| part.starts_with('|'));
        for table in tables {
            let mut lines = table.lines();
            let first = columns(lines.next().unwrap());
            assert!(lines.all(|line| columns(line) == first), "{table}");
        }
    }
}
