//! A fit of a model: one simulation for each data set, evaluated at each trial point.

use std::ops::ControlFlow;

use nalgebra::{DMatrix, DVector};
use odec_lang::diagnostic::{Diagnostic, codes};
use odec_lang::suggest;
use odec_ode::problem::{SolveError, Stop};

use super::data::{CheckedData, DataSet};
use super::descent::{Evaluation, Halted, Interval, Residuals};
use super::estimate::{Estimate, estimate};
use super::{FittedQuantity, MAX_ENTRIES, MAX_QUANTITIES, TOLERANCE, TRUSTED, number};
use crate::bind::Purpose;
use crate::choices::{Choices, RecordRule, SampleRule, StepChoice};
use crate::memory::MemoryEstimate;
use crate::points::Spacing;
use crate::quantities::Quantities;
use crate::sample::{Observations, Recorder};
use crate::{Error, Loaded, Simulation};

/// A data set and the simulation to compare with it.
struct Set {
    checked: CheckedData,
    choices: Choices,
    base: Simulation,
    /// For each measured quantity, its column in the rows, and the columns of its derivatives with respect to the
    /// fitted quantities.
    columns: Vec<(usize, Vec<usize>)>,
}

/// A fit that is ready to start. It is immutable, so threads can share it.
pub struct Fit {
    sets: Vec<Set>,
    quantities: Vec<FittedQuantity>,
    starts: Vec<Start>,
    /// For each set and quantity, its index among the derivatives of the set; `None` if the set has its own value.
    places: Vec<Vec<Option<usize>>>,
    rtol: f64,
    known: bool,
}

/// The starting value of a quantity.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start {
    pub value: f64,
    /// The value in the model, if it is outside the range and so cannot be the start.
    pub outside: Option<f64>,
}

/// A datum and the value of the model.
#[derive(Clone, Debug)]
pub struct Compared {
    /// Index of the data set.
    pub set: usize,
    /// Index of the name in the set.
    pub column: usize,
    /// Time.
    pub t: f64,
    /// The measured value.
    pub measured: f64,
    /// The value of the model.
    pub model: f64,
    /// Their weighted difference.
    pub residual: f64,
}

fn usage(headline: String, help: impl Into<String>) -> Error {
    Error::from(Diagnostic::error(&codes::E0855, headline).help(help))
}

/// A point with its errors, in values of the parameters.
#[derive(Clone, Debug)]
pub struct FitPoint {
    /// Values.
    pub values: Vec<f64>,
    /// Standard errors.
    pub errors: Vec<f64>,
    /// Ends of the confidence intervals. If the logarithm of a parameter is fitted, they come from the interval of the
    /// logarithm.
    pub intervals: Vec<(f64, f64)>,
    /// Sum of squares.
    pub squares: f64,
    /// The estimate for the inner values, with covariances.
    pub estimate: Estimate,
    /// Residuals, and their derivatives with respect to the inner values.
    pub evaluation: Evaluation,
}

/// A run at a point.
enum Run {
    Rows(Vec<f64>),
    Halted,
    /// The reason why there are no values.
    Without(Box<Error>),
}

