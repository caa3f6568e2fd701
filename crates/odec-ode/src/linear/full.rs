//! W as an assembled matrix, with its solver: factors of the matrix, or code that reads J and M directly.

use std::sync::Arc;

use crate::linear::cache::{Key, KnownPattern};
use crate::linear::dense::Dense;
use crate::linear::iteration_matrix::Make;
use crate::linear::solver::Solver;
use crate::linear::unrolled::{Direct, UnrolledLu};
use crate::linear::{Eliminator, LinearReport, MassMatrix, Origin, Parts, Scalar, SolverKind};
use crate::pattern::Pattern;
use crate::problem::Refusal;

/// W as an assembled matrix.
pub(super) struct Full<S> {
    /// Entry of W for each entry of J and of M.
    origin: Arc<Origin>,
    /// `None` while code with pivots on the diagonal is good enough.
    pub(super) solver: Option<Solver<S>>,
    /// The cached results for the pattern, and the compiler of unrolled LU.
    known: Option<(Arc<KnownPattern>, Arc<dyn Eliminator>)>,
    pub(super) direct: Option<Box<Direct>>,
    right: Vec<S>,
}

impl<S: Scalar> Full<S> {
    pub(super) fn new(n: usize, jacobian: &Pattern, mass: &MassMatrix, make: Make<'_, S>) -> Result<Self, Refusal> {
        let unit = mass.is_identity();
        // If M = I and steps are small, the diagonal of W dominates: pivots on the diagonal are good enough at the start.
        let eliminator = make.request.eliminator.filter(|_| unit && jacobian.entries() > 0);
        let right = vec![S::ZERO; n];
        let of_known = |known: Arc<KnownPattern>, eliminator: &Arc<dyn Eliminator>, right: Vec<S>| Full {
            origin: Arc::clone(&known.origin),
            solver: None,
            direct: Some(Box::new(Direct::new::<S>(Arc::clone(&known.code), &known.origin, n))),
            known: Some((known, Arc::clone(eliminator))),
            right,
        };
        let key = Key { jacobian, linear: make.request.linear, complex: S::PARTS == 2 };
        if let Some(eliminator) = eliminator
            && let Some(known) = eliminator.cache().find(key)
        {
            return Ok(of_known(known, eliminator, right));
        }
        let mass = mass_positions(mass, n);
        // The entries of M are usually entries of J too.
        let inside: Option<Vec<u32>> = mass.iter().map(|(r, c)| jacobian.find(*r, *c).map(|e| e as u32)).collect();
        let (pattern, origin) = if let Some(mass) = inside {
            let all = (0..jacobian.entries() as u32).collect();
            (jacobian.clone(), Origin { jacobian: all, mass, unit })
        } else {
            let pattern = Pattern::from_positions(n, n, jacobian.positions().chain(mass.iter().copied()));
            let position = |(row, col)| pattern.entry(row, col);
            let jacobian = jacobian.positions().map(position).collect();
            let mass = mass.iter().copied().map(position).collect();
            (pattern, Origin { jacobian, mass, unit })
        };
        let origin = Arc::new(origin);
        let mut solver = (make.solver)(&pattern)?;
        if let Some(eliminator) = eliminator
            && let Some((order, fill)) = solver.order()
            && let Some(known) = eliminator.cache().keep(key, (&pattern, &origin), (order, fill), eliminator.as_ref())
        {
            return Ok(of_known(known, eliminator, right));
        }
        solver.set_origin(&origin);
        Ok(Full { origin, solver: Some(solver), known: None, direct: None, right })
    }

    /// The solver of the assembled matrix.
    pub(super) fn solver(&mut self) -> &mut Solver<S> {
        let Full { origin, solver, known, right, .. } = self;
        solver.get_or_insert_with(|| {
            let Some((known, eliminator)) = known else {
                // never reached: `known` is present if there is no solver
                let pattern = Pattern::from_positions(right.len(), right.len(), []);
                return Solver::with(&pattern, Box::new(Dense::new(&pattern)));
            };
            let mut solver = Solver::with(&known.pattern, Box::new(UnrolledLu::of(known, eliminator)));
            solver.set_origin(origin);
            solver
        })
    }

