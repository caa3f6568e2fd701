//! Several runs of one model that take turns on one thread, so that their whole steps are made together: one call of a kernel that works on the
//! values of all of them at a time. Each run has the bits that it has alone.
//!
//! A run goes on until its next whole step. There it waits (on a stack of its own) until no other run can go on; the last one to come calls the kernel for
//! all that wait for the same one. The stepping loop, the methods and what they report know nothing of it: [`System::take_step`] is the one
//! place where runs wait.

use std::any::Any;
use std::cell::Cell;
use std::sync::Arc;

use odec_jit::{LaneFunction, Slot};
use odec_ode::pattern::Pattern;
use odec_ode::step::{Formula, WholeStep};
use odec_ode::system::{EvalError, Mass, Shape, System};

use crate::machine::Machine;
use crate::steps::Native;

/// Runs that take turns.
pub const LANES: usize = 4;
/// Bytes of the stack of a run. It is memory only as far as it is used, some pages.
#[cfg(any(all(unix, any(target_arch = "x86_64", target_arch = "aarch64")), all(windows, target_arch = "x86_64")))]
const STACK: usize = 4 << 20;

/// What a run is doing: it goes on when its turn comes, it is to call the kernel that it waits for when its turn comes, it has ended. Any other
/// number is the address of the kernel that it waits for.
const GOES: usize = 0;
const LEADS: usize = 1;
const OVER: usize = 2;

/// What all runs know of one another.
struct Board {
    states: [Cell<usize>; LANES],
    slots: [Slot; LANES],
    /// How many can go on.
    going: Cell<usize>,
    /// Steps that were made with others.
    made: Cell<u64>,
}

impl Board {
    /// For so many runs.
    fn new(lanes: usize) -> Board {
        Board {
            states: std::array::from_fn(|number| Cell::new(if number < lanes { GOES } else { OVER })),
            slots: std::array::from_fn(|_| Slot::new()),
            going: Cell::new(lanes),
            made: Cell::new(0),
        }
    }

    fn goes(&self, number: usize) -> bool {
        self.states[number].get() <= LEADS
    }

    fn ended(&self, number: usize) {
        self.states[number].set(OVER);
        self.going.set(self.going.get() - 1);
    }

    /// Lets one of those that wait lead, if there is one.
    fn call_one(&self) -> bool {
        let waits = self.states.iter().find(|state| state.get() > OVER);
        if let Some(state) = waits {
            state.set(LEADS);
            self.going.set(self.going.get() + 1);
        }
        waits.is_some()
    }

    /// Waits for the kernel with the buffers in the slot; true once it ran for them, false where nobody else waits for it.
    #[inline]
    fn wait(&self, number: usize, lanes: &LaneFunction, kernel: usize, suspend: &dyn Fn()) -> bool {
        let state = &self.states[number];
        let going = self.going.get() - 1;
        state.set(kernel);
        self.going.set(going);
        if going > 0 {
            suspend();
            if state.get() == GOES {
                return true;
            }
            // it leads, and was counted again
            self.going.set(self.going.get() - 1);
            state.set(kernel);
        }
        let all = self.states.iter().all(|state| state.get() == kernel);
        if all && lanes.run(&self.slots.each_ref()) {
            self.states.iter().for_each(|state| state.set(GOES));
            self.going.set(LANES);
            self.made.set(self.made.get() + LANES as u64);
            return true;
        }
        self.lead(number, lanes, kernel)
    }

    /// Runs the kernel for those that wait for it, this one among them. Of those that wait for another one is called.
    fn lead(&self, number: usize, lanes: &LaneFunction, kernel: usize) -> bool {
        let (mut slots, mut numbers, mut count) = ([&self.slots[number]; LANES], [number; LANES], 1);
        for (other, state) in self.states.iter().enumerate() {
            if other != number && state.get() == kernel && count < lanes.lanes() {
                (slots[count], numbers[count]) = (&self.slots[other], other);
                count += 1;
            }
        }
        // whoever else waits for it calls it when its turn comes, if this does not
        let made = count > 1 && lanes.run(&slots[..count]);
        let served = if made { count } else { 1 };
        numbers[..served].iter().for_each(|&number| self.states[number].set(GOES));
        self.going.set(self.going.get() + served);
        self.made.set(self.made.get() + if made { count as u64 } else { 0 });
        let nobody_leads = self.states.iter().all(|state| state.get() != LEADS);
        let other = self.states.iter().find(|state| state.get() > OVER && state.get() != kernel);
        if let Some(state) = other.filter(|_| nobody_leads) {
            state.set(LEADS);
            self.going.set(self.going.get() + 1);
        }
        made
    }
}

