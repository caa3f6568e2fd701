//! Stiff problems of the accuracy targets, with hand-written Jacobians; end values from the catalogue of verified
//! references (Robertson 1966; CWI/Bari test set for IVP solvers; Hairer & Wanner II), atol/rtol as used there.

use odec_ode::pattern::Pattern;
use odec_ode::system::{EvalError, Jacobian, Shape, System};

/// Hands (row, column, value) of each entry of df/dy at a state to the receiver.
type JacobianEntries = fn(&[f64], &mut dyn FnMut(usize, usize, f64));

/// A stiff problem with its reference.
pub struct Stiff {
    /// Name.
    pub name: &'static str,
    /// Interval from 0.
    pub t_end: f64,
    /// State at 0.
    pub y0: Vec<f64>,
    /// State at the end.
    pub reference: Vec<f64>,
    /// atol/rtol.
    pub ratio: f64,
    rhs: fn(&[f64], &mut [f64]),
    jacobian: JacobianEntries,
    pattern: Pattern,
}

impl Stiff {
    fn new(
        name: &'static str,
        t_end: f64,
        ratio: f64,
        y0: &[f64],
        reference: &[f64],
        rhs: fn(&[f64], &mut [f64]),
        jacobian: JacobianEntries,
    ) -> Self {
        let n = y0.len();
        let mut positions = Vec::new();
        jacobian(y0, &mut |r, c, _| positions.push((r, c)));
        let pattern = Pattern::from_positions(n, n, positions);
        Stiff { name, t_end, y0: y0.to_vec(), reference: reference.to_vec(), ratio, rhs, jacobian, pattern }
    }

    /// max_i |y_i - ref_i| / (|ref_i| + atol/rtol).
    pub fn error(&self, y: &[f64]) -> f64 {
        y.iter().zip(&self.reference).map(|(y, r)| (y - r).abs() / (r.abs() + self.ratio)).fold(0.0, f64::max)
    }
}

impl System for Stiff {
    fn shape(&self) -> Shape {
        Shape { n: self.y0.len(), second: 0 }
    }
    fn rhs(&self, _t: f64, y: &[f64], f: &mut [f64]) -> Result<(), EvalError> {
        (self.rhs)(y, f);
        Ok(())
    }
    fn jacobian(&self) -> Jacobian<'_> {
        Jacobian::Entries(&self.pattern)
    }
    fn jacobian_values(&self, _t: f64, y: &[f64], values: &mut [f64]) -> Result<(), EvalError> {
        values.fill(0.0);
        (self.jacobian)(y, &mut |r, c, v| {
            if let Some(k) = self.pattern.find(r, c) {
                values[k] += v;
            }
        });
        Ok(())
    }
    fn jacobian_vector(&self, _t: f64, y: &[f64], w: &[f64], out: &mut [f64]) -> Result<(), EvalError> {
        out.fill(0.0);
        (self.jacobian)(y, &mut |r, c, v| out[r] += v * w[c]);
        Ok(())
    }
    fn time_derivative(&self, _t: f64, _y: &[f64], out: &mut [f64]) -> Result<(), EvalError> {
        out.fill(0.0);
        Ok(())
    }
    fn autonomous(&self) -> bool {
        true
    }
}

/// All stiff problems.
pub fn all() -> Vec<Stiff> {
    vec![robertson_40(), robertson_1e11(), hires(), pollu(), orego(), vdpol()]
}

fn robertson(name: &'static str, t_end: f64, ratio: f64, reference: &[f64]) -> Stiff {
    Stiff::new(
        name,
        t_end,
        ratio,
        &[1.0, 0.0, 0.0],
        reference,
        |y, f| {
            f[0] = -0.04 * y[0] + 1e4 * y[1] * y[2];
            f[2] = 3e7 * y[1] * y[1];
            f[1] = -f[0] - f[2];
        },
        |y, put| {
            let (a, b, c) = (1e4 * y[2], 1e4 * y[1], 6e7 * y[1]);
            put(0, 0, -0.04);
            put(0, 1, a);
            put(0, 2, b);
            put(1, 0, 0.04);
            put(1, 1, -a - c);
            put(1, 2, -b);
            put(2, 1, c);
        },
    )
}

/// Robertson's kinetics to t = 40.
pub fn robertson_40() -> Stiff {
    robertson("robertson_40", 40.0, 1e-6, &[0.715827068719405, 9.185534764557764e-06, 0.28416374574583037])
}

/// Robertson's kinetics to t = 1e11.
pub fn robertson_1e11() -> Stiff {
    robertson("robertson_1e11", 1e11, 1e-8, &[2.083340149701294e-08, 8.333360770334784e-14, 0.9999999791665152])
}

