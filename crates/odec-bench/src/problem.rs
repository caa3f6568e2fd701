//! Problems: a model of odec, the same problem in C, the known end values, and the weights of errors.

use std::fs;
use std::path::PathBuf;

/// Hand-written C of a problem, and the kind of the problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Small and stiff: the prefix of its functions.
    Small(&'static str),
    /// Non-stiff, by number.
    NonStiff(i32),
    /// Brusselator on a line of so many cells.
    Line(usize),
    /// Brusselator on a torus, cells along an edge.
    Torus(usize),
    /// Heat in a square, points along an edge.
    Square(usize),
}

/// Problem for the comparison.
#[derive(Clone, Debug)]
pub struct Problem {
    /// Short name, for `--only`.
    pub id: String,
    /// Title as a heading.
    pub title: String,
    /// Its C.
    pub kind: Kind,
    /// The model, from the root of the repository.
    pub model: &'static str,
    /// Its constants for this problem.
    pub set: Vec<(String, f64)>,
    /// Names of the states in the order of the reference, if the order of the model differs.
    pub names: Option<Vec<String>>,
    /// End.
    pub t_end: f64,
    /// Absolute tolerance relative to the relative one, and the size below which errors are absolute.
    pub floor: f64,
    /// Tolerances, as negative powers of ten.
    pub digits: (i32, i32),
    /// State at the start, in the order of the reference.
    pub start: Vec<f64>,
    /// State at the end.
    pub reference: Vec<f64>,
}

impl Problem {
    /// Largest error of an end, relative with a floor.
    pub fn error(&self, end: &[f64]) -> f64 {
        let mut largest = 0.0f64;
        for (y, r) in end.iter().zip(&self.reference) {
            let error = (y - r).abs() / (r.abs() + self.floor);
            if !(error <= largest) {
                largest = error;
            }
        }
        largest
    }

    /// Number of unknowns.
    pub fn n(&self) -> usize {
        self.start.len()
    }
}

/// The root of the repository.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn reference(name: &str) -> Vec<f64> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("refs").join(format!("{name}.txt"));
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    text.split_whitespace().map(|w| w.parse().unwrap_or_else(|_| panic!("{w} in {}", path.display()))).collect()
}

/// All problems, in the order of the page.
pub fn all() -> Vec<Problem> {
    let mut list = small();
    list.extend(non_stiff());
    list.extend([50, 500, 5000].map(line));
    list.extend([32, 128].map(torus));
    list.push(square(64));
    list
}

/// The species of POLLU in the order of its source.
const POLLU: [&str; 20] = [
    "NO2", "NO", "O", "O3", "HO2", "OH", "HCHO", "CO", "ALD", "MEO2", "C2O3", "CO2", "PAN", "CH3O", "HNO3", "O1D",
    "SO2", "SO4", "NO3", "N2O5",
];

fn small() -> Vec<Problem> {
    let list = [
        ("rober40", "Robertson, t = 40", "models/robertson.ode", (2, 13)),
        ("rober1e11", "Robertson, t = 1e11", "models/robertson.ode", (2, 13)),
        ("hires", "HIRES", "models/hires.ode", (2, 13)),
        ("pollu", "POLLU", "models/pollu.ode", (2, 13)),
        ("orego", "OREGO", "models/orego.ode", (2, 13)),
        ("vdp", "Van der Pol, mu = 1000", "models/van_der_pol.ode", (2, 13)),
    ];
    let problem = |(id, title, model, digits): (&'static str, &str, &'static str, (i32, i32))| {
        let (start, t_end, floor) = crate::peer::limit::small(id).start();
        Problem {
            id: id.into(),
            title: title.into(),
            kind: Kind::Small(id),
            model,
            set: vec![],
            // the others have the order of their C code
            names: (id == "pollu").then(|| POLLU.map(String::from).to_vec()),
            t_end,
            floor,
            digits,
            start,
            reference: reference(id),
        }
    };
    list.into_iter().map(problem).collect()
}

