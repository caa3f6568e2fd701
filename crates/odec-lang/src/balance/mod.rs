//! Checks whether the equations keep a conserved quantity constant: dE/dt = (dE/dy) y' + the derivative by time is
//! formed exactly and expanded. If that does not decide, it is evaluated at states around the start with a bound on
//! its rounding error.

mod expand;
mod path;
mod terms;
mod visited;

use std::cell::OnceCell;
use std::sync::{Arc, OnceLock};

use odec_ir::rounded::Rounded;
use odec_ir::{ArrayId, Graph, Kernel, KernelRole, Node, NodeId, Role, Span, Target, derive};

use crate::diagnostic::{Diagnostic, Label, codes};
use crate::lower::Draft;
use crate::model::{Body, Model, TermId, TermKind};
use crate::report::warning;
use crate::trial::{Trial, TrialSkipped};
use expand::{Calls, Expander, Sum};
pub use visited::{ChangeAlongRun, Visited};

/// Number of states at which a derivative is evaluated.
const TRIED: usize = 5;
/// Number of states at which the derivative of a large model is evaluated.
const TRIED_LARGE: usize = 2;
/// A model with at least this many elements of the state is large.
const LARGE: usize = 200;
/// Largest number of nodes that are visited to expand derivatives: each derivative visits its kernel.
const MAX_EXPANDED: usize = 2_000_000;
/// Largest number of products of a derivative in a message.
const MAX_SHOWN: usize = 6;
/// Calls that read the tables of inputs.
const LOOKUPS: [&str; 5] = ["item(", "piece(", "step(", "cycle(", "step_cycle("];
/// Along the solution, a value below this fraction of the terms is an error of these steps.
const STEP_ERROR: f64 = 1e-9;
/// The same for the coarse steps to the end of the run.
const PATH_ERROR: f64 = 0.05;

/// The effect of the equations on a conserved quantity.
#[derive(Clone, Debug, PartialEq)]
pub enum Balance {
    /// All terms of the derivative cancel.
    Symbolic,
    /// Its derivative is zero to rounding at this many states around the start.
    Numeric(usize),
    /// Its derivative is not zero.
    Changes(NonzeroDerivative),
    /// Its derivative is not zero everywhere, but is along the solution from the start of the model.
    ChangesElsewhere(NonzeroDerivative),
    /// The model has more states (first number) than odec checks (second number).
    TooLarge(usize, usize),
    /// It could not be decided.
    Unknown,
}

/// A derivative that is not zero.
#[derive(Clone, Debug, PartialEq)]
pub struct NonzeroDerivative {
    /// Name or text of the quantity.
    pub name: String,
    /// The derivative in the names of the source, if it is short.
    pub derivative: Option<String>,
    /// The initial value.
    pub at_start: f64,
    /// Terms of the equations that no other terms cancel, with their effects.
    pub terms: Vec<Label>,
}

impl Balance {
    /// The terms that change the quantity.
    pub fn change(&self) -> Option<&NonzeroDerivative> {
        match self {
            Balance::Changes(change) | Balance::ChangesElsewhere(change) => Some(change),
            Balance::Symbolic | Balance::Numeric(_) | Balance::TooLarge(..) | Balance::Unknown => None,
        }
    }
}

impl NonzeroDerivative {
    /// `d/dt of S + I + R is -0.1*A, not zero`
    pub fn sentence(&self) -> String {
        let name = &self.name;
        match &self.derivative {
            Some(text) => format!("d/dt of `{name}` is `{text}`, not zero"),
            None if self.at_start != 0.0 => {
                format!("d/dt of `{name}` is not zero: at the start it is {}", short(self.at_start))
            }
            None => format!("d/dt of `{name}` is not zero"),
        }
    }
}

/// A number with four digits at most.
pub(crate) fn short(x: f64) -> String {
    let text = format!("{x:.3e}").parse::<f64>().unwrap_or(x);
    let (plain, scientific) = (format!("{text}"), format!("{text:e}"));
    if scientific.len() < plain.len() { scientific } else { plain }
}

/// The effects of the equations on the conserved quantities of a model, computed on request: a run asks if a quantity
/// drifts too far, and most never do.
#[derive(Clone, Default)]
pub struct Balances(Option<Arc<BalanceRequest>>);

struct BalanceRequest {
    draft: Draft,
    answer: OnceLock<Vec<Balance>>,
}

