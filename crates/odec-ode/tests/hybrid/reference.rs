//! Exact simulation of the systems of `systems.rs`, as long as the result is certain: motions by series of the matrix
//! exponential, complete crossings by bounds of the second derivative, rounds by their rules.

#![allow(clippy::needless_range_loop, reason = "formulas with subscripts")]

use super::systems::{Effect, Form, Pieces, T, V, When};

/// Longest cell that crossings are bracketed in, and the shortest.
const CELL: f64 = 1.0 / 64.0;
const SHORTEST: f64 = 1e-7;
/// Rate below which the result depends on the tolerance of the solver.
const SLOW: f64 = 0.05;
const GRAZE: f64 = 1e-5;
const NEAR: f64 = 1e-2;
/// Distance up to which times are equal, and distance below which they must not come close.
const SAME_TIME: f64 = 1e-11;
const SEPARATION: f64 = 1e-6;
/// Largest number of instants, and of rounds per instant.
const INSTANTS: usize = 40;
const ROUNDS: u32 = 20;

/// An instant with events: (event, round).
#[derive(Clone, Debug)]
pub struct Instant {
    pub t: f64,
    pub events: Vec<(usize, u32)>,
    pub x: V,
}

/// Required results of a run before `until`.
#[derive(Debug, Default)]
pub struct Reference {
    pub instants: Vec<Instant>,
    pub until: f64,
    /// The state at the end, if it is sure until then.
    pub end: Option<V>,
    /// Time at which two events write one quantity.
    pub conflict: Option<f64>,
}

struct Queued {
    event: usize,
    t: f64,
    values: Option<Vec<f64>>,
}

struct Simulation<'a> {
    p: &'a Pieces,
    t: f64,
    x: V,
    d: [f64; 2],
    modes: Vec<bool>,
    was: Vec<bool>,
    queue: Vec<Queued>,
}

/// Reason for which the simulation ends.
enum Unsure {
    At(f64),
    Conflict(f64),
}

/// x' = A x + b for a short time: x + t x' + t^2/2 A x' + ...
pub fn flow(a: &[V; 2], b: &V, x: &V, t: f64) -> V {
    let (mut sum, mut term) = (*x, slope(a, b, x));
    for k in 1..=20 {
        for i in 0..2 {
            term[i] *= t / f64::from(k);
            sum[i] += term[i];
        }
        term = std::array::from_fn(|i| a[i][0] * term[0] + a[i][1] * term[1]);
    }
    sum
}

fn slope(a: &[V; 2], b: &V, x: &V) -> V {
    std::array::from_fn(|i| a[i][0] * x[0] + a[i][1] * x[1] + b[i])
}

fn size(v: &V) -> f64 {
    (v[0] * v[0] + v[1] * v[1]).sqrt()
}

