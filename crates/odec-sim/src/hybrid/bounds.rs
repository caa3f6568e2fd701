//! Bounds of states: their values in a run, a system that evaluates f at the bound for states beyond it, and the
//! corrections of a run.

use std::borrow::Cow;

use odec_ir::{Kernel, KernelRole, Node, Program};
use odec_lang::blame::{By, StateAt, summands};
use odec_lang::model::{Body, Model, TermId, TermKind};
use odec_lang::source::Source;
use odec_ode::accelerated::{Accelerated, Series, TimeFeature};
use odec_ode::hybrid::{Pushes, RowBound};
use odec_ode::invariants::SystemInvariants;
use odec_ode::system::{EvalError, Jacobian, Mass, Shape, System};

use super::Located;
use crate::blame::in_order;

/// Terms that are named for a bound.
const TERMS: usize = 3;

/// Corrections of states at one bound of the model in a run.
#[derive(Clone, Debug, PartialEq)]
pub struct BoundCounts {
    /// Text of the bound, such as `x >= 0`.
    pub text: String,
    /// Number of corrections of its elements.
    pub pushes: u64,
    /// Largest correction.
    pub most: f64,
    /// The terms that led out of it where that was the largest part of the tolerance of all bounds; the largest first.
    pub terms: Vec<String>,
}

/// The text of a bound of a model.
pub(crate) fn text(model: &Model, state: usize, number: usize) -> String {
    let of = &model.states[state];
    let bound = &of.bounds[number];
    format!("{} {} {}", of.derivative(bound.order), bound.sign(), limit(model, bound.value))
}

/// The text of the value of a bound.
pub(crate) fn limit(model: &Model, value: Body) -> String {
    converted(model, value.root).unwrap_or_else(|| model.expression(value))
}

/// The value of a number that was converted from another unit: `0.2` where the model says `20 [%]` and the terms are
/// `0.01*20`.
fn converted(model: &Model, term: TermId) -> Option<String> {
    let TermKind::Apply(op, [factor, value, _]) = model.terms[term.index()].kind else { return None };
    let number = |id: TermId| match model.terms[id.index()].kind {
        TermKind::Number(x) => Some(x),
        _ => None,
    };
    let product = (odec_ir::builtin::find("mul") == Some(op)).then_some((number(factor)?, number(value)?))?;
    Some(crate::blame::number(product.0 * product.1))
}

/// Terms of the equation of a row that move the state to one side, the largest first.
pub(crate) fn terms(
    (model, source): (&Model, &Source),
    bound: &crate::bind::Bound,
    (row, upper): (usize, bool),
    (t, y): (f64, &[f64]),
) -> Vec<odec_lang::blame::Summand> {
    let y = in_order(bound, y);
    let point = StateAt { t, y: &y, values: &bound.values };
    let mut list = summands(model, source, bound.states.rank(row), By::Time, point);
    list.retain(|term| if upper { term.value > 0.0 } else { term.value < 0.0 });
    list.sort_by(|a, b| b.value.abs().total_cmp(&a.value.abs()));
    list.truncate(TERMS);
    list
}

impl Located {
    /// Bounds of all elements, from the initial values.
    pub(super) fn bounds_of(&self, initial: &[f64]) -> Vec<RowBound> {
        let mut all = Vec::new();
        for (bound, places) in self.code.switching.events.bounds.iter().zip(&self.places.event_table.bounds) {
            let first = self.executor.layout().state(bound.of);
            let each =
                |(i, value): (usize, &f64)| RowBound { row: (first + i) as u32, value: *value, upper: bound.upper };
            all.extend(initial[places.clone()].iter().enumerate().map(each));
        }
        all
    }

    /// The bounds at a time of start.
    pub(crate) fn bounds_at(&self, t0: f64) -> Vec<RowBound> {
        self.bounds_of(&self.initial(t0))
    }

    /// For the number of an element: its bound in the model, its number within that bound, and its row.
    pub(crate) fn bound_of(&self, element: usize) -> Option<(usize, usize, usize)> {
        let mut rest = element;
        for (bound, places) in self.code.switching.events.bounds.iter().zip(&self.places.event_table.bounds) {
            if rest < places.len() {
                return Some((bound.state, bound.number, self.executor.layout().state(bound.of) + rest));
            }
            rest -= places.len();
        }
        None
    }

    /// The corrections of a run, for each bound of the model.
    pub(crate) fn counts(
        &self,
        pushes: &Pushes,
        (model, source): (&Model, &Source),
        of: &crate::bind::Bound,
    ) -> Vec<BoundCounts> {
        let mut first = 0;
        let mut all = Vec::new();
        for (bound, places) in self.code.switching.events.bounds.iter().zip(&self.places.event_table.bounds) {
            let elements = first..first + places.len();
            let mut counts = BoundCounts {
                text: text(model, bound.state, bound.number),
                pushes: pushes.counts.get(elements.clone()).unwrap_or_default().iter().sum::<u64>(),
                most: pushes.most.get(elements.clone()).unwrap_or_default().iter().copied().fold(0.0, f64::max),
                terms: Vec::new(),
            };
            if let Some((element, t, y)) = pushes.worst.as_ref().filter(|worst| elements.contains(&worst.0)) {
                let row = self.executor.layout().state(bound.of) + element - first;
                let led = terms((model, source), of, (row, bound.upper), (*t, y));
                counts.terms = led.into_iter().map(|term| term.text).collect();
            }
            first = elements.end;
            all.push(counts);
        }
        all
    }

