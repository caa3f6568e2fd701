//! Locates the first change of a relation within a step, as a root of its polynomial on the interpolant.
//!
//! In most steps, the bounds of the states show that there is no change ([`ModeBox`]). For the remaining relations,
//! affine ones take their Bernstein coefficients from those of the state. The others are interpolated at Chebyshev
//! points until the coefficients have decayed. If rows do not come from the dense output alone (ADR 0018), all
//! relations are interpolated, through the states that rows would have.

mod gradient;

use crate::control::Tolerances;
use crate::hybrid::bernstein::{Bernstein, MAX_DEGREE, RootFinder, hull};
use crate::hybrid::chebyshev;
use crate::hybrid::mode_box::{Ends, ModeBox};
use crate::hybrid::modes::Offsets;
use crate::hybrid::stops::resolution;
use crate::hybrid::system::HybridSystem;
use crate::interpolant::Segment;
use crate::problem::SolveError;
use crate::runner::Runner;

/// The noise of left - right, as a fraction of its two sides.
pub(super) const SIDES: f64 = 64.0 * f64::EPSILON;
/// Largest distance of a state from the dense output, in units of gamma h r. This is the size of the defect (ADR
/// 0018), which is divided by gamma = 1/4 for slow unknowns and by less for fast ones.
const MAX_DISTANCE: f64 = 16.0;
/// If all Bernstein coefficients have the same sign, the interpolant is resolved if its last Chebyshev coefficients
/// are below this fraction of the smallest of them.
const RESOLVED: f64 = 0.1;
/// Chebyshev coefficients below this fraction of both sides are rounding.
const ROUNDED: f64 = 4.0 * f64::EPSILON;
/// Number of parts in which the height of a lobe of the polynomial is sampled.
const LOBE_SAMPLES: u32 = 8;
/// The minimum of a polynomial is located to this fraction of a step.
const FLAT: f64 = 1e-6;
/// A solution that turns back within this multiple of the tolerances from a surface may as well cross it.
pub(super) const NEAR: f64 = 16.0;
/// Largest number of times that every part of a step is halved if a relation is not a polynomial of the highest degree
/// on it.
const HALVINGS: u32 = 6;
/// Largest number of times that a part is halved while the step has few parts.
const DEEPEST: u32 = 20;
/// A step has few parts up to this number.
const FEW_PARTS: u32 = 256;

/// A change of a relation's truth value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Crossing {
    /// The relation that changes.
    pub relation: usize,
    /// The time of the change, as accurate as the interpolant.
    pub t: f64,
}

/// A surface that the solution approaches but does not cross.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Touch {
    pub relation: usize,
    /// Time at which left - right is smallest.
    pub t: f64,
    /// Time that the solution would spend beyond the surface if left - right were off by its tolerance.
    pub tolerance_time: f64,
}

/// The last accepted step of a run.
pub(super) struct Step<'a> {
    pub model: &'a dyn HybridSystem,
    pub runner: &'a mut Runner,
    /// Time and state at its start.
    pub t: f64,
    pub y: &'a [f64],
}

/// A part of a step.
#[derive(Clone, Copy)]
struct StepPart {
    from: f64,
    to: f64,
    depth: u32,
}

/// Finds crossings; the memory is reused.
pub(super) struct Locator {
    n: usize,
    mode_box: ModeBox,
    tolerances: Tolerances,
    offsets: Offsets,
    low: Vec<f64>,
    high: Vec<f64>,
    suspects: Vec<usize>,
    /// Relations whose changes are not looked for.
    skipped: Vec<usize>,
    left: Vec<f64>,
    right: Vec<f64>,
    state: Vec<f64>,
    /// The polynomials of the step, and where the coefficients of each begin in `coefficients`.
    segments: Vec<(Segment, usize)>,
    coefficients: Vec<f64>,
    /// Polynomial at the start of which `left` and `right` were evaluated.
    evaluated_segment: Option<usize>,
    /// True if the states within the step follow these polynomials.
    followed: bool,
    /// left - right at all points of an interpolant, point by point, and the largest sizes of both sides.
    values: Vec<f64>,
    sizes: Vec<f64>,
    finder: RootFinder,
    /// The first touch in the last step examined.
    touch: Option<Touch>,
    /// Relations that are not resolved yet, for each number of halvings of the step.
    open: Vec<Vec<usize>>,
    /// Parts of the step that were interpolated so far.
    parts: u32,
    /// A direction, and the rates along it.
    direction: Vec<f64>,
    rates: Vec<f64>,
}

