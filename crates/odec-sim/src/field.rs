//! The vector field in the plane of two unknowns, with integral curves, nullclines and equilibria; the others are fixed.

use std::ops::ControlFlow;

use nalgebra::DMatrix;
use odec_ode::method;
use odec_ode::problem::{Options, Problem, Samples, Sink};
use odec_ode::solve;
use odec_ode::system::{EvalError, Mass, Shape, System};

use crate::contour::{Grid, even};
use crate::spectrum::{eigenvalues, linearised, rates};
use crate::stability::C;

pub use crate::outline::PixelPoint;

/// Number of starting points of Newton's method along each side of the window.
const STARTS: usize = 20;
/// Largest number of Newton iterations.
const ITERATIONS: usize = 50;
/// Accuracy of equilibria, and their smallest distance, relative to the window.
const EXACT: f64 = 1e-11;
const SAME_STATE: f64 = 1e-6;
/// If there are more equilibria, or more degenerate ones than the second number, they form a line.
const MOST: usize = 40;
const MOST_DEGENERATE: usize = 3;
/// Real parts and eigenvalues below this size relative to the others count as zero.
const ZERO: f64 = 1e-8;

/// A rectangle.
#[derive(Clone, Copy, Debug)]
pub struct PlaneWindow {
    /// Ends of the horizontal side.
    pub x: PixelPoint,
    /// Ends of the vertical side.
    pub y: PixelPoint,
}

impl PlaneWindow {
    /// True for a point in the rectangle.
    pub fn holds(&self, (x, y): PixelPoint) -> bool {
        x >= self.x.0 && x <= self.x.1 && y >= self.y.0 && y <= self.y.1
    }

    /// Its width and height.
    pub fn size(&self) -> PixelPoint {
        (self.x.1 - self.x.0, self.y.1 - self.y.0)
    }
}

/// Two unknowns of a system, with a state that fixes the others.
pub struct Plane<'a> {
    /// The system.
    pub system: &'a dyn System,
    /// Time.
    pub t: f64,
    /// State; the two unknowns are replaced.
    pub y: Vec<f64>,
    /// Indices of the two unknowns.
    pub axes: (usize, usize),
}

/// A point at which the two unknowns are at rest.
#[derive(Clone, Debug)]
pub struct Equilibrium {
    /// The point.
    pub at: PixelPoint,
    /// Its type.
    pub kind: EquilibriumType,
    /// Eigenvalues in the plane.
    pub values: Vec<C>,
    /// True if the other unknowns are at rest as well.
    pub at_rest: bool,
}

/// Types of equilibria, by the eigenvalues of the linearisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EquilibriumType {
    /// Two negative eigenvalues.
    StableNode,
    /// Two positive eigenvalues.
    UnstableNode,
    /// One of each.
    Saddle,
    /// A complex pair with negative real part.
    StableFocus,
    /// A complex pair with positive real part.
    UnstableFocus,
    /// A complex pair on the imaginary axis: the linearisation does not determine the nonlinear behaviour.
    Centre,
    /// One eigenvalue is zero.
    Degenerate,
}

impl EquilibriumType {
    /// The type that follows from the eigenvalues.
    pub fn of(values: &[C]) -> EquilibriumType {
        let size = values.iter().fold(0.0f64, |m, v| m.max(v.norm()));
        let (Some(a), Some(b)) = (values.first(), values.last()) else { return EquilibriumType::Degenerate };
        if a.norm().min(b.norm()) <= ZERO * size {
            EquilibriumType::Degenerate
        } else if a.im.abs() > ZERO * size {
            match a.re {
                re if re.abs() <= ZERO * size => EquilibriumType::Centre,
                re if re < 0.0 => EquilibriumType::StableFocus,
                _ => EquilibriumType::UnstableFocus,
            }
        } else if a.re * b.re < 0.0 {
            EquilibriumType::Saddle
        } else if a.re < 0.0 {
            EquilibriumType::StableNode
        } else {
            EquilibriumType::UnstableNode
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            EquilibriumType::StableNode => "stable node",
            EquilibriumType::UnstableNode => "unstable node",
            EquilibriumType::Saddle => "saddle",
            EquilibriumType::StableFocus => "stable focus",
            EquilibriumType::UnstableFocus => "unstable focus",
            EquilibriumType::Centre => "centre",
            EquilibriumType::Degenerate => "degenerate",
        }
    }
}

