//! Linear stability of the methods, measured with their code: the amplification factor of one step on y' = lambda y.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use nalgebra::{Complex, DMatrix, Schur};
use odec_ode::method::multistep::abm::{MAX_ORDER, integrals};
use odec_ode::method::multistep::coefficients::{EQUAL_STEPS, NDF_KAPPA, NDF_MAX_ORDER, harmonic};
use odec_ode::method::{Adaptive, Family, Method};
use odec_ode::pattern::Pattern;
use odec_ode::problem::{Options, Problem, Refusal, Samples, Sink, SolveError};
use odec_ode::solve;
use odec_ode::system::{EvalError, Jacobian, Shape, System};

use crate::bind::Bound;
use crate::contour::{Grid, even};

/// A point in the plane of z = h lambda.
pub type C = Complex<f64>;

/// Excess of |R| over 1 that counts as rounding.
const ROUNDING: f64 = 1e-13;
/// The same for the double roots of methods for x''.
const DOUBLE_ROOT: f64 = 1e-10;
/// Rays are followed from this radius ...
const MIN_RADIUS: f64 = 1e-3;
/// ... to this one; a method that is stable along the whole ray has no limit.
const MAX_RADIUS: f64 = 1e4;
/// The end for methods for x'': above it, rounding dominates.
const MAX_RADIUS_SECOND_ORDER: f64 = 1e3;
/// Ratio of successive points on a ray.
const STRIDE: f64 = 1.03;
/// A limit below this on a ray without damping is a rounding error: the solution grows for every step size.
const NO_LIMIT: f64 = 0.1;
/// Orders of `abm` whose regions are drawn.
const ADAMS_ORDERS: [usize; 5] = [2, 3, 4, 6, 9];
/// Orders of `taylor` whose regions are drawn: those for rtol 1e-4, 1e-6, 1e-8, 1e-11 and 1e-13.
const SERIES_ORDERS: [usize; 5] = [6, 8, 11, 14, 16];
/// Largest number of iterations of the eigenvalue solver.
pub(crate) const ITERATIONS: usize = 10_000;

/// The amplification of a method as a function of z = h lambda.
#[derive(Clone, Debug)]
pub struct Amplification {
    method: &'static Method,
    kind: Kind,
    /// The limits on rays that were followed, by the bits of their directions: following one takes a millisecond.
    limits: Arc<Mutex<HashMap<[u64; 2], f64>>>,
}

#[derive(Clone, Debug)]
enum Kind {
    /// |R(z)|, from one step of the code on the real 2 x 2 system of y' = z y.
    OneStep,
    /// Spectral radius, from one step of the code on x'' = 2 Re z x' - |z|^2 x, whose eigenvalues are z and its conjugate.
    SecondOrder,
    /// The same with Re z = 0, for a method that does not permit forces that depend on the velocity.
    Undamped,
    /// Largest root of sum a_j r^j = z r^s.
    Multistep(Vec<f64>),
    /// |1 + z + ... + z^p/p!|, where p is the order.
    Series(usize),
    /// Spectral radius of the scheme: predictor of order k, evaluation, corrector of order k + 1, evaluation.
    Adams(usize),
}

/// Number of times that a step of a run applies the formula of its method, each time over an equal part of the step: step
/// doubling goes on from two half steps.
pub fn parts_of_step(bound: &Bound) -> f64 {
    let halves = !bound.options.fixed && matches!(bound.choice.method.adaptive, Adaptive::Doubling);
    if halves { 2.0 } else { 1.0 }
}

