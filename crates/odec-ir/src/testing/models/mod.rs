//! Handwritten models with loops, each with its right-hand side as plain loops, for tests of binding, derivatives,
//! interpreter and machine code.

mod diffusion;

use super::Random;
use super::pad::{Pad, Sheet, X, affine, at, through};
use crate::builtin::{exponential, logic, rounding, trigonometric};
use crate::interpret::{self, Inputs};
use crate::nest::{Affine, BoundProgram, Edge, LoopId, ReduceOp, Region, Subscript};
use crate::program::{KernelRole, Program, Role};
pub use diffusion::{brusselator, brusselator_line, heat};

/// The right-hand side as a function of time, state and parameters.
pub type Reference = Box<dyn Fn(f64, &[f64], &[f64]) -> Vec<f64>>;

/// A model with a point to evaluate it at.
pub struct Model {
    /// With all kernels.
    pub program: Program,
    /// Time.
    pub t: f64,
    /// State.
    pub y: Vec<f64>,
    /// Values of the parameters only.
    pub parameters: Vec<f64>,
    /// The right-hand side by plain loops.
    pub reference: Reference,
}

/// Makes a model of a size.
pub type Make = fn(i64) -> Model;

/// Every model, by name, for a size of at least 1.
pub const MODELS: &[(&str, Make)] = &[
    ("heat", heat),
    ("brusselator_line", brusselator_line),
    ("brusselator", |n| brusselator(n, Edge::Periodic)),
    ("brusselator_clamped", |n| brusselator(n, Edge::Clamp)),
    ("bodies", bodies),
    ("neurons", neurons),
    ("cloth", cloth),
    ("network", network),
    ("plate", plate),
    ("extremes", extremes),
];

/// The parameter buffer of a bound program with parameters, sizes and tables, after `Prepare`.
pub fn parameters(program: &Program, bound: &BoundProgram, parameters: &[f64]) -> Vec<f64> {
    let mut p = vec![0.0; bound.layout.p_len()];
    p[..parameters.len()].copy_from_slice(parameters);
    for (id, array) in program.arrays_of(Role::Size) {
        p[bound.layout.start(id)] = array.default;
    }
    for (id, array) in program.arrays_of(Role::Table) {
        p[bound.layout.start(id)..][..array.data.len()].copy_from_slice(&array.data);
    }
    let given = p.clone();
    let inputs = Inputs { t: 0.0, y: &[], p: &given, w: &[] };
    interpret::run_bound(program, bound, KernelRole::Prepare, inputs, &mut p);
    p
}

fn values(seed: u64, n: usize) -> Vec<f64> {
    let mut random = Random::new(seed);
    (0..n).map(|_| random.uniform(0.5, 1.5)).collect()
}

fn n() -> Affine {
    Affine::extent(crate::nest::ExtentId(0))
}

fn plus(affine: Affine, constant: i64) -> Affine {
    Affine { constant: affine.constant + constant, ..affine }
}

fn number(x: i64) -> Subscript {
    affine(Affine::constant(x))
}