impl Balances {
    fn open(draft: &Draft) -> Balances {
        Balances(Some(Arc::new(BalanceRequest { draft: draft.clone(), answer: OnceLock::new() })))
    }

    /// The balance of each of [`Model::conserved`] of the model that was lowered.
    pub fn of(&self, model: &Model) -> &[Balance] {
        self.0.as_ref().map_or(&[], |asked| asked.answer.get_or_init(|| of(model, &asked.draft)))
    }

    /// What changes each quantity at states that a run visited; `None` for those that the equations keep constant there.
    pub fn along_run(&self, model: &Model, visited: &[Visited]) -> Vec<Option<ChangeAlongRun>> {
        self.0.as_ref().map_or_else(Vec::new, |asked| visited::changes(model, &asked.draft, visited))
    }

    /// True if the answer has been computed, for tests.
    #[doc(hidden)]
    pub fn is_known(&self) -> bool {
        self.0.as_ref().is_some_and(|asked| asked.answer.get().is_some())
    }
}

/// Warnings for the quantities that change, and the effect of the equations on each. Numbers quickly show that a
/// quantity may change; which terms change it, or that all terms cancel, is computed only if needed.
pub(crate) fn check(model: &Model, draft: &Draft) -> (Vec<Diagnostic>, Balances) {
    // no equation contains the derivative of an algebraic unknown
    if model.conserved.is_empty() || model.states.iter().any(|state| state.algebraic) {
        return (Vec::new(), Balances::default());
    }
    let balances = Balances::open(draft);
    let warnings = if may_change(model, draft) { warnings(model, balances.of(model)) } else { Vec::new() };
    (warnings, balances)
}

/// True if numbers show that a quantity may change; otherwise [`of`] finds no [`Balance::Changes`].
fn may_change(model: &Model, draft: &Draft) -> bool {
    let Some(arrays) = conserved(model, draft) else { return false };
    let trial = match Trial::of(draft, derivatives(draft)) {
        Ok(trial) => trial,
        // an undecided quantity gets a note
        Err(TrialSkipped::Large(..)) => return true,
        Err(TrialSkipped::Unfit) => return false,
    };
    let Some(numbers) = Numbers::of(model, draft, trial) else { return false };
    arrays
        .iter()
        .any(|&array| !numbers.around(array).iter().all(|x| x.may_be_zero()) || numbers.elsewhere(array).is_some())
}

/// The arrays of the conserved quantities; `None` if their derivatives cannot be formed.
fn conserved(model: &Model, draft: &Draft) -> Option<Vec<ArrayId>> {
    let arrays = draft.arrays.iter().enumerate().filter(|(_, array)| array.role == Role::Conserved);
    let arrays: Vec<ArrayId> = arrays.map(|(i, _)| ArrayId(i as u32)).collect();
    (arrays.len() == model.conserved.len() && !reads_rates(draft)).then_some(arrays)
}

/// dE/dt of each of them, with y' as the direction.
fn derivatives(draft: &Draft) -> Vec<Kernel> {
    let outputs = draft.kernels.iter().filter(|kernel| kernel.role == KernelRole::Outputs);
    let derivatives = outputs.map(|kernel| derive::along_solution(&conserved_only(kernel, draft), &draft.arrays));
    derivatives.filter(|kernel| !kernel.stores.is_empty()).collect()
}

/// The effect of the equations on each conserved quantity of a model.
fn of(model: &Model, draft: &Draft) -> Vec<Balance> {
    let Some(arrays) = conserved(model, draft) else { return vec![Balance::Unknown; model.conserved.len()] };
    let derivatives = derivatives(draft);
    let mut symbols = Symbols::of(draft, &derivatives);
    let sums: Vec<Option<Sum>> = arrays.iter().map(|&array| symbols.sum(&derivatives, array)).collect();
    let decided = |sum: &Option<Sum>| sum.as_ref().is_some_and(Sum::is_zero);
    if sums.iter().all(decided) {
        return vec![Balance::Symbolic; sums.len()];
    }
    // the text keeps calls of inputs, whose values are polynomials
    let mut shown = Symbols::with(Expander::with_calls(calls(model)), draft, &derivatives);
    let written: Vec<Option<Sum>> = arrays.iter().map(|&array| shown.sum(&derivatives, array)).collect();
    let (numbers, undecided) = match Trial::of(draft, derivatives) {
        Ok(trial) => (Numbers::of(model, draft, trial), Balance::Unknown),
        Err(TrialSkipped::Large(states, most)) => (None, Balance::TooLarge(states, most)),
        Err(TrialSkipped::Unfit) => (None, Balance::Unknown),
    };
    let one = |(k, sum): (usize, &Option<Sum>)| {
        if decided(sum) {
            return Balance::Symbolic;
        }
        let Some(numbers) = &numbers else { return undecided.clone() };
        let text = written[k].as_ref().filter(|sum| sum.len() <= MAX_SHOWN && !sum.is_zero() && shown.is_closed());
        let text = text.map(|sum| shown.expander.text(sum, &draft.arrays, &model.time.name));
        // the tables of an input have no names in the model
        let text = text.filter(|text| !LOOKUPS.iter().any(|call| text.contains(call)));
        numbers.check(arrays[k], &model.conserved[k].name, text)
    };
    sums.iter().enumerate().map(one).collect()
}

