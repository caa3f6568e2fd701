//! The adjoint equations as a system: l' = -(df/dy)^T l along a recorded solution.

use std::cell::{Ref, RefCell};

use super::product::Columns;
use super::recording::Solution;
use crate::pattern::Pattern;
use crate::system::{EvalError, Jacobian, Shape, System};

/// The time derivative comes from differences between three pairs of points at multiples of this fraction of a step of
/// the solution, with these weights. It is exact for polynomials of degree 6.
const TIME_DIFFERENCE: f64 = 0.03;
const WEIGHTS: [f64; 3] = [3.0 / 4.0, -3.0 / 20.0, 1.0 / 60.0];

pub struct Backward<'a> {
    system: &'a dyn System,
    kept: RefCell<Solution<'a>>,
    /// The columns of df/dy.
    columns: Columns<'a>,
    transposed: Pattern,
    /// The entry of the transpose for each entry of df/dy.
    places: Vec<u32>,
    room: RefCell<Workspace>,
}

/// Values at one point: working memory.
struct Workspace {
    y: Vec<f64>,
    jacobian: Vec<f64>,
    slope: Vec<f64>,
}

impl<'a> Backward<'a> {
    /// `pattern` is that of the Jacobian of the system.
    pub fn new(system: &'a dyn System, kept: Solution<'a>, pattern: &'a Pattern) -> Backward<'a> {
        let n = system.shape().n;
        let positions = || pattern.positions().map(|(row, column)| (column, row));
        let transposed = Pattern::from_positions(n, n, positions());
        let places = positions().map(|(row, column)| transposed.entry(row, column)).collect();
        let room = Workspace { y: vec![0.0; n], jacobian: vec![0.0; pattern.entries()], slope: vec![0.0; n] };
        let columns = Columns::new(pattern, 0..n);
        Backward { system, kept: RefCell::new(kept), columns, transposed, places, room: RefCell::new(room) }
    }

    pub fn kept(&self) -> Ref<'_, Solution<'a>> {
        self.kept.borrow()
    }

    /// Moves to the previous part of the recorded solution.
    pub fn before(&self, look: &mut dyn FnMut(f64) -> bool) -> Result<bool, crate::SolveError> {
        self.kept.borrow_mut().before(look)
    }

    pub fn into_kept(self) -> Solution<'a> {
        self.kept.into_inner()
    }

    /// Evaluates the matrix at `t + shift`, with the state from the polynomial that belongs to `t`.
    fn matrix(&self, t: f64, shift: f64, room: &mut Workspace) -> Result<(), EvalError> {
        let kept = self.kept.borrow();
        if shift == 0.0 {
            kept.solution().value(t, &mut room.y)?;
        } else {
            kept.solution().near(t, shift, &mut room.y)?;
        }
        self.system.jacobian_values(t + shift, &room.y, &mut room.jacobian)
    }

    /// The product with the matrix of `room`.
    fn slopes(&self, room: &Workspace, l: &[f64], f: &mut [f64]) {
        self.columns.multiply(&room.jacobian, l, f);
        for f in f.iter_mut() {
            *f = -*f;
        }
    }
}

impl System for Backward<'_> {
    fn shape(&self) -> Shape {
        Shape { n: self.transposed.cols(), second: 0 }
    }

    fn rhs(&self, t: f64, l: &[f64], f: &mut [f64]) -> Result<(), EvalError> {
        let mut room = self.room.borrow_mut();
        self.matrix(t, 0.0, &mut room)?;
        self.slopes(&room, l, f);
        Ok(())
    }

    fn jacobian(&self) -> Jacobian<'_> {
        Jacobian::Entries(&self.transposed)
    }

    fn jacobian_values(&self, t: f64, _l: &[f64], values: &mut [f64]) -> Result<(), EvalError> {
        let mut room = self.room.borrow_mut();
        self.matrix(t, 0.0, &mut room)?;
        for (place, value) in self.places.iter().zip(&room.jacobian) {
            values[*place as usize] = -value;
        }
        Ok(())
    }

    fn time_derivative(&self, t: f64, l: &[f64], out: &mut [f64]) -> Result<(), EvalError> {
        let spacing = TIME_DIFFERENCE * self.kept.borrow().solution().length(t)?;
        // so that t + spacing is exact
        let spacing = (t + spacing) - t;
        out.fill(0.0);
        if spacing == 0.0 {
            return Ok(());
        }
        let room = &mut *self.room.borrow_mut();
        let mut slope = std::mem::take(&mut room.slope);
        for (k, weight) in WEIGHTS.iter().enumerate() {
            for side in [1.0, -1.0] {
                self.matrix(t, side * (k + 1) as f64 * spacing, room)?;
                self.slopes(room, l, &mut slope);
                out.iter_mut().zip(&slope).for_each(|(out, f)| *out += side * weight / spacing * f);
            }
        }
        room.slope = slope;
        Ok(())
    }
}
