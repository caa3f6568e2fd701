//! The reduction of second-order problems: eliminates the positions from W z = r; velocities and first-order states remain.
//!
//! For y = [q, v, z] with q' = v, M v' = F(t, q, v, z), Mz z' = G(t, q, v, z), the first block row of
//! W = alpha*Mhat - J is alpha*dq - dv = r_q. With dq = (r_q + dv)/alpha the other rows become, for x = (dv, dz),
//! A = d(F, G)/dq and B = d(F, G)/d(v, z): `(alpha*M - B - [A/alpha, 0]) x = r + A r_q/alpha`.

use crate::linear::full::{MassEntry, add_mass, mass_positions};
use crate::linear::iteration_matrix::Make;
use crate::linear::solver::Solver;
use crate::linear::{LinearReport, MassMatrix, RequiredAccuracy, Scalar};
use crate::pattern::Pattern;
use crate::problem::Refusal;
use crate::system::Shape;

/// An entry of the Jacobian in the reduced system.
#[derive(Clone, Copy)]
struct Entry {
    /// Index in the values of the Jacobian.
    source: u32,
    /// Entry of the reduced W.
    position: u32,
}

/// An entry of A = d(F, G)/dq.
#[derive(Clone, Copy)]
struct Coupling {
    source: u32,
    position: u32,
    /// Row in the reduced system.
    row: u32,
    /// Column within the positions.
    col: u32,
}

/// The reduced system of one structure.
pub(super) struct Reduction<S> {
    second: usize,
    alpha: S,
    direct: Vec<Entry>,
    couplings: Vec<Coupling>,
    coupling_values: Vec<S>,
    mass: Vec<MassEntry>,
    solver: Solver<S>,
    weights: Vec<f64>,
}

impl<S: Scalar> Reduction<S> {
    pub(super) fn new(shape: Shape, jacobian: &Pattern, mass: &MassMatrix, make: Make<'_, S>) -> Result<Self, Refusal> {
        let second = shape.second;
        let reduced = shape.n - second;
        let mass: Vec<_> = mass_positions(mass, shape.n)
            .into_iter()
            .enumerate()
            .filter(|(_, (r, c))| *r >= second && *c >= second)
            .map(|(source, (r, c))| (source, (r - second, c - second)))
            .collect();
        // The columns q_i and v_i of J have the same reduced column.
        let target = |r: usize, c: usize| (r - second, if c < second { c } else { c - second });
        let lower = || jacobian.positions().enumerate().filter(|(_, (r, _))| *r >= second);
        let pattern = Pattern::from_positions(
            reduced,
            reduced,
            lower().map(|(_, (r, c))| target(r, c)).chain(mass.iter().map(|(_, at)| *at)),
        );
        let position = |(row, col): (usize, usize)| pattern.entry(row, col);
        let mut direct = Vec::new();
        let mut couplings = Vec::new();
        for (source, (r, c)) in lower() {
            let position = position(target(r, c));
            if c < second {
                couplings.push(Coupling { source: source as u32, position, row: (r - second) as u32, col: c as u32 });
            } else {
                direct.push(Entry { source: source as u32, position });
            }
        }
        Ok(Reduction {
            second,
            alpha: S::ONE,
            coupling_values: vec![S::ZERO; couplings.len()],
            direct,
            couplings,
            mass: mass
                .iter()
                .map(|&(source, at)| MassEntry { source: source as u32, position: position(at) })
                .collect(),
            solver: (make.solver)(&pattern)?,
            weights: vec![0.0; reduced],
        })
    }

    pub(super) fn factor(&mut self, alpha: S, jacobian: &[f64], mass: Option<&[f64]>) -> Result<(), usize> {
        self.alpha = alpha;
        let values = self.solver.values_mut();
        values.fill(S::ZERO);
        for entry in &self.direct {
            values[entry.position as usize] -= S::from(jacobian[entry.source as usize]);
        }
        let inverse = S::ONE / alpha;
        for (entry, scaled) in self.couplings.iter().zip(&mut self.coupling_values) {
            *scaled = inverse * jacobian[entry.source as usize];
            values[entry.position as usize] -= *scaled;
        }
        add_mass(alpha, &self.mass, mass, values);
        // Columns are reported as unknowns of y: velocities follow the positions.
        self.solver.factor().map_err(|col| col + self.second)
    }

    pub(super) fn solve(&mut self, r: &mut [S]) {
        self.before(r);
        self.solver.solve(&mut r[self.second..]);
        self.after(r);
    }

    /// An error e in dv causes an error e/alpha in dq: the norm of the reduced system counts both.
    pub(super) fn solve_within(&mut self, r: &mut [S], goal: RequiredAccuracy<'_>) -> bool {
        if !self.solver.iterates() {
            self.solve(r);
            return true;
        }
        self.before(r);
        let (positions, rest) = goal.weights.split_at(self.second);
        self.weights.copy_from_slice(rest);
        let inverse = (S::ONE / self.alpha).magnitude();
        for (w, position) in self.weights.iter_mut().zip(positions) {
            *w = w.hypot(position * inverse);
        }
        let goal = RequiredAccuracy { weights: &self.weights, ..goal };
        let met = self.solver.solve_within(&mut r[self.second..], goal);
        self.after(r);
        met
    }

    fn before(&self, r: &mut [S]) {
        let (positions, rest) = r.split_at_mut(self.second);
        for (entry, scaled) in self.couplings.iter().zip(&self.coupling_values) {
            rest[entry.row as usize] += *scaled * positions[entry.col as usize];
        }
    }

    fn after(&self, r: &mut [S]) {
        let (positions, rest) = r.split_at_mut(self.second);
        let inverse = S::ONE / self.alpha;
        for (dq, dv) in positions.iter_mut().zip(rest.iter()) {
            *dq = (*dq + *dv) * inverse;
        }
    }

    pub(super) fn report_inaccuracy(&mut self) {
        self.solver.report_inaccuracy();
    }

    pub(super) fn iterates(&self) -> bool {
        self.solver.iterates()
    }

    pub(super) fn report(&self) -> LinearReport {
        self.solver.report()
    }
}
