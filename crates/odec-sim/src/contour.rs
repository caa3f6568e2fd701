//! Level curves of a function of two variables that is known on a grid: marching squares.

/// Values on a grid of `xs.len()` by `ys.len()` points, row after row: `values[j * xs.len() + i]` at `(xs[i], ys[j])`.
#[derive(Clone, Debug)]
pub struct Grid {
    /// Abscissas, ascending.
    pub xs: Vec<f64>,
    /// Ordinates, ascending.
    pub ys: Vec<f64>,
    /// Values.
    pub values: Vec<f64>,
}

/// `count` points from `low` to `high`.
pub fn even(low: f64, high: f64, count: usize) -> Vec<f64> {
    let last = count.max(2) - 1;
    (0..=last).map(|k| low + (high - low) * (k as f64 / last as f64)).collect()
}

impl Grid {
    /// The values of `f` on a grid.
    pub fn sample(xs: Vec<f64>, ys: Vec<f64>, mut f: impl FnMut(f64, f64) -> f64) -> Grid {
        let values = ys.iter().flat_map(|y| xs.iter().map(move |x| (*x, *y))).map(|(x, y)| f(x, y)).collect();
        Grid { xs, ys, values }
    }

    /// The closed curves around the region where the value is at most 0, which is on their left; at the edge of the
    /// grid they follow the edge. A value that is NaN is outside the region.
    pub fn region(&self) -> Vec<Vec<(f64, f64)>> {
        let (nx, ny) = (self.xs.len(), self.ys.len());
        let mut xs = vec![self.xs[0]];
        xs.extend(&self.xs);
        xs.push(self.xs[nx - 1]);
        let mut ys = vec![self.ys[0]];
        ys.extend(&self.ys);
        ys.push(self.ys[ny - 1]);
        // the frame is outside the region, so that every curve closes
        let mut values = vec![1.0; (nx + 2) * (ny + 2)];
        for j in 0..ny {
            for i in 0..nx {
                values[(j + 1) * (nx + 2) + i + 1] = self.values[j * nx + i];
            }
        }
        Grid { xs, ys, values }.curves()
    }

    /// The curves on which the value is 0; they are open if they leave the grid.
    pub fn curves(&self) -> Vec<Vec<(f64, f64)>> {
        const NONE: usize = usize::MAX;
        let (nx, ny) = (self.xs.len(), self.ys.len());
        // the edge from point k to the right has number 2k, the edge upwards 2k + 1
        let mut next = vec![NONE; 2 * nx * ny];
        let mut entered = vec![false; 2 * nx * ny];
        for j in 0..ny - 1 {
            for i in 0..nx - 1 {
                let k = j * nx + i;
                let corner = [self.values[k], self.values[k + 1], self.values[k + nx + 1], self.values[k + nx]];
                let (bottom, right, top, left) = (2 * k, 2 * (k + 1) + 1, 2 * (k + nx), 2 * k + 1);
                let case = corner.iter().enumerate().filter(|(_, v)| **v <= 0.0).fold(0, |c, (b, _)| c | (1 << b));
                let joined = corner.iter().sum::<f64>() <= 0.0;
                let pieces: &[(usize, usize)] = match (case, joined) {
                    (1, _) => &[(bottom, left)],
                    (2, _) => &[(right, bottom)],
                    (3, _) => &[(right, left)],
                    (4, _) => &[(top, right)],
                    (5, false) => &[(bottom, left), (top, right)],
                    (5, true) => &[(bottom, right), (top, left)],
                    (6, _) => &[(top, bottom)],
                    (7, _) => &[(top, left)],
                    (8, _) => &[(left, top)],
                    (9, _) => &[(bottom, top)],
                    (10, false) => &[(right, bottom), (left, top)],
                    (10, true) => &[(left, bottom), (right, top)],
                    (11, _) => &[(right, top)],
                    (12, _) => &[(left, right)],
                    (13, _) => &[(bottom, right)],
                    (14, _) => &[(left, bottom)],
                    _ => &[],
                };
                for &(from, to) in pieces {
                    next[from] = to;
                    entered[to] = true;
                }
            }
        }
        let mut curves = vec![];
        // first the curves that start at the edge; the remaining ones are closed
        for open in [true, false] {
            for start in 0..next.len() {
                if next[start] == NONE || (open && entered[start]) {
                    continue;
                }
                let mut curve = vec![self.crossing(start)];
                let mut at = start;
                while next[at] != NONE {
                    let to = std::mem::replace(&mut next[at], NONE);
                    curve.push(self.crossing(to));
                    at = to;
                }
                curves.push(curve);
            }
        }
        curves
    }

    /// The point of an edge at which the value crosses 0.
    fn crossing(&self, edge: usize) -> (f64, f64) {
        let nx = self.xs.len();
        let (a, b) = (edge / 2, if edge.is_multiple_of(2) { edge / 2 + 1 } else { edge / 2 + nx });
        let (va, vb) = (self.values[a], self.values[b]);
        let s = if va.is_finite() && vb.is_finite() && va != vb { va / (va - vb) } else { 0.5 };
        let along = |p: f64, q: f64| p + s * (q - p);
        (along(self.xs[a % nx], self.xs[b % nx]), along(self.ys[a / nx], self.ys[b / nx]))
    }
}

/// Area to the left of a closed curve, negative if it encloses a hole.
pub fn area(curve: &[(f64, f64)]) -> f64 {
    let pairs = curve.iter().zip(curve.iter().cycle().skip(1));
    0.5 * pairs.map(|(a, b)| a.0 * b.1 - b.0 * a.1).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_has_its_area_and_a_hole_is_negative() {
        let grid = |sign: f64| {
            Grid::sample(even(-2.0, 2.0, 201), even(-2.0, 2.0, 201), move |x, y| sign * (x * x + y * y - 1.0)).region()
        };
        let disk = grid(1.0);
        assert_eq!(disk.len(), 1);
        assert!((area(&disk[0]) - std::f64::consts::PI).abs() < 2e-3);
        let mut areas: Vec<f64> = grid(-1.0).iter().map(|c| area(c)).collect();
        areas.sort_by(f64::total_cmp);
        assert_eq!(areas.len(), 2);
        assert!((areas[0] + std::f64::consts::PI).abs() < 2e-3 && (areas[1] - 16.0).abs() < 0.1, "{areas:?}");
    }

    #[test]
    fn open_curves_end_at_the_edge() {
        let grid = Grid::sample(even(0.0, 1.0, 11), even(0.0, 1.0, 11), |x, y| y - 0.55 - 0.2 * x);
        let curves = grid.curves();
        assert_eq!(curves.len(), 1);
        for (x, y) in &curves[0] {
            assert!((y - 0.55 - 0.2 * x).abs() < 1e-12);
        }
        let ends = [curves[0][0].0, curves[0][curves[0].len() - 1].0];
        assert!(ends.contains(&0.0) && ends.contains(&1.0));
    }
}
