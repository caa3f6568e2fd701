//! Multistep formulas: order conditions in exact fractions, root condition, zero-stable step ratios, sectors of stability, and that
//! the code runs the formula.

use nalgebra::{Complex, DMatrix};
use odec_ode::method::multistep::coefficients::{
    EQUAL_STEPS, MAX_ORDER, NDF_KAPPA, NDF_MAX_ORDER, RATIO_LIMIT, derivative_weights, growth_limit,
    interpolation_weights,
};
use odec_ode::method::multistep::starter;
use odec_ode::method::{self, Family, Stability};
use odec_ode::{Refusal, method::Adaptive};

use super::rational::Rational;
use super::trees::{Stages, trees};

/// A formula sum_j alpha_j y_{n+j} = h f_{n+s}, oldest first.
type Alpha = Vec<Rational>;

fn bdf(order: usize) -> Alpha {
    let table = &EQUAL_STEPS[order - 1];
    table.numerators.iter().map(|n| Rational::new(i128::from(*n), i128::from(table.denominator))).collect()
}

/// grad^m as coefficients of s + 1 values, oldest first.
fn difference(m: usize, s: usize) -> Alpha {
    let mut row = vec![Rational::ZERO; s + 1];
    let mut binomial = 1i128;
    for k in 0..=m {
        row[s - k] = Rational::int(if k % 2 == 0 { binomial } else { -binomial });
        binomial = binomial * (m - k) as i128 / (k + 1) as i128;
    }
    row
}

/// The numerical differentiation formula: y - y^(0) is grad^(k+1) y, so it has k + 2 coefficients.
fn ndf(k: usize) -> Alpha {
    let mut alpha = vec![Rational::ZERO; k + 2];
    let mut gamma = Rational::ZERO;
    for m in 1..=k {
        gamma = gamma + Rational::new(1, m as i128);
        for (a, d) in alpha.iter_mut().zip(difference(m, k + 1)) {
            *a = *a + d * Rational::new(1, m as i128);
        }
    }
    let kappa = Rational::new(i128::from(NDF_KAPPA[k - 1].0), i128::from(NDF_KAPPA[k - 1].1));
    for (a, d) in alpha.iter_mut().zip(difference(k + 1, k + 1)) {
        *a = *a - kappa * gamma * d;
    }
    alpha
}

/// C_q of Dahlquist: sum_j alpha_j j^q / q! - s^(q-1) / (q-1)!.
fn order_constant(alpha: &Alpha, q: usize) -> Rational {
    let factorial = |k: usize| Rational::int((1..=k as i128).product());
    let s = Rational::int(alpha.len() as i128 - 1);
    let mut c = Rational::ZERO;
    for (j, a) in alpha.iter().enumerate() {
        c = c + *a * Rational::int(j as i128).pow(q) / factorial(q);
    }
    if q > 0 { c - s.pow(q - 1) / factorial(q - 1) } else { c }
}

/// Moduli of the roots of sum_j c_j x^j (leading coefficient last), largest first, from the companion matrix.
fn roots(c: &[Complex<f64>]) -> Vec<f64> {
    let s = c.len() - 1;
    let companion = DMatrix::from_fn(s, s, |i, j| {
        if i == 0 {
            -c[s - 1 - j] / c[s]
        } else if j + 1 == i {
            Complex::new(1.0, 0.0)
        } else {
            Complex::new(0.0, 0.0)
        }
    });
    let mut moduli: Vec<f64> = companion.schur().unpack().1.diagonal().iter().map(|r| r.norm()).collect();
    moduli.sort_by(|a, b| b.total_cmp(a));
    moduli
}

fn real(c: &[f64]) -> Vec<Complex<f64>> {
    c.iter().map(|c| Complex::new(*c, 0.0)).collect()
}

/// Spectral radius of rho - z sigma for a formula with f at the newest point only.
fn radius(alpha: &Alpha, z: Complex<f64>) -> f64 {
    let mut c: Vec<Complex<f64>> = alpha.iter().map(|a| Complex::new(a.to_f64(), 0.0)).collect();
    *c.last_mut().unwrap() -= z;
    roots(&c)[0]
}

