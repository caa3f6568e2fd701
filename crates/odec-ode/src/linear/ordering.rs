//! A fill-reducing order of elimination: minimum degree on the quotient graph of A + A' (George & Liu 1989), with the
//! approximate external degree, supervariables, mass elimination and absorption of elements of Amestoy, Davis & Duff, SIAM J. Matrix
//! Anal. Appl. 17 (1996).

use crate::linear::band::symmetric;
use crate::pattern::Pattern;

/// An order of elimination and the fill that it predicts for diagonal pivots.
#[derive(Clone)]
pub(super) struct Ordering {
    /// Columns in the order of elimination.
    pub order: Vec<u32>,
    /// Entries of L + U.
    pub fill: u64,
}

const NONE: u32 = u32::MAX;

/// The order for a square pattern; `None` if the fill exceeds `limit`.
pub(super) fn minimum_degree(pattern: &Pattern, limit: u64) -> Option<Ordering> {
    within(pattern, limit, f64::INFINITY)
}

/// Like [`minimum_degree`]; also `None` if a factorisation would take more than `most` operations.
pub(super) fn within(pattern: &Pattern, limit: u64, most: f64) -> Option<Ordering> {
    of_graph(&symmetric(pattern), limit, most)
}

/// Like [`within`], for a symmetric pattern without diagonal.
pub(super) fn of_graph(graph: &Pattern, limit: u64, most: f64) -> Option<Ordering> {
    let mut quotient = Quotient::new(graph);
    let (mut fill, mut flops) = (0u64, 0.0);
    while let Some(pivot) = quotient.next() {
        let (width, rest) = quotient.eliminate(pivot);
        for k in 0..width {
            let below = f64::from(rest + width - 1 - k);
            fill += 2 * u64::from(rest + width - 1 - k) + 1;
            flops += 2.0 * below * below + below;
        }
        if fill > limit || flops > most {
            return None;
        }
    }
    Some(Ordering { order: quotient.order(), fill })
}

/// The state of a vertex of the quotient graph.
#[derive(Clone, Copy, PartialEq)]
enum State {
    /// A variable; it may represent others that have the same neighbours.
    Variable,
    /// A variable that another one represents.
    Merged,
    /// An eliminated variable: the variables in its list are mutually coupled.
    Element,
    /// An element that is part of a later one.
    Absorbed,
}

/// The quotient graph during the elimination.
struct Quotient {
    state: Vec<State>,
    /// Number of variables that a vertex represents; for an element, the weight of the variables in its list.
    weight: Vec<u32>,
    /// Lists: for a variable, `elements` elements and then variables; for an element, variables.
    lists: Vec<u32>,
    start: Vec<u32>,
    length: Vec<u32>,
    elements: Vec<u32>,
    /// Upper bound on the weight of the neighbours.
    degree: Vec<u32>,
    /// Doubly linked lists of the variables of each degree.
    head: Vec<u32>,
    next: Vec<u32>,
    previous: Vec<u32>,
    least: usize,
    /// Variables that are eliminated together with a vertex (linked list), and the last of them.
    follower: Vec<u32>,
    last: Vec<u32>,
    /// Pivots in the order of elimination.
    pivots: Vec<u32>,
    left: u32,
    /// Marks of the vertices; a mark is valid if it equals `stamp`.
    mark: Vec<u32>,
    stamp: u32,
    /// Weight of the variables of an element outside the newest element; valid if `outside_of` names the newest element.
    outside: Vec<u32>,
    outside_of: Vec<u32>,
    /// Members of the newest element, each with a hash of its neighbours.
    hashes: Vec<(u64, u32)>,
}

impl Quotient {
    fn new(graph: &Pattern) -> Self {
        let n = graph.cols();
        let degree: Vec<u32> = (0..n).map(|j| graph.column(j).len() as u32).collect();
        let mut quotient = Quotient {
            state: vec![State::Variable; n],
            weight: vec![1; n],
            lists: graph.row_idx.clone(),
            start: graph.col_ptr[..n].to_vec(),
            length: degree.clone(),
            elements: vec![0; n],
            head: vec![NONE; n.max(1)],
            next: vec![NONE; n],
            previous: vec![NONE; n],
            least: 0,
            follower: vec![NONE; n],
            last: (0..n as u32).collect(),
            pivots: Vec::with_capacity(n),
            left: n as u32,
            mark: vec![0; n],
            stamp: 0,
            outside: vec![0; n],
            outside_of: vec![NONE; n],
            hashes: Vec::new(),
            degree,
        };
        for i in (0..n as u32).rev() {
            quotient.insert(i);
        }
        quotient
    }

    /// Inserts a variable into the list of its degree.
    fn insert(&mut self, i: u32) {
        let degree = self.degree[i as usize] as usize;
        let before = std::mem::replace(&mut self.head[degree], i);
        (self.next[i as usize], self.previous[i as usize]) = (before, NONE);
        if before != NONE {
            self.previous[before as usize] = i;
        }
        self.least = self.least.min(degree);
    }