/// Bodies that attract one another: the force is a sum over all others.
///
/// ```text
/// p[a]'' = sum(b where b != a: G*m[b]*(p[b] - p[a])/norm(p[b] - p[a])^3)
/// ```
pub fn bodies(size: i64) -> Model {
    let mut sheet = Sheet::default();
    sheet.extent("N", size);
    let a = sheet.axis("a", Affine::constant(1), n());
    let g = sheet.array("G", Role::Parameter, &[]);
    let m = sheet.table("m", &[a], values(5, size as usize));
    let place = ["p.x", "p.y", "p.z"].map(|name| sheet.array(name, Role::Position, &[a]));
    let speed = ["p.x'", "p.y'", "p.z'"].map(|name| sheet.array(name, Role::Velocity, &[a]));
    let pad = sheet.nest(KernelRole::Rhs, Region::Whole, &[a]);
    let l = pad.over(0);
    for k in 0..3 {
        pad.set(place[k], &[at(l, 0)], pad.read(speed[k], &[at(l, 0)]));
        // A separate loop for each component, as a front end may write it.
        let b = pad.inner("b", Affine::constant(1), n());
        let other = pad.call(&logic::NE, &[pad.index(b), pad.index(l)]);
        let way = place.map(|p| pad.read(p, &[at(b, 0)]) - pad.read(p, &[at(l, 0)]));
        let square = way[0] * way[0] + way[1] * way[1] + way[2] * way[2];
        let distance = square.apply(&exponential::SQRT);
        let force = pad.read(g, &[]) * pad.read(m, &[at(b, 0)]) * way[k] / distance.power(3);
        let term = pad.choose(other, force, pad.number(0.0));
        pad.set(speed[k], &[at(l, 0)], pad.reduce(ReduceOp::Sum, b, term));
    }
    sheet.push(pad);
    let (len, masses) = (size as usize, values(5, size as usize));
    let reference = move |_: f64, y: &[f64], p: &[f64]| {
        let mut out = vec![0.0; 6 * len];
        for a in 0..len {
            for b in (0..len).filter(|&b| b != a) {
                let way = [0, 1, 2].map(|k| y[k * len + b] - y[k * len + a]);
                let distance = way.iter().map(|x| x * x).sum::<f64>().sqrt();
                for k in 0..3 {
                    out[(3 + k) * len + a] += p[0] * masses[b] * way[k] / distance.powi(3);
                }
            }
            for k in 0..3 {
                out[k * len + a] = y[(3 + k) * len + a];
            }
        }
        out
    };
    Model {
        program: sheet.finish("bodies"),
        t: 0.0,
        y: values(6, 6 * len),
        parameters: vec![1.3],
        reference: Box::new(reference),
    }
}

/// Neurons, each of which hears all others: what a sum takes of another neuron is the same in every row.
///
/// ```text
/// u[i]' = sum(j: W[i,j]*tanh(u[j]*exp(-c*t))) - c*u[i] + sum(k in 2..N: u[i]/(1 + u[k]^2))
/// ```
pub fn neurons(size: i64) -> Model {
    let mut sheet = Sheet::default();
    sheet.extent("N", size);
    let i = sheet.axis("i", Affine::constant(1), n());
    let c = sheet.array("c", Role::Parameter, &[]);
    let len = size as usize;
    let weights = sheet.table("W", &[i, i], values(8, len * len));
    let u = sheet.array("u", Role::FirstOrder, &[i]);
    let pad = sheet.nest(KernelRole::Rhs, Region::Whole, &[i]);
    let l = pad.over(0);
    let j = pad.inner("j", Affine::constant(1), n());
    let fade = (pad.number(0.0) - pad.read(c, &[]) * pad.time()).apply(&exponential::EXP);
    let heard = (pad.read(u, &[at(j, 0)]) * fade).apply(&trigonometric::TANH);
    let all = pad.reduce(ReduceOp::Sum, j, pad.read(weights, &[at(l, 0), at(j, 0)]) * heard);
    let k = pad.inner("k", Affine::constant(2), n());
    let calm = pad.number(1.0) / (pad.number(1.0) + pad.read(u, &[at(k, 0)]).power(2));
    let here = pad.read(u, &[at(l, 0)]);
    let rest = pad.reduce(ReduceOp::Sum, k, here * calm);
    pad.set(u, &[at(l, 0)], all - pad.read(c, &[]) * here + rest);
    sheet.push(pad);
    let weights = values(8, len * len);
    let reference = move |t: f64, y: &[f64], p: &[f64]| {
        let row = |i: usize| {
            let all: f64 = (0..len).map(|j| weights[i * len + j] * (y[j] * (-p[0] * t).exp()).tanh()).sum();
            let rest: f64 = (1..len).map(|k| y[i] / (1.0 + y[k] * y[k])).sum();
            all - p[0] * y[i] + rest
        };
        (0..len).map(row).collect()
    };
    Model {
        program: sheet.finish("neurons"),
        t: 0.4,
        y: values(9, len),
        parameters: vec![0.8],
        reference: Box::new(reference),
    }
}