impl Plane<'_> {
    fn state(&self, (x, y): PixelPoint) -> Vec<f64> {
        let mut state = self.y.clone();
        state[self.axes.0] = x;
        state[self.axes.1] = y;
        state
    }

    /// The vector of the field; `None` if it cannot be evaluated.
    pub fn at(&self, point: PixelPoint) -> Option<PixelPoint> {
        let f = rates(self.system, self.t, &self.state(point))?;
        Some((f[self.axes.0], f[self.axes.1]))
    }

    /// The Jacobian in the plane.
    fn slope(&self, point: PixelPoint) -> Option<[[f64; 2]; 2]> {
        let (i, j) = self.axes;
        let state = self.state(point);
        if matches!(self.system.mass(), Mass::Identity) {
            // two products: the full matrix of a large model would be too expensive
            let column = |k: usize| {
                let mut direction = vec![0.0; state.len()];
                let mut slope = vec![0.0; state.len()];
                direction[k] = 1.0;
                self.system.jacobian_vector(self.t, &state, &direction, &mut slope).ok()?;
                Some([slope[i], slope[j]]).filter(|slope| slope.iter().all(|v| v.is_finite()))
            };
            let (by_first, by_second) = (column(i)?, column(j)?);
            return Some([[by_first[0], by_second[0]], [by_first[1], by_second[1]]]);
        }
        let a = linearised(self.system, self.t, &state)?;
        Some([[a[(i, i)], a[(i, j)]], [a[(j, i)], a[(j, j)]]])
    }

    /// The nullclines of the first and of the second unknown.
    pub fn nullclines(&self, window: &PlaneWindow, columns: usize, rows: usize) -> [Vec<Vec<PixelPoint>>; 2] {
        let (xs, ys) = (even(window.x.0, window.x.1, columns), even(window.y.0, window.y.1, rows));
        let field = |axis: usize| {
            Grid::sample(xs.clone(), ys.clone(), |x, y| match self.at((x, y)) {
                Some(v) => [v.0, v.1][axis],
                None => f64::NAN,
            })
        };
        [0, 1].map(|axis| {
            let grid = field(axis);
            let typical = typical(&grid.values);
            let curves = grid.curves().into_iter();
            // a jump through infinity changes the sign too
            let small = |p: &PixelPoint| self.at(*p).is_some_and(|v| [v.0, v.1][axis].abs() <= typical);
            curves
                .flat_map(|c| c.split(|p| !small(p)).map(<[PixelPoint]>::to_vec).collect::<Vec<_>>())
                .filter(|c| c.len() > 1)
                .collect()
        })
    }

    /// Equilibria in a window, by Newton's method from a grid of points; `None` if they are not isolated.
    pub fn equilibria(&self, window: &PlaneWindow) -> Option<Vec<Equilibrium>> {
        let (w, h) = window.size();
        let mut found: Vec<Equilibrium> = vec![];
        for y in even(window.y.0, window.y.1, STARTS) {
            for x in even(window.x.0, window.x.1, STARTS) {
                let Some(at) = self.newton((x, y), window).filter(|p| window.holds(*p)) else { continue };
                let near = |e: &Equilibrium| {
                    ((e.at.0 - at.0) / w).abs() < SAME_STATE && ((e.at.1 - at.1) / h).abs() < SAME_STATE
                };
                if found.iter().any(near) {
                    continue;
                }
                let Some([[a, b], [c, d]]) = self.slope(at) else { continue };
                let Some(values) = eigenvalues(&DMatrix::from_row_slice(2, 2, &[a, b, c, d])) else { continue };
                // if the rates cannot be evaluated, it is unknown whether the other states are at rest
                let rests = |(k, v): (usize, &f64)| {
                    k == self.axes.0 || k == self.axes.1 || v.abs() <= ZERO * (1.0 + self.y[k].abs())
                };
                let rates = rates(self.system, self.t, &self.state(at));
                let at_rest = rates.is_some_and(|rates| rates.iter().enumerate().all(rests));
                found.push(Equilibrium { at, kind: EquilibriumType::of(&values), values, at_rest });
                let degenerate = found.iter().filter(|e| e.kind == EquilibriumType::Degenerate).count();
                if found.len() > MOST || degenerate > MOST_DEGENERATE {
                    return None;
                }
            }
        }
        found.sort_by(|a, b| a.at.0.total_cmp(&b.at.0).then(a.at.1.total_cmp(&b.at.1)));
        Some(found)
    }

    fn newton(&self, start: PixelPoint, window: &PlaneWindow) -> Option<PixelPoint> {
        let (w, h) = window.size();
        let (mut x, mut y) = start;
        for _ in 0..ITERATIONS {
            let (f, g) = self.at((x, y))?;
            if f == 0.0 && g == 0.0 {
                return Some(Self::rounded((x, y), window));
            }
            let [[a, b], [c, d]] = self.slope((x, y))?;
            let determinant = a * d - b * c;
            let (dx, dy) = ((b * g - d * f) / determinant, (c * f - a * g) / determinant);
            if !(dx.is_finite() && dy.is_finite()) {
                return None;
            }
            // at most a fifth of the window
            let shorter = (0.2 / ((dx / w).abs().max((dy / h).abs()))).min(1.0);
            (x, y) = (x + shorter * dx, y + shorter * dy);
            if (dx / w).abs() < EXACT && (dy / h).abs() < EXACT {
                return Some(Self::rounded((x, y), window));
            }
        }
        None
    }

    /// Sets coordinates to zero if they are zero up to rounding and the field agrees.
    fn rounded((x, y): PixelPoint, window: &PlaneWindow) -> PixelPoint {
        let (w, h) = window.size();
        let clean = |v: f64, size: f64| if v.abs() < EXACT * size { 0.0 } else { v };
        (clean(x, w), clean(y, h))
    }

    /// The integral curve through a point, forwards and backwards, while it stays in the window; lengths are relative
    /// to the sides of the window. Also returns the index of the point on the curve.
    pub fn curve(&self, through: PixelPoint, window: &PlaneWindow, length: f64) -> (Vec<PixelPoint>, usize) {
        let (mut curve, mut place): (Vec<PixelPoint>, usize) = (vec![], 0);
        for sign in [-1.0, 1.0] {
            let unit = Unit { plane: self, window: *window, sign };
            let start = unit.scaled(through);
            let mut path = Path { points: vec![], back: false };
            let problem = Problem { t0: 0.0, t_end: length, y0: vec![start.0, start.1] };
            let options =
                Options { rtol: 1e-6, atol: vec![1e-8], max_step: Some(0.01), max_steps: 4000, ..Options::default() };
            if let Ok(dopri5) = method::find("dopri5") {
                // a curve may also end at a singular point
                let _ = solve(&unit, &problem, dopri5, &options, &Samples::Steps, &mut path);
            }
            let points = path.points.into_iter().map(|p| unit.unscaled(p));
            if sign < 0.0 {
                curve.extend(points);
                curve.reverse();
                place = curve.len().saturating_sub(1);
                if path.back {
                    return (curve, place);
                }
                curve.pop();
            } else {
                curve.extend(points);
            }
        }
        (curve, place)
    }
}

