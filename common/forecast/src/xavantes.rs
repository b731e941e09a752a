//! TEMP
use crate::predictor::{Forecast, Observation, Predictor};
use serde::{Deserialize, Serialize};
/// TEMP
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Xavantes {
    inner: crate::smoothing::Smoothing,
}
impl Xavantes {
    pub(crate) const BYTES_MAX: usize = 100;
}
impl Default for crate::smoothing::Smoothing {
    fn default() -> Self {
        Self::new(0.3)
    }
}
impl Predictor for Xavantes {
    fn observe(&mut self, observation: Observation) {
        self.inner.observe(observation)
    }
    fn forecast(&self) -> Option<Forecast> {
        self.inner.forecast()
    }
    fn state_bytes(&self) -> usize {
        size_of::<Self>()
    }
}