/// One of the runs that take turns, or a run alone.
pub struct Lane<'a> {
    turn: Option<(&'a Board, usize, &'a dyn Fn())>,
}

impl Lane<'_> {
    /// Where nobody takes turns.
    pub const ALONE: Lane<'static> = Lane { turn: None };

    /// A machine as this run is to solve it.
    pub fn system<'b>(&'b self, machine: &'b Machine) -> Beside<'b> {
        Beside { machine, lane: self }
    }
}

/// Calls `work` once for each of so many runs, with its number, all on this thread; each makes its systems by [`Lane::system`]. `work` takes its points
/// from a common store and goes on as long as there are some, so that nobody waits for the slowest. It is called once, alone, on a platform where
/// runs cannot take turns, or if there is no memory for their stacks.
///
/// Returns how many steps were made together with those of other runs.
pub fn together(lanes: usize, work: &dyn Fn(usize, &Lane<'_>)) -> u64 {
    let made = if lanes < 2 { None } else { strands::run(lanes.min(LANES), work) };
    made.unwrap_or_else(|| {
        work(0, &Lane::ALONE);
        0
    })
}

#[cfg(any(all(unix, any(target_arch = "x86_64", target_arch = "aarch64")), all(windows, target_arch = "x86_64")))]
mod strands {
    use corosensei::stack::DefaultStack;
    use corosensei::{CoroutineResult, ScopedCoroutine, ScopedCoroutineRef, Yielder};

    use super::{Board, Lane, STACK};

    type Strand<'a> = ScopedCoroutine<'a, (), (), ()>;
    type Entered<'b> = ScopedCoroutineRef<'b, (), (), (), DefaultStack>;

    /// Nothing if nothing was done.
    pub(super) fn run(lanes: usize, work: &dyn Fn(usize, &Lane<'_>)) -> Option<u64> {
        let board = Board::new(lanes);
        let mut strands = Vec::with_capacity(lanes);
        for number in (0..lanes).rev() {
            let stack = DefaultStack::new(STACK).ok()?;
            let board = &board;
            strands.push(ScopedCoroutine::with_stack(stack, move |yielder: &Yielder<(), ()>, ()| {
                let suspend = || yielder.suspend(());
                work(number, &Lane { turn: Some((board, number, &suspend)) });
            }));
        }
        enter(strands, Vec::with_capacity(lanes), &board);
        Some(board.made.get())
    }

    /// Enters the scopes of all strands, and gives turns inside of all.
    fn enter(mut strands: Vec<Strand<'_>>, entered: Vec<Entered<'_>>, board: &Board) {
        let Some(strand) = strands.pop() else { return give_turns(entered, board) };
        strand.scope(|own| {
            let mut entered = entered;
            entered.push(own);
            enter(strands, entered, board);
        });
    }

    fn give_turns(mut strands: Vec<Entered<'_>>, board: &Board) {
        loop {
            for (number, strand) in strands.iter_mut().enumerate() {
                if board.goes(number)
                    && let CoroutineResult::Return(()) = strand.resume(())
                {
                    board.ended(number);
                }
            }
            // the last one that could go on may have ended instead of waiting
            if board.going.get() == 0 && !board.call_one() {
                return;
            }
        }
    }
}

#[cfg(not(any(
    all(unix, any(target_arch = "x86_64", target_arch = "aarch64")),
    all(windows, target_arch = "x86_64")
)))]
mod strands {
    pub(super) fn run(_: usize, _: &dyn Fn(usize, &super::Lane<'_>)) -> Option<u64> {
        None
    }
}

/// A machine whose whole steps wait for those of other runs.
pub struct Beside<'a> {
    machine: &'a Machine,
    lane: &'a Lane<'a>,
}

