//! W = alpha*M - J for the implicit methods: one place forms it, reduces it where the problem is of second order, and solves.
//!
//! Where M depends on the state, the equation M(t, y) w(y) = f(t, y) has the derivative alpha*M + d(M(y) w)/dy - df/dy at
//! fixed w, and J stands for df/dy - d(M(y) w)/dy.

use std::borrow::Cow;
use std::sync::Arc;

use crate::evaluator::Evaluator;
use crate::linear::choice::{COMPILED, Request, admit, exact};
use crate::linear::dense::Dense;
use crate::linear::free::Free;
use crate::linear::memory::{Key, Known};
use crate::linear::second_order::Reduction;
use crate::linear::solver::Solver;
use crate::linear::staggered::Staggered;
use crate::linear::straight::{Direct, Straight};
use crate::linear::{
    Assembled, Complex, Eliminator, Goal, Kind, Linear, LinearReport, MassMatrix, Misfit, Origin, Parts, Scalar,
};
use crate::pattern::Pattern;
use crate::problem::{Cause, Options, Refusal};
use crate::system::{Mass, Shape, System};

/// W = alpha*M - J with the Jacobian it holds, or the place it is taken at, and the factors last made.
pub struct Shifted {
    jacobian: Vec<f64>,
    mass: MassMatrix,
    /// Present where M depends on the state.
    moving: Option<Box<Moving>>,
    alpha: f64,
    way: Way,
}

/// The parts of W.
fn parts_of<'a, S>(alpha: S, jacobian: &'a [f64], mass: &'a MassMatrix) -> Parts<'a, S> {
    Parts { alpha, jacobian, mass: mass.assembled().map(Assembled::values) }
}

/// With the values of J, or without.
enum Way {
    Held(Form<f64>),
    Free(Box<Free>),
}

/// Refuses a system whose Jacobian is not held to what needs its values.
pub(super) fn held(system: &dyn System) -> Result<(), Refusal> {
    if system.holds_jacobian() { Ok(()) } else { Err(Misfit::JacobianNotHeld { n: system.shape().n }.into()) }
}

/// The term d(M(y) w)/dy: J is then held on the union of its pattern with that of df/dy.
struct Moving {
    rhs: Vec<f64>,
    mass: Vec<f64>,
    /// Entry of J of each entry of df/dy, and of each of d(M w)/dy.
    from_rhs: Vec<u32>,
    from_mass: Vec<u32>,
}

/// Makes the solver for a pattern.
#[derive(Clone, Copy)]
pub(super) struct Make<'a, S> {
    pub solver: &'a dyn Fn(&Pattern) -> Result<Solver<S>, Refusal>,
    /// What was asked for.
    pub request: Request<'a>,
}

/// W for an alpha that may be complex, and J and M that are real.
pub(super) enum Form<S> {
    Full(Box<Full<S>>),
    Reduced(Box<Reduction<S>>),
    /// One of the others for the first of several groups of unknowns.
    Staggered(Box<Staggered<S>>),
}

impl<S: Scalar> Form<S> {
    fn new(
        (shape, groups): (Shape, usize),
        jacobian: &Pattern,
        mass: &MassMatrix,
        reduce: bool,
        make: Make<'_, S>,
    ) -> Result<Self, Refusal> {
        if groups > 1 {
            let inner = |shape: Shape, jacobian: &Pattern, mass: &MassMatrix| {
                Form::new((shape, 1), jacobian, mass, reduce, make)
            };
            if let Some(staggered) = Staggered::new((shape, groups), jacobian, mass, &inner)? {
                return Ok(Form::Staggered(Box::new(staggered)));
            }
        }
        if reduce && shape.second > 0 && make.request.eliminator.is_some() && jacobian.entries() as f64 <= COMPILED {
            // Code for the whole of W eliminates positions by as many multiplications, and nothing is formed for it.
            let full = Full::new(shape.n, jacobian, mass, make)?;
            if full.direct.is_some() {
                return Ok(Form::Full(Box::new(full)));
            }
        }
        Ok(if reduce && shape.second > 0 {
            Form::Reduced(Box::new(Reduction::new(shape, jacobian, mass, make)?))
        } else {
            Form::Full(Box::new(Full::new(shape.n, jacobian, mass, make)?))
        })
    }

