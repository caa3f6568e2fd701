//! ILU(0) of 1 - gamma J for the problems on meshes, with solves by rows or written for the grid.

use std::ffi::{c_double, c_int, c_long};

use crate::peer::limit::{Columns, mesh, mesh_jacobian};
use crate::problem::Kind;

unsafe extern "C" {
    fn limit_ilu(
        n: c_long,
        start: *const c_int,
        index: *const c_int,
        diagonal: *const c_int,
        from: *const c_long,
        g: c_double,
        j: *const c_double,
        a: *mut c_double,
        inverse: *mut c_double,
        place: *mut c_int,
    );
    fn limit_ilu_solve(
        n: c_long,
        start: *const c_int,
        index: *const c_int,
        diagonal: *const c_int,
        a: *const c_double,
        inverse: *const c_double,
        b: *const c_double,
        x: *mut c_double,
    );
    fn limit_grid_bands(
        kind: c_int,
        edge: c_int,
        start: *const c_int,
        index: *const c_int,
        diagonal: *const c_int,
        a: *const c_double,
        inverse: *const c_double,
        band: *mut c_double,
    );
    fn limit_grid_solve(kind: c_int, edge: c_int, band: *const c_double, b: *const c_double, x: *mut c_double);
}

/// Incomplete factors and their Jacobian.
pub struct Incomplete {
    kind: Kind,
    number: c_int,
    edge: c_int,
    grid: bool,
    columns: Columns,
    /// Rows: their starts, their columns, their diagonals, and the index of each entry in the order by columns.
    start: Vec<c_int>,
    index: Vec<c_int>,
    diagonal: Vec<c_int>,
    from: Vec<c_long>,
    a: Vec<f64>,
    inverse: Vec<f64>,
    place: Vec<c_int>,
    band: Vec<f64>,
}

impl Incomplete {
    /// Preconditioner for a problem on a mesh, from its Jacobian at `y`. `grid`: with the solves written for the grid.
    pub fn new(kind: Kind, y: &[f64], grid: bool) -> Option<Incomplete> {
        let (number, edge, n) = mesh(kind)?;
        let mut columns = Columns::default();
        mesh_jacobian(kind, y, &mut columns);
        let entries = columns.row.len();
        let mut start = vec![0; n + 1];
        for &row in &columns.row {
            start[row as usize + 1] += 1;
        }
        for i in 0..n {
            start[i + 1] += start[i];
        }
        let mut next = start.clone();
        let (mut index, mut from, mut diagonal) = (vec![0; entries], vec![0; entries], vec![0; n]);
        for col in 0..n {
            for k in columns.start[col]..columns.start[col + 1] {
                let row = columns.row[k as usize] as usize;
                let at = next[row] as usize;
                next[row] += 1;
                index[at] = col as c_int;
                from[at] = k;
                if row == col {
                    diagonal[row] = at as c_int;
                }
            }
        }
        Some(Incomplete {
            kind,
            number,
            edge,
            grid: grid && number != 1,
            columns,
            start,
            index,
            diagonal,
            from,
            a: vec![0.0; entries],
            inverse: vec![0.0; n],
            place: vec![0; n],
            band: if grid { vec![0.0; 8 * n] } else { vec![] },
        })
    }

    /// Evaluates the Jacobian.
    pub fn evaluate(&mut self, y: &[f64]) {
        mesh_jacobian(self.kind, y, &mut self.columns);
    }

    /// Factors 1 - gamma J.
    pub fn factor(&mut self, gamma: f64) {
        // SAFETY: all arrays were made for this pattern.
        unsafe {
            limit_ilu(
                self.inverse.len() as c_long,
                self.start.as_ptr(),
                self.index.as_ptr(),
                self.diagonal.as_ptr(),
                self.from.as_ptr(),
                gamma,
                self.columns.value.as_ptr(),
                self.a.as_mut_ptr(),
                self.inverse.as_mut_ptr(),
                self.place.as_mut_ptr(),
            );
            if self.grid {
                limit_grid_bands(
                    self.number,
                    self.edge,
                    self.start.as_ptr(),
                    self.index.as_ptr(),
                    self.diagonal.as_ptr(),
                    self.a.as_ptr(),
                    self.inverse.as_ptr(),
                    self.band.as_mut_ptr(),
                );
            }
        }
    }

    /// Solves with the factors.
    pub fn solve(&self, b: &[f64], x: &mut [f64]) {
        // SAFETY: as above; b and x have n values.
        unsafe {
            if self.grid {
                return limit_grid_solve(self.number, self.edge, self.band.as_ptr(), b.as_ptr(), x.as_mut_ptr());
            }
            limit_ilu_solve(
                self.inverse.len() as c_long,
                self.start.as_ptr(),
                self.index.as_ptr(),
                self.diagonal.as_ptr(),
                self.a.as_ptr(),
                self.inverse.as_ptr(),
                b.as_ptr(),
                x.as_mut_ptr(),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Incomplete;
    use crate::peer::limit::mesh_start;
    use crate::problem::Kind;

    /// The solves for grids agree with the solves by rows. On a line, where nothing fills in, both are close to the
    /// inverse, blocks of two excepted.
    #[test]
    fn solves_for_the_grid_are_those_by_rows() {
        for kind in [Kind::Torus(5), Kind::Torus(8), Kind::Square(6)] {
            let y = mesh_start(kind);
            let mut solutions = [false, true].map(|grid| {
                let mut ilu = Incomplete::new(kind, &y, grid).expect("a mesh");
                ilu.evaluate(&y);
                ilu.factor(0.01);
                let b: Vec<f64> = (0..y.len()).map(|k| 1.0 + (k as f64).sin()).collect();
                let mut x = vec![0.0; y.len()];
                ilu.solve(&b, &mut x);
                x
            });
            let [rows, grid] = &mut solutions;
            for (a, b) in rows.iter().zip(grid.iter()) {
                assert!((a - b).abs() < 1e-12 * (1.0 + a.abs()), "{kind:?}: {a} {b}");
            }
        }
    }
}
