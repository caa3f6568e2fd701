//! Coefficients of the backward differentiation formulas: on equal steps as integers, on any grid by Lagrange
//! interpolation, and the constants of the numerical differentiation formulas.

/// Largest order of a zero-stable backward differentiation formula (Cryer 1972; Hairer, Nørsett & Wanner,
/// *Solving Ordinary Differential Equations I*, theorem III.3.4).
pub const MAX_ORDER: usize = 6;

/// A backward differentiation formula on equal steps, `sum_j a_j y_{n+j} = h f_{n+s}` with
/// `a_j = numerators[j] / denominator`, oldest value first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EqualSteps {
    /// `s + 1` integers, oldest value first.
    pub numerators: &'static [i64],
    /// Their common denominator.
    pub denominator: i64,
}

/// The six formulas, order 1 first (Hairer, Nørsett & Wanner I, equations (III.1.22')).
pub static EQUAL_STEPS: [EqualSteps; MAX_ORDER] = [
    EqualSteps { numerators: &[-1, 1], denominator: 1 },
    EqualSteps { numerators: &[1, -4, 3], denominator: 2 },
    EqualSteps { numerators: &[-2, 9, -18, 11], denominator: 6 },
    EqualSteps { numerators: &[3, -16, 36, -48, 25], denominator: 12 },
    EqualSteps { numerators: &[-12, 75, -200, 300, -300, 137], denominator: 60 },
    EqualSteps { numerators: &[10, -72, 225, -400, 450, -360, 147], denominator: 60 },
];

/// Largest constant ratio of successive steps at which the variable-coefficient formula of order 2 to 6 is zero-stable,
/// order 2 first, rounded to three decimals (Hairer, Nørsett & Wanner I, section III.5; 1 + sqrt 2 for order 2; the tests
/// confirm each by the root condition). Order 1 has no limit.
pub static RATIO_LIMIT: [f64; MAX_ORDER - 1] = [2.414, 1.618, 1.281, 1.127, 1.044];

/// Largest order of the numerical differentiation formulas.
pub const NDF_MAX_ORDER: usize = 5;

/// The constants kappa of the numerical differentiation formulas as (numerator, denominator), order 1 first:
/// `sum_{m=1..k} (1/m) grad^m y_{n+1} - kappa gamma_k (y_{n+1} - y^(0)_{n+1}) = h f_{n+1}`, with `y^(0)` the polynomial
/// prediction and `gamma_k = sum_{j=1..k} 1/j` (Shampine & Reichelt, *The MATLAB ODE Suite*, SIAM J. Sci. Comput. 18 (1997), table 1).
pub static NDF_KAPPA: [(i64, i64); NDF_MAX_ORDER] = [(-37, 200), (-1, 9), (-823, 10_000), (-83, 2_000), (0, 1)];

/// `gamma_k = sum_{j=1..k} 1/j`.
pub fn harmonic(k: usize) -> f64 {
    (1..=k).map(|j| 1.0 / j as f64).sum()
}

/// Dimensionless derivatives of the Lagrange basis at the newest node: `a[j] = h * l_j'(0)` for nodes at
/// `offsets[j] * h` relative to it, oldest first; the newest node, at 0, comes last and is not in `offsets` (which are
/// negative and distinct). `a` has one entry more than `offsets`. On equal steps these are the numbers of [`EQUAL_STEPS`].
pub fn derivative_weights(offsets: &[f64], a: &mut [f64]) {
    let s = offsets.len();
    assert_eq!(a.len(), s + 1);
    let mut newest = 0.0;
    for j in 0..s {
        // l_j'(0) = prod_{i != j} (0 - x_i) / ((x_j - 0) prod_{i != j} (x_j - x_i)), i over the other old nodes.
        let mut w = 1.0 / offsets[j];
        for i in 0..s {
            if i != j {
                w *= offsets[i] / (offsets[i] - offsets[j]);
            }
        }
        a[j] = w;
        newest -= 1.0 / offsets[j];
    }
    a[s] = newest;
}

/// Values of the Lagrange basis of `nodes` at `x`, in any common unit of time.
pub fn interpolation_weights(nodes: &[f64], x: f64, weights: &mut [f64]) {
    assert_eq!(weights.len(), nodes.len());
    for (j, w) in weights.iter_mut().enumerate() {
        *w = 1.0;
        for (i, node) in nodes.iter().enumerate() {
            if i != j {
                *w *= (x - node) / (nodes[j] - node);
            }
        }
    }
}

/// Fraction of the zero-stable excess over 1 that a ratio of steps may use, so that the parasitic roots decay.
const STABLE_SHARE: f64 = 0.9;

/// Largest ratio of a step to the previous one in the variable-coefficient formula of this order.
pub fn growth_limit(order: usize) -> f64 {
    match order {
        0 | 1 => f64::INFINITY,
        _ => RATIO_LIMIT.get(order - 2).map_or(1.0, |limit| 1.0 + STABLE_SHARE * (limit - 1.0)),
    }
}