    pub(super) fn factor(&mut self, parts: Parts<'_, S>) -> Result<(), Cause> {
        match self {
            Form::Full(full) => full.factor(parts),
            Form::Reduced(reduction) => reduction.factor(parts.alpha, parts.jacobian, parts.mass),
            Form::Staggered(staggered) => return staggered.factor(parts.alpha, parts.jacobian),
        }
        .map_err(|col| Cause::Singular { col })
    }

    pub(super) fn solve(&mut self, parts: Parts<'_, S>, r: &mut [S]) {
        match self {
            Form::Full(full) => full.solve(parts, r),
            Form::Reduced(reduction) => reduction.solve(r),
            Form::Staggered(staggered) => staggered.solve(r),
        }
    }

    fn solve_to(&mut self, parts: Parts<'_, S>, b: &[S], x: &mut [S]) {
        match self {
            Form::Full(full) => full.solve_to(parts, b, x),
            Form::Reduced(reduction) => {
                x.copy_from_slice(b);
                reduction.solve(x);
            }
            Form::Staggered(staggered) => {
                x.copy_from_slice(b);
                staggered.solve(x);
            }
        }
    }

    pub(super) fn solve_within(&mut self, parts: Parts<'_, S>, r: &mut [S], goal: Goal<'_>) -> bool {
        match self {
            Form::Full(full) if full.iterates() => full.solver().solve_within(r, goal),
            Form::Full(full) => {
                full.solve(parts, r);
                true
            }
            Form::Reduced(reduction) => reduction.solve_within(r, goal),
            Form::Staggered(staggered) => staggered.solve_within(r, goal),
        }
    }

    /// Says that solutions did not serve as well as they should.
    pub(super) fn doubt(&mut self) {
        match self {
            Form::Full(full) => {
                if let Some(solver) = &mut full.solver {
                    solver.doubt();
                }
            }
            Form::Reduced(reduction) => reduction.doubt(),
            Form::Staggered(staggered) => staggered.doubt(),
        }
    }

    pub(super) fn iterates(&self) -> bool {
        match self {
            Form::Full(full) => full.iterates(),
            Form::Reduced(reduction) => reduction.iterates(),
            Form::Staggered(staggered) => staggered.iterates(),
        }
    }

    /// Without traces of matrices before; false where they cannot be taken away.
    fn renew(&mut self) -> bool {
        match self {
            Form::Full(full) => full.renew(),
            Form::Reduced(_) | Form::Staggered(_) => false,
        }
    }

    pub(super) fn report(&self) -> LinearReport {
        match self {
            Form::Full(full) => full.report(),
            Form::Reduced(reduction) => reduction.report(),
            Form::Staggered(staggered) => staggered.report(),
        }
    }
}

/// The pattern that J is held on: that of df/dy, with that of d(M w)/dy where M varies.
fn jacobian_pattern(system: &dyn System) -> Cow<'_, Pattern> {
    let own = system.jacobian_pattern();
    match system.mass() {
        Mass::StateDependent { jacobian, .. } => {
            let n = system.shape().n;
            Cow::Owned(Pattern::from_positions(n, n, own.positions().chain(jacobian.positions())))
        }
        _ => Cow::Borrowed(own),
    }
}

impl Shifted {
    /// Structure for a system; the options say whether positions are eliminated in second-order problems, and which solver.
    pub fn new(system: &dyn System, options: &Options) -> Result<Self, Refusal> {
        if !system.holds_jacobian() && matches!(options.linear, Linear::Auto | Linear::Krylov) {
            let (shape, mass) = (system.shape(), MassMatrix::of(system.mass()));
            let second = if options.reduce { shape.second } else { 0 };
            let way = Way::Free(Box::new(Free::new(shape.n, second)));
            return Ok(Shifted { jacobian: Vec::new(), mass, moving: None, alpha: 0.0, way });
        }
        // Incomplete factors need a diagonal, which a singular M may leave empty.
        let wish = match options.linear {
            Linear::Auto if MassMatrix::of(system.mass()).may_lack_diagonal() => {
                return Self::exact(system, options, "");
            }
            wish => wish,
        };
        let request = Request { wish, ..Request::of(options) };
        let make = Make { solver: &|pattern| Solver::iterating(pattern, request), request };
        Self::with(system, options.reduce, make)
    }