    fn remove(&mut self, i: u32) {
        let (next, previous) = (self.next[i as usize], self.previous[i as usize]);
        match previous {
            NONE => self.head[self.degree[i as usize] as usize] = next,
            p => self.next[p as usize] = next,
        }
        if next != NONE {
            self.previous[next as usize] = previous;
        }
    }

    /// A variable of minimum degree.
    fn next(&mut self) -> Option<u32> {
        if self.left == 0 {
            return None;
        }
        while self.head[self.least] == NONE {
            self.least += 1;
        }
        Some(self.head[self.least])
    }

    fn list(&self, i: usize) -> std::ops::Range<usize> {
        self.start[i] as usize..(self.start[i] + self.length[i]) as usize
    }

    /// Eliminates a variable and those that it represents: returns the number of columns, and the number of rows
    /// below them.
    fn eliminate(&mut self, pivot: u32) -> (u32, u32) {
        self.remove(pivot);
        self.pivots.push(pivot);
        let before = self.left;
        let p = pivot as usize;
        let mut rest = self.gather(p);
        self.left -= self.weight[p];
        // For every other element, the weight of its variables outside the new one.
        for k in self.list(p) {
            let i = self.lists[k] as usize;
            for k in self.start[i] as usize..(self.start[i] + self.elements[i]) as usize {
                let e = self.lists[k] as usize;
                if self.outside_of[e] != pivot {
                    (self.outside_of[e], self.outside[e]) = (pivot, self.weight[e]);
                }
                self.outside[e] -= self.weight[i];
            }
        }
        self.hashes.clear();
        for k in self.list(p) {
            let i = self.lists[k];
            self.update(i as usize, pivot, &mut rest);
        }
        self.merge();
        // Compute the degrees, and remove eliminated vertices from the list.
        let (start, mut end) = (self.start[p] as usize, self.start[p] as usize);
        for k in self.list(p) {
            let i = self.lists[k];
            if self.state[i as usize] == State::Variable {
                let others = rest - self.weight[i as usize];
                let most = self.left - self.weight[i as usize];
                self.degree[i as usize] = (self.degree[i as usize].saturating_add(others)).min(most);
                self.insert(i);
                self.lists[end] = i;
                end += 1;
            }
        }
        self.length[p] = (end - start) as u32;
        // From now on, its weight is the weight of its list.
        self.weight[p] = rest;
        if rest == 0 {
            self.state[p] = State::Absorbed;
        }
        (before - self.left, rest)
    }

    /// Makes `p` an element: its list becomes all its neighbours, which are marked. Returns their weight.
    fn gather(&mut self, p: usize) -> u32 {
        self.stamp += 1;
        self.mark[p] = self.stamp;
        self.state[p] = State::Element;
        let own = self.list(p);
        let variables = self.start[p] as usize + self.elements[p] as usize..own.end;
        let from = self.lists.len();
        let mut weight = 0;
        let take = |this: &mut Self, k: usize, weight: &mut u32| {
            let i = this.lists[k];
            if this.state[i as usize] == State::Variable && this.mark[i as usize] != this.stamp {
                this.mark[i as usize] = this.stamp;
                this.lists.push(i);
                *weight += this.weight[i as usize];
                this.remove(i);
            }
        };
        for k in variables {
            take(self, k, &mut weight);
        }
        for k in own.start..own.start + self.elements[p] as usize {
            let e = self.lists[k] as usize;
            if self.state[e] == State::Element {
                for k in self.list(e) {
                    take(self, k, &mut weight);
                }
                self.state[e] = State::Absorbed;
            }
        }
        (self.start[p], self.length[p], self.elements[p]) = (from as u32, (self.lists.len() - from) as u32, 0);
        weight
    }

    /// Updates the list of a member `i` of the new element and the weight of its neighbours outside the element. If
    /// it has none, `i` is eliminated too.
    fn update(&mut self, i: usize, pivot: u32, rest: &mut u32) {
        let (start, end) = (self.start[i] as usize, self.list(i).end);
        let (mut to, mut degree, mut hash) = (start, 0u32, 0u64);
        for k in start..start + self.elements[i] as usize {
            let e = self.lists[k] as usize;
            if self.state[e] != State::Element {
                continue;
            }
            let outside = self.outside[e];
            if outside == 0 {
                self.state[e] = State::Absorbed;
                continue;
            }
            degree = degree.saturating_add(outside);
            hash = hash.wrapping_add(e as u64);
            self.lists[to] = e as u32;
            to += 1;
        }
        let kept = to;
        for k in start + self.elements[i] as usize..end {
            let j = self.lists[k] as usize;
            if self.state[j] == State::Variable && self.mark[j] != self.stamp {
                degree = degree.saturating_add(self.weight[j]);
                hash = hash.wrapping_add(j as u64);
                self.lists[to] = j as u32;
                to += 1;
            }
        }
        if degree == 0 {
            *rest -= self.weight[i];
            self.left -= self.weight[i];
            self.follow(pivot, i);
            return;
        }
        self.degree[i] = self.degree[i].min(degree);
        // The new element comes first in the list of elements; it replaces another element or the pivot, so there is room.
        if to > kept {
            self.lists[to] = self.lists[kept];
        }
        if kept > start {
            self.lists[kept] = self.lists[start];
        }
        self.lists[start] = pivot;
        self.elements[i] = (kept - start + 1) as u32;
        self.length[i] = (to - start + 1) as u32;
        self.hashes.push((hash, i as u32));
    }

