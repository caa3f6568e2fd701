//! Models of diffusion on lines and grids, with every boundary rule.

use super::{Model, n, plus, values};
use crate::builtin::{logic, trigonometric};
use crate::nest::{Affine, Edge, Region};
use crate::program::{KernelRole, Role};
use crate::testing::pad::{Sheet, affine, at, edge};

/// Heat in a rod: a value at the left end, an expression at the right one.
///
/// ```text
/// T[i]' = k*(T[i-1] - 2*T[i] + T[i+1])/dx^2 + s[i]*sin(t),  T[0] = left*cos(t),  T[N+1] = T[N] + q*dx,  dx = 1/N
/// ```
pub fn heat(size: i64) -> Model {
    let mut sheet = Sheet::default();
    sheet.extent("N", size);
    let i = sheet.axis("i", Affine::constant(1), n());
    let [k, left, q] = ["k", "left", "q"].map(|name| sheet.array(name, Role::Parameter, &[]));
    let s = sheet.array("s", Role::Parameter, &[i]);
    let cells = sheet.size("N", size as f64);
    let u = sheet.array("T", Role::FirstOrder, &[i]);
    for region in [Region::Interior, Region::Boundary] {
        let pad = sheet.nest(KernelRole::Rhs, region, &[i]);
        let l = pad.over(0);
        for shift in [-1, 1] {
            pad.margin(plus(Affine::index(l), shift), i);
        }
        let count = pad.read(cells, &[]);
        let dx = pad.number(1.0) / count;
        let (mut west, mut east) = (pad.read(u, &[at(l, -1)]), pad.read(u, &[at(l, 1)]));
        if region == Region::Boundary {
            let index = pad.index(l);
            let first = pad.call(&logic::LT, &[index - 1.0, pad.number(1.0)]);
            let last = pad.call(&logic::LT, &[count, index + 1.0]);
            let [not_first, not_last] = [first, last].map(|c| pad.guard(c.apply(&logic::NOT)));
            let value = pad.read(left, &[]) * pad.time().apply(&trigonometric::COS);
            west = pad.choose(first, value, pad.read_if(not_first, u, &[at(l, -1)]));
            let end = pad.read_if(pad.guard(last), u, &[affine(n())]) + pad.read(q, &[]) * dx;
            east = pad.choose(last, end, pad.read_if(not_last, u, &[at(l, 1)]));
        }
        let here = pad.read(u, &[at(l, 0)]);
        let diffusion = pad.read(k, &[]) * (west - here * 2.0 + east) / dx.power(2);
        let source = pad.read(s, &[at(l, 0)]) * pad.time().apply(&trigonometric::SIN);
        pad.set(u, &[at(l, 0)], diffusion + source);
        sheet.push(pad);
    }
    let len = size as usize;
    let reference = move |t: f64, y: &[f64], p: &[f64]| {
        let dx = 1.0 / len as f64;
        (0..len)
            .map(|i| {
                let west = if i == 0 { p[1] * t.cos() } else { y[i - 1] };
                let east = if i + 1 == len { y[len - 1] + p[2] * dx } else { y[i + 1] };
                p[0] * (west - 2.0 * y[i] + east) / (dx * dx) + p[3 + i] * t.sin()
            })
            .collect()
    };
    Model {
        program: sheet.finish("heat"),
        t: 0.7,
        y: values(1, len),
        parameters: values(2, 3 + len),
        reference: Box::new(reference),
    }
}

/// Brusselator on a line with values at both ends.
///
/// ```text
/// u[i]' = A + u^2*v - (B + 1)*u + alpha*(u[i-1] - 2*u + u[i+1])*(N + 1)^2,  u[0] = u[N+1] = 1
/// v[i]' = B*u - u^2*v           + alpha*(v[i-1] - 2*v + v[i+1])*(N + 1)^2,  v[0] = v[N+1] = 3
/// ```
pub fn brusselator_line(size: i64) -> Model {
    let mut sheet = Sheet::default();
    sheet.extent("N", size);
    let i = sheet.axis("i", Affine::constant(1), n());
    let [a, b, alpha] = ["A", "B", "alpha"].map(|name| sheet.array(name, Role::Parameter, &[]));
    let cells = sheet.size("N", size as f64);
    let [u, v] = ["u", "v"].map(|name| sheet.array(name, Role::FirstOrder, &[i]));
    for region in [Region::Interior, Region::Boundary] {
        let pad = sheet.nest(KernelRole::Rhs, region, &[i]);
        let l = pad.over(0);
        for shift in [-1, 1] {
            pad.margin(plus(Affine::index(l), shift), i);
        }
        let count = pad.read(cells, &[]);
        let weight = pad.read(alpha, &[]) * (count + 1.0).power(2);
        let near = |array, outside: f64| {
            let (mut west, mut east) = (pad.read(array, &[at(l, -1)]), pad.read(array, &[at(l, 1)]));
            if region == Region::Boundary {
                let first = pad.call(&logic::LT, &[pad.index(l) - 1.0, pad.number(1.0)]);
                let last = pad.call(&logic::LT, &[count, pad.index(l) + 1.0]);
                let [not_first, not_last] = [first, last].map(|c| pad.guard(c.apply(&logic::NOT)));
                west = pad.choose(first, pad.number(outside), pad.read_if(not_first, array, &[at(l, -1)]));
                east = pad.choose(last, pad.number(outside), pad.read_if(not_last, array, &[at(l, 1)]));
            }
            let here = pad.read(array, &[at(l, 0)]);
            (here, weight * (west - here * 2.0 + east))
        };
        let ((x, spread_x), (y, spread_y)) = (near(u, 1.0), near(v, 3.0));
        let (a, b) = (pad.read(a, &[]), pad.read(b, &[]));
        let cubic = x.power(2) * y;
        pad.set(u, &[at(l, 0)], a + cubic - (b + 1.0) * x + spread_x);
        pad.set(v, &[at(l, 0)], b * x - cubic + spread_y);
        sheet.push(pad);
    }
    let len = size as usize;
    let reference = move |_: f64, y: &[f64], p: &[f64]| {
        let near = |z: &[f64], i: usize, outside: f64| {
            let (west, east) = (if i == 0 { outside } else { z[i - 1] }, if i + 1 == len { outside } else { z[i + 1] });
            (z[i], p[2] * ((len + 1) * (len + 1)) as f64 * (west - 2.0 * z[i] + east))
        };
        let mut out = vec![0.0; 2 * len];
        for i in 0..len {
            let ((u, du), (v, dv)) = (near(&y[..len], i, 1.0), near(&y[len..], i, 3.0));
            out[i] = p[0] + u * u * v - (p[1] + 1.0) * u + du;
            out[len + i] = p[1] * u - u * u * v + dv;
        }
        out
    };
    Model {
        program: sheet.finish("brusselator_line"),
        t: 0.0,
        y: values(15, 2 * len),
        parameters: values(16, 3),
        reference: Box::new(reference),
    }
}