    fn with(system: &dyn System, reduce: bool, make: Make<'_, f64>) -> Result<Self, Refusal> {
        let shape = system.shape();
        held(system)?;
        let own = system.jacobian_pattern();
        admit(own)?;
        let mass = MassMatrix::of(system.mass());
        let mut moving = None;
        if let Mass::StateDependent { jacobian, .. } = system.mass() {
            admit(jacobian)?;
        }
        let pattern = jacobian_pattern(system);
        if let Mass::StateDependent { jacobian, .. } = system.mass() {
            let slots = |p: &Pattern| p.positions().map(|(r, c)| pattern.find(r, c).unwrap_or(0) as u32).collect();
            moving = Some(Box::new(Moving {
                rhs: vec![0.0; own.entries()],
                mass: vec![0.0; jacobian.entries()],
                from_rhs: slots(own),
                from_mass: slots(jacobian),
            }));
        }
        let form = Form::new((shape, system.groups()), &pattern, &mass, reduce, make)?;
        Ok(Shifted { jacobian: vec![0.0; pattern.entries()], mass, moving, alpha: 0.0, way: Way::Held(form) })
    }

    /// As [`Shifted::new`], for a method that takes the solutions as exact: an iteration is refused.
    pub fn exact(system: &dyn System, options: &Options, method: &str) -> Result<Self, Refusal> {
        exact(options.linear, method)?;
        let request = Request::of(options);
        Self::with(system, options.reduce, Make { solver: &|pattern| Solver::new(pattern, request), request })
    }

    /// Evaluates df/dy, and M where it varies, at (t, y). The factors stay those of the last `factor`.
    pub fn evaluate(&mut self, eval: &mut Evaluator<'_>, t: f64, y: &[f64]) -> Result<(), Cause> {
        if let Way::Free(free) = &mut self.way {
            free.place(t, y);
            return self.mass.update(eval, t, y);
        }
        let Some(moving) = &mut self.moving else { return eval.jacobian(t, y, &mut self.jacobian) };
        eval.jacobian(t, y, &mut moving.rhs)?;
        self.jacobian.fill(0.0);
        for (slot, value) in moving.from_rhs.iter().zip(&moving.rhs) {
            self.jacobian[*slot as usize] = *value;
        }
        self.mass.update(eval, t, y)
    }

    /// As [`Shifted::evaluate`], and where M varies J becomes df/dy - d(M(t, y) w)/dy, for the approximation `w` of y'.
    pub fn evaluate_moving(&mut self, eval: &mut Evaluator<'_>, t: f64, y: &[f64], w: &[f64]) -> Result<(), Cause> {
        self.evaluate(eval, t, y)?;
        let Some(moving) = &mut self.moving else { return Ok(()) };
        eval.mass_jacobian(t, y, w, &mut moving.mass)?;
        for (slot, value) in moving.from_mass.iter().zip(&moving.mass) {
            self.jacobian[*slot as usize] -= value;
        }
        Ok(())
    }

    /// Takes M(t, y) alone from another place than df/dy: the linearised one-step form has M(t1, y0) beside J(t0, y0).
    pub fn evaluate_mass(&mut self, eval: &mut Evaluator<'_>, t: f64, y: &[f64]) -> Result<(), Cause> {
        self.mass.update(eval, t, y)
    }

    /// M as last evaluated.
    pub fn mass(&self) -> &MassMatrix {
        &self.mass
    }

    /// Forms and factors W for `alpha` and the M and J held.
    pub fn factor(&mut self, eval: &mut Evaluator<'_>, alpha: f64) -> Result<(), Cause> {
        eval.stats.factorisations += 1;
        self.alpha = alpha;
        match &mut self.way {
            Way::Held(form) => form.factor(parts_of(alpha, &self.jacobian, &self.mass)),
            Way::Free(free) => {
                free.prepare(alpha, &self.mass);
                Ok(())
            }
        }
    }

    /// alpha of the last factorisation.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// Replaces `r` (n values) by the solution z of W z = r.
    pub fn solve(&mut self, eval: &mut Evaluator<'_>, r: &mut [f64]) {
        eval.stats.solves += 1;
        match &mut self.way {
            Way::Held(form) => form.solve(parts_of(self.alpha, &self.jacobian, &self.mass), r),
            Way::Free(free) => {
                free.solve(eval.system(), &self.mass, r, None);
            }
        }
    }

