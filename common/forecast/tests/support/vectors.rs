//! Reads a file of vectors, works everything in it out again from the inputs that it states, and
//! compares line by line: words must be equal, numbers to the digits that are printed.
//!
//! Groups about other subjects than forecasts and statistics are named and left out.

#[path = "simulated.rs"]
mod simulated;
#[path = "stes.rs"]
#[expect(dead_code, reason = "the study uses the rest")]
mod stes;

use std::fmt::Write;

use forecast::statistics::{NAMES, Statistics, autocorrelation, hurst};
use forecast::{
    Ar, Class, Des, Mean, Median, Mentzer, Nws, Observation, PantazopoulosPappis, Predictor,
    Random, Reading, Sizes, Smoothing, Source, TriggLeach, Whybark, levinson,
};
use stes::{Size, Stes};

/// The result of a comparison.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) n_lines: usize,
    pub(crate) n_numbers: usize,
    pub(crate) differences: Vec<String>,
    pub(crate) left_out: Vec<String>,
    pub(crate) groups: Vec<String>,
}

/// Units of the last printed digit by which numbers may differ: vectors are rounded.
const ROUNDED: f64 = 0.501;
/// The same for statistics of series that pass through thousands of logarithms, which differ in
/// their last bits from one library to another.
const SIMULATED: f64 = 1.01;

/// Checks a whole file.
pub(crate) fn check(text: &str) -> Report {
    let mut report = Report::default();
    let lines: Vec<&str> = text.lines().collect();
    let is_rule = |line: &str| line.len() > 2 && line.chars().all(|c| c == '-');
    let heads: Vec<usize> = (1..lines.len())
        .filter(|&at| is_rule(lines[at]))
        .map(|at| at - 1)
        .collect();
    for (place, &head) in heads.iter().enumerate() {
        let end = heads.get(place + 1).copied().unwrap_or(lines.len());
        let group = Group {
            head: lines[head],
            lines: lines[head + 2..end]
                .iter()
                .copied()
                .filter(|line| !line.trim().is_empty())
                .collect(),
        };
        let name = group.head.split_whitespace().next().unwrap_or_default();
        let made = match name {
            "V00" => v00(&group),
            "V01-V06" => v01(&group),
            "V07" => v07(&group),
            "V08" => v08(&group),
            "V09" => v09(&group, &lines),
            "V10" => v10(&group),
            "V11" => v11(&group),
            "S1" => simulated::s1(&group),
            "S2" => simulated::s2(&group),
            _ => {
                report.left_out.push(name.to_owned());
                continue;
            }
        };
        report.groups.push(name.to_owned());
        let units = if name.starts_with('S') {
            SIMULATED
        } else {
            ROUNDED
        };
        match made {
            Some(made) => report.compare(name, &group.lines, &made, units),
            None => report
                .differences
                .push(format!("{name}: its inputs cannot be read")),
        }
    }
    if report.groups.is_empty() {
        report
            .differences
            .push("no group of vectors is known".to_owned());
    }
    report
}

impl Report {
    fn compare(&mut self, group: &str, stated: &[&str], made: &str, units: f64) {
        let made: Vec<&str> = made.lines().collect();
        if made.len() != stated.len() {
            self.differences.push(format!(
                "{group}: {} lines are stated, {} are worked out",
                stated.len(),
                made.len()
            ));
        }
        for (stated, made) in stated.iter().zip(made) {
            self.n_lines += 1;
            let (a, b) = (pieces(stated), pieces(made));
            self.n_numbers += a
                .iter()
                .filter(|piece| matches!(piece, Piece::Number(..)))
                .count();
            let is_same = a.len() == b.len()
                && a.iter()
                    .zip(&b)
                    .all(|(stated, made)| stated.is_near(made, units));
            if !is_same {
                self.differences
                    .push(format!("{group}:\n  stated {stated}\n  made   {made}"));
            }
        }
    }
}

/// A word, or a number with the number of its decimals.
enum Piece {
    Word(String),
    Number(f64, i32),
}

impl Piece {
    fn is_near(&self, made: &Piece, units: f64) -> bool {
        match (self, made) {
            (Piece::Word(a), Piece::Word(b)) => a == b,
            (Piece::Number(a, decimals), Piece::Number(b, _)) => {
                (a - b).abs() <= units * 10f64.powi(-decimals) + 1e-9 * b.abs()
            }
            (Piece::Word(_), Piece::Number(..)) | (Piece::Number(..), Piece::Word(_)) => false,
        }
    }
}

