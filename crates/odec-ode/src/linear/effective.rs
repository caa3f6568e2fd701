//! The effective matrix of methods on M x'' = F(t, x, x'): S = m*M - c*dF/dv - k*dF/dx, with one unknown for each
//! acceleration.

use crate::evaluator::Evaluator;
use crate::linear::assembled::Assembled;
use crate::linear::choice::{Request, admit, exact};
use crate::linear::full::{MassEntry, add_mass, mass_positions};
use crate::linear::iteration_matrix::held;
use crate::linear::solver::Solver;
use crate::linear::{LinearReport, MassMatrix};
use crate::pattern::Pattern;
use crate::problem::{Cause, Options, Refusal};
use crate::system::System;

/// S with its current Jacobian and last factors, for systems without first-order unknowns.
pub struct Effective {
    second: usize,
    jacobian: Vec<f64>,
    /// Positions of dF/dx and dF/dv: in the Jacobian and in S.
    positions: Vec<(u32, u32)>,
    velocities: Vec<(u32, u32)>,
    mass: Vec<MassEntry>,
    solver: Solver,
}

impl Effective {
    /// Prepares S for a system with n = 2 * second and this mass matrix; messages name `method`.
    pub fn new(system: &dyn System, mass: &MassMatrix, options: &Options, method: &str) -> Result<Self, Refusal> {
        exact(options.linear, method)?;
        let (n, second) = (system.shape().n, system.shape().second);
        let pattern = held(system)?;
        admit(pattern)?;
        let lower = || pattern.positions().enumerate().filter(|(_, (r, _))| *r >= second);
        let target = |r: usize, c: usize| (r - second, if c < second { c } else { c - second });
        let of_mass = || mass_positions(mass, n).into_iter().enumerate().filter(|(_, (r, c))| (*r).min(*c) >= second);
        let entries =
            lower().map(|(_, (r, c))| target(r, c)).chain(of_mass().map(|(_, (r, c))| (r - second, c - second)));
        let effective = Pattern::from_positions(second, second, entries);
        let position = |(r, c): (usize, usize)| effective.entry(r, c);
        let places = |velocities: bool| -> Vec<(u32, u32)> {
            let side = lower().filter(|(_, (_, c))| (*c >= second) == velocities);
            side.map(|(source, (r, c))| (source as u32, position(target(r, c)))).collect()
        };
        Ok(Effective {
            second,
            jacobian: vec![0.0; pattern.entries()],
            positions: places(false),
            velocities: places(true),
            mass: of_mass()
                .map(|(source, (r, c))| MassEntry {
                    source: source as u32,
                    position: position((r - second, c - second)),
                })
                .collect(),
            solver: Solver::new(&effective, Request::of(options))?,
        })
    }

    /// Evaluates the Jacobian at (t, y), forms S and factors it.
    pub fn factor(
        &mut self,
        eval: &mut Evaluator<'_>,
        (t, y): (f64, &[f64]),
        mass: &MassMatrix,
        (m, c, k): (f64, f64, f64),
    ) -> Result<(), Cause> {
        eval.jacobian(t, y, &mut self.jacobian)?;
        eval.stats.factorisations += 1;
        let values = self.solver.values_mut();
        values.fill(0.0);
        for (source, position) in &self.velocities {
            values[*position as usize] -= c * self.jacobian[*source as usize];
        }
        for (source, position) in &self.positions {
            values[*position as usize] -= k * self.jacobian[*source as usize];
        }
        add_mass(m, &self.mass, mass.assembled().map(Assembled::values), values);
        // Columns are reported as unknowns of y: velocities follow the positions.
        self.solver.factor().map_err(|col| Cause::Singular { col: col + self.second })
    }

    /// Replaces `r` (one value per acceleration) by the solution of S a = r.
    pub fn solve(&mut self, eval: &mut Evaluator<'_>, r: &mut [f64]) {
        eval.stats.solves += 1;
        self.solver.solve(r);
    }

    /// The report about the solver of S.
    pub fn report(&self) -> LinearReport {
        self.solver.report()
    }
}