/// The median magnitude of finite values, times a large factor.
fn typical(values: &[f64]) -> f64 {
    let mut sizes: Vec<f64> = values.iter().map(|v| v.abs()).filter(|v| v.is_finite()).collect();
    sizes.sort_by(f64::total_cmp);
    sizes.get(sizes.len() / 2).copied().unwrap_or(0.0) * 2.0
}

/// The field normalised to length 1 in units of the window; slower close to equilibria, which have no direction.
struct Unit<'a> {
    plane: &'a Plane<'a>,
    window: PlaneWindow,
    sign: f64,
}

impl Unit<'_> {
    fn scaled(&self, (x, y): PixelPoint) -> PixelPoint {
        let (w, h) = self.window.size();
        ((x - self.window.x.0) / w, (y - self.window.y.0) / h)
    }

    fn unscaled(&self, (x, y): PixelPoint) -> PixelPoint {
        let (w, h) = self.window.size();
        (self.window.x.0 + x * w, self.window.y.0 + y * h)
    }
}

impl System for Unit<'_> {
    fn shape(&self) -> Shape {
        Shape { n: 2, second: 0 }
    }

    fn rhs(&self, _: f64, y: &[f64], f: &mut [f64]) -> Result<(), EvalError> {
        let Some((dx, dy)) = self.plane.at(self.unscaled((y[0], y[1]))) else {
            f.fill(f64::NAN);
            return Ok(());
        };
        let (w, h) = self.window.size();
        let (dx, dy) = (dx / w, dy / h);
        let size = dx.hypot(dy) + 1e-6;
        (f[0], f[1]) = (self.sign * dx / size, self.sign * dy / size);
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

/// A curve in units of the window, until it leaves the window or returns to its start.
struct Path {
    points: Vec<PixelPoint>,
    back: bool,
}

impl Sink for Path {
    fn row(&mut self, t: f64, y: &[f64]) -> ControlFlow<()> {
        const EDGE: f64 = 0.02;
        const CLOSE: f64 = 0.006;
        let point = (y[0], y[1]);
        self.points.push(point);
        let (x0, y0) = self.points[0];
        if t > 10.0 * CLOSE && (x0 - point.0).hypot(y0 - point.1) < CLOSE {
            self.points.push((x0, y0));
            self.back = true;
            return ControlFlow::Break(());
        }
        let outside = |v: f64| !(-EDGE..=1.0 + EDGE).contains(&v);
        if outside(point.0) || outside(point.1) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
