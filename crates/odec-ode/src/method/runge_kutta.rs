//! Explicit Runge-Kutta: one driver for every tableau, with or without embedded estimate.

mod evidence;
mod places;

use std::cell::OnceCell;
use std::sync::Arc;

use self::places::{Places, Powers};
use crate::control::{Control, Controller, Tolerances};
use crate::evaluator::{Evaluator, all_finite};
use crate::fused;
use crate::integrator::{Attempt, Integrator};
use crate::interpolant::Segment;
use crate::linear::Rates;
use crate::method::continuous::{DenseTable, HERMITE, MAX_DEGREE, hermite_weight};
use crate::method::one_step::{self, DenseOutput, Formula, StepStart};
use crate::method::{Family, Setup, passes};
use crate::problem::{Cause, Refusal};
use crate::simd::vectorised;
use crate::step::{self, FusedStep};
use crate::system::System;

/// Coefficients of an explicit Runge-Kutta method, as in the papers.
#[derive(Debug)]
pub struct ExplicitTableau {
    /// Nodes c_i.
    pub c: &'static [f64],
    /// Rows a_i1 .. a_i(i-1).
    pub a: &'static [&'static [f64]],
    /// Weights b_i.
    pub b: &'static [f64],
    /// Embedded weights and their order.
    pub embedded: Option<(&'static [f64], u32)>,
    /// Second embedded weights and their order. With e and e2 the norms of both estimates the error is
    /// e^2 / sqrt(e^2 + 0.01 e2^2), of order 2p - p2: DOP853, Hairer, Nørsett & Wanner I, II.10, eq. (10.17).
    pub second: Option<(&'static [f64], u32)>,
    /// The step-size controller.
    pub controller: Controller,
    /// Dense output of the method; without it, cubic Hermite.
    pub dense: Option<&'static DenseTable>,
    /// First same as last: the last stage is f at the end of the step.
    pub fsal: bool,
}

impl ExplicitTableau {
    /// Index of the stage that is f at the end of the step: the last one, or one after it.
    pub fn end_stage(&self) -> usize {
        if self.fsal { self.b.len() - 1 } else { self.b.len() }
    }
}

/// Bound on the search for limits on the real axis, and its step.
const LONGEST: f64 = 20.0;
const FINE: f64 = 0.01;

impl ExplicitTableau {
    /// The coefficients of R(-x), the factor of a step on y' = -y with h = x: 1, -b 1, b A 1, -b A^2 1, ...
    fn decay(&self) -> Vec<f64> {
        let s = self.b.len();
        let (mut v, mut next) = (vec![-1.0; s], vec![0.0; s]);
        let mut coefficients = vec![1.0];
        for _ in 0..s {
            coefficients.push(self.b.iter().zip(&v).map(|(b, v)| b * v).sum());
            for i in 0..s {
                next[i] = -self.a[i].iter().zip(&v).map(|(a, v)| a * v).sum::<f64>();
            }
            std::mem::swap(&mut v, &mut next);
        }
        coefficients
    }

    /// Largest x for which steps with h*lambda <= x on y' = -lambda y are stable: |R(-x)| <= 1.
    pub fn real_limit(&self) -> f64 {
        let decay = self.decay();
        while_true(|x| horner(&decay, x).abs() <= 1.0)
    }

    /// Largest x for which a step with h*lambda = x on y' = -lambda y has an error of at most `tolerance` times y.
    pub fn real_accuracy(&self, tolerance: f64) -> f64 {
        let decay = self.decay();
        while_true(|x| (horner(&decay, x) - (-x).exp()).abs() <= tolerance)
    }

    /// The last other stage whose time is the end of the step.
    fn end_stage_before(&self) -> Option<usize> {
        (0..self.end_stage()).rev().find(|i| *i > 0 && self.c[*i] == 1.0)
    }
}

/// The value of a polynomial, lowest power first.
fn horner(coefficients: &[f64], x: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, c| sum * x + c)
}