    /// Replaces states beyond a bound by the bound.
    fn inside<'a>(&self, y: &'a [f64]) -> Cow<'a, [f64]> {
        let mut seen = Cow::Borrowed(y);
        for bound in &self.bounds {
            let row = bound.row as usize;
            if bound.beyond(y[row]) > 0.0 {
                seen.to_mut()[row] = bound.value;
            }
        }
        seen
    }
}

/// System with bounds or free relations that a run uses.
impl System for Located {
    fn shape(&self) -> Shape {
        self.executor.shape()
    }

    fn rhs(&self, t: f64, y: &[f64], f: &mut [f64]) -> Result<(), EvalError> {
        self.at(t, y, |executor| executor.rhs(t, &self.inside(y), f))
    }

    fn jacobian(&self) -> Jacobian<'_> {
        self.executor.jacobian()
    }

    fn jacobian_values(&self, t: f64, y: &[f64], values: &mut [f64]) -> Result<(), EvalError> {
        self.at(t, y, |executor| executor.jacobian_values(t, &self.inside(y), values))?;
        if values.iter().any(|value| !value.is_finite())
            && let Some(pattern) = self.executor.jacobian().pattern()
        {
            // f is constant beyond a bound, and may have no finite derivative at the bound: sqrt(x) at 0
            for bound in self.bounds.iter().filter(|bound| bound.beyond(y[bound.row as usize]) >= 0.0) {
                let column = bound.row as usize;
                let entries = pattern.col_ptr[column] as usize..pattern.col_ptr[column + 1] as usize;
                values[entries].iter_mut().filter(|value| !value.is_finite()).for_each(|value| *value = 0.0);
            }
        }
        Ok(())
    }

    fn jacobian_vector(&self, t: f64, y: &[f64], w: &[f64], out: &mut [f64]) -> Result<(), EvalError> {
        self.at(t, y, |executor| executor.jacobian_vector(t, &self.inside(y), w, out))
    }

    fn time_derivative(&self, t: f64, y: &[f64], out: &mut [f64]) -> Result<(), EvalError> {
        self.at(t, y, |executor| executor.time_derivative(t, &self.inside(y), out))?;
        if self.is_any_free() && !out.iter().all(|value| value.is_finite()) {
            // a root has no derivative on a surface that a step may pass
            let later = t + (f64::EPSILON * t.abs().max(1e-5)).sqrt();
            let mut f = vec![0.0; out.len()];
            self.rhs(t, y, &mut f)?;
            self.rhs(later, y, out)?;
            out.iter_mut().zip(&f).for_each(|(out, f)| *out = (*out - f) / (later - t));
        }
        Ok(())
    }

    fn autonomous(&self) -> bool {
        self.executor.autonomous()
    }

    fn mass(&self) -> Mass<'_> {
        self.executor.mass()
    }

    fn mass_values(&self, t: f64, y: &[f64], values: &mut [f64]) -> Result<(), EvalError> {
        self.at(t, y, |executor| executor.mass_values(t, &self.inside(y), values))
    }

    fn mass_jacobian(&self, t: f64, y: &[f64], w: &[f64], values: &mut [f64]) -> Result<(), EvalError> {
        self.at(t, y, |executor| executor.mass_jacobian(t, &self.inside(y), w, values))
    }

    fn invariants(&self) -> Option<SystemInvariants<'_>> {
        self.executor.invariants()
    }

    fn accelerated(&self) -> Option<&dyn Accelerated> {
        Some(self)
    }
}

/// No fused steps: their stages would read states beyond a bound, and the modes of free relations at one point.
impl Accelerated for Located {
    fn parameters(&self) -> &[f64] {
        Accelerated::parameters(&self.executor)
    }

    fn expects_many_runs(&self) -> bool {
        self.executor.expects_many_runs()
    }

    fn groups(&self) -> usize {
        self.executor.groups()
    }

    fn narrow(&self, at: (f64, &[f64]), from: f64, to: f64) -> Vec<TimeFeature> {
        self.executor.narrow(at, from, to)
    }

    /// A series starts from the state at the start of a step, which satisfies the bounds. Its modes would hold there.
    fn series(&self) -> Option<&dyn Series> {
        if self.free.is_none() { Some(self) } else { None }
    }
}

impl Series for Located {
    fn prepare(&self, order: usize) -> Result<(), String> {
        self.executor.prepare(order)
    }

    fn is_smooth(&self) -> bool {
        self.executor.is_smooth()
    }

    fn may_peak(&self) -> bool {
        self.executor.may_peak()
    }

    /// A state may rest at a bound or on a surface where a root has no series, so `auto` takes other methods.
    fn is_short(&self, order: usize) -> bool {
        !has_roots(self.executor.program()) && self.executor.is_short(order)
    }

    fn coefficients(&self, t: f64, y: &[f64], order: usize, out: &mut [f64]) -> Result<(), EvalError> {
        self.executor.coefficients(t, y, order, out)
    }

    fn prepare_step(&self, order: usize) -> bool {
        Series::prepare_step(&self.executor, order)
    }

    fn step(&self, t: f64, order: usize, from: &[f64], to: &mut [f64]) -> Result<(), EvalError> {
        Series::step(&self.executor, t, order, from, to)
    }
}

/// True if f contains a root or a broken power.
fn has_roots(program: &Program) -> bool {
    let root = |kernel: &Kernel, node: Node| match node {
        Node::Call(op, args) => match op.0.name {
            "sqrt" | "cbrt" => true,
            "pow" => match kernel.graph.node(args[1]) {
                Node::Constant(bits) => f64::from_bits(bits).fract() != 0.0,
                _ => false,
            },
            _ => false,
        },
        _ => false,
    };
    program.kernels_of(KernelRole::Rhs).any(|kernel| kernel.live().any(|(_, node)| root(kernel, node)))
}