#[test]
fn order_conditions_hold_exactly() {
    let formulas = (1..=MAX_ORDER).map(|s| (s, bdf(s))).chain((1..=NDF_MAX_ORDER).map(|k| (k, ndf(k))));
    for (p, alpha) in formulas {
        for q in 0..=p {
            assert_eq!(order_constant(&alpha, q), Rational::ZERO, "order {p}, C_{q}");
        }
        assert_ne!(order_constant(&alpha, p + 1), Rational::ZERO, "order {p} is higher than said");
    }
}

#[test]
fn zero_stable_up_to_order_six_and_not_beyond() {
    let formulas = (1..=MAX_ORDER).map(bdf).chain((1..=NDF_MAX_ORDER).map(ndf));
    for alpha in formulas {
        let c: Vec<f64> = alpha.iter().map(|a| a.to_f64()).collect();
        let moduli = roots(&real(&c));
        assert!((moduli[0] - 1.0).abs() < 1e-12, "{moduli:?}");
        assert!(moduli.iter().skip(1).all(|m| *m < 1.0 - 1e-3), "{moduli:?}");
    }
    for s in [7, 8] {
        let offsets: Vec<f64> = (1..=s).map(|j| -f64::from(j)).collect();
        let mut a = vec![0.0; s as usize + 1];
        derivative_weights(&offsets, &mut a);
        a[..s as usize].reverse(); // oldest first
        assert!(roots(&real(&a))[0] > 1.0 + 1e-2, "order {s} should not be zero-stable");
        assert_eq!(method::find(&format!("bdf{s}")).unwrap_err(), Refusal::NotZeroStable(s as u32));
    }
}

/// Moduli of the roots at a constant ratio of steps, without the simple root 1 of the formula.
fn parasitic(s: usize, ratio: f64) -> f64 {
    let mut offsets = Vec::new();
    let (mut x, mut h) = (0.0, 1.0);
    for _ in 0..s {
        x -= h;
        h /= ratio;
        offsets.push(x);
    }
    let mut a = vec![0.0; s + 1];
    derivative_weights(&offsets, &mut a);
    a[..s].reverse();
    // Divide by the root 1: synthetic division from the leading coefficient.
    let mut quotient = vec![0.0; s];
    let mut carry = 0.0;
    for j in (1..=s).rev() {
        carry += a[j];
        quotient[j - 1] = carry;
    }
    assert!((carry + a[0]).abs() < 1e-9 * a[s].abs(), "the weights of a derivative sum to zero");
    roots(&real(&quotient))[0]
}

#[test]
fn step_ratio_limits_are_where_zero_stability_ends() {
    for (i, limit) in RATIO_LIMIT.iter().enumerate() {
        let s = i + 2;
        // Printed with three decimals.
        assert!(parasitic(s, limit - 0.0005) <= 1.0, "order {s} below {limit}: {}", parasitic(s, limit - 0.0005));
        assert!(parasitic(s, limit + 0.0005) > 1.0, "order {s} above {limit}: {}", parasitic(s, limit + 0.0005));
        assert!(growth_limit(s) > 1.0 && parasitic(s, growth_limit(s)) < 1.0, "order {s}: the limit in use");
        for k in 1..40 {
            let ratio = 0.05 + f64::from(k) / 40.0 * (growth_limit(s) - 0.05);
            assert!(parasitic(s, ratio) < 1.0, "order {s} at ratio {ratio}");
        }
    }
}

#[test]
fn variable_weights_are_the_table_on_equal_steps_and_exact_on_polynomials() {
    let mut seed = 7u64;
    let mut random = move || {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 11) as f64 / (1u64 << 53) as f64
    };
    for s in 1..=MAX_ORDER {
        let equal: Vec<f64> = (0..s).map(|j| j as f64 - s as f64).collect();
        let mut a = vec![0.0; s + 1];
        derivative_weights(&equal, &mut a);
        for (a, exact) in a.iter().zip(bdf(s)) {
            assert!((a - exact.to_f64()).abs() < 1e-13, "order {s}");
        }
        for _ in 0..20 {
            let mut x = 0.0;
            let offsets: Vec<f64> = (0..s)
                .map(|_| {
                    x -= 0.3 + random();
                    x
                })
                .collect();
            derivative_weights(&offsets, &mut a);
            let mut w = vec![0.0; s];
            interpolation_weights(&offsets, 0.0, &mut w);
            for q in 0..=s {
                let power = |x: f64| (x + 1.5).powi(q as i32);
                let derivative = if q == 0 { 0.0 } else { q as f64 * 1.5f64.powi(q as i32 - 1) };
                let got: f64 = offsets.iter().zip(&a).map(|(x, a)| a * power(*x)).sum::<f64>() + a[s] * power(0.0);
                assert!((got - derivative).abs() < 1e-10, "order {s}, power {q}: {got} for {derivative}");
                if q < s {
                    let got: f64 = offsets.iter().zip(&w).map(|(x, w)| w * power(*x)).sum();
                    assert!((got - power(0.0)).abs() < 1e-10, "interpolation, {s} nodes, power {q}");
                }
            }
        }
    }
}