/// The largest x up to which a condition holds.
pub(super) fn while_true(holds: impl Fn(f64) -> bool) -> f64 {
    let mut x = FINE;
    while x < LONGEST && holds(x) {
        x += FINE;
    }
    x - FINE
}

/// Number of steps on vectors after which a fused step is requested again.
const ASK: u32 = 100;

/// Builds the integrator of a tableau.
pub fn build(setup: &Setup<'_>) -> Result<Box<dyn Integrator>, Refusal> {
    let Family::RungeKutta(tableau) = setup.method.family else {
        return Err(Refusal::UnknownMethod(setup.method.name.to_string()));
    };
    match tableau.embedded {
        Some(embedded) => Ok(Box::new(Embedded::new(setup, tableau, embedded)?)),
        None => one_step::integrator(setup, || formula(setup, tableau)),
    }
}

/// The formula of a tableau, for the first steps of other methods.
pub fn formula(setup: &Setup<'_>, tableau: &'static ExplicitTableau) -> Result<Box<dyn Formula>, Refusal> {
    let k = vec![0.0; setup.system.shape().n * tableau.b.len()];
    Ok(Box::new(WithoutEstimate { stages: Stages::new(setup, tableau)?, k }))
}

/// The stages of one step. The slopes k_1, k_2, ... are consecutive.
struct Stages {
    tableau: &'static ExplicitTableau,
    rows: Vec<Vec<(usize, f64)>>,
    weights: Vec<(usize, f64)>,
    /// The state of a stage.
    y: Vec<f64>,
    rates: Rates,
}

impl Stages {
    fn new(setup: &Setup<'_>, tableau: &'static ExplicitTableau) -> Result<Self, Refusal> {
        Ok(Stages {
            tableau,
            rows: tableau.a.iter().map(|row| fused::terms(row)).collect(),
            weights: fused::terms(tableau.b),
            y: vec![0.0; setup.system.shape().n],
            rates: Rates::new(setup.system, setup.method.name)?,
        })
    }

    /// Computes all stages from (t, y), whose slope is in k_1, and the state at the end of the step.
    ///
    /// Values that are not finite are detected once, after the last stage. If there is one, the stages are computed
    /// again with a check after each, so that messages and counts refer to the first stage with such a value.
    fn run(
        &mut self,
        eval: &mut Evaluator<'_>,
        k: &mut [f64],
        (t, y): (f64, &[f64]),
        (h, t_new): (f64, f64),
        y1: &mut [f64],
    ) -> Result<(), Cause> {
        let n = y.len();
        let count = self.rows.len() - usize::from(self.tableau.fsal);
        let identity = self.rates.is_identity();
        if identity {
            let before = eval.stats.rhs;
            let mut there = true;
            for i in 1..count {
                passes::advance(&mut self.y, y, k, h, &self.rows[i]);
                let t = self.time(i, t, h, t_new);
                there &= eval.rhs_unchecked(t, &self.y, &mut k[i * n..(i + 1) * n]);
            }
            passes::combine(y1, y, k, h, &self.weights);
            if self.tableau.fsal {
                there &= eval.rhs_unchecked(t_new, y1, &mut k[count * n..(count + 1) * n]);
            }
            if there && all_finite(&k[n..self.rows.len() * n]) {
                return Ok(());
            }
            eval.stats.rhs = before;
        }
        for i in 1..count {
            passes::advance(&mut self.y, y, k, h, &self.rows[i]);
            let t = self.time(i, t, h, t_new);
            slope(&mut self.rates, eval, (t, &self.y), &mut k[i * n..(i + 1) * n])?;
        }
        passes::combine(y1, y, k, h, &self.weights);
        if self.tableau.fsal {
            slope(&mut self.rates, eval, (t_new, y1), &mut k[count * n..(count + 1) * n])?;
        }
        Ok(())
    }

