//! The structural index: the number of differentiations of each equation, from the orders of the derivatives in the
//! equations (J. D. Pryce, A simple structural analysis method for DAEs, BIT 41 (2001) 364).
//!
//! The entry of the matrix Sigma is the highest order of the derivative of variable j in equation i; it is absent if
//! i does not contain j. A transversal with the largest sum assigns a variable to each equation. The smallest c,
//! d >= 0 with d_j - c_i >= sigma_ij everywhere, and equality on the transversal, mean that equation i is
//! differentiated c_i times, and that derivatives of variable j up to order d_j then occur.

/// c of the equations and d of the variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Offsets {
    pub equations: Vec<u32>,
    pub variables: Vec<u32>,
}

/// An equation without a variable, and a variable without an equation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Singular {
    pub equation: usize,
    pub variable: usize,
}

/// The cost of an absent entry: larger than the sum of all others.
const ABSENT: i64 = 1 << 32;

/// The offsets of a square Sigma, given by rows as (variable, order).
pub(super) fn offsets(sigma: &[Vec<(usize, u32)>]) -> Result<Offsets, Singular> {
    let transversal = transversal(sigma)?;
    let n = sigma.len();
    let mut found = Offsets { equations: vec![0; n], variables: vec![0; n] };
    // the smallest solution, by a fixed-point iteration from below: it converges for a transversal with the largest sum
    loop {
        for (entries, c) in sigma.iter().zip(&found.equations) {
            for &(j, order) in entries {
                found.variables[j] = found.variables[j].max(order + c);
            }
        }
        let mut changed = false;
        for (i, &(j, order)) in transversal.iter().enumerate() {
            let c = found.variables[j] - order;
            changed |= c != found.equations[i];
            found.equations[i] = c;
        }
        if !changed {
            return Ok(found);
        }
    }
}

/// The variable of each equation, with its order, so that the sum of the orders is maximal: shortest augmenting paths
/// with potentials (H. W. Kuhn, Naval Res. Logist. Quart. 2 (1955) 83; N. Tomizawa, Networks 1 (1971) 173).
fn transversal(sigma: &[Vec<(usize, u32)>]) -> Result<Vec<(usize, u32)>, Singular> {
    let n = sigma.len();
    let mut costs = vec![ABSENT; n * n];
    for (i, entries) in sigma.iter().enumerate() {
        for &(j, order) in entries {
            costs[i * n + j] = -i64::from(order);
        }
    }
    // column n is the root of each search; `row_of[n]` is the row that is being placed
    let (mut of_rows, mut of_columns) = (vec![0i64; n], vec![0i64; n + 1]);
    let mut row_of = vec![usize::MAX; n + 1];
    let mut from = vec![n; n + 1];
    for row in 0..n {
        row_of[n] = row;
        let mut column = n;
        let mut distance = vec![i64::MAX; n + 1];
        let mut done = vec![false; n + 1];
        while row_of[column] != usize::MAX {
            done[column] = true;
            let i = row_of[column];
            let (mut least, mut next) = (i64::MAX, n);
            for j in (0..n).filter(|j| !done[*j]) {
                let reduced = costs[i * n + j] - of_rows[i] - of_columns[j];
                if reduced < distance[j] {
                    (distance[j], from[j]) = (reduced, column);
                }
                if distance[j] < least {
                    (least, next) = (distance[j], j);
                }
            }
            for j in 0..=n {
                if done[j] {
                    of_rows[row_of[j]] += least;
                    of_columns[j] -= least;
                } else if distance[j] != i64::MAX {
                    distance[j] -= least;
                }
            }
            column = next;
        }
        while column != n {
            row_of[column] = row_of[from[column]];
            column = from[column];
        }
    }
    let mut chosen = vec![(0, 0); n];
    for (variable, &equation) in row_of[..n].iter().enumerate() {
        match sigma[equation].iter().find(|entry| entry.0 == variable) {
            Some(&entry) => chosen[equation] = entry,
            None => return Err(Singular { equation, variable }),
        }
    }
    Ok(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pendulum with second derivatives: Pryce's first example.
    #[test]
    fn the_constraint_of_a_pendulum_is_differentiated_twice() {
        let sigma = [vec![(0, 2), (2, 0)], vec![(1, 2), (2, 0)], vec![(0, 0), (1, 0)]];
        let found = offsets(&sigma).expect("a transversal");
        assert_eq!(found, Offsets { equations: vec![0, 0, 2], variables: vec![2, 2, 0] });
    }

    /// The same system with velocities as variables: their definitions are differentiated once.
    #[test]
    fn equations_of_first_order_count_once_more() {
        // x' = u, y' = v, u' = -T x, v' = -T y, x^2 + y^2 = 1 in x, y, u, v, T
        let sigma = [
            vec![(0, 1), (2, 0)],
            vec![(1, 1), (3, 0)],
            vec![(2, 1), (0, 0), (4, 0)],
            vec![(3, 1), (1, 0), (4, 0)],
            vec![(0, 0), (1, 0)],
        ];
        let found = offsets(&sigma).expect("a transversal");
        assert_eq!(found.equations, [1, 1, 0, 0, 2]);
        assert_eq!(found.variables, [2, 2, 1, 1, 0]);
    }

    #[test]
    fn two_equations_for_one_variable_are_singular() {
        let sigma = [vec![(0, 1)], vec![(0, 0)]];
        assert_eq!(offsets(&sigma), Err(Singular { equation: 1, variable: 1 }));
    }

    /// Compares with all permutations: no transversal has a larger sum, and the offsets are the smallest.
    #[test]
    fn small_matrices_agree_with_all_permutations() {
        let mut seed = 7u64;
        let mut random = move |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        let orders = [[0, 1, 2, 3], [0, 1, 3, 2], [0, 2, 1, 3], [0, 2, 3, 1], [0, 3, 1, 2], [0, 3, 2, 1]];
        let all: Vec<[usize; 4]> = orders.iter().flat_map(|o| (0..4).map(move |k| o.map(|x| (x + k) % 4))).collect();
        let (mut regular, mut singular) = (0, 0);
        for _ in 0..2000 {
            let dense: Vec<Vec<Option<u32>>> =
                (0..4).map(|_| (0..4).map(|_| (random(2) == 0).then(|| random(3) as u32)).collect()).collect();
            let sigma: Vec<Vec<(usize, u32)>> = dense
                .iter()
                .map(|row| row.iter().enumerate().filter_map(|(j, s)| Some((j, (*s)?))).collect())
                .collect();
            let sum = |p: &[usize; 4]| (0..4).map(|i| dense[i][p[i]]).sum::<Option<u32>>();
            let best = all.iter().filter_map(sum).max();
            match (offsets(&sigma), best) {
                (Err(_), None) => singular += 1,
                (Ok(found), Some(best)) => {
                    let total = found.variables.iter().sum::<u32>() - found.equations.iter().sum::<u32>();
                    assert_eq!(total, best, "{sigma:?}");
                    for (entries, c) in sigma.iter().zip(&found.equations) {
                        assert!(entries.iter().all(|&(j, s)| found.variables[j] >= s + c), "{sigma:?}");
                    }
                    regular += 1;
                }
                other => panic!("{sigma:?}: {other:?}"),
            }
        }
        assert!(regular > 200 && singular > 200, "{regular}, {singular}");
    }
}
