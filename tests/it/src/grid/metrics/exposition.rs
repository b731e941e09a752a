//! A strict reader of the text that Prometheus scrapes (format 0.0.4): it refuses what `promtool check
//! metrics` warns of, and more.

use std::collections::{BTreeMap, BTreeSet};

/// Units that a name may end in, before `_total`. A name may have none, where it counts things.
const UNITS_REFUSED: [&str; 9] = [
    "milliseconds",
    "microseconds",
    "minutes",
    "hours",
    "kilobytes",
    "megabytes",
    "kib",
    "mib",
    "percent",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Counter,
    Gauge,
    Histogram,
}

/// All metrics of a daemon.
#[derive(Debug, Default)]
pub(super) struct Exposition {
    families: BTreeMap<String, Family>,
}

#[derive(Debug)]
pub(super) struct Family {
    pub(super) kind: Kind,
    /// By the name of the sample and its labels.
    samples: BTreeMap<(String, Labels), f64>,
}

type Labels = Vec<(String, String)>;

impl Exposition {
    /// Reads a text; the error is everything that is wrong with it.
    pub(super) fn read(text: &str) -> Result<Exposition, Vec<String>> {
        let mut exposition = Exposition::default();
        let mut problems = Vec::new();
        let mut help: Option<String> = None;
        let mut present: Option<String> = None;
        for line in text.lines() {
            let result = if let Some(rest) = line.strip_prefix("# HELP ") {
                match rest.split_once(' ') {
                    Some((name, about)) if about.trim().ends_with('.') => {
                        help = Some(name.to_owned());
                        Ok(())
                    }
                    Some(_) | None => Err("its help is no sentence".to_owned()),
                }
            } else if let Some(rest) = line.strip_prefix("# TYPE ") {
                present = rest.split(' ').next().map(str::to_owned);
                exposition.begin(rest, help.take().as_deref())
            } else {
                exposition.sample(line, present.as_deref())
            };
            problems.extend(result.err().map(|problem| format!("{line}: {problem}")));
        }
        for (name, family) in &exposition.families {
            if family.kind == Kind::Histogram {
                let checked = family.check_histogram(name);
                problems.extend(checked.err().map(|problem| format!("{name}: {problem}")));
            }
        }
        if !text.ends_with('\n') {
            problems.push("the last line has no end".to_owned());
        }
        match problems.is_empty() {
            true => Ok(exposition),
            false => Err(problems),
        }
    }

    pub(super) fn families(&self) -> impl Iterator<Item = (&str, &Family)> {
        self.families
            .iter()
            .map(|(name, family)| (name.as_str(), family))
    }

    /// The value of a sample.
    pub(super) fn value(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let labels: Labels = labels
            .iter()
            .map(|&(key, value)| (key.to_owned(), value.to_owned()))
            .collect();
        let key = (name.to_owned(), labels);
        let mut families = self.families.values();
        families.find_map(|family| family.samples.get(&key).copied())
    }

    fn begin(&mut self, rest: &str, help: Option<&str>) -> Result<(), String> {
        let (name, kind) = rest.split_once(' ').ok_or("there is no kind")?;
        let kind = match kind {
            "counter" => Kind::Counter,
            "gauge" => Kind::Gauge,
            "histogram" => Kind::Histogram,
            _ => return Err("the kind is unknown".to_owned()),
        };
        if help != Some(name) {
            return Err("no help is before it".to_owned());
        }
        let is_plain =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        if !name.bytes().all(is_plain) || !name.starts_with("xavantes_") {
            return Err("the name is not of xavantes, or not in small letters".to_owned());
        }
        if (kind == Kind::Counter) != name.ends_with("_total") {
            return Err("counters end in _total, and nothing else does".to_owned());
        }
        let of_histogram = ["_bucket", "_sum", "_count"];
        if of_histogram.iter().any(|suffix| name.ends_with(suffix)) {
            return Err("the end of the name is one of histograms".to_owned());
        }
        if let Some(unit) = name.split('_').find(|word| UNITS_REFUSED.contains(word)) {
            return Err(format!("{unit} are no base unit"));
        }
        let samples = BTreeMap::new();
        match self
            .families
            .insert(name.to_owned(), Family { kind, samples })
        {
            Some(_) => Err("it is there twice".to_owned()),
            None => Ok(()),
        }
    }

    fn sample(&mut self, line: &str, present: Option<&str>) -> Result<(), String> {
        let (series, value) = line.rsplit_once(' ').ok_or("there is no value")?;
        let value: f64 = value.parse().map_err(|_| "the value is no number")?;
        if !value.is_finite() {
            return Err("the value is not finite".to_owned());
        }
        let (name, labels) = match series.split_once('{') {
            Some((name, labels)) => {
                let labels = labels.strip_suffix('}').ok_or("the labels do not end")?;
                (name, read_labels(labels)?)
            }
            None => (series, Vec::new()),
        };
        let of = present.ok_or("no type is before it")?;
        let family = self.families.get_mut(of).ok_or("no type is before it")?;
        let suffix = name.strip_prefix(of).ok_or("it is of another metric")?;
        let fits = match family.kind {
            Kind::Counter | Kind::Gauge => suffix.is_empty(),
            Kind::Histogram => ["_bucket", "_sum", "_count"].contains(&suffix),
        };
        if !fits {
            return Err("it is of another metric".to_owned());
        }
        if family.kind != Kind::Gauge && value < 0.0 {
            return Err("it counts less than nothing".to_owned());
        }
        let mut names: Vec<&String> = labels.iter().map(|(name, _)| name).collect();
        names.sort();
        names.dedup();
        if names.len() != labels.len() {
            return Err("a label is there twice".to_owned());
        }
        match family.samples.insert((name.to_owned(), labels), value) {
            Some(_) => Err("the series is there twice".to_owned()),
            None => Ok(()),
        }
    }
}

