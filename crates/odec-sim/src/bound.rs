//! Copies of a bound model, and changes of its parameters.

use crate::bind::Bound;
use crate::executor::UnsuitableProgram;
use crate::hybrid::Located;

impl Bound {
    /// Changes the values of parameters; see [`crate::executor::Executor::change`].
    pub(crate) fn change(&mut self, change: impl Fn(&mut [f64])) -> Result<(), UnsuitableProgram> {
        if let Some(located) = &mut self.located {
            located.machine_mut().change(&change)?;
        }
        self.executor.change(change)
    }

    /// The absolute tolerance of the state at this index in y.
    pub fn atol(&self, place: usize) -> f64 {
        self.options.atol_at(place)
    }

    /// A copy with its own executor, for another thread.
    pub fn fork(&self) -> Bound {
        Bound {
            executor: self.executor.fork(),
            located: self.located.as_ref().map(Located::fork),
            problem: self.problem.clone(),
            options: self.options.clone(),
            samples: self.samples.clone(),
            logarithmic: self.logarithmic,
            spread: self.spread,
            choice: self.choice,
            states: self.states.clone(),
            values: self.values.clone(),
            columns: self.columns.clone(),
            expectations: self.expectations.clone(),
            conservation: self.conservation.clone(),
            balances: self.balances.clone(),
            asked: self.asked,
            guesses: self.guesses,
            guesses_read: self.guesses_read.clone(),
            moved: self.moved.clone(),
            chosen_starts: self.chosen_starts.clone(),
            from_steady: self.from_steady,
            steady: self.steady.clone(),
        }
    }
}