impl Fit {
    /// Checks the data against the model, and compiles the code that all runs share. `choices` apply to all runs, but
    /// the fit chooses the rows, the columns and the parameters for derivatives.
    ///
    /// # Errors
    /// E0854 about the data, E0855 about the fitted quantities, and the errors of [`Loaded::simulate`].
    pub fn new(
        loaded: &Loaded,
        choices: &Choices,
        sets: &[DataSet],
        quantities: &[FittedQuantity],
    ) -> Result<Fit, Error> {
        let mut choices = loaded.in_units_of_model(choices)?;
        // a step of the run block would hide the tolerances: the estimate would contain the errors of the steps
        choices.step.get_or_insert(StepChoice::Auto);
        named(sets, quantities)?;
        let explicit_end = choices.t_end;
        let probe = probed(loaded, &choices, sets)?;
        let bound = probe.bound();
        let outputs = Quantities::outputs(bound.executor.program(), bound.executor.layout());
        let (time, t0) = (&loaded.model().time.name, bound.problem.t0);
        let starts = quantities.iter().map(|q| start(&probe, q)).collect::<Result<Vec<Start>, Error>>()?;
        let mut made: Vec<Set> = Vec::new();
        for data in sets {
            let checked = data.check(time, (&bound.states, &outputs), (t0, explicit_end))?;
            // on a copy of the flags, because the values of this set come last
            let open: Vec<String> = quantities
                .iter()
                .map(|q| q.name.clone())
                .filter(|q| data.values.iter().all(|(name, _)| name != q))
                .collect();
            choices.open.clone_from(&open);
            choices.sensitivities = !open.is_empty();
            let mut own = choices.clone();
            own.t_end = Some(explicit_end.unwrap_or(*checked.times.last().unwrap_or(&t0)));
            own.samples = Some(SampleRule::Times(checked.times.clone()));
            own.record = Some(RecordRule::Names(checked.names.clone()));
            own.params = data.params.clone().or(own.params);
            own.set.extend(data.values.iter().cloned());
            // an initial value among the derivatives must be set explicitly
            let given = quantities.iter().zip(&starts).filter(|(q, _)| open.contains(&q.name));
            own.set.extend(given.map(|(q, start)| (q.name.clone(), start.value)));
            let base = match made.first() {
                Some(first) => first.base.again(&own)?,
                None => loaded.simulate(&own, Purpose::Rows)?,
            };
            let set = fine(own, base, checked)?;
            made.push(set);
        }
        if made.is_empty() {
            return Err(usage("there are no data".into(), "name a file with data"));
        }
        let places = made.iter().map(|set| places_of(set, quantities)).collect();
        let (count, n) = (made.iter().map(|set| set.checked.data.len()).sum::<usize>(), quantities.len());
        if count < n {
            let headline = format!("{count} data cannot determine {n} parameters");
            return Err(usage(headline, "fit at most as many parameters as there are measured values"));
        }
        if count.saturating_mul(n) > MAX_ENTRIES {
            let headline = format!("{count} data with {n} parameters exceed the limit of {MAX_ENTRIES} derivatives");
            return Err(usage(headline, "use fewer data, or fit fewer parameters"));
        }
        let known: Vec<bool> = made.iter().map(|set| set.checked.known).collect();
        if known.iter().any(|k| *k != known[0]) {
            let with = made.iter().find(|set| set.checked.known).map_or("", |set| &set.checked.shown);
            let without = made.iter().find(|set| !set.checked.known).map_or("", |set| &set.checked.shown);
            let headline = format!("{with} has standard deviations for all of its data, but {without} does not");
            return Err(usage(headline, "give standard deviations for all data or for none: `--sigma x=0.1`"));
        }
        let rtol = made.iter().map(|set| set.base.bound().options.rtol).fold(0.0, f64::max);
        Ok(Fit { starts, places, rtol, known: known[0], quantities: quantities.to_vec(), sets: made })
    }

    /// The fitted quantities.
    pub fn quantities(&self) -> &[FittedQuantity] {
        &self.quantities
    }

    /// The data sets.
    pub fn sets(&self) -> impl ExactSizeIterator<Item = &CheckedData> {
        self.sets.iter().map(|set| &set.checked)
    }

    /// The simulation of a set with the values of the model.
    pub fn simulation(&self, set: usize) -> Option<&Simulation> {
        self.sets.get(set).map(|set| &set.base)
    }

    /// The starting point from the model or the caller, in inner values.
    pub(super) fn first(&self) -> Vec<f64> {
        self.quantities.iter().zip(&self.starts).map(|(q, start)| q.inner(start.value)).collect()
    }

    /// The quantities with their starting values.
    pub(super) fn starts(&self) -> impl Iterator<Item = (&FittedQuantity, Start)> {
        self.quantities.iter().zip(self.starts.iter().copied())
    }

    /// Bounds of the inner values.
    pub(super) fn bounds(&self) -> Vec<Interval> {
        self.quantities.iter().map(|q| (q.inner(q.low.max(f64::MIN)), q.inner(q.high.min(f64::MAX)))).collect()
    }