fn pieces(line: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut word = String::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let (signless, sign) = match rest.strip_prefix('-') {
            Some(signless) if !word.ends_with(|c: char| c.is_alphanumeric()) => (signless, -1.0),
            Some(_) | None => (rest, 1.0),
        };
        let is_number = signless.starts_with(|c: char| c.is_ascii_digit())
            && !word.ends_with(|c: char| c.is_alphabetic());
        if !is_number {
            if first.is_whitespace() {
                finish(&mut word, &mut pieces);
            } else {
                word.push(first);
            }
            rest = &rest[first.len_utf8()..];
            continue;
        }
        finish(&mut word, &mut pieces);
        let end = signless
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(signless.len());
        // A full stop at the end is none of the number.
        let digits = signless[..end].trim_end_matches('.');
        let decimals = digits
            .split_once('.')
            .map_or(0, |(_, decimals)| decimals.len());
        match digits.parse::<f64>() {
            Ok(number) => pieces.push(Piece::Number(sign * number, decimals as i32)),
            Err(_) => pieces.push(Piece::Word(digits.to_owned())),
        }
        rest = &signless[digits.len()..];
        // The letters right behind a number are a word of their own.
        if let Some(next) = rest
            .chars()
            .next()
            .filter(|c| !c.is_whitespace() && !c.is_ascii_digit())
        {
            word.push(next);
            rest = &rest[next.len_utf8()..];
        }
    }
    finish(&mut word, &mut pieces);
    pieces
}

fn finish(word: &mut String, pieces: &mut Vec<Piece>) {
    if !word.is_empty() {
        pieces.push(Piece::Word(std::mem::take(word)));
    }
}

struct Group<'a> {
    head: &'a str,
    lines: Vec<&'a str>,
}

/// The numbers of the first list in brackets.
fn list(text: &str) -> Option<Vec<f64>> {
    let (_, rest) = text.split_once('[')?;
    let (inside, _) = rest.split_once(']')?;
    inside
        .split(',')
        .map(|number| number.trim().parse().ok())
        .collect()
}

/// The numbers of a text, wherever they stand.
fn numbers(text: &str) -> Vec<f64> {
    let number = |piece| match piece {
        Piece::Number(number, _) => Some(number),
        Piece::Word(_) => None,
    };
    pieces(text).into_iter().filter_map(number).collect()
}

/// The number after a mark such as `phi=`, also one that begins with its decimal point.
fn after(text: &str, mark: &str) -> Option<f64> {
    let (_, rest) = text.split_once(mark)?;
    let end = rest
        .find(|c: char| !c.is_ascii_digit() && c != '.' && c != '-')
        .unwrap_or(rest.len());
    rest[..end].parse().ok()
}

fn shown(numbers: &[f64]) -> String {
    let numbers: Vec<String> = numbers
        .iter()
        .map(|number| format!("{number:.6}"))
        .collect();
    format!("[{}]", numbers.join(", "))
}

/// Feeds a series; the forecasts of its values from the second one, and of the next.
fn forecasts(predictor: &mut dyn Predictor, values: &[f64]) -> Vec<f64> {
    let mut made = Vec::new();
    for &value in values {
        predictor.observe(Observation::Value(value));
        made.extend(predictor.forecast().map(|forecast| forecast.value));
    }
    made
}

fn rmse(predictor: &mut dyn Predictor, values: &[f64]) -> f64 {
    let made = forecasts(predictor, values);
    let squares: f64 = made
        .iter()
        .zip(&values[1..])
        .map(|(made, value)| (value - made).powi(2))
        .sum();
    (squares / (values.len() - 1) as f64).sqrt()
}

fn v00(group: &Group<'_>) -> Option<String> {
    let mut made = String::new();
    for line in &group.lines {
        let (name, rest) = line.trim().split_once('(')?;
        let seed = rest.split_once(')')?.0.parse().ok()?;
        let mut random = Random::new(seed);
        if name == "SplitMix64" {
            let (a, b) = (random.bits(), random.bits());
            writeln!(
                made,
                "  SplitMix64({seed}) first two words: {a:016X} {b:016X}"
            )
            .ok()?;
        } else {
            let (u, n, e) = (random.uniform(), random.normal(), random.exponential());
            let mean = after(line, "geo(")?;
            let geometric = random.geometric(mean);
            writeln!(
                made,
                "  Rng({seed}): u {u:.12}  n {n:.12}  e {e:.12}  geo({mean}) {geometric}"
            )
            .ok()?;
        }
    }
    Some(made)
}