/// The calls of inputs in the model. An argument of a function has no value at the call.
fn calls(model: &Model) -> Calls {
    let reads_argument = |root: TermId| {
        let mut open = vec![root];
        while let Some(id) = open.pop() {
            let kind = &model.terms[id.0 as usize].kind;
            if matches!(kind, TermKind::Argument(_)) {
                return true;
            }
            crate::model::walk::operands(kind, |id| open.push(id));
        }
        false
    };
    let mut found = Calls::new();
    for term in &model.terms {
        let TermKind::Input(input, argument) = &term.kind else { continue };
        if !reads_argument(*argument) {
            let body = Body { start: argument.0, end: argument.0 + 1, root: *argument };
            found.insert(term.span, format!("{}({})", model.inputs[*input].name, model.expression(body)));
        }
    }
    found
}

/// Warnings for the quantities that change, notes for those that are not examined.
fn warnings(model: &Model, balances: &[Balance]) -> Vec<Diagnostic> {
    let said = model.conserved.iter().zip(balances).filter_map(|(line, balance)| {
        let span = model.span(line.value);
        match balance {
            Balance::Changes(change) => {
                let mut report = warning(&codes::W0508, change.sentence(), span, "the model itself changes this");
                report.labels.extend(change.terms.iter().cloned());
                Some(report.help(
                    "give the remaining terms a counterpart, or conserve another quantity; no tolerance and no \
                     method can prevent this drift",
                ))
            }
            Balance::TooLarge(states, most) => {
                let headline = format!("odec does not know whether the equations keep `{}` constant", line.name);
                let text = format!("the model has {states} states; odec checks at most {most}");
                Some(Diagnostic::note(&codes::N0102, headline).label(span, text).help(
                    "`odec check --set N=...` checks the same equations on a smaller index set; `odec test` checks \
                     the drift of the run",
                ))
            }
            _ => None,
        }
    });
    said.collect()
}

/// A kernel with only the stores of conserved quantities.
fn conserved_only(kernel: &Kernel, draft: &Draft) -> Kernel {
    let mut kernel = kernel.clone();
    let stores = std::mem::take(&mut kernel.stores);
    let conserved = |target: Target| match target {
        Target::Set(element) | Target::Add(element) => {
            draft.arrays[kernel.array(element).0 as usize].role == Role::Conserved
        }
        Target::Entry(..) => false,
    };
    let kept = stores.into_iter().filter(|store| conserved(store.target)).collect();
    kernel.stores = kept;
    kernel
}

/// True if a conserved quantity depends on derivatives that a mass matrix determines: its derivative then needs the
/// next ones.
fn reads_rates(draft: &Draft) -> bool {
    let outputs = draft.kernels.iter().filter(|kernel| kernel.role == KernelRole::Outputs);
    outputs
        .map(|kernel| conserved_only(kernel, draft))
        .any(|kernel| kernel.live().any(|(_, node)| matches!(node, Node::Direction(_))))
}

/// The derivatives as sums of products, of a model without index sets.
struct Symbols {
    expander: Expander,
    /// y' of each state; empty if the equations do not determine all of them.
    rates: Vec<(ArrayId, Sum)>,
    /// Equations are scalar, and without a mass matrix.
    scalar: bool,
}

impl Symbols {
    fn of(draft: &Draft, derivatives: &[Kernel]) -> Symbols {
        Symbols::with(Expander::default(), draft, derivatives)
    }

