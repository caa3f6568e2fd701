//! W of a system with its sensitivities: block lower triangular with the same block W_0 along its diagonal, so that
//! one factorisation of W_0 is enough. The first group of unknowns is solved first, then each other group with its
//! coupling to the first (staggered: Feehery, Tolsma and Barton, Appl. Numer. Math. 25 (1997)). The result equals the
//! solution of the whole system.

use crate::linear::iteration_matrix::Form;
use crate::linear::{Assembled, LinearReport, MassMatrix, Parts, RequiredAccuracy, Scalar};
use crate::pattern::Pattern;
use crate::problem::{Cause, Refusal};
use crate::system::Shape;

/// An entry of J below the first diagonal block.
#[derive(Clone, Copy)]
struct Coupling {
    /// Row within its group.
    row: u32,
    /// Column within the first group.
    column: u32,
    /// Entry of J.
    source: u32,
}

/// Builds the solver of the first group.
type Inner<'a, S> = &'a dyn Fn(Shape, &Pattern, &MassMatrix) -> Result<Form<S>, Refusal>;
/// Solves for one group, given its unknowns in y; false if an iteration did not reach its goal.
type Solve<'a, S> = &'a mut dyn FnMut(&mut Form<S>, Parts<'_, S>, &mut [S], &[u32]) -> bool;

/// The solver of W_0, and the couplings of the other groups to the first.
pub(super) struct Staggered<S> {
    inner: Form<S>,
    /// alpha of the last factorisation.
    alpha: S,
    /// M of the first group; it is constant.
    mass: MassMatrix,
    /// Entries of J in the first block.
    own: Vec<u32>,
    jacobian: Vec<f64>,
    /// The unknowns of each group in y.
    unknowns: Vec<Vec<u32>>,
    /// The couplings of each group except the first.
    couplings: Vec<Vec<Coupling>>,
    /// The values of these entries at the last factorisation.
    values: Vec<Vec<f64>>,
    first: Vec<S>,
    b: Vec<S>,
    weights: Vec<f64>,
}

impl<S: Scalar> Staggered<S> {
    /// For each unknown, its group and its position in the group.
    fn places(shape: Shape, groups: usize) -> Vec<(usize, usize)> {
        let (second, first) = (shape.second / groups, (shape.n - 2 * shape.second) / groups);
        let mut places = Vec::with_capacity(shape.n);
        for (len, offset) in [(second, 0), (second, second), (first, 2 * second)] {
            places.extend((0..groups).flat_map(|g| (0..len).map(move |i| (g, offset + i))));
        }
        places
    }

    /// A solver for a system of `groups` groups; `inner` builds the solver of the first group from its shape,
    /// Jacobian and mass matrix. `None` if the matrices have a different structure.
    pub(super) fn new(
        (shape, groups): (Shape, usize),
        jacobian: &Pattern,
        mass: &MassMatrix,
        inner: Inner<'_, S>,
    ) -> Result<Option<Self>, Refusal> {
        let rest = shape.n - 2 * shape.second;
        if mass.varies() || shape.second % groups != 0 || rest % groups != 0 {
            return Ok(None);
        }
        let n = shape.n / groups;
        let places = Self::places(shape, groups);
        let mut unknowns = vec![vec![0; n]; groups];
        for (k, (group, place)) in places.iter().enumerate() {
            unknowns[*group][*place] = k as u32;
        }
        let mut own = vec![];
        let mut block = vec![];
        let mut couplings = vec![vec![]; groups - 1];
        for (source, (row, column)) in jacobian.positions().enumerate() {
            let ((g, row), (h, column)) = (places[row], places[column]);
            let source = source as u32;
            match (g, h) {
                (0, 0) => {
                    own.push(source);
                    block.push((row, column));
                }
                (g, 0) => couplings[g - 1].push(Coupling { row: row as u32, column: column as u32, source }),
                (g, h) if g == h => {}
                _ => return Ok(None),
            }
        }
        // positions within a group ascend with the unknowns, so that the entries of its block remain in the order of
        // a pattern
        let pattern = Pattern::from_positions(n, n, block);
        let mass = match mass.assembled() {
            None => MassMatrix::Identity,
            // M depends on the parameters: refused
            Some(matrix) if matrix.positions().any(|(row, column)| places[row].0 != places[column].0) => {
                return Ok(None);
            }
            Some(matrix) => {
                let entries = matrix.positions().zip(matrix.values().iter().copied());
                let entries = entries.filter_map(|((row, column), value)| match (places[row], places[column]) {
                    ((0, row), (0, column)) => Some(((row, column), value)),
                    _ => None,
                });
                let (positions, values): (Vec<_>, Vec<f64>) = entries.unzip();
                MassMatrix::Constant(Assembled::with(&Pattern::from_positions(n, n, positions), values))
            }
        };
        let shape = Shape { n, second: shape.second / groups };
        Ok(Some(Staggered {
            inner: inner(shape, &pattern, &mass)?,
            alpha: S::ONE,
            mass,
            jacobian: vec![0.0; own.len()],
            own,
            unknowns,
            values: couplings.iter().map(|list| vec![0.0; list.len()]).collect(),
            couplings,
            first: vec![S::ZERO; n],
            b: vec![S::ZERO; n],
            weights: vec![0.0; n],
        }))
    }

    /// Factors W_0 and stores the values of the couplings.
    pub(super) fn factor(&mut self, alpha: S, jacobian: &[f64]) -> Result<(), Cause> {
        for (value, source) in self.jacobian.iter_mut().zip(&self.own) {
            *value = jacobian[*source as usize];
        }
        for (values, couplings) in self.values.iter_mut().zip(&self.couplings) {
            for (value, coupling) in values.iter_mut().zip(couplings) {
                *value = jacobian[coupling.source as usize];
            }
        }
        self.alpha = alpha;
        let mass = self.mass.assembled().map(Assembled::values);
        self.inner.factor(Parts { alpha, jacobian: &self.jacobian, mass }).map_err(|cause| match cause {
            Cause::Singular { col } => Cause::Singular { col: self.unknowns[0].get(col).map_or(col, |k| *k as usize) },
            other => other,
        })
    }

    /// Replaces `r` by the solution.
    pub(super) fn solve(&mut self, r: &mut [S]) {
        self.each(r, &mut |inner, parts, b, _| {
            inner.solve(parts, b);
            true
        });
    }

    /// Like [`Staggered::solve`], but an iterative solver may leave an error; false if it did not reach the goal.
    pub(super) fn solve_within(&mut self, r: &mut [S], goal: RequiredAccuracy<'_>) -> bool {
        let mut weights = std::mem::take(&mut self.weights);
        let met = self.each(r, &mut |inner, parts, b, unknowns| {
            for (weight, k) in weights.iter_mut().zip(unknowns) {
                *weight = goal.weights[*k as usize];
            }
            inner.solve_within(parts, b, RequiredAccuracy { weights: &weights, tolerance: goal.tolerance })
        });
        self.weights = weights;
        met
    }

    /// Solves group by group.
    fn each(&mut self, r: &mut [S], solve: Solve<'_, S>) -> bool {
        let mut met = true;
        for (group, unknowns) in self.unknowns.iter().enumerate() {
            for (b, k) in self.b.iter_mut().zip(unknowns) {
                *b = r[*k as usize];
            }
            if group > 0 {
                // W contains -J there
                for (value, c) in self.values[group - 1].iter().zip(&self.couplings[group - 1]) {
                    self.b[c.row as usize] += self.first[c.column as usize] * *value;
                }
            }
            let mass = self.mass.assembled().map(Assembled::values);
            let parts = Parts { alpha: self.alpha, jacobian: &self.jacobian, mass };
            met &= solve(&mut self.inner, parts, &mut self.b, unknowns);
            if group == 0 {
                self.first.copy_from_slice(&self.b);
            }
            for (b, k) in self.b.iter().zip(unknowns) {
                r[*k as usize] = *b;
            }
        }
        met
    }

    /// Reports that solutions were less accurate than expected.
    pub(super) fn report_inaccuracy(&mut self) {
        self.inner.report_inaccuracy();
    }

    /// True if the solver is iterative.
    pub(super) fn iterates(&self) -> bool {
        self.inner.iterates()
    }

    /// The report about the solver of W_0.
    pub(super) fn report(&self) -> LinearReport {
        self.inner.report()
    }
}