/// The amplifications of a method, with their names: one, or one for each order of a method of variable order.
///
/// # Errors
/// A method without an amplification of these kinds.
pub fn of(method: &'static Method) -> Result<Vec<(String, Amplification)>, Refusal> {
    if matches!(method.family, Family::Automatic) {
        return Err(Refusal::Unsuitable {
            method: method.name.to_string(),
            reason: "it alternates between methods, and each has its own region".to_string(),
            instead: "one of them: `tsit5`, `rodas4`".to_string(),
        });
    }
    if matches!(method.family, Family::Taylor) {
        let orders = SERIES_ORDERS.into_iter();
        return Ok(orders.map(|p| (format!("order {p}"), Amplification::new(method, Kind::Series(p)))).collect());
    }
    let one = |kind| Ok(vec![(method.name.to_string(), Amplification::new(method, kind))]);
    if matches!(method.family, Family::Multistep) {
        if let Some(order) = method.name.strip_prefix("bdf").and_then(|k| k.parse::<usize>().ok())
            && let Some(row) = order.checked_sub(1).and_then(|k| EQUAL_STEPS.get(k))
        {
            return one(Kind::Multistep(row.numerators.iter().map(|a| *a as f64 / row.denominator as f64).collect()));
        }
        if method.name == "bdf" {
            let orders = 1..=NDF_MAX_ORDER;
            return Ok(orders
                .map(|k| (format!("order {k}"), Amplification::new(method, Kind::Multistep(ndf(k)))))
                .collect());
        }
        if let Some(order) = method.name.strip_prefix("abm").and_then(|k| k.parse::<usize>().ok()) {
            return one(Kind::Adams(order - 1));
        }
        if method.name == "abm" {
            let orders = ADAMS_ORDERS.into_iter();
            return Ok(orders
                .map(|k| (format!("order {k}"), Amplification::new(method, Kind::Adams(k - 1))))
                .collect());
        }
        return Err(Refusal::Unsuitable {
            method: method.name.to_string(),
            reason: "its formula changes during the run, so it has no single region of stability".to_string(),
            instead: "a method of fixed order".to_string(),
        });
    }
    match step(&Linear::first_order(C::new(-0.5, 0.5)), method, [1.0, 0.0]) {
        Ok(_) | Err(SolveError::Failed(_)) => one(Kind::OneStep),
        Err(SolveError::Refused(refusal)) => match step(&Linear::second_order(C::new(-0.1, 0.5)), method, [1.0, 0.0]) {
            Ok(_) | Err(SolveError::Failed(_)) => one(Kind::SecondOrder),
            Err(SolveError::Refused(_)) => match step(&Linear::second_order(C::new(0.0, 0.5)), method, [1.0, 0.0]) {
                Ok(_) | Err(SolveError::Failed(_)) => one(Kind::Undamped),
                Err(SolveError::Refused(_)) => Err(refusal),
            },
        },
    }
}

/// Coefficients, oldest value first, of sum_m (1/m) grad^m y - kappa gamma grad^(k+1) y = h f on equal steps.
fn ndf(k: usize) -> Vec<f64> {
    let (numerator, denominator) = NDF_KAPPA[k - 1];
    let kappa = numerator as f64 / denominator as f64;
    let mut a = vec![0.0; k + 2];
    for m in 1..=k + 1 {
        let factor = if m <= k { 1.0 / m as f64 } else { -kappa * harmonic(k) };
        // grad^m y_n = sum_i (-1)^i binomial(m, i) y_(n-i)
        let mut binomial = 1.0;
        for i in 0..=m {
            a[k + 1 - i] += factor * binomial;
            binomial *= -((m - i) as f64) / (i + 1) as f64;
        }
    }
    let zeros = a.iter().take_while(|v| **v == 0.0).count();
    a.split_off(zeros)
}

fn spectral_radius(matrix: DMatrix<C>) -> f64 {
    match Schur::try_new(matrix, f64::EPSILON, ITERATIONS) {
        Some(schur) => schur.unpack().1.diagonal().iter().fold(0.0, |m, r| r.norm().max(m)),
        None => f64::INFINITY,
    }
}