fn non_stiff() -> Vec<Problem> {
    let names = |list: &[&str]| Some(list.iter().map(|n| n.to_string()).collect());
    let lorenz = Problem {
        id: "lorenz".into(),
        title: "Lorenz, t = 10".into(),
        kind: Kind::NonStiff(0),
        model: "models/lorenz.ode",
        set: vec![],
        names: None,
        t_end: 10.0,
        floor: 1.0,
        digits: (4, 13),
        start: vec![1.0, 0.0, 0.0],
        reference: vec![-5.85768538242409, -5.831082486426101, 23.93213298702756],
    };
    let arenstorf = Problem {
        id: "arenstorf".into(),
        title: "Arenstorf".into(),
        kind: Kind::NonStiff(1),
        model: "crates/odec-bench/models/arenstorf.ode",
        names: names(&["x", "y", "x'", "y'"]),
        t_end: 17.065216560157964,
        digits: (4, 13),
        start: vec![0.994, 0.0, 0.0, -2.001585106379082522405],
        reference: vec![0.994, 0.0, 0.0, -2.0015851063790824],
        ..lorenz.clone()
    };
    let mut bodies: Vec<String> = vec![];
    for prime in ["", "'"] {
        for axis in ["x", "y"] {
            bodies.extend((1..=7).map(|k| format!("{axis}{k}{prime}")));
        }
    }
    let pleiades = Problem {
        id: "pleiades".into(),
        title: "Pleiades".into(),
        kind: Kind::NonStiff(2),
        model: "models/pleiades.ode",
        names: Some(bodies),
        t_end: 3.0,
        digits: (4, 13),
        start: vec![
            3., 3., -1., -3., 2., -2., 2., 3., -3., 2., 0., 0., -4., 4., 0., 0., 0., 0., 0., 1.75, -1.5, 0., 0., 0.,
            -1.25, 1., 0., 0.,
        ],
        // two methods in quadruple precision
        reference: vec![
            0.3706139143970513,
            3.237284092057233,
            -3.2225590324183235,
            0.6597091455775308,
            0.342558170715658,
            1.5621721014006311,
            -0.7003092922212495,
            -3.943437585517392,
            -3.27138097397255,
            5.225081843456544,
            -2.5906124349774693,
            1.1982136933922747,
            -0.24296823449358235,
            1.0914492404289797,
            3.4170038063143147,
            1.3545845016255011,
            -2.5900655978107756,
            2.025053734714241,
            -1.155815100160449,
            -0.8072988170223022,
            0.5952396354208719,
            -3.7412449612340084,
            0.3773459685750629,
            0.9386858869551079,
            0.36679222272005696,
            -0.3474046353808494,
            2.344915448180937,
            -1.947020434263292,
        ],
        ..lorenz.clone()
    };
    vec![pleiades, lorenz, arenstorf]
}

fn cells(n: usize) -> Vec<(String, f64)> {
    vec![("N".into(), n as f64)]
}

/// Brusselator on a line.
fn line(n: usize) -> Problem {
    Problem {
        id: format!("bruss1d_{n}"),
        title: format!("Brusselator 1-D, {n} cells"),
        kind: Kind::Line(n),
        model: "models/brusselator1d.ode",
        set: cells(n),
        names: None,
        t_end: 10.0,
        floor: 1.0,
        digits: (3, 10),
        start: crate::peer::limit::mesh_start(Kind::Line(n)),
        reference: reference(&format!("bruss1d_{n}")),
    }
}

/// Brusselator on a torus. At its end all cells are equal to 15 digits, so two numbers suffice as a reference.
fn torus(n: usize) -> Problem {
    let (u, v) = match n {
        32 => TORUS_32,
        _ => TORUS_128,
    };
    Problem {
        id: format!("bruss2d_{n}"),
        title: format!("Brusselator 2-D, {n} x {n}"),
        kind: Kind::Torus(n),
        model: "models/brusselator2d.ode",
        set: cells(n),
        names: None,
        t_end: 11.5,
        floor: 1.0,
        digits: (3, 8),
        start: crate::peer::limit::mesh_start(Kind::Torus(n)),
        reference: [u, v].repeat(n * n),
    }
}

/// u and v at 11.5 on 32 by 32 cells, by the classical method of order 4 with 20,000 and 40,000 steps, which differ
/// by 5e-12.
const TORUS_32: (f64, f64) = (0.3132466406081318, 3.9611789791716);
/// The same on 128 by 128 cells, with 80,000 and 120,000 steps, which differ by 3e-12.
const TORUS_128: (f64, f64) = (0.3132379916689763, 3.9606154010193);

/// Heat in a square whose start is a product, and so is its end: of sums over the modes of a line.
fn square(n: usize) -> Problem {
    let t_end = 0.1;
    let h = 1.0 / (n + 1) as f64;
    let pi = std::f64::consts::PI;
    // 4 x (1 - x) as a sum of modes sin(k pi x), each of which decays independently
    let line: Vec<f64> = (1..=n)
        .map(|i| {
            let mode = |k: usize| {
                let k = k as f64;
                let weight: f64 = (1..=n)
                    .map(|j| {
                        let x = j as f64 * h;
                        4.0 * x * (1.0 - x) * (k * pi * x).sin()
                    })
                    .sum();
                let rate = 4.0 / (h * h) * (0.5 * k * pi * h).sin().powi(2);
                2.0 * h * weight * (-rate * t_end).exp() * (k * pi * i as f64 * h).sin()
            };
            (1..=n).map(mode).sum()
        })
        .collect();
    let reference = line.iter().flat_map(|a| line.iter().map(move |b| a * b)).collect();
    Problem {
        id: format!("heat2d_{n}"),
        title: format!("Heat 2-D, {n} x {n}"),
        kind: Kind::Square(n),
        model: "crates/odec-bench/models/heat2d.ode",
        set: cells(n),
        names: None,
        t_end,
        floor: 1.0,
        digits: (3, 10),
        start: crate::peer::limit::mesh_start(Kind::Square(n)),
        reference,
    }
}
