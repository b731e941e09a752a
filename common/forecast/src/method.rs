//! The predictors by name.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::ar::Ar;
use crate::des::Des;
use crate::last::Last;
use crate::mean::Mean;
use crate::median::Median;
use crate::mentzer::Mentzer;
use crate::nws::Nws;
use crate::pantazopoulos::PantazopoulosPappis;
use crate::predictor::{Forecast, Observation, Predictor};
use crate::smoothing::Smoothing;
use crate::trigg_leach::TriggLeach;
use crate::trimmed_mean::TrimmedMean;
use crate::whybark::Whybark;
use crate::xavantes::Xavantes;

/// A predictor to choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// The newest value.
    Last,
    /// The mean of all values.
    Mean,
    /// The median of the newest 31 values.
    Median,
    /// The mean of the newest 31 values without 15 % at each end.
    TrimmedMean,
    /// Exponential smoothing with gain 0.5.
    Es,
    /// Dynamic exponential smoothing.
    Des,
    /// The battery of the Network Weather Service.
    Nws,
    /// Autoregression of order 16.
    Ar16,
    /// Trigg and Leach's adaptive gain.
    TriggLeach,
    /// Whybark's three gains.
    Whybark,
    /// Mentzer's adaptive gain.
    Mentzer,
    /// Pantazopoulos and Pappis's adaptive gain.
    Pantazopoulos,
    /// The mixture that is this project's own; the default.
    Xavantes,
}

/// A name that no predictor has.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("there is no predictor {name:?}; they are {}", Method::names())]
pub struct UnknownMethod {
    name: String,
}

impl Method {
    /// All of them, the simplest first.
    pub const ALL: [Method; 13] = [
        Method::Last,
        Method::Mean,
        Method::Median,
        Method::TrimmedMean,
        Method::Es,
        Method::TriggLeach,
        Method::Whybark,
        Method::Mentzer,
        Method::Pantazopoulos,
        Method::Ar16,
        Method::Nws,
        Method::Des,
        Method::Xavantes,
    ];

