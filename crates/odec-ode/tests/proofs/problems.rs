//! The nine test problems with closed solutions that the proofs of the methods run on, with exact derivatives.

use odec_ode::pattern::Pattern;
use odec_ode::system::{EvalError, Jacobian, Mass, Shape, System};

/// A function of (t, y) with n or n x n values.
type Values = fn(f64, &[f64], &mut [f64]);

/// Small dense system given by functions of (t, y).
pub struct Proof {
    /// Name for messages.
    pub name: &'static str,
    n: usize,
    second: usize,
    /// End of the interval, which starts at 0.
    pub t_end: f64,
    rhs: Values,
    /// Row-major n x n.
    jacobian: Values,
    time_derivative: Option<Values>,
    /// Row-major n x n.
    mass: Option<&'static [f64]>,
    /// M(t, y), instead of `mass`.
    moving: Option<&'static Moving>,
    exact: fn(f64, &mut [f64]),
    /// True if df/dt is as large as f, so that a method that ignores it is detected.
    pub strong_time: bool,
    /// True if accelerations do not depend on velocities, also in the pattern.
    pub free_of_velocities: bool,
}

/// A mass matrix that depends on time and state, row-major n x n.
pub struct Moving {
    /// M(t, y).
    mass: Values,
    /// d(M(t, y) w)/dy for a fixed w.
    jacobian: fn(f64, &[f64], &[f64], &mut [f64]),
    /// d(M(t, y) w)/dt for a fixed w, n values.
    time_derivative: fn(f64, &[f64], &[f64], &mut [f64]),
}

/// A `Proof` with its patterns.
pub struct Bound {
    pub proof: &'static Proof,
    pattern: Pattern,
    mass: Option<(Pattern, Vec<f64>)>,
}

/// Every position of an n x n matrix.
pub fn dense_pattern(n: usize) -> Pattern {
    let n32 = n as u32;
    Pattern {
        rows: n32,
        col_ptr: (0..=n32).map(|j| j * n32).collect(),
        row_idx: (0..n32).flat_map(|_| 0..n32).collect(),
    }
}

impl Proof {
    pub fn bind(&'static self) -> Bound {
        let all = dense_pattern(self.n);
        let pattern = if self.free_of_velocities {
            let entries = all.positions().filter(|(r, c)| *r < self.second || *c < self.second);
            Pattern::from_positions(self.n, self.n, entries)
        } else {
            all
        };
        let mass = self.mass.map(|m| (dense_pattern(self.n), transpose(m, self.n)));
        Bound { proof: self, pattern, mass }
    }

    pub fn exact(&self, t: f64) -> Vec<f64> {
        let mut y = vec![0.0; self.n];
        (self.exact)(t, &mut y);
        y
    }

    /// True if some equation has no derivative.
    pub fn algebraic(&self) -> bool {
        self.mass.is_some_and(|m| m.chunks(self.n).any(|row| row.iter().all(|v| *v == 0.0)))
    }

    /// True if all unknowns are second-order with a constant mass.
    pub fn pure_second_order(&self) -> bool {
        self.second > 0 && self.n == 2 * self.second && self.moving.is_none()
    }

    pub fn second_order(&self) -> bool {
        self.second > 0
    }

    pub fn has_mass(&self) -> bool {
        self.mass.is_some()
    }

    /// True if M depends on time or state.
    pub fn moving_mass(&self) -> bool {
        self.moving.is_some()
    }
}

fn transpose(m: &[f64], n: usize) -> Vec<f64> {
    (0..n).flat_map(|j| (0..n).map(move |i| m[i * n + j])).collect()
}

