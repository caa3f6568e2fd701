//! Copies of a bound model, and changes of its parameters.

use crate::bind::Bound;
use crate::hybrid::Located;
use crate::machine::Unfit;

impl Bound {
    /// Gives parameters other values; see [`crate::machine::Machine::change`].
    pub(crate) fn change(&mut self, change: impl Fn(&mut [f64])) -> Result<(), Unfit> {
        if let Some(located) = &mut self.located {
            located.machine_mut().change(&change)?;
        }
        self.machine.change(change)
    }

    /// The absolute tolerance of the state at a place in y.
    pub fn atol(&self, place: usize) -> f64 {
        self.options.atol.get(place).or(self.options.atol.first()).copied().unwrap_or(0.0)
    }

    /// The same with a machine of its own, for another thread.
    pub fn fork(&self) -> Bound {
        Bound {
            machine: self.machine.fork(),
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
        }
    }
}
