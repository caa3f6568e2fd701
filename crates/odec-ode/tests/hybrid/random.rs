//! Random piecewise linear systems with events, against an exact solution that is independent of the solvers: series
//! of the matrix exponential, and brackets of roots whose completeness follows from bounds of the second derivative.

use super::model::{Model, run};
use crate::dense::tolerances;
use odec_ode::hybrid::{AffineRows, Event, HybridCause, HybridError, Write};
use odec_ode::{Cause, method};

const N: usize = 2;
const T: f64 = 4.0;
/// Cells that the exact solution is bracketed in.
const CELL: f64 = 1.0 / 64.0;
/// Rate below which a crossing depends on the tolerance of the solver, so that the rest is not compared.
const SLOW: f64 = 0.05;
const GRAZE: f64 = 1e-5;
/// Perturbation of the initial state that shows the propagation of errors, and error of a run at its start in tolerances.
const BESIDE: f64 = 1e-7;
const ERRORS: f64 = 100.0;

type V = [f64; N];

/// x' = A x + b on each side of a.x = c; with `jump`, x := x + jump when a.x > c becomes true.
#[derive(Clone, Copy, Debug)]
struct Pieces {
    a: [[V; N]; 2],
    b: [V; 2],
    normal: V,
    c: f64,
    jump: Option<V>,
    start: V,
}

pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> f64 {
        // Marsaglia's xorshift, to [-1, 1)
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
    pub fn vector(&mut self, size: f64) -> V {
        std::array::from_fn(|_| size * self.next())
    }
    fn pieces(&mut self) -> Pieces {
        let mut matrix = || std::array::from_fn(|_| self.vector(2.5));
        let a = [matrix(), matrix()];
        let b = [self.vector(1.0), self.vector(1.0)];
        let (normal, c) = (self.vector(1.0), 0.5 * self.next());
        let jump = (self.next() > 0.0).then(|| self.vector(1.0));
        Pieces { a, b, normal, c, jump, start: self.vector(1.5) }
    }
}

fn dot(a: &V, b: &V) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn size(v: &V) -> f64 {
    dot(v, v).sqrt()
}

impl Pieces {
    fn slope(&self, mode: usize, x: &V) -> V {
        std::array::from_fn(|i| dot(&self.a[mode][i], x) + self.b[mode][i])
    }

    /// The flow for a short time: x + t x' + t^2/2 A x' + ...
    fn flow(&self, mode: usize, x: &V, t: f64) -> V {
        let (mut sum, mut term) = (*x, self.slope(mode, x));
        for k in 1..=24 {
            for i in 0..N {
                term[i] *= t / f64::from(k);
                sum[i] += term[i];
            }
            term = std::array::from_fn(|i| dot(&self.a[mode][i], &term));
        }
        sum
    }

    fn g(&self, x: &V) -> f64 {
        dot(&self.normal, x) - self.c
    }

    fn rate(&self, mode: usize, x: &V) -> f64 {
        dot(&self.normal, &self.slope(mode, x))
    }

    /// A bound of |g''| for a time t.
    fn bend(&self, mode: usize, x: &V, t: f64) -> f64 {
        let norm = self.a[mode].iter().map(|row| dot(row, row)).sum::<f64>().sqrt();
        size(&self.normal) * norm * size(&self.slope(mode, x)) * (norm * t).exp()
    }
}

/// End of a leg.
enum Leg {
    Over(V),
    Crossing(f64, V),
    Unclear(f64),
}

/// The solution from x at time t in a mode, up to its first crossing.
fn leg(p: &Pieces, mode: usize, mut t: f64, mut x: V) -> Leg {
    let side = if mode == 1 { 1.0 } else { -1.0 };
    // away from a surface that it starts on
    if p.g(&x).abs() < 1e-9 {
        let rate = side * p.rate(mode, &x);
        if rate < SLOW {
            return Leg::Unclear(t);
        }
        let away = (0.5 * rate / p.bend(mode, &x, CELL)).min(CELL).min(T - t);
        (x, t) = (p.flow(mode, &x, away), t + away);
    }
    let mut length = CELL;
    while t < T {
        let h = length.min(T - t);
        let end = p.flow(mode, &x, h);
        let (g0, g1) = (side * p.g(&x), side * p.g(&end));
        let bend = p.bend(mode, &x, h);
        let clear = g0.min(g1) > bend * h * h / 8.0 + GRAZE;
        let monotone = p.rate(mode, &x).abs() > bend * h;
        if clear || (monotone && g0.min(g1) > GRAZE) {
            (x, t) = (end, t + h);
            length = (2.0 * length).min(CELL);
            continue;
        }
        if monotone && g1 < 0.0 {
            let (mut low, mut high) = (0.0, h);
            for _ in 0..60 {
                let middle = 0.5 * (low + high);
                if side * p.g(&p.flow(mode, &x, middle)) > 0.0 { low = middle } else { high = middle }
            }
            let there = p.flow(mode, &x, high);
            let slow = p.rate(mode, &there).abs() < SLOW || p.rate(1 - mode, &there).abs() < SLOW;
            return if slow { Leg::Unclear(t + low) } else { Leg::Crossing(t + high, there) };
        }
        if h < 1e-6 {
            return Leg::Unclear(t);
        }
        length = 0.5 * h;
    }
    Leg::Over(x)
}