fn v01(group: &Group<'_>) -> Option<String> {
    let values = list(group.head)?;
    let mut made = String::new();
    for line in &group.lines {
        let Some((name, _)) = line.split_once('[') else {
            writeln!(made, "{line}").ok()?;
            continue;
        };
        let mut predictor: Box<dyn Predictor> = if name.contains("STES") {
            let size = if name.contains("e2") {
                Size::Square
            } else {
                Size::Absolute
            };
            let beta = after(name, "beta=").or_else(|| after(name, "b="))?;
            let gamma = after(name, "gamma=").or_else(|| after(name, "g="))?;
            Box::new(Stes::fixed(beta, gamma, size))
        } else if name.contains("ES(") {
            Box::new(Smoothing::new(after(name, "ES(")?))
        } else if name.contains("Trigg") {
            Box::new(TriggLeach::new(after(name, "phi=")?))
        } else if name.contains("Whybark") {
            Box::new(Whybark::default())
        } else if name.contains("Mentzer") {
            Box::new(Mentzer::default())
        } else if name.contains("Pantazopoulos") {
            Box::new(PantazopoulosPappis::default())
        } else if name.contains("mean") {
            Box::new(Mean::default())
        } else if name.contains("median") {
            Box::new(Median::new(after(name, "l=")? as usize))
        } else {
            return None;
        };
        writeln!(
            made,
            "{name}{}",
            shown(&forecasts(&mut *predictor, &values))
        )
        .ok()?;
    }
    Some(made)
}

fn v07(group: &Group<'_>) -> Option<String> {
    let values = list(group.lines.first()?)?;
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let apart: Vec<f64> = values.iter().map(|value| value - mean).collect();
    let covariance = |lag: usize| {
        apart[lag..]
            .iter()
            .zip(&apart)
            .map(|(a, b)| a * b)
            .sum::<f64>()
            / n
    };
    let covariances: Vec<f64> = (0..4).map(covariance).collect();
    let plain: Vec<String> = values.iter().map(|value| format!("{value:.1}")).collect();
    let mut made = format!(
        "  series [{}]  mean {mean}  gamma(0..3) {}\n",
        plain.join(", "),
        shown(&covariances)
    );
    for order in 1..=3 {
        let mut a = vec![0.0; order];
        levinson(&covariances[..=order], &mut a);
        let back = |place: usize| apart[apart.len() - 1 - place];
        let next = mean
            + a.iter()
                .enumerate()
                .map(|(place, a)| a * back(place))
                .sum::<f64>();
        writeln!(
            made,
            "  AR({order}) coefficients {}  forecast of next {next:.6}",
            shown(&a)
        )
        .ok()?;
    }
    Some(made)
}

fn source_name(source: Source) -> &'static str {
    match source {
        Source::Mean => "mean",
        Source::Median => "median",
        Source::Last
        | Source::WindowMean
        | Source::AdaptiveMedian
        | Source::TrimmedMean
        | Source::Smoothing
        | Source::Trend
        | Source::Autoregression
        | Source::Mixture => "des",
    }
}

/// The sizes that a heading or a name states; `k=5 l=5`.
fn sizes(text: &str) -> Sizes {
    let number = |mark| after(text, mark).map(|number| number as usize);
    let usual = Sizes::default();
    Sizes {
        deviation: number("k=").unwrap_or(usual.deviation),
        median: number("l=").unwrap_or(usual.median),
        pairs: number("cap=").unwrap_or(usual.pairs),
    }
}

/// The predictors that the lists of errors name.
fn named(name: &str) -> Option<Box<dyn Predictor>> {
    let des = |reading| Some(Box::new(Des::new(sizes(name), reading)) as Box<dyn Predictor>);
    match name {
        "DES literal (7.19) index" | "DES literal idx" => des(Reading::AsPrinted),
        "DES no clamp" => des(Reading::Unclamped),
        "DES errs=out" => des(Reading::IssuedErrors),
        "DES component only" | "DES comp. only" => des(Reading::Alone),
        "last value" => Some(Box::new(Smoothing::new(1.0))),
        "Trigg-Leach" => Some(Box::new(TriggLeach::default())),
        "Whybark" => Some(Box::new(Whybark::default())),
        "Mentzer" => Some(Box::new(Mentzer::default())),
        "P&P" => Some(Box::new(PantazopoulosPappis::default())),
        "NWS battery" | "NWS" => Some(Box::new(Nws::default())),
        "running mean" => Some(Box::new(Mean::default())),
        "median 31" => Some(Box::new(Median::new(31))),
        _ if name.starts_with("ES(") => Some(Box::new(Smoothing::new(after(name, "ES(")?))),
        _ if name.starts_with("AR(") => Some(Box::new(Ar::new(after(name, "AR(")? as usize))),
        _ if name.starts_with("DES") => des(Reading::Corrected),
        _ => None,
    }
}