    /// Makes `leader` represent variable `i`.
    fn follow(&mut self, leader: u32, i: usize) {
        let last = self.last[leader as usize];
        self.follower[last as usize] = i as u32;
        self.last[leader as usize] = self.last[i];
        self.state[i] = State::Merged;
    }

    /// Merges members of the new element that have the same neighbours.
    fn merge(&mut self) {
        let mut hashes = std::mem::take(&mut self.hashes);
        hashes.sort_unstable();
        let mut from = 0;
        while from < hashes.len() {
            let same = hashes[from..].iter().take_while(|h| h.0 == hashes[from].0).count();
            let group = &hashes[from..from + same];
            from += same;
            for (k, (_, i)) in group.iter().enumerate() {
                if k + 1 == group.len() || self.state[*i as usize] != State::Variable {
                    continue;
                }
                self.stamp += 1;
                for k in self.list(*i as usize) {
                    self.mark[self.lists[k] as usize] = self.stamp;
                }
                for (_, j) in &group[k + 1..] {
                    let (i, j) = (*i as usize, *j as usize);
                    let equal = self.state[j] == State::Variable
                        && (self.length[i], self.elements[i]) == (self.length[j], self.elements[j])
                        && self.lists[self.list(j)].iter().all(|v| self.mark[*v as usize] == self.stamp);
                    if equal {
                        self.weight[i] += self.weight[j];
                        self.follow(i as u32, j);
                    }
                }
            }
        }
        self.hashes = hashes;
    }

    /// All variables in the order of elimination.
    fn order(&self) -> Vec<u32> {
        let mut order = Vec::with_capacity(self.state.len());
        for pivot in &self.pivots {
            let mut i = *pivot;
            while i != NONE {
                order.push(i);
                i = self.follower[i as usize];
            }
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linear::analysis::analyse;

    /// Five-point grid.
    fn grid(side: usize) -> Pattern {
        let at = |x: usize, y: usize| y * side + x;
        let near = (0..side)
            .flat_map(|y| (0..side - 1).flat_map(move |x| [(at(x, y), at(x + 1, y)), (at(y, x), at(y, x + 1))]));
        Pattern::from_positions(side * side, side * side, near)
    }

    #[test]
    fn every_column_has_its_place_and_the_fill_is_that_of_the_elimination() {
        let mut seed = 1u64;
        let mut below = |n: usize| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) as usize % n
        };
        for case in 0..200 {
            let n = 1 + below(60);
            let positions: Vec<_> = (0..below(4 * n)).map(|_| (below(n), below(n))).collect();
            let pattern = Pattern::from_positions(n, n, positions);
            let ordering = minimum_degree(&pattern, u64::MAX).unwrap();
            let mut sorted = ordering.order.clone();
            sorted.sort_unstable();
            assert!(sorted.iter().enumerate().all(|(k, j)| k == *j as usize), "case {case}");
            // Reference: elimination with sets of neighbours.
            let graph = symmetric(&pattern);
            let mut near: Vec<std::collections::BTreeSet<u32>> =
                (0..n).map(|j| graph.row_idx[graph.column(j)].iter().copied().collect()).collect();
            let mut fill = 0u64;
            for p in &ordering.order {
                let members = std::mem::take(&mut near[*p as usize]);
                fill += 2 * members.len() as u64 + 1;
                for i in &members {
                    near[*i as usize].remove(p);
                    let others: Vec<u32> = members.iter().copied().filter(|j| j != i).collect();
                    near[*i as usize].extend(others);
                }
            }
            assert_eq!(fill, ordering.fill, "case {case}");
        }
    }

    #[test]
    fn the_fill_of_a_grid_is_that_of_a_good_order() {
        // On grids of this size, approximate minimum degree gives about 31 n log2(n)/4 entries in L, within a quarter.
        for side in [20, 60] {
            let pattern = grid(side);
            let ordering = minimum_degree(&pattern, u64::MAX).unwrap();
            let n = (side * side) as f64;
            let relative = ordering.fill as f64 / (n * n.log2());
            assert!(relative < 3.5, "{relative}");
            let analysis = analyse(&symmetric(&pattern), &ordering.order, u64::MAX).unwrap();
            assert!((analysis.fill as f64) < 1.6 * ordering.fill as f64);
        }
    }

    #[test]
    fn a_limit_on_the_work_stops_it() {
        let pattern = grid(30);
        assert!(within(&pattern, u64::MAX, 1e4).is_none());
        assert!(minimum_degree(&pattern, 1_000).is_none());
    }
}