    /// Significant changes of the inner values: 1 for a logarithm, otherwise the size of the value or a fraction of
    /// its range.
    pub(super) fn sizes(&self, point: &[f64]) -> Vec<f64> {
        let size = |(q, x): (&FittedQuantity, &f64)| {
            let width = if (q.high - q.low).is_finite() { 1e-3 * (q.high - q.low) } else { 0.0 };
            match (q.logarithmic(), x.abs().max(width)) {
                (true, _) => 1.0,
                (false, size) if size > 0.0 => size,
                (false, _) => 1.0,
            }
        };
        self.quantities.iter().zip(point).map(size).collect()
    }

    /// Below this fraction of the largest singular value, derivatives are errors of the runs.
    pub(super) fn rank(&self) -> f64 {
        (TRUSTED * self.rtol).clamp(1e-9, 1e-2)
    }

    /// The values of a point.
    pub fn values(&self, point: &[f64]) -> Vec<f64> {
        self.quantities.iter().zip(point).map(|(q, x)| q.outer(*x)).collect()
    }

    /// The choices for a set at a point.
    fn choices(&self, k: usize, values: &[f64]) -> Choices {
        let set = &self.sets[k];
        let mut choices = set.choices.clone();
        for ((q, value), place) in self.quantities.iter().zip(values).zip(&self.places[k]) {
            if place.is_some() {
                choices.set.push((q.name.clone(), *value));
            }
        }
        choices
    }

    fn run(
        &self,
        k: usize,
        (values, part): (&[f64], f64),
        stop: &(dyn Fn() -> bool + Sync),
    ) -> (Run, Option<(Simulation, Observations)>) {
        let set = &self.sets[k];
        let without = |e: Error| Run::Without(Box::new(e));
        let simulation = match set.base.again(&self.choices(k, values)) {
            Ok(simulation) => simulation.with_part_of_tolerances(part),
            Err(e) => return (without(e), None),
        };
        let width = simulation.bound().columns.len();
        let mut keep = CollectedRows { rows: Vec::with_capacity(width * set.checked.times.len()), stop };
        let solved = simulation.run(&mut keep);
        let outcome = match &solved.result {
            Ok(outcome) if outcome.stop == Stop::Interrupted => return (Run::Halted, None),
            Ok(outcome) => outcome,
            Err(why @ SolveError::Failed(_)) => {
                return (without(simulation.explain_seen(why, &solved.seen, &[])), None);
            }
            Err(why) => return (without(simulation.explain(why)), None),
        };
        let (rows, shown) = (keep.rows, &set.checked.shown);
        let time = &simulation.model().time.name;
        // if an event stops the run, there is a row at its time
        let met = rows.chunks(width).zip(&set.checked.times).take_while(|(row, t)| row.first() == Some(t)).count();
        if met != set.checked.times.len() {
            let next = set.checked.times.get(met).copied().unwrap_or(outcome.t);
            let headline = format!(
                "the run ends at {time} = {}, before the datum of {shown} at {}",
                number(outcome.t),
                number(next)
            );
            let help = "an event stops the run: remove its `stop`, or leave out the data after it";
            return (without(simulation.error(vec![Diagnostic::error(&codes::E0854, headline).help(help)])), None);
        }
        // the compared values and their derivatives must be finite
        for datum in &set.checked.data {
            let row = &rows[datum.row * width..][..width];
            let (own, derivatives) = &set.columns[datum.column];
            let bad = std::iter::once(own).chain(derivatives).find(|c| !row[**c].is_finite());
            if let Some(column) = bad {
                let name = simulation.bound().columns.name(*column);
                let headline =
                    format!("`{name}` has no finite value at {time} = {}, where {shown} has a datum", number(row[0]));
                let d = Diagnostic::error(&codes::E0855, headline).help("begin with other values of what is fitted");
                return (without(simulation.error(vec![d])), None);
            }
        }
        (Run::Rows(rows), Some((simulation, solved.seen)))
    }