/// A strip of N + 1 knots and a table of 2 N springs, some of them double, that pull at their ends; the first knot is pinned.
///
/// ```text
/// f[s] = k*(norm(d) - rest[s])*d/norm(d),  d = p[to[s]] - p[from[s]]
/// p[i]'' = if i == 1 then 0 else gravity - c*p[i]';   p[from[s]]'' += f[s] where from[s] > 1;   p[to[s]]'' -= f[s]
/// ```
pub fn cloth(size: i64) -> Model {
    let mut sheet = Sheet::default();
    sheet.extent("N", size);
    let i = sheet.axis("i", Affine::constant(1), plus(n(), 1));
    let twice = Affine { extents: vec![(crate::nest::ExtentId(0), 2)], ..Affine::default() };
    let s = sheet.axis("s", Affine::constant(1), twice);
    let [k, c] = ["k", "c"].map(|name| sheet.array(name, Role::Parameter, &[]));
    let gravity = sheet.array("gravity", Role::Parameter, &[]);
    let len = size as usize;
    let springs: Vec<[usize; 2]> = (1..=len).map(|s| [s, s + 1]).chain((1..=len).map(|s| [len + 1, s])).collect();
    let ends = [0, 1].map(|e| springs.iter().map(|s| s[e] as f64).collect::<Vec<_>>());
    let [from, to] = [("from", 0), ("to", 1)].map(|(name, e): (&str, usize)| sheet.table(name, &[s], ends[e].clone()));
    let rest = sheet.table("rest", &[s], values(7, 2 * len));
    let place = ["p.x", "p.y", "p.z"].map(|name| sheet.array(name, Role::Position, &[i]));
    let speed = ["p.x'", "p.y'", "p.z'"].map(|name| sheet.array(name, Role::Velocity, &[i]));
    let pad = sheet.nest(KernelRole::Rhs, Region::Whole, &[i]);
    let l = pad.over(0);
    let pinned = pad.call(&logic::EQ, &[pad.index(l), pad.number(1.0)]);
    for k in 0..3 {
        let velocity = pad.read(speed[k], &[at(l, 0)]);
        pad.set(place[k], &[at(l, 0)], velocity);
        let pull = if k == 2 { pad.read(gravity, &[]) } else { pad.number(0.0) };
        pad.set(speed[k], &[at(l, 0)], pad.choose(pinned, pad.number(0.0), pull - pad.read(c, &[]) * velocity));
    }
    sheet.push(pad);
    let pad = sheet.nest(KernelRole::Rhs, Region::Whole, &[s]);
    let l = pad.over(0);
    let [tail, head] = [from, to].map(|table| through(table, &[at(l, 0)]));
    let way = place.map(|p| pad.read(p, std::slice::from_ref(&head)) - pad.read(p, std::slice::from_ref(&tail)));
    let square = way[0] * way[0] + way[1] * way[1] + way[2] * way[2];
    let length = square.apply(&exponential::SQRT);
    let tension = pad.read(k, &[]) * (length - pad.read(rest, &[at(l, 0)]));
    for (end, table, sign) in [(tail, from, 1.0), (head, to, -1.0)] {
        let free = pad.call(&logic::LT, &[pad.number(1.0), pad.read(table, &[at(l, 0)])]);
        for k in 0..3 {
            let force = tension * way[k] / length * sign;
            pad.add(speed[k], std::slice::from_ref(&end), pad.choose(free, force, pad.number(0.0)));
        }
    }
    sheet.push(pad);
    let (knots, rests) = (len + 1, values(7, 2 * len));
    let reference = move |_: f64, y: &[f64], p: &[f64]| {
        let mut out = vec![0.0; 6 * knots];
        for k in 0..3 {
            for i in 0..knots {
                let (velocity, weight) = (y[(3 + k) * knots + i], if k == 2 { p[2] } else { 0.0 });
                out[k * knots + i] = velocity;
                out[(3 + k) * knots + i] = if i == 0 { 0.0 } else { weight - p[1] * velocity };
            }
        }
        for (spring, rest) in springs.iter().zip(&rests) {
            let [tail, head] = spring.map(|i| i - 1);
            let way = [0, 1, 2].map(|k| y[k * knots + head] - y[k * knots + tail]);
            let length = way.iter().map(|x| x * x).sum::<f64>().sqrt();
            for k in 0..3 {
                let force = p[0] * (length - rest) * way[k] / length;
                for (end, sign) in [(tail, 1.0), (head, -1.0)] {
                    out[(3 + k) * knots + end] += if end > 0 { sign * force } else { 0.0 };
                }
            }
        }
        out
    };
    Model {
        program: sheet.finish("cloth"),
        t: 0.0,
        y: values(8, 6 * knots),
        parameters: values(9, 3),
        reference: Box::new(reference),
    }
}

