//! Finds the real roots of a polynomial on [0, 1] from the signs of its Bernstein coefficients.
//!
//! The number of roots of p(s) = sum_i b_i C(d, i) s^i (1-s)^(d-i) in (0, 1) is the number of sign changes of its
//! coefficients, or less by an even number (Descartes' rule; Lane & Riesenfeld, BIT 21 (1981) 112-117). So no sign
//! change means no root, and one sign change means one root. With more sign changes, the interval is halved (Collins &
//! Akritas, SYMSAC '76, 272-275). De Casteljau's algorithm computes the coefficients on both halves. It only takes
//! means, so its rounding errors are no larger than those of the coefficients.

/// Highest degree. A Taylor step has a degree of up to 25.
pub const MAX_DEGREE: usize = 32;
/// After this number of halvings, at 1e-12 of the interval, close roots are no longer separated.
const DEEPEST: u32 = 40;
/// Number of bisections that locate a single root.
const BISECTIONS: u32 = 52;
/// A coefficient below this fraction of the largest one is rounding and has no sign.
const ROUNDING: f64 = 2.0 * f64::EPSILON;

/// A polynomial on [0, 1] by its Bernstein coefficients.
#[derive(Clone, Copy, Debug)]
pub struct Bernstein {
    degree: usize,
    b: [f64; MAX_DEGREE + 1],
}

impl Bernstein {
    /// From c_0 + c_1 s + ... + c_d s^d, with d at most [`MAX_DEGREE`].
    pub fn from_powers(c: &[f64]) -> Self {
        let degree = c.len() - 1;
        let mut b = [0.0; MAX_DEGREE + 1];
        let mut binomial = 1.0;
        for (k, c) in c.iter().enumerate() {
            b[k] = c / binomial;
            binomial *= (degree - k) as f64 / (k + 1) as f64;
        }
        // b_i = sum_k C(i, k) c_k/C(d, k), computed by the additions of Pascal's triangle
        for first in 1..=degree {
            for i in (first..=degree).rev() {
                b[i] += b[i - 1];
            }
        }
        Bernstein { degree, b }
    }

    /// From c_0 T_0(x) + c_1 T_1(x) + ... with the Chebyshev polynomials of x = 2s - 1, by Clenshaw's recurrence on
    /// Bernstein coefficients.
    pub fn from_chebyshev(c: &[f64]) -> Self {
        let constant = |c: f64| {
            let mut b = [0.0; MAX_DEGREE + 1];
            b[0] = c;
            Bernstein { degree: 0, b }
        };
        let Some((last, before)) = c.split_last() else { return constant(0.0) };
        let (mut one, mut two) = (constant(*last), constant(0.0));
        for (k, c) in before.iter().enumerate().rev() {
            let factor = if k == 0 { 1.0 } else { 2.0 };
            let mut next = one.times_x();
            while two.degree < next.degree {
                two = two.elevated();
            }
            for i in 0..=next.degree {
                next.b[i] = factor * next.b[i] - two.b[i] + c;
            }
            (one, two) = (next, one);
        }
        one
    }

    /// The degree.
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// The coefficients.
    pub fn coefficients(&self) -> &[f64] {
        &self.b[..=self.degree]
    }

    /// The same polynomial, with its degree raised by one.
    fn elevated(&self) -> Self {
        self.lift(1.0)
    }

    /// The polynomial times x = 2s - 1.
    fn times_x(&self) -> Self {
        self.lift(-1.0)
    }

    /// The polynomial times start (1-s) + s.
    fn lift(&self, start: f64) -> Self {
        let degree = self.degree + 1;
        let mut b = [0.0; MAX_DEGREE + 1];
        for i in 0..=degree {
            let part = i as f64 / degree as f64;
            let before = if i == 0 { 0.0 } else { self.b[i - 1] };
            let own = if i == degree { 0.0 } else { self.b[i] };
            b[i] = part * before + (1.0 - part) * start * own;
        }
        Bernstein { degree, b }
    }

    /// Its value at s, by de Casteljau's algorithm.
    pub fn value(&self, s: f64) -> f64 {
        let mut b = self.b;
        for last in (0..self.degree).rev() {
            for i in 0..=last {
                b[i] += s * (b[i + 1] - b[i]);
            }
        }
        b[0]
    }

