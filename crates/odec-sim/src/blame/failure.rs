//! Messages about failed runs: which equation, which term, at which time and state, and what to try.

use odec_lang::blame::{Blame, By, FailedQuantity, StateAt, Summand, blame, blame_beyond, summands};
use odec_lang::diagnostic::{Diagnostic, codes};
use odec_lang::model::{Model, Values};
use odec_lang::source::Source;
use odec_ode::hybrid::HybridCause;
use odec_ode::method::Family;
use odec_ode::problem::{Cause, Failure};

use super::{MAX_VALUES, Names, advice, constraints, in_order, number, unknowns, with_equation, with_state, with_term};
use crate::bind::Bound;

/// Suggested factor on the absolute tolerance of a quantity that became negative.
const FINER: f64 = 1e-6;
/// A quantity of at most this many absolute tolerances may have become negative by errors of steps alone.
const NEAR_ZERO: f64 = 1e4;
/// A step of fewer spacings of t counts as the shortest possible.
const CROWDED: f64 = 16.0;
/// The spacing of t is the cause only if it exceeds this fraction of the run: near the end of a solution, steps get
/// as short.
const COARSE: f64 = 1e-10;

/// A condition that should change a little later does so after this fraction of 1 + t.
const LATER: f64 = 1e-9;

/// A distance of an unknown from the last accepted step, relative to its size there, that no solution covers in one step.
const MAX_MOVE: f64 = 1e6;

/// Up to this number of unknowns, terms are looked for that have no value where a state is zero,
const MANY: usize = 1_000;
/// for this number of states that are zero within their tolerances.
const MAX_VANISHING: usize = 8;

/// Growth of a state, relative to its start, from which on a failed step means that it becomes infinite.
const BLOWN_UP: f64 = 1e6;

/// A run that failed.
pub fn failed(model: &Model, source: &Source, bound: &Bound, failure: &Failure) -> Diagnostic {
    let (t, y) = match &failure.at {
        Some((t, y)) => (*t, y.as_slice()),
        None => (failure.t, failure.y.as_slice()),
    };
    let when = format!("at {} = {}", model.time.name, number(t));
    let values = super::values_at(model, bound, &failure.discretes);
    let facts = Failed { model, source, bound, failure, values, names: Names { bound }, t, y, when };
    let shown = bound.states.places().take(MAX_VALUES);
    let values = shown.filter_map(|k| Some((bound.states.name(k), *y.get(k)?))).collect();
    with_state(facts.diagnostic(), model, bound, failure).at(t, values)
}

/// Advice about a term that has no value where a state falls to zero.
fn end_before(state: &str, when: &str) -> String {
    format!(
        "`{state}` falls to 0 {when}, where this term has no value: end the run before that, or with an event, such as \
         `when {state} < 1e-6 {{ stop }}`"
    )
}

/// The facts about a failure.
struct Failed<'a> {
    model: &'a Model,
    source: &'a Source,
    bound: &'a Bound,
    failure: &'a Failure,
    /// All other values at that time, including discretes.
    values: Values,
    names: Names<'a>,
    /// Time and state of the failure.
    t: f64,
    y: &'a [f64],
    when: String,
}