    /// Computes residuals and derivatives at a point.
    ///
    /// # Errors
    /// The reason why they cannot be computed.
    pub(super) fn evaluate(
        &self,
        point: &[f64],
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Result<Evaluation, Box<Error>>, Halted> {
        self.evaluate_with(point, 1.0, stop)
    }

    /// The same with this part of the tolerances.
    pub(super) fn evaluate_with(
        &self,
        point: &[f64],
        part: f64,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Result<Evaluation, Box<Error>>, Halted> {
        let count: usize = self.sets.iter().map(|set| set.checked.data.len()).sum();
        let (n, values) = (self.quantities.len(), self.values(point));
        let mut residuals = DVector::zeros(count);
        let mut jacobian = DMatrix::zeros(count, n);
        let (mut i, mut noise) = (0, 0.0);
        for (k, set) in self.sets.iter().enumerate() {
            let rows = match self.run(k, (&values, part), stop).0 {
                Run::Rows(rows) => rows,
                Run::Halted => return Err(Halted),
                Run::Without(why) => return Ok(Err(why)),
            };
            let width = set.base.bound().columns.len();
            for datum in &set.checked.data {
                let row = &rows[datum.row * width..][..width];
                let (own, derivatives) = &set.columns[datum.column];
                residuals[i] = (row[*own] - datum.value) * datum.weight;
                noise += (self.rtol * row[*own] * datum.weight).powi(2);
                for (j, place) in self.places[k].iter().enumerate() {
                    let Some(place) = place else { continue };
                    // derivative with respect to the logarithm
                    let chain = if self.quantities[j].logarithmic() { values[j] } else { 1.0 };
                    jacobian[(i, j)] = row[derivatives[*place]] * datum.weight * chain;
                }
                i += 1;
            }
        }
        if residuals.iter().chain(jacobian.iter()).any(|x: &f64| !x.is_finite()) {
            let d = Diagnostic::error(&codes::E0855, "a residual is not a finite number");
            return Ok(Err(Box::new(Error::from(d.help("begin with other values of what is fitted")))));
        }
        Ok(Ok(Evaluation { residuals, jacobian, noise: noise.sqrt() }))
    }

    /// The estimate at a point, in inner values.
    pub fn estimate(&self, point: &[f64], at: &Evaluation) -> Estimate {
        let sizes: Vec<f64> = self.sizes(point);
        estimate(at, point, &self.bounds(), &sizes, self.rank(), self.known)
    }

    /// The estimate at a point, in values of the parameters.
    ///
    /// # Errors
    /// A run fails.
    pub fn found(&self, point: &[f64], level: f64) -> Result<FitPoint, Error> {
        let evaluation = match self.evaluate(point, &|| false) {
            Ok(Ok(evaluation)) => evaluation,
            Ok(Err(why)) => return Err(*why),
            Err(Halted) => return Err(usage("the fit was stopped".into(), "run it again without interrupting it")),
        };
        let (estimate, values) = (self.estimate(point, &evaluation), self.values(point));
        let chain = |j: usize| if self.quantities[j].logarithmic() { values[j] } else { 1.0 };
        let errors = (0..values.len()).map(|j| estimate.error(j) * chain(j)).collect();
        let interval = |j: usize| {
            let (x, half) = (point[j], estimate.half_width(j, level));
            let ends = (x - half, x + half);
            if self.quantities[j].logarithmic() { (ends.0.exp(), ends.1.exp()) } else { ends }
        };
        let intervals = (0..values.len()).map(interval).collect();
        Ok(FitPoint { errors, intervals, squares: evaluation.squares(), values, estimate, evaluation })
    }

    /// The relative tolerance of the runs.
    pub(super) fn rtol(&self) -> f64 {
        self.rtol
    }

    /// True if the standard deviations of all data are given.
    pub fn known(&self) -> bool {
        self.known
    }

    /// Compares model and data at a point. Also returns the warnings of the runs.
    ///
    /// # Errors
    /// A run fails.
    pub fn compared(&self, point: &[f64]) -> Result<(Vec<Compared>, Vec<Diagnostic>), Error> {
        let (values, mut all, mut warnings) = (self.values(point), Vec::new(), Vec::<Diagnostic>::new());
        for (k, set) in self.sets.iter().enumerate() {
            let rows = match self.run(k, (&values, 1.0), &|| false) {
                (Run::Rows(rows), Some((simulation, seen))) => {
                    for d in simulation.warnings(&seen, &|| false) {
                        if warnings.iter().all(|other| other.code != d.code) {
                            warnings.push(d);
                        }
                    }
                    rows
                }
                (Run::Without(why), _) => return Err(*why),
                _ => continue,
            };
            let width = set.base.bound().columns.len();
            all.extend(set.checked.data.iter().map(|datum| {
                let row = &rows[datum.row * width..][..width];
                let model = row[set.columns[datum.column].0];
                let residual = (model - datum.value) * datum.weight;
                Compared { set: k, column: datum.column, t: row[0], measured: datum.value, model, residual }
            }));
        }
        Ok((all, warnings))
    }
}

impl Residuals for (&Fit, &(dyn Fn() -> bool + Sync)) {
    fn at(&mut self, point: &[f64]) -> Result<Option<Evaluation>, Halted> {
        self.0.evaluate(point, self.1).map(Result::ok)
    }
}

/// Keeps rows until the caller wants to stop.
struct CollectedRows<'a> {
    rows: Vec<f64>,
    stop: &'a (dyn Fn() -> bool + Sync),
}

impl Recorder for CollectedRows<'_> {
    fn row(&mut self, values: &[f64]) -> ControlFlow<()> {
        self.rows.extend_from_slice(values);
        ControlFlow::Continue(())
    }

