//! Powers of machines that measurements do not tell apart: planners take equal machines for equal.

/// Two powers are taken for one up to this ratio: measurements of one machine differ by up to a
/// twentieth.
const ALIKE_MAX: f64 = 1.08;

/// The powers that stand for others that are so close to them.
#[derive(Debug, Default)]
pub(crate) struct Powers(Vec<f64>);

impl Powers {
    /// The power that is told of a machine: that of the first one whose power is so close.
    pub(crate) fn told(&mut self, power: f64) -> f64 {
        let is_alike = |one: &&f64| (power / **one).max(**one / power) <= ALIKE_MAX;
        if let Some(&alike) = self.0.iter().find(is_alike) {
            return alike;
        }
        self.0.push(power);
        power
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_managers_on_one_host_are_told_as_equal_and_others_are_not() {
        // Medians of managers that were started together.
        let measured = [2.237, 2.195, 2.180, 2.231, 2.200, 2.202, 2.252, 2.213];
        let mut powers = Powers::default();
        assert!(measured.map(|one| powers.told(one)) == [2.237; 8]);
        assert_eq!(
            [1.0, 2.0, 1.07].map(|one| powers.told(one)),
            [1.0, 2.0, 1.0]
        );
    }
}