impl Beside<'_> {
    /// Makes a step together with other runs; false, and nothing is done, where none waits for the same.
    #[inline]
    fn with_others(&self, step: Option<&Native>, t: f64, kept: &[f64], given: &[f64], out: &mut [f64]) -> bool {
        let Some((board, number, suspend)) = self.lane.turn else { return false };
        let Some(lanes) = step.and_then(Native::lanes) else { return false };
        let kernel = std::ptr::from_ref(lanes).addr();
        let mut made = false;
        let buffers = (t, kept, self.machine.parameters(), given);
        lanes.offer(&board.slots[number], buffers, out, || made = board.wait(number, lanes, kernel, suspend));
        made
    }
}

impl System for Beside<'_> {
    fn take_step(&self, step: &(dyn WholeStep + 'static), t: f64, kept: &[f64], given: &[f64], out: &mut [f64]) {
        let any: &dyn Any = step;
        if !self.with_others(any.downcast_ref::<Native>(), t, kept, given, out) {
            step.run(t, kept, self.machine.parameters(), given, out);
        }
    }

    fn shape(&self) -> Shape {
        self.machine.shape()
    }

    fn rhs(&self, t: f64, y: &[f64], f: &mut [f64]) -> Result<(), EvalError> {
        self.machine.rhs(t, y, f)
    }

    fn jacobian_pattern(&self) -> &Pattern {
        self.machine.jacobian_pattern()
    }

    fn jacobian(&self, t: f64, y: &[f64], values: &mut [f64]) -> Result<(), EvalError> {
        self.machine.jacobian(t, y, values)
    }

    fn holds_jacobian(&self) -> bool {
        self.machine.holds_jacobian()
    }

    fn jacobian_vector(&self, t: f64, y: &[f64], w: &[f64], out: &mut [f64]) -> Result<(), EvalError> {
        self.machine.jacobian_vector(t, y, w, out)
    }

    fn time_derivative(&self, t: f64, y: &[f64], out: &mut [f64]) -> Result<(), EvalError> {
        self.machine.time_derivative(t, y, out)
    }

    fn autonomous(&self) -> bool {
        self.machine.autonomous()
    }

    fn prepare_series(&self, order: usize) -> Result<(), String> {
        self.machine.prepare_series(order)
    }

    fn series_is_short(&self, order: usize) -> bool {
        self.machine.series_is_short(order)
    }

    fn series(&self, t: f64, y: &[f64], order: usize, out: &mut [f64]) -> Result<(), EvalError> {
        self.machine.series(t, y, order, out)
    }

    fn prepare_series_step(&self, order: usize) -> bool {
        self.machine.prepare_series_step(order)
    }

    fn series_step(&self, t: f64, order: usize, from: &[f64], to: &mut [f64]) -> Result<(), EvalError> {
        if self.with_others(self.machine.series_code(order), t, from, from, to) {
            return Ok(());
        }
        self.machine.series_step(t, order, from, to)
    }

    fn whole_step(&self, formula: Formula) -> Option<Arc<dyn WholeStep>> {
        self.machine.whole_step(formula)
    }

    fn expects_many_runs(&self) -> bool {
        self.machine.expects_many_runs()
    }

    fn parameters(&self) -> &[f64] {
        self.machine.parameters()
    }

    fn groups(&self) -> usize {
        self.machine.groups()
    }

    fn mass(&self) -> Mass<'_> {
        self.machine.mass()
    }

    fn mass_values(&self, t: f64, y: &[f64], values: &mut [f64]) -> Result<(), EvalError> {
        self.machine.mass_values(t, y, values)
    }

    fn mass_jacobian(&self, t: f64, y: &[f64], w: &[f64], values: &mut [f64]) -> Result<(), EvalError> {
        self.machine.mass_jacobian(t, y, w, values)
    }

    fn mass_time_derivative(&self, t: f64, y: &[f64], w: &[f64], out: &mut [f64]) -> Result<(), EvalError> {
        self.machine.mass_time_derivative(t, y, w, out)
    }
}
