//! Determines where the next step of a run ends: on the grid of constant steps, as the step-size controller proposes, at a
//! stop, or at the end.

/// If an adaptive step would end within this fraction of its length of the end or of a stop, it is extended to it.
const LAST_GROWTH: f64 = 0.01;
/// With constant steps, the run ends on a whole step if its length is a multiple of the step to within this fraction of a step.
const WHOLE_STEP: f64 = 1e-8;
/// If f depends on time, a step may grow by more than this factor only once, until a step shrinks. While nothing moves, the
/// error estimates are zero. With this limit, a step stays below about half the length of such a rest, so it does not pass
/// over a motion that begins after as long a time (the day after a night).
const GROW_AT_REST: f64 = 1.5;
/// Smallest step as a fraction of the first one, for steps at t = 0 where rounding of t gives no bound.
const SMALLEST_FRACTION: f64 = 1e-40;
/// A step from a changed state is not shortened below this many rounding errors of t.
const SHORTEST: f64 = 64.0;
/// If the rounding error of its end is more than this fraction of a step, the step has the exact length from t to this end.
/// For large t, such as seconds since 1970, the step would otherwise differ from the elapsed time.
const ROUNDED: f64 = 1e-9;
/// The first step from a changed state, as a fraction of the one that the controller proposed before the change.
const RESUMED: f64 = 0.25;

/// Determines where the next step ends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pace {
    /// Equal steps.
    Fixed(Grid),
    /// Adaptive steps, chosen by the error estimate.
    Adaptive(StepProposal),
}

/// Equal steps to `t0 + i*h`; the last one is shorter unless the interval is a whole number of steps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid {
    t0: f64,
    t_end: f64,
    h: f64,
    taken: f64,
    count: f64,
    even: bool,
    /// False after a stop between two points of the grid.
    on_point: bool,
}

/// The step size that the controller proposes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StepProposal {
    t_end: f64,
    h: f64,
    max: f64,
    /// If f depends on time: true after a step that grew, until a step shrinks.
    rest: Option<bool>,
    least: f64,
    /// The longest step that the controller had proposed when a stop shortened it.
    uncut: f64,
}

/// A step from `t`, and its end. If the rounding error of the end matters, the step includes it.
fn exact(t: f64, h: f64) -> (f64, f64) {
    let t_new = t + h;
    if f64::EPSILON * t.abs() > ROUNDED * h.abs() && t_new != t { (t_new - t, t_new) } else { (h, t_new) }
}

impl Grid {
    /// The end of the step from the last grid point.
    fn target(&self) -> f64 {
        if self.taken + 1.0 >= self.count { self.t_end } else { self.t0 + (self.taken + 1.0) * self.h }
    }

    /// Continues the grid at a time on it or between two of its points.
    fn stand_at(&mut self, t: f64) {
        self.taken = ((t - self.t0) / self.h + WHOLE_STEP).floor();
        self.on_point = t == self.t0 + self.taken * self.h;
    }

    /// True if `t` is the next point of the grid up to rounding. A stop there replaces this point; otherwise a step as short
    /// as a rounding error would follow.
    fn near(&self, t: f64) -> bool {
        (t - self.target()).abs() <= WHOLE_STEP * self.h.abs()
    }
}

impl Pace {
    /// Equal steps.
    pub fn fixed_steps(t0: f64, t_end: f64, step: f64) -> Pace {
        let span = t_end - t0;
        let whole = (span.abs() / step).round();
        let even = whole >= 1.0 && (span.abs() - whole * step).abs() <= WHOLE_STEP * step;
        let count = if even { whole } else { (span.abs() / step).floor() + 1.0 };
        Pace::Fixed(Grid { t0, t_end, h: step.copysign(span), taken: 0.0, count, even, on_point: true })
    }

    /// Adaptive steps that begin with `first`, which has no sign.
    pub fn adaptive(t0: f64, t_end: f64, first: f64, max: f64, autonomous: bool) -> Pace {
        let h = first.copysign(t_end - t0);
        let rest = if autonomous { None } else { Some(false) };
        Pace::Adaptive(StepProposal { t_end, h, max, rest, least: SMALLEST_FRACTION * first, uncut: h })
    }

    pub fn is_fixed(&self) -> bool {
        matches!(self, Pace::Fixed(_))
    }