    /// As [`Shifted::solve`], from the right side `b` to `x` (n values each).
    #[inline]
    pub fn solve_to(&mut self, eval: &mut Evaluator<'_>, b: &[f64], x: &mut [f64]) {
        eval.stats.solves += 1;
        match &mut self.way {
            Way::Held(form) => form.solve_to(parts_of(self.alpha, &self.jacobian, &self.mass), b, x),
            Way::Free(free) => {
                x.copy_from_slice(b);
                free.solve(eval.system(), &self.mass, x, None);
            }
        }
    }

    /// As [`Shifted::solve`], where an iteration may leave an error of `goal`; false where it did not get there.
    pub fn solve_within(&mut self, eval: &mut Evaluator<'_>, r: &mut [f64], goal: Goal<'_>) -> bool {
        eval.stats.solves += 1;
        match &mut self.way {
            Way::Held(form) => form.solve_within(parts_of(self.alpha, &self.jacobian, &self.mass), r, goal),
            Way::Free(free) => free.solve(eval.system(), &self.mass, r, Some(goal)),
        }
    }

    /// Makes it what it was when it was built; false where it has to be built anew for that.
    pub fn renew(&mut self) -> bool {
        match &mut self.way {
            Way::Held(form) => self.mass.is_identity() && form.renew(),
            Way::Free(_) => false,
        }
    }

    /// Says that solutions did not serve as well as they should: the next is looked at more closely.
    pub fn doubt(&mut self) {
        if let Way::Held(form) = &mut self.way {
            form.doubt();
        }
    }

    /// True where solutions are iterated for: then factors are cheap and solutions are not.
    pub fn iterates(&self) -> bool {
        match &self.way {
            Way::Held(form) => form.iterates(),
            Way::Free(_) => true,
        }
    }

    /// What W is solved with.
    pub fn report(&self) -> LinearReport {
        match &self.way {
            Way::Held(form) => form.report(),
            Way::Free(free) => free.report(),
        }
    }
}

/// W for a complex alpha, with the J and M that a real one holds.
pub struct ComplexShifted {
    form: Form<Complex>,
    alpha: Complex,
    r: Vec<Complex>,
    x: Vec<Complex>,
}

impl ComplexShifted {
    /// Structure for a system.
    pub fn new(system: &dyn System, options: &Options) -> Result<Self, Refusal> {
        admit(system.jacobian_pattern())?;
        let mass = MassMatrix::of(system.mass());
        let shape = system.shape();
        let request = Request::of(options);
        let make = Make { solver: &|pattern: &Pattern| Solver::new(pattern, request), request };
        let form = Form::new((shape, system.groups()), &jacobian_pattern(system), &mass, options.reduce, make)?;
        let zero = || vec![Complex::ZERO; shape.n];
        Ok(ComplexShifted { form, alpha: Complex::ONE, r: zero(), x: zero() })
    }

    /// Forms and factors W for alpha = `re` + i `im` and what `held` has evaluated.
    pub fn factor(&mut self, eval: &mut Evaluator<'_>, re: f64, im: f64, held: &Shifted) -> Result<(), Cause> {
        eval.stats.factorisations += 1;
        self.alpha = Complex::new(re, im);
        self.form.factor(parts_of(self.alpha, &held.jacobian, &held.mass))
    }

    /// As [`Shifted::renew`].
    pub fn renew(&mut self) -> bool {
        self.form.renew()
    }

    /// Replaces the right side `re` + i `im` by the solution; `held` is what `factor` was given, not evaluated again since.
    pub fn solve(&mut self, eval: &mut Evaluator<'_>, re: &mut [f64], im: &mut [f64], held: &Shifted) {
        eval.stats.solves += 1;
        for (r, (re, im)) in self.r.iter_mut().zip(re.iter().zip(im.iter())) {
            *r = Complex::new(*re, *im);
        }
        self.form.solve_to(parts_of(self.alpha, &held.jacobian, &held.mass), &self.r, &mut self.x);
        for (r, (re, im)) in self.x.iter().zip(re.iter_mut().zip(im)) {
            (*re, *im) = (r.re, r.im);
        }
    }
}

/// W at full size.
pub(super) struct Full<S> {
    /// Entry of W of each entry of J, and of each of M.
    origin: Arc<Origin>,
    /// Absent while code with pivots on the diagonal serves.
    solver: Option<Solver<S>>,
    /// What is known of the pattern, and who writes code for it.
    known: Option<(Arc<Known>, Arc<dyn Eliminator>)>,
    direct: Option<Box<Direct>>,
    right: Vec<S>,
}