impl Step<'_> {
    /// Both ends with their slopes, if the method has computed the slopes anyway.
    fn ends(&self) -> Option<Ends<'_>> {
        let f = self.runner.slopes()?;
        Some(Ends { third: (self.runner.time() - self.t) / 3.0, y: [self.y, self.runner.state()], f })
    }
}

impl Locator {
    pub fn new(model: &dyn HybridSystem, tolerances: Tolerances) -> Self {
        let (n, relations) = (model.system().shape().n, model.relations().len());
        Locator {
            n,
            mode_box: ModeBox::new(model, NEAR * tolerances.part() * tolerances.rtol, Some(tolerances.clone())),
            tolerances,
            offsets: vec![0.0; relations],
            low: vec![0.0; n],
            high: vec![0.0; n],
            suspects: Vec::with_capacity(relations),
            skipped: Vec::new(),
            left: vec![0.0; relations],
            right: vec![0.0; relations],
            state: vec![0.0; n],
            segments: Vec::new(),
            coefficients: Vec::new(),
            evaluated_segment: None,
            followed: true,
            values: vec![0.0; relations * chebyshev::MOST_POINTS],
            sizes: vec![0.0; relations],
            finder: RootFinder::default(),
            touch: None,
            open: vec![Vec::new(); DEEPEST as usize + 1],
            parts: 0,
            direction: vec![0.0; n],
            rates: vec![0.0; relations],
        }
    }

    /// Prepares for the steps after an instant, at which modes, discretes and state may have changed. `sides` are both
    /// sides of the relations at its end. `sign` is the sign that each left - right has in its mode, or 0 if the
    /// relation is not watched.
    pub fn renew(
        &mut self,
        point: (f64, &[f64]),
        sides: (&[f64], &[f64]),
        offsets: &[f64],
        sign: impl Fn(usize) -> f64,
    ) {
        self.offsets.copy_from_slice(offsets);
        self.mode_box.renew(point, sides, offsets, sign);
    }

    /// True if a relation is watched.
    pub fn watches(&self, relation: usize) -> bool {
        self.mode_box.sign(relation) != 0.0
    }

    /// True if all relations are affine.
    pub fn all_affine(&self) -> bool {
        self.mode_box.all_affine()
    }

    /// Terms and time coefficient of a relation that is affine.
    #[inline]
    pub fn affine(&self, relation: usize) -> Option<(&[(u32, f64)], f64)> {
        self.mode_box.row(relation)
    }

    /// True if no relation can change in the last accepted step, which began at `from`. This only examines the end of
    /// the step, or sizes of its coefficients, at the cost of a comparison.
    #[inline(always)]
    pub fn keeps_modes(&mut self, runner: &Runner, from: f64) -> bool {
        match runner.slopes() {
            Some([_, f]) => self.mode_box.holds((from, runner.time()), runner.state(), f),
            None => self.mode_box.contains(runner.time(), |low, high| runner.stays_within(low, high)),
        }
    }

    /// The relations that may have changed in the last step examined.
    pub fn suspects(&self) -> &[usize] {
        &self.suspects
    }

    /// Does not look for changes of a relation, until [`Locator::skip_none`].
    pub fn skip(&mut self, relation: usize) {
        self.skipped.push(relation);
    }

