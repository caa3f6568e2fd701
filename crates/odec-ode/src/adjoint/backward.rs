//! The adjoint equations as a system: l' = -(df/dy)^T l, together with the integrals m' = -(df/dp)^T l, along a
//! recorded solution.

use std::cell::{Ref, RefCell};

use super::course::RecordedRun;
use super::{ByParameters, Transposed};
use crate::pattern::Pattern;
use crate::system::{EvalError, Jacobian, Shape, System};

/// The time derivative comes from differences between three pairs of points at multiples of this fraction of a step of
/// the solution, with these weights. It is exact for polynomials of degree 6.
const APART: f64 = 0.03;
const WEIGHTS: [f64; 3] = [3.0 / 4.0, -3.0 / 20.0, 1.0 / 60.0];

pub struct Backward<'a> {
    system: &'a dyn System,
    by: &'a dyn ByParameters,
    kept: RefCell<RecordedRun<'a>>,
    jacobian: Transposed,
    parameters: Transposed,
    n: usize,
    pattern: Pattern,
    /// Positions of the entries of the two matrices in the Jacobian of this system.
    places: Vec<u32>,
    room: RefCell<Room>,
}

/// Values at one point.
struct Room {
    y: Vec<f64>,
    jacobian: Vec<f64>,
    parameters: Vec<f64>,
    slope: Vec<f64>,
}

impl<'a> Backward<'a> {
    pub fn new(
        system: &'a dyn System,
        by: &'a dyn ByParameters,
        kept: RecordedRun<'a>,
        jacobian: Transposed,
        parameters: Transposed,
    ) -> Backward<'a> {
        let n = system.shape().n;
        let (own, further) = (&jacobian, &parameters);
        let all = n + further.rows;
        let at = |matrix: &Transposed, first: usize| -> Vec<(usize, usize)> {
            matrix.entries.iter().map(|(row, column, _)| (first + *row as usize, *column as usize)).collect()
        };
        let positions = [at(own, 0), at(further, n)].concat();
        let pattern = Pattern::from_positions(all, all, positions.iter().copied());
        let places = positions.iter().map(|(row, column)| pattern.entry(*row, *column)).collect();
        let room = Room {
            y: vec![0.0; n],
            jacobian: vec![0.0; jacobian.stored],
            parameters: vec![0.0; parameters.stored],
            slope: vec![0.0; all],
        };
        Backward {
            system,
            by,
            kept: RefCell::new(kept),
            jacobian,
            parameters,
            n,
            pattern,
            places,
            room: RefCell::new(room),
        }
    }

    pub fn kept(&self) -> Ref<'_, RecordedRun<'a>> {
        self.kept.borrow()
    }

    /// Moves to the previous part of the recorded solution.
    pub fn before(&self, look: &mut dyn FnMut(f64) -> bool) -> Result<bool, crate::SolveError> {
        self.kept.borrow_mut().before(look)
    }

    pub fn into_kept(self) -> RecordedRun<'a> {
        self.kept.into_inner()
    }

    /// Evaluates the matrices at `t + shift`, with the state from the polynomial that belongs to `t`.
    fn matrices(&self, t: f64, shift: f64, room: &mut Room) -> Result<(), EvalError> {
        let kept = self.kept.borrow();
        if shift == 0.0 {
            kept.course.value(t, &mut room.y);
        } else {
            kept.course.near(t, shift, &mut room.y);
        }
        self.system.jacobian_values(t + shift, &room.y, &mut room.jacobian)?;
        if self.parameters.rows > 0 {
            self.by.values(t + shift, &room.y, &mut room.parameters)?;
        }
        Ok(())
    }

    fn slopes(&self, room: &Room, z: &[f64], f: &mut [f64]) {
        f.fill(0.0);
        let (own, further) = f.split_at_mut(self.n);
        self.jacobian.add(&room.jacobian, z, own);
        self.parameters.add(&room.parameters, z, further);
        for f in f.iter_mut() {
            *f = -*f;
        }
    }
}

impl System for Backward<'_> {
    fn shape(&self) -> Shape {
        Shape { n: self.n + self.parameters.rows, second: 0 }
    }

    fn rhs(&self, t: f64, z: &[f64], f: &mut [f64]) -> Result<(), EvalError> {
        let mut room = self.room.borrow_mut();
        self.matrices(t, 0.0, &mut room)?;
        self.slopes(&room, z, f);
        Ok(())
    }

    fn jacobian(&self) -> Jacobian<'_> {
        Jacobian::Entries(&self.pattern)
    }

    fn jacobian_values(&self, t: f64, _z: &[f64], values: &mut [f64]) -> Result<(), EvalError> {
        let mut room = self.room.borrow_mut();
        self.matrices(t, 0.0, &mut room)?;
        let own = self.jacobian.entries.iter().map(|(.., from)| room.jacobian[*from as usize]);
        let further = self.parameters.entries.iter().map(|(.., from)| room.parameters[*from as usize]);
        for (place, value) in self.places.iter().zip(own.chain(further)) {
            values[*place as usize] = -value;
        }
        Ok(())
    }

    fn time_derivative(&self, t: f64, z: &[f64], out: &mut [f64]) -> Result<(), EvalError> {
        let apart = APART * self.kept.borrow().course.length(t);
        // so that t + apart is exact
        let apart = (t + apart) - t;
        out.fill(0.0);
        if apart == 0.0 {
            return Ok(());
        }
        let room = &mut *self.room.borrow_mut();
        let mut slope = std::mem::take(&mut room.slope);
        for (k, weight) in WEIGHTS.iter().enumerate() {
            for side in [1.0, -1.0] {
                self.matrices(t, side * (k + 1) as f64 * apart, room)?;
                self.slopes(room, z, &mut slope);
                out.iter_mut().zip(&slope).for_each(|(out, f)| *out += side * weight / apart * f);
            }
        }
        room.slope = slope;
        Ok(())
    }
}