/// Required results of the run.
struct Exact {
    crossings: Vec<f64>,
    jumps: usize,
    end: End,
}

enum End {
    At(V),
    Sliding(f64),
    /// Not compared from here on.
    Unclear(f64),
}

fn exact(p: &Pieces) -> Exact {
    let (mut t, mut x) = (0.0, p.start);
    let mut mode = usize::from(p.g(&x) > 0.0);
    let mut known = Exact { crossings: vec![], jumps: 0, end: End::Unclear(0.0) };
    if p.g(&x).abs() < GRAZE {
        return known;
    }
    loop {
        match leg(p, mode, t, x) {
            Leg::Over(end) => {
                known.end = End::At(end);
                return known;
            }
            Leg::Unclear(at) => {
                known.end = End::Unclear(at);
                return known;
            }
            Leg::Crossing(at, there) => {
                (t, x) = (at, there);
                let outward = if mode == 0 { 1.0 } else { -1.0 };
                // an event that jumps away has priority
                let jumps = mode == 0 && p.jump.is_some();
                if !jumps && outward * p.rate(1 - mode, &x) < 0.0 {
                    known.end = End::Sliding(t);
                    return known;
                }
                mode = 1 - mode;
                known.crossings.push(t);
                if let (1, Some(jump)) = (mode, p.jump) {
                    known.jumps += 1;
                    for i in 0..N {
                        x[i] += jump[i];
                    }
                    mode = usize::from(p.g(&x) > 0.0);
                    if p.g(&x).abs() < 1e-2 {
                        known.end = End::Unclear(t);
                        return known;
                    }
                }
                if known.crossings.len() > 40 {
                    known.end = End::Unclear(t);
                    return known;
                }
            }
        }
    }
}

/// Allowed error of times and of the end if the system itself amplifies errors: the effect of a perturbation of the
/// initial state by the tolerance on the exact solution, times [`ERRORS`].
fn conditioned(p: &Pieces, rtol: f64) -> f64 {
    let known = exact(p);
    let mut most = 0.0f64;
    for i in 0..N {
        let mut near = *p;
        near.start[i] += BESIDE * size(&p.start).max(1.0);
        let beside = exact(&near);
        let times = known.crossings.iter().zip(&beside.crossings).map(|(a, b)| (a - b).abs());
        most = times.fold(most, f64::max);
        most = match (&known.end, &beside.end) {
            (End::At(a), End::At(b)) => most.max((0..N).map(|i| (a[i] - b[i]).abs()).fold(0.0, f64::max)),
            (End::Sliding(a), End::Sliding(b)) => most.max((a - b).abs()),
            _ => most,
        };
    }
    ERRORS * rtol / BESIDE * most
}

fn model(p: Pieces, affine: bool) -> Model {
    let when = |edge| Event { trigger: odec_ode::hybrid::Trigger::Condition(edge), ..Event::when(vec![]) };
    let writes = if p.jump.is_some() { (0..N).map(|i| Write::state(i).adding()).collect() } else { vec![] };
    let rows = AffineRows::of(&[Some(((0..N).map(|i| (i as u32, p.normal[i])).collect(), 0.0))]);
    let model = Model::new(N, move |_, y, now, f| {
        f.copy_from_slice(&p.slope(usize::from(now.holds(0)), &[y[0], y[1]]));
    })
    .autonomous()
    .relations(1, move |_, y, _, left, right| (left[0], right[0]) = (dot(&p.normal, &[y[0], y[1]]), p.c))
    .event(Event::when(writes), move |_, _, _, out| out.copy_from_slice(&p.jump.map_or(vec![], |jump| jump.to_vec())))
    .event(when(odec_ode::hybrid::Edge::Falling), |_, _, _, _| {})
    .conditions(|now, out| out.fill(now.holds(0)));
    if affine { model.with_rows(rows) } else { model }
}