    /// Looks for changes of all relations again.
    pub fn skip_none(&mut self) {
        self.skipped.clear();
    }

    /// The affine relations that were close to a change in the last step examined.
    pub fn near(&self) -> &[usize] {
        self.mode_box.near()
    }

    /// The first touch in the last step examined, if it contained no crossing.
    pub fn take_touch(&mut self) -> Option<Touch> {
        self.touch.take()
    }

    /// The first crossing in a step.
    pub fn first(&mut self, step: &mut Step<'_>) -> Result<Option<Crossing>, SolveError> {
        let relations = step.model.relations().len();
        self.touch = None;
        if relations == 0 {
            return Ok(None);
        }
        let leaves = step.runner.may_leave();
        self.segments.clear();
        self.suspects.clear();
        self.followed = true;
        let mut defect = 0.0;
        if leaves {
            self.keep(step)?;
            defect = step.runner.defect(step.model.system());
        }
        if defect.is_finite() {
            self.enclose(step, MAX_DISTANCE * defect)?;
            let span = (step.t, step.runner.time());
            self.mode_box.suspects(step.model, span, (&self.low, &self.high), &mut self.suspects);
        } else {
            self.suspects.extend((0..relations).filter(|relation| self.mode_box.sign(*relation) != 0.0));
        }
        if !self.skipped.is_empty() {
            self.suspects.retain(|relation| !self.skipped.contains(relation));
        }
        if self.suspects.is_empty() {
            return Ok(None);
        }
        self.keep(step)?;
        if !leaves {
            defect = step.runner.defect(step.model.system());
        }
        self.followed = defect == 0.0;
        self.evaluated_segment = None;
        let mut first = None;
        let mut rest = std::mem::take(&mut self.suspects);
        if self.followed {
            rest.retain(|relation| !self.by_powers(step, *relation, &mut first));
        }
        if !rest.is_empty() {
            let whole = StepPart { from: step.t, to: step.runner.time(), depth: 0 };
            self.parts = 0;
            self.by_points(step, whole, &rest, &mut first);
            step.runner.rewind();
        }
        self.suspects = rest;
        Ok(first)
    }

    /// Copies the polynomials of the step.
    fn keep(&mut self, step: &mut Step<'_>) -> Result<(), SolveError> {
        if !self.segments.is_empty() {
            return Ok(());
        }
        self.coefficients.clear();
        if let Some(interpolant) = step.runner.interpolant(step.model.system())? {
            for (segment, c) in interpolant.polynomials().segments() {
                self.segments.push((segment, self.coefficients.len()));
                self.coefficients.extend_from_slice(c);
            }
        }
        Ok(())
    }

    /// Computes bounds of the states over the step. The states are at most `astray` tolerances away from the dense
    /// output.
    fn enclose(&mut self, step: &mut Step<'_>, astray: f64) -> Result<(), SolveError> {
        if let (Some(ends), true) = (step.ends(), self.segments.is_empty()) {
            ends.enclose(&mut self.low, &mut self.high);
            return Ok(());
        }
        self.keep(step)?;
        self.low.fill(f64::INFINITY);
        self.high.fill(f64::NEG_INFINITY);
        for (segment, at) in &self.segments {
            let c = &self.coefficients[*at..at + (segment.degree + 1) * self.n];
            hull(c, self.n, &mut self.low, &mut self.high);
        }
        if astray > 0.0 {
            for (i, (low, high)) in self.low.iter_mut().zip(&mut self.high).enumerate() {
                let wider = astray * self.tolerances.scale(i, low.abs().max(high.abs()));
                (*low, *high) = (*low - wider, *high + wider);
            }
        }
        Ok(())
    }

