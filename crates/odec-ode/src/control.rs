//! Error control: weighted norms, step-size controllers as constants, the choice of the first step.

use crate::evaluator::Evaluator;
use crate::linear::MassMatrix;
use crate::problem::{Cause, Options};
use crate::roots::{exp2, inverse_power, log2};
use crate::system::Mass;

/// Smallest relative tolerance after [`Tolerances::tighten`]: the rounding error of a step is some units of 2e-16.
const LEAST_RTOL: f64 = 1e-13;

/// Per-state tolerances; the weight of state i is 1 / (atol_i + rtol * |y_i|).
#[derive(Clone, Debug)]
pub struct Tolerances {
    /// Relative.
    pub rtol: f64,
    /// Absolute, n values.
    pub atol: Vec<f64>,
    /// The requested tolerances; the fraction in use applies to them.
    whole: (f64, Vec<f64>),
    part: f64,
}

/// A weighted root mean square norm with the row that contributes most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Norm {
    /// The norm; 1 is the tolerance. Infinite if a value is not finite.
    pub value: f64,
    /// Row of the largest term.
    pub row: usize,
}

impl Tolerances {
    /// The tolerances of a run; a single absolute tolerance applies to all states.
    pub fn new(options: &Options, n: usize) -> Self {
        let atol = match options.atol.as_slice() {
            [one] => vec![*one; n],
            many => many.to_vec(),
        };
        Tolerances { rtol: options.rtol, whole: (options.rtol, atol.clone()), atol, part: 1.0 }
    }

    /// Uses a fraction of the requested tolerances. The fraction is a power of two at most 1, so that nothing is
    /// rounded, and 1 restores the bits. The relative tolerance does not fall below what rounding allows.
    pub fn tighten(&mut self, part: f64) {
        let asked = self.whole.0;
        self.rtol = (asked * part).max(LEAST_RTOL.min(asked));
        self.part = part;
        self.hold();
    }

    /// Changes the requested absolute tolerances; the fraction in use stays the same.
    pub fn set_atol(&mut self, atol: &[f64]) {
        self.whole.1.copy_from_slice(atol);
        self.hold();
    }

    fn hold(&mut self) {
        for (atol, asked) in self.atol.iter_mut().zip(&self.whole.1) {
            *atol = asked * self.part;
        }
    }

    /// [`Tolerances::scale`] for the requested tolerances.
    pub fn asked(&self, i: usize, y: f64) -> f64 {
        (self.whole.1[i] + self.whole.0 * y).max(f64::MIN_POSITIVE)
    }

    /// The requested relative tolerance.
    pub fn asked_rtol(&self) -> f64 {
        self.whole.0
    }

    /// The fraction in use.
    pub fn part(&self) -> f64 {
        self.part
    }

    /// Allowed error of state i at magnitude `y`; never zero, so that an exact zero error passes.
    #[inline]
    pub fn scale(&self, i: usize, y: f64) -> f64 {
        (self.atol[i] + self.rtol * y).max(f64::MIN_POSITIVE)
    }

    /// Weights 1/scale at `y` into `weights`.
    pub fn weights(&self, y: &[f64], weights: &mut [f64]) {
        for ((w, y), atol) in weights.iter_mut().zip(y).zip(&self.atol) {
            *w = 1.0 / (atol + self.rtol * y.abs()).max(f64::MIN_POSITIVE);
        }
    }

    /// sqrt(mean((e_i / scale_i)^2)), the scale at the larger of |a_i| and |b_i| (the two ends of the step).
    pub fn norm(&self, e: &[f64], a: &[f64], b: &[f64]) -> f64 {
        root_mean_of(self.squares(e, a, b), e.len())
    }

    /// The square of [`Tolerances::norm`] up to rounding, without a root.
    pub(crate) fn mean_square(&self, e: &[f64], a: &[f64], b: &[f64]) -> f64 {
        mean_of(self.squares(e, a, b), e.len())
    }

    /// Sums of (e_i / scale_i)^2 over every fourth i.
    fn squares(&self, e: &[f64], a: &[f64], b: &[f64]) -> [f64; 4] {
        let n = e.len();
        let (a, b, atol) = (&a[..n], &b[..n], &self.atol[..n]);
        let square = |e: f64, a: f64, b: f64, atol: f64| {
            let q = e / (atol + self.rtol * a.abs().max(b.abs())).max(f64::MIN_POSITIVE);
            q * q
        };
        let mut sums = [0.0; 4];
        let ((e4, e), (a4, a), (b4, b), (t4, t)) =
            (e.as_chunks::<4>(), a.as_chunks::<4>(), b.as_chunks::<4>(), atol.as_chunks::<4>());
        for (((e, a), b), t) in e4.iter().zip(a4).zip(b4).zip(t4) {
            for l in 0..4 {
                sums[l] += square(e[l], a[l], b[l], t[l]);
            }
        }
        for l in 0..e.len() {
            sums[l] += square(e[l], a[l], b[l], t[l]);
        }
        sums
    }