    /// The step to try from `t`, and its end. No step passes `stop`, which lies between `t` and the end.
    pub fn step(&mut self, t: f64, stop: Option<f64>) -> (f64, f64) {
        match self {
            Pace::Fixed(grid) => {
                let target = grid.target();
                if let Some(stop) = stop.filter(|stop| grid.near(*stop) || (stop - t).abs() < (target - t).abs())
                    && stop != target
                {
                    return (stop - t, stop);
                }
                let whole = grid.on_point && (grid.even || grid.taken + 1.0 < grid.count);
                (if whole { grid.h } else { target - t }, target)
            }
            Pace::Adaptive(proposal) => {
                if proposal.h.abs() > proposal.max {
                    proposal.h = proposal.max.copysign(proposal.h);
                }
                let end = stop.unwrap_or(proposal.t_end);
                let left = end - t;
                if proposal.h.abs() * (1.0 + LAST_GROWTH) >= left.abs() {
                    (left, end)
                } else if stop.is_some() && 2.0 * proposal.h.abs() > left.abs() {
                    // two equal steps instead of a full one and a short rest
                    exact(t, 0.5 * left)
                } else {
                    let (h, t_new) = exact(t, proposal.h);
                    proposal.h = h;
                    (h, t_new)
                }
            }
        }
    }

    /// True if an adaptive step has shrunk to the rounding error of t.
    pub fn collapsed(&self, t: f64) -> bool {
        match self {
            Pace::Fixed(_) => false,
            Pace::Adaptive(StepProposal { t_end, h, least, .. }) => {
                !(h.abs() > *least) || (t + 0.1 * h == t && (*t_end - t).abs() > h.abs())
            }
        }
    }

    /// Accepts the step `made` to `t_new`.
    pub fn accepted(&mut self, made: f64, t_new: f64, next: f64) {
        match self {
            Pace::Fixed(grid) => {
                grid.on_point = t_new == grid.target();
                if grid.near(t_new) {
                    grid.taken += 1.0;
                }
            }
            Pace::Adaptive(proposal) => {
                let ratio = next / made;
                let held = proposal.rest == Some(true) && ratio > GROW_AT_REST;
                proposal.rest = proposal.rest.map(|rest| ratio > GROW_AT_REST || (rest && ratio >= 1.0));
                let cut = made.abs() < proposal.h.abs();
                let before = proposal.h;
                proposal.h = if held { GROW_AT_REST * made } else { next };
                proposal.uncut = if cut && before.abs() > proposal.h.abs() { before } else { proposal.h };
            }
        }
    }

    /// Repeats the step with another length.
    pub fn retry(&mut self, next: f64) {
        if let Pace::Adaptive(proposal) = self {
            proposal.rest = proposal.rest.map(|_| false);
            proposal.h = next;
        }
    }

    /// Continues from a state that was changed at `t`, with a step of at most the length `fresh`.
    pub fn resume(&mut self, t: f64, fresh: Option<f64>) {
        match self {
            Pace::Fixed(grid) => grid.stand_at(t),
            Pace::Adaptive(proposal) => {
                // after repeated changes of the state, the last step size says nothing about the next one
                let (uncut, shortest) = (proposal.uncut.abs(), SHORTEST * f64::EPSILON * t.abs());
                let h = (RESUMED * uncut).min(fresh.unwrap_or(f64::INFINITY));
                proposal.h = h.max(shortest.min(uncut)).copysign(proposal.uncut);
                proposal.uncut = proposal.h;
                proposal.rest = proposal.rest.map(|_| false);
            }
        }
    }

    /// Continues with another derivative of f: a step that a stop has shortened returns to the proposed length.
    pub fn kink(&mut self) {
        if let Pace::Adaptive(proposal) = self {
            proposal.h = proposal.uncut;
            proposal.rest = proposal.rest.map(|_| false);
        }
    }

    /// The length of the next step without a stop, with its sign; `None` if all steps are equal.
    pub fn proposed(&self) -> Option<f64> {
        match self {
            Pace::Fixed(_) => None,
            Pace::Adaptive(proposal) => Some(proposal.h.abs().min(proposal.max).copysign(proposal.h)),
        }
    }

    /// Makes the next step at most this long.
    pub fn shorten(&mut self, h: f64) {
        if let Pace::Adaptive(proposal) = self
            && h.abs() < proposal.h.abs()
        {
            (proposal.h, proposal.uncut) = (h, h);
        }
    }

    /// Lets the next step grow freely: the current one is short for a known reason, and not because nothing moves.
    pub fn move_on(&mut self) {
        if let Pace::Adaptive(proposal) = self {
            proposal.rest = proposal.rest.map(|_| false);
        }
    }

    /// Moves the end of the run; `t` is the current time.
    pub fn extend(&mut self, t: f64, t_end: f64) {
        match self {
            Pace::Fixed(grid) => {
                if let Pace::Fixed(longer) = Pace::fixed_steps(grid.t0, t_end, grid.h.abs()) {
                    *grid = longer;
                    grid.stand_at(t);
                }
            }
            Pace::Adaptive(proposal) => proposal.t_end = t_end,
        }
    }
}