/// An epidemic on a graph given by a table of neighbours, 0 where there is none.
///
/// ```text
/// I[i]' = beta*(1 - I[i])*sum(k where nbr[i,k] > 0: I[nbr[i,k]]*I[i]) - gamma[i]*I[i] + exp(-t)
/// ```
pub fn network(size: i64) -> Model {
    let mut sheet = Sheet::default();
    sheet.extent("N", size);
    let i = sheet.axis("i", Affine::constant(1), n());
    let k = sheet.axis("k", Affine::constant(1), Affine::constant(3));
    let beta = sheet.array("beta", Role::Parameter, &[]);
    let gamma = sheet.array("gamma", Role::Parameter, &[i]);
    let len = size as usize;
    let next = move |i: usize, k: usize| match k {
        0 => (i + 1) % len + 1,
        1 => (i * i + 2) % (len + 1),
        _ => i,
    };
    let neighbours: Vec<usize> = (0..len).flat_map(|i| (0..3).map(move |k| next(i, k))).collect();
    let nbr = sheet.table("nbr", &[i, k], neighbours.iter().map(|&x| x as f64).collect());
    let u = sheet.array("I", Role::FirstOrder, &[i]);
    let pad = sheet.nest(KernelRole::Rhs, Region::Whole, &[i]);
    let l = pad.over(0);
    let m = pad.inner("k", Affine::constant(1), Affine::constant(3));
    let entry = [at(l, 0), at(m, 0)];
    let exists = pad.call(&logic::LT, &[pad.number(0.0), pad.read(nbr, &entry)]);
    let here = pad.read(u, &[at(l, 0)]);
    let other = pad.read_if(pad.guard(exists), u, &[through(nbr, &entry)]);
    let pressure = pad.reduce(ReduceOp::Sum, m, pad.choose(exists, other * here, pad.number(0.0)));
    let infection = pad.read(beta, &[]) * (pad.number(1.0) - here) * pressure;
    let decay = (pad.number(0.0) - pad.time()).apply(&exponential::EXP);
    pad.set(u, &[at(l, 0)], infection - pad.read(gamma, &[at(l, 0)]) * here + decay);
    sheet.push(pad);
    let reference = move |t: f64, y: &[f64], p: &[f64]| {
        (0..len)
            .map(|i| {
                let near = neighbours[3 * i..][..3].iter().filter(|&&x| x > 0);
                let pressure: f64 = near.map(|&x| y[x - 1] * y[i]).sum();
                p[0] * (1.0 - y[i]) * pressure - p[1 + i] * y[i] + (-t).exp()
            })
            .collect()
    };
    Model {
        program: sheet.finish("network"),
        t: 0.4,
        y: values(10, len),
        parameters: values(11, 1 + len),
        reference: Box::new(reference),
    }
}