fn v08(group: &Group<'_>) -> Option<String> {
    let values = list(group.lines.first()?)?;
    let plain: Vec<String> = values.iter().map(|value| format!("{value}")).collect();
    let mut made = format!("  SERIES = [{}]\n", plain.join(", "));
    writeln!(
        made,
        "   t      y   forecast(t) src   e(des)     class alpha*    des(t+1)     mean(t+1)    median(t+1)"
    )
    .ok()?;
    let mut des = Des::new(sizes(group.head), Reading::Corrected);
    for (t, &value) in (1..).zip(&values) {
        let before = des.forecast().zip(des.components());
        des.observe(Observation::Value(value));
        let Some((forecast, [level, ..])) = before else {
            writeln!(made, "  {t} {value} -").ok()?;
            continue;
        };
        let [next, mean, median] = des.components()?;
        writeln!(
            made,
            "  {t} {value} {:.6} {} {:.6} {:?} {:.6} {next:.6} {mean:.6} {median:.6}",
            forecast.value,
            source_name(forecast.source),
            value - level,
            des.class(),
            des.gain()
        )
        .ok()?;
    }
    let last = des.forecast()?;
    writeln!(
        made,
        "  next forecast {:.6} from {} ; kappa des/mean/median = {}",
        last.value,
        source_name(last.source),
        shown(&des.squared_errors())
    )
    .ok()?;
    let pairs = Class::ALL.map(|class| {
        let (n, ideal, weight) = des.pairs(class);
        format!("{class:?} n={n} num={ideal:.4} den={weight:.4}")
    });
    writeln!(made, "  per-class pairs: {}", pairs.join(", ")).ok()?;
    writeln!(made, "  RMSE over t=2..{}:", values.len()).ok()?;
    let at = group
        .lines
        .iter()
        .position(|line| line.trim_start().starts_with("RMSE"))?;
    let errors = group.lines[at + 1..]
        .iter()
        .take_while(|line| line.starts_with("    "));
    for line in errors {
        let (name, _) = line.trim().rsplit_once(char::is_whitespace)?;
        let name = name.trim();
        writeln!(made, "    {name} {:.6}", rmse(&mut *named(name)?, &values)).ok()?;
    }
    let mut edge = Des::default();
    let seen = [5.0, 5.0, 5.0, 5.0, 6.0, 6.0, 6.0].map(|value| {
        edge.observe(Observation::Value(value));
        let [level, ..] = edge.components().unwrap_or_default();
        format!("('{:?}', {}, {level:?})", edge.class(), edge.gain())
    });
    writeln!(
        made,
        "  edge: constant series 5,5,5,5 then 6 -> classes: [{}]",
        seen.join(", ")
    )
    .ok()?;
    Some(made)
}

/// How much of the way from another predictor's error to the bound one comes (7.29), in percent.
fn improvement(own: f64, other: f64, bound: f64) -> f64 {
    (other - own) / (other - bound) * 100.0
}

fn bound(values: &[f64]) -> (f64, f64) {
    let mut nws = Nws::default();
    let error = rmse(&mut nws, values);
    (
        error,
        (nws.oracle_squares() / (values.len() - 1) as f64).sqrt(),
    )
}

fn v09(group: &Group<'_>, file: &[&str]) -> Option<String> {
    let first = group.lines.first()?;
    let (a, b, star) = (
        after(first, "RMSE_A=")?,
        after(first, "RMSE_B=")?,
        after(first, "RMSE*=")?,
    );
    let mut made = format!(
        "  RMSE_A={a} RMSE_B={b} RMSE*={star} -> delta% = {:.6}\n",
        improvement(a, b, star)
    );
    let values = list(
        file.iter()
            .find(|line| line.trim_start().starts_with("SERIES ="))?,
    )?;
    let (_, star) = bound(&values);
    let (des, es) = (
        rmse(&mut Des::default(), &values),
        rmse(&mut Smoothing::new(0.5), &values),
    );
    writeln!(
        made,
        "  SERIES: RMSE* (oracle over the 23-member battery) {star:.6} ; delta%(DES,ES.5) = {:.6}",
        improvement(des, es, star)
    )
    .ok()?;
    Some(made)
}

