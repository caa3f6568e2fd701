//! A fill-reducing order of elimination: minimum degree on the quotient graph of A + A' (George & Liu 1989), with the
//! approximate external degree of Amestoy, Davis & Duff 1996.

use std::collections::BTreeSet;

use crate::linear::band::symmetric;
use crate::pattern::Pattern;

/// An order and the fill it predicts for diagonal pivots.
#[derive(Clone)]
pub(super) struct Ordering {
    /// Columns in the order of elimination.
    pub order: Vec<u32>,
    /// Entries of L + U.
    pub fill: u64,
}

/// The graph under elimination.
struct Graph {
    /// Neighbours of each variable that no element covers.
    variables: Vec<Vec<u32>>,
    /// Elements (eliminated variables) next to each variable.
    elements: Vec<Vec<u32>>,
    /// Variables of each element.
    members: Vec<Vec<u32>>,
    absorbed: Vec<bool>,
}

impl Graph {
    fn new(pattern: &Pattern) -> Self {
        let n = pattern.cols();
        let symmetric = symmetric(pattern);
        Graph {
            variables: (0..n).map(|j| symmetric.row_idx[symmetric.column(j)].to_vec()).collect(),
            elements: vec![Vec::new(); n],
            members: vec![Vec::new(); n],
            absorbed: vec![false; n],
        }
    }

    /// Turns variable `p` into an element and returns nothing but its members, in `self.members[p]`.
    fn eliminate(&mut self, p: usize, marks: &mut Marks) {
        marks.next();
        marks.set(p);
        let mut members = Vec::new();
        for &i in &self.variables[p] {
            if marks.set(i as usize) {
                members.push(i);
            }
        }
        for e in std::mem::take(&mut self.elements[p]) {
            for i in std::mem::take(&mut self.members[e as usize]) {
                if marks.set(i as usize) {
                    members.push(i);
                }
            }
            self.absorbed[e as usize] = true;
        }
        self.variables[p] = Vec::new();
        for &i in &members {
            let i = i as usize;
            let absorbed = &self.absorbed;
            self.variables[i].retain(|j| !marks.is_set(*j as usize));
            self.elements[i].retain(|e| !absorbed[*e as usize]);
        }
        self.members[p] = members;
    }
}

/// Marks that are cleared all at once.
struct Marks {
    stamp: u32,
    marks: Vec<u32>,
}

impl Marks {
    fn next(&mut self) {
        self.stamp += 1;
    }

    fn is_set(&self, i: usize) -> bool {
        self.marks[i] == self.stamp
    }

    fn set(&mut self, i: usize) -> bool {
        !std::mem::replace(&mut self.marks[i], self.stamp).eq(&self.stamp)
    }
}

/// The order for a square pattern; `None` when the fill passes `limit`.
pub(super) fn minimum_degree(pattern: &Pattern, limit: u64) -> Option<Ordering> {
    within(pattern, limit, f64::INFINITY)
}

/// As [`minimum_degree`], `None` also when a factorisation would take more than `most` operations.
pub(super) fn within(pattern: &Pattern, limit: u64, most: f64) -> Option<Ordering> {
    let n = pattern.cols();
    let mut graph = Graph::new(pattern);
    let mut marks = Marks { stamp: 0, marks: vec![0; n] };
    let mut degree: Vec<usize> = graph.variables.iter().map(Vec::len).collect();
    let mut queue: BTreeSet<(usize, u32)> = degree.iter().enumerate().map(|(i, d)| (*d, i as u32)).collect();
    // What of each element lies outside the one just made, valid where `seen` says so.
    let mut outside = vec![0usize; n];
    let mut seen = vec![u32::MAX; n];
    let mut order = Vec::with_capacity(n);
    let mut fill = 0u64;
    let mut flops = 0.0;
    while let Some((_, p)) = queue.pop_first() {
        let step = order.len() as u32;
        order.push(p);
        let p = p as usize;
        graph.eliminate(p, &mut marks);
        let members = std::mem::take(&mut graph.members[p]);
        fill += 2 * members.len() as u64 + 1;
        flops += 2.0 * (members.len() as f64).powi(2) + members.len() as f64;
        if fill > limit || flops > most {
            return None;
        }
        for &i in &members {
            for &e in &graph.elements[i as usize] {
                let e = e as usize;
                if seen[e] != step {
                    (seen[e], outside[e]) = (step, graph.members[e].len());
                }
                outside[e] -= 1;
            }
        }
        for &i in &members {
            let i = i as usize;
            graph.elements[i].retain(|e| outside[*e as usize] > 0);
            let others: usize = graph.elements[i].iter().map(|e| outside[*e as usize]).sum();
            let bound = graph.variables[i].len() + others + members.len() - 1;
            let new = bound.min(n - order.len()).min(degree[i] + members.len() - 1);
            graph.elements[i].push(p as u32);
            queue.remove(&(degree[i], i as u32));
            degree[i] = new;
            queue.insert((new, i as u32));
        }
        graph.members[p] = members;
    }
    Some(Ordering { order, fill })
}
