//! W = alpha*M - J for the implicit methods: one place forms it, reduces it where the problem is of second order, and solves.

use crate::evaluator::Evaluator;
use crate::linear::second_order::Reduction;
use crate::linear::{Factor, MassMatrix, admit, factor_for};
use crate::pattern::Pattern;
use crate::problem::{Cause, Refusal};
use crate::system::{Mass, System};

/// W = alpha*M - J with the Jacobian it holds and the factors last made.
pub struct Shifted {
    jacobian: Vec<f64>,
    alpha: f64,
    form: Form,
}

enum Form {
    Full(Box<Full>),
    Reduced(Box<Reduction>),
}

impl Shifted {
    /// Structure for a system; `reduce` allows the elimination of positions in second-order problems.
    pub fn new(system: &dyn System, reduce: bool) -> Result<Self, Refusal> {
        let shape = system.shape();
        admit(system.jacobian_pattern())?;
        let form = if reduce && shape.second > 0 {
            Form::Reduced(Box::new(Reduction::new(shape, system.jacobian_pattern(), system.mass())?))
        } else {
            Form::Full(Box::new(Full::new(shape.n, system.jacobian_pattern(), system.mass())?))
        };
        Ok(Shifted { jacobian: vec![0.0; system.jacobian_pattern().entries()], alpha: 0.0, form })
    }

    /// Evaluates the Jacobian at (t, y). The factors stay those of the last `factor`.
    pub fn evaluate(&mut self, eval: &mut Evaluator<'_>, t: f64, y: &[f64]) -> Result<(), Cause> {
        eval.jacobian(t, y, &mut self.jacobian)
    }

    /// Forms and factors W for `alpha` and the Jacobian held.
    pub fn factor(&mut self, eval: &mut Evaluator<'_>, alpha: f64) -> Result<(), Cause> {
        eval.stats.factorisations += 1;
        self.alpha = alpha;
        match &mut self.form {
            Form::Full(full) => full.factor(alpha, &self.jacobian),
            Form::Reduced(reduction) => reduction.factor(alpha, &self.jacobian),
        }
        .map_err(|col| Cause::Singular { col })
    }

    /// alpha of the last factorisation.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// Replaces `r` (n values) by the solution z of W z = r.
    pub fn solve(&mut self, eval: &mut Evaluator<'_>, r: &mut [f64]) {
        eval.stats.solves += 1;
        match &mut self.form {
            Form::Full(full) => full.factor.solve(r),
            Form::Reduced(reduction) => reduction.solve(r),
        }
    }
}

/// W at full size.
struct Full {
    values: Vec<f64>,
    /// Entry of W of each entry of J.
    from_jacobian: Vec<u32>,
    /// Entry of W and value, for each entry of M.
    from_mass: Vec<(u32, f64)>,
    factor: Box<dyn Factor>,
}

impl Full {
    fn new(n: usize, jacobian: &Pattern, mass: Mass<'_>) -> Result<Self, Refusal> {
        let mass = mass_entries(&MassMatrix::of(mass), n);
        let pattern = Pattern::from_positions(n, n, jacobian.positions().chain(mass.iter().map(|(r, c, _)| (*r, *c))));
        let slot = |row, col| pattern.find(row, col).unwrap_or(0) as u32;
        let from_jacobian = jacobian.positions().map(|(r, c)| slot(r, c)).collect();
        let from_mass = mass.iter().map(|(r, c, v)| (slot(*r, *c), *v)).collect();
        let factor = factor_for(&pattern)?;
        Ok(Full { values: vec![0.0; pattern.entries()], from_jacobian, from_mass, factor })
    }

    fn factor(&mut self, alpha: f64, jacobian: &[f64]) -> Result<(), usize> {
        self.values.fill(0.0);
        for (slot, value) in self.from_jacobian.iter().zip(jacobian) {
            self.values[*slot as usize] -= value;
        }
        for (slot, value) in &self.from_mass {
            self.values[*slot as usize] += alpha * value;
        }
        self.factor.factor(&self.values)
    }
}

/// (row, column, value) of each entry of M.
pub(super) fn mass_entries(mass: &MassMatrix, n: usize) -> Vec<(usize, usize, f64)> {
    match mass {
        MassMatrix::Identity => (0..n).map(|i| (i, i, 1.0)).collect(),
        MassMatrix::Constant(pattern, values) => {
            pattern.positions().zip(values).map(|((r, c), v)| (r, c, *v)).collect()
        }
    }
}