    /// Finds the first root of an affine relation on the polynomials of the step; false if the relation is not affine.
    fn by_powers(&mut self, step: &Step<'_>, relation: usize, first: &mut Option<Crossing>) -> bool {
        let model = step.model;
        let Some((terms, time)) = self.mode_box.row(relation) else { return false };
        let held = model.modes()[relation] != 0.0;
        let n = self.n;
        for (number, (segment, at)) in self.segments.iter().enumerate() {
            if segment.degree > MAX_DEGREE {
                return false;
            }
            let c = &self.coefficients[*at..at + (segment.degree + 1) * n];
            let start = if number == 0 { step.y } else { &c[..n] };
            // one evaluation for all relations
            if self.evaluated_segment != Some(number)
                && model.sides(segment.from, start, &mut self.left, &mut self.right).is_err()
            {
                return false;
            }
            self.evaluated_segment = Some(number);
            let mut powers = [0.0; MAX_DEGREE + 1];
            for (k, power) in powers.iter_mut().enumerate().take(segment.degree + 1).skip(1) {
                *power = terms.iter().map(|(row, a)| a * c[k * n + *row as usize]).sum();
            }
            powers[0] = self.left[relation] - self.right[relation] - self.offsets[relation];
            powers[1] += time * segment.length;
            let p = Bernstein::from_powers(&powers[..=segment.degree]);
            let size = self.left[relation].abs() + self.right[relation].abs();
            let scale = |row: usize| self.tolerances.scale(row, step.y[row].abs());
            let tolerance = terms.iter().map(|(row, a)| a.abs() * scale(*row as usize)).sum();
            let part = StepPart { from: segment.from, to: segment.from + segment.length, depth: 0 };
            let held = RelationState { relation, truth: held, size, tolerance, begins: number == 0 };
            self.finder.search(&p, held, part, first);
            if first.is_none() && self.touch.is_none() {
                self.touch = touch(&p, held, part);
            }
        }
        true
    }

    /// Finds the first roots of relations from their values at Chebyshev points. Parts behind the first root known so
    /// far are left out, so an oscillation that the step holds many times costs no more than its first part.
    fn by_points(&mut self, step: &mut Step<'_>, part: StepPart, relations: &[usize], first: &mut Option<Crossing>) {
        if first.is_some_and(|first| first.t <= part.from) {
            return;
        }
        self.parts += 1;
        let mut open = std::mem::take(&mut self.open[part.depth as usize]);
        open.clear();
        open.extend_from_slice(relations);
        self.by_points_of(step, part, &mut open, first);
        if !open.is_empty() {
            let middle = 0.5 * (part.from + part.to);
            for (from, to) in [(part.from, middle), (middle, part.to)] {
                self.by_points(step, StepPart { from, to, depth: part.depth + 1 }, &open, first);
            }
        }
        self.open[part.depth as usize] = open;
    }