    /// The time of a stage; for the end of the step, the exact time that the caller gives.
    fn time(&self, i: usize, t: f64, h: f64, t_new: f64) -> f64 {
        if self.tableau.c[i] == 1.0 { t_new } else { t + self.tableau.c[i] * h }
    }
}

/// Computes y' at (t, y) in `k`.
fn slope(rates: &mut Rates, eval: &mut Evaluator<'_>, (t, y): (f64, &[f64]), k: &mut [f64]) -> Result<(), Cause> {
    eval.rhs(t, y, k)?;
    rates.solve(eval, t, y, k)
}

/// A method without error estimate.
struct WithoutEstimate {
    stages: Stages,
    k: Vec<f64>,
}

impl Formula for WithoutEstimate {
    fn step(
        &mut self,
        eval: &mut Evaluator<'_>,
        from: StepStart<'_>,
        h: f64,
        t_new: f64,
        y1: &mut [f64],
    ) -> Result<(), Cause> {
        self.k[..from.slope.len()].copy_from_slice(from.slope);
        self.stages.run(eval, &mut self.k, (from.t, from.y), (h, t_new), y1)
    }

    fn slope(&mut self, eval: &mut Evaluator<'_>, t: f64, y: &[f64], slope: &mut [f64]) -> Result<(), Cause> {
        self::slope(&mut self.stages.rates, eval, (t, y), slope)
    }

    fn is_bounded(&self) -> bool {
        true
    }

    fn dense(&self) -> DenseOutput {
        DenseOutput::Hermite
    }
}

/// An embedded pair; its dense output is the table's own or cubic Hermite.
struct Embedded {
    stages: Stages,
    /// The fused step and its arguments: h, the time at the end, tolerances. It may become available after some steps
    /// without it.
    whole: Option<Arc<dyn FusedStep>>,
    given: Vec<f64>,
    suits: bool,
    without: u32,
    fixed: bool,
    order: u32,
    error_terms: Vec<(usize, f64)>,
    second_terms: Vec<(usize, f64)>,
    dense: &'static DenseTable,
    /// The cubic and the dense output in powers of s, for each slope: computed on first use.
    dense_powers: [OnceCell<Vec<[f64; MAX_DEGREE + 1]>>; 2],
    /// Rows of the additional stages for dense output.
    dense_rows: Vec<Vec<(usize, f64)>>,
    /// Coefficients over the slopes, by their rank, of (dense output minus the state of the last additional stage)/h at
    /// the time of that stage.
    dense_gap: Option<Vec<(usize, f64)>>,
    /// True if a state inside the next step is needed.
    inside: bool,
    /// The other stage at the end of the step, and the coefficients over the slopes of (y1 minus its state)/h.
    end_stage_before: Option<(usize, Vec<(usize, f64)>)>,
    tolerances: Tolerances,
    control: Control,
    /// The controller before the last step.
    earlier: Control,
    t: f64,
    places: Places,
    /// The last step, which ends at t, and the attempted one. If that is accepted, they are exchanged, so that the
    /// second one holds the start of the first.
    now: Vec<f64>,
    next: Vec<f64>,
    error: Vec<f64>,
    last: Step,
}

/// The last accepted step, for dense output.
struct Step {
    t: f64,
    h: f64,
    /// True if the additional stages have been computed.
    complete: bool,
}