/// HIRES (Schaefer 1975).
#[rustfmt::skip]
pub fn hires() -> Stiff {
    Stiff::new(
        "hires", 321.8122, 1e-4,
        &[1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0057],
        &[0.0007371312573325667, 0.00014424857263161848, 5.888729740967575e-05, 0.001175651343283149,
          0.0023863561988313304, 0.0062389682527427956, 0.0028499983951857685, 0.0028500016048142313],
        |y, f| {
            let r = 280.0 * y[5] * y[7];
            f[0] = -1.71 * y[0] + 0.43 * y[1] + 8.32 * y[2] + 0.0007;
            f[1] = 1.71 * y[0] - 8.75 * y[1];
            f[2] = -10.03 * y[2] + 0.43 * y[3] + 0.035 * y[4];
            f[3] = 8.32 * y[1] + 1.71 * y[2] - 1.12 * y[3];
            f[4] = -1.745 * y[4] + 0.43 * (y[5] + y[6]);
            f[5] = -r + 0.69 * y[3] + 1.71 * y[4] - 0.43 * y[5] + 0.69 * y[6];
            f[6] = r - 1.81 * y[6];
            f[7] = -r + 1.81 * y[6];
        },
        |y, put| {
            let (a, b) = (280.0 * y[7], 280.0 * y[5]);
            for (r, c, v) in [
                (0, 0, -1.71), (0, 1, 0.43), (0, 2, 8.32), (1, 0, 1.71), (1, 1, -8.75), (2, 2, -10.03), (2, 3, 0.43),
                (2, 4, 0.035), (3, 1, 8.32), (3, 2, 1.71), (3, 3, -1.12), (4, 4, -1.745), (4, 5, 0.43), (4, 6, 0.43),
                (5, 3, 0.69), (5, 4, 1.71), (5, 5, -a - 0.43), (5, 6, 0.69), (5, 7, -b), (6, 5, a), (6, 6, -1.81),
                (6, 7, b), (7, 5, -a), (7, 6, 1.81), (7, 7, -b),
            ] {
                put(r, c, v);
            }
        },
    )
}

/// The Oregonator (Field & Noyes 1974).
pub fn orego() -> Stiff {
    const S: f64 = 77.27;
    const W: f64 = 0.161;
    const Q: f64 = 8.375e-06;
    Stiff::new(
        "orego",
        360.0,
        1e-6,
        &[1.0, 2.0, 3.0],
        &[1.0008148703185227, 1228.178521549888, 132.05549428465082],
        |y, f| {
            f[0] = S * (y[1] - y[0] * y[1] + y[0] - Q * y[0] * y[0]);
            f[1] = (-y[1] - y[0] * y[1] + y[2]) / S;
            f[2] = W * (y[0] - y[2]);
        },
        |y, put| {
            put(0, 0, S * (1.0 - y[1] - 2.0 * Q * y[0]));
            put(0, 1, S * (1.0 - y[0]));
            put(1, 0, -y[1] / S);
            put(1, 1, (-1.0 - y[0]) / S);
            put(1, 2, 1.0 / S);
            put(2, 0, W);
            put(2, 2, -W);
        },
    )
}

/// Van der Pol's oscillator with mu = 1000.
pub fn vdpol() -> Stiff {
    Stiff::new(
        "vdpol_mu1000",
        2000.0,
        1e-3,
        &[2.0, 0.0],
        &[1.706167732170465, -0.0008928097010248166],
        |y, f| {
            f[0] = y[1];
            f[1] = 1000.0 * (1.0 - y[0] * y[0]) * y[1] - y[0];
        },
        |y, put| {
            put(0, 1, 1.0);
            put(1, 0, -2000.0 * y[0] * y[1] - 1.0);
            put(1, 1, 1000.0 * (1.0 - y[0] * y[0]));
        },
    )
}