/// A plate of N x 2 cells with the nine-point Laplacian: edges and corners given, the diagonal neighbours as a sum under a
/// condition, second order.
///
/// ```text
/// u[i,j]'' = c^2*(4*nb4 + sum(a in -1..1, b in -1..1 where abs(a) + abs(b) == 2: u[i+a,j+b]) - 20*u[i,j])/6
/// u[0,j], u[N+1,j] = 0;  u[i,0] = 0;  u[i,3] = sin(t);  corners: 0.25 below, u[i,j] of the corner cell above
/// ```
pub fn plate(size: i64) -> Model {
    let mut sheet = Sheet::default();
    sheet.extent("N", size);
    let i = sheet.axis("i", Affine::constant(1), n());
    let j = sheet.axis("j", Affine::constant(1), Affine::constant(2));
    let c = sheet.array("c", Role::Parameter, &[]);
    let cells = sheet.size("N", size as f64);
    let u = sheet.array("u", Role::Position, &[i, j]);
    let v = sheet.array("u'", Role::Velocity, &[i, j]);
    for region in [Region::Interior, Region::Boundary] {
        let pad = sheet.nest(KernelRole::Rhs, region, &[i, j]);
        let (k, l) = (pad.over(0), pad.over(1));
        let [a, b] = ["a", "b"].map(|name| pad.inner(name, Affine::constant(-1), Affine::constant(1)));
        for shift in [-1, 1] {
            pad.margin(plus(Affine::index(k), shift), i);
            pad.margin(plus(Affine::index(l), shift), j);
        }
        pad.margin(sum_of(k, a), i);
        pad.margin(sum_of(l, b), j);
        let near = |across: Affine, up: Affine, x: X<'_>, y: X<'_>| -> crate::NodeId {
            near(&pad, region, u, cells, (across, up), (x.id, y.id))
        };
        let (x, y) = (pad.index(k), pad.index(l));
        let cross = [(-1, 0), (1, 0), (0, -1), (0, 1)].map(|(along, across)| {
            let id = near(
                plus(Affine::index(k), along),
                plus(Affine::index(l), across),
                x + along as f64,
                y + across as f64,
            );
            pad.node(id)
        });
        let id = near(sum_of(k, a), sum_of(l, b), x + pad.index(a), y + pad.index(b));
        let size = pad.index(a).apply(&rounding::ABS) + pad.index(b).apply(&rounding::ABS);
        let diagonal = pad.call(&logic::EQ, &[size, pad.number(2.0)]);
        let term = pad.choose(diagonal, pad.node(id), pad.number(0.0));
        let diagonals = pad.reduce(ReduceOp::Sum, a, pad.reduce(ReduceOp::Sum, b, term));
        let sum = (cross[0] + cross[1] + cross[2] + cross[3]) * 4.0 + diagonals;
        let here = pad.read(u, &[at(k, 0), at(l, 0)]);
        pad.set(u, &[at(k, 0), at(l, 0)], pad.read(v, &[at(k, 0), at(l, 0)]));
        let laplacian = (sum - here * 20.0) / 6.0;
        pad.set(v, &[at(k, 0), at(l, 0)], pad.read(c, &[]).power(2) * laplacian);
        sheet.push(pad);
    }
    let (rows, columns, half) = (size, 2i64, 2 * size as usize);
    let reference = move |t: f64, y: &[f64], p: &[f64]| {
        let value = |i: i64, j: i64| match (i < 1, i > rows, j < 1, j > columns) {
            (false, false, false, false) => y[((i - 1) * columns + j - 1) as usize],
            (true, _, true, _) | (_, true, true, _) => 0.25,
            (true, _, _, true) | (_, true, _, true) => {
                y[((i.clamp(1, rows) - 1) * columns + j.clamp(1, columns) - 1) as usize]
            }
            (_, _, _, true) => t.sin(),
            _ => 0.0,
        };
        let mut out = y[half..].to_vec();
        for i in 1..=rows {
            for j in 1..=columns {
                let cross = value(i - 1, j) + value(i + 1, j) + value(i, j - 1) + value(i, j + 1);
                let diagonals = value(i - 1, j - 1) + value(i + 1, j - 1) + value(i - 1, j + 1) + value(i + 1, j + 1);
                out.push(p[0] * p[0] * (4.0 * cross + diagonals - 20.0 * value(i, j)) / 6.0);
            }
        }
        out
    };
    Model {
        program: sheet.finish("plate"),
        t: 0.9,
        y: values(12, 2 * half),
        parameters: vec![1.2],
        reference: Box::new(reference),
    }
}

fn sum_of(a: LoopId, b: LoopId) -> Affine {
    Affine { loops: vec![(a, 1), (b, 1)], ..Affine::default() }
}