/// The matrix of one step with a predictor of order k, acting on the state y and the backward differences of h f of
/// order 1 to k - 1; the difference of order 0 is z y.
fn adams(k: usize, z: C) -> DMatrix<C> {
    let mut gamma = [0.0; MAX_ORDER + 2];
    let nodes: [f64; MAX_ORDER + 1] = std::array::from_fn(|j| -(j as f64));
    integrals(&nodes, 1.0, &mut gamma);
    let mut matrix = DMatrix::from_element(k, k, C::from(0.0));
    for column in 0..k {
        let mut old: Vec<C> = (0..k).map(|j| C::from(if j == column { 1.0 } else { 0.0 })).collect();
        let y = old[0];
        old[0] = z * y;
        let predicted = y + old.iter().zip(gamma).map(|(d, g)| d * g).sum::<C>();
        let end = predicted + (z * predicted - old.iter().sum::<C>()) * gamma[k];
        let mut difference = z * end;
        matrix[(0, column)] = end;
        for j in 1..k {
            difference -= old[j - 1];
            matrix[(j, column)] = difference;
        }
    }
    matrix
}

impl Amplification {
    fn new(method: &'static Method, kind: Kind) -> Amplification {
        Amplification { method, kind, limits: Arc::default() }
    }

    /// The method.
    pub fn method(&self) -> &'static Method {
        self.method
    }

    /// True for methods that only apply to x'' without velocities: only the imaginary axis matters for them.
    pub fn second_order(&self) -> bool {
        matches!(self.kind, Kind::SecondOrder | Kind::Undamped)
    }

    /// True if the amplification is defined at z: everywhere, or on the imaginary axis only.
    pub fn defined(&self, z: C) -> bool {
        !matches!(self.kind, Kind::Undamped) || z.re == 0.0
    }

    /// Excess of |R| over 1 that counts as rounding; roots of methods for x'' coincide where they are largest.
    fn rounding(&self) -> f64 {
        if self.second_order() { DOUBLE_ROOT } else { ROUNDING }
    }

    /// Amplification factor of a step after many steps; infinite if the step has no solution.
    pub fn at(&self, z: C) -> f64 {
        match &self.kind {
            Kind::OneStep => match step(&Linear::first_order(z), self.method, [1.0, 0.0]) {
                Ok(y) => C::new(y[0], y[1]).norm(),
                Err(_) => f64::INFINITY,
            },
            Kind::Undamped if z.re != 0.0 => f64::INFINITY,
            Kind::SecondOrder | Kind::Undamped => {
                let system = Linear::second_order(z);
                match (step(&system, self.method, [1.0, 0.0]), step(&system, self.method, [0.0, 1.0])) {
                    (Ok(a), Ok(b)) => {
                        let (half, determinant) = (0.5 * (a[0] + b[1]), a[0] * b[1] - b[0] * a[1]);
                        let (square, terms) = (half * half, (a[0] * b[1]).abs() + (b[0] * a[1]).abs());
                        let discriminant = square - determinant;
                        if discriminant <= DOUBLE_ROOT * (square + terms) {
                            // a conjugate pair, or a double root up to rounding
                            determinant.max(0.0).sqrt()
                        } else {
                            half.abs() + discriminant.sqrt()
                        }
                    }
                    _ => f64::INFINITY,
                }
            }
            Kind::Adams(k) => spectral_radius(adams(*k, z)),
            // in the order of summation of the method, which is also that of any Runge-Kutta method with p stages and
            // order p
            Kind::Series(p) => (1..=*p).rev().fold(C::from(1.0), |sum, k| sum * z / k as f64 + 1.0).norm(),
            Kind::Multistep(a) => {
                let s = a.len() - 1;
                let leading = C::from(a[s]) - z;
                if leading.norm() < 1e-12 {
                    return f64::INFINITY;
                }
                let companion = DMatrix::from_fn(s, s, |i, j| match (i, i + 1 == j) {
                    (i, _) if i + 1 == s => -C::from(a[j]) / leading,
                    (_, true) => C::from(1.0),
                    _ => C::from(0.0),
                });
                spectral_radius(companion)
            }
        }
    }

    /// True if errors do not grow.
    pub fn stable(&self, z: C) -> bool {
        self.at(z) <= 1.0 + self.rounding()
    }

    /// The largest r such that r' * direction is stable for all r' up to r; 0 if there is none, infinite if there is
    /// no limit. `direction` has length 1.
    pub fn limit(&self, direction: C) -> f64 {
        let bits = [direction.re.to_bits(), direction.im.to_bits()];
        let known = self.limits.lock().ok().and_then(|limits| limits.get(&bits).copied());
        known.unwrap_or_else(|| {
            let limit = self.follow(direction);
            if let Ok(mut limits) = self.limits.lock() {
                limits.insert(bits, limit);
            }
            limit
        })
    }

    /// The same, by following the ray.
    fn follow(&self, direction: C) -> f64 {
        let mut damped = false;
        let far = if self.second_order() { MAX_RADIUS_SECOND_ORDER } else { MAX_RADIUS };
        let mut stable = |r: f64| {
            let size = self.at(direction * r);
            damped |= size < 1.0 - 10.0 * self.rounding();
            size <= 1.0 + self.rounding()
        };
        let (mut low, mut high) = (0.0, MIN_RADIUS);
        while stable(high) {
            low = high;
            high *= STRIDE;
            if high > far {
                return f64::INFINITY;
            }
        }
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if stable(middle) { low = middle } else { high = middle }
        }
        if low < NO_LIMIT && !damped { 0.0 } else { low }
    }

    /// The smallest r such that r' * direction is stable for all r' from r on; `None` if there is none. The BDF methods of
    /// order 3 and 4 amplify an undamped oscillation in short steps, and damp it in long ones.
    pub fn stable_beyond(&self, direction: C) -> Option<f64> {
        let mut high = if self.second_order() { MAX_RADIUS_SECOND_ORDER } else { MAX_RADIUS };
        if !self.stable(direction * high) {
            return None;
        }
        let mut low = high;
        while self.stable(direction * low) {
            high = low;
            low /= STRIDE;
            if low < MIN_RADIUS {
                return Some(0.0);
            }
        }
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if self.stable(direction * middle) { high = middle } else { low = middle }
        }
        Some(high)
    }

    /// ln |R| on a grid that is symmetric about the real axis: `rows` points on each side, and one on the axis.
    pub fn sample(&self, window: &Window, columns: usize, rows: usize) -> Grid {
        let (xs, ys) = (even(window.left, window.right, columns), even(-window.top, window.top, 2 * rows + 1));
        let half = Grid::sample(xs.clone(), ys[rows..].to_vec(), |x, y| match self.kind {
            // a line has no interior
            Kind::Undamped => 1.0,
            _ => self.at(C::new(x, y)).ln().clamp(-20.0, 20.0),
        });
        let row = |j: usize| &half.values[j.abs_diff(rows) * columns..][..columns];
        let values = (0..2 * rows + 1).flat_map(|j| row(j).to_vec()).collect();
        Grid { xs, ys, values }
    }
}