    /// The name in commands and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Method::Last => "last",
            Method::Mean => "mean",
            Method::Median => "median",
            Method::TrimmedMean => "trimmed-mean",
            Method::Es => "es",
            Method::Des => "des",
            Method::Nws => "nws",
            Method::Ar16 => "ar16",
            Method::TriggLeach => "trigg-leach",
            Method::Whybark => "whybark",
            Method::Mentzer => "mentzer",
            Method::Pantazopoulos => "pantazopoulos",
            Method::Xavantes => "xavantes",
        }
    }

    fn names() -> String {
        Method::ALL.map(Method::name).join(", ")
    }

    /// Bytes of state that one series takes at most, with the heap.
    pub fn state_bytes_max(self) -> usize {
        const ENUM: usize = size_of::<AnyPredictor>();
        match self {
            Method::Last | Method::Mean | Method::Es => ENUM,
            Method::TriggLeach | Method::Whybark | Method::Mentzer | Method::Pantazopoulos => ENUM,
            Method::Median | Method::TrimmedMean => ENUM + 31 * 16,
            // Five classes of 500 pairs, 20 values, and 31 values twice.
            Method::Des => ENUM + size_of::<Des>() + 5 * 500 * 16 + (20 + 31 * 2) * 8,
            // 100 errors of 23 members and the windows of the members.
            Method::Nws => ENUM + size_of::<Nws>() + 100 * 23 * 8 + 8 * 1024,
            Method::Ar16 => ENUM + size_of::<Ar>() + 600 * 8 + 16 * 8,
            Method::Xavantes => ENUM + Xavantes::BYTES_MAX,
        }
    }

    /// A predictor that has seen nothing.
    pub fn predictor(self) -> AnyPredictor {
        match self {
            Method::Last => AnyPredictor::Last(Last::default()),
            Method::Mean => AnyPredictor::Mean(Mean::default()),
            Method::Median => AnyPredictor::Median(Median::new(31)),
            Method::TrimmedMean => AnyPredictor::TrimmedMean(TrimmedMean::new(31, 0.3)),
            Method::Es => AnyPredictor::Es(Smoothing::new(0.5)),
            Method::Des => AnyPredictor::Des(Box::default()),
            Method::Nws => AnyPredictor::Nws(Box::default()),
            Method::Ar16 => AnyPredictor::Ar(Box::new(Ar::new(16))),
            Method::TriggLeach => AnyPredictor::TriggLeach(TriggLeach::default()),
            Method::Whybark => AnyPredictor::Whybark(Whybark::default()),
            Method::Mentzer => AnyPredictor::Mentzer(Mentzer::default()),
            Method::Pantazopoulos => AnyPredictor::Pantazopoulos(PantazopoulosPappis::default()),
            Method::Xavantes => AnyPredictor::Xavantes(Box::default()),
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Method {
    type Err = UnknownMethod;

    fn from_str(name: &str) -> Result<Method, UnknownMethod> {
        let found = Method::ALL.into_iter().find(|method| method.name() == name);
        found.ok_or_else(|| UnknownMethod {
            name: name.to_owned(),
        })
    }
}

/// A predictor of any method, with its state. It is stored with serde.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AnyPredictor {
    /// [`Last`]
    Last(Last),
    /// [`Mean`]
    Mean(Mean),
    /// [`Median`]
    Median(Median),
    /// [`TrimmedMean`]
    TrimmedMean(TrimmedMean),
    /// [`Smoothing`]
    Es(Smoothing),
    /// [`Des`]
    Des(Box<Des>),
    /// [`Nws`]
    Nws(Box<Nws>),
    /// [`Ar`]
    Ar(Box<Ar>),
    /// [`TriggLeach`]
    TriggLeach(TriggLeach),
    /// [`Whybark`]
    Whybark(Whybark),
    /// [`Mentzer`]
    Mentzer(Mentzer),
    /// [`PantazopoulosPappis`]
    Pantazopoulos(PantazopoulosPappis),
    /// [`Xavantes`]
    Xavantes(Box<Xavantes>),
}

/// Calls the predictor inside.
macro_rules! inside {
    ($any:expr, $predictor:ident => $call:expr) => {
        match $any {
            AnyPredictor::Last($predictor) => $call,
            AnyPredictor::Mean($predictor) => $call,
            AnyPredictor::Median($predictor) => $call,
            AnyPredictor::TrimmedMean($predictor) => $call,
            AnyPredictor::Es($predictor) => $call,
            AnyPredictor::Des($predictor) => $call,
            AnyPredictor::Nws($predictor) => $call,
            AnyPredictor::Ar($predictor) => $call,
            AnyPredictor::TriggLeach($predictor) => $call,
            AnyPredictor::Whybark($predictor) => $call,
            AnyPredictor::Mentzer($predictor) => $call,
            AnyPredictor::Pantazopoulos($predictor) => $call,
            AnyPredictor::Xavantes($predictor) => $call,
        }
    };
}

impl Predictor for AnyPredictor {
    fn observe(&mut self, observation: Observation) {
        inside!(self, predictor => predictor.observe(observation));
    }

    fn forecast(&self) -> Option<Forecast> {
        inside!(self, predictor => predictor.forecast())
    }

    fn state_bytes(&self) -> usize {
        let boxed = match self {
            AnyPredictor::Des(_)
            | AnyPredictor::Nws(_)
            | AnyPredictor::Ar(_)
            | AnyPredictor::Xavantes(_) => size_of::<AnyPredictor>(),
            AnyPredictor::Last(last) => size_of::<AnyPredictor>() - size_of_val(last),
            AnyPredictor::Mean(mean) => size_of::<AnyPredictor>() - size_of_val(mean),
            AnyPredictor::Median(median) => size_of::<AnyPredictor>() - size_of_val(median),
            AnyPredictor::TrimmedMean(mean) => size_of::<AnyPredictor>() - size_of_val(mean),
            AnyPredictor::Es(es) => size_of::<AnyPredictor>() - size_of_val(es),
            AnyPredictor::TriggLeach(es) => size_of::<AnyPredictor>() - size_of_val(es),
            AnyPredictor::Whybark(es) => size_of::<AnyPredictor>() - size_of_val(es),
            AnyPredictor::Mentzer(es) => size_of::<AnyPredictor>() - size_of_val(es),
            AnyPredictor::Pantazopoulos(es) => size_of::<AnyPredictor>() - size_of_val(es),
        };
        boxed + inside!(self, predictor => predictor.state_bytes())
    }
}
