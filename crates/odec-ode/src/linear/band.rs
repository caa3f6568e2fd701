//! A bandwidth-reducing order: reverse Cuthill-McKee (Cuthill & McKee 1969; George 1971) from a pseudo-peripheral
//! vertex (George & Liu 1979).

use crate::pattern::Pattern;

/// Off-diagonal pattern of A + A', in linear time.
pub(super) fn symmetric(pattern: &Pattern) -> Pattern {
    let n = pattern.cols();
    let transposed = transpose(pattern);
    let mut col_ptr = Vec::with_capacity(n + 1);
    let mut row_idx = Vec::with_capacity(2 * pattern.entries());
    col_ptr.push(0);
    for j in 0..n {
        let (a, b) = (&pattern.row_idx[pattern.column(j)], &transposed.row_idx[transposed.column(j)]);
        if a == b {
            // Structurally symmetric here, like most columns.
            row_idx.extend(a.iter().filter(|row| **row as usize != j));
            col_ptr.push(row_idx.len() as u32);
            continue;
        }
        let (mut p, mut q) = (0, 0);
        while p < a.len() || q < b.len() {
            let (left, right) = (a.get(p).copied().unwrap_or(u32::MAX), b.get(q).copied().unwrap_or(u32::MAX));
            let row = left.min(right);
            p += usize::from(left == row);
            q += usize::from(right == row);
            if row as usize != j {
                row_idx.push(row);
            }
        }
        col_ptr.push(row_idx.len() as u32);
    }
    Pattern { rows: n as u32, col_ptr, row_idx }
}

/// The pattern of A', with ascending rows.
pub(super) fn transpose(pattern: &Pattern) -> Pattern {
    let rows = pattern.rows as usize;
    let mut col_ptr = vec![0u32; rows + 1];
    for row in &pattern.row_idx {
        col_ptr[*row as usize + 1] += 1;
    }
    for i in 0..rows {
        col_ptr[i + 1] += col_ptr[i];
    }
    let mut next = col_ptr.clone();
    let mut row_idx = vec![0u32; pattern.entries()];
    for j in 0..pattern.cols() {
        for row in &pattern.row_idx[pattern.column(j)] {
            row_idx[next[*row as usize] as usize] = j as u32;
            next[*row as usize] += 1;
        }
    }
    Pattern { rows: pattern.cols() as u32, col_ptr, row_idx }
}

/// Breadth-first search in a symmetric pattern, without allocation.
struct Search<'a> {
    graph: &'a Pattern,
    /// Number of the last search that visited each vertex.
    seen: Vec<u32>,
    number: u32,
    queue: Vec<u32>,
}

impl Search<'_> {
    fn degree(&self, i: u32) -> usize {
        self.graph.column(i as usize).len()
    }

    /// Visits the component of `root`; returns its depth and the start of its last level in the queue.
    fn levels(&mut self, root: u32) -> (usize, usize) {
        self.number += 1;
        self.queue.clear();
        self.queue.push(root);
        self.seen[root as usize] = self.number;
        let (mut start, mut depth) = (0, 0);
        loop {
            let end = self.queue.len();
            for k in start..end {
                for p in self.graph.column(self.queue[k] as usize) {
                    let i = self.graph.row_idx[p];
                    if self.seen[i as usize] != self.number {
                        self.seen[i as usize] = self.number;
                        self.queue.push(i);
                    }
                }
            }
            if self.queue.len() == end {
                return (depth, start);
            }
            start = end;
            depth += 1;
        }
    }

    /// A pseudo-peripheral vertex of the component of `root`.
    fn peripheral(&mut self, mut root: u32) -> u32 {
        let (mut depth, mut last) = self.levels(root);
        loop {
            let far = self.queue[last..].iter().copied().min_by_key(|i| self.degree(*i)).unwrap_or(root);
            let (deeper, next) = self.levels(far);
            if deeper <= depth {
                return if deeper == depth { far } else { root };
            }
            (root, depth, last) = (far, deeper, next);
        }
    }
}

/// The order of elimination and the half bandwidth of A + A' in it: reverse Cuthill-McKee, or the given order if that
/// is narrower.
pub(super) fn reverse_cuthill_mckee(pattern: &Pattern) -> (Vec<u32>, usize) {
    narrow(&symmetric(pattern))
}

/// Like [`reverse_cuthill_mckee`], for a symmetric pattern without diagonal.
pub(super) fn narrow(graph: &Pattern) -> (Vec<u32>, usize) {
    let n = graph.cols();
    let mut search = Search { graph, seen: vec![0; n], number: 0, queue: Vec::with_capacity(n) };
    let mut order: Vec<u32> = Vec::with_capacity(n);
    let mut placed = vec![false; n];
    for root in 0..n as u32 {
        if placed[root as usize] {
            continue;
        }
        let first = search.peripheral(root);
        let mut next = order.len();
        placed[first as usize] = true;
        order.push(first);
        while next < order.len() {
            let from = order.len();
            for row in &graph.row_idx[graph.column(order[next] as usize)] {
                if !placed[*row as usize] {
                    placed[*row as usize] = true;
                    order.push(*row);
                }
            }
            order[from..].sort_by_key(|i| graph.column(*i as usize).len());
            next += 1;
        }
    }
    order.reverse();
    let given = half_bandwidth(graph, &(0..n as u32).collect::<Vec<_>>());
    let found = half_bandwidth(graph, &order);
    if given <= found { ((0..n as u32).collect(), given) } else { (order, found) }
}

/// The position of each column in the order.
pub(super) fn inverse(order: &[u32]) -> Vec<u32> {
    let mut position = vec![0; order.len()];
    for (k, j) in order.iter().enumerate() {
        position[*j as usize] = k as u32;
    }
    position
}

fn half_bandwidth(graph: &Pattern, order: &[u32]) -> usize {
    let position = inverse(order);
    graph.positions().map(|(i, j)| position[i].abs_diff(position[j]) as usize).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_fields_one_after_the_other_are_interleaved() {
        // u of 50 cells, then v: the order reduces the half bandwidth from 50 to 2.
        let cells = 50;
        let next = (0..cells - 1).flat_map(|i| [(i, i + 1), (i + 1, i)]);
        let both = next.flat_map(|(i, j)| [(i, j), (cells + i, cells + j)]);
        let across = (0..cells).flat_map(|i| [(i, cells + i), (cells + i, i), (i, i)]);
        let pattern = Pattern::from_positions(2 * cells, 2 * cells, both.chain(across));
        let (order, width) = reverse_cuthill_mckee(&pattern);
        assert_eq!(width, 2);
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert!(sorted.iter().enumerate().all(|(k, j)| k == *j as usize));
    }

    #[test]
    fn a_pattern_is_transposed_and_made_symmetric() {
        let pattern = Pattern::from_positions(3, 3, [(0, 0), (2, 0), (0, 1), (1, 2)]);
        assert_eq!(transpose(&pattern), Pattern::from_positions(3, 3, [(0, 0), (0, 2), (1, 0), (2, 1)]));
        let both = [(2, 0), (0, 2), (0, 1), (1, 0), (1, 2), (2, 1)];
        assert_eq!(symmetric(&pattern), Pattern::from_positions(3, 3, both));
    }

    #[test]
    fn separate_parts_and_empty_rows_all_have_their_place() {
        let pattern = Pattern::from_positions(6, 6, [(0, 5), (5, 0), (2, 4)]);
        let (order, width) = reverse_cuthill_mckee(&pattern);
        assert_eq!(width, 1);
        assert_eq!(order.len(), 6);
    }
}
