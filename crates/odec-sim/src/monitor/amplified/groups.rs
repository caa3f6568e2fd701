//! Columns of df/dy in groups that share no row: one difference of f gives all columns of a group (Curtis, Powell and
//! Reid, "On the estimation of sparse Jacobian matrices", J. Inst. Math. Appl. 13, 1974).

use odec_ode::pattern::Pattern;

/// The columns of a pattern in groups.
pub struct Groups<'a> {
    pattern: &'a Pattern,
    list: Vec<Vec<usize>>,
}

impl<'a> Groups<'a> {
    /// Puts each column into the first group with whose rows it shares none.
    pub fn of(pattern: &'a Pattern) -> Groups<'a> {
        let mut list: Vec<Vec<usize>> = vec![];
        let mut taken: Vec<Vec<bool>> = vec![];
        for column in 0..pattern.cols() {
            let rows = &pattern.row_idx[pattern.column(column)];
            let free = |taken: &Vec<bool>| rows.iter().all(|row| !taken[*row as usize]);
            let group = taken.iter().position(free).unwrap_or_else(|| {
                list.push(vec![]);
                taken.push(vec![false; pattern.rows as usize]);
                taken.len() - 1
            });
            list[group].push(column);
            for row in rows {
                taken[group][*row as usize] = true;
            }
        }
        Groups { pattern, list }
    }

    /// The groups.
    pub fn list(&self) -> &[Vec<usize>] {
        &self.list
    }

    /// The rows of a column.
    pub fn rows(&self, column: usize) -> impl Iterator<Item = usize> + '_ {
        self.pattern.row_idx[self.pattern.column(column)].iter().map(|row| *row as usize)
    }

    /// Number of entries.
    pub fn entries(&self) -> usize {
        self.pattern.entries()
    }
}

#[cfg(test)]
mod tests {
    use super::Groups;
    use odec_ode::pattern::Pattern;

    #[test]
    fn a_band_needs_as_many_groups_as_it_has_diagonals() {
        let n = 20usize;
        let near = |i: usize| (i.saturating_sub(1)..(i + 2).min(n)).map(move |j| (i, j));
        let pattern = Pattern::from_positions(n, n, (0..n).flat_map(near));
        let groups = Groups::of(&pattern);
        assert_eq!(groups.list().len(), 3);
        let mut columns: Vec<usize> = groups.list().concat();
        columns.sort_unstable();
        assert_eq!(columns, (0..n).collect::<Vec<_>>());
        for group in groups.list() {
            let mut rows: Vec<usize> = group.iter().flat_map(|column| groups.rows(*column)).collect();
            let all = rows.len();
            rows.sort_unstable();
            rows.dedup();
            assert_eq!(rows.len(), all, "{group:?}");
        }
        // a full row needs one group for each column
        let full = Pattern::from_positions(n, n, (0..n).map(|j| (0, j)));
        assert_eq!(Groups::of(&full).list().len(), n);
    }
}
