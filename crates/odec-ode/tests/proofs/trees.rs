//! Rooted trees and the order conditions that they index: Butcher's for Runge-Kutta methods, Wanner's for Rosenbrock methods,
//! Roche's two-coloured ones for index-1 differential-algebraic equations.

use nalgebra::{DMatrix, DVector};

/// Rooted tree; children are sorted, so that equal trees have equal forms. A fat vertex represents the inverse of dg/dz.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tree {
    pub fat: bool,
    pub children: Vec<Tree>,
}

impl Tree {
    /// Number of meagre vertices: the power of h that the tree belongs to.
    pub fn order(&self) -> usize {
        usize::from(!self.fat) + self.children.iter().map(Tree::order).sum::<usize>()
    }

    /// The density gamma of the order condition `weight = 1 / density`.
    pub fn density(&self) -> f64 {
        let own = if self.fat { 1.0 } else { self.order() as f64 };
        own * self.children.iter().map(Tree::density).product::<f64>()
    }
}

/// All multisets of trees of total order `total`, drawn from `pool[first..]`, in the order of the pool.
fn multisets(pool: &[Tree], first: usize, total: usize, prefix: &mut Vec<Tree>, out: &mut Vec<Vec<Tree>>) {
    if total == 0 {
        out.push(prefix.clone());
        return;
    }
    for (i, tree) in pool.iter().enumerate().skip(first) {
        if tree.order() <= total {
            prefix.push(tree.clone());
            multisets(pool, i, total - tree.order(), prefix, out);
            prefix.pop();
        }
    }
}

/// All trees without fat vertices of order `p` exactly.
pub fn trees(p: usize) -> Vec<Tree> {
    let mut pool: Vec<Tree> = Vec::new();
    let mut last = Vec::new();
    for order in 1..=p {
        let mut sets = Vec::new();
        multisets(&pool, 0, order - 1, &mut Vec::new(), &mut sets);
        last = sets.into_iter().map(|children| Tree { fat: false, children }).collect();
        pool.extend(last.iter().cloned());
    }
    last
}

/// All trees of order `p` of index-1 equations, roots of both colours: the only child of a fat vertex is meagre.
pub fn dae_trees(p: usize) -> Vec<Tree> {
    let mut pool: Vec<Tree> = Vec::new();
    let mut last = Vec::new();
    for order in 1..=p {
        let mut sets = Vec::new();
        multisets(&pool, 0, order - 1, &mut Vec::new(), &mut sets);
        last = sets.into_iter().map(|children| Tree { fat: false, children }).collect::<Vec<_>>();
        pool.extend(last.iter().cloned());
        let mut sets = Vec::new();
        multisets(&pool, 0, order, &mut Vec::new(), &mut sets);
        let fat = sets.into_iter().filter(|s| s.len() > 1 || !s[0].fat).map(|children| Tree { fat: true, children });
        let fat: Vec<_> = fat.collect();
        pool.extend(fat.iter().cloned());
        last.extend(fat);
    }
    last
}

/// Matrices of a one-step method: a vertex with one child is followed by `one`, with several by `many`. Runge-Kutta: both are A.
/// Rosenbrock: `many` is alpha, `one` is alpha + gamma with its diagonal.
pub struct Stages {
    pub one: DMatrix<f64>,
    pub many: DMatrix<f64>,
}

impl Stages {
    /// The vector over the stages that the tree has at its root, before the weights.
    pub fn vector(&self, tree: &Tree) -> DVector<f64> {
        let s = self.one.nrows();
        if tree.fat && tree.children.len() == 1 {
            return self.vector(&tree.children[0]); // one * one^-1
        }
        let own = match tree.children.as_slice() {
            [] => DVector::repeat(s, 1.0),
            [child] => &self.one * self.vector(child),
            children => children
                .iter()
                .fold(DVector::repeat(s, 1.0), |acc, child| acc.component_mul(&(&self.many * self.vector(child)))),
        };
        if tree.fat {
            self.one.clone().lu().solve(&own).expect("alpha + gamma is triangular with gamma on the diagonal")
        } else {
            own
        }
    }

    /// Deviation from the order condition of the tree with the weights `b`.
    pub fn residual(&self, b: &[f64], tree: &Tree) -> f64 {
        DVector::from_row_slice(b).dot(&self.vector(tree)) - 1.0 / tree.density()
    }

    /// Largest residual over the given trees.
    pub fn worst(&self, b: &[f64], trees: &[Tree]) -> f64 {
        trees.iter().map(|t| self.residual(b, t).abs()).fold(0.0, f64::max)
    }
}