impl System for Bound {
    fn shape(&self) -> Shape {
        Shape { n: self.proof.n, second: self.proof.second }
    }
    fn rhs(&self, t: f64, y: &[f64], f: &mut [f64]) -> Result<(), EvalError> {
        (self.proof.rhs)(t, y, f);
        Ok(())
    }
    fn jacobian(&self) -> Jacobian<'_> {
        Jacobian::Entries(&self.pattern)
    }
    fn jacobian_values(&self, t: f64, y: &[f64], values: &mut [f64]) -> Result<(), EvalError> {
        let n = self.proof.n;
        let mut rows = [0.0; 16];
        (self.proof.jacobian)(t, y, &mut rows[..n * n]);
        for (value, (i, j)) in values.iter_mut().zip(self.pattern.positions()) {
            *value = rows[i * n + j];
        }
        Ok(())
    }
    fn jacobian_vector(&self, t: f64, y: &[f64], w: &[f64], out: &mut [f64]) -> Result<(), EvalError> {
        let n = self.proof.n;
        let mut rows = [0.0; 16];
        (self.proof.jacobian)(t, y, &mut rows[..n * n]);
        for i in 0..n {
            out[i] = (0..n).map(|j| rows[i * n + j] * w[j]).sum();
        }
        Ok(())
    }
    fn time_derivative(&self, t: f64, y: &[f64], out: &mut [f64]) -> Result<(), EvalError> {
        match self.proof.time_derivative {
            Some(ft) => ft(t, y, out),
            None => out.fill(0.0),
        }
        Ok(())
    }
    fn autonomous(&self) -> bool {
        self.proof.time_derivative.is_none()
    }
    fn mass(&self) -> Mass<'_> {
        if self.proof.moving.is_some() {
            return Mass::StateDependent { pattern: &self.pattern, jacobian: &self.pattern };
        }
        match &self.mass {
            Some((pattern, values)) => Mass::Constant(pattern, values),
            None => Mass::Identity,
        }
    }
    fn mass_values(&self, t: f64, y: &[f64], values: &mut [f64]) -> Result<(), EvalError> {
        let moving = self.proof.moving.ok_or(EvalError::Fatal)?;
        let mut rows = [0.0; 16];
        (moving.mass)(t, y, &mut rows);
        self.by_columns(&rows, values);
        Ok(())
    }
    fn mass_jacobian(&self, t: f64, y: &[f64], w: &[f64], values: &mut [f64]) -> Result<(), EvalError> {
        let moving = self.proof.moving.ok_or(EvalError::Fatal)?;
        let mut rows = [0.0; 16];
        (moving.jacobian)(t, y, w, &mut rows);
        self.by_columns(&rows, values);
        Ok(())
    }
}

impl Bound {
    fn by_columns(&self, rows: &[f64], values: &mut [f64]) {
        let n = self.proof.n;
        for j in 0..n {
            for i in 0..n {
                values[j * n + i] = rows[i * n + j];
            }
        }
    }
}

/// y' = 3 y (1 - y).
static LOGISTIC: Proof = Proof {
    name: "logistic",
    n: 1,
    second: 0,
    t_end: 2.0,
    rhs: |_, y, f| f[0] = 3.0 * y[0] * (1.0 - y[0]),
    jacobian: |_, y, j| j[0] = 3.0 - 6.0 * y[0],
    time_derivative: None,
    mass: None,
    moving: None,
    exact: |t, y| y[0] = 1.0 / (1.0 + 4.0 * (-3.0 * t).exp()),
    strong_time: false,
    free_of_velocities: false,
};