/// Largest half-angle, in degrees, of a sector around the negative axis without an unstable point (resolution 0.02).
fn angle(alpha: &Alpha) -> f64 {
    let mut half = 90.0;
    // The boundary locus z(theta) = rho/sigma on the unit circle contains every boundary point of the region.
    for k in 1..200_000 {
        let theta = std::f64::consts::PI * f64::from(k) / 200_000.0;
        let zeta = Complex::new(theta.cos(), theta.sin());
        let s = alpha.len() - 1;
        let rho = alpha.iter().enumerate().map(|(j, a)| zeta.powi(j as i32) * a.to_f64()).sum::<Complex<f64>>();
        let z = rho / zeta.powi(s as i32);
        if z.re < -1e-9 {
            half = f64::min(half, (z.im.abs() / -z.re).atan().to_degrees());
        }
    }
    half
}

#[test]
fn sectors_of_stability_are_as_the_rows_say() {
    for s in 1..=MAX_ORDER {
        let row = method::find(&format!("bdf{s}")).unwrap();
        let angle = angle(&bdf(s));
        match row.stability {
            Stability::Sector(degrees) => assert_eq!(f64::from(degrees), angle.floor(), "bdf{s}"),
            Stability::L => assert_eq!(angle, 90.0, "bdf{s}"),
            other => panic!("bdf{s} is not {other:?}"),
        }
        let inside = (angle - 0.5).to_radians();
        for k in -40..=100 {
            let size = 10f64.powf(f64::from(k) / 10.0);
            let z = Complex::new(-size * inside.cos(), size * inside.sin());
            assert!(radius(&bdf(s), z) <= 1.0 + 1e-12, "bdf{s} at {z}");
        }
        assert!(radius(&bdf(s), Complex::new(-1e10, 0.0)) < 0.1, "bdf{s} damps at infinity");
    }
    // Shampine & Reichelt 1997, table 1.
    for (k, printed) in (1..=NDF_MAX_ORDER).zip([90.0, 90.0, 80.0, 66.0, 51.0]) {
        let angle = angle(&ndf(k));
        assert!((angle - printed).abs() < 1.0, "ndf of order {k}: {angle}");
    }
}

#[test]
fn the_starter_is_radau_of_order_five() {
    let a = DMatrix::from_fn(3, 3, |i, j| starter::A[i][j]);
    let stages = Stages { one: a.clone(), many: a };
    let b = &starter::A[2];
    for p in 1..=starter::ORDER {
        assert!(stages.worst(b, &trees(p)) < 1e-13, "order {p}");
    }
    assert!(stages.worst(b, &trees(starter::ORDER + 1)) > 1e-6);
    for i in 0..3 {
        assert!((starter::A[i].iter().sum::<f64>() - starter::C[i]).abs() < 1e-14);
    }
}

/// gamma_0, gamma_1, ... of Adams and Bashforth: sum_{i <= j} gamma_i / (j + 1 - i) = 1 (Hairer, Nørsett & Wanner I, eq. (III.1.7)).
fn adams(count: usize) -> Vec<Rational> {
    let mut gamma: Vec<Rational> = Vec::new();
    for j in 0..count {
        let before = gamma.iter().enumerate().map(|(i, g)| *g / Rational::int((j + 1 - i) as i128));
        let next = before.fold(Rational::int(1), |sum, term| sum - term);
        gamma.push(next);
    }
    gamma
}

/// Weights of f at the points `newest`, newest - 1, ... of sum_j weights_j grad^j f.
fn at_points(weights: &[Rational]) -> Alpha {
    let s = weights.len() - 1;
    let mut b = vec![Rational::ZERO; s + 1];
    for (m, w) in weights.iter().enumerate() {
        for (b, d) in b.iter_mut().zip(difference(m, s).into_iter().rev()) {
            *b = *b + *w * d;
        }
    }
    b
}