    fn step(&mut self, _t: f64) -> ControlFlow<()> {
        if (self.stop)() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// The model at the start, without anything that depends on the data.
fn probed(loaded: &Loaded, choices: &Choices, sets: &[DataSet]) -> Result<Simulation, Error> {
    let last = sets.iter().flat_map(|set| &set.times).copied().filter(|t| t.is_finite()).reduce(f64::max);
    let end = choices.t_end.or(last);
    let probe =
        Choices { t_end: end, samples: Some(SampleRule::End), record: Some(RecordRule::States), ..choices.clone() };
    let probe = loaded.simulate(&Choices { open: Vec::new(), sensitivities: false, ..probe }, Purpose::Rows);
    probe.map_err(|e| match e.diagnostics.first() {
        Some(d) if d.code == &codes::E0710 && choices.t_end.is_none() => {
            let d = Diagnostic::error(&codes::E0854, "all data are at the start of the run");
            Error::from(d.help("measure the quantities at later times"))
        }
        _ => e,
    })
}

/// Checks that names do not contradict each other.
fn named(sets: &[DataSet], quantities: &[FittedQuantity]) -> Result<(), Error> {
    if quantities.is_empty() {
        return Err(usage("there is nothing to fit".into(), "name parameters or initial values: `--params k1,k2`"));
    }
    if quantities.len() > MAX_QUANTITIES {
        let headline = format!("{} parameters exceed the limit of {MAX_QUANTITIES} for a fit", quantities.len());
        return Err(usage(headline, "fit some of them, and set the others"));
    }
    for (k, q) in quantities.iter().enumerate() {
        let name = &q.name;
        if quantities[..k].iter().any(|other| other.name == *name) {
            return Err(usage(format!("`{name}` occurs twice in the list of parameters"), "name each parameter once"));
        }
        if !(q.low < q.high) {
            return Err(usage(
                format!("the range of `{name}` needs two ends, the smaller one first"),
                format!("for example `{name}=0.1:10`"),
            ));
        }
        if q.spacing == Spacing::Logarithmic && !(q.low > 0.0) {
            return Err(usage(
                format!("to fit the logarithm of `{name}`, its range must be positive"),
                "leave out `:log`, or choose positive ends",
            ));
        }
        let own = |data: &&DataSet| data.values.iter().any(|(other, _)| other == name);
        if let Some(data) = sets.iter().find(own) {
            let headline = format!("`{name}` is fitted, but {} also gives it a value", data.shown);
            return Err(usage(headline, format!("leave `{name}` out of one of them")));
        }
    }
    for data in sets {
        for (k, (name, value)) in data.values.iter().enumerate() {
            if !value.is_finite() {
                return Err(usage(format!("{}: `{name}` is not a finite number", data.shown), "give a number"));
            }
            if data.values[..k].iter().any(|(other, _)| other == name) {
                return Err(usage(format!("{} sets `{name}` twice", data.shown), "keep one of the two values"));
            }
        }
    }
    Ok(())
}

/// Tightens the tolerances of the runs for a fit, and finds the columns of the data.
fn fine(mut choices: Choices, base: Simulation, checked: CheckedData) -> Result<Set, Error> {
    let options = &base.bound().options;
    let base = if choices.rtol.is_none() && options.rtol > TOLERANCE && !options.fixed {
        let part = TOLERANCE / options.rtol;
        choices.rtol = Some(TOLERANCE);
        if choices.atol.is_none() && choices.atol_for.is_empty() && options.atol.len() == 1 {
            choices.atol = Some(options.atol[0] * part);
        }
        base.again(&choices)?
    } else {
        base
    };
    let bound = base.bound();
    let rows = bound.samples.count().unwrap_or(1);
    let need = MemoryEstimate::of_run(bound).keeping(rows, bound.columns.len() as u64);
    need.within(base.choices().max_memory).map_err(|d| base.error(vec![*d]))?;
    let find = |name: &str| -> Result<usize, Error> {
        let found = bound.columns.find(name, "data").map_err(|d| base.error(vec![d]))?;
        found.first().copied().ok_or_else(|| usage(format!("`{name}` is not recorded"), "name a state or an output"))
    };
    let columns = checked.names.iter().map(|name| {
        let derivatives = choices.open.iter().map(|by| find(&format!("d({name})/d({by})")));
        Ok((find(name)?, derivatives.collect::<Result<Vec<_>, Error>>()?))
    });
    let columns = columns.collect::<Result<Vec<_>, Error>>()?;
    Ok(Set { checked, choices, base, columns })
}

/// The starting value of a quantity.
fn start(probe: &Simulation, q: &FittedQuantity) -> Result<Start, Error> {
    let (bound, name) = (probe.bound(), &q.name);
    let executor = &bound.executor;
    let parameters = Quantities::parameters(executor.program(), executor.layout());
    let mut own = None;
    for (list, values) in [(&parameters, executor.parameters()), (&bound.states, bound.problem.y0.as_slice())] {
        let chosen = list.select(name).unwrap_or_default();
        let places =
            chosen.iter().flat_map(|c| c.runs.iter().cloned().flatten().map(|e| list.list()[c.quantity].start + e));
        let places: Vec<usize> = places.collect();
        match places[..] {
            [] => {}
            [place] => own = own.or(Some(values[place])),
            _ => {
                let headline = format!("`{name}` has {} values", places.len());
                let first = chosen.first().map_or(name.clone(), |c| list.list()[c.quantity].element(0));
                return Err(usage(headline, format!("name the elements to fit: `{first}`")));
            }
        }
    }
    let Some(own) = own else {
        let known = || parameters.names().chain(bound.states.names());
        let help = match suggest::nearest(name, known()).first() {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("you can fit {}", suggest::list(known())),
        };
        return Err(usage(format!("`{name}` is neither a parameter nor an initial value"), help));
    };
    let inside = |x: f64| x >= q.low && x <= q.high;
    // `--set` of a fitted quantity gives its start
    let set = probe.choices().set.iter().any(|(set, _)| set == name).then_some(own);
    if let Some(start) = q.start.or(set) {
        if !inside(start) {
            let headline = format!("`{name}` starts at {}, outside its range", number(start));
            return Err(usage(headline, "choose a starting value within the range"));
        }
        return Ok(Start { value: start, outside: None });
    }
    let value = match q.spacing {
        _ if inside(own) => own,
        Spacing::Logarithmic => (q.low.ln() * 0.5 + q.high.ln() * 0.5).exp(),
        Spacing::Even if (q.high - q.low).is_finite() => 0.5 * q.low + 0.5 * q.high,
        Spacing::Even => own.clamp(q.low, q.high),
    };
    Ok(Start { value, outside: (!inside(own)).then_some(own) })
}

fn places_of(set: &Set, quantities: &[FittedQuantity]) -> Vec<Option<usize>> {
    quantities.iter().map(|q| set.choices.open.iter().position(|name| *name == q.name)).collect()
}