    /// Polynomial p(s) - p(0) (1-s)^d, which is zero at s = 0.
    pub fn zero_at_start(mut self) -> Self {
        self.b[0] = 0.0;
        self
    }

    /// The polynomial on each half of the interval, in a variable that runs from 0 to 1 there.
    fn halves(&self) -> (Self, Self) {
        let (mut left, mut right) = (*self, *self);
        for level in 1..=self.degree {
            for i in 0..=self.degree - level {
                right.b[i] = 0.5 * (right.b[i] + right.b[i + 1]);
            }
            left.b[level] = right.b[0];
        }
        (left, right)
    }

    /// The size below which a coefficient is rounding.
    fn noise(&self) -> f64 {
        ROUNDING * self.coefficients().iter().fold(0.0, |most: f64, b| most.max(b.abs()))
    }

    /// Changes of sign among the coefficients, and the first and last sign; `None` where all are zero.
    fn signs(&self, noise: f64) -> Option<Signs> {
        let mut signs: Option<Signs> = None;
        for b in self.coefficients().iter().filter(|b| b.abs() > noise) {
            let positive = *b > 0.0;
            match &mut signs {
                Some(signs) => {
                    signs.changes += usize::from(signs.last != positive);
                    signs.last = positive;
                }
                None => signs = Some(Signs { changes: 0, first: positive, last: positive }),
            }
        }
        signs
    }

    /// The root of a polynomial with one sign change.
    fn bisect(&self, first: bool) -> f64 {
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..BISECTIONS {
            let middle = 0.5 * (low + high);
            if middle <= low || middle >= high {
                break;
            }
            let value = self.value(middle);
            if value == 0.0 {
                return middle;
            }
            if (value > 0.0) == first { low = middle } else { high = middle }
        }
        0.5 * (low + high)
    }
}

/// Signs of coefficients: true is positive.
#[derive(Clone, Copy, Debug)]
struct Signs {
    changes: usize,
    first: bool,
    last: bool,
}

/// A part of [0, 1] that has not been searched yet.
#[derive(Clone, Copy, Debug)]
struct Subinterval {
    from: f64,
    depth: u32,
    p: Bernstein,
}

/// Finds roots, and reuses its memory between calls.
#[derive(Debug, Default)]
pub struct RootFinder {
    parts: Vec<Subinterval>,
}

impl RootFinder {
    /// First s in [0, 1] at which the polynomial changes its sign. `held` is the sign before s = 0 (true: positive);
    /// if the sign differs from the start, the result is 0. Roots without a sign change, within rounding, do not
    /// count. Coefficients below `noise` are rounding.
    pub fn first(&mut self, p: &Bernstein, held: bool, noise: f64) -> Option<f64> {
        let mut found = None;
        self.visit(p, held, noise, |s| {
            found = Some(s);
            false
        });
        found
    }

    /// All sign changes in [0, 1], in order; see [`RootFinder::first`].
    pub fn all(&mut self, p: &Bernstein, held: bool, noise: f64) -> Vec<f64> {
        let mut found = Vec::new();
        self.visit(p, held, noise, |s| {
            found.push(s);
            true
        });
        found
    }

    /// Calls `found` at each root from the left, until it returns false.
    fn visit(&mut self, p: &Bernstein, held: bool, noise: f64, mut found: impl FnMut(f64) -> bool) {
        let noise = noise.max(p.noise());
        let mut sign = held;
        self.parts.clear();
        self.parts.push(Subinterval { from: 0.0, depth: 0, p: *p });
        while let Some(Subinterval { from, depth, p }) = self.parts.pop() {
            let Some(signs) = p.signs(noise) else { continue };
            let length = 0.5f64.powi(depth.cast_signed());
            if signs.changes > 1 && depth < DEEPEST {
                let (left, right) = p.halves();
                self.parts.push(Subinterval { from: from + 0.5 * length, depth: depth + 1, p: right });
                self.parts.push(Subinterval { from, depth: depth + 1, p: left });
                continue;
            }
            // a root at the boundary of two parts belongs to neither of them
            if signs.first != sign && !found(from) {
                return;
            }
            if signs.last != signs.first {
                let inside = if signs.changes == 1 { p.bisect(signs.first) } else { 0.5 };
                if !found(from + length * inside) {
                    return;
                }
            }
            sign = signs.last;
        }
    }
}

