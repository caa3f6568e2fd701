//! W = alpha*M - J for the implicit methods: one place forms it, reduces it where the problem is of second order, and solves.
//!
//! Where M depends on the state, the equation M(t, y) w(y) = f(t, y) has the derivative alpha*M + d(M(y) w)/dy - df/dy at
//! fixed w, and J stands for df/dy - d(M(y) w)/dy.

use crate::evaluator::Evaluator;
use crate::linear::second_order::Reduction;
use crate::linear::{Factor, MassMatrix, admit, factor_for};
use crate::pattern::Pattern;
use crate::problem::{Cause, Refusal};
use crate::system::{Mass, System};

/// W = alpha*M - J with the Jacobian it holds and the factors last made.
pub struct Shifted {
    jacobian: Vec<f64>,
    mass: MassMatrix,
    /// Present where M depends on the state.
    moving: Option<Box<Moving>>,
    alpha: f64,
    form: Form,
}

/// The term d(M(y) w)/dy: J is then held on the union of its pattern with that of df/dy.
struct Moving {
    rhs: Vec<f64>,
    mass: Vec<f64>,
    /// Entry of J of each entry of df/dy, and of each of d(M w)/dy.
    from_rhs: Vec<u32>,
    from_mass: Vec<u32>,
}

enum Form {
    Full(Box<Full>),
    Reduced(Box<Reduction>),
}

impl Shifted {
    /// Structure for a system; `reduce` allows the elimination of positions in second-order problems.
    pub fn new(system: &dyn System, reduce: bool) -> Result<Self, Refusal> {
        let shape = system.shape();
        let n = shape.n;
        let own = system.jacobian_pattern();
        admit(own)?;
        let mass = MassMatrix::of(system.mass());
        let (union, moving) = match system.mass() {
            Mass::StateDependent { jacobian, .. } => {
                admit(jacobian)?;
                let union = Pattern::from_positions(n, n, own.positions().chain(jacobian.positions()));
                let slots = |p: &Pattern| p.positions().map(|(r, c)| union.find(r, c).unwrap_or(0) as u32).collect();
                let moving = Moving {
                    rhs: vec![0.0; own.entries()],
                    mass: vec![0.0; jacobian.entries()],
                    from_rhs: slots(own),
                    from_mass: slots(jacobian),
                };
                (Some(union), Some(Box::new(moving)))
            }
            _ => (None, None),
        };
        let pattern = union.as_ref().unwrap_or(own);
        let form = if reduce && shape.second > 0 {
            Form::Reduced(Box::new(Reduction::new(shape, pattern, &mass)?))
        } else {
            Form::Full(Box::new(Full::new(n, pattern, &mass)?))
        };
        Ok(Shifted { jacobian: vec![0.0; pattern.entries()], mass, moving, alpha: 0.0, form })
    }

    /// Evaluates df/dy, and M where it varies, at (t, y). The factors stay those of the last `factor`.
    pub fn evaluate(&mut self, eval: &mut Evaluator<'_>, t: f64, y: &[f64]) -> Result<(), Cause> {
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
        let mass = self.mass.entries().map(|(_, values)| values);
        match &mut self.form {
            Form::Full(full) => full.factor(alpha, &self.jacobian, mass),
            Form::Reduced(reduction) => reduction.factor(alpha, &self.jacobian, mass),
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
    from_mass: Vec<MassEntry>,
    factor: Box<dyn Factor>,
}

impl Full {
    fn new(n: usize, jacobian: &Pattern, mass: &MassMatrix) -> Result<Self, Refusal> {
        let mass = mass_positions(mass, n);
        let pattern = Pattern::from_positions(n, n, jacobian.positions().chain(mass.iter().copied()));
        let slot = |row, col| pattern.find(row, col).unwrap_or(0) as u32;
        let from_jacobian = jacobian.positions().map(|(r, c)| slot(r, c)).collect();
        let entry = |(k, (r, c)): (usize, &(usize, usize))| MassEntry { source: k as u32, slot: slot(*r, *c) };
        let from_mass = mass.iter().enumerate().map(entry).collect();
        let factor = factor_for(&pattern)?;
        Ok(Full { values: vec![0.0; pattern.entries()], from_jacobian, from_mass, factor })
    }

    fn factor(&mut self, alpha: f64, jacobian: &[f64], mass: Option<&[f64]>) -> Result<(), usize> {
        self.values.fill(0.0);
        for (slot, value) in self.from_jacobian.iter().zip(jacobian) {
            self.values[*slot as usize] -= value;
        }
        add_mass(alpha, &self.from_mass, mass, &mut self.values);
        self.factor.factor(&self.values)
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
pub(super) fn add_mass(alpha: f64, entries: &[MassEntry], mass: Option<&[f64]>, values: &mut [f64]) {
    match mass {
        None => entries.iter().for_each(|e| values[e.slot as usize] += alpha),
        Some(mass) => entries.iter().for_each(|e| values[e.slot as usize] += alpha * mass[e.source as usize]),
    }
}

/// (row, column) of each entry of M.
pub(super) fn mass_positions(mass: &MassMatrix, n: usize) -> Vec<(usize, usize)> {
    match mass.entries() {
        None => (0..n).map(|i| (i, i)).collect(),
        Some((pattern, _)) => pattern.positions().collect(),
    }
}