impl<S: Scalar> Full<S> {
    pub(super) fn new(n: usize, jacobian: &Pattern, mass: &MassMatrix, make: Make<'_, S>) -> Result<Self, Refusal> {
        let unit = mass.is_identity();
        // Where M = I, W has a diagonal that outweighs the rest while steps are small: pivots on it serve at the start.
        let eliminator = make.request.eliminator.filter(|_| unit && jacobian.entries() > 0);
        let right = vec![S::ZERO; n];
        let of_known = |known: Arc<Known>, eliminator: &Arc<dyn Eliminator>, right: Vec<S>| Full {
            origin: Arc::clone(&known.origin),
            solver: None,
            direct: Some(Box::new(Direct::new::<S>(Arc::clone(&known.code), &known.origin, n))),
            known: Some((known, Arc::clone(eliminator))),
            right,
        };
        let key = Key { jacobian, wish: make.request.wish, complex: S::PARTS == 2 };
        if let Some(eliminator) = eliminator
            && let Some(known) = eliminator.memory().find(key)
        {
            return Ok(of_known(known, eliminator, right));
        }
        let mass = mass_positions(mass, n);
        // Most often M is where J is already.
        let inside: Option<Vec<u32>> = mass.iter().map(|(r, c)| jacobian.find(*r, *c).map(|e| e as u32)).collect();
        let (pattern, origin) = match inside {
            Some(mass) => {
                let all = (0..jacobian.entries() as u32).collect();
                (jacobian.clone(), Origin { jacobian: all, mass, unit })
            }
            None => {
                let pattern = Pattern::from_positions(n, n, jacobian.positions().chain(mass.iter().copied()));
                let slot = |(row, col)| pattern.find(row, col).unwrap_or(0) as u32;
                let jacobian = jacobian.positions().map(slot).collect();
                let mass = mass.iter().copied().map(slot).collect();
                (pattern, Origin { jacobian, mass, unit })
            }
        };
        let origin = Arc::new(origin);
        let mut solver = (make.solver)(&pattern)?;
        if let Some(eliminator) = eliminator
            && let Some((order, fill)) = solver.order()
            && let Some(known) = eliminator.memory().keep(key, (&pattern, &origin), (order, fill), eliminator.as_ref())
        {
            return Ok(of_known(known, eliminator, right));
        }
        solver.take_apart(&origin);
        Ok(Full { origin, solver: Some(solver), known: None, direct: None, right })
    }

    /// The solver of the matrix formed.
    fn solver(&mut self) -> &mut Solver<S> {
        let Full { origin, solver, known, right, .. } = self;
        solver.get_or_insert_with(|| match known {
            Some((known, eliminator)) => {
                let mut solver = Solver::with(&known.pattern, Box::new(Straight::of(known, eliminator)));
                solver.take_apart(origin);
                solver
            }
            // not met: what has no solver is known
            None => {
                let pattern = Pattern::from_positions(right.len(), right.len(), []);
                Solver::with(&pattern, Box::new(Dense::new(&pattern)))
            }
        })
    }

    fn iterates(&self) -> bool {
        self.solver.as_ref().is_some_and(Solver::iterates)
    }

    /// Back to the code that is known of the pattern, where pivots of other matrices took its place; or to the start of an iteration.
    fn renew(&mut self) -> bool {
        let Some((known, _)) = &self.known else { return self.solver.as_mut().is_some_and(Solver::renew) };
        if self.solver.take().is_some() {
            self.direct = Some(Box::new(Direct::new::<S>(Arc::clone(&known.code), &known.origin, self.right.len())));
        }
        true
    }

    pub(super) fn report(&self) -> LinearReport {
        match (&self.solver, &self.known) {
            (None, Some((known, _))) => known.report(),
            (None, None) => LinearReport::new(Kind::Compiled, &Pattern::from_positions(0, 0, [])),
            (Some(solver), _) => solver.report(),
        }
    }