/// Widens bounds so that they enclose the polynomials c_0 + c_1 s + ... of `n` components on [0, 1]. The Bernstein
/// coefficients bound a polynomial. `c` has the layout of [`crate::interpolant::Polynomials`]: n coefficients for each
/// power.
pub fn hull(c: &[f64], n: usize, low: &mut [f64], high: &mut [f64]) {
    let degree = c.len() / n.max(1) - 1;
    for i in 0..=degree {
        // C(i, k)/C(d, k)
        let mut weights = [0.0; MAX_DEGREE + 1];
        let mut weight = 1.0;
        for (k, w) in weights.iter_mut().enumerate().take(i + 1) {
            *w = weight;
            weight *= (i - k) as f64 / (degree - k).max(1) as f64;
        }
        for row in 0..n {
            let b = (0..=i).fold(0.0, |sum, k| sum + weights[k] * c[k * n + row]);
            low[row] = low[row].min(b);
            high[row] = high[row].max(b);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Bernstein, RootFinder, hull};

    /// Coefficients of scale (s - r_1)(s - r_2)...(s - c)^rest... in powers of s.
    fn product(scale: f64, roots: &[f64]) -> Vec<f64> {
        let mut c = vec![scale];
        for root in roots {
            c.push(0.0);
            for k in (0..c.len()).rev() {
                let below = if k == 0 { 0.0 } else { c[k - 1] };
                c[k] = below - root * c[k];
            }
        }
        c
    }

    fn positive_before(roots: &[f64]) -> bool {
        roots.len().is_multiple_of(2)
    }

    #[test]
    fn roots_of_products_are_found_in_order() {
        let mut finder = RootFinder::default();
        for inside in [vec![], vec![0.3], vec![0.1, 0.9], vec![0.25, 0.5, 0.75], vec![0.2, 0.4, 0.6, 0.8, 0.99]] {
            for outside in [vec![], vec![1.7], vec![-0.3, 2.0], vec![-1.0, -2.0, 3.0, 4.0]] {
                let all: Vec<f64> = inside.iter().chain(&outside).copied().collect();
                let p = Bernstein::from_powers(&product(1.0, &all));
                let below = outside.iter().filter(|r| **r < 0.0).count();
                let held = positive_before(&all[below.min(all.len())..]);
                let found = finder.all(&p, held, 0.0);
                assert_eq!(found.len(), inside.len(), "{inside:?} {outside:?}: {found:?}");
                for (found, root) in found.iter().zip(&inside) {
                    assert!((found - root).abs() < 1e-12, "{inside:?} {outside:?}: {found}");
                }
                assert_eq!(finder.first(&p, held, 0.0).is_some(), !inside.is_empty());
            }
        }
    }

    #[test]
    fn close_pairs_are_found() {
        let mut finder = RootFinder::default();
        for degree in 2..=7 {
            for w in [1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7] {
                for k in 0..97 {
                    // the pair can lie anywhere in the interval; the other roots are outside
                    let middle = 0.02 + 0.96 * f64::from(k) / 97.0;
                    let mut roots = vec![];
                    for j in 2..degree {
                        roots.push(if j % 2 == 0 { 1.4 + 0.3 * f64::from(j) } else { -0.4 - 0.2 * f64::from(j) });
                    }
                    // built around the middle of the pair, so that rounding in the coefficients of the test does not
                    // destroy the pair
                    let p = shifted(middle, w, &roots);
                    let held = p.coefficients()[0] > 0.0;
                    let found = finder.all(&p, held, 0.0);
                    assert_eq!(found.len(), 2, "degree {degree}, {w} at {middle}: {found:?}");
                    assert!((found[0] - middle + w).abs() < 0.3 * w && (found[1] - middle - w).abs() < 0.3 * w);
                }
            }
        }
    }

    /// ((s - m)^2 - w^2) times (s - r_1)..., built as a product of Bernstein coefficients.
    fn shifted(middle: f64, w: f64, roots: &[f64]) -> Bernstein {
        let (a, b) = (-middle, 1.0 - middle);
        let mut coefficients = vec![a * a - w * w, a * b - w * w, b * b - w * w];
        for root in roots {
            let d = coefficients.len();
            coefficients = (0..=d)
                .map(|i| {
                    let part = i as f64 / d as f64;
                    let before = if i == 0 { 0.0 } else { coefficients[i - 1] };
                    let own = if i == d { 0.0 } else { coefficients[i] };
                    part * (1.0 - root) * before - (1.0 - part) * root * own
                })
                .collect();
        }
        let mut p = Bernstein::from_powers(&vec![0.0; coefficients.len()]);
        p.b[..coefficients.len()].copy_from_slice(&coefficients);
        p
    }

    #[test]
    fn a_root_at_the_start_counts_by_the_sign_that_is_held() {
        let mut finder = RootFinder::default();
        // s - s^2: zero at both ends
        let p = Bernstein::from_powers(&[0.0, 1.0, -1.0]);
        assert_eq!(finder.all(&p, true, 0.0), [] as [f64; 0]);
        assert_eq!(finder.all(&p, false, 0.0), [0.0]);
        // a ball that rounding has put below the floor, and that returns
        let p = Bernstein::from_powers(&[-1e-17, 1.0, -2.0]).zero_at_start();
        let found = finder.all(&p, true, 0.0);
        assert!(found.len() == 1 && (found[0] - 0.5).abs() < 1e-15, "{found:?}");
        // a zero polynomial has no roots
        assert_eq!(finder.all(&Bernstein::from_powers(&[0.0, 0.0, 0.0]), true, 0.0), [] as [f64; 0]);
    }

    #[test]
    fn a_touch_is_not_a_root_and_a_root_on_an_edge_is() {
        let mut finder = RootFinder::default();
        assert_eq!(finder.all(&Bernstein::from_powers(&product(1.0, &[0.3, 0.3])), true, 0.0).len() % 2, 0);
        let found = finder.all(&Bernstein::from_powers(&product(1.0, &[0.25, 0.5, 0.75])), false, 0.0);
        assert_eq!(found.len(), 3);
        assert!((found[1] - 0.5).abs() < 1e-15);
    }

    #[test]
    fn chebyshev_coefficients_give_the_same_polynomial() {
        // T_0 to T_9, and a sum
        for k in 0..10 {
            let mut c = vec![0.0; k + 1];
            c[k] = 1.0;
            let p = Bernstein::from_chebyshev(&c);
            assert_eq!(p.degree(), k);
            for j in 0..=20 {
                let x = -1.0 + f64::from(j) / 10.0;
                let exact = (k as f64 * x.acos()).cos();
                assert!((p.value(0.5 + 0.5 * x) - exact).abs() < 1e-12, "T_{k}({x})");
            }
        }
        let p = Bernstein::from_chebyshev(&[0.5, 0.0, 0.25, -1.0]);
        let exact = |x: f64| 0.5 + 0.25 * (2.0 * x * x - 1.0) - (4.0 * x * x * x - 3.0 * x);
        for j in 0..=20 {
            let x = -1.0 + f64::from(j) / 10.0;
            assert!((p.value(0.5 + 0.5 * x) - exact(x)).abs() < 1e-14);
        }
    }

    #[test]
    fn hulls_contain_their_polynomials() {
        // 1 - 3 s + 2 s^2 and s^3 - s
        let c = [1.0, 0.0, -3.0, -1.0, 2.0, 0.0, 0.0, 1.0];
        let (mut low, mut high) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
        hull(&c, 2, &mut low, &mut high);
        for k in 0..=100 {
            let s = f64::from(k) / 100.0;
            let y = [1.0 - 3.0 * s + 2.0 * s * s, s * s * s - s];
            for i in 0..2 {
                assert!(low[i] <= y[i] + 1e-15 && y[i] <= high[i] + 1e-15, "{i} at {s}");
            }
        }
        assert!(low[0] >= -0.6 && high[0] == 1.0 && low[1] >= -0.7 && high[1] == 0.0);
    }
}
