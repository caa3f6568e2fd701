//! A solution as polynomials, recorded by the run that makes the rows. Only a part of the solution is in memory. For
//! the other parts, the initial state is stored, and a part that is needed again is solved again.

use super::stored_solution::{Recorder, StoredSolution};
use crate::checks::bad;
use crate::evaluator::Evaluator;
use crate::method::Method;
use crate::problem::{Options, Problem, SolveError, Stats};
use crate::runner::{Reached, Runner, StepRequest};
use crate::system::System;

/// A recorded solution ([`Runner::record`]).
pub struct Recording {
    /// Memory for polynomials, in bytes.
    room: usize,
    /// The parts of the solution; the last one is in memory.
    parts: Vec<RecordedPart>,
    solution: StoredSolution,
    /// Where the last part ends.
    end: f64,
    /// The reason why a step could not be recorded.
    failure: Option<SolveError>,
    /// The work for the polynomials, in addition to that of the run.
    stats: Stats,
}

/// The start of a part of the solution.
struct RecordedPart {
    t: f64,
    y: Vec<f64>,
    /// The largest magnitude of each state at the ends of earlier steps, and here.
    sizes: Vec<f64>,
}

impl Recording {
    /// An empty recording, which will hold polynomials of at most `room` bytes.
    pub fn new(room: usize) -> Recording {
        let solution = StoredSolution::new(0, true);
        Recording { room, parts: Vec::new(), solution, end: 0.0, failure: None, stats: Stats::default() }
    }
}

/// Records the steps of a run.
pub(crate) struct Recorded<'a> {
    recording: &'a mut Recording,
    recorder: Recorder,
    /// Time and state before the step.
    t: f64,
    y: Vec<f64>,
    sizes: Vec<f64>,
    ended: bool,
}

impl<'a> Recorded<'a> {
    /// Begins a recording.
    pub(crate) fn begin(recording: &'a mut Recording, recorder: Recorder, problem: &Problem) -> Recorded<'a> {
        let (t, y) = (problem.t0, problem.y0.clone());
        let sizes: Vec<f64> = y.iter().map(|y| y.abs()).collect();
        *recording = Recording::new(recording.room);
        recording.solution = StoredSolution::new(y.len(), problem.t_end >= t);
        recording.end = t;
        recording.parts.push(RecordedPart { t, y: y.clone(), sizes: sizes.clone() });
        Recorded { recording, recorder, t, y, sizes, ended: false }
    }

    /// Records the last step of the run. `last` is true if the following ones are not needed. The counts of the run do
    /// not change.
    pub(crate) fn step(&mut self, runner: &mut Runner, eval: &mut Evaluator<'_>, last: bool) {
        if self.ended {
            return;
        }
        let Recorded { recording, recorder, t, y, sizes, .. } = self;
        if recording.solution.bytes() > recording.room {
            recording.solution.clear();
            recording.parts.push(RecordedPart { t: *t, y: y.clone(), sizes: sizes.clone() });
        }
        let counted = eval.stats;
        let taken = recorder.take(&mut recording.solution, runner.integrator.as_mut(), eval, (*t, y));
        let spent = std::mem::replace(&mut eval.stats, counted);
        recording.stats.add(&spent.since(&counted));
        if let Err(cause) = taken {
            recording.failure = Some(runner.failure(eval, cause));
        }
        self.ended = last || recording.failure.is_some();
        *t = runner.time();
        recording.end = *t;
        y.copy_from_slice(runner.state());
        sizes.iter_mut().zip(&*y).for_each(|(size, y)| *size = size.max(y.abs()));
    }
}

/// A recorded solution that is read from its end to its start.
pub(super) struct Solution<'a> {
    system: &'a dyn System,
    plan: (&'static Method, &'a Options),
    /// The recording. Its list contains the parts before `part`.
    recording: Recording,
    /// The last part that is not finished.
    part: RecordedPart,
    /// Solves parts again.
    runner: Option<(Runner, Recorder)>,
}

