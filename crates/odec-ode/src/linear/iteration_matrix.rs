//! W = alpha*M - J for the implicit methods: assembles it, reduces it for second-order problems, and solves linear
//! systems with it.
//!
//! If M depends on the state, the derivative of M(t, y) w(y) - f(t, y) is alpha*M + d(M(y) w)/dy - df/dy at fixed w;
//! J then stands for df/dy - d(M(y) w)/dy.

use std::borrow::Cow;

use crate::evaluator::Evaluator;
use crate::linear::choice::{COMPILED, Request, admit, exact};
use crate::linear::full::Full;
use crate::linear::matrix_free::MatrixFree;
use crate::linear::second_order::Reduction;
use crate::linear::solver::Solver;
use crate::linear::staggered::Staggered;
use crate::linear::{
    Assembled, Complex, LinearReport, LinearSolver, MassMatrix, Parts, RequiredAccuracy, Scalar, UnsuitableSolver,
};
use crate::pattern::Pattern;
use crate::problem::{Cause, Options, Refusal};
use crate::system::{Jacobian, Mass, Shape, System};

/// W = alpha*M - J with its current Jacobian (or the point of linearisation) and its last factors.
pub struct IterationMatrix {
    jacobian: Vec<f64>,
    mass: MassMatrix,
    /// Present if M depends on the state.
    moving: Option<Box<Moving>>,
    alpha: f64,
    way: JacobianValues,
}

/// The parts of W as arguments of a solver.
fn parts_of<'a, S>(alpha: S, jacobian: &'a [f64], mass: &'a MassMatrix) -> Parts<'a, S> {
    Parts { alpha, jacobian, mass: mass.assembled().map(Assembled::values) }
}

/// W with or without stored values of J.
enum JacobianValues {
    Held(Form<f64>),
    MatrixFree(Box<MatrixFree>),
}

/// The pattern of J; refuses a system whose Jacobian is not stored.
pub(super) fn held(system: &dyn System) -> Result<&Pattern, Refusal> {
    system.jacobian().pattern().ok_or_else(|| UnsuitableSolver::JacobianNotHeld { n: system.shape().n }.into())
}

/// The term d(M(y) w)/dy: J is stored on the union of its pattern with the pattern of df/dy.
struct Moving {
    rhs: Vec<f64>,
    mass: Vec<f64>,
    /// Entry of J for each entry of df/dy, and for each entry of d(M w)/dy.
    from_rhs: Vec<u32>,
    from_mass: Vec<u32>,
}

/// Arguments for building the solver of a pattern.
#[derive(Clone, Copy)]
pub(super) struct Make<'a, S> {
    pub solver: &'a dyn Fn(&Pattern) -> Result<Solver<S>, Refusal>,
    /// The requested solver.
    pub request: Request<'a>,
}

/// The solver of W, for a real or complex alpha and real J and M.
pub(super) enum Form<S> {
    Full(Box<Full<S>>),
    Reduced(Box<Reduction<S>>),
    /// A system with sensitivities: one of the other forms for the first group of unknowns.
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
            // Code for all of W needs as many multiplications to eliminate the positions, and no matrix is assembled.
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