/// Brusselator on N x (N + 1) cells, periodic or clamped along both indices, with a step that reaches over two cells.
///
/// ```text
/// u[i,j]' = A + u^2*v - (B + 1)*u + alpha*(u[i-2,j] + u[i+1,j] + u[i,j-1] + u[i,j+1] - 4*u)
/// v[i,j]' = B*u - u^2*v           + alpha*(v[i-2,j] + v[i+1,j] + v[i,j-1] + v[i,j+1] - 4*v)
/// ```
pub fn brusselator(size: i64, rule: Edge) -> Model {
    let mut sheet = Sheet::default();
    sheet.extent("N", size);
    let i = sheet.axis("i", Affine::constant(0), plus(n(), -1));
    let j = sheet.axis("j", Affine::constant(1), plus(n(), 1));
    let [a, b, alpha] = ["A", "B", "alpha"].map(|name| sheet.array(name, Role::Parameter, &[]));
    let [u, v] = ["u", "v"].map(|name| sheet.array(name, Role::FirstOrder, &[i, j]));
    let steps = [(-2, 0), (1, 0), (0, -1), (0, 1)];
    for region in [Region::Interior, Region::Boundary] {
        let pad = sheet.nest(KernelRole::Rhs, region, &[i, j]);
        let (k, l) = (pad.over(0), pad.over(1));
        for (along, across) in steps {
            pad.margin(plus(Affine::index(k), along), i);
            pad.margin(plus(Affine::index(l), across), j);
        }
        let rule = if region == Region::Boundary { rule } else { Edge::Inside };
        let near = |array| {
            let read = |(along, across)| pad.read(array, &[edge(at(k, along), rule), edge(at(l, across), rule)]);
            let here = pad.read(array, &[at(k, 0), at(l, 0)]);
            let sum = read(steps[0]) + read(steps[1]) + read(steps[2]) + read(steps[3]) - here * 4.0;
            (here, pad.read(alpha, &[]) * sum)
        };
        let ((x, spread_x), (y, spread_y)) = (near(u), near(v));
        let (a, b) = (pad.read(a, &[]), pad.read(b, &[]));
        let cubic = x.power(2) * y;
        pad.set(u, &[at(k, 0), at(l, 0)], a + cubic - (b + 1.0) * x + spread_x);
        pad.set(v, &[at(k, 0), at(l, 0)], b * x - cubic + spread_y);
        sheet.push(pad);
    }
    let (rows, columns) = (size, size + 1);
    let half = (rows * columns) as usize;
    let reference = move |_: f64, y: &[f64], p: &[f64]| {
        let fit = |x: i64, n: i64| if rule == Edge::Periodic { x.rem_euclid(n) } else { x.clamp(0, n - 1) };
        let cell = |i: i64, j: i64| (fit(i, rows) * columns + fit(j, columns)) as usize;
        let mut out = vec![0.0; 2 * half];
        for i in 0..rows {
            for j in 0..columns {
                let near = |z: &[f64]| {
                    let sum: f64 = steps.iter().map(|&(along, across)| z[cell(i + along, j + across)]).sum();
                    (z[cell(i, j)], p[2] * (sum - 4.0 * z[cell(i, j)]))
                };
                let ((u, du), (v, dv)) = (near(&y[..half]), near(&y[half..]));
                out[cell(i, j)] = p[0] + u * u * v - (p[1] + 1.0) * u + du;
                out[half + cell(i, j)] = p[1] * u - u * u * v + dv;
            }
        }
        out
    };
    Model {
        program: sheet.finish("brusselator"),
        t: 0.0,
        y: values(3, 2 * half),
        parameters: values(4, 3),
        reference: Box::new(reference),
    }
}
