use std::collections::BTreeMap;

use super::*;

fn choice() -> Choice {
    Choice {
        column: None,
        by: None,
        time: None,
        quantity: Quantity::Any,
    }
}

/// Reads a text in chunks of every size, which must make no difference.
fn read_with(
    text: &str,
    choice: &Choice,
) -> Result<BTreeMap<String, Vec<Option<f64>>>, TableError> {
    let read = |chunk: usize| {
        let mut found: BTreeMap<String, Vec<Option<f64>>> = BTreeMap::new();
        let mut ended = Vec::new();
        let mut out = |(name, observation): Entry<'_>| match observation {
            Some(observation) => found
                .entry(name.to_owned())
                .or_default()
                .push(observation.measured()),
            None => ended.push(name.to_owned()),
        };
        let mut table = Table::new(choice.clone());
        for chunk in text.as_bytes().chunks(chunk) {
            table.feed(chunk, &mut out)?;
        }
        table.finish(&mut out)?;
        // Each series ends once.
        ended.sort();
        assert_eq!(ended, found.keys().cloned().collect::<Vec<_>>());
        Ok(found)
    };
    let whole = read(usize::MAX);
    assert_eq!(whole, read(1));
    assert_eq!(whole, read(7));
    whole
}

fn read(text: &str) -> Result<BTreeMap<String, Vec<Option<f64>>>, TableError> {
    read_with(text, &choice())
}

fn series(pairs: &[(&str, &[f64])]) -> BTreeMap<String, Vec<Option<f64>>> {
    let values = |values: &[f64]| values.iter().map(|value| Some(*value)).collect();
    pairs
        .iter()
        .map(|(name, of)| ((*name).to_owned(), values(of)))
        .collect()
}

#[test]
fn a_row_is_a_series_with_and_without_a_heading() {
    let two = series(&[("a", &[1.0, 2.0, 3.0]), ("b", &[4.0, 5.0, 6.0])]);
    assert_eq!(read("vm,s0,s1,s2\na,1,2,3\nb,4,5,6\n").unwrap(), two);
    assert_eq!(read("a,1,2,3\r\nb,4,5,6").unwrap(), two);
    assert_eq!(read("\u{feff}a,1,2,3\n\n\"b\",4,5,6\n").unwrap(), two);
    assert_eq!(read("a,1,2,3").unwrap(), series(&[("a", &[1.0, 2.0, 3.0])]));
}

#[test]
fn rows_of_any_length_are_series() {
    let numbers: Vec<String> = (0..500).map(|at| at.to_string()).collect();
    let heading: Vec<String> = (0..500).map(|at| format!("s{at}")).collect();
    let text = format!("vm,{}\na,{}\nb,1,2\n", heading.join(","), numbers.join(","));
    let found = read(&text).unwrap();
    assert_eq!((found["a"].len(), found["b"].len()), (500, 2));
    assert_eq!(found["a"][499], Some(499.0));
    let found = read(&format!("a,{}\nb,{}", numbers.join(","), numbers.join(","))).unwrap();
    assert_eq!(found["a"], found["b"]);
    assert_eq!(found["a"].len(), 500);
}

#[test]
fn a_long_table_has_a_column_of_values_and_one_of_names() {
    let text = "start,machine,kind,ms\n1,a,x,10\n1,b,x,20\n2,a,y,11\n";
    let two = series(&[("a", &[10.0, 11.0]), ("b", &[20.0])]);
    assert_eq!(read(text).unwrap(), two);
    let by_kind = Choice {
        by: Some("kind".to_owned()),
        time: Some("ms".to_owned()),
        ..choice()
    };
    assert_eq!(
        read_with(text, &by_kind).unwrap(),
        series(&[("x", &[10.0, 20.0]), ("y", &[11.0])])
    );
    let other = Choice {
        column: Some("start".to_owned()),
        by: Some("machine".to_owned()),
        ..choice()
    };
    assert_eq!(
        read_with("start,machine\n1,a\n2,a\n", &other).unwrap(),
        series(&[("a", &[1.0, 2.0])])
    );
}