/// Rate constants of POLLU (Verwer 1994).
#[rustfmt::skip]
const K: [f64; 25] = [
    0.35, 26.6, 12300.0, 0.00086, 0.00082, 15000.0, 0.00013, 24000.0, 16500.0, 9000.0, 0.022, 12000.0, 1.88, 16300.0,
    4800000.0, 0.00035, 0.0175, 100000000.0, 444000000000.0, 1240.0, 2.1, 5.78, 0.0474, 1780.0, 3.12,
];
/// Reactants of each reaction (species from 1; 0: none).
#[rustfmt::skip]
const REACTANTS: [(usize, usize); 25] = [
    (1, 0), (2, 4), (5, 2), (7, 0), (7, 0), (7, 6), (9, 0), (9, 6), (11, 2), (11, 1), (13, 0), (10, 2), (14, 0), (1, 6),
    (3, 0), (4, 0), (4, 0), (16, 0), (16, 0), (17, 6), (19, 0), (19, 0), (1, 4), (19, 1), (20, 0),
];
/// (species, reaction, coefficient), both from 1.
#[rustfmt::skip]
const STOICHIOMETRY: [(usize, usize, f64); 65] = [
    (1, 1, -1.0), (1, 10, -1.0), (1, 14, -1.0), (1, 23, -1.0), (1, 24, -1.0), (1, 2, 1.0), (1, 3, 1.0), (1, 9, 1.0),
    (1, 11, 1.0), (1, 12, 1.0), (1, 22, 1.0), (1, 25, 1.0), (2, 2, -1.0), (2, 3, -1.0), (2, 9, -1.0), (2, 12, -1.0),
    (2, 1, 1.0), (2, 21, 1.0), (3, 15, -1.0), (3, 1, 1.0), (3, 17, 1.0), (3, 19, 1.0), (3, 22, 1.0), (4, 2, -1.0),
    (4, 16, -1.0), (4, 17, -1.0), (4, 23, -1.0), (4, 15, 1.0), (5, 3, -1.0), (5, 4, 2.0), (5, 6, 1.0), (5, 7, 1.0),
    (5, 13, 1.0), (5, 20, 1.0), (6, 6, -1.0), (6, 8, -1.0), (6, 14, -1.0), (6, 20, -1.0), (6, 3, 1.0), (6, 18, 2.0),
    (7, 4, -1.0), (7, 5, -1.0), (7, 6, -1.0), (7, 13, 1.0), (8, 4, 1.0), (8, 5, 1.0), (8, 6, 1.0), (8, 7, 1.0),
    (9, 7, -1.0), (9, 8, -1.0), (10, 12, -1.0), (10, 7, 1.0), (10, 9, 1.0), (11, 9, -1.0), (11, 10, -1.0), (11, 8, 1.0),
    (11, 11, 1.0), (12, 9, 1.0), (13, 11, -1.0), (13, 10, 1.0), (14, 13, -1.0), (14, 12, 1.0), (15, 14, 1.0),
    (16, 18, -1.0), (16, 19, -1.0),
];
/// The rest of the stoichiometry.
#[rustfmt::skip]
const STOICHIOMETRY_REST: [(usize, usize, f64); 10] = [
    (16, 16, 1.0), (17, 20, -1.0), (18, 20, 1.0), (19, 21, -1.0), (19, 22, -1.0), (19, 24, -1.0), (19, 23, 1.0),
    (19, 25, 1.0), (20, 25, -1.0), (20, 24, 1.0),
];

/// POLLU (Verwer 1994).
#[rustfmt::skip]
pub fn pollu() -> Stiff {
    let mut y0 = [0.0; 20];
    for (i, v) in [(2, 0.2), (4, 0.04), (7, 0.1), (8, 0.3), (9, 0.01), (17, 0.007)] {
        y0[i - 1] = v;
    }
    Stiff::new(
        "pollu", 60.0, 1e-6, &y0,
        &[0.056462554800227695, 0.13424841304223384, 4.139734331099427e-09, 0.00552314020748436, 2.018977262302196e-07,
          1.4645418634939657e-07, 0.07784249118997964, 0.3245075353396018, 0.007494013383880406, 1.6222931573015602e-08,
          1.1358638332570748e-08, 0.00223050597572136, 0.000208716288279863, 1.3969210168401577e-05,
          0.008964884856898295, 4.352846369330104e-18, 0.006899219696263405, 0.0001007803037365946,
          1.7721465139699844e-06, 5.682943292316393e-05],
        |y, f| {
            f.fill(0.0);
            for (species, reaction, s) in STOICHIOMETRY.iter().chain(&STOICHIOMETRY_REST) {
                let (a, b) = REACTANTS[reaction - 1];
                let rate = K[reaction - 1] * y[a - 1] * if b > 0 { y[b - 1] } else { 1.0 };
                f[species - 1] += s * rate;
            }
        },
        |y, put| {
            for (species, reaction, s) in STOICHIOMETRY.iter().chain(&STOICHIOMETRY_REST) {
                let (a, b) = REACTANTS[reaction - 1];
                let k = s * K[reaction - 1];
                put(species - 1, a - 1, k * if b > 0 { y[b - 1] } else { 1.0 });
                if b > 0 {
                    put(species - 1, b - 1, k * y[a - 1]);
                }
            }
        },
    )
}