impl Embedded {
    fn new(setup: &Setup<'_>, tableau: &'static ExplicitTableau, (hat, order): (&[f64], u32)) -> Result<Self, Refusal> {
        let order = match tableau.second {
            Some((_, second)) => 2 * order - second,
            None => order.min(setup.method.order),
        };
        let n = setup.system.shape().n;
        let dense = tableau.dense.unwrap_or(&HERMITE);
        let difference = |hat: &[f64]| {
            let difference: Vec<f64> = tableau.b.iter().zip(hat).map(|(b, hat)| b - hat).collect();
            fused::terms(&difference)
        };
        let places = Places { n, end: tableau.end_stage() };
        let ranked = |row: &&[f64]| {
            let terms = fused::terms(row);
            terms.into_iter().map(|(stage, a)| (places.rank(stage), a)).collect()
        };
        let stages = Stages::new(setup, tableau)?;
        let tolerances = Tolerances::new(setup.options, n);
        let fixed = setup.options.fixed;
        let step = step::FusedFormula::Explicit { tableau, fixed };
        let suits = setup.options.fused_steps && stages.rates.is_identity();
        let whole = if suits { setup.system.fused_step(step) } else { None };
        let mut given = vec![0.0; step.room(n)];
        given[2] = tolerances.rtol;
        given[3..3 + n].copy_from_slice(&tolerances.atol);
        let length = (step.length(n) + dense.c.len() * n).max(places.kept() + step.room(n));
        Ok(Embedded {
            stages,
            whole,
            given,
            suits,
            without: 0,
            fixed,
            order,
            error_terms: difference(hat),
            second_terms: tableau.second.map(|(hat, _)| difference(hat)).unwrap_or_default(),
            dense,
            dense_powers: [OnceCell::new(), OnceCell::new()],
            dense_rows: dense.a.iter().map(ranked).collect(),
            dense_gap: dense.gap(tableau.b, places.end).map(|row| ranked(&&row[..])),
            inside: false,
            end_stage_before: tableau.end_stage_before().map(|i| {
                let own = |j: usize| tableau.a[i].get(j).copied().unwrap_or(0.0);
                let difference: Vec<f64> = tableau.b.iter().enumerate().map(|(j, b)| b - own(j)).collect();
                (i, fused::terms(&difference))
            }),
            tolerances,
            control: Control::new(tableau.controller, order),
            earlier: Control::new(tableau.controller, order),
            t: 0.0,
            places,
            now: vec![0.0; length],
            next: vec![0.0; length],
            error: vec![0.0; n],
            last: Step { t: 0.0, h: 0.0, complete: false },
        })
    }

    /// Makes one step to `next`; returns the square of its weighted error.
    fn step(&mut self, eval: &mut Evaluator<'_>, h: f64, t_new: f64) -> Result<f64, Cause> {
        let square = match self.fused_step(eval, h, t_new) {
            Some(square) => square,
            None => self.by_stages(eval, h, t_new)?,
        };
        if self.suits && self.whole.is_none() {
            self.without += 1;
            if self.without.is_multiple_of(ASK) {
                self.ask(eval.system());
            }
        }
        if square <= 1.0 && self.inside {
            self.further_stages(eval, h)?;
        }
        Ok(square)
    }

    /// Requests a fused step.
    fn ask(&mut self, system: &dyn System) {
        if self.suits && self.whole.is_none() {
            let step = step::FusedFormula::Explicit { tableau: self.stages.tableau, fixed: self.fixed };
            self.whole = system.fused_step(step);
        }
    }

    /// Makes a fused step; `None` if there is none, or a value is not finite. It has the same bits as the step by
    /// stages, and the same counts.
    fn fused_step(&mut self, eval: &mut Evaluator<'_>, h: f64, t_new: f64) -> Option<f64> {
        let whole = self.whole.as_ref()?;
        (self.given[0], self.given[1]) = (h, t_new);
        let kept = &self.now[self.places.kept()..];
        whole.run(self.t, kept, eval.system().parameters(), &self.given, &mut self.next);
        let [first, second] = [self.next[0], self.next[1]];
        if !first.is_finite() {
            return None;
        }
        let square = if self.second_terms.is_empty() { first } else { passes::both(first, second) };
        // after a rejected step, the stages would not have evaluated the slope at its end
        let spared = u64::from(square > 1.0 && !self.stages.tableau.fsal);
        eval.stats.rhs += self.places.end as u64 - spared;
        Some(square)
    }