impl Simulation<'_> {
    fn piece(&self) -> (&[V; 2], &V) {
        let piece = usize::from(self.modes[0]) + 2 * usize::from(self.d[0] != 0.0);
        (&self.p.a[piece], &self.p.b[piece])
    }

    fn g(&self, j: usize, t: f64, x: &V) -> f64 {
        let (s, c) = self.p.surfaces[j].sides(t, x, self.d[1]);
        s - c
    }

    /// s_x of a relation.
    fn gradient(&self, j: usize, x: &V) -> V {
        let surface = &self.p.surfaces[j];
        let q = if let Form::Quadratic(q) = surface.form { q } else { 0.0 };
        [surface.normal[0] + q * (2.0 * x[0] + x[1]), surface.normal[1] + q * x[0]]
    }

    fn rate(&self, j: usize, x: &V) -> f64 {
        let (a, b) = self.piece();
        let (f, n) = (slope(a, b, x), self.gradient(j, x));
        n[0] * f[0] + n[1] * f[1] + self.p.surfaces[j].slope
    }

    /// A bound of |g''| for a time h.
    fn bend(&self, j: usize, x: &V, h: f64) -> f64 {
        let (a, b) = self.piece();
        let norm = a.iter().map(|row| row[0] * row[0] + row[1] * row[1]).sum::<f64>().sqrt();
        let speed = size(&slope(a, b, x)) * (norm * h).exp();
        let q = if let Form::Quadratic(q) = self.p.surfaces[j].form { q.abs() } else { 0.0 };
        let steep = size(&self.p.surfaces[j].normal) + 3.0 * q * (size(x) + speed * h);
        steep * norm * speed + 3.0 * q * speed * speed
    }

    /// Advances to the first crossing before `stop`, or to `stop`; returns the relations that cross.
    fn motion(&mut self, stop: f64) -> Result<Vec<usize>, Unsure> {
        let mut length = CELL;
        // a relation that starts on its surface must leave it first
        let mut fresh: Vec<bool> = (0..self.modes.len()).map(|j| self.g(j, self.t, &self.x).abs() < 1e-9).collect();
        while self.t < stop {
            let h = length.min(stop - self.t);
            let (a, b) = self.piece();
            let end = flow(a, b, &self.x, h);
            let (mut crossing, mut split) = (Vec::new(), false);
            for (j, &is_fresh) in fresh.iter().enumerate() {
                let side = if self.modes[j] { 1.0 } else { -1.0 };
                let (g0, g1) = (side * self.g(j, self.t, &self.x), side * self.g(j, self.t + h, &end));
                let (rate, bend) = (side * self.rate(j, &self.x), self.bend(j, &self.x, h));
                let monotone = rate.abs() > 1.1 * bend * h;
                if is_fresh {
                    if rate < SLOW {
                        return Err(Unsure::At(self.t));
                    }
                    split |= !monotone;
                } else if monotone && g1 < 0.0 {
                    crossing.push(j);
                } else if !(g0.min(g1) > bend * h * h / 8.0 + GRAZE || (monotone && g0.min(g1) > GRAZE)) {
                    // a relation close to its surface at the end is examined with the next cell
                    split |= !(monotone && rate < 0.0 && g0 > 0.0);
                }
            }
            if !crossing.is_empty() && !split {
                return self.cross(&crossing, h);
            }
            if split {
                if h < SHORTEST {
                    return Err(Unsure::At(self.t));
                }
                length = 0.5 * h;
                continue;
            }
            (self.x, self.t) = (end, if self.t + h >= stop { stop } else { self.t + h });
            length = (2.0 * length).min(CELL);
            fresh.fill(false);
        }
        Ok(Vec::new())
    }

    /// Advances to the first of these crossings within h.
    fn cross(&mut self, crossing: &[usize], h: f64) -> Result<Vec<usize>, Unsure> {
        let (a, b) = self.piece();
        let mut times: Vec<(f64, usize)> = crossing
            .iter()
            .map(|j| {
                let side = if self.modes[*j] { 1.0 } else { -1.0 };
                let (mut low, mut high) = (0.0, h);
                for _ in 0..60 {
                    let middle = 0.5 * (low + high);
                    let x = flow(a, b, &self.x, middle);
                    if side * self.g(*j, self.t + middle, &x) > 0.0 { low = middle } else { high = middle }
                }
                (high, *j)
            })
            .collect();
        times.sort_by(|a, b| a.0.total_cmp(&b.0));
        let first = times[0].0;
        if times.iter().any(|(t, _)| *t > first + SAME_TIME && *t < first + SEPARATION) {
            return Err(Unsure::At(self.t + first - SEPARATION));
        }
        let x = flow(a, b, &self.x, first);
        let met: Vec<usize> = times.iter().filter(|(t, _)| *t <= first + SAME_TIME).map(|(_, j)| *j).collect();
        if met.iter().any(|j| self.rate(*j, &x).abs() < SLOW) {
            return Err(Unsure::At(self.t + first - SEPARATION));
        }
        (self.x, self.t) = (x, self.t + first);
        Ok(met)
    }

    /// Determines the modes of relations on their surface so that they agree with the motion in these modes.
    fn settle(&mut self, touching: &[usize]) -> Result<(), Unsure> {
        for _ in 0..4 {
            let mut moved = false;
            for j in touching {
                let rate = self.rate(*j, &self.x);
                if rate.abs() < SLOW {
                    return Err(Unsure::At(self.t));
                }
                moved |= self.modes[*j] != (rate > 0.0);
                self.modes[*j] = rate > 0.0;
            }
            if !moved {
                return Ok(());
            }
        }
        Err(Unsure::At(self.t))
    }

    fn values(&self, event: usize) -> Vec<f64> {
        self.p.events[event].what.iter().map(|what| what.value(&self.x, self.d[0])).collect()
    }

    /// Queues the events that conditions and times of this instant trigger.
    fn trigger(&mut self, come: &[bool], first: bool, crossed: &mut Vec<usize>) {
        for event in 0..self.p.events.len() {
            let of = &self.p.events[event];
            let (now, fires) = match of.when {
                When::At(list) => (false, first && come[list]),
                When::Rises(j) => (self.modes[j], self.modes[j] && !self.was[event]),
                When::Falls(j) => (self.modes[j], !self.modes[j] && self.was[event]),
                When::Changes(j) => {
                    // a crossing counts once at an instant
                    let crosses = self.modes[j] != self.was[event] && !crossed.contains(&event);
                    crossed.extend(crosses.then_some(event));
                    (self.modes[j], crosses)
                }
            };
            if of.cancel && self.was[event] && !now {
                self.queue.retain(|queued| queued.event != event);
            }
            self.was[event] = now;
            if fires {
                let values = if of.late { None } else { Some(self.values(event)) };
                self.queue.push(Queued { event, t: self.t + of.delay, values });
            }
        }
    }

    /// The events of the next round, with their values.
    fn round(&mut self) -> Result<Vec<(usize, Vec<f64>)>, Unsure> {
        let t = self.t;
        if self.queue.iter().any(|queued| queued.t > t + SAME_TIME && queued.t < t + SEPARATION) {
            return Err(Unsure::At(t - SEPARATION));
        }
        let due = |queued: &&Queued| queued.t <= t + SAME_TIME;
        let priority = |queued: &Queued| self.p.events[queued.event].priority;
        let Some(highest) = self.queue.iter().filter(due).map(priority).max_by(f64::total_cmp) else {
            return Ok(vec![]);
        };
        let mut events: Vec<usize> =
            self.queue.iter().filter(due).filter(|q| priority(q) == highest).map(|q| q.event).collect();
        events.sort_unstable();
        events.dedup();
        let mut round = Vec::new();
        for event in events {
            let at = self.queue.iter().position(|queued| queued.event == event && queued.t <= t + SAME_TIME);
            let Some(queued) = at.map(|at| self.queue.remove(at)) else { continue };
            round.push((event, queued.values.unwrap_or_else(|| self.values(event))));
        }
        Ok(round)
    }

    /// Executes the writes of a round.
    fn write(&mut self, round: &[(usize, Vec<f64>)]) -> Result<(), Unsure> {
        let (mut set, mut added) = ([None; 4], [0.0; 4]);
        for (event, values) in round {
            for (what, value) in self.p.events[*event].what.iter().zip(values) {
                let (place, adds) = match *what {
                    Effect::Add(i, _) => (i, true),
                    Effect::Set(i, _) => (i, false),
                    Effect::Flip => (2, false),
                    Effect::Shift(_) => (3, true),
                };
                if adds {
                    added[place] += value;
                } else if set[place].replace(*value).is_some() {
                    return Err(Unsure::Conflict(self.t));
                }
            }
        }
        let old = [self.x[0], self.x[1], self.d[0], self.d[1]];
        let new: [f64; 4] = std::array::from_fn(|k| set[k].unwrap_or(old[k]) + added[k]);
        (self.x, self.d) = ([new[0], new[1]], [new[2], new[3]]);
        if size(&self.x) > 1e4 {
            return Err(Unsure::At(self.t));
        }
        Ok(())
    }

    /// Executes an instant, at which these relations cross and the times of these lists have come.
    fn instant(&mut self, mut touching: Vec<usize>, come: &[bool]) -> Result<Vec<(usize, u32)>, Unsure> {
        let (mut executed, mut crossed) = (Vec::new(), Vec::new());
        let near = |this: &Self, j: usize| this.g(j, this.t, &this.x).abs() < GRAZE;
        if (0..self.modes.len()).any(|j| !touching.contains(&j) && near(self, j)) {
            return Err(Unsure::At(self.t));
        }
        for j in &touching {
            self.modes[*j] = !self.modes[*j];
        }
        self.settle(&touching)?;
        for number in 0..ROUNDS {
            self.trigger(come, number == 0, &mut crossed);
            let round = self.round()?;
            if round.is_empty() {
                return Ok(executed);
            }
            executed.extend(round.iter().map(|(event, _)| (*event, number)));
            let before: Vec<(f64, f64)> =
                self.p.surfaces.iter().map(|surface| surface.sides(self.t, &self.x, self.d[1])).collect();
            self.write(&round)?;
            for (j, before) in before.into_iter().enumerate() {
                if touching.contains(&j) && self.p.surfaces[j].sides(self.t, &self.x, self.d[1]) == before {
                    continue;
                }
                touching.retain(|k| *k != j);
                let g = self.g(j, self.t, &self.x);
                if g.abs() < NEAR {
                    return Err(Unsure::At(self.t));
                }
                self.modes[j] = g > 0.0;
            }
            self.settle(&touching)?;
        }
        Err(Unsure::At(self.t))
    }
}

