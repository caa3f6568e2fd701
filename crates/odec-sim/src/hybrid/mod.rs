//! A model with modes as the hybrid system that the solver runs.
//!
//! | file | what it does |
//! |---|---|
//! | `routine` | results beside those of the model: sides of relations, times |
//! | `places` | where the elements of all of them are |
//! | `system` | the hybrid system: modes and discretes to the parameter buffer, lists of times |
//! | `drive` | a run |
//!
//! Two machines belong to such a model. That of [`crate::bind::Bound`] compares as the text says, at any point. That of
//! [`Located`] reads modes, and is right only while its modes are those of the point: nobody but a run takes it.

pub(crate) mod drive;
mod places;
mod routine;
mod system;

use std::sync::{Arc, Mutex};

use odec_ir::Span;
use odec_ir::switch::Switching;

use crate::machine::{KernelCode, Machine, Unfit};
use places::Places;
use routine::Routine;

/// What decides the modes, compiled and bound.
struct Code {
    switching: Switching,
    sides: Routine,
    rates: Routine,
    values: Routine,
    facts: Routine,
}

/// A bound model with modes.
pub struct Located {
    machine: Machine,
    code: Arc<Code>,
    places: Arc<Places>,
    /// Of each relation, then of each timed quantity.
    modes: Vec<f64>,
    discretes: Vec<f64>,
    /// Times that come once, in ascending order.
    once: Vec<f64>,
    /// First time and period of the others; none where there is no such time.
    every: Vec<Option<(f64, f64)>>,
    /// Start and end of the run.
    span: (f64, f64),
    /// Discretes have changed since the lists of times were made.
    changed: bool,
    /// A state for kernels that read none.
    still: Vec<f64>,
    room: Mutex<Vec<f64>>,
}

impl Located {
    /// Binds the code of a program with modes.
    ///
    /// # Errors
    /// What cannot be compiled or bound.
    pub(crate) fn bind(code: KernelCode, switching: Switching, jacobian: bool) -> Result<Located, Unfit> {
        let machine = Machine::bind(code, jacobian)?;
        let execution = machine.execution();
        let made = |program: &odec_ir::Program| Routine::new(program.clone(), execution);
        let (sides, rates) = (made(&switching.sides)?, made(&switching.rates)?);
        let (values, facts) = (made(&switching.values)?, made(&switching.facts)?);
        let code = Code { switching, sides, rates, values, facts };
        let still = vec![0.0; machine.layout().n];
        let mut known = vec![0.0; code.facts.len()];
        code.facts.run(0.0, &still, machine.parameters(), &still, &mut known);
        let places = Places::of(&code, machine.layout(), &known);
        let room = code.sides.len().max(code.rates.len()).max(code.values.len()).max(code.facts.len());
        Ok(Located {
            modes: vec![0.0; places.relations.len() + places.timed.len()],
            discretes: vec![0.0; places.discretes.len()],
            once: Vec::new(),
            every: Vec::new(),
            span: (0.0, 0.0),
            changed: true,
            still,
            room: Mutex::new(vec![0.0; room]),
            machine,
            code: Arc::new(code),
            places: Arc::new(places),
        })
    }

    /// The machine, with the modes of the last run.
    pub(crate) fn machine(&self) -> &Machine {
        &self.machine
    }

    /// The same, for changes of its parameters.
    pub(crate) fn machine_mut(&mut self) -> &mut Machine {
        self.changed = true;
        &mut self.machine
    }

    /// Another one with the same code, and modes and parameters of its own.
    pub(crate) fn fork(&self) -> Located {
        Located {
            machine: self.machine.fork(),
            code: self.code.clone(),
            places: self.places.clone(),
            modes: self.modes.clone(),
            discretes: self.discretes.clone(),
            once: self.once.clone(),
            every: self.every.clone(),
            span: self.span,
            changed: true,
            still: self.still.clone(),
            room: Mutex::new(vec![0.0; self.room.lock().map_or(0, |room| room.len())]),
        }
    }

    /// Takes the parameters of another one with the same code.
    pub(crate) fn follow(&mut self, other: &Located) {
        let from = other.machine.parameters();
        self.machine.switch(|p| p.copy_from_slice(from));
        self.changed = true;
    }

    /// Where a relation is written.
    pub(crate) fn relation_span(&self, relation: usize) -> Option<Span> {
        self.places.span(&self.code, relation)
    }

    /// Where relations are written, each once.
    pub(crate) fn relation_spans(&self) -> impl Iterator<Item = Span> + '_ {
        self.code.switching.relations.iter().map(|relation| relation.span)
    }

    /// Where what these events belong to is written.
    pub(crate) fn event_spans<'a>(&'a self, events: &'a [usize]) -> impl Iterator<Item = Span> + 'a {
        let relation = |event: &usize| self.places.counted.get(event / 2).map(|counted| counted.up);
        events.iter().filter_map(relation).filter_map(|relation| self.relation_span(relation))
    }

    /// How many relations there are, of all elements.
    pub fn relations(&self) -> usize {
        self.places.relations.len()
    }

    /// What decides the modes.
    pub fn switching(&self) -> &Switching {
        &self.code.switching
    }
}