    pub(super) fn solve_within(&mut self, parts: Parts<'_, S>, r: &mut [S], goal: RequiredAccuracy<'_>) -> bool {
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

    /// Reports that solutions were less accurate than expected.
    pub(super) fn report_inaccuracy(&mut self) {
        match self {
            Form::Full(full) => {
                if let Some(solver) = &mut full.solver {
                    solver.report_inaccuracy();
                }
            }
            Form::Reduced(reduction) => reduction.report_inaccuracy(),
            Form::Staggered(staggered) => staggered.report_inaccuracy(),
        }
    }

    pub(super) fn iterates(&self) -> bool {
        match self {
            Form::Full(full) => full.iterates(),
            Form::Reduced(reduction) => reduction.iterates(),
            Form::Staggered(staggered) => staggered.iterates(),
        }
    }

    /// Discards everything that depends on earlier matrices; false if that is not possible.
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

/// The pattern on which J is stored: the pattern of df/dy, with that of d(M w)/dy if M varies.
fn jacobian_pattern<'a>(system: &'a dyn System, own: &'a Pattern) -> Cow<'a, Pattern> {
    match system.mass() {
        Mass::StateDependent { jacobian, .. } => {
            let n = system.shape().n;
            Cow::Owned(Pattern::from_positions(n, n, own.positions().chain(jacobian.positions())))
        }
        _ => Cow::Borrowed(own),
    }
}

impl IterationMatrix {
    /// Prepares W for a system. The options choose the solver, and whether second-order problems eliminate the positions.
    pub fn new(system: &dyn System, options: &Options) -> Result<Self, Refusal> {
        let free = matches!(system.jacobian(), Jacobian::Products);
        if free && matches!(options.linear, LinearSolver::Auto | LinearSolver::Krylov) {
            let (shape, mass) = (system.shape(), MassMatrix::of(system.mass()));
            let second = if options.reduce { shape.second } else { 0 };
            let way = JacobianValues::MatrixFree(Box::new(MatrixFree::new(shape.n, second)));
            return Ok(IterationMatrix { jacobian: Vec::new(), mass, moving: None, alpha: 0.0, way });
        }
        // Incomplete factors need every diagonal entry, but a singular M may leave some empty.
        let linear = match options.linear {
            LinearSolver::Auto if MassMatrix::of(system.mass()).may_lack_diagonal() => {
                return Self::exact(system, options, "");
            }
            linear => linear,
        };
        let request = Request { linear, ..Request::of(options) };
        let make = Make { solver: &|pattern| Solver::iterating(pattern, request), request };
        Self::with(system, options.reduce, make)
    }

    fn with(system: &dyn System, reduce: bool, make: Make<'_, f64>) -> Result<Self, Refusal> {
        let shape = system.shape();
        let own = held(system)?;
        admit(own)?;
        let mass = MassMatrix::of(system.mass());
        let mut moving = None;
        if let Mass::StateDependent { jacobian, .. } = system.mass() {
            admit(jacobian)?;
        }
        let pattern = jacobian_pattern(system, own);
        if let Mass::StateDependent { jacobian, .. } = system.mass() {
            let positions_of = |p: &Pattern| p.positions().map(|(r, c)| pattern.entry(r, c)).collect();
            moving = Some(Box::new(Moving {
                rhs: vec![0.0; own.entries()],
                mass: vec![0.0; jacobian.entries()],
                from_rhs: positions_of(own),
                from_mass: positions_of(jacobian),
            }));
        }
        let form = Form::new((shape, system.groups()), &pattern, &mass, reduce, make)?;
        Ok(IterationMatrix {
            jacobian: vec![0.0; pattern.entries()],
            mass,
            moving,
            alpha: 0.0,
            way: JacobianValues::Held(form),
        })
    }

    /// Like [`IterationMatrix::new`], for a method that needs exact solutions: refuses an iterative solver.
    pub fn exact(system: &dyn System, options: &Options, method: &str) -> Result<Self, Refusal> {
        exact(options.linear, method)?;
        let request = Request::of(options);
        Self::with(system, options.reduce, Make { solver: &|pattern| Solver::new(pattern, request), request })
    }

    /// Evaluates df/dy, and M if it varies, at (t, y). The factors remain those of the last `factor`.
    pub fn evaluate(&mut self, eval: &mut Evaluator<'_>, t: f64, y: &[f64]) -> Result<(), Cause> {
        if let JacobianValues::MatrixFree(free) = &mut self.way {
            free.place(t, y);
            return self.mass.update(eval, t, y);
        }
        let Some(moving) = &mut self.moving else { return eval.jacobian(t, y, &mut self.jacobian) };
        eval.jacobian(t, y, &mut moving.rhs)?;
        self.jacobian.fill(0.0);
        for (position, value) in moving.from_rhs.iter().zip(&moving.rhs) {
            self.jacobian[*position as usize] = *value;
        }
        self.mass.update(eval, t, y)
    }

    /// Like [`IterationMatrix::evaluate`]; if M varies, J becomes df/dy - d(M(t, y) w)/dy for the approximation `w` of y'.
    pub fn evaluate_moving(&mut self, eval: &mut Evaluator<'_>, t: f64, y: &[f64], w: &[f64]) -> Result<(), Cause> {
        self.evaluate(eval, t, y)?;
        let Some(moving) = &mut self.moving else { return Ok(()) };
        eval.mass_jacobian(t, y, w, &mut moving.mass)?;
        for (position, value) in moving.from_mass.iter().zip(&moving.mass) {
            self.jacobian[*position as usize] -= value;
        }
        Ok(())
    }

    /// Evaluates only M(t, y), at another point than df/dy: the linearised one-step form uses M(t1, y0) and J(t0,
    /// y0).
    pub fn evaluate_mass(&mut self, eval: &mut Evaluator<'_>, t: f64, y: &[f64]) -> Result<(), Cause> {
        self.mass.update(eval, t, y)
    }

    /// The last evaluated J, on its pattern; empty if it is not stored.
    pub fn jacobian(&self) -> &[f64] {
        &self.jacobian
    }

    /// The last evaluated M.
    pub fn mass(&self) -> &MassMatrix {
        &self.mass
    }

    /// Assembles and factors W for `alpha` and the current M and J.
    pub fn factor(&mut self, eval: &mut Evaluator<'_>, alpha: f64) -> Result<(), Cause> {
        eval.stats.factorisations += 1;
        self.alpha = alpha;
        match &mut self.way {
            JacobianValues::Held(form) => form.factor(parts_of(alpha, &self.jacobian, &self.mass)),
            JacobianValues::MatrixFree(free) => {
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
            JacobianValues::Held(form) => form.solve(parts_of(self.alpha, &self.jacobian, &self.mass), r),
            JacobianValues::MatrixFree(free) => {
                free.solve(eval.system(), &self.mass, r, None);
            }
        }
    }

    /// Like [`IterationMatrix::solve`], from the right-hand side `b` to `x` (n values each).
    #[inline]
    pub fn solve_to(&mut self, eval: &mut Evaluator<'_>, b: &[f64], x: &mut [f64]) {
        eval.stats.solves += 1;
        match &mut self.way {
            JacobianValues::Held(form) => form.solve_to(parts_of(self.alpha, &self.jacobian, &self.mass), b, x),
            JacobianValues::MatrixFree(free) => {
                x.copy_from_slice(b);
                free.solve(eval.system(), &self.mass, x, None);
            }
        }
    }

    /// Like [`IterationMatrix::solve`], but an iterative solver may leave an error of `goal`; false if it did not
    /// reach the goal.
    pub fn solve_within(&mut self, eval: &mut Evaluator<'_>, r: &mut [f64], goal: RequiredAccuracy<'_>) -> bool {
        eval.stats.solves += 1;
        match &mut self.way {
            JacobianValues::Held(form) => form.solve_within(parts_of(self.alpha, &self.jacobian, &self.mass), r, goal),
            JacobianValues::MatrixFree(free) => free.solve(eval.system(), &self.mass, r, Some(goal)),
        }
    }

    /// Restores the state after construction; false if W must be built again instead.
    pub fn renew(&mut self) -> bool {
        match &mut self.way {
            JacobianValues::Held(form) => self.mass.is_identity() && form.renew(),
            JacobianValues::MatrixFree(_) => false,
        }
    }

    /// Reports that solutions were less accurate than expected: the next one is checked more strictly.
    pub fn report_inaccuracy(&mut self) {
        if let JacobianValues::Held(form) = &mut self.way {
            form.report_inaccuracy();
        }
    }

    /// True if the solver is iterative: then factors are cheap and solutions are expensive.
    pub fn iterates(&self) -> bool {
        match &self.way {
            JacobianValues::Held(form) => form.iterates(),
            JacobianValues::MatrixFree(_) => true,
        }
    }

    /// The report about the solver of W.
    pub fn report(&self) -> LinearReport {
        match &self.way {
            JacobianValues::Held(form) => form.report(),
            JacobianValues::MatrixFree(free) => free.report(),
        }
    }
}

/// W for a complex alpha, with the J and M of a real iteration matrix.
pub struct ComplexIterationMatrix {
    form: Form<Complex>,
    alpha: Complex,
    r: Vec<Complex>,
    x: Vec<Complex>,
}

impl ComplexIterationMatrix {
    /// Prepares W for a system.
    pub fn new(system: &dyn System, options: &Options) -> Result<Self, Refusal> {
        let own = held(system)?;
        admit(own)?;
        let mass = MassMatrix::of(system.mass());
        let shape = system.shape();
        let request = Request::of(options);
        let make = Make { solver: &|pattern: &Pattern| Solver::new(pattern, request), request };
        let form = Form::new((shape, system.groups()), &jacobian_pattern(system, own), &mass, options.reduce, make)?;
        let zero = || vec![Complex::ZERO; shape.n];
        Ok(ComplexIterationMatrix { form, alpha: Complex::ONE, r: zero(), x: zero() })
    }

    /// Assembles and factors W for alpha = `re` + i `im`, with the J and M that `held` has evaluated.
    pub fn factor(&mut self, eval: &mut Evaluator<'_>, re: f64, im: f64, held: &IterationMatrix) -> Result<(), Cause> {
        eval.stats.factorisations += 1;
        self.alpha = Complex::new(re, im);
        self.form.factor(parts_of(self.alpha, &held.jacobian, &held.mass))
    }

    /// Like [`IterationMatrix::renew`].
    pub fn renew(&mut self) -> bool {
        self.form.renew()
    }

    /// Replaces the right-hand side `re` + i `im` by the solution. `held` is the argument of the last `factor`,
    /// unchanged since.
    pub fn solve(&mut self, eval: &mut Evaluator<'_>, re: &mut [f64], im: &mut [f64], held: &IterationMatrix) {
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