/// Motion on circles with the angle t + (1 - cos 2t)/4. Its speed depends on time, and on the radius, so that an
/// error of the radius becomes an error of the phase (on an attracting circle odd orders would look higher by one).
static CIRCLE: Proof = Proof {
    name: "circle",
    n: 2,
    second: 0,
    t_end: 3.0,
    rhs: |t, y, f| {
        let speed = (1.0 + 0.5 * (2.0 * t).sin()) * (y[0] * y[0] + y[1] * y[1]);
        f[0] = -speed * y[1];
        f[1] = speed * y[0];
    },
    jacobian: |t, y, j| {
        let w = 1.0 + 0.5 * (2.0 * t).sin();
        let s = y[0] * y[0] + y[1] * y[1];
        j[0] = w * -2.0 * y[0] * y[1];
        j[1] = w * (-s - 2.0 * y[1] * y[1]);
        j[2] = w * (s + 2.0 * y[0] * y[0]);
        j[3] = w * 2.0 * y[0] * y[1];
    },
    time_derivative: Some(|t, y, out| {
        let rate = (2.0 * t).cos() * (y[0] * y[0] + y[1] * y[1]);
        out[0] = -rate * y[1];
        out[1] = rate * y[0];
    }),
    mass: None,
    moving: None,
    exact: |t, y| {
        let angle = t + 0.25 * (1.0 - (2.0 * t).cos());
        y[0] = angle.cos();
        y[1] = angle.sin();
    },
    strong_time: true,
    free_of_velocities: false,
};

/// Prothero & Robinson 1974 with lambda = -5 and the solution sin 3t: df/dt is larger than f.
static FORCED: Proof = Proof {
    name: "forced",
    n: 1,
    second: 0,
    t_end: 2.0,
    rhs: |t, y, f| f[0] = -5.0 * (y[0] - (3.0 * t).sin()) + 3.0 * (3.0 * t).cos(),
    jacobian: |_, _, j| j[0] = -5.0,
    time_derivative: Some(|t, _, out| out[0] = 15.0 * (3.0 * t).cos() - 9.0 * (3.0 * t).sin()),
    mass: None,
    moving: None,
    exact: |t, y| y[0] = (3.0 * t).sin(),
    strong_time: true,
    free_of_velocities: false,
};

/// Kaps' problem (Hairer & Wanner II, exercise IV.7) with epsilon = 0.5.
static KAPS: Proof = Proof {
    name: "kaps",
    n: 2,
    second: 0,
    t_end: 2.0,
    rhs: |_, y, f| {
        f[0] = -4.0 * y[0] + 2.0 * y[1] * y[1];
        f[1] = y[0] - y[1] * (1.0 + y[1]);
    },
    jacobian: |_, y, j| {
        j[0] = -4.0;
        j[1] = 4.0 * y[1];
        j[2] = 1.0;
        j[3] = -1.0 - 2.0 * y[1];
    },
    time_derivative: None,
    mass: None,
    moving: None,
    exact: |t, y| {
        y[0] = (-2.0 * t).exp();
        y[1] = (-t).exp();
    },
    strong_time: false,
    free_of_velocities: false,
};

/// x'' = -x - x^3 - 0.2 (x' + sin t) + cos(t)^3: second order, with the solution cos t.
static DUFFING: Proof = Proof {
    name: "duffing",
    n: 2,
    second: 1,
    t_end: 4.0,
    rhs: |t, y, f| {
        f[0] = y[1];
        f[1] = -y[0] - y[0].powi(3) - 0.2 * (y[1] + t.sin()) + t.cos().powi(3);
    },
    jacobian: |_, y, j| {
        j[0] = 0.0;
        j[1] = 1.0;
        j[2] = -1.0 - 3.0 * y[0] * y[0];
        j[3] = -0.2;
    },
    time_derivative: Some(|t, _, out| {
        out[0] = 0.0;
        out[1] = -0.2 * t.cos() - 3.0 * t.cos().powi(2) * t.sin();
    }),
    mass: None,
    moving: None,
    exact: |t, y| {
        y[0] = t.cos();
        y[1] = -t.sin();
    },
    strong_time: true,
    free_of_velocities: false,
};