#[test]
fn steps_are_read_every_300_seconds() {
    let text = "vm,cores,mhz,t_seconds,cpu_percent\n1,4,2,0,5\n1,4,2,890,7\n2,4,2,0,1\n2,4,2,300,\n1,4,2,1500,\n";
    assert_eq!(
        read(text).unwrap(),
        series(&[("1", &[5.0, 5.0, 5.0, 7.0, 7.0]), ("2", &[1.0])])
    );
}

#[test]
fn a_number_a_line_is_a_series() {
    assert_eq!(
        read("1\n2\n3.5\n").unwrap(),
        series(&[(NAMELESS, &[1.0, 2.0, 3.5])])
    );
    assert_eq!(
        read("latency\n1\n2\n").unwrap(),
        series(&[("latency", &[1.0, 2.0])])
    );
}

#[test]
fn an_empty_field_is_a_gap() {
    let found = read("a,1,,3\nb,1,2,3\n").unwrap();
    assert_eq!(found["a"], [Some(1.0), None, Some(3.0)]);
}

#[test]
fn mistakes_are_told_with_their_line() {
    let wrong = |text: &str| read(text).unwrap_err().to_string();
    assert_eq!(wrong(""), "the table is empty");
    assert_eq!(wrong("\n\n"), "the table is empty");
    assert_eq!(
        wrong("a,1,2\nb,1,x\n"),
        "line 2: \"x\" in field 3 is not a finite number"
    );
    assert_eq!(
        wrong("a,1,2\nb,1,inf\n"),
        "line 2: \"inf\" in field 3 is not a finite number"
    );
    assert_eq!(
        wrong("a,1,2\nb,1,NaN\n"),
        "line 2: \"NaN\" in field 3 is not a finite number"
    );
    assert_eq!(
        wrong("a,1,2\nb,1,1e300\n"),
        format!("line 2: 1{} is not within 1e15 of zero", "0".repeat(300))
    );
    assert!(
        wrong("trace,system,quantity,family,param1\na,b,c,d,1\n").contains("fitted distributions")
    );
    assert!(wrong("kind,colour\nx,red\n").contains("--column: kind, colour"));
    assert!(
        wrong("time,ms\n1,5\n1,6\n").starts_with("line 3: the time 1 of ms does not come after 1")
    );
    assert!(
        wrong("time,ms\n2,5\n1,6\n").starts_with("line 3: the time 1 of ms does not come after 2")
    );
    assert_eq!(wrong("time,ms\n2\n"), "line 2: there is no column ms");
    assert_eq!(wrong("a,\"1\n"), "line 2: a quotation mark is not closed");
    assert!(wrong(&format!("a,{}\n", "1".repeat(5000))).contains("longer than 4096 bytes"));
    let long = "vm,t_seconds,x\n1,0,5\n1,1e15,6\n";
    assert!(wrong(long).contains("lasts more than"));
    let absent = Choice {
        column: Some("watts".to_owned()),
        ..choice()
    };
    let wrong = read_with("a,b\nx,y\n", &absent).unwrap_err().to_string();
    assert_eq!(wrong, "there is no column \"watts\"; the columns are a, b");
    assert_eq!(
        read_with("1\n2\n", &absent).unwrap_err(),
        TableError::NoHeading
    );
    let runtimes = Choice {
        quantity: Quantity::Runtime,
        ..choice()
    };
    assert!(
        read_with("a,1,-2\n", &runtimes)
            .unwrap_err()
            .to_string()
            .contains("line 1: -2 is not a runtime")
    );
    assert!(read_with("a,1,0\n", &runtimes).is_err());
}

#[test]
fn there_is_a_limit_to_the_series_that_are_mixed() {
    let mut text = "machine,ms\n".to_owned();
    for at in 0..=SERIES_MAX {
        text.push_str(&format!("m{at},1\n"));
    }
    assert_eq!(
        read(&text).unwrap_err(),
        TableError::TooManySeries {
            line: SERIES_MAX as u64 + 2
        }
    );
}