/// The part of the plane that is drawn: from `left` to `right`, and up to `top` above and below the real axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Smallest real part.
    pub left: f64,
    /// Largest real part.
    pub right: f64,
    /// Largest imaginary part.
    pub top: f64,
}

impl Window {
    /// The part of the plane that contains the boundaries of the regions: outside it, stability depends only on the
    /// direction.
    pub fn about(regions: &[&Amplification], aspect: f64) -> Window {
        let mut window = Window { left: -1.0, right: 1.0, top: 1.0 };
        for region in regions {
            let own = about(region);
            window.left = window.left.min(own.left);
            window.right = window.right.max(own.right);
            window.top = window.top.max(own.top);
        }
        window.widened(aspect)
    }

    /// The window with a margin, at this ratio of width to height.
    fn widened(self, aspect: f64) -> Window {
        const ROOM: f64 = 0.15;
        let (mut width, mut height) = (self.right - self.left, 2.0 * self.top);
        let middle = 0.5 * (self.left + self.right);
        (width, height) = (width * (1.0 + 2.0 * ROOM), height * (1.0 + 2.0 * ROOM));
        if width < aspect * height {
            width = aspect * height;
        } else {
            height = width / aspect;
        }
        Window { left: middle - 0.5 * width, right: middle + 0.5 * width, top: 0.5 * height }
    }
}