    pub(super) fn iterates(&self) -> bool {
        self.solver.as_ref().is_some_and(Solver::iterates)
    }

    /// Returns to the cached code of the pattern if other pivots have replaced it, or resets an iteration. False if
    /// the solver must be built again.
    pub(super) fn renew(&mut self) -> bool {
        let Some((known, _)) = &self.known else { return self.solver.as_mut().is_some_and(Solver::renew) };
        if self.solver.take().is_some() {
            self.direct = Some(Box::new(Direct::new::<S>(Arc::clone(&known.code), &known.origin, self.right.len())));
        }
        true
    }

    pub(super) fn report(&self) -> LinearReport {
        match (&self.solver, &self.known) {
            (None, Some((known, _))) => known.report(),
            (None, None) => LinearReport::new(SolverKind::Compiled, &Pattern::from_positions(0, 0, [])),
            (Some(solver), _) => solver.report(),
        }
    }

    /// Assembles W in the matrix of the solver.
    fn form(&mut self, Parts { alpha, jacobian, mass }: Parts<'_, S>) {
        let origin = Arc::clone(&self.origin);
        let values = self.solver().values_mut();
        if origin.jacobian.len() == values.len() {
            // J has the whole pattern of W.
            for (to, value) in values.iter_mut().zip(jacobian) {
                *to = S::ZERO - S::from(*value);
            }
        } else {
            values.fill(S::ZERO);
            for (position, value) in origin.jacobian.iter().zip(jacobian) {
                values[*position as usize] -= S::from(*value);
            }
        }
        match mass {
            None => origin.mass.iter().for_each(|position| values[*position as usize] += alpha),
            Some(mass) => {
                origin.mass.iter().zip(mass).for_each(|(position, m)| values[*position as usize] += alpha * *m);
            }
        }
    }

    pub(super) fn factor(&mut self, parts: Parts<'_, S>) -> Result<(), usize> {
        if let Some(direct) = &mut self.direct {
            if direct.factor(parts) {
                return Ok(());
            }
            // A pivot vanished.
            self.form(parts);
            self.solver().without_code()?;
            self.take_code(self.right.len());
            return Ok(());
        }
        self.form(parts);
        let made = self.solver().factor();
        self.take_code(self.right.len());
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

    /// Accepts or improves a first solution by code whose error is not known to be small: it is refined, or new
    /// pivots are chosen for this matrix; later matrices then use code with these pivots.
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
                // not the length of `right`, which may be lent out as b
                self.take_code(b.len());
            }
            // If the matrix is singular to rounding, the solution is not finite.
            Err(_) => x.fill(S::from(f64::NAN)),
        }
    }

    /// Takes over the current code of the solver for further matrices with n rows.
    #[cold]
    fn take_code(&mut self, n: usize) {
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

/// An entry of M, and its position in W.
#[derive(Clone, Copy)]
pub(super) struct MassEntry {
    /// Index in the values of M.
    pub source: u32,
    /// Entry of W.
    pub position: u32,
}

/// W += alpha*M; without values of M, these are ones.
pub(super) fn add_mass<S: Scalar>(alpha: S, entries: &[MassEntry], mass: Option<&[f64]>, values: &mut [S]) {
    match mass {
        None => entries.iter().for_each(|e| values[e.position as usize] += alpha),
        Some(mass) => entries.iter().for_each(|e| values[e.position as usize] += alpha * mass[e.source as usize]),
    }
}

/// The pattern of J with the full diagonal.
pub(super) fn with_diagonal(jacobian: &Pattern) -> Pattern {
    let n = jacobian.cols();
    // usually the diagonal is complete
    if (0..n).all(|i| jacobian.find(i, i).is_some()) {
        jacobian.clone()
    } else {
        Pattern::from_positions(n, n, jacobian.positions().chain((0..n).map(|i| (i, i))))
    }
}

/// (row, column) of each entry of M.
pub(super) fn mass_positions(mass: &MassMatrix, n: usize) -> Vec<(usize, usize)> {
    match mass.assembled() {
        None => (0..n).map(|i| (i, i)).collect(),
        Some(matrix) => matrix.positions().collect(),
    }
}
