//! Nested dissection (George 1973) by level structures: a middle level of a breadth-first search separates the
//! vertices before it from the vertices behind it; the separators are eliminated last.

use crate::linear::band::symmetric;
use crate::linear::ordering::minimum_degree;
use crate::pattern::Pattern;

/// Parts up to this size are ordered by minimum degree.
const LEAF: usize = 64;
/// The separator is chosen so that the share of vertices before it lies between these fractions.
const BALANCE: [f64; 2] = [0.35, 0.65];

/// The columns in the order of elimination.
pub(super) fn nested_dissection(pattern: &Pattern) -> Vec<u32> {
    let n = pattern.cols();
    let graph = symmetric(pattern);
    let mut order = vec![0u32; n];
    // Parts, each with the end of its positions in the order; each vertex is marked with its part.
    let mut part = vec![0u32; n];
    let mut parts = 1u32;
    let mut level = vec![u32::MAX; n];
    let mut work = vec![((0..n as u32).collect::<Vec<u32>>(), n)];
    while let Some((vertices, end)) = work.pop() {
        let own = part[vertices.first().map_or(0, |v| *v as usize)];
        if vertices.len() <= LEAF {
            place_leaf(&graph, &vertices, &mut order[end - vertices.len()..end]);
            continue;
        }
        let (queue, starts) = levels(&graph, &vertices, own, &part, &mut level);
        if queue.len() < vertices.len() {
            // The part is not connected: split it into the reached vertices and the rest.
            let rest: Vec<u32> = vertices.iter().copied().filter(|v| level[*v as usize] == u32::MAX).collect();
            for v in &queue {
                level[*v as usize] = u32::MAX;
            }
            for v in &rest {
                part[*v as usize] = parts;
            }
            parts += 1;
            let middle = end - queue.len();
            work.push((queue, end));
            work.push((rest, middle));
            continue;
        }
        for v in &queue {
            level[*v as usize] = u32::MAX;
        }
        let total = queue.len() as f64;
        let size = |l: usize| starts[l + 1] - starts[l];
        let inside = |l: &usize| {
            let before = starts[*l] as f64 / total;
            (BALANCE[0]..=BALANCE[1]).contains(&before)
        };
        let depth = starts.len() - 1;
        let Some(cut) = (1..depth).filter(inside).min_by_key(|l| size(*l)) else {
            place_leaf(&graph, &vertices, &mut order[end - vertices.len()..end]);
            continue;
        };
        let separator = &queue[starts[cut]..starts[cut + 1]];
        order[end - separator.len()..end].copy_from_slice(separator);
        for v in separator {
            part[*v as usize] = u32::MAX;
        }
        let behind = queue[starts[cut + 1]..].to_vec();
        for v in &behind {
            part[*v as usize] = parts;
        }
        parts += 1;
        let end = end - separator.len();
        let before = queue[..starts[cut]].to_vec();
        let middle = end - behind.len();
        if !behind.is_empty() {
            work.push((behind, end));
        }
        work.push((before, middle));
    }
    order
}

/// Breadth-first search of a part from a far vertex: the vertices in order, and the start of each level.
fn levels(graph: &Pattern, vertices: &[u32], own: u32, part: &[u32], level: &mut [u32]) -> (Vec<u32>, Vec<usize>) {
    let mut root = vertices[0];
    let mut deepest = 0;
    loop {
        let mut queue = vec![root];
        let mut starts = vec![0];
        level[root as usize] = 0;
        while starts.last().is_some_and(|s| *s < queue.len()) {
            let (from, to) = (starts[starts.len() - 1], queue.len());
            for k in from..to {
                let v = queue[k] as usize;
                for p in graph.column(v) {
                    let i = graph.row_idx[p] as usize;
                    if part[i] == own && level[i] == u32::MAX {
                        level[i] = starts.len() as u32;
                        queue.push(i as u32);
                    }
                }
            }
            starts.push(to);
        }
        // The last entry is the end of the last level; an empty level is never pushed twice.
        let depth = starts.len() - 1;
        if depth <= deepest {
            return (queue, starts);
        }
        deepest = depth;
        root = queue.last().copied().unwrap_or(root);
        for v in &queue {
            level[*v as usize] = u32::MAX;
        }
    }
}

/// Orders a small part by minimum degree.
fn place_leaf(graph: &Pattern, vertices: &[u32], order: &mut [u32]) {
    let mut sorted = vertices.to_vec();
    sorted.sort_unstable();
    let local = |v: u32| sorted.binary_search(&v).ok();
    let positions: Vec<(usize, usize)> = sorted
        .iter()
        .enumerate()
        .flat_map(|(j, v)| {
            graph.row_idx[graph.column(*v as usize)].iter().filter_map(move |i| local(*i).map(|i| (i, j)))
        })
        .collect();
    let pattern = Pattern::from_positions(sorted.len(), sorted.len(), positions);
    match minimum_degree(&pattern, u64::MAX) {
        Some(ordering) => {
            for (place, k) in order.iter_mut().zip(&ordering.order) {
                *place = sorted[*k as usize];
            }
        }
        None => order.copy_from_slice(&sorted),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_has_its_place() {
        let side = 40usize;
        let at = |x: usize, y: usize| y * side + x;
        let grid = (0..side)
            .flat_map(|y| (0..side - 1).flat_map(move |x| [(at(x, y), at(x + 1, y)), (at(y, x), at(y, x + 1))]));
        // Two unconnected grids and some isolated vertices.
        let n = 2 * side * side + 100;
        let both = grid.clone().chain(grid.map(|(i, j)| (i + side * side, j + side * side)));
        let pattern = Pattern::from_positions(n, n, both);
        let mut order = nested_dissection(&pattern);
        order.sort_unstable();
        assert!(order.iter().enumerate().all(|(k, j)| k == *j as usize));
    }
}