/// The bounds of one region's boundary.
fn about(region: &Amplification) -> Window {
    const SECTORS: usize = 24;
    const RADII: [f64; 5] = [4.0, 8.0, 16.0, 32.0, 64.0];
    let pattern = |r: f64| -> Vec<bool> {
        (0..=SECTORS)
            .map(|k| {
                // avoid the axes, on which the last bit decides for some methods
                let angle = std::f64::consts::PI * (k as f64 + 0.003) / (SECTORS as f64 + 0.01);
                region.at(C::from_polar(r, angle)) <= 1.0 + 1e-9
            })
            .collect()
    };
    let settled = |r: f64| {
        let first = pattern(r);
        [1.4, 2.0, 3.0, 5.0].iter().all(|f| pattern(r * f) == first)
    };
    let radius = RADII.into_iter().find(|r| settled(*r)).unwrap_or(64.0);
    let grid = region.sample(&Window { left: -radius, right: radius, top: radius }, 65, 32);
    let (mut left, mut right, mut top) = (0.0f64, 0.0f64, 0.0f64);
    for curve in grid.curves() {
        for (x, y) in curve {
            left = left.min(x);
            right = right.max(x);
            top = top.max(y);
        }
    }
    if region.second_order() {
        top = top.max(region.limit(C::new(0.0, 1.0)).min(radius));
    }
    if right - left < 0.5 {
        // a half-plane, or an interval on the imaginary axis
        (left, right) = (-0.75 * radius, 0.75 * radius);
    }
    Window { left, right, top: top.max(1.0) }
}

/// y' = z y as a real system of two equations, or x'' with the eigenvalues z and its conjugate.
struct Linear {
    matrix: [[f64; 2]; 2],
    second: usize,
    pattern: Pattern,
}

impl Linear {
    fn first_order(z: C) -> Linear {
        let pattern = Pattern::from_positions(2, 2, [(0, 0), (1, 0), (0, 1), (1, 1)]);
        Linear { matrix: [[z.re, -z.im], [z.im, z.re]], second: 0, pattern }
    }

    fn second_order(z: C) -> Linear {
        let damping = (z.re != 0.0).then_some((1, 1));
        let pattern = Pattern::from_positions(2, 2, [(1, 0), (0, 1)].into_iter().chain(damping));
        Linear { matrix: [[0.0, 1.0], [-z.norm_sqr(), 2.0 * z.re]], second: 1, pattern }
    }
}

impl System for Linear {
    fn shape(&self) -> Shape {
        Shape { n: 2, second: self.second }
    }

    fn rhs(&self, t: f64, y: &[f64], f: &mut [f64]) -> Result<(), EvalError> {
        self.jacobian_vector(t, y, y, f)
    }