    /// Makes the step stage by stage, which finds the row that is not finite.
    fn by_stages(&mut self, eval: &mut Evaluator<'_>, h: f64, t_new: f64) -> Result<f64, Cause> {
        let Places { n, end } = self.places;
        let y = &self.now[self.places.state()];
        let (k, behind) = self.next[Places::NORMS..].split_at_mut((end + 1) * n);
        let y1 = &mut behind[..n];
        k[..n].copy_from_slice(&self.now[self.places.slope(end)]);
        self.stages.run(eval, k, (self.t, y), (h, t_new), y1)?;
        if let Some(row) = y1.iter().position(|y| !y.is_finite()) {
            return Err(Cause::NonFiniteState { row });
        }
        let mut square = 0.0;
        if !self.fixed {
            let mut estimate =
                |terms: &[(usize, f64)]| passes::estimate(&mut self.error, &self.tolerances, (y, y1), k, h, terms);
            square = estimate(&self.error_terms);
            if !self.second_terms.is_empty() {
                square = passes::both(square, estimate(&self.second_terms));
            }
        }
        if square <= 1.0 && !self.stages.tableau.fsal {
            slope(&mut self.stages.rates, eval, (t_new, y1), &mut k[end * n..])?;
        }
        Ok(square)
    }

    /// Computes the additional stages for the dense output of the step in `next`.
    fn further_stages(&mut self, eval: &mut Evaluator<'_>, h: f64) -> Result<(), Cause> {
        for (i, (row, c)) in self.dense_rows.iter().zip(self.dense.c).enumerate() {
            let Stages { y: state, rates, .. } = &mut self.stages;
            passes::combine(state, &self.now[self.places.state()], Places::slopes(&self.next), h, row);
            let into = self.places.slope(self.places.end + 1 + i);
            slope(rates, eval, (self.t + c * h, state), &mut self.next[into])?;
        }
        Ok(())
    }
}

impl Integrator for Embedded {
    fn dimension(&self) -> usize {
        self.places.n
    }

    fn time(&self) -> f64 {
        self.t
    }

    fn state(&self) -> &[f64] {
        &self.now[self.places.state()]
    }

    fn set(&mut self, eval: &mut Evaluator<'_>, t: f64, y: &[f64]) -> Result<(), Cause> {
        self.t = t;
        self.last.h = 0.0;
        self.now[self.places.state()].copy_from_slice(y);
        self.control.reset();
        let k = self.places.slope(self.places.end);
        slope(&mut self.stages.rates, eval, (t, y), &mut self.now[k])
    }

    fn renew(&mut self, system: &dyn System) -> bool {
        self.without = 0;
        self.ask(system);
        self.stages.rates.is_identity()
    }

    fn tighten(&mut self, part: f64) {
        self.tolerances.tighten(part);
        let n = self.tolerances.atol.len();
        self.given[2] = self.tolerances.rtol;
        self.given[3..3 + n].copy_from_slice(&self.tolerances.atol);
    }

    fn order(&self) -> u32 {
        self.order
    }

    fn attempt(&mut self, eval: &mut Evaluator<'_>, h: f64, t_new: f64) -> Attempt {
        let square = match self.step(eval, h, t_new) {
            Err(cause) => return Attempt::Failed { cause, next: self.control.fail(h) },
            Ok(square) => square,
        };
        // NaN fails the error test
        if !(square <= 1.0) {
            let err = square.sqrt();
            fused::sum(&mut self.error, Places::slopes(&self.next), h, &self.error_terms);
            let ends = (self.state(), &self.next[self.places.state()]);
            let row = self.tolerances.worst(&self.error, ends.0, ends.1);
            return Attempt::Rejected { next: self.control.reject(h, err), error: err, row };
        }
        self.last = Step { t: self.t, h, complete: self.inside || self.dense.c.is_empty() };
        std::mem::swap(&mut self.now, &mut self.next);
        self.t = t_new;
        if self.fixed {
            return Attempt::Accepted { next: h };
        }
        self.earlier = self.control.clone();
        Attempt::Accepted { next: self.control.accept_square(h, square) }
    }

    fn sample_ahead(&mut self, inside: bool) {
        self.inside = inside;
    }

