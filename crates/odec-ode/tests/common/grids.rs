//! Hand-written systems with many unknowns: heat, Brusselator and springs on lines and grids, u of all cells before v.

#![allow(clippy::needless_range_loop, reason = "formulas with subscripts")]

use odec_ode::pattern::Pattern;
use odec_ode::system::{EvalError, Jacobian, Shape, System};

/// Callback of Jacobian entries: the derivative of row `row` with respect to column `col` is `value(y)`.
type Entries = Box<dyn Fn(&[f64], &mut dyn FnMut(usize, usize, f64)) + Sync>;
type Rhs = Box<dyn Fn(f64, &[f64], &mut [f64]) + Sync>;

/// System whose Jacobian is given entry by entry, always in the same order.
pub struct Grid {
    pub shape: Shape,
    pub y0: Vec<f64>,
    rhs: Rhs,
    entries: Entries,
    pattern: Pattern,
    /// Place in the pattern of each entry, in the order handed out.
    slots: Vec<u32>,
    held: bool,
}

impl Grid {
    fn new(y0: Vec<f64>, second: usize, rhs: Rhs, entries: Entries) -> Self {
        let n = y0.len();
        let mut positions = Vec::new();
        entries(&y0, &mut |i, j, _| positions.push((i, j)));
        let pattern = Pattern::from_positions(n, n, positions.iter().copied());
        let slots = positions.iter().map(|(i, j)| pattern.find(*i, *j).unwrap() as u32).collect();
        Grid { shape: Shape { n, second }, y0, rhs, entries, pattern, slots, held: true }
    }
}

impl Grid {
    /// Removes the values of the Jacobian.
    pub fn without_jacobian(mut self) -> Self {
        self.pattern = Pattern::from_positions(self.y0.len(), self.y0.len(), []);
        self.held = false;
        self
    }
}

impl System for Grid {
    fn shape(&self) -> Shape {
        self.shape
    }
    fn rhs(&self, t: f64, y: &[f64], f: &mut [f64]) -> Result<(), EvalError> {
        (self.rhs)(t, y, f);
        Ok(())
    }
    fn jacobian(&self) -> Jacobian<'_> {
        if self.held { Jacobian::Entries(&self.pattern) } else { Jacobian::Products }
    }
    fn jacobian_values(&self, _: f64, y: &[f64], values: &mut [f64]) -> Result<(), EvalError> {
        if !self.held {
            return Err(EvalError::Fatal);
        }
        values.fill(0.0);
        let mut k = 0;
        (self.entries)(y, &mut |_, _, value| {
            values[self.slots[k] as usize] += value;
            k += 1;
        });
        Ok(())
    }
    fn jacobian_vector(&self, _: f64, y: &[f64], w: &[f64], out: &mut [f64]) -> Result<(), EvalError> {
        out.fill(0.0);
        (self.entries)(y, &mut |i, j, value| out[i] += value * w[j]);
        Ok(())
    }
    fn time_derivative(&self, _: f64, _: &[f64], out: &mut [f64]) -> Result<(), EvalError> {
        out.fill(0.0);
        Ok(())
    }
    fn autonomous(&self) -> bool {
        true
    }
}

/// u' = k (left - 2 u + right) with zeros at both ends, k = (n + 1)^2.
pub fn heat_line(n: usize) -> Grid {
    let k = ((n + 1) * (n + 1)) as f64;
    let x = |i: usize| (i + 1) as f64 / (n + 1) as f64;
    Grid::new(
        (0..n).map(|i| 4.0 * x(i) * (1.0 - x(i))).collect(),
        0,
        Box::new(move |_, y, f| {
            for i in 0..n {
                let left = if i > 0 { y[i - 1] } else { 0.0 };
                let right = if i + 1 < n { y[i + 1] } else { 0.0 };
                f[i] = k * (left - 2.0 * y[i] + right);
            }
        }),
        Box::new(move |_, put| {
            for i in 0..n {
                if i > 0 {
                    put(i, i - 1, k);
                }
                put(i, i, -2.0 * k);
                if i + 1 < n {
                    put(i, i + 1, k);
                }
            }
        }),
    )
}