    /// Row with the largest weighted error, for reports (a second pass, only after a rejection).
    pub fn worst(&self, e: &[f64], a: &[f64], b: &[f64]) -> usize {
        worst(e.len(), |i| (e[i] / self.scale(i, a[i].abs().max(b[i].abs()))).abs())
    }
}

/// max |w_i e_i|; NaN if one of them is.
pub fn weighted_maximum(e: &[f64], weights: &[f64]) -> f64 {
    let sizes = e.iter().zip(weights).map(|(e, w)| (e * w).abs());
    sizes.fold(0.0, |most, size| if size > most || size.is_nan() { size } else { most })
}

/// sqrt(mean((w_i e_i)^2)).
pub fn weighted_norm(e: &[f64], weights: &[f64]) -> f64 {
    let n = e.len();
    let mut sums = [0.0; 4];
    let ((e4, e), (w4, w)) = (e.as_chunks::<4>(), weights[..n].as_chunks::<4>());
    for (e, w) in e4.iter().zip(w4) {
        for l in 0..4 {
            let q = e[l] * w[l];
            sums[l] += q * q;
        }
    }
    for (l, (e, w)) in e.iter().zip(w).enumerate() {
        let q = e * w;
        sums[l] += q * q;
    }
    root_mean_of(sums, n)
}

/// The weighted norm of a correction to y, for the weights at y if they are smaller than `weights`. A state that begins
/// at 0 has a weight there that counts neither its later size nor its rounding, and its square may overflow.
#[cold]
pub fn norm_at_iterate(e: &[f64], y: &[f64], weights: &[f64], rtol: f64) -> f64 {
    let scaled = e.iter().zip(y).zip(weights).map(|((e, y), w)| e / (1.0 / w + rtol * y.abs()));
    root_mean(scaled.map(|q| q * q).sum(), e.len())
}

/// Row with the largest |w_i e_i|.
pub fn weighted_worst(e: &[f64], weights: &[f64]) -> usize {
    worst(e.len(), |i| (e[i] * weights[i]).abs())
}

/// Like [`root_mean`], for a sum in four parts, which let its loop vectorise.
pub(crate) fn root_mean_of(sums: [f64; 4], n: usize) -> f64 {
    root_mean((sums[0] + sums[2]) + (sums[1] + sums[3]), n)
}

/// The mean of `n` terms from their sum in four parts; infinite if it is NaN.
pub(crate) fn mean_of(sums: [f64; 4], n: usize) -> f64 {
    let mean = ((sums[0] + sums[2]) + (sums[1] + sums[3])) * (1.0 / n.max(1) as f64);
    if mean.is_nan() { f64::INFINITY } else { mean }
}

/// sqrt(sum / n) of a sum of squares; infinite if the sum is NaN.
pub fn root_mean(sum: f64, n: usize) -> f64 {
    if sum.is_nan() { f64::INFINITY } else { (sum / n.max(1) as f64).sqrt() }
}

fn worst(n: usize, term: impl Fn(usize) -> f64) -> usize {
    let mut best = (0, -1.0);
    for i in 0..n {
        let q = term(i);
        if q.is_nan() {
            return i;
        }
        if q > best.1 {
            best = (i, q);
        }
    }
    best.0
}

/// How errors determine the next step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Law {
    /// h * (1/err)^(1/(p+1)).
    Standard,
    /// h * (1/err)^(1/(p+1) - 0.75 beta) * err_old^beta (Gustafsson 1991; Hairer & Wanner II, IV.2).
    Pi {
        /// Weight of the previous error.
        beta: f64,
    },
    /// A digital filter (Soederlind, Digital filters in adaptive time-stepping, ACM Trans. Math. Softw. 29 (2003),
    /// eq. (31)): h * (1/err)^(beta_1/(p+1)) (1/err_1)^(beta_2/(p+1)) (1/err_2)^(beta_3/(p+1)) (h/h_1)^-alpha_2
    /// (h_1/h_2)^-alpha_3, where indices 1 and 2 stand for the last two accepted steps. Until these exist, the
    /// standard law.
    Filter {
        /// Exponents of the errors, newest first.
        beta: [f64; 3],
        /// Exponents of the ratios of steps, newest first.
        alpha: [f64; 2],
    },
    /// The predictive controller of Gustafsson 1994 (Hairer & Wanner II, IV.8, eq. 8.25), limited by the standard law.
    Predictive,
}