/// x'' = -x - x^3 + cos(t)^3: no damping, with the solution cos t.
static SPRING: Proof = Proof {
    name: "spring",
    n: 2,
    second: 1,
    t_end: 4.0,
    rhs: |t, y, f| {
        f[0] = y[1];
        f[1] = -y[0] - y[0].powi(3) + t.cos().powi(3);
    },
    jacobian: |_, y, j| {
        j[0] = 0.0;
        j[1] = 1.0;
        j[2] = -1.0 - 3.0 * y[0] * y[0];
        j[3] = 0.0;
    },
    time_derivative: Some(|t, _, out| {
        out[0] = 0.0;
        out[1] = -3.0 * t.cos().powi(2) * t.sin();
    }),
    mass: None,
    moving: None,
    exact: |t, y| {
        y[0] = t.cos();
        y[1] = -t.sin();
    },
    strong_time: true,
    free_of_velocities: true,
};

/// x'' coupled with a first-order unknown: y = [q, v, z].
static MIXED: Proof = Proof {
    name: "mixed",
    n: 3,
    second: 1,
    t_end: 6.0,
    rhs: |t, y, f| {
        f[0] = y[1];
        f[1] = -y[0] + y[0] * (y[2] - (-0.5 * t).exp());
        f[2] = -0.5 * y[2] - 0.5 * (y[0] * y[0] + y[1] * y[1] - 1.0);
    },
    jacobian: |t, y, j| {
        j[..3].copy_from_slice(&[0.0, 1.0, 0.0]);
        j[3..6].copy_from_slice(&[-1.0 + y[2] - (-0.5 * t).exp(), 0.0, y[0]]);
        j[6..9].copy_from_slice(&[-y[0], -y[1], -0.5]);
    },
    time_derivative: Some(|t, y, out| {
        out[0] = 0.0;
        out[1] = 0.5 * y[0] * (-0.5 * t).exp();
        out[2] = 0.0;
    }),
    mass: None,
    moving: None,
    exact: |t, y| {
        y[0] = t.cos();
        y[1] = -t.sin();
        y[2] = (-0.5 * t).exp();
    },
    strong_time: false,
    free_of_velocities: false,
};

/// The circles with M = [[2, 1], [1, 3]].
static MASSIVE: Proof = Proof {
    name: "mass matrix",
    n: 2,
    second: 0,
    t_end: 3.0,
    rhs: |t, y, f| {
        (CIRCLE.rhs)(t, y, f);
        (f[0], f[1]) = (2.0 * f[0] + f[1], f[0] + 3.0 * f[1]);
    },
    jacobian: |t, y, j| {
        let mut c = [0.0; 4];
        (CIRCLE.jacobian)(t, y, &mut c);
        for k in 0..2 {
            j[k] = 2.0 * c[k] + c[2 + k];
            j[2 + k] = c[k] + 3.0 * c[2 + k];
        }
    },
    time_derivative: Some(|t, y, out| {
        if let Some(rate) = CIRCLE.time_derivative {
            rate(t, y, out);
        }
        (out[0], out[1]) = (2.0 * out[0] + out[1], out[0] + 3.0 * out[1]);
    }),
    mass: Some(&[2.0, 1.0, 1.0, 3.0]),
    moving: None,
    exact: |t, y| (CIRCLE.exact)(t, y),
    strong_time: true,
    free_of_velocities: false,
};

/// Index 1: y' = -y z + ..., 0 = z - y^2 + ..., forced so that y = cos t, z = sin t + 2.
static ALGEBRAIC: Proof = Proof {
    name: "algebraic",
    n: 2,
    second: 0,
    t_end: 4.0,
    rhs: |t, y, f| {
        let (c, s) = (t.cos(), t.sin());
        f[0] = -s - y[0] * y[1] + c * (s + 2.0);
        f[1] = y[1] - s - 2.0 + 0.5 * (y[0] * y[0] - c * c) + 0.1 * (y[1].powi(3) - (s + 2.0).powi(3));
    },
    jacobian: |_, y, j| {
        j[0] = -y[1];
        j[1] = -y[0];
        j[2] = y[0];
        j[3] = 1.0 + 0.3 * y[1] * y[1];
    },
    time_derivative: Some(|t, _, out| {
        let (c, s) = (t.cos(), t.sin());
        out[0] = -c - s * (s + 2.0) + c * c;
        out[1] = -c + c * s - 0.3 * (s + 2.0).powi(2) * c;
    }),
    mass: Some(&[1.0, 0.0, 0.0, 0.0]),
    moving: None,
    exact: |t, y| {
        y[0] = t.cos();
        y[1] = t.sin() + 2.0;
    },
    strong_time: true,
    free_of_velocities: false,
};