/// Time up to which the result is certain, and the results before it.
pub fn reference(p: &Pieces) -> Reference {
    let mut known = Reference::default();
    let modes = vec![false; p.surfaces.len()];
    let was = vec![false; p.events.len()];
    let mut s = Simulation { p, t: 0.0, x: p.start, d: [0.0; 2], modes, was, queue: Vec::new() };
    for j in 0..s.modes.len() {
        let g = s.g(j, 0.0, &s.x);
        if g.abs() < NEAR {
            return known;
        }
        s.modes[j] = g > 0.0;
    }
    for (event, of) in p.events.iter().enumerate() {
        let (When::Rises(j) | When::Falls(j) | When::Changes(j)) = of.when else { continue };
        // a crossing has no value before the start
        s.was[event] = s.modes[j] && (!of.from_start || matches!(of.when, When::Changes(_)));
    }
    match follow(&mut s, &mut known) {
        Ok(()) => (known.until, known.end) = (f64::INFINITY, Some(s.x)),
        Err(Unsure::At(t)) => known.until = t,
        Err(Unsure::Conflict(t)) => (known.until, known.conflict) = (f64::INFINITY, Some(t)),
    }
    known
}

fn follow(s: &mut Simulation<'_>, known: &mut Reference) -> Result<(), Unsure> {
    let mut touching = Vec::new();
    let mut come = vec![false; s.p.lists.len()];
    let mut count = 0;
    loop {
        let events = s.instant(std::mem::take(&mut touching), &come)?;
        if !events.is_empty() {
            known.instants.push(Instant { t: s.t, events, x: s.x });
        }
        if s.t >= T {
            return Ok(());
        }
        count += 1;
        if count > INSTANTS {
            return Err(Unsure::At(s.t));
        }
        let t = s.t;
        let listed = s.p.lists.iter().flatten().filter(|stop| **stop > t + SAME_TIME).copied();
        let stop = listed.chain(s.queue.iter().map(|queued| queued.t)).fold(T, f64::min);
        touching = s.motion(stop)?;
        // a crossing at a stop is one instant with it; a crossing near a stop may come before or after
        let here = s.t;
        let stops = s.p.lists.iter().flatten().copied().chain(s.queue.iter().map(|queued| queued.t));
        if stops.into_iter().any(|stop| (stop - here).abs() > SAME_TIME && (stop - here).abs() < SEPARATION) {
            return Err(Unsure::At(here - SEPARATION));
        }
        if touching.is_empty() {
            touching = (0..s.modes.len()).filter(|j| s.g(*j, here, &s.x).abs() < 1e-9).collect();
            // it arrives there at exactly this instant
            for j in &touching {
                let side = if s.modes[*j] { 1.0 } else { -1.0 };
                if side * s.rate(*j, &s.x) > -SLOW {
                    return Err(Unsure::At(here - SEPARATION));
                }
            }
        }
        for (come, list) in come.iter_mut().zip(&s.p.lists) {
            *come = list.iter().any(|stop| (stop - here).abs() <= SAME_TIME);
        }
    }
}