/// A controller: law and bounds on the ratio of successive steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Controller {
    /// Law.
    pub law: Law,
    /// Factor on the ideal step.
    pub safety: f64,
    /// Smallest ratio.
    pub shrink: f64,
    /// Largest ratio.
    pub grow: f64,
}

/// Hairer, Nørsett & Wanner I, II.4, as in DOPRI5.
pub const PI_EXPLICIT: Controller = Controller { law: Law::Pi { beta: 0.04 }, safety: 0.9, shrink: 0.2, grow: 10.0 };
/// As in RODAS.
pub const PREDICTIVE: Controller = Controller { law: Law::Predictive, safety: 0.9, shrink: 0.2, grow: 6.0 };
/// h * (eps/e)^(1/(p+1)), for step doubling.
pub const STANDARD: Controller = Controller { law: Law::Standard, safety: 0.9, shrink: 0.2, grow: 5.0 };
/// The elementary controller with the bounds of DOP853 (whose beta is 0).
pub const DOP853: Controller = Controller { law: Law::Standard, safety: 0.9, shrink: 1.0 / 3.0, grow: 6.0 };

const fn filter(beta: [f64; 3], alpha: [f64; 2]) -> Controller {
    Controller { law: Law::Filter { beta, alpha }, safety: 0.9, shrink: 0.2, grow: 5.0 }
}

/// PI.4.2 (Soederlind 2003, section 7 and table III): beta = (3/5, -1/5). Smoother than the elementary one at limits of stability.
pub const PI42: Controller = filter([3.0 / 5.0, -1.0 / 5.0, 0.0], [0.0, 0.0]);
/// H211b with b = 4 (Soederlind 2003, table III): beta = (1/4, 1/4), alpha_2 = 1/4. For smooth and moderately rough problems.
pub const H211B: Controller = filter([0.25, 0.25, 0.0], [0.25, 0.0]);

/// Ratio after an attempt that gave no error estimate.
pub const FAILED_RATIO: f64 = 0.25;

/// Smallest error that enters the laws, and its base-2 logarithm.
const LEAST_ERROR: f64 = 1e-10;
const LOG_LEAST: f64 = -10.0 * std::f64::consts::LOG2_10;
const LOG_REMEMBERED: f64 = -4.0 * std::f64::consts::LOG2_10;
/// Smallest error that the predictive law stores.
const LEAST_PREDICTED: f64 = 1e-2;

/// A controller with its memory.
#[derive(Clone, Debug)]
pub struct Control {
    controller: Controller,
    exponent: f64,
    /// Base-2 logarithm of the error of the last step, and of the previous one, for laws that use powers of several
    /// errors: each step then needs only one logarithm and one exponential.
    last_log: f64,
    older_log: f64,
    /// The error of the last step to the power of the exponent, for the predictive law.
    last_root: f64,
    last_step: f64,
    /// Length of the step before the last, for filters.
    older_step: f64,
    rejected: bool,
}

impl Control {
    /// A controller for an error estimate of order h^(order+1).
    pub fn new(controller: Controller, order: u32) -> Self {
        Control {
            controller,
            exponent: 1.0 / (f64::from(order) + 1.0),
            last_log: LOG_REMEMBERED,
            older_log: LOG_REMEMBERED,
            last_root: 1.0,
            last_step: 0.0,
            older_step: 0.0,
            rejected: false,
        }
    }

    /// Discards the memory of earlier steps.
    pub fn reset(&mut self) {
        (self.last_step, self.older_step, self.rejected) = (0.0, 0.0, false);
        (self.last_log, self.older_log) = (LOG_REMEMBERED, LOG_REMEMBERED);
    }

    /// True if the last attempt was not accepted.
    pub fn rejected(&self) -> bool {
        self.rejected
    }

    /// The next step after an accepted step `h` with error `err`.
    pub fn accept(&mut self, h: f64, err: f64) -> f64 {
        self.accepted(h, err, log2)
    }

    /// Like [`Control::accept`], from the square of the error.
    pub fn accept_square(&mut self, h: f64, square: f64) -> f64 {
        match self.controller.law {
            Law::Pi { .. } | Law::Filter { .. } => self.accepted(h, square, |square| 0.5 * log2(square)),
            Law::Standard | Law::Predictive => self.accept(h, square.sqrt()),
        }
    }

