//! Taylor-series method: the order follows the tolerance, the step the last two coefficients.
//!
//! À. Jorba, M. Zou, A software package for the numerical integration of ODEs by means of high-order Taylor methods,
//! Experimental Mathematics 14 (2005) 99-117, section 3.2: order p = ceil(1 - ln(eps)/2) and the step that is e^-2 of the
//! estimated radius of convergence, so that the last term kept is about the tolerance. The coefficients are exact; they
//! come from the system.

use crate::control::Tolerances;
use crate::evaluator::{Evaluator, all_finite};
use crate::integrator::{Attempt, Integrator};
use crate::method::runge_kutta::while_true;
use crate::method::{Adaptive, Family, Method, Setup, Stability, Structure};
use crate::problem::{Cause, Refusal};

/// Highest order, that of a tolerance at the rounding of doubles.
pub const MAX_ORDER: u32 = 26;
/// Lowest order: with fewer terms an explicit Runge-Kutta method is cheaper.
pub const MIN_ORDER: u32 = 6;

/// Share of the step that the last two terms allow: they are to stay below the tolerance, and the first one left out
/// is smaller still.
const SAFETY: f64 = 0.9;
/// Most by which a step may grow.
const GROWTH: f64 = 8.0;
/// Step after a failure or a rejected end.
const RETREAT: f64 = 0.4;
/// The defect h |p'(h) - f| at the end of a step, in tolerances, beyond which the polynomial is no solution: f has
/// switched to another branch inside the step, or the coefficients misjudged it.
const DEFECT: f64 = 100.0;

pub(super) static METHOD: Method = Method {
    name: "taylor",
    aliases: &["taylor-series"],
    about: "Taylor series of the solution, order chosen by the tolerance; for smooth problems at tight tolerances",
    order: MAX_ORDER,
    stages: 1,
    family: Family::Taylor,
    stability: Stability::Bounded,
    adaptive: Adaptive::VariableOrder,
    dense_order: MAX_ORDER,
    structure: Structure { jacobian: false, time_derivative: false },
    source: "Jorba & Zou, Experimental Mathematics 14 (2005) 99-117",
    build,
};

/// The order for a relative tolerance.
pub fn order_for(rtol: f64) -> u32 {
    let order = (1.0 - 0.5 * rtol.max(1e-17).ln()).ceil();
    (order as u32).clamp(MIN_ORDER, MAX_ORDER)
}

/// R(-x) = 1 - x + x^2/2 - ...: what a step makes of 1 on y' = -y with h = x.
fn decay(order: u32, x: f64) -> f64 {
    (1..=order).rev().fold(1.0, |sum, k| 1.0 - sum * x / f64::from(k))
}

/// Largest h*lambda for which steps of this order are stable on y' = -lambda y.
pub fn real_limit(order: u32) -> f64 {
    while_true(|x| decay(order, x).abs() <= 1.0)
}

/// Largest h*lambda for which a step of this order on y' = -lambda y is wrong by at most `tolerance` times y.
pub fn real_accuracy(order: u32, tolerance: f64) -> f64 {
    while_true(|x| (decay(order, x) - (-x).exp()).abs() <= tolerance)
}

fn build(setup: &Setup<'_>) -> Result<Box<dyn Integrator>, Refusal> {
    let n = setup.system.shape().n;
    let order = order_for(setup.options.rtol) as usize;
    setup.system.prepare_series(order).map_err(|reason| Refusal::Unsuitable {
        method: METHOD.name.to_string(),
        reason,
        instead: "vern7 or dop853".to_string(),
    })?;
    let length = n * order;
    Ok(Box::new(Taylor {
        order,
        fixed: setup.options.fixed,
        tolerances: Tolerances::new(setup.options, n),
        t: 0.0,
        y: vec![0.0; n],
        c: vec![0.0; length],
        y1: vec![0.0; n],
        c1: vec![0.0; length],
        defect: vec![0.0; n],
        start_t: 0.0,
        start: vec![0.0; n],
        start_c: vec![0.0; length],
        powers: vec![0.0; order],
    }))
}

/// The series at the end of the last step, and the one that step was made by.
struct Taylor {
    order: usize,
    fixed: bool,
    tolerances: Tolerances,
    t: f64,
    y: Vec<f64>,
    /// Coefficients of h^1, h^2, ... at (t, y), n each.
    c: Vec<f64>,
    y1: Vec<f64>,
    c1: Vec<f64>,
    defect: Vec<f64>,
    start_t: f64,
    start: Vec<f64>,
    start_c: Vec<f64>,
    /// Of the step.
    powers: Vec<f64>,
}

/// Terms summed side by side, so that none waits for another.
const WIDTH: usize = 4;

/// h, h^2, h^3, ...
fn powers(h: f64, powers: &mut [f64]) {
    let square = h * h;
    for k in 0..powers.len() {
        powers[k] = match k {
            0 => h,
            1 => square,
            _ => powers[k - 2] * square,
        };
    }
}