const METHODS: [&str; 10] =
    ["tsit5", "vern7", "rodas5p", "dop853", "bdf", "rkf45", "radau5", "auto", "abm", "kencarp4"];

/// Compares a number of systems; returns the numbers of systems compared to their end, of crossings, and of sliding
/// systems.
fn compare(seed: u64, systems: usize) -> [usize; 3] {
    let mut random = Random(seed);
    let mut counts = [0; 3];
    for k in 0..systems {
        let p = random.pieces();
        let known = exact(&p);
        let name = METHODS[k % METHODS.len()];
        let rtol = 1e-9;
        // a jump that hardly leaves the surface returns at once, repeatedly
        let options = odec_ode::Options { max_steps: 50_000, ..tolerances(rtol, rtol) };
        let made = run(&mut model(p, k % 3 != 0), (0.0, T), &p.start, method::find(name).unwrap(), &options);
        let until = if let End::Unclear(t) = known.end { t - 1e-3 } else { f64::INFINITY };
        let (times, jumps, failure) = match &made {
            Ok((_, kept)) => (kept.instants.iter().map(|instant| instant.t).collect(), kept.times(0).len(), None),
            Err(HybridError::Hybrid(failure)) => (vec![], 0, Some(failure)),
            Err(HybridError::Failed(failure)) if matches!(failure.cause, Cause::TooManySteps { .. }) => {
                assert!(failure.t > until, "{k}, {name}: many steps at {}\n{p:?}", failure.t);
                continue;
            }
            Err(other) => panic!("{k}, {name}: {other:?}\n{p:?}"),
        };
        match (&known.end, failure) {
            (End::Sliding(t), Some(failure)) => {
                assert!(matches!(failure.cause, HybridCause::Sliding { relation: 0, .. }), "{k}: {failure:?}\n{p:?}");
                let off = (failure.t - t).abs();
                assert!(
                    off < 1e-6 || off < conditioned(&p, rtol),
                    "{k}, {name}: slides at {} for {t}\n{p:?}",
                    failure.t
                );
                counts[2] += 1;
                continue;
            }
            (End::Sliding(t), None) => panic!("{k}, {name}: does not slide at {t}\n{p:?}"),
            (End::Unclear(t), Some(failure)) => {
                assert!(failure.t > t - 1e-3, "{k}, {name}: {failure:?}, unclear at {t}\n{p:?}");
                continue;
            }
            (End::At(_), Some(failure)) => panic!("{k}, {name}: {failure:?}\n{p:?}"),
            (_, None) => {}
        }
        let compared = known.crossings.iter().take_while(|t| **t < until).count();
        let times: Vec<f64> = times;
        let found: Vec<f64> = times.iter().copied().take_while(|t| *t < until).collect();
        // a jump back across the surface is one instant with both events
        assert_eq!(found.len(), compared, "{k}, {name}: {times:?} for {:?}, until {until}\n{p:?}", known.crossings);
        for (t, exact) in found.iter().zip(&known.crossings) {
            let off = (t - exact).abs();
            assert!(off < 1e-6 || off < conditioned(&p, rtol), "{k}, {name}: {t} for {exact}\n{p:?}");
        }
        counts[1] += compared;
        if let (End::At(end), Ok((outcome, _))) = (&known.end, &made) {
            counts[0] += 1;
            assert!(p.jump.is_none() || jumps == known.jumps, "{k}, {name}\n{p:?}");
            let scale = size(end).max(1.0);
            let error = (0..N).map(|i| (outcome.outcome.y[i] - end[i]).abs()).fold(0.0, f64::max);
            assert!(error < 1e-5 * scale || error < conditioned(&p, rtol), "{k}, {name}: {error:e}\n{p:?}");
        }
    }
    counts
}

#[test]
fn random_systems_agree_with_exact_solutions() {
    let [ends, crossings, slides] = compare(0x9e37_79b9_7f4a_7c15, 300);
    assert!(ends > 150 && crossings > 150 && slides > 15, "{ends} {crossings} {slides}");
}

#[test]
#[ignore = "10,000 systems take minutes"]
fn many_random_systems_agree_with_exact_solutions() {
    let [ends, crossings, slides] = compare(0x2545_f491_4f6c_dd1d, 10_000);
    assert!(ends > 5_000 && crossings > 5_000 && slides > 500, "{ends} {crossings} {slides}");
}