    /// `measure` is the error or its square; `log` computes the logarithm of the error from it.
    fn accepted(&mut self, h: f64, measure: f64, log: impl Fn(f64) -> f64) -> f64 {
        let c = self.controller;
        let known = match c.law {
            Law::Filter { beta, alpha } if beta[2] == 0.0 && alpha[1] == 0.0 => self.last_step != 0.0,
            Law::Filter { .. } => self.older_step != 0.0,
            Law::Pi { .. } | Law::Standard | Law::Predictive => true,
        };
        let mut ratio = match c.law {
            Law::Standard | Law::Predictive => self.by_power(h, measure.max(LEAST_ERROR)),
            Law::Pi { beta } => {
                let log = log(measure).max(LOG_LEAST);
                let ratio = c.safety * exp2((0.75 * beta - self.exponent) * log + beta * self.last_log);
                self.last_log = log.max(LOG_REMEMBERED);
                ratio
            }
            Law::Filter { beta, alpha } => {
                let log = log(measure).max(LOG_LEAST);
                let errors = [log.max(LOG_REMEMBERED), self.last_log, self.older_log];
                let mut sum = -self.exponent * log;
                if known {
                    sum = 0.0;
                    for (error, beta) in errors.iter().zip(beta) {
                        sum -= beta * self.exponent * error;
                    }
                    for (ratio, alpha) in [h / self.last_step, self.last_step / self.older_step].into_iter().zip(alpha)
                    {
                        if alpha != 0.0 {
                            sum -= alpha * log2(ratio);
                        }
                    }
                }
                (self.older_log, self.last_log) = (self.last_log, errors[0]);
                c.safety * exp2(sum)
            }
        };
        ratio = ratio.clamp(c.shrink, c.grow);
        if self.rejected {
            ratio = ratio.min(1.0);
        }
        (self.older_step, self.last_step) = (self.last_step, h);
        self.rejected = false;
        h * ratio
    }

    /// The ratio for laws that use a single power of the error.
    fn by_power(&mut self, h: f64, err: f64) -> f64 {
        let c = &self.controller;
        let power = inverse_power(err, self.exponent);
        let standard = c.safety * power;
        if c.law != Law::Predictive {
            return standard;
        }
        // (h/h_1) (err_1/err^2)^(1/(p+1))
        let gain = ((h / self.last_step) * self.last_root) * (power * power);
        let ratio = if self.last_step == 0.0 { standard } else { standard.min(c.safety * gain) };
        // no later operation of this step depends on this value
        self.last_root =
            1.0 / if err > LEAST_PREDICTED { power } else { inverse_power(LEAST_PREDICTED, self.exponent) };
        ratio
    }

    /// The step to try after the error test failed.
    pub fn reject(&mut self, h: f64, err: f64) -> f64 {
        self.rejected = true;
        let c = &self.controller;
        let ratio = c.safety * inverse_power(err, self.exponent);
        h * if ratio.is_finite() { ratio.clamp(c.shrink, 0.95) } else { c.shrink }
    }

    /// The step to try after an attempt without an error estimate.
    pub fn fail(&mut self, h: f64) -> f64 {
        self.rejected = true;
        h * FAILED_RATIO
    }
}

/// Working memory for the choice of the first step.
pub struct FirstStepMemory {
    slope: Vec<f64>,
    other: Vec<f64>,
    probe: Vec<f64>,
    /// Length of the step to the probe, or 0 without a probe; the difference of f over it is in `other`.
    probed: f64,
    /// The state before a change.
    pub before: Vec<f64>,
}

impl FirstStepMemory {
    /// For n unknowns.
    pub fn new(n: usize) -> Self {
        FirstStepMemory {
            slope: vec![0.0; n],
            other: vec![0.0; n],
            probe: vec![0.0; n],
            probed: 0.0,
            before: Vec::with_capacity(n),
        }
    }

    /// True if the last choice could evaluate f beside the start.
    pub fn is_probed(&self) -> bool {
        self.probed > 0.0
    }

    /// The rate at which f changes along the solution from `y`, where the last choice was made, in tolerances.
    pub fn turning(&self, tolerances: &Tolerances, y: &[f64]) -> f64 {
        tolerances.norm(&self.other, y, y) / self.probed
    }
}

/// Lower limit on the first step, in units of the spacing of doubles at t0: a shorter step rounds to zero, or
/// collapses after a few reductions. If t0 is a date, no tolerance calls for less, since f cannot be resolved between
/// such times.
const LEAST_SPACINGS: f64 = 1e3;

