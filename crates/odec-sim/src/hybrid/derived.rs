//! Parameter derivatives of mode conditions and event writes: their positions, and their values at a point.

use odec_ir::derive::DerivativeArrays;
use odec_ir::layout::Layout;
use odec_ir::switch::{self, Switching};
use odec_ir::{ArrayId, Program, Role};
use odec_ode::hybrid::Derived;

use super::ModeCode;
use super::events::Results;
use super::routine::Routine;
use crate::executor::{Execution, UnsuitableProgram};

/// Derivatives of the results of a routine by each parameter, in the order of the results themselves.
struct ResultsBy {
    routine: Routine,
    /// For each parameter: index among the results, index among the derivatives, length.
    moves: Vec<Vec<(usize, usize, usize)>>,
    len: usize,
}

impl ResultsBy {
    fn new(
        program: &Program,
        by: &[DerivativeArrays],
        of: &Routine,
        execution: Execution,
    ) -> Result<ResultsBy, UnsuitableProgram> {
        let routine = Routine::new(program.clone(), execution)?;
        let moves = |by: &DerivativeArrays| {
            let there = |(array, _): (ArrayId, _)| {
                let derivative = by.derivative(array)?;
                routine
                    .has(derivative)
                    .then(|| (of.places(array).start, routine.places(derivative).start, of.places(array).len()))
            };
            of.results().filter_map(there).collect()
        };
        Ok(ResultsBy { moves: by.iter().map(moves).collect(), len: of.len(), routine })
    }

    /// Derivatives with respect to one parameter after the other; 0 for values that do not depend on it.
    fn run(&self, t: f64, y: &[f64], p: &[f64], still: &[f64]) -> Vec<f64> {
        let mut made = vec![0.0; self.routine.len()];
        self.routine.run(t, y, p, still, &mut made);
        let mut out = vec![0.0; self.len * self.moves.len()];
        for (moves, out) in self.moves.iter().zip(out.chunks_mut(self.len.max(1))) {
            for &(to, from, len) in moves {
                out[to..to + len].copy_from_slice(&made[from..from + len]);
            }
        }
        out
    }
}

/// Compiled and bound derivatives.
pub(super) struct CompiledDerivatives {
    sides: ResultsBy,
    facts: ResultsBy,
    values: ResultsBy,
    values_by_time: ResultsBy,
    times: ResultsBy,
    initial: ResultsBy,
    parameters: usize,
}

/// Values at the last point: those with respect to the parameters, then those with respect to time.
pub(super) type Values = (Vec<f64>, Vec<f64>);

impl CompiledDerivatives {
    /// # Errors
    /// A program that cannot be compiled or bound.
    pub fn new(
        of: &switch::Derivatives,
        sides: &Routine,
        facts: &Routine,
        events: &Results,
        execution: Execution,
    ) -> Result<CompiledDerivatives, UnsuitableProgram> {
        let made = |program: &Program, base: &Routine| ResultsBy::new(program, &of.by, base, execution);
        let by_time = std::slice::from_ref(&of.by_time);
        Ok(CompiledDerivatives {
            sides: made(&of.sides, sides)?,
            facts: made(&of.facts, facts)?,
            values: made(&of.values, &events.values)?,
            values_by_time: ResultsBy::new(&of.values_by_time, by_time, &events.values, execution)?,
            times: made(&of.times, &events.times)?,
            initial: made(&of.initial, &events.initial)?,
            parameters: of.by.len(),
        })
    }

    /// Derivatives of both sides of all relations with respect to a parameter.
    pub fn sides(&self, parameter: usize, t: f64, y: &[f64], p: &[f64], still: &[f64]) -> Vec<f64> {
        let len = self.sides.len;
        let mut all = self.sides.run(t, y, p, still);
        all.drain(..parameter * len);
        all.truncate(len);
        all
    }

    /// Derivatives of the right-hand sides of events.
    pub fn values(&self, t: f64, y: &[f64], p: &[f64], still: &[f64]) -> Values {
        (self.values.run(t, y, p, still), self.values_by_time.run(t, y, p, still))
    }

    /// Derivatives of the times at which modes change, with respect to each parameter.
    pub fn facts(&self, p: &[f64], still: &[f64]) -> Vec<Vec<f64>> {
        self.split(&self.facts, p, still)
    }

    /// Derivatives of the times of events, with respect to each parameter.
    pub fn times(&self, p: &[f64], still: &[f64]) -> Vec<Vec<f64>> {
        self.split(&self.times, p, still)
    }

    /// Derivatives of the discretes at the start, with respect to each parameter.
    pub fn initial(&self, t0: f64, p: &[f64], still: &[f64]) -> Vec<Vec<f64>> {
        let len = self.initial.len.max(1);
        self.initial.run(t0, still, p, still).chunks(len).map(<[f64]>::to_vec).collect()
    }

    fn split(&self, of: &ResultsBy, p: &[f64], still: &[f64]) -> Vec<Vec<f64>> {
        let all = of.run(0.0, still, p, still);
        (0..self.parameters).map(|k| all[k * of.len..][..of.len].to_vec()).collect()
    }
}

/// Positions of states, discretes and their derivatives.
pub(super) fn places(switching: &Switching, program: &Program, layout: &Layout) -> Option<Derived> {
    let by = &switching.derivatives.as_ref()?.by;
    let start = layout.p_len() - layout.modes - layout.discretes;
    let first = by.first()?;
    let mut derived = Derived::default();
    let arrays: Vec<ArrayId> = (0..program.arrays.len() as u32).map(ArrayId).collect();
    let of = |roles: &[Role]| -> Vec<ArrayId> {
        let wanted = |array: &ArrayId| roles.contains(&program.arrays[array.0 as usize].role);
        arrays.iter().copied().filter(|array| first.derivative(*array).is_some() && wanted(array)).collect()
    };
    let rows = |array: ArrayId| (0..layout.len(array)).map(move |i| (layout.state(array) + i) as u32);
    let positions = |array: ArrayId| (0..layout.len(array)).map(move |i| (layout.parameter(array) - start + i) as u32);
    let states = of(&[Role::Position, Role::Velocity, Role::FirstOrder]);
    let discretes = of(&[Role::Discrete]);
    derived.states = states.iter().flat_map(|&array| rows(array)).collect();
    derived.discretes = discretes.iter().flat_map(|&array| positions(array)).collect();
    for derivatives in by {
        derived.rows.extend(states.iter().filter_map(|&array| derivatives.derivative(array)).flat_map(rows));
        derived
            .positions
            .extend(discretes.iter().filter_map(|&array| derivatives.derivative(array)).flat_map(positions));
    }
    Some(derived)
}

impl ModeCode {
    /// Derivatives of the discretes at the start, stored behind the discretes of the run.
    pub(super) fn start_derivatives(
        &self,
        (t0, p, still): (f64, &[f64], &[f64]),
        places: &super::places::Places,
        discretes: &mut [f64],
    ) {
        let (Some(derivatives), Some(derived)) = (&self.derivatives, &places.derived) else { return };
        let mut of = vec![0.0; discretes.len()];
        let count = derived.discretes.len();
        for (k, initial) in derivatives.initial(t0, p, still).iter().enumerate() {
            places.event_table.start(initial, &mut of);
            for (from, to) in derived.discretes.iter().zip(&derived.positions[k * count..]) {
                discretes[*to as usize] = of[*from as usize];
            }
        }
    }
}
