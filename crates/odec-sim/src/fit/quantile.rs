//! Quantiles of the normal distribution and of Student's t distribution.

/// The regularised incomplete beta function I_x(a, b), by the continued fraction of Lentz.
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    // the fraction converges fast on this side
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(b, a, 1.0 - x);
    }
    let front = (a * x.ln() + b * (-x).ln_1p() + ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b)).exp() / a;
    let tiny = 1e-300;
    let away = |v: f64| if v.abs() < tiny { tiny } else { v };
    let (mut c, mut d) = (1.0, 1.0 / away(1.0 - (a + b) * x / (a + 1.0)));
    let mut sum = d;
    for k in 1..10_000 {
        let m = f64::from(k);
        for numerator in [
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0)),
        ] {
            d = 1.0 / away(1.0 + numerator * d);
            c = away(1.0 + numerator / c);
            sum *= c * d;
        }
        if (c * d - 1.0).abs() < 1e-15 {
            break;
        }
    }
    front * sum
}

/// ln Γ(x) for x above 0, by Stirling's series.
fn ln_gamma(x: f64) -> f64 {
    if x < 12.0 {
        return ln_gamma(x + 1.0) - x.ln();
    }
    let r = 1.0 / (x * x);
    let series = (1.0 / 12.0 - r * (1.0 / 360.0 - r * (1.0 / 1260.0 - r * (1.0 / 1680.0 - r / 1188.0)))) / x;
    (x - 0.5) * x.ln() - x + 0.5 * (2.0 * std::f64::consts::PI).ln() + series
}

/// The number that the absolute value of a t-distributed variable exceeds with probability 1 - `level`. For infinite
/// degrees of freedom, the distribution is normal.
pub fn two_sided(level: f64, freedom: f64) -> f64 {
    let beyond = |t: f64| {
        if freedom.is_finite() {
            incomplete_beta(0.5 * freedom, 0.5, freedom / (freedom + t * t))
        } else {
            // the limit for many degrees of freedom
            1.0 - incomplete_gamma_half(0.5 * t * t)
        }
    };
    let tail = 1.0 - level;
    let (mut low, mut high) = (0.0, 1.0);
    while beyond(high) > tail && high < 1e300 {
        (low, high) = (high, 2.0 * high);
    }
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if beyond(middle) > tail { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// The regularised incomplete gamma function P(1/2, x), by its series, whose terms are all positive.
fn incomplete_gamma_half(x: f64) -> f64 {
    let (mut term, mut sum) = (2.0, 2.0);
    for k in 1..2000 {
        term *= x / (0.5 + f64::from(k));
        sum += term;
        if term < 1e-17 * sum {
            break;
        }
    }
    sum * (0.5 * x.ln() - x - 0.5 * std::f64::consts::PI.ln()).exp()
}

#[cfg(test)]
mod tests {
    use super::two_sided;

    /// Values from printed tables of the t distribution.
    #[test]
    fn quantiles_are_those_of_tables() {
        let table = [
            (0.95, 1.0, 12.706_204_736),
            (0.95, 2.0, 4.302_652_730),
            (0.95, 10.0, 2.228_138_852),
            (0.99, 5.0, 4.032_142_984),
            (0.95, 120.0, 1.979_930_405),
            (0.95, f64::INFINITY, 1.959_963_985),
            (0.6826894921, f64::INFINITY, 1.0),
            (0.99, f64::INFINITY, 2.575_829_304),
        ];
        for (level, freedom, wanted) in table {
            let found = two_sided(level, freedom);
            assert!((found - wanted).abs() < 2e-9 * wanted, "{level} {freedom}: {found}, not {wanted}");
        }
    }
}