/// Heat on a square of `side` x `side` inner points, zeros around.
pub fn heat_square(side: usize) -> Grid {
    let k = ((side + 1) * (side + 1)) as f64;
    let x = move |i: usize| (i + 1) as f64 / (side + 1) as f64;
    let at = move |i: usize, j: usize| j * side + i;
    let y0 = (0..side * side).map(|c| {
        let (x, y) = (x(c % side), x(c / side));
        16.0 * x * (1.0 - x) * y * (1.0 - y)
    });
    Grid::new(
        y0.collect(),
        0,
        Box::new(move |_, y, f| {
            for j in 0..side {
                for i in 0..side {
                    let mut sum = -4.0 * y[at(i, j)];
                    sum += if i > 0 { y[at(i - 1, j)] } else { 0.0 };
                    sum += if i + 1 < side { y[at(i + 1, j)] } else { 0.0 };
                    sum += if j > 0 { y[at(i, j - 1)] } else { 0.0 };
                    sum += if j + 1 < side { y[at(i, j + 1)] } else { 0.0 };
                    f[at(i, j)] = k * sum;
                }
            }
        }),
        Box::new(move |_, put| {
            for j in 0..side {
                for i in 0..side {
                    let row = at(i, j);
                    put(row, row, -4.0 * k);
                    if i > 0 {
                        put(row, at(i - 1, j), k);
                    }
                    if i + 1 < side {
                        put(row, at(i + 1, j), k);
                    }
                    if j > 0 {
                        put(row, at(i, j - 1), k);
                    }
                    if j + 1 < side {
                        put(row, at(i, j + 1), k);
                    }
                }
            }
        }),
    )
}

/// The Brusselator on a line of `cells` inner points: u = 1, v = 3 at the ends, diffusion 0.02 (cells + 1)^2.
pub fn brusselator_line(cells: usize) -> Grid {
    let n = cells;
    let c = 0.02 * ((n + 1) * (n + 1)) as f64;
    let u0 = (0..n).map(|i| 1.0 + (std::f64::consts::TAU * (i + 1) as f64 / (n + 1) as f64).sin());
    Grid::new(
        u0.chain((0..n).map(|_| 3.0)).collect(),
        0,
        Box::new(move |_, y, f| {
            let (u, v) = y.split_at(n);
            let (fu, fv) = f.split_at_mut(n);
            let (mut ul, mut vl) = (1.0, 3.0);
            for i in 0..n {
                let (ur, vr) = if i + 1 < n { (u[i + 1], v[i + 1]) } else { (1.0, 3.0) };
                let uuv = u[i] * u[i] * v[i];
                fu[i] = 1.0 + uuv - 4.0 * u[i] + c * (ul - 2.0 * u[i] + ur);
                fv[i] = 3.0 * u[i] - uuv + c * (vl - 2.0 * v[i] + vr);
                (ul, vl) = (u[i], v[i]);
            }
        }),
        Box::new(move |y, put| {
            for i in 0..n {
                let (u, v) = (y[i], y[n + i]);
                put(i, i, 2.0 * u * v - 4.0 - 2.0 * c);
                put(i, n + i, u * u);
                put(n + i, i, 3.0 - 2.0 * u * v);
                put(n + i, n + i, -u * u - 2.0 * c);
                for base in [0, n] {
                    if i > 0 {
                        put(base + i, base + i - 1, c);
                    }
                    if i + 1 < n {
                        put(base + i, base + i + 1, c);
                    }
                }
            }
        }),
    )
}

/// The Brusselator on a periodic square of `side` x `side` cells (Hairer & Wanner II, section IV.10, without the
/// source there), diffusion 0.1 side^2.
pub fn brusselator_square(side: usize) -> Grid {
    let (n, cells) = (side, side * side);
    let c = 0.1 * (n * n) as f64;
    let at = move |i: usize, j: usize| (j % n) * n + i % n;
    let x = move |i: usize| i as f64 / n as f64;
    let u0 = (0..cells).map(move |k| 22.0 * x(k / n) * (1.0 - x(k / n)).powf(1.5));
    let v0 = (0..cells).map(move |k| 27.0 * x(k % n) * (1.0 - x(k % n)).powf(1.5));
    Grid::new(
        u0.chain(v0).collect(),
        0,
        Box::new(move |_, y, f| {
            let (u, v) = y.split_at(cells);
            let (fu, fv) = f.split_at_mut(cells);
            for j in 0..n {
                let (own, below, above) = (j * n, (j + n - 1) % n * n, (j + 1) % n * n);
                for (y, f) in [(u, &mut *fu), (v, &mut *fv)] {
                    let (y, s, o) = (&y[own..own + n], &y[below..below + n], &y[above..above + n]);
                    let f = &mut f[own..own + n];
                    for i in 1..n - 1 {
                        f[i] = c * (y[i - 1] + y[i + 1] + s[i] + o[i] - 4.0 * y[i]);
                    }
                    f[0] = c * (y[n - 1] + y[1] + s[0] + o[0] - 4.0 * y[0]);
                    f[n - 1] = c * (y[n - 2] + y[0] + s[n - 1] + o[n - 1] - 4.0 * y[n - 1]);
                }
            }
            for k in 0..cells {
                let uuv = u[k] * u[k] * v[k];
                fu[k] += 1.0 + uuv - 4.4 * u[k];
                fv[k] += 3.4 * u[k] - uuv;
            }
        }),
        Box::new(move |y, put| {
            for j in 0..n {
                for i in 0..n {
                    let k = at(i, j);
                    let (u, v) = (y[k], y[cells + k]);
                    put(k, k, 2.0 * u * v - 4.4 - 4.0 * c);
                    put(k, cells + k, u * u);
                    put(cells + k, k, 3.4 - 2.0 * u * v);
                    put(cells + k, cells + k, -u * u - 4.0 * c);
                    for base in [0, cells] {
                        for other in [at(i + n - 1, j), at(i + 1, j), at(i, j + n - 1), at(i, j + 1)] {
                            put(base + k, base + other, c);
                        }
                    }
                }
            }
        }),
    )
}