/// Integral over [0, 1] of t^q with the weights `b` at newest, newest - 1, ..., minus the exact one.
fn quadrature(b: &[Rational], newest: i128, q: usize) -> Rational {
    let sum = b.iter().enumerate().fold(Rational::ZERO, |sum, (i, b)| {
        let x = Rational::int(newest - i as i128);
        let power = if q == 0 { Rational::int(1) } else { x.pow(q) };
        sum + *b * power
    });
    sum - Rational::new(1, q as i128 + 1)
}

#[test]
fn adams_formulas_have_their_orders_and_the_code_their_coefficients() {
    use odec_ode::method::multistep::abm;
    let gamma = adams(abm::MAX_ORDER + 1);
    let printed = [(1, 1), (1, 2), (5, 12), (3, 8), (251, 720), (95, 288), (19087, 60480)];
    for (g, (n, d)) in gamma.iter().zip(printed) {
        assert_eq!(*g, Rational::new(n, d));
    }
    let implicit: Vec<Rational> =
        (0..gamma.len()).map(|j| if j == 0 { gamma[0] } else { gamma[j] - gamma[j - 1] }).collect();
    for k in 1..=abm::MAX_ORDER {
        for (b, newest, order) in [(at_points(&gamma[..k]), 0, k), (at_points(&implicit[..=k]), 1, k + 1)] {
            for q in 0..order {
                assert_eq!(quadrature(&b, newest, q), Rational::ZERO, "order {order}, power {q}");
            }
            assert_ne!(quadrature(&b, newest, order), Rational::ZERO, "order {order} is higher than said");
        }
    }
    // On equal steps the code integrates the basis to the same numbers; on others it integrates polynomials exactly.
    let nodes: Vec<f64> = (0..abm::MAX_ORDER).map(|j| -(j as f64)).collect();
    let mut g = vec![0.0; abm::MAX_ORDER + 1];
    abm::integrals(&nodes, 1.0, &mut g);
    // The basis in these units is (x - u_j)/(1 - u_j), that of the differences (x + j)/(j + 1): the same.
    for (g, exact) in g.iter().zip(&gamma) {
        assert!((g - exact.to_f64()).abs() < 1e-14, "{g} and not {exact:?}");
    }
    let nodes = [0.0, -0.3, -1.7, -1.9];
    let mut g = [0.0; 3];
    abm::integrals(&nodes, 0.6, &mut g);
    let expected = [0.6, 0.6f64.powi(2) / 2.0, (0.6f64.powi(3) / 3.0 + 0.3 * 0.6f64.powi(2) / 2.0) / 1.3];
    for (g, e) in g.iter().zip(expected) {
        assert!((g - e).abs() < 1e-16, "{g} and not {e}");
    }
}

#[test]
fn every_multistep_row_is_covered_here() {
    for row in method::table().iter().filter(|m| matches!(m.family, Family::Multistep)) {
        let known = match row.adaptive {
            // The formulas of order up to 13 are proven above.
            Adaptive::VariableOrder => ["bdf", "abm"].contains(&row.name) || row.name == format!("abm{}", row.order),
            _ => row.name == format!("bdf{}", row.order) && row.order as usize <= MAX_ORDER,
        };
        assert!(known, "{} has no proof of its coefficients", row.name);
    }
}

#[test]
fn unsupported_features_of_multistep_methods_are_refused_by_name() {
    use odec_ode::method::multistep::bdf::Bdf;
    use odec_ode::{Options, Problem, Samples, SolveError, solve};
    let proof = super::problems::PROOFS[0];
    let system = proof.bind();
    for order in [0, 7, 12] {
        let refusal = Bdf::new(&system, order, &Options::default()).err();
        assert_eq!(refusal, Some(Refusal::NotZeroStable(order as u32)));
    }
    let problem = Problem { t0: 0.0, t_end: 1.0, y0: proof.exact(0.0) };
    let fixed = Options { step: Some(0.1), fixed: true, ..Options::default() };
    for name in ["bdf", "abm"] {
        let method = method::find(name).unwrap();
        let refused = solve(&system, &problem, method, &fixed, &Samples::Steps, &mut super::run::Rows::default());
        assert!(matches!(refused, Err(SolveError::Refused(Refusal::Unsuitable { .. }))), "{refused:?}");
    }
}