    /// Finds the first roots of the open relations in a part. Those that remain open must be examined on its halves.
    fn by_points_of(
        &mut self,
        step: &mut Step<'_>,
        part: StepPart,
        open: &mut Vec<usize>,
        first: &mut Option<Crossing>,
    ) {
        let all = step.model.relations().len();
        let begins = part.from == step.t;
        for size in chebyshev::SIZES {
            for relation in open.iter() {
                self.sizes[*relation] = 0.0;
            }
            step.runner.rewind();
            // points are in descending order
            for j in (0..=size).rev() {
                let s = chebyshev::point(j, size);
                let t = if j == 0 { part.to } else { part.from + s * (part.to - part.from) };
                if !self.sides_at(step, t) {
                    // the step contains a point at which they have no value; a change may lie before it
                    if part.depth >= HALVINGS {
                        open.clear();
                    }
                    return;
                }
                for relation in open.iter().copied() {
                    let (left, right) = (self.left[relation], self.right[relation]);
                    self.values[j * all + relation] = left - right - self.offsets[relation];
                    self.sizes[relation] = self.sizes[relation].max(left.abs() + right.abs());
                }
            }
            let deepest = if self.parts < FEW_PARTS { DEEPEST } else { HALVINGS };
            let last = size == chebyshev::SIZES[1] && part.depth >= deepest;
            open.retain(|relation| {
                let mut values = [0.0; chebyshev::MOST_POINTS];
                for (j, value) in values.iter_mut().enumerate().take(size + 1) {
                    *value = self.values[j * all + relation];
                }
                let noise = SIDES * self.sizes[*relation];
                let values = &values[..=size];
                let held = step.model.modes()[*relation] != 0.0;
                if (values[0] > 0.0) == held && chebyshev::are_far(values, noise) {
                    return false;
                }
                let one_sign = values.iter().all(|value| *value > 0.0) || values.iter().all(|value| *value < 0.0);
                if !last && !one_sign && chebyshev::tail_of(values) > noise {
                    return true;
                }
                let c = chebyshev::coefficients(values);
                let clearance = chebyshev::clearance(&c[..=size]);
                if clearance > noise && chebyshev::tail(&c[..=size]) <= RESOLVED * clearance && (c[0] > 0.0) == held {
                    return false;
                }
                let p = Bernstein::from_chebyshev(chebyshev::trimmed(&c[..=size], ROUNDED * self.sizes[*relation]));
                if !last && !resolved(&p, chebyshev::tail(&c[..=size]), noise) {
                    return true;
                }
                let size = self.sizes[*relation];
                let tolerance = self.tolerances.part() * self.tolerances.rtol * size;
                let held = RelationState { relation: *relation, truth: held, size, tolerance, begins };
                self.finder.search(&p, held, part, first);
                if first.is_none() && self.touch.is_none() {
                    self.touch = touch(&p, held, part);
                }
                false
            });
            if open.is_empty() {
                return;
            }
        }
    }

    /// Evaluates both sides of all relations at a time in the step; false if they have no value.
    fn sides_at(&mut self, step: &mut Step<'_>, t: f64) -> bool {
        let model = step.model;
        if t == step.t {
            self.state.copy_from_slice(step.y);
        } else if t == step.runner.time() {
            self.state.copy_from_slice(step.runner.state());
        } else if self.followed {
            self.evaluate(t);
        } else {
            step.runner.value(model.system(), t, &mut self.state);
        }
        model.sides(t, &self.state, &mut self.left, &mut self.right).is_ok()
            && self
                .left
                .iter()
                .zip(&self.right)
                .enumerate()
                .all(|(relation, (left, right))| (left - right).is_finite() || self.mode_box.sign(relation) == 0.0)
    }

    /// Evaluates the polynomials of the step at a time.
    fn evaluate(&mut self, t: f64) {
        let inside = self.segments.iter().find(|(segment, _)| segment.variable(t) <= 1.0);
        let (segment, at) = inside.or(self.segments.last()).expect("the step has polynomials");
        let (s, n) = (segment.variable(t), self.n);
        let c = &self.coefficients[*at..];
        for (i, y) in self.state.iter_mut().enumerate() {
            *y = (0..=segment.degree).rev().fold(0.0, |sum, k| sum * s + c[k * n + i]);
        }
    }
}

/// True if an interpolant represents the relation up to rounding, or at least its sign.
fn resolved(p: &Bernstein, tail: f64, noise: f64) -> bool {
    let b = p.coefficients();
    let one_sign = b.iter().all(|b| *b > 0.0) || b.iter().all(|b| *b < 0.0);
    let least = b.iter().fold(f64::INFINITY, |least, b| least.min(b.abs()));
    tail <= noise || (one_sign && tail <= RESOLVED * least)
}