    fn with(expander: Expander, draft: &Draft, derivatives: &[Kernel]) -> Symbols {
        let has_mass = draft.kernels.iter().any(|kernel| kernel.role == KernelRole::Mass);
        let scalar = !has_mass && draft.kernels.iter().chain(derivatives).all(Kernel::is_scalar);
        let mut symbols = Symbols { expander, rates: Vec::new(), scalar };
        if !scalar {
            return symbols;
        }
        // only the requested derivatives: a small sum does not expand the equations of a large model
        let mut wanted: Vec<ArrayId> = Vec::new();
        for kernel in derivatives {
            wanted.extend(kernel.live().filter_map(|(_, node)| match node {
                Node::Direction(element) => element.scalar(),
                _ => None,
            }));
        }
        wanted.sort_unstable();
        wanted.dedup();
        let rhs = draft.kernels.iter().filter(|kernel| kernel.role == KernelRole::Rhs);
        if rhs.map(|kernel| kernel.graph.len()).sum::<usize>() * wanted.len() > MAX_EXPANDED {
            symbols.scalar = false;
            return symbols;
        }
        for kernel in draft.kernels.iter().filter(|kernel| kernel.role == KernelRole::Rhs) {
            for store in &kernel.stores {
                let Target::Set(element) = store.target else { continue };
                let Some(array) = element.scalar().filter(|array| wanted.binary_search(array).is_ok()) else {
                    continue;
                };
                if let Some(sum) = symbols.expander.expand(&kernel.graph, store.node, &|_| None) {
                    symbols.rates.push((array, sum));
                }
            }
        }
        symbols
    }

    /// True if the texts contain no derivatives.
    fn is_closed(&self) -> bool {
        self.scalar
    }

    fn sum(&mut self, derivatives: &[Kernel], array: ArrayId) -> Option<Sum> {
        if !self.scalar {
            return None;
        }
        let (graph, node) = stored(derivatives, array)?;
        let rates = std::mem::take(&mut self.rates);
        let rate = |array: ArrayId| rates.iter().find(|(of, _)| *of == array).map(|(_, sum)| sum.clone());
        let sum = self.expander.expand(graph, node, &rate);
        self.rates = rates;
        sum
    }
}

/// The value stored for an array.
fn stored(kernels: &[Kernel], array: ArrayId) -> Option<(&Graph, NodeId)> {
    kernels.iter().find_map(|kernel| {
        let store = kernel.stores.iter().find(|store| match store.target {
            Target::Set(element) => kernel.array(element) == array,
            _ => false,
        })?;
        Some((&kernel.graph, store.node))
    })
}

/// A point in time and state.
struct Point {
    t: f64,
    y: Vec<f64>,
}

/// The derivatives at numbers.
struct Numbers<'a> {
    model: &'a Model,
    draft: &'a Draft,
    trial: Trial,
    start: Point,
    /// Around the start, at times of the run.
    around: Vec<Point>,
    /// The derivatives there, for each output; `None` if the equations do not determine them.
    derivatives: Vec<Option<Vec<Rounded>>>,
    /// The initial state at other times of the run.
    later: Vec<Point>,
    /// The scale of states that start at zero.
    scale: f64,
    /// Points on the solution from the start.
    along: OnceCell<Vec<Point>>,
    /// Points on a coarse solution up to the end of the run.
    far: OnceCell<Vec<Point>>,
}