/// Size of the first step: Hairer, Nørsett & Wanner I, II.4, algorithm "starting step size", made independent of the
/// unit of time: its `1e-6` and `1e-5` are relative to the span. With a mass matrix, f_i / M_ii approximates the
/// derivative of state i, and states without a diagonal entry are left out: the result is a guess.
pub fn first_step(
    eval: &mut Evaluator<'_>,
    tolerances: &Tolerances,
    (t0, t_end): (f64, f64),
    y0: &[f64],
    order: u32,
    room: &mut FirstStepMemory,
) -> Result<f64, Cause> {
    let n = y0.len();
    let span = t_end - t0;
    let diagonal = mass_diagonal(eval, t0, y0)?;
    let FirstStepMemory { slope, other, probe, probed, .. } = room;
    *probed = 0.0;
    eval.rhs(t0, y0, slope)?;
    scale_rows(slope, diagonal.as_deref());
    let d0 = tolerances.norm(y0, y0, y0);
    let d1 = tolerances.norm(slope, y0, y0);
    let careful = 1e-6 * span.abs();
    // The step changes the state by a hundredth, or by a hundredth of the tolerance if the state is smaller.
    let mut h0 = if d1 * span.abs() < 1e-5 { careful } else { 0.01 * (d0.max(1.0) / d1) };
    if !(h0 > 0.0) {
        h0 = careful;
    }
    let least = LEAST_SPACINGS * (t0.abs().next_up() - t0.abs());
    h0 = h0.max(least).min(span.abs());
    for i in 0..n {
        probe[i] = y0[i] + h0.copysign(span) * slope[i];
    }
    // The probe may leave the domain: then keep the careful step.
    if eval.rhs(t0 + h0.copysign(span), probe, other).is_err() {
        return Ok((h0 * 1e-2).max(least).min(span.abs()));
    }
    scale_rows(other, diagonal.as_deref());
    for i in 0..n {
        other[i] -= slope[i];
    }
    *probed = h0;
    let d2 = tolerances.norm(other, y0, y0) / h0;
    let p = f64::from(order);
    let h1 = if d1 > 0.0 && d2 > 0.0 {
        // Choose h so that h^(p+1) times a derivative of order p+1 (guessed as d1/tau^p, tau = d1/d2) is 1/100 of the
        // tolerance.
        let tau = d1 / d2;
        tau * (0.01 / (d1 * tau)).powf(1.0 / (p + 1.0))
    } else if d2 > 0.0 {
        (0.01 / d2).sqrt()
    } else {
        careful
    };
    // The lower bound on the guess guards against zero after an overflow in a norm.
    Ok((100.0 * h0).min(h1.max(1e-8 * h0)).max(least).min(span.abs()))
}

fn scale_rows(slope: &mut [f64], diagonal: Option<&[f64]>) {
    for (s, d) in slope.iter_mut().zip(diagonal.unwrap_or_default()) {
        *s *= d;
    }
}

/// 1 / M_ii, or zero if M_ii is zero; `None` if M = I.
fn mass_diagonal(eval: &mut Evaluator<'_>, t: f64, y: &[f64]) -> Result<Option<Vec<f64>>, Cause> {
    if let Mass::Identity = eval.mass() {
        return Ok(None);
    }
    let mut mass = MassMatrix::of(eval.mass());
    mass.update(eval, t, y)?;
    Ok(mass.assembled().map(|m| m.diagonal().map(|m| if m == 0.0 { 0.0 } else { 1.0 / m }).collect()))
}

#[cfg(test)]
mod tests {
    use super::Tolerances;
    use crate::problem::Options;

    #[test]
    fn requested_tolerances_return_after_a_fraction() {
        let options = Options { rtol: 1e-6, atol: vec![1e-9, 3e-7], ..Options::default() };
        let mut tolerances = Tolerances::new(&options, 2);
        tolerances.tighten(0.25);
        assert_eq!((tolerances.rtol, &tolerances.atol[..]), (0.25e-6, &[0.25e-9, 0.75e-7][..]));
        // new tolerances while a fraction is in use
        tolerances.set_atol(&[1e-12, 3e-7]);
        assert_eq!(tolerances.atol, [0.25e-12, 0.75e-7]);
        assert_eq!((tolerances.asked(0, 0.0), tolerances.asked(1, 1.0)), (1e-12, 3e-7 + 1e-6));
        tolerances.tighten(2f64.powi(-40));
        tolerances.set_atol(&[1e-9, 3e-7]);
        tolerances.tighten(1.0);
        assert_eq!((tolerances.rtol, &tolerances.atol[..]), (1e-6, &[1e-9, 3e-7][..]));
    }
}