/// Masses on a line between walls, springs k with a cubic part, and damping: x_i'' = spring forces - 0.1 x_i'.
pub fn chain(masses: usize) -> Grid {
    springs(masses, 1)
}

/// Masses of a square lattice, pinned around, each moved across its plane: x'' = spring forces of the four neighbours.
pub fn lattice(side: usize) -> Grid {
    springs(side, side)
}

/// Square of cloth with a fixed edge: springs to the neighbours along the threads (stretch), diagonally (shear) and
/// to the second neighbours (bend); each mass moves orthogonally to the plane.
pub fn cloth(side: usize) -> Grid {
    let near = [(1, 0, 1e4), (0, 1, 1e4), (1, 1, 3e3), (1, -1, 3e3), (2, 0, 1e3), (0, 2, 1e3)];
    let n = side * side;
    let neighbours = move |i: usize| {
        let (x, y) = ((i % side) as i64, (i / side) as i64);
        near.into_iter().flat_map(|(a, b, k)| [(a, b, k), (-a, -b, k)]).map(move |(a, b, k)| {
            let inside = (0..side as i64).contains(&(x + a)) && (0..side as i64).contains(&(y + b));
            (inside.then(|| ((y + b) * side as i64 + x + a) as usize), k)
        })
    };
    let total = 2.0 * near.iter().map(|(.., k)| k).sum::<f64>();
    let rest = |i: usize| if i < n { (0.3 * i as f64).sin() } else { 0.0 };
    Grid::new(
        (0..2 * n).map(rest).collect(),
        n,
        Box::new(move |_, y, f| {
            for i in 0..n {
                let pull: f64 = neighbours(i).map(|(j, k)| j.map_or(0.0, |j| k * y[j])).sum();
                f[i] = y[n + i];
                f[n + i] = pull - total * y[i] - 0.1 * y[n + i];
            }
        }),
        Box::new(move |_, put| {
            for i in 0..n {
                put(i, n + i, 1.0);
                put(n + i, i, -total);
                put(n + i, n + i, -0.1);
                for (j, k) in neighbours(i) {
                    if let Some(j) = j {
                        put(n + i, j, k);
                    }
                }
            }
        }),
    )
}

fn springs(width: usize, height: usize) -> Grid {
    let n = width * height;
    let k = 1e4;
    let neighbours = move |i: usize| {
        let (x, y) = (i % width, i / width);
        [
            (x > 0).then(|| i - 1),
            (x + 1 < width).then_some(i + 1),
            (y > 0).then(|| i - width),
            (y + 1 < height).then_some(i + width),
        ]
    };
    let sides = if height > 1 { 4 } else { 2 };
    let rest = |i: usize| if i < n { (0.3 * i as f64).sin() } else { 0.0 };
    Grid::new(
        (0..2 * n).map(rest).collect(),
        n,
        Box::new(move |_, y, f| {
            for i in 0..n {
                let pull: f64 = neighbours(i).iter().take(sides).map(|j| j.map_or(0.0, |j| y[j]) - y[i]).sum();
                f[i] = y[n + i];
                f[n + i] = k * pull - y[i].powi(3) - 0.1 * y[n + i];
            }
        }),
        Box::new(move |y, put| {
            for i in 0..n {
                put(i, n + i, 1.0);
                put(n + i, i, -(sides as f64) * k - 3.0 * y[i] * y[i]);
                put(n + i, n + i, -0.1);
                for j in neighbours(i).into_iter().take(sides).flatten() {
                    put(n + i, j, k);
                }
            }
        }),
    )
}