impl<'a> Numbers<'a> {
    fn of(model: &'a Model, draft: &'a Draft, trial: Trial) -> Option<Numbers<'a>> {
        let (from, to) = model.span_of_run();
        let start = Point { t: from, y: trial.initial(from) };
        if !start.y.iter().all(|x| x.is_finite()) {
            return None;
        }
        let mut random = Random(0x9E37_79B9_7F4A_7C15);
        let scale = scale_of(&start.y);
        let count = if trial.len() > LARGE { TRIED_LARGE } else { TRIED };
        let mut around = Vec::new();
        let mut later = Vec::new();
        for k in 0..count {
            let t = from + random.unit() * (to - from);
            // nonnegative states may be under roots and logarithms: every second point stays above the start
            let sided = |u: f64| if k % 2 == 0 { u } else { 2.0 * u - 1.0 };
            let near = |x: &f64| {
                let u = sided(random.unit());
                if *x == 0.0 { u * scale } else { x * (1.0 + 0.5 * u) }
            };
            around.push(Point { t, y: start.y.iter().map(near).collect() });
            later.push(Point { t, y: start.y.clone() });
        }
        let derivatives = around.iter().map(|point| all_derivatives(&trial, point)).collect();
        Some(Numbers {
            model,
            draft,
            trial,
            start,
            around,
            derivatives,
            later,
            scale,
            along: OnceCell::new(),
            far: OnceCell::new(),
        })
    }

    /// The finite derivatives at the points around the start.
    fn around(&self, array: ArrayId) -> Vec<Rounded> {
        let output = self.trial.layout().output(array);
        let derivatives = self.derivatives.iter().flatten().filter_map(|all| all.get(output));
        derivatives.copied().filter(|x| x.is_finite()).collect()
    }

    /// A few points on the solution from the start.
    fn along(&self) -> &[Point] {
        self.along.get_or_init(|| path::start(&self.trial, &self.start, self.scale))
    }

    /// The derivative at a point.
    fn derivative(&self, array: ArrayId, point: &Point) -> Option<Rounded> {
        derivative(&self.trial, array, point)
    }

    /// Points on the solution in which the derivative is not zero, although it is around the start: conditions may make
    /// other terms active there. `None` if there are none.
    fn elsewhere(&self, array: ArrayId) -> Option<Vec<&Point>> {
        let far = self.far.get_or_init(|| {
            let fits = self.trial.len() <= LARGE && self.model.events.is_empty() && path::chooses(self.draft);
            if fits { path::from(&self.trial, &self.start, self.scale, self.model.span_of_run().1) } else { Vec::new() }
        });
        let changes = |point: &&Point| {
            let rate = self.derivative(array, point);
            rate.is_some_and(|x| !x.may_be_zero() && x.value.abs() > PATH_ERROR * x.size())
        };
        let points: Vec<&Point> = far.iter().filter(changes).take(TRIED).collect();
        (!points.is_empty()).then_some(points)
    }

    fn check(&self, array: ArrayId, name: &str, text: Option<String>) -> Balance {
        let at = |points: &[Point]| -> Vec<Rounded> {
            points.iter().filter_map(|point| self.derivative(array, point)).collect()
        };
        let around = self.around(array);
        if around.is_empty() {
            return Balance::Unknown;
        }
        if around.iter().all(|x| x.may_be_zero()) {
            let Some(points) = self.elsewhere(array) else { return Balance::Numeric(around.len()) };
            let terms = terms::remaining(self.model, self.draft, &self.trial, array, &points);
            let change = NonzeroDerivative { name: name.to_owned(), derivative: text, at_start: 0.0, terms };
            return Balance::Changes(change);
        }
        let start = self.derivative(array, &self.start);
        let leaves = |x: &Rounded| !x.may_be_zero();
        let changes = start.iter().any(leaves)
            || at(&self.later).iter().any(leaves)
            || at(self.along()).iter().any(|x| !x.may_be_zero() && x.value.abs() > STEP_ERROR * x.size());
        let points: Vec<&Point> = self.around.iter().collect();
        let terms = terms::remaining(self.model, self.draft, &self.trial, array, &points);
        let at_start = start.filter(leaves).map_or(0.0, |x| x.value);
        let change = NonzeroDerivative { name: name.to_owned(), derivative: text, at_start, terms };
        if changes { Balance::Changes(change) } else { Balance::ChangesElsewhere(change) }
    }
}

/// The derivative of a quantity at a point, if it is finite.
fn derivative(trial: &Trial, array: ArrayId, point: &Point) -> Option<Rounded> {
    let all = all_derivatives(trial, point)?;
    all.get(trial.layout().output(array)).copied().filter(|x| x.is_finite())
}

/// The derivatives of all quantities at a point, by output.
fn all_derivatives(trial: &Trial, point: &Point) -> Option<Vec<Rounded>> {
    let y: Vec<Rounded> = point.y.iter().map(|&x| Rounded::exact(x)).collect();
    let rates = trial.rates(point.t, &y)?;
    Some(trial.quantities(point.t, &y, &rates))
}

/// The scale of states that start at zero.
fn scale_of(y: &[f64]) -> f64 {
    let mut sizes: Vec<f64> = y.iter().map(|x| x.abs()).filter(|x| *x > 0.0).collect();
    sizes.sort_by(f64::total_cmp);
    sizes.get(sizes.len() / 2).copied().unwrap_or(1.0)
}

/// Pseudorandom numbers that are the same in every run (D. Knuth's multiplier for 64 bits).
struct Random(u64);

impl Random {
    /// Between 0 and 1.
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// The source location of a term, if it has one.
fn place(span: Span) -> Option<Span> {
    (span.end > span.start).then_some(span)
}
