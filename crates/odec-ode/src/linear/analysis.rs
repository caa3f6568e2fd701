//! The symbolic part of a factorisation: the elimination tree (Liu, SIAM J. Matrix Anal. Appl. 11 (1990)), the rows of
//! each column of L, and the grouping of columns into fronts.

use crate::linear::band::inverse;
use crate::pattern::Pattern;

/// Columns that are eliminated together as one dense block.
#[derive(Clone, Debug)]
pub(super) struct Front {
    /// First column, in the order of elimination.
    pub first: usize,
    /// Number of columns.
    pub width: usize,
    /// Rows below these columns.
    pub rows: Vec<u32>,
    /// The front that receives the contribution block; for a root, the number of fronts.
    pub parent: usize,
}

impl Front {
    /// Rows and columns of the front.
    pub fn size(&self) -> usize {
        self.width + self.rows.len()
    }
}

/// Fronts in the order of elimination: postorder of the elimination tree.
#[derive(Clone, Debug)]
pub(super) struct Analysis {
    /// Column eliminated k-th.
    pub order: Vec<u32>,
    pub fronts: Vec<Front>,
    /// Entries of L + U.
    pub fill: u64,
    /// Operations of a factorisation: additions and multiplications.
    pub flops: f64,
}

const NONE: u32 = u32::MAX;
/// Share of zeros that a front may hold if that makes it wider.
const RELAXED: f64 = 0.15;
/// Up to this many columns, a front may hold a larger share of zeros; and that share.
const NARROW_FRONT: (usize, f64) = (8, 0.5);

/// Analyses a symmetric pattern without diagonal in a given order of elimination; `None` if L + U has more than
/// `limit` entries.
pub(super) fn analyse(graph: &Pattern, order: &[u32], limit: u64) -> Option<Analysis> {
    let n = order.len();
    let parent = tree(graph, order);
    let post = postorder(&parent);
    let order: Vec<u32> = post.iter().map(|k| order[*k as usize]).collect();
    let renamed = inverse(&post);
    let parent: Vec<u32> =
        post.iter().map(|k| parent[*k as usize]).map(|p| if p == NONE { NONE } else { renamed[p as usize] }).collect();
    let position = inverse(&order);
    let mut fronts: Vec<Front> = Vec::new();
    // Fronts whose parent column has not been reached yet, listed at that column.
    let mut waiting: Vec<Vec<u32>> = vec![Vec::new(); n];
    let mut mark = vec![NONE; n];
    let mut zeros = 0.0;
    for k in 0..n {
        let mut rows: Vec<u32> = Vec::new();
        mark[k] = k as u32;
        let mut take = |i: u32, rows: &mut Vec<u32>| {
            if i as usize > k && mark[i as usize] != k as u32 {
                mark[i as usize] = k as u32;
                rows.push(i);
            }
        };
        for p in graph.column(order[k] as usize) {
            take(position[graph.row_idx[p] as usize], &mut rows);
        }
        for child in &waiting[k] {
            for i in &fronts[*child as usize].rows {
                take(*i, &mut rows);
            }
        }
        let children = std::mem::take(&mut waiting[k]);
        // The front that ends with the previous column may include this one.
        let wider = children.last().is_some_and(|last| {
            let front = &fronts[*last as usize];
            if *last as usize + 1 != fronts.len() || front.first + front.width != k {
                return false;
            }
            let width = front.width as f64;
            let added = 2.0 * width * (rows.len() + 1 - front.rows.len()) as f64;
            let total = (width + 1.0) * (width + 1.0 + 2.0 * rows.len() as f64);
            let bound = if front.width < NARROW_FRONT.0 { NARROW_FRONT.1 } else { RELAXED };
            let wider = zeros + added <= bound * total;
            zeros = if wider { zeros + added } else { 0.0 };
            wider
        });
        rows.sort_unstable();
        let own = if wider {
            let last = fronts.len() - 1;
            fronts[last].width += 1;
            fronts[last].rows = rows;
            last
        } else {
            zeros = 0.0;
            fronts.push(Front { first: k, width: 1, rows, parent: usize::MAX });
            fronts.len() - 1
        };
        for child in children.iter().filter(|c| **c as usize != own) {
            fronts[*child as usize].parent = own;
        }
        if parent[k] != NONE {
            waiting[parent[k] as usize].push(own as u32);
        }
    }
    let count = fronts.len();
    let (mut fill, mut flops) = (0u64, 0.0);
    for front in &mut fronts {
        front.parent = front.parent.min(count);
        let (w, r) = (front.width as f64, front.rows.len() as f64);
        fill += (front.width * (front.width + 2 * front.rows.len())) as u64;
        flops += w * w * w * (2.0 / 3.0) + 2.0 * w * w * r + 2.0 * w * r * r;
    }
    if fill > limit { None } else { Some(Analysis { order, fronts, fill, flops }) }
}

/// Parent of each place in the order of elimination.
fn tree(graph: &Pattern, order: &[u32]) -> Vec<u32> {
    let n = order.len();
    let position = inverse(order);
    let mut parent = vec![NONE; n];
    let mut ancestor = vec![NONE; n];
    for k in 0..n {
        for p in graph.column(order[k] as usize) {
            let mut i = position[graph.row_idx[p] as usize];
            // Climbs the tree and compresses the path.
            while i != NONE && (i as usize) < k {
                let next = std::mem::replace(&mut ancestor[i as usize], k as u32);
                if next == NONE {
                    parent[i as usize] = k as u32;
                }
                i = next;
            }
        }
    }
    parent
}

/// A postorder: children come before their parent, and each subtree is contiguous.
fn postorder(parent: &[u32]) -> Vec<u32> {
    let n = parent.len();
    let (mut first, mut next) = (vec![NONE; n], vec![NONE; n]);
    let mut roots = NONE;
    for k in (0..n).rev() {
        let head = if parent[k] == NONE { &mut roots } else { &mut first[parent[k] as usize] };
        next[k] = std::mem::replace(head, k as u32);
    }
    let mut post = Vec::with_capacity(n);
    let mut stack = Vec::new();
    let mut at = roots;
    loop {
        while at != NONE {
            stack.push(at);
            at = first[at as usize];
        }
        let Some(done) = stack.pop() else { return post };
        post.push(done);
        at = next[done as usize];
    }
}