/// Finds the point at which a polynomial with the sign of its mode comes close to zero and turns back. The polynomial
/// must also be clearly farther from zero somewhere in the same step, because the noise of a state at rest turns back
/// all the time.
fn touch(p: &Bernstein, of: RelationState, part: StepPart) -> Option<Touch> {
    let sign = if of.truth { 1.0 } else { -1.0 };
    let near = NEAR * of.tolerance;
    let b = p.coefficients();
    if b.iter().all(|b| sign * b > near) {
        return None;
    }
    let value = |s: f64| sign * p.value(s);
    let (mut low, mut high) = (0.0, 1.0);
    while high - low > FLAT {
        let third = (high - low) / 3.0;
        if value(low + third) < value(high - third) { high -= third } else { low += third }
    }
    let (s, length) = (0.5 * (low + high), part.to - part.from);
    let (least, ends) = (value(s), value(0.0).max(value(1.0)));
    let turns = s > FLAT && s < 1.0 - FLAT && value(0.0).min(value(1.0)) > least;
    if !turns || least > near || least < -near || ends - least <= near {
        return None;
    }
    // a step that begins on the surface leaves it: there its rate may be rounding alone
    let excursion = || (1..LOBE_SAMPLES).map(|k| value(s * f64::from(k) / f64::from(LOBE_SAMPLES))).fold(0.0, f64::max);
    if of.begins && value(0.0).abs() <= on_surface(p, of, part) && excursion() <= near {
        return None;
    }
    // left - right grows like a parabola from its minimum
    let farther = if value(0.0) < value(1.0) { 1.0 - s } else { s };
    let tolerance_time = 2.0 * length * farther * (of.tolerance / (ends - least)).sqrt();
    Some(Touch { relation: of.relation, t: part.from + s * length, tolerance_time })
}

/// Largest difference of left - right from zero by rounding alone if a part begins on the surface.
fn on_surface(p: &Bernstein, of: RelationState, part: StepPart) -> f64 {
    let b = p.coefficients();
    let rate = if b.len() > 1 { (b.len() - 1) as f64 * (b[1] - b[0]) / (part.to - part.from) } else { 0.0 };
    SIDES * of.size + resolution(part.from) * rate.abs()
}

/// The state of a relation at the start of a part.
#[derive(Clone, Copy)]
struct RelationState {
    relation: usize,
    truth: bool,
    /// The size of both sides.
    size: f64,
    /// Largest error of left - right within the tolerances.
    tolerance: f64,
    /// True if the part begins at the start of the step, possibly on the surface itself.
    begins: bool,
}

impl RootFinder {
    /// Searches a part of a step for a root before the first known one.
    fn search(&mut self, p: &Bernstein, of: RelationState, part: StepPart, first: &mut Option<Crossing>) {
        let length = part.to - part.from;
        if first.is_some_and(|first| first.t <= part.from) {
            return;
        }
        let b = p.coefficients();
        let (mut p, mut begins_on) = (*p, false);
        if of.begins && b.len() > 1 {
            // a relation that has just crossed does not cross again because of rounding
            if b[0].abs() <= on_surface(&p, of, part) {
                (p, begins_on) = (p.zero_at_start(), true);
            }
        }
        let noise = f64::EPSILON * of.size;
        let mut found = RootFinder::first(self, &p, of.truth, noise);
        if begins_on && found == Some(0.0) {
            found = self.root_after_start(&p, of, noise);
        }
        if let Some(t) = found.map(|s| part.from + s * length)
            && first.is_none_or(|first| t < first.t)
        {
            *first = Some(Crossing { relation: of.relation, t });
        }
    }

    /// The first root of a polynomial that goes to the wrong side at once. The mode tells exactly to which side the
    /// motion leads from the surface. So if the polynomial comes back and was within the tolerances until then, the
    /// excursion was an error of the polynomial.
    fn root_after_start(&mut self, p: &Bernstein, of: RelationState, noise: f64) -> Option<f64> {
        let all = self.all(p, of.truth, noise);
        let Some(back) = all.get(1) else { return Some(0.0) };
        let height =
            (1..LOBE_SAMPLES).map(|k| p.value(back * f64::from(k) / f64::from(LOBE_SAMPLES)).abs()).fold(0.0, f64::max);
        if height <= of.tolerance { all.get(2).copied() } else { Some(0.0) }
    }
}
