//! Random piecewise linear systems with several relations and events, against a simulation that is independent of the
//! solvers: series of the matrix exponential, roots whose completeness follows from bounds of the second derivative,
//! and a separate implementation of the rules of rounds. Every instant is compared: its time, its events with their
//! rounds, the state after it.

use super::model::{Model, Recorded};
use super::random::Random;
use super::reference::{Reference, reference};
use crate::dense::tolerances;
use odec_ode::hybrid::{AffineRows, Edge, End, Event, HybridCause, HybridError, HybridRunner, Trigger, Write};
use odec_ode::{Cause, Problem, Samples, method};

pub type V = [f64; 2];
/// End of the runs.
pub const T: f64 = 3.0;

/// Form of a relation: its surface is that of `normal.x + slope t > c`, except for the last form.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Form {
    Affine,
    /// s + s^3 > c + c^3.
    Cubic,
    /// exp(s) > exp(c).
    Exponential,
    /// s + q (x_0^2 + x_0 x_1) > c.
    Quadratic(f64),
}

/// A relation; `by_discrete` times the second discrete is added to c.
#[derive(Clone, Copy, Debug)]
pub struct Surface {
    pub normal: V,
    pub slope: f64,
    pub c: f64,
    pub by_discrete: f64,
    pub form: Form,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum When {
    Rises(usize),
    Falls(usize),
    Changes(usize),
    At(usize),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Effect {
    /// x_i += value.
    Add(usize, f64),
    /// x_i := value + x_other/2.
    Set(usize, f64),
    /// The first discrete := 1 - itself.
    Flip,
    /// The second discrete += value.
    Shift(f64),
}

/// Event with one or two actions.
#[derive(Clone, Debug)]
pub struct RandomEvent {
    pub when: When,
    pub what: Vec<Effect>,
    pub priority: f64,
    pub delay: f64,
    pub late: bool,
    pub cancel: bool,
    pub from_start: bool,
}

/// x' = A x + b, one of four pairs: by the mode of the first relation and by the first discrete.
#[derive(Clone, Debug)]
pub struct Pieces {
    pub a: [[V; 2]; 4],
    pub b: [V; 4],
    pub surfaces: Vec<Surface>,
    pub events: Vec<RandomEvent>,
    pub lists: Vec<Vec<f64>>,
    pub start: V,
}

fn pick(random: &mut Random, n: usize) -> usize {
    ((0.5 * (random.next() + 1.0) * n as f64) as usize).min(n - 1)
}

fn chance(random: &mut Random, part: f64) -> bool {
    0.5 * (random.next() + 1.0) < part
}

fn surface(random: &mut Random, before: &[Surface], lists: &[Vec<f64>]) -> Surface {
    let form = match pick(random, 5) {
        0 | 1 => Form::Affine,
        2 => Form::Cubic,
        3 => Form::Exponential,
        _ => Form::Quadratic(0.5 * random.next()),
    };
    let base = Surface { normal: random.vector(1.0), slope: 0.0, c: 0.5 * random.next(), by_discrete: 0.0, form };
    match pick(random, 8) {
        // the same surface as that of another relation, in another form: both change at one instant
        0 | 1 if before.last().is_some_and(|last| last.form == Form::Affine) => {
            let form = if matches!(form, Form::Quadratic(_)) { Form::Exponential } else { form };
            let last = before[before.len() - 1];
            Surface { form, ..last }
        }
        // a surface of time only, possibly at a stop
        2 => {
            let stop = lists.first().and_then(|list| list.first()).copied();
            let c = stop.filter(|_| chance(random, 0.5)).unwrap_or(0.5 * T * (random.next() + 1.0));
            Surface { normal: [0.0; 2], slope: 1.0, c, form: Form::Affine, ..base }
        }
        3 => Surface { slope: random.next(), ..base },
        4 => Surface { by_discrete: random.next(), ..base },
        _ => base,
    }
}

fn random_event(random: &mut Random, surfaces: usize, lists: usize) -> RandomEvent {
    let of = pick(random, surfaces);
    let when = match pick(random, 6) {
        0 | 1 => When::Rises(of),
        2 => When::Falls(of),
        3 => When::Changes(of),
        _ if lists > 0 => When::At(pick(random, lists)),
        _ => When::Rises(of),
    };
    let what = (0..=pick(random, 2)).map(|_| match pick(random, 5) {
        0 | 1 => Effect::Add(pick(random, 2), random.next()),
        2 => Effect::Set(pick(random, 2), random.next()),
        3 => Effect::Flip,
        _ => Effect::Shift(0.5 * random.next()),
    });
    let mut what: Vec<Effect> = what.collect();
    what.dedup_by(|a, b| std::mem::discriminant(a) == std::mem::discriminant(b));
    RandomEvent {
        when,
        what,
        priority: if chance(random, 0.4) { 1.0 } else { 0.0 },
        delay: if chance(random, 0.3) { 0.5 + 0.4 * random.next() } else { 0.0 },
        late: chance(random, 0.3),
        cancel: chance(random, 0.3),
        from_start: chance(random, 0.3),
    }
}

fn pieces(random: &mut Random) -> Pieces {
    let a = std::array::from_fn(|_| std::array::from_fn(|_| random.vector(2.0)));
    let b = std::array::from_fn(|_| random.vector(1.0));
    let lists: Vec<Vec<f64>> = (0..pick(random, 3))
        .map(|_| {
            let (from, period) = (0.1 + 0.4 * (random.next() + 1.0), 0.7 + 0.3 * random.next());
            (0..5).map(|k| from + f64::from(k) * period).filter(|t| *t < T).collect()
        })
        .collect();
    let mut surfaces = Vec::new();
    for _ in 0..=pick(random, 3) {
        let next = surface(random, &surfaces, &lists);
        surfaces.push(next);
    }
    let events = (0..pick(random, 5)).map(|_| random_event(random, surfaces.len(), lists.len())).collect();
    let start = random.vector(1.5);
    let mut p = Pieces { a, b, surfaces, events, lists, start };
    if chance(random, 0.2) {
        graze(&mut p, random);
    }
    p
}

/// Puts the first surface so that the motion from the start crosses it twice within a short time.
fn graze(p: &mut Pieces, random: &mut Random) {
    let (normal, mut x) = (p.surfaces[0].normal, p.start);
    let along = |x: &V| normal[0] * x[0] + normal[1] * x[1];
    let (h, mut before, mut highest) = (1e-3, along(&x), None);
    for _ in 0..1_500 {
        x = super::reference::flow(&p.a[0], &p.b[0], &x, h);
        let now = along(&x);
        if now < before {
            highest = Some(before);
            break;
        }
        before = now;
    }
    if let Some(highest) = highest {
        let depth = 10f64.powf(-3.0 + 1.5 * random.next());
        p.surfaces[0] = Surface { c: highest - depth, slope: 0.0, by_discrete: 0.0, form: Form::Affine, normal };
    }
}

impl Surface {
    /// s of a form, and c.
    pub fn sides(&self, t: f64, x: &V, d: f64) -> (f64, f64) {
        let s = self.normal[0] * x[0] + self.normal[1] * x[1] + self.slope * t;
        let s = if let Form::Quadratic(q) = self.form { s + q * (x[0] * x[0] + x[0] * x[1]) } else { s };
        (s, self.c + self.by_discrete * d)
    }
}

fn model(p: &Pieces) -> Model {
    let rows: Vec<_> = p
        .surfaces
        .iter()
        .map(|s| (s.form == Form::Affine).then(|| (vec![(0, s.normal[0]), (1, s.normal[1])], s.slope)))
        .collect();
    let (pieces, surfaces) = (p.clone(), p.surfaces.clone());
    let mut model = Model::new(2, move |_, y, now, f| {
        let piece = usize::from(now.holds(0)) + 2 * usize::from(now.discretes[0] != 0.0);
        let (a, b) = (&pieces.a[piece], &pieces.b[piece]);
        for i in 0..2 {
            f[i] = a[i][0] * y[0] + a[i][1] * y[1] + b[i];
        }
    })
    .autonomous()
    .relations(p.surfaces.len(), move |t, y, d, left, right| {
        for (k, surface) in surfaces.iter().enumerate() {
            let (s, c) = surface.sides(t, &[y[0], y[1]], d[1]);
            (left[k], right[k]) = match surface.form {
                Form::Affine | Form::Quadratic(_) => (s, c),
                Form::Cubic => (s + s * s * s, c + c * c * c),
                Form::Exponential => (s.exp(), c.exp()),
            };
        }
    })
    .with_rows(AffineRows::of(&rows))
    .discretes(&[0.0, 0.0]);
    for list in &p.lists {
        model = model.at(list);
    }
    for drawn in &p.events {
        let mut writes = Vec::new();
        for what in &drawn.what {
            writes.push(match what {
                Effect::Add(i, _) => Write::state(*i).adding(),
                Effect::Set(i, _) => Write::state(*i),
                Effect::Flip => Write::discrete(0),
                Effect::Shift(_) => Write::discrete(1).adding(),
            });
        }
        let trigger = match drawn.when {
            When::Rises(_) => Trigger::Condition(Edge::Rising),
            When::Falls(_) => Trigger::Condition(Edge::Falling),
            When::Changes(_) => Trigger::Condition(Edge::Both),
            When::At(list) => Trigger::Times(list),
        };
        let RandomEvent { late, cancel, from_start, .. } = *drawn;
        let what = drawn.what.clone();
        let event = Event { trigger, late, cancel, from_start, ..Event::when(writes) };
        model = model.event(event, move |_, y, d, out| {
            for (out, what) in out.iter_mut().zip(&what) {
                *out = what.value(&[y[0], y[1]], d[0]);
            }
        });
        model.delays.push(drawn.delay);
        model.priorities.push(drawn.priority);
    }
    let of: Vec<When> = p.events.iter().map(|event| event.when).collect();
    model.conditions(move |now, out| {
        for (out, when) in out.iter_mut().zip(&of) {
            *out = match when {
                When::Rises(j) | When::Falls(j) | When::Changes(j) => now.holds(*j),
                When::At(_) => false,
            };
        }
    })
}

impl Effect {
    pub fn value(&self, x: &V, d: f64) -> f64 {
        match *self {
            Effect::Add(_, value) | Effect::Shift(value) => value,
            Effect::Set(i, value) => value + 0.5 * x[1 - i],
            Effect::Flip => 1.0 - d,
        }
    }
}

const METHODS: [&str; 10] =
    ["tsit5", "vern7", "rodas5p", "dop853", "bdf", "rkf45", "radau5", "auto", "abm", "kencarp4"];

/// Counts over a number of systems: compared to their end, instants, events, conflicts.
#[derive(Debug, Default)]
struct Counts {
    ends: usize,
    instants: usize,
    events: usize,
    conflicts: usize,
    pairs: usize,
}

/// Compares the results of a run up to a time for which the reference is certain.
fn agree(known: &Reference, kept: &Recorded, until: f64, counts: &mut Counts) -> Result<(), String> {
    let certain = |t: &f64| *t < until;
    let expected: Vec<_> = known.instants.iter().filter(|instant| certain(&instant.t)).collect();
    let found: Vec<_> = kept.instants.iter().filter(|instant| certain(&instant.t)).collect();
    for (k, instant) in expected.iter().enumerate() {
        let Some(found) = found.get(k) else {
            return Err(format!("no instant for {instant:?}"));
        };
        if (found.t - instant.t).abs() > 1e-6 || found.events != instant.events {
            return Err(format!("{found:?} for {instant:?}"));
        }
        let size = instant.x.iter().fold(1.0, |most: f64, x| most.max(x.abs()));
        let error = (0..2).map(|i| (found.after[i] - instant.x[i]).abs()).fold(0.0, f64::max);
        if error > 1e-5 * size {
            return Err(format!("{found:?} for {instant:?}: {error:e}"));
        }
        counts.events += instant.events.len();
        counts.pairs += usize::from(k > 0 && instant.t - expected[k - 1].t < 0.05);
    }
    if let Some(more) = found.get(expected.len()) {
        return Err(format!("{more:?}, which is not in {:?}", known.instants));
    }
    counts.instants += expected.len();
    Ok(())
}

fn compare(seed: u64, systems: usize) -> Counts {
    let mut random = Random(seed);
    let (mut counts, mut wrong) = (Counts::default(), Vec::new());
    for k in 0..systems {
        let p = pieces(&mut random);
        let known = reference(&p);
        let name = METHODS[k % METHODS.len()];
        let options = odec_ode::Options { max_steps: 50_000, ..tolerances(1e-9, 1e-9) };
        let (mut kept, mut model) = (Recorded::default(), model(&p));
        let problem = Problem { t0: 0.0, t_end: T, y0: p.start.to_vec() };
        let made = HybridRunner::new(&model, method::find(name).unwrap(), &options)
            .and_then(|mut runner| runner.run(&mut model, &problem, &Samples::Steps, &mut kept));
        let mut until = known.until;
        let trouble = match &made {
            Ok(outcome) if matches!(outcome.end, End::Accumulation { .. }) => {
                until = until.min(outcome.outcome.t - 1e-6);
                (outcome.executed < 5).then(|| format!("accumulates at {}", outcome.outcome.t))
            }
            Ok(_) => None,
            Err(HybridError::Hybrid(failure)) => match (&failure.cause, &known.conflict) {
                (HybridCause::Conflict { .. }, Some(t)) if (failure.t - t).abs() < 1e-6 => {
                    counts.conflicts += 1;
                    None
                }
                _ if failure.t > until - 1e-3 => None,
                (cause, _) => Some(format!("{cause:?} at {}", failure.t)),
            },
            Err(HybridError::Failed(failure)) if matches!(failure.cause, Cause::TooManySteps { .. }) => {
                (failure.t < until - 1e-3).then(|| format!("many steps at {}", failure.t))
            }
            Err(other) => Some(format!("{other:?}")),
        };
        if let Some(t) = known.conflict {
            until = until.min(t - 1e-6);
            if made.is_ok() && known.until > t {
                wrong.push(format!("{k}, {name}: no conflict at {t}\n{p:?}"));
            }
        }
        let compared = agree(&known, &kept, until.min(T) - 1e-3, &mut counts);
        if let Some(what) = trouble.or(compared.err()) {
            wrong.push(format!("{k}, {name}: {what}, sure until {until}\n{p:?}"));
        } else if let (Some(end), Ok(outcome)) = (&known.end, &made)
            && outcome.end == End::Time
        {
            counts.ends += 1;
            let size = end.iter().fold(1.0, |most: f64, x| most.max(x.abs()));
            let error = (0..2).map(|i| (outcome.outcome.y[i] - end[i]).abs()).fold(0.0, f64::max);
            if error > 1e-5 * size {
                wrong.push(format!("{k}, {name}: {error:e} at the end\n{p:?}"));
            }
        }
    }
    let first: Vec<_> = wrong.iter().take(5).collect();
    assert!(wrong.is_empty(), "{} of {systems} disagree, {counts:?}\n{first:#?}", wrong.len());
    counts
}

#[test]
fn random_systems_with_events_agree_with_an_exact_simulation() {
    let counts = compare(0x9e37_79b9_7f4a_7c15, 300);
    assert!(counts.ends > 100 && counts.instants > 300 && counts.pairs > 10, "{counts:?}");
}

#[test]
#[ignore = "10,000 systems take minutes"]
fn many_random_systems_with_events_agree_with_an_exact_simulation() {
    let counts = compare(0x2545_f491_4f6c_dd1d, 10_000);
    assert!(counts.ends > 3_000 && counts.instants > 10_000 && counts.conflicts > 10, "{counts:?}");
}