/// A read of the plate: plain in the interior, by the boundary rules in the boundary region.
fn near(
    pad: &Pad,
    region: Region,
    u: crate::ArrayId,
    cells: crate::ArrayId,
    (across, up): (Affine, Affine),
    (x, y): (crate::NodeId, crate::NodeId),
) -> crate::NodeId {
    let subs = [affine(across), affine(up)];
    if region == Region::Interior {
        return pad.read(u, &subs).id;
    }
    let (x, y, zero) = (pad.node(x), pad.node(y), pad.number(0.0));
    let [west, south] = [x, y].map(|z| pad.call(&logic::LT, &[z, pad.number(1.0)]));
    let east = pad.call(&logic::LT, &[pad.read(cells, &[]), x]);
    let north = pad.call(&logic::LT, &[pad.number(2.0), y]);
    let and = |a, b| pad.call(&logic::AND, &[a, b]);
    let side = pad.call(&logic::OR, &[west, east]);
    let outside = pad.call(&logic::OR, &[side, pad.call(&logic::OR, &[south, north])]);
    let inside = pad.guard(outside.apply(&logic::NOT));
    let corner = |column: Subscript, at_corner: X<'_>| {
        let guard = pad.guard(at_corner);
        pad.read_if(guard, u, &[column, number(2)])
    };
    let (north_west, north_east) = (and(north, west), and(north, east));
    let low_corner = and(south, side);
    let edges = pad.choose(
        north_west,
        corner(number(1), north_west),
        pad.choose(
            north_east,
            corner(affine(n()), north_east),
            pad.choose(
                low_corner,
                pad.number(0.25),
                pad.choose(and(north, side.apply(&logic::NOT)), pad.time().apply(&trigonometric::SIN), zero),
            ),
        ),
    );
    pad.choose(outside, edges, pad.read_if(inside, u, &subs)).id
}

/// Every kind of reduction, one inside another, and one whose terms hold a reduction over the same indices.
///
/// ```text
/// u[i]' = max(j: w[j]*u[j]) - min(j: u[j]^2) * prod(j: 1 + u[j]*w[i]/4)
///       + sum(j where j <= i: u[j]*sum(k: u[k]*u[j] + u[i]))/N^2 + prod(j where j != i: u[j])*mean^2
/// ```
/// with `mean = sum(j: u[j])/N`.
pub fn extremes(size: i64) -> Model {
    let mut sheet = Sheet::default();
    sheet.extent("N", size);
    let i = sheet.axis("i", Affine::constant(1), n());
    let w = sheet.array("w", Role::Parameter, &[i]);
    let cells = sheet.size("N", size as f64);
    let u = sheet.array("u", Role::FirstOrder, &[i]);
    let pad = sheet.nest(KernelRole::Rhs, Region::Whole, &[i]);
    let l = pad.over(0);
    let j = pad.inner("j", Affine::constant(1), n());
    let k = pad.inner("k", Affine::constant(1), n());
    let [here, other, third] = [l, j, k].map(|l| pad.read(u, &[at(l, 0)]));
    let count = pad.read(cells, &[]);
    let most = pad.reduce(ReduceOp::Max, j, pad.read(w, &[at(j, 0)]) * other);
    let least = pad.reduce(ReduceOp::Min, j, other.power(2));
    let product = pad.reduce(ReduceOp::Product, j, other * pad.read(w, &[at(l, 0)]) / 4.0 + 1.0);
    let nested = other * pad.reduce(ReduceOp::Sum, k, third * other + here);
    let below = pad.call(&logic::LE, &[pad.index(j), pad.index(l)]);
    let sums = pad.reduce(ReduceOp::Sum, j, pad.choose(below, nested, pad.number(0.0))) / count.power(2);
    let differs = pad.call(&logic::NE, &[pad.index(j), pad.index(l)]);
    let rest = pad.reduce(ReduceOp::Product, j, pad.choose(differs, other, pad.number(1.0)));
    let mean = pad.reduce(ReduceOp::Sum, j, other) / count;
    pad.set(u, &[at(l, 0)], most - least * product + sums + rest * mean.power(2));
    sheet.push(pad);
    let len = size as usize;
    let reference = move |_: f64, y: &[f64], p: &[f64]| {
        let mean = y.iter().sum::<f64>() / len as f64;
        (0..len)
            .map(|i| {
                let most = (0..len).map(|j| p[j] * y[j]).fold(f64::NEG_INFINITY, f64::max);
                let least = y.iter().map(|x| x * x).fold(f64::INFINITY, f64::min);
                let product: f64 = y.iter().map(|x| 1.0 + x * p[i] / 4.0).product();
                let nested = |j: usize| y[j] * y.iter().map(|x| x * y[j] + y[i]).sum::<f64>();
                let sums = (0..=i).map(nested).sum::<f64>() / (len * len) as f64;
                let rest: f64 = (0..len).filter(|&j| j != i).map(|j| y[j]).product();
                most - least * product + sums + rest * mean * mean
            })
            .collect()
    };
    Model {
        program: sheet.finish("extremes"),
        t: 0.0,
        y: values(13, len),
        parameters: values(14, len),
        reference: Box::new(reference),
    }
}