/// The problem of second order with a first-order unknown, multiplied by an M(t, y) that couples v' and z'.
static MOVING: Proof = Proof {
    name: "moving mass",
    n: 3,
    second: 1,
    t_end: 4.0,
    rhs: |t, y, f| {
        let (mut g, mut m) = ([0.0; 3], [0.0; 9]);
        (MIXED.rhs)(t, y, &mut g);
        moving_mass(t, y, &mut m);
        for i in 0..3 {
            f[i] = (0..3).map(|k| m[3 * i + k] * g[k]).sum();
        }
    },
    jacobian: |t, y, j| {
        let (mut g, mut dg, mut m) = ([0.0; 3], [0.0; 9], [0.0; 9]);
        (MIXED.rhs)(t, y, &mut g);
        (MIXED.jacobian)(t, y, &mut dg);
        moving_mass(t, y, &mut m);
        (MASS.jacobian)(t, y, &g, j);
        for i in 0..3 {
            for k in 0..3 {
                j[3 * i + k] += (0..3).map(|l| m[3 * i + l] * dg[3 * l + k]).sum::<f64>();
            }
        }
    },
    time_derivative: Some(|t, y, out| {
        let (mut g, mut gt, mut m) = ([0.0; 3], [0.0; 3], [0.0; 9]);
        (MIXED.rhs)(t, y, &mut g);
        if let Some(rate) = MIXED.time_derivative {
            rate(t, y, &mut gt);
        }
        moving_mass(t, y, &mut m);
        (MASS.time_derivative)(t, y, &g, out);
        for i in 0..3 {
            out[i] += (0..3).map(|k| m[3 * i + k] * gt[k]).sum::<f64>();
        }
    }),
    mass: None,
    moving: Some(&MASS),
    exact: |t, y| (MIXED.exact)(t, y),
    strong_time: false,
    free_of_velocities: false,
};

/// [1 0 0; 0 1.5 + 4 q^2 0.3 sin t; 0 0.2 z 2 + 0.5 v cos t].
fn moving_mass(t: f64, y: &[f64], m: &mut [f64]) {
    m[..3].copy_from_slice(&[1.0, 0.0, 0.0]);
    m[3..6].copy_from_slice(&[0.0, 1.5 + 4.0 * y[0] * y[0], 0.3 * t.sin()]);
    m[6..9].copy_from_slice(&[0.0, 0.2 * y[2], 2.0 + 0.5 * y[1] * t.cos()]);
}

static MASS: Moving = Moving {
    mass: moving_mass,
    jacobian: |t, y, w, j| {
        j[..3].fill(0.0);
        j[3..6].copy_from_slice(&[8.0 * y[0] * w[1], 0.0, 0.0]);
        j[6..9].copy_from_slice(&[0.0, 0.5 * t.cos() * w[2], 0.2 * w[1]]);
    },
    time_derivative: |t, y, w, out| {
        out[0] = 0.0;
        out[1] = 0.3 * t.cos() * w[2];
        out[2] = -0.5 * y[1] * t.sin() * w[2];
    },
};

/// The list.
pub static PROOFS: [&Proof; 10] =
    [&LOGISTIC, &CIRCLE, &FORCED, &KAPS, &DUFFING, &SPRING, &MIXED, &MASSIVE, &ALGEBRAIC, &MOVING];