fn v10(group: &Group<'_>) -> Option<String> {
    let first = group.lines.first()?;
    let seed = after(first, "SplitMix64(")? as u64;
    let &[base, step, switch, noise, half, peak, ..] = &numbers(first.split_once("y_i =")?.1)[..]
    else {
        return None;
    };
    let peaks: Vec<usize> = numbers(first.split_once('{')?.1.split_once('}')?.0)
        .iter()
        .map(|&at| at as usize)
        .collect();
    let last = first.split_once("i=0..")?.1.trim().parse::<usize>().ok()?;
    let mut random = Random::new(seed);
    let _ = half;
    let value = |at: usize| {
        let mut value = base + noise * (random.uniform() - 0.5);
        if at >= switch as usize {
            value += step;
        }
        if peaks.contains(&at) {
            value += peak;
        }
        value
    };
    let values: Vec<f64> = (0..=last).map(value).collect();
    let mut made = format!("{first}\n  first five {}\n", shown(&values[..5]));
    let statistics = Statistics::of(&values);
    for (name, value) in NAMES.iter().zip(statistics.values) {
        writeln!(made, "    {name} {:.6}", value?).ok()?;
    }
    // The exact references, from the distributions.
    let erfc = 1.0 - erf(1.0);
    let density = (-1.0f64).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let square = 2.0 * 2f64.sqrt() * density + erfc;
    let normal = 0.5 * (square + erfc);
    writeln!(made, "  iid reference values (exact): normal  f_jumps=erfc(1)={erfc:.4} sigma_jumps/sigma={:.4} mse_jumps/sigma2={normal:.4} rmse_j/rmse_lv={:.4}", normal.sqrt(), square.sqrt()).ok()?;
    let e2 = (-2.0f64).exp();
    writeln!(made, "                                expon.  f_jumps=e^-2  ={e2:.4} sigma_jumps/sigma={:.4} mse_jumps/sigma2={:.4} rmse_j/rmse_lv={:.4}", (4.0 * e2).sqrt(), 4.0 * e2, (5.0 * e2).sqrt()).ok()?;
    // Gamma(10) / Gamma(9.5).
    let gammas = (1..10).map(f64::from).product::<f64>()
        / ((0..9).map(|at| f64::from(at) + 0.5).product::<f64>() * std::f64::consts::PI.sqrt());
    let c4 = (2.0f64 / 19.0).sqrt() * gammas;
    writeln!(made, "  iid normal B=20: c(sigma) = {:.4} (thesis 0.16) ; sigma/rmse_lv = {:.4} ; alternating series -> 0.5", (1.0 - c4 * c4).sqrt() / c4, 0.5f64.sqrt()).ok()?;
    let rho = |s: f64| 1.0 - 1.0 / (2.0 * s * s);
    writeln!(made, "  lag-1 autocorrelation from S5=sigma/rmse_lv: rho1 = 1-1/(2 S5^2): S5=1.12 -> {:.4} ; .70 -> {:.4} ; 1.83 -> {:.4}", rho(1.12), rho(0.70), rho(1.83)).ok()?;
    Some(made)
}

fn erf(x: f64) -> f64 {
    let mut term = x;
    let mut sum = x;
    for n in 1..60 {
        term *= -x * x / f64::from(n);
        sum += term / f64::from(2 * n + 1);
    }
    2.0 / std::f64::consts::PI.sqrt() * sum
}

fn v11(group: &Group<'_>) -> Option<String> {
    let &[first, second] = &group.lines[..] else {
        return None;
    };
    let values = list(first)?;
    let plain: Vec<String> = values.iter().map(f64::to_string).collect();
    let rho = autocorrelation(&values, 4);
    let mut made = format!("  ACF of [{}] lags 0..4 {}\n", plain.join(","), shown(&rho));
    let (factor, power) = (after(second, "rho(h)=")?, after(second, "h^")?);
    let last = second.split_once("h=1..")?.1;
    let last = last[..last.find(|c: char| !c.is_ascii_digit())?]
        .parse::<i32>()
        .ok()?;
    let mut law = vec![1.0];
    law.extend((1..=last).map(|lag| factor * f64::from(lag).powf(power)));
    let (before, rest) = second.split_once("H = ")?;
    let (_, behind) = rest.split_once(' ')?;
    writeln!(made, "{before}H = {:.6} {behind}", hurst(&law)?).ok()?;
    Some(made)
}