    /// W from its parts, as the matrix of the solver.
    fn form(&mut self, Parts { alpha, jacobian, mass }: Parts<'_, S>) {
        let origin = Arc::clone(&self.origin);
        let values = self.solver().values_mut();
        if origin.jacobian.len() == values.len() {
            // J fills the whole pattern: its entries are those of W.
            for (to, value) in values.iter_mut().zip(jacobian) {
                *to = S::ZERO - S::from(*value);
            }
        } else {
            values.fill(S::ZERO);
            for (slot, value) in origin.jacobian.iter().zip(jacobian) {
                values[*slot as usize] -= S::from(*value);
            }
        }
        match mass {
            None => origin.mass.iter().for_each(|slot| values[*slot as usize] += alpha),
            Some(mass) => {
                origin.mass.iter().zip(mass).for_each(|(slot, m)| values[*slot as usize] += alpha * *m);
            }
        }
    }

    pub(super) fn factor(&mut self, parts: Parts<'_, S>) -> Result<(), usize> {
        if let Some(direct) = &mut self.direct {
            if direct.factor(parts) {
                return Ok(());
            }
            // a pivot vanished
            self.form(parts);
            self.solver().without_code()?;
            self.take_code();
            return Ok(());
        }
        self.form(parts);
        let made = self.solver().factor();
        self.take_code();
        made
    }

    #[inline]
    pub(super) fn solve_to(&mut self, parts: Parts<'_, S>, b: &[S], x: &mut [S]) {
        match &mut self.direct {
            Some(direct) if direct.in_force => {
                direct.solve(b, x);
                if std::mem::take(&mut direct.first) && !direct.is_accurate(parts.jacobian, b, x) {
                    self.settle(parts, b, x);
                }
            }
            _ => {
                x.copy_from_slice(b);
                self.solver().solve(x);
            }
        }
    }

    /// A first solution by code whose error is not known to be small: it is refined, or pivots are chosen for this
    /// matrix, and from the next one on there is code for these.
    #[cold]
    fn settle(&mut self, parts: Parts<'_, S>, b: &[S], x: &mut [S]) {
        self.form(parts);
        let (Some(direct), Some(solver)) = (&mut self.direct, &mut self.solver) else { return };
        if solver.settle(b, x, |residual| direct.correct(residual)) {
            return;
        }
        match solver.without_code() {
            Ok(()) => {
                x.copy_from_slice(b);
                solver.solve(x);
                self.take_code();
            }
            // A matrix that is singular to rounding leaves the caller with a solution that is not finite.
            Err(_) => x.fill(S::from(f64::NAN)),
        }
    }

    /// Takes the code that the solver has now, for further matrices.
    #[cold]
    fn take_code(&mut self) {
        let n = self.right.len();
        let code = self.solver().code();
        self.direct = code.map(|code| Box::new(Direct::new::<S>(code, &self.origin, n)));
    }

    pub(super) fn solve(&mut self, parts: Parts<'_, S>, r: &mut [S]) {
        if self.direct.as_ref().is_some_and(|direct| direct.in_force) {
            let mut b = std::mem::take(&mut self.right);
            b.copy_from_slice(r);
            self.solve_to(parts, &b, r);
            self.right = b;
        } else {
            self.solver().solve(r);
        }
    }
}

/// An entry of M in W.
#[derive(Clone, Copy)]
pub(super) struct MassEntry {
    /// Index among the values of M.
    pub source: u32,
    /// Entry of W.
    pub slot: u32,
}

/// W += alpha*M, where the values of M are ones if there are none.
pub(super) fn add_mass<S: Scalar>(alpha: S, entries: &[MassEntry], mass: Option<&[f64]>, values: &mut [S]) {
    match mass {
        None => entries.iter().for_each(|e| values[e.slot as usize] += alpha),
        Some(mass) => entries.iter().for_each(|e| values[e.slot as usize] += alpha * mass[e.source as usize]),
    }
}

/// The entries of J with the whole diagonal.
pub(super) fn with_diagonal(jacobian: &Pattern) -> Pattern {
    let n = jacobian.cols();
    // most often it is there already
    match (0..n).all(|i| jacobian.find(i, i).is_some()) {
        true => jacobian.clone(),
        false => Pattern::from_positions(n, n, jacobian.positions().chain((0..n).map(|i| (i, i)))),
    }
}

/// (row, column) of each entry of M.
pub(super) fn mass_positions(mass: &MassMatrix, n: usize) -> Vec<(usize, usize)> {
    match mass.assembled() {
        None => (0..n).map(|i| (i, i)).collect(),
        Some(matrix) => matrix.positions().collect(),
    }
}
