//! The fastest decay rate of a small system, from the diagonal of df/dy: one evaluation, which costs less than a
//! product with a vector.

use crate::evaluator::Evaluator;
use crate::system::{Mass, System};

/// Largest system, and largest number of entries of df/dy, for this estimate: up to this size a step of a Rosenbrock
/// method takes 1.2 to 1.4 times as long as one of an explicit method (`docs/dev/adr/0016`), above it up to five
/// times.
const MAX_UNKNOWNS: usize = 20;
const MAX_ENTRIES: usize = 100;

/// Two unknowns form a saddle if the determinant of their principal block is below 0 by more than this fraction of
/// the product of their rates.
const SADDLE: f64 = 1e-6;

/// df/dy, with the positions of its diagonal entries and of each pair of entries that couple two unknowns both ways.
pub struct Decay {
    values: Vec<f64>,
    diagonal: Vec<usize>,
    couplings: Vec<[usize; 4]>,
}

impl Decay {
    /// `None` if M is not I, or df/dy has too many entries or none on its diagonal.
    pub fn new(system: &dyn System) -> Option<Self> {
        let n = system.shape().n;
        let plain = matches!(system.mass(), Mass::Identity) && system.groups() == 1;
        let pattern = system.jacobian().pattern()?;
        if !plain || n > MAX_UNKNOWNS || pattern.entries() > MAX_ENTRIES {
            return None;
        }
        let place = |i: usize, j: usize| pattern.column(j).find(|k| pattern.row_idx[*k] as usize == i);
        let diagonal: Vec<usize> = (0..n).filter_map(|j| place(j, j)).collect();
        let mut couplings = vec![];
        for j in 0..n {
            for i in 0..j {
                if let (Some(a), Some(b), Some(c), Some(d)) = (place(i, i), place(j, j), place(i, j), place(j, i)) {
                    couplings.push([a, b, c, d]);
                }
            }
        }
        (!diagonal.is_empty()).then(|| Decay { values: vec![0.0; pattern.entries()], diagonal, couplings })
    }

    /// The largest decay rate on the diagonal, for a run in the direction of the sign of `direction`. The mean of the
    /// diagonal is the mean of the eigenvalues, and in a stiff problem one rate dominates. Returns 0 if nothing
    /// decays, if two decaying unknowns repel each other (Lorenz' equations near 0), or if df/dy cannot be evaluated.
    pub fn rate(&mut self, eval: &mut Evaluator<'_>, t: f64, y: &[f64], direction: f64) -> f64 {
        if eval.jacobian(t, y, &mut self.values).is_err() {
            return 0.0;
        }
        let sign = if direction < 0.0 { 1.0 } else { -1.0 };
        let v = &self.values;
        let saddle = |[a, b, c, d]: &[usize; 4]| {
            let rates = v[*a] * v[*b];
            rates > 0.0 && rates - v[*c] * v[*d] < -SADDLE * rates
        };
        if self.couplings.iter().any(saddle) {
            return 0.0;
        }
        self.diagonal.iter().fold(0.0, |rate, k| f64::max(rate, sign * v[*k]))
    }
}