impl Failed<'_> {
    fn diagnostic(&self) -> Diagnostic {
        let when = &self.when;
        match self.failure.cause {
            Cause::NonFiniteRhs { row } => self.no_value(row),
            Cause::NoSeries { row } => self.no_series(row),
            Cause::NonFiniteJacobian { row, col } => self.no_derivative(row, Some(col)),
            Cause::NonFiniteTimeDerivative { row } => self.no_derivative(row, None),
            Cause::NonFiniteMass { row } => self.no_factor(row),
            Cause::SingularMass { row } => self.dependent(row),
            Cause::StepCollapsed { row, error } => self.collapsed(row, error),
            Cause::NewtonFailed { row } => self.unsolved(row),
            Cause::Singular { col } => self.undetermined(col),
            Cause::TooManySteps { budget } => self.exhausted(budget),
            Cause::NonFiniteState { row } => self.unbounded(row),
            Cause::HigherIndex { row } => self.higher_index(row),
            Cause::Inconsistent { row } => self.inconsistent(row),
            Cause::Unkept { row } => constraints::unkept(self.bound, &self.when, &self.names.state(row)),
            Cause::Dependent { .. } => constraints::dependent(self.bound, &self.when),
            Cause::Instant => self.instant(),
            Cause::Fatal | Cause::Refused => {
                let d = Diagnostic::error(&codes::E0601, format!("odec cannot evaluate the model {when}"));
                match self.bound.choice.method.family {
                    Family::Taylor => d.help(
                        "`taylor` needs a Taylor series of the solution, and there is none where conditions change \
                         the equations too often: use `--method auto`",
                    ),
                    _ => d,
                }
            }
            Cause::Internal { what } => {
                let headline = format!("{what}, in `{}` {when}", self.bound.choice.method.name);
                Diagnostic::error(&codes::E0900, headline)
                    .help("this is a bug in odec: `odec explain E0900` says what to report")
            }
        }
    }

    /// A failure of modes or events.
    fn instant(&self) -> Diagnostic {
        match self.failure.instant.as_deref() {
            Some(HybridCause::Bound { bound, beyond, rate }) => {
                let left = super::bounds::BoundCrossing { element: *bound, beyond: *beyond, rate: *rate };
                left.diagnostic(self.model, self.source, self.bound, (self.t, self.y))
            }
            Some(cause @ (HybridCause::Pole { .. } | HybridCause::Passed { .. })) => {
                let report = super::instant::instant(cause, self.bound, self.t, &self.when);
                self.by_divisor(report)
            }
            Some(cause) => super::instant::instant(cause, self.bound, self.t, &self.when),
            None => Diagnostic::error(
                &codes::E0623,
                format!("no values of the conditions are consistent with the equations {}", self.when),
            ),
        }
    }

    fn search(&self, what: FailedQuantity) -> Option<Blame> {
        let y = in_order(self.bound, self.y);
        let at = StateAt { t: self.t, y: &y, values: &self.values };
        blame(self.model, self.source, what, at).or_else(|| blame_beyond(self.model, self.source, what, at))
    }

    /// The message with the term that is not finite; `help` is used if the term gives no advice.
    fn by_term(&self, d: Diagnostic, what: FailedQuantity, row: usize, help: &str) -> Diagnostic {
        match self.search(what) {
            Some(blame) => with_term(d, &blame).help(advice(&blame).unwrap_or(help)),
            None => self.by_equation(d, row, &format!("this determines `{}`", self.names.rate(row))).help(help),
        }
    }

    /// Adds the term that has no value where a state falls to zero, if there is one.
    fn by_divisor(&self, report: Diagnostic) -> Diagnostic {
        match self.vanishing() {
            Some((state, blame)) => with_term(report, &blame).help(end_before(&state, &self.when)),
            None => report,
        }
    }

    /// A state that is zero within its absolute tolerance, and the term that has no value where it is exactly zero.
    fn vanishing(&self) -> Option<(String, Blame)> {
        let n = self.y.len();
        if n > MANY {
            return None;
        }
        let small = |k: &usize| self.y[*k] != 0.0 && self.y[*k].abs() <= self.bound.options.atol_at(*k);
        (0..n).filter(small).take(MAX_VANISHING).find_map(|k| {
            let mut y = self.y.to_vec();
            y[k] = 0.0;
            let y = in_order(self.bound, &y);
            let at = StateAt { t: self.t, y: &y, values: &self.values };
            let rows = (0..n).map(|row| FailedQuantity::Row(self.names.rank(row)));
            let mut all = rows.chain((0..self.model.outputs.len()).map(FailedQuantity::Output));
            let blame = all.find_map(|what| blame(self.model, self.source, what, at))?;
            Some((self.names.state(k), blame))
        })
    }

    fn by_equation(&self, d: Diagnostic, row: usize, text: &str) -> Diagnostic {
        with_equation(d, self.model, &self.names, row, text)
    }

    fn no_value(&self, row: usize) -> Diagnostic {
        let what = FailedQuantity::Row(self.names.rank(row));
        if let Some(report) = self.search(what).and_then(|blame| super::inputs::beyond(self.model, self.bound, &blame))
        {
            return report;
        }
        if let Some(unknown) = self.far_off() {
            let (name, when) = (self.names.state(unknown), &self.when);
            let headline = format!("a step led the unknown `{name}` to {} {when}", number(self.y[unknown]));
            let report = Diagnostic::error(&codes::E0601, headline);
            // only this step led the term there, so advice about it would mislead
            let report = match self.search(what) {
                Some(blame) => with_term(report, &blame),
                None => self.by_equation(report, row, "this equation has no finite value there"),
            };
            return report.help(format!(
                "the equations barely determine `{name}` here: a node of a circuit that no element connects needs a \
                 leak, such as a current of `1e-9*{name}`"
            ));
        }
        let headline = format!("`{}` has no finite value {}", self.names.rate(row), self.when);
        if self.bound.located.is_some() && self.search(what).is_none() {
            // as written the equation has a value here, so a branch begins whose first instant has none
            let later = self.t + LATER * (1.0 + self.t.abs());
            let help = format!(
                "a condition changes here, and its new branch has no value at this instant: let it begin a little \
                 later, for example at `{} > {}`; or, if both branches meet here, write `smooth(...)` \
                 around the law",
                self.model.time.name,
                number(later)
            );
            return self
                .by_equation(
                    Diagnostic::error(&codes::E0601, headline),
                    row,
                    &format!("this determines `{}`", self.names.rate(row)),
                )
                .help(help);
        }
        let help = "keep its terms in their domain, correct the parameters, or start elsewhere";
        self.by_term(Diagnostic::error(&codes::E0601, headline), what, row, help)
    }

    /// The algebraic unknown that the failed step moved most, if it moved it by far too much.
    fn far_off(&self) -> Option<usize> {
        let moved = |k: usize| (self.y[k] - self.failure.y[k]).abs() / (1.0 + self.failure.y[k].abs());
        let rows = 0..self.y.len().min(self.failure.y.len());
        rows.filter(|&k| moved(k) > MAX_MOVE && self.is_unknown(k)).max_by(|&a, &b| moved(a).total_cmp(&moved(b)))
    }

    /// True for the row of an algebraic unknown.
    fn is_unknown(&self, row: usize) -> bool {
        super::declared(self.model, &self.bound.states, row).is_some_and(|k| self.model.states[k].algebraic)
    }

    fn no_series(&self, row: usize) -> Diagnostic {
        let (rate, when) = (self.names.rate(row), &self.when);
        let headline = format!(
            "the solution has no Taylor series {when}: `{rate}` has a value there, but no derivative along the \
             solution"
        );
        self.by_equation(Diagnostic::error(&codes::E0622, headline), row, &format!("this determines `{rate}`")).help(
            "use a method that needs no series, `--method auto` or `--method vern7`, or start away from this \
                   point",
        )
    }

    /// A derivative with respect to a state or time that is not finite.
    fn no_derivative(&self, row: usize, col: Option<usize>) -> Diagnostic {
        let (rate, rank) = (self.names.rate(row), self.names.rank(row));
        let (code, by, what, help) = match col {
            Some(col) => (
                &codes::E0602,
                self.names.state(col),
                By::State(self.names.rank(col)),
                if self.model.states.iter().any(|state| state.algebraic) {
                    "start away from the singular point: change the guess of the unknown, or an initial value"
                } else {
                    "use a method that needs no derivative, `--method dopri5`, or start away from the singular point"
                },
            ),
            None => (
                &codes::E0603,
                self.model.time.name.clone(),
                By::Time,
                "use a method that does not need this derivative, `--method bdf`, or start a little later",
            ),
        };
        let headline = if self.is_unknown(row) {
            let (state, when) = (self.names.state(row), &self.when);
            format!("the equation for `{state}` has no finite derivative with respect to `{by}` {when}")
        } else {
            format!("the derivative of `{rate}` with respect to `{by}` has no finite value {}", self.when)
        };
        self.by_term(Diagnostic::error(code, headline), FailedQuantity::Slope(rank, what), row, help)
    }

    fn no_factor(&self, row: usize) -> Diagnostic {
        let headline =
            format!("a coefficient in the equation of `{}` has no finite value {}", self.names.rate(row), self.when);
        let label = "a coefficient of a derivative here, or its derivative";
        self.by_equation(Diagnostic::error(&codes::E0601, headline), row, label)
            .help("keep the coefficients in their domain, correct the parameters, or start elsewhere")
    }

    /// Constraints that do not determine the unknowns.
    fn higher_index(&self, row: usize) -> Diagnostic {
        if let Some(report) = constraints::undetermined(self.bound, &self.when) {
            return report;
        }
        // later, discretes may have other values than those that the executor has
        if self.t == self.bound.problem.t0
            && let Some(report) = unknowns::dependent_equations(self.model, self.bound, self.t, self.y, &self.when)
        {
            return report;
        }
        let headline = format!("the algebraic equations do not determine the unknowns {}", self.when);
        self.by_equation(Diagnostic::error(&codes::E0641, headline), row, "this is one of them")
            .help(unknowns::advice(self.bound))
    }

    /// Newton's method found no values of the unknowns.
    fn inconsistent(&self, row: usize) -> Diagnostic {
        let name = self.names.state(row);
        let headline = format!("odec found no value of `{name}` that satisfies the equations {}", self.when);
        self.by_equation(Diagnostic::error(&codes::E0642, headline), row, "").help(format!(
            "Newton's method started at {}: give a closer guess, or check that the equations have a solution",
            self.y.get(row).map_or_else(|| "the guess".to_owned(), |y| number(*y))
        ))
    }

    fn dependent(&self, row: usize) -> Diagnostic {
        let (method, rate) = (self.bound.choice.method.name, self.names.rate(row));
        let headline =
            format!("`{method}` needs every derivative, but the equations do not determine `{rate}` {}", self.when);
        self.by_equation(Diagnostic::error(&codes::E0619, headline), row, "").help(
            "the coefficients of the derivatives are zero or linearly dependent: use an implicit method, which \
             solves the equations together: `--method bdf`",
        )
    }

    fn collapsed(&self, row: usize, error: f64) -> Diagnostic {
        let (state, when) = (self.names.state(row), &self.when);
        let step = number(self.failure.h);
        let headline = format!("the step size fell to {step} {when}: the error of `{state}` stays too large");
        let d = Diagnostic::error(&codes::E0604, headline);
        if let Some((falls, blame)) = self.vanishing() {
            return with_term(d, &blame).help(end_before(&falls, &self.when));
        }
        if let Some(report) = self.blown_up(&d, row) {
            return report;
        }
        let d = self.by_equation(d, row, &format!("`{state}` has the largest error"));
        let (gap, time) = (self.t.abs().next_up() - self.t.abs(), &self.model.time.name);
        let span = (self.bound.problem.t_end - self.bound.problem.t0).abs();
        if self.failure.h.abs() < CROWDED * gap && gap > COARSE * span {
            return d.help(format!(
                "floating-point numbers near {time} = {} are {} apart, so a shorter step would not change \
                 `{time}`: let `{time}` begin at 0",
                number(self.t),
                number(gap)
            ));
        }
        if let Some(help) = self.fell_below_zero(row) {
            return d.help(help);
        }
        let error =
            if error.is_finite() { format!("{} times the tolerance", number(error)) } else { "infinite".into() };
        let what = if self.t == self.bound.problem.t0 {
            format!(
                "`{state}` cannot start from its initial value: choose initial values that satisfy all equations, \
                 also those whose derivatives have the coefficient 0 there"
            )
        } else {
            let (time, t) = (&self.model.time.name, number(self.t));
            format!("`{state}` may blow up or jump here; look at the last rows, or end the run before {time} = {t}")
        };
        d.help(format!("its error is {error}, however small the step: {what}"))
    }

    /// The message about a state that grows to infinity in a finite time, with the term that feeds it.
    fn blown_up(&self, d: &Diagnostic, row: usize) -> Option<Diagnostic> {
        let (bound, time) = (self.bound, &self.model.time.name);
        let (start, now) = (*bound.problem.y0.get(row)?, *self.failure.y.get(row)?);
        // one that fell below 0, or that another one drives which did, has other advice
        if self.fell_below_zero(row).is_some()
            || now.abs() < BLOWN_UP * start.abs().max(bound.options.atol_at(row))
            || !now.is_finite()
        {
            return None;
        }
        let y = in_order(bound, &self.failure.y);
        let point = StateAt { t: self.failure.t, y: &y, values: &self.values };
        let rank = self.names.rank(row);
        let feeds = |term: &Summand| term.value * now > 0.0 && term.value.is_finite();
        let terms = summands(self.model, self.source, rank, By::State(rank), point).into_iter().filter(feeds);
        let term = terms.max_by(|a, b| a.value.abs().total_cmp(&b.value.abs()))?;
        let (state, from, to) = (self.names.state(row), number(start), number(now));
        let mut d = d.clone().label(term.span, format!("this drives `{state}` from {from} to {to}"));
        for (name, span) in &term.through {
            d = d.label(*span, format!("through `{name}`"));
        }
        Some(d.help(format!(
            "the solution becomes infinite near {time} = {}: is a sign wrong? If you intend this, end the run before it",
            number(self.t)
        )))
    }

    /// Advice about a quantity that became negative, starting with the row in question: errors of steps can do that to
    /// one that is close to 0, and then it may go to minus infinity. Velocities and positions may be negative.
    fn fell_below_zero(&self, row: usize) -> Option<String> {
        let (y0, options) = (&self.bound.problem.y0, &self.bound.options);
        let atol = |k: usize| options.atol_at(k);
        let first = 2 * self.bound.executor.layout().second;
        let fell = |k: &usize| *k >= first && self.failure.y[*k] < 0.0 && y0[*k] >= 0.0 && atol(*k) > 0.0;
        let small = |k: &usize| self.failure.y[*k].abs() <= NEAR_ZERO * atol(*k);
        let k = std::iter::once(row).chain((0..y0.len()).filter(small)).find(fell)?;
        let (state, time) = (self.names.state(k), &self.model.time.name);
        if !small(&k) {
            return Some(format!(
                "`{state}` started at {} and is {} now: the solution may have no value beyond {time} = {}, so end the \
                 run before it; if `{state}` should never be negative, a smaller absolute tolerance may keep it so: \
                 `--atol {state}={}`",
                number(y0[k]),
                number(self.failure.y[k]),
                number(self.t),
                number(atol(k) * FINER)
            ));
        }
        Some(format!(
            "`{state}` started at {} and is {} now: if it cannot be negative, its absolute tolerance of {} is too \
             large; try `--atol {state}={}`. Otherwise a state may blow up or jump here",
            number(y0[k]),
            number(self.failure.y[k]),
            number(atol(k)),
            number(atol(k) * FINER)
        ))
    }

    fn unsolved(&self, row: usize) -> Diagnostic {
        let (state, fixed) = (self.names.state(row), self.bound.options.fixed);
        let size = if fixed { number(self.failure.h) } else { "any size".to_string() };
        let headline = format!("the Newton iteration of an implicit step of {size} does not converge {}", self.when);
        let d = Diagnostic::error(&codes::E0605, headline);
        self.by_equation(d, row, &format!("`{state}` does not converge")).help(if fixed {
            "try a smaller step, or leave the step size to the error control: `--step auto`"
        } else {
            "does the equation jump here? `--method rodas4` needs no Newton iteration"
        })
    }

    fn undetermined(&self, col: usize) -> Diagnostic {
        let (state, when) = (self.names.state(col), &self.when);
        let headline = format!("the equations do not determine `{state}` {when}: the matrix of the step is singular");
        let d = Diagnostic::error(&codes::E0606, headline);
        self.by_equation(d, col, &format!("`{state}` is not determined")).help(if self.bound.options.fixed {
            "try another step size; otherwise check that the equations determine every highest derivative"
        } else {
            "check that the equations determine every highest derivative, and that every state depends on its own \
             equation"
        })
    }

    fn exhausted(&self, budget: u64) -> Diagnostic {
        let (bound, time, when) = (self.bound, &self.model.time.name, &self.when);
        let end = number(bound.problem.t_end);
        let spent = if budget == 1 { "1 step was".to_string() } else { format!("{budget} steps were") };
        let headline = format!("{spent} not enough: the run stopped {when}, before {time} = {end}");
        let d = Diagnostic::error(&codes::E0607, headline);
        let d = match self.model.equations.as_slice() {
            [first, .., last] => d.label(first.span.to(last.span), ""),
            [only] => d.label(only.span, ""),
            [] => d,
        };
        d.help(match (bound.options.fixed, bound.choice.method.structure.jacobian) {
            _ if bound.options.max_step.is_some() => {
                "permit longer steps with `--max-step`, or more of them with `--max-steps`"
            }
            (true, _) => "use larger steps, end the run earlier, or permit more steps with `--max-steps`",
            (_, false) => {
                "if the model is stiff, an implicit method needs far fewer steps: `--method bdf`; otherwise permit \
                 more with `--max-steps`"
            }
            (_, true) => "permit more steps with `--max-steps`, or loosen the tolerance with `--rtol`",
        })
    }

    fn unbounded(&self, row: usize) -> Diagnostic {
        let (state, when, bound) = (self.names.state(row), &self.when, self.bound);
        let d = Diagnostic::error(&codes::E0608, format!("`{state}` overflows {when}"));
        let d = self.by_equation(d, row, "this grows without bound");
        d.help(if bound.options.fixed && !bound.choice.method.structure.jacobian {
            "the step may be too large for this method to be stable: reduce `--step`, or use an implicit method"
        } else {
            "the solution grows without bound: end the run earlier, or correct the model"
        })
    }
}