/// y + c_1 h + ... + c_p h^p from the given powers of h, the smallest terms first, and h times its derivative.
fn sum(y: &[f64], c: &[f64], powers: &[f64], out: &mut [f64], slope: Option<&mut [f64]>) {
    fn some<const W: usize>(c: &[f64], n: usize, i: usize, powers: &[f64]) -> ([f64; W], [f64; W]) {
        let (mut sum, mut slope) = ([0.0; W], [0.0; W]);
        for (k, &power) in powers.iter().enumerate().rev() {
            let (row, order) = (&c[k * n + i..][..W], (k + 1) as f64);
            for l in 0..W {
                let term = row[l] * power;
                sum[l] += term;
                slope[l] += order * term;
            }
        }
        (sum, slope)
    }
    let n = y.len();
    let mut nowhere = [];
    let slopes = slope.unwrap_or(&mut nowhere);
    let mut put = |i: usize, sums: &[f64], rates: &[f64]| {
        for (l, sum) in sums.iter().enumerate() {
            out[i + l] = y[i + l] + sum;
        }
        if let Some(slopes) = slopes.get_mut(i..i + rates.len()) {
            slopes.copy_from_slice(rates);
        }
    };
    let whole = n - n % WIDTH;
    for i in (0..whole).step_by(WIDTH) {
        let (sums, rates) = some::<WIDTH>(c, n, i, powers);
        put(i, &sums, &rates);
    }
    for i in whole..n {
        let (sums, rates) = some::<1>(c, n, i, powers);
        put(i, &sums, &rates);
    }
}

impl Taylor {
    /// The step that the last two coefficients of the series at hand allow.
    fn radius(&self) -> f64 {
        let n = self.y.len();
        // size_k^(-1/k), by logarithms: one power instead of two
        let rate = |k: usize| self.tolerances.norm(&self.c[(k - 1) * n..k * n], &self.y, &self.y).ln() / k as f64;
        SAFETY * (-rate(self.order).max(rate(self.order - 1))).exp()
    }

    fn step(&mut self, eval: &mut Evaluator<'_>, h: f64, t_new: f64) -> Result<f64, Cause> {
        powers(h, &mut self.powers);
        sum(&self.y, &self.c, &self.powers, &mut self.y1, Some(&mut self.defect));
        if !all_finite(&self.y1) {
            let row = self.y1.iter().position(|y| !y.is_finite()).unwrap_or(0);
            return Err(Cause::NonFiniteState { row });
        }
        eval.series(t_new, &self.y1, self.order, &mut self.c1)?;
        if self.fixed {
            return Ok(0.0);
        }
        // h (p'(h) - f(t1, y1)), without a further evaluation: f is the first coefficient of the next series
        for (defect, f) in self.defect.iter_mut().zip(&self.c1) {
            *defect -= h * f;
        }
        Ok(self.tolerances.norm(&self.defect, &self.y, &self.y1) / DEFECT)
    }
}

impl Integrator for Taylor {
    fn dimension(&self) -> usize {
        self.y.len()
    }

    fn time(&self) -> f64 {
        self.t
    }

    fn state(&self) -> &[f64] {
        &self.y
    }

    fn set(&mut self, eval: &mut Evaluator<'_>, t: f64, y: &[f64]) -> Result<(), Cause> {
        self.t = t;
        self.y.copy_from_slice(y);
        eval.series(t, y, self.order, &mut self.c)
    }

    fn order(&self) -> u32 {
        self.order as u32
    }

    fn attempt(&mut self, eval: &mut Evaluator<'_>, h: f64, t_new: f64) -> Attempt {
        let error = match self.step(eval, h, t_new) {
            Err(cause) => return Attempt::Failed { cause, next: RETREAT * h },
            Ok(error) => error,
        };
        if error > 1.0 {
            let row = self.tolerances.worst(&self.defect, &self.y, &self.y1);
            return Attempt::Rejected { next: RETREAT * h, error, row };
        }
        self.start_t = self.t;
        std::mem::swap(&mut self.start, &mut self.y);
        std::mem::swap(&mut self.start_c, &mut self.c);
        std::mem::swap(&mut self.y, &mut self.y1);
        std::mem::swap(&mut self.c, &mut self.c1);
        self.t = t_new;
        let next = if self.fixed { h } else { h.signum() * self.radius().min(GROWTH * h.abs()) };
        Attempt::Accepted { next }
    }

    /// The ratio of the last two terms of the step: p h^p c_p / (h^(p-1) c_(p-1)) is h lambda where one component rules them, as the fastest
    /// does once it has died away to rounding.
    fn strain(&mut self) -> Option<(f64, f64)> {
        let (n, p) = (self.y.len(), self.order);
        let h = self.t - self.start_t;
        let (last, before) = (&self.start_c[(p - 1) * n..p * n], &self.start_c[(p - 2) * n..(p - 1) * n]);
        let (mut own, mut other, mut along) = (0.0, 0.0, 0.0);
        for i in 0..n {
            let weight = 1.0 / self.tolerances.scale(i, self.y[i].abs());
            let (a, b) = (last[i] * weight, before[i] * weight);
            own += a * a;
            other += b * b;
            along += a * b;
        }
        let factor = p as f64 * h;
        (other > 0.0).then(|| (factor.abs() * (own / other).sqrt(), factor * along / other))
    }

    fn interpolate(&self, t: f64, y: &mut [f64]) {
        let h = t - self.start_t;
        let mut room = [0.0; MAX_ORDER as usize];
        let room = &mut room[..self.order];
        powers(h, room);
        sum(&self.start, &self.start_c, room, y, None);
    }
}
