//! The vectors of simulations: statistics and errors over synthetic series.

use std::fmt::Write;

use forecast::generator::{Parameters, next_trace};
use forecast::statistics::{Statistics, autocorrelation, hurst};
use forecast::{Class, Des, Observation, Predictor, Random};

use super::{Group, after, bound, improvement, named, numbers, rmse, shown, source_name};

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn least(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

fn most(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

pub(crate) fn s1(group: &Group<'_>) -> Option<String> {
    let &[_, n_series, length, _, seed, ..] =
        &numbers(&group.head.replace("N=", "N= ").replace("B=", "B= "))[..]
    else {
        return None;
    };
    let mut random = Random::new(seed as u64);
    let mut traces = Vec::new();
    for _ in 0..n_series as usize {
        let parameters = Parameters::varied(&mut random);
        traces.push(next_trace(&mut random, parameters, length as usize));
    }
    let all: Vec<Statistics> = traces.iter().map(|trace| Statistics::of(trace)).collect();
    let mut made = String::new();
    for line in &group.lines {
        if let Some((left, right)) = line.split_once('|') {
            let name = left.split_whitespace().next()?;
            let values: Option<Vec<f64>> =
                all.iter().map(|statistics| statistics.get(name)).collect();
            let values = values?;
            let middle = mean(&values);
            let squares: Vec<f64> = values
                .iter()
                .map(|value| (value - middle).powi(2))
                .collect();
            writeln!(
                made,
                "  {name} {middle:.2} {:.2} {:.2} {:.2} |{right}",
                mean(&squares).sqrt(),
                least(&values),
                most(&values)
            )
            .ok()?;
        } else if line.contains("Hurst") {
            let n = after(line, "first ")? as usize;
            let rho: Vec<Vec<f64>> = traces[..n]
                .iter()
                .map(|trace| autocorrelation(trace, 100))
                .collect();
            let hursts: Option<Vec<f64>> = rho.iter().map(|rho| hurst(rho)).collect();
            let hursts = hursts?;
            let long = hursts.iter().filter(|hurst| **hurst > 0.7).count() as f64 / n as f64;
            let one: Vec<f64> = rho.iter().map(|rho| rho[1]).collect();
            writeln!(made, "  first {n}: Hurst by log-log ACF slope (lags 1..100) mean {:.2}, share > .70: {long:.2} (thesis .73, .63); mean rho(1) {:.2}", mean(&hursts), mean(&one)).ok()?;
        } else {
            let mut random = Random::new(seed as u64);
            let parameters = Parameters::varied(&mut random);
            writeln!(
                made,
                "  first five values of the first trace: {}",
                shown(&next_trace(&mut random, parameters, 5))
            )
            .ok()?;
        }
    }
    Some(made)
}

fn correlation(x: &[f64], y: &[f64]) -> f64 {
    let (mx, my) = (mean(x), mean(y));
    let sum =
        |f: &dyn Fn(f64, f64) -> f64| x.iter().zip(y).map(|(x, y)| f(x - mx, y - my)).sum::<f64>();
    sum(&|x, y| x * y) / (sum(&|x, _| x * x) * sum(&|_, y| y * y)).sqrt()
}

pub(crate) fn s2(group: &Group<'_>) -> Option<String> {
    let &[n_series, length, seed, ..] = &numbers(&group.head.replace("N=", "N= "))[..] else {
        return None;
    };
    let mut random = Random::new(seed as u64);
    let mut traces = Vec::new();
    for _ in 0..n_series as usize {
        let parameters = Parameters::varied(&mut random);
        traces.push(next_trace(&mut random, parameters, length as usize));
    }
    let mut own = Vec::new();
    let mut bounds = Vec::new();
    let mut sources = [0.0; 3];
    let mut classes = [0.0; 5];
    for trace in &traces {
        let mut des = Des::default();
        let mut squares = 0.0;
        for &value in trace {
            if let Some(forecast) = des.forecast() {
                squares += (value - forecast.value).powi(2);
                sources[match source_name(forecast.source) {
                    "mean" => 1,
                    "median" => 2,
                    _ => 0,
                }] += 1.0;
            }
            des.observe(Observation::Value(value));
            classes[des.class() as usize] += 1.0;
        }
        own.push((squares / (trace.len() - 1) as f64).sqrt());
        bounds.push(bound(trace));
    }
    let mut against_nws = Vec::new();
    let mut made = String::new();
    for line in &group.lines {
        if let Some((before, _)) = line.split_once("delta% mean") {
            let name = before.trim().strip_prefix("DES vs")?.trim();
            let mut deltas = Vec::new();
            let mut ratios = Vec::new();
            for ((trace, own), (nws, bound)) in traces.iter().zip(&own).zip(&bounds) {
                let other = if name == "NWS" {
                    *nws
                } else {
                    rmse(&mut *named(name)?, trace)
                };
                deltas.push(improvement(*own, other, *bound));
                ratios.push((other / own - 1.0) * 100.0);
            }
            let worse = deltas.iter().filter(|delta| **delta < 0.0).count();
            writeln!(made, "  DES vs {name} delta% mean {:.2} min {:.2} max {:.2} worse-than in {worse} of {n_series} ; plain RMSE ratio-1 mean {:.2}%", mean(&deltas), least(&deltas), most(&deltas), mean(&ratios)).ok()?;
            if name == "NWS" {
                against_nws = deltas;
            }
        } else if let Some((_, thesis)) = line.split_once(" (thesis") {
            let of = |name: &str| -> Option<Vec<f64>> {
                let all = traces.iter().map(|trace| {
                    let statistics = Statistics::of(trace);
                    let jumps = statistics.get("f_jumps")?;
                    match name {
                        "mse_jumps/(sigma2 f_jumps)" if jumps > 0.0 => {
                            Some(statistics.get("mse_jumps/sigma2")? / jumps)
                        }
                        "mse_jumps/(sigma2 f_jumps)" => Some(0.0),
                        name => statistics.get(name),
                    }
                });
                all.collect()
            };
            let names = [
                "c",
                "sigma(sigma)/mu",
                "c(sigma)",
                "f_jumps",
                "mse_jumps/(sigma2 f_jumps)",
            ];
            let mut parts = Vec::new();
            for name in names {
                parts.push(format!(
                    "{name} {:.2}",
                    correlation(&of(name)?, &against_nws)
                ));
            }
            writeln!(
                made,
                "  correlation of delta%(DES,NWS) with: {} (thesis{thesis}",
                parts.join(", ")
            )
            .ok()?;
        } else {
            let all: f64 = sources.iter().sum();
            let chosen = sources.map(|n| 100.0 * n / all);
            let parts: Vec<String> = Class::ALL
                .iter()
                .zip(classes)
                .map(|(class, n)| format!("{class:?} {:.1}%", 100.0 * n / (n_series * length)))
                .collect();
            writeln!(
                made,
                "  component chosen: des {:.1}%, mean {:.1}%, median {:.1}% ; class shares: {}",
                chosen[0],
                chosen[1],
                chosen[2],
                parts.join(", ")
            )
            .ok()?;
        }
    }
    Some(made)
}