impl<'a> Solution<'a> {
    /// The recorded solution of a system with a method.
    pub fn new(
        system: &'a dyn System,
        plan: (&'static Method, &'a Options),
        mut recording: Recording,
    ) -> Result<Solution<'a>, SolveError> {
        if let Some(failure) = recording.failure.take() {
            return Err(failure);
        }
        match recording.parts.pop().filter(|part| part.y.len() == system.shape().n) {
            None => Err(bad("the recording is not that of a run of this system".to_owned()).into()),
            Some(part) => Ok(Solution { system, plan, recording, part, runner: None }),
        }
    }

    /// The last part that is not finished.
    pub fn solution(&self) -> &StoredSolution {
        &self.recording.solution
    }

    /// Work for the polynomials.
    pub fn stats(&self) -> Stats {
        self.recording.stats
    }

    /// Start of the last part that is not finished.
    pub fn start(&self) -> (f64, &[f64]) {
        (self.part.t, &self.part.y)
    }

    /// Number of parts that are not finished.
    pub fn parts(&self) -> usize {
        self.recording.parts.len() + 1
    }

    /// The state at a time in the last part. If the part has no steps, it is the state at its start.
    pub fn value(&self, t: f64, y: &mut [f64]) {
        let (start, from) = self.start();
        if t == start || self.solution().value(t, y).is_err() {
            y.copy_from_slice(from);
        }
    }

    /// The largest magnitude of each state up to a time in the last part.
    pub fn sizes(&self, t: f64) -> Vec<f64> {
        let mut sizes = self.part.sizes.clone();
        let mut y = vec![0.0; sizes.len()];
        let inside = self.solution().ends().filter(|end| self.solution().before(*end, t));
        for at in inside.chain([t]) {
            self.value(at, &mut y);
            sizes.iter_mut().zip(&y).for_each(|(size, y)| *size = size.max(y.abs()));
        }
        sizes
    }

    /// Drops the last part, and solves the one before it again. `look` receives the time after each step; if it returns
    /// false, the work stops, and the result is false.
    pub fn before(&mut self, look: &mut dyn FnMut(f64) -> bool) -> Result<bool, SolveError> {
        let Some(part) = self.recording.parts.pop() else { return Ok(true) };
        let t_end = std::mem::replace(&mut self.part, part).t;
        let Solution { system, plan: (method, options), recording, part, runner } = self;
        let (runner, recorder) = match runner {
            Some(made) => made,
            None => {
                let made = Runner::new(*system, method, options)?;
                let recorder = Recorder::new(made.further_rows(*system));
                runner.insert((made, recorder))
            }
        };
        recording.solution.clear();
        recording.end = t_end;
        let (mut t, mut y) = (part.t, part.y.clone());
        runner.begin(*system, &Problem { t0: t, t_end, y0: y.clone() })?;
        while t != t_end {
            let reached = runner.advance(*system, StepRequest::default())?;
            if !look(runner.time()) {
                return Ok(false);
            }
            runner.take(*system, recorder, &mut recording.solution, (t, &y))?;
            t = if reached == Reached::End { t_end } else { runner.time() };
            y.copy_from_slice(runner.state());
        }
        recording.stats.add(runner.stats());
        Ok(true)
    }

    /// Drops and solves parts until a time lies in the last one. False if the caller stops the work.
    pub fn before_time(&mut self, t: f64, look: &mut dyn FnMut(f64) -> bool) -> Result<bool, SolveError> {
        if self.solution().before(self.recording.end, t) {
            return Err(
                bad(format!("the recording ends at {:?}, before the weight at {t:?}", self.recording.end)).into()
            );
        }
        while self.parts() > 1 && !self.solution().before(self.start().0, t) {
            if !self.before(look)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl Runner {
    /// Adds the last step to a stored solution.
    pub(super) fn take(
        &mut self,
        system: &dyn System,
        recorder: &mut Recorder,
        solution: &mut StoredSolution,
        from: (f64, &[f64]),
    ) -> Result<(), SolveError> {
        let mut eval = self.evaluator(system);
        let taken = recorder.take(solution, self.integrator.as_mut(), &mut eval, from);
        self.leave(eval, taken)
    }
}