impl Family {
    /// The names of the labels of its samples.
    pub(super) fn labels(&self) -> BTreeSet<String> {
        let labels = self.samples.keys().flat_map(|(_, labels)| labels);
        let names = labels.map(|(name, _)| name.clone());
        names.filter(|name| name != "le").collect()
    }

    /// Each histogram has ascending bounds with counts that do not fall, one for all, a sum and a count.
    fn check_histogram(&self, name: &str) -> Result<(), String> {
        let mut buckets: BTreeMap<Labels, Vec<(f64, f64)>> = BTreeMap::new();
        for ((sample, labels), &value) in &self.samples {
            let mut others = labels.clone();
            let bound = others.iter().position(|(name, _)| name == "le");
            if sample.ends_with("_bucket") != bound.is_some() {
                return Err(format!("{sample} has a bound, or lacks it"));
            }
            let bound = bound.map(|at| others.remove(at).1);
            let all = buckets.entry(others).or_default();
            if let Some(bound) = bound {
                let bound = match &*bound {
                    "+Inf" => f64::INFINITY,
                    bound => bound.parse().map_err(|_| "a bound is no number")?,
                };
                all.push((bound, value));
            }
        }
        for (labels, mut all) in buckets {
            all.sort_by(|a, b| a.0.total_cmp(&b.0));
            if all.windows(2).any(|two| two[0].1 > two[1].1) {
                return Err("counts fall".to_owned());
            }
            let last = all.last().filter(|(bound, _)| bound.is_infinite());
            let (_, last) = last.ok_or("the bound +Inf is missing")?;
            let of = |suffix| {
                self.samples
                    .get(&(format!("{name}{suffix}"), labels.clone()))
            };
            if of("_count") != Some(last) || of("_sum").is_none() {
                return Err("its count or sum is missing or another".to_owned());
            }
        }
        Ok(())
    }
}

fn read_labels(text: &str) -> Result<Labels, String> {
    let mut labels = Vec::new();
    let mut rest = text;
    loop {
        let (name, after) = rest.split_once("=\"").ok_or("a label has no value")?;
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
        if name.is_empty() || !name.bytes().all(is_plain) {
            return Err(format!("{name:?} is no label"));
        }
        let mut value = String::new();
        let mut letters = after.char_indices();
        let end = loop {
            match letters.next().ok_or("a label does not end")? {
                (at, '"') => break at + 1,
                (_, '\\') => value.push(letters.next().ok_or("a label does not end")?.1),
                (_, letter) => value.push(letter),
            }
        };
        labels.push((name.to_owned(), value));
        rest = &after[end..];
        match rest.strip_prefix(',') {
            Some(more) => rest = more,
            None if rest.is_empty() => return Ok(labels),
            None => return Err("there is something after a label".to_owned()),
        }
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let refused = |text: &str| Exposition::read(text).unwrap_err().len();
    let good = "# HELP xavantes_a_total A.\n# TYPE xavantes_a_total counter\nxavantes_a_total 1\n";
    assert_eq!(
        Exposition::read(good)
            .unwrap()
            .value("xavantes_a_total", &[]),
        Some(1.0)
    );
    assert_eq!(
        refused(&good.replace("_total", "")),
        2,
        "no _total, so no metric"
    );
    assert_eq!(
        refused(&good.replace("A.", "A")),
        3,
        "no sentence, so no help"
    );
    assert_eq!(refused(&good.replace("counter", "gauge")), 2);
    assert_eq!(refused(&good.replace(" 1", " NaN")), 1);
    assert_eq!(refused(&format!("{good}xavantes_a_total 1\n")), 1, "twice");
    assert_eq!(
        refused(&format!("{good}xavantes_a_total{{b=\"\"}} -1\n")),
        1
    );
    assert_eq!(refused(&good.replace("a_total", "milliseconds_total")), 2);
    let histogram = "# HELP xavantes_h H.\n# TYPE xavantes_h histogram\nxavantes_h_bucket{le=\"1\"} 1\nxavantes_h_bucket{le=\"+Inf\"} 2\nxavantes_h_sum 3\nxavantes_h_count 2\n";
    assert!(Exposition::read(histogram).is_ok());
    assert_eq!(refused(&histogram.replace("+Inf", "2")), 1);
    assert_eq!(refused(&histogram.replace("_count 2", "_count 3")), 1);
    assert_eq!(refused(&histogram.replace("1\"} 1", "1\"} 5")), 1);
}
