use super::*;
use crate::study::{FIRST, Study, plans};

fn source(study: Study, groups: u32) -> Source {
    let design = Design::new(study, 7, 2, vec![groups]).unwrap();
    Source::new(design, Traces::default())
}

#[test]
fn a_static_instance_has_the_bounds_of_its_figures() {
    let source = source(Study::Static, 5);
    for number in 0..source.design().n_units() {
        let values = source.results(source.design().unit(number)).unwrap();
        assert_eq!(values.len(), source.design().values_of_unit());
        for instance in values.chunks_exact(plans::COLUMNS.len()) {
            let (critical, sequential) = (instance[0], instance[1]);
            for makespan in &instance[FIRST..] {
                assert!(critical <= makespan + 1e-6 && sequential >= critical);
            }
            for place in 0..3 {
                let (direct, through) = (plans::PCH + place, plans::PCH_THROUGH + place);
                assert!(instance[direct] <= instance[through] + 1e-6);
            }
        }
    }
}

#[test]
fn repetitions_and_settings_differ_and_the_same_unit_is_the_same() {
    let source = source(Study::Bandwidth, 2);
    let unit = |number| source.results(source.design().unit(number)).unwrap();
    assert_eq!(unit(0), unit(0));
    assert_ne!(unit(0), unit(1));
    assert_ne!(unit(0), unit(5));
}