    /// |f(y1) - f(Y)| / |y1 - Y| with the other stage Y at the end of the step (Hairer & Wanner II, eq. (IV.2.27)).
    fn stiffness(&mut self) -> Option<(f64, f64)> {
        let (stage, terms) = self.end_stage_before.as_ref()?;
        let (stage, h) = (*stage, self.last.h);
        fused::sum(&mut self.error, Places::slopes(&self.now), h, terms);
        self.stiffness_by(stage, |i| self.error[i])
    }

    fn set_atol(&mut self, atol: &[f64]) {
        self.tolerances.set_atol(atol);
        self.given[3..3 + atol.len()].copy_from_slice(&self.tolerances.atol);
    }

    fn doubtful(&self) -> Option<(f64, &[f64])> {
        let Step { t, h, complete } = self.last;
        if h == 0.0 || !complete || self.fixed {
            return None;
        }
        (self.hides_decay() || self.holds_decay() || self.leaves_stage())
            .then_some((t, &self.next[self.places.state()]))
    }

    fn interpolate(&self, t: f64, y: &mut [f64]) {
        let Step { t: start, h, complete } = self.last;
        let s = (t - start) / h;
        let (b, end) = (self.stages.tableau.b, self.places.end);
        y.copy_from_slice(&self.next[self.places.state()]);
        let further = if complete { self.dense.c.len() } else { 0 };
        for i in 0..=end + further {
            let w = if complete { self.dense.weight(b, end, i, s) } else { hermite_weight(b, end, i, s) };
            if w != 0.0 {
                let k = &self.now[self.places.slope(i)];
                y.iter_mut().zip(k).for_each(|(y, k)| *y += h * w * k);
            }
        }
    }

    /// Completes the step in `now`, which began where `next` ends.
    fn complete(&mut self, eval: &mut Evaluator<'_>) -> Result<(), Cause> {
        if self.last.complete || self.last.h == 0.0 {
            return Ok(());
        }
        std::mem::swap(&mut self.now, &mut self.next);
        let end = std::mem::replace(&mut self.t, self.last.t);
        let made = self.further_stages(eval, self.last.h);
        self.t = end;
        std::mem::swap(&mut self.now, &mut self.next);
        self.last.complete = made.is_ok();
        made
    }

    fn degree(&self) -> usize {
        self.dense.degree().max(HERMITE.degree())
    }

    fn coefficients(&self, segment: usize, c: &mut [f64]) -> Option<Segment> {
        let Step { t, h, complete } = self.last;
        if h == 0.0 || segment > 0 {
            return None;
        }
        let (n, end) = (self.places.n, self.places.end);
        let dense = if complete { self.dense } else { &HERMITE };
        let weights =
            || (0..=end + dense.c.len()).map(|i| dense.weight_powers(self.stages.tableau.b, end, i)).collect();
        let weights = self.dense_powers[usize::from(complete)].get_or_init(weights);
        let degree = dense.degree();
        let (slopes, c) = (Places::slopes(&self.now), &mut c[..(degree + 1) * n]);
        c[..n].copy_from_slice(&self.next[self.places.state()]);
        vectorised(n, Powers { c: &mut c[n..], n, h, weights, slopes, places: self.places });
        Some(Segment { from: t, length: h, degree })
    }

    fn start(&self) -> Option<&[f64]> {
        (self.last.h != 0.0).then(|| &self.next[self.places.state()])
    }

    fn keeps_start(&self) -> bool {
        true
    }

    fn slopes(&self) -> Option<[&[f64]; 2]> {
        (self.last.h != 0.0).then(|| [0, self.places.end].map(|stage| &self.now[self.places.slope(stage)]))
    }

    fn retreat(&mut self) -> bool {
        if self.last.h == 0.0 {
            return false;
        }
        std::mem::swap(&mut self.now, &mut self.next);
        (self.t, self.last.h) = (self.last.t, 0.0);
        if !self.fixed {
            self.control = self.earlier.clone();
        }
        true
    }
}