    fn jacobian(&self) -> Jacobian<'_> {
        Jacobian::Entries(&self.pattern)
    }

    fn jacobian_values(&self, _: f64, _: &[f64], values: &mut [f64]) -> Result<(), EvalError> {
        for (value, (i, j)) in values.iter_mut().zip(self.pattern.positions()) {
            *value = self.matrix[i][j];
        }
        Ok(())
    }

    fn jacobian_vector(&self, _: f64, _: &[f64], w: &[f64], out: &mut [f64]) -> Result<(), EvalError> {
        for (out, row) in out.iter_mut().zip(&self.matrix) {
            *out = row[0] * w[0] + row[1] * w[1];
        }
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

struct Ignore;

impl Sink for Ignore {
    fn row(&mut self, _: f64, _: &[f64]) -> std::ops::ControlFlow<()> {
        std::ops::ControlFlow::Continue(())
    }
}

/// One step of length 1 with the method's code.
fn step(system: &Linear, method: &'static Method, y0: [f64; 2]) -> Result<[f64; 2], SolveError> {
    let problem = Problem { t0: 0.0, t_end: 1.0, y0: y0.to_vec() };
    let options = Options { step: Some(1.0), fixed: true, rtol: 1e-13, atol: vec![1e-13], ..Options::default() };
    let outcome = solve(system, &problem, method, &options, &Samples::Times(vec![]), &mut Ignore)?;
    Ok([outcome.y[0], outcome.y[1]])
}

#[cfg(test)]
mod tests {
    use super::*;
    use odec_ode::method;

    fn find(name: &str) -> Amplification {
        let mut list = of(method::find(name).unwrap_or_else(|_| panic!("{name}"))).unwrap_or_else(|_| panic!("{name}"));
        list.remove(0).1
    }

    #[test]
    fn the_classical_limits() {
        let (left, up) = (C::new(-1.0, 0.0), C::new(0.0, 1.0));
        let sqrt8 = 8f64.sqrt();
        for (name, real, imaginary) in [
            ("euler", 2.0, 0.0),
            ("midpoint", 2.0, 0.0),
            ("rk4", 2.785_293_563_4, sqrt8),
            ("bs32", 2.512_745_33, 3f64.sqrt()),
        ] {
            let r = find(name);
            assert!((r.limit(left) - real).abs() < 1e-6, "{name}: {}", r.limit(left));
            assert!((r.limit(up) - imaginary).abs() < 1e-4, "{name}: {}", r.limit(up));
        }
        // methods for x'': compare with the closed forms
        for (name, limit) in [("symplectic-euler", 2.0), ("velocity-verlet", 2.0), ("newmark", f64::INFINITY)] {
            let found = find(name).limit(up);
            assert!(found == limit || (found - limit).abs() < 1e-4, "{name}: {found}");
        }
        for name in ["backward-euler", "trapezoidal", "rodas4", "bdf2"] {
            assert_eq!(find(name).limit(left), f64::INFINITY, "{name}");
            assert_eq!(find(name).limit(up), f64::INFINITY, "{name}");
        }
    }

    #[test]
    fn multistep_regions_are_those_of_their_sectors() {
        for (name, degrees) in [("bdf3", 86.03f64), ("bdf4", 73.35), ("bdf5", 51.84), ("bdf6", 17.84)] {
            let r = find(name);
            let ray = |angle: f64| C::from_polar(1.0, std::f64::consts::PI - angle.to_radians());
            assert_eq!(r.limit(ray(degrees - 0.2)), f64::INFINITY, "{name}");
            assert!(r.limit(ray(degrees + 0.2)).is_finite(), "{name}");
        }
        // for BDF3, the real part of the boundary locus is zero where 4 cos a = 1
        for (name, beyond) in [("bdf3", 15f64.sqrt() / 2.0), ("bdf4", 4.7)] {
            let found = find(name).stable_beyond(C::new(0.0, 1.0)).expect("a limit");
            assert!((found - beyond).abs() < 0.05, "{name}: {found}");
        }
        assert_eq!(find("rk4").stable_beyond(C::new(0.0, 1.0)), None);
        // NDF of order 1 and 2 are A-stable (Shampine and Reichelt, table 1), the others A(alpha)
        let orders = of(method::find("bdf").expect("a method")).expect("regions");
        for (k, degrees) in [(0, 90.0f64), (1, 90.0), (2, 80.0), (3, 66.0), (4, 51.0)] {
            let ray = C::from_polar(1.0, std::f64::consts::PI - (degrees - 1.0).to_radians());
            assert_eq!(orders[k].1.limit(ray), f64::INFINITY, "order {}", k + 1);
        }
    }

    #[test]
    fn every_method_has_a_region_or_says_why_not() {
        for method in method::table() {
            match of(method) {
                Ok(list) => {
                    for (name, r) in list {
                        let z = if r.defined(C::new(-1.0, 0.0)) { C::new(-1e-3, 1e-6) } else { C::new(0.0, 1e-3) };
                        assert!((r.at(z) - 1.0).abs() < 1e-2, "{name}");
                    }
                }
                Err(refusal) => assert!(matches!(refusal, Refusal::Unsuitable { .. }), "{}: {refusal:?}", method.name),
            }
        }
    }

    #[test]
    fn windows_hold_what_is_drawn() {
        for (name, left, right) in
            [("euler", -2.0, 0.0), ("backward-euler", 0.0, 2.0), ("rk4", -2.79, 0.0), ("bdf3", 0.0, 6.0)]
        {
            let window = Window::about(&[&find(name)], 1.2);
            assert!(
                window.left < left && window.right > right && window.right - window.left < 25.0,
                "{name}: {window:?}"
            );
        }
    }
}
