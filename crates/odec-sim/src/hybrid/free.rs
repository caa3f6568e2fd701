//! Free relations: no step ends on their surfaces. Wherever the run evaluates anything, they are compared at that very
//! point, as the text of the model says.

use std::sync::{Mutex, PoisonError};

use odec_ir::{Node, Role};

use super::places::Places;
use super::{Located, ModeCode};
use crate::executor::Executor;

/// Most rounds in which relations are compared: sides may depend on other modes.
const ROUNDS: usize = 64;

/// The free relations of a run.
pub(super) struct Free {
    pub relations: Vec<bool>,
    compared: Mutex<Compared>,
}

/// An executor with the modes of free relations at one point.
struct Compared {
    executor: Executor,
    modes: Vec<f64>,
    sides: Vec<f64>,
}

impl Compared {
    /// Compares the free relations at a point.
    fn settle(&mut self, of: (&ModeCode, &Places, &[bool]), (t, y, still): (f64, &[f64], &[f64])) {
        for _ in 0..ROUNDS {
            of.0.sides.run(t, y, self.executor.parameters(), still, &mut self.sides);
            if !compare(of, &self.sides, &mut self.modes) {
                return;
            }
            self.write(of);
        }
    }

    fn write(&mut self, (_, places, free): (&ModeCode, &Places, &[bool])) {
        let Compared { executor, modes, .. } = self;
        executor.switch(|p| set(p, places, free, modes));
    }
}

/// Sets the modes of free relations from the sides. True if a mode has changed.
fn compare((_, places, free): (&ModeCode, &Places, &[bool]), sides: &[f64], modes: &mut [f64]) -> bool {
    let mut changed = false;
    for (relation, _) in free.iter().enumerate().filter(|(_, free)| **free) {
        let (at, of) = (&places.compared[relation], places.relations[relation]);
        let (left, right) = (sides[at.left], sides[at.right]);
        let holds = f64::from(u8::from(left > right || (of.or_equal && left == right)));
        changed |= std::mem::replace(&mut modes[relation], holds) != holds;
    }
    changed
}

/// Writes the modes of free relations to a parameter buffer.
fn set(p: &mut [f64], places: &Places, free: &[bool], modes: &[f64]) {
    for (relation, _) in free.iter().enumerate().filter(|(_, free)| **free) {
        if let Some(at) = places.compared[relation].mode {
            p[at] = modes[relation];
        }
    }
}

impl Located {
    /// Runs a function with the executor of the run, in which the modes of free relations are those of a point.
    pub(super) fn at<T>(&self, t: f64, y: &[f64], run: impl FnOnce(&Executor) -> T) -> T {
        let Some(free) = &self.free else { return run(&self.executor) };
        let mut compared = free.compared.lock().unwrap_or_else(PoisonError::into_inner);
        compared.settle((&self.code, &self.places, &free.relations), (t, y, &self.still));
        run(&compared.executor)
    }

    /// True if a relation may be free: kernels read its mode, and no event depends on it.
    pub(super) fn may_free(&self, relation: usize) -> bool {
        let of = &self.code.switching.relations[self.places.of[relation]];
        let Some(mode) = of.mode else { return false };
        !self.code.switching.events.conditions.kernels.iter().any(|kernel| {
            kernel.live().any(|(_, node)| match node {
                Node::Read(element) => {
                    let array = kernel.array(element);
                    let staged = self.code.switching.events.conditions.arrays[array.0 as usize].role == Role::Staged;
                    array == mode || staged
                }
                _ => false,
            })
        })
    }

    /// Frees these relations, and no others.
    pub(super) fn free_only(&mut self, relations: &[bool]) {
        self.locate_all();
        let modes = self.modes.clone();
        self.free = relations.contains(&true).then(|| Free {
            relations: relations.to_vec(),
            compared: Mutex::new(Compared {
                executor: self.executor.fork(),
                modes,
                sides: vec![0.0; self.code.sides.len()],
            }),
        });
    }

    /// Determines which relations are read.
    pub(super) fn update_reads(&mut self) {
        if let Some(free) = &self.free {
            // what is read may depend on the modes of free relations, which change inside a step
            self.open.iter_mut().zip(&free.relations).for_each(|(open, free)| *open = !free);
            return;
        }
        if self.code.reads.len() == 0 {
            return;
        }
        let mut room = std::mem::take(self.room.get_mut().unwrap_or_else(PoisonError::into_inner));
        let out = &mut room[..self.code.reads.len()];
        self.code.reads.run(0.0, &self.still, self.executor.parameters(), &self.still, out);
        for (read, compared) in self.open.iter_mut().zip(&self.places.compared) {
            *read = compared.reads.as_ref().is_none_or(|reads| reads.iter().any(|at| out[*at] != 0.0));
        }
        *self.room.get_mut().unwrap_or_else(PoisonError::into_inner) = room;
    }

    /// True if any relation is free.
    pub(super) fn is_any_free(&self) -> bool {
        self.free.is_some()
    }

    /// Locates all relations.
    pub(super) fn locate_all(&mut self) {
        if self.free.take().is_some() {
            self.open.fill(true);
        }
    }

    /// Passes the parameters of the run on to the executor that compares free relations.
    pub(super) fn pass_on(&mut self) {
        let Located { free, executor, places, .. } = self;
        if let Some(Free { relations, compared }) = free {
            let Compared { executor: to, modes, .. } = compared.get_mut().unwrap_or_else(PoisonError::into_inner);
            to.switch(|p| {
                p.copy_from_slice(executor.parameters());
                set(p, places, relations, modes);
            });
        }
    }

    /// The modes of free relations at a point.
    pub(super) fn modes_at(&self, t: f64, y: &[f64], modes: &mut [f64]) {
        let Some(free) = &self.free else { return };
        let mut compared = free.compared.lock().unwrap_or_else(PoisonError::into_inner);
        compared.settle((&self.code, &self.places, &free.relations), (t, y, &self.still));
        let of = modes.len();
        modes.copy_from_slice(&compared.modes[..of]);
    }

    /// Shows the modes of free relations at a point, for outputs; see [`Located::show`].
    pub(crate) fn show_free(&mut self, free: &[bool], t: f64, y: &[f64]) {
        if free.is_empty() {
            return;
        }
        let (code, places) = (self.code.clone(), self.places.clone());
        let mut sides = vec![0.0; code.sides.len()];
        for _ in 0..ROUNDS {
            code.sides.run(t, y, self.executor.parameters(), &self.still, &mut sides);
            if !compare((&code, &places, free), &sides, &mut self.modes) {
                return;
            }
            self.write();
        }
    }
}
