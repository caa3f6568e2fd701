//! Expressions that repeat, written as loops: a network of thousands of reactions has a few rate laws.
//!
//! In a program without index sets every expression is code of its own. [`looped`] finds expressions of one shape,
//! which differ only in the elements that they read and in the numbers that they contain, and writes each group as one
//! loop over tables. It runs before the derivatives are formed, so they are loops too, and compile time no longer grows
//! with the number of members.
//!
//! ```text
//! r1 = k1*A*B,  r2 = k2*C*A,  r3 = k3*B*C, ...          rates of one shape
//! A' = -r1 - r2,  B' = -r1 - r3,  C' = r1 - r2 - r3     rows that add them
//!
//! for each row:    row[i] = 0
//! for each i:      v = k[i]*s[a[i]]*s[b[i]];  row[a[i]] += -v;  row[b[i]] += -v;  row[c[i]] += v
//! ```
//!
//! The arrays stay scalars. An access selects one of them by a subscript, its distance in the buffer from the first.
//! Rows are sums in the order of the text as long as all of their terms belong to one group; otherwise the terms that
//! belong to none come first, and then the groups, one after another.

mod shape;
mod terms;
mod write;

use std::collections::BTreeMap;

use crate::graph::{NodeId, QuickMap};
use crate::nest::{Axis, Element, Kernel, Target};
use crate::program::{Array, ArrayId, KernelRole, Role};
use shape::{Leaf, Shape};
use write::Writer;

/// A shape with fewer expressions is not a loop: straight-line code for them is fast to compile and to run.
pub const MIN_MEMBERS: usize = 256;

/// Loops are used if they replace at least this many operations for each one that remains outside of them. What
/// remains reads its elements through addresses, which costs more than straight-line code.
pub const MIN_SHARE: usize = 4;

/// How the value of a member enters one of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Use {
    negative: bool,
    /// A number, as bits.
    factor: u64,
    /// The role of the row.
    role: Role,
}

/// One of the expressions of a group.
struct Member {
    value: NodeId,
    leaves: Vec<Leaf>,
    /// The row of each use.
    targets: Vec<ArrayId>,
}

/// Expressions of one shape, used in the same way.
struct Group {
    shape: Shape,
    uses: Vec<Use>,
    members: Vec<Member>,
    /// True if the values are added to rows.
    adds: bool,
}

/// A row, and its terms outside of groups, each with its sign.
struct RestRow {
    row: ArrayId,
    terms: Vec<(bool, NodeId)>,
}

/// The groups of a kernel.
struct Grouping {
    groups: Vec<Group>,
    rest: Vec<RestRow>,
    /// The rows to which only groups add.
    zeros: Vec<ArrayId>,
}

/// The kernels with repeated expressions as loops, and their tables as further arrays. Unchanged unless the kernels
/// have no loops, a group in f has at least [`MIN_MEMBERS`], and the groups are a large share ([`MIN_SHARE`]).
pub fn looped(arrays: &mut Vec<Array>, axes: &mut Vec<Axis>, kernels: Vec<Kernel>) -> Vec<Kernel> {
    let known = |kernel: &Kernel| matches!(kernel.role, KernelRole::Rhs | KernelRole::Initial | KernelRole::Outputs);
    let scalar = arrays.iter().all(|a| a.axes.is_empty()) && kernels.iter().all(|k| k.is_scalar() && known(k));
    let large = kernels.iter().any(|k| k.role == KernelRole::Rhs && k.graph.len() >= MIN_MEMBERS);
    if !scalar || !large {
        return kernels;
    }
    let plan =
        |kernel: &Kernel| if kernel.role == KernelRole::Rhs { sums(kernel, arrays) } else { values(kernel, arrays) };
    let plans: Vec<Grouping> = kernels.iter().map(plan).collect();
    let pays = kernels.iter().zip(&plans).any(|(k, plan)| k.role == KernelRole::Rhs && !plan.groups.is_empty());
    let inside: usize = plans.iter().flat_map(|plan| &plan.groups).map(|g| g.members.len() * g.shape.len()).sum();
    let outside: usize = kernels.iter().zip(&plans).map(|(kernel, plan)| plan.outside(kernel)).sum();
    if !pays || inside < MIN_SHARE * outside {
        return kernels;
    }
    let mut writer = Writer::new(arrays, axes);
    kernels.iter().zip(&plans).flat_map(|(kernel, plan)| writer.kernels(kernel, plan)).collect()
}

impl Grouping {
    /// Number of operations outside of groups.
    fn outside(&self, kernel: &Kernel) -> usize {
        let terms = self.rest.iter().flat_map(|row| &row.terms);
        kernel.graph.live(terms.clone().map(|term| term.1)).count() + terms.count()
    }
}

/// Collects members by shape and use.
#[derive(Default)]
struct Groups {
    all: Vec<Group>,
    index: QuickMap<(Shape, Vec<Use>), usize>,
}

impl Groups {
    fn add(&mut self, shape: Shape, uses: Vec<Use>, member: Member, adds: bool) {
        let next = self.all.len();
        let at = *self.index.entry((shape.clone(), uses.clone())).or_insert(next);
        if at == next {
            self.all.push(Group { shape, uses, members: Vec::new(), adds });
        }
        self.all[at].members.push(member);
    }

    /// The groups that are large enough.
    fn large(self) -> Vec<Group> {
        self.all.into_iter().filter(|group| group.members.len() >= MIN_MEMBERS).collect()
    }
}

/// The groups of f: values that are terms of rows.
fn sums(kernel: &Kernel, arrays: &[Array]) -> Grouping {
    let users = terms::users(kernel);
    let mut rows = Vec::with_capacity(kernel.stores.len());
    let mut used: BTreeMap<NodeId, Vec<(Use, ArrayId)>> = BTreeMap::new();
    for store in &kernel.stores {
        let row = target(kernel, store.target);
        let terms = terms::of(&kernel.graph, &users, store.node);
        for term in &terms {
            let role = arrays[row.0 as usize].role;
            let use_ = Use { negative: term.negative, factor: term.factor.to_bits(), role };
            used.entry(term.value).or_default().push((use_, row));
        }
        rows.push((row, store.node, terms));
    }
    let mut groups = Groups::default();
    for (value, mut uses) in used {
        let Some((shape, leaves)) = shape::of(&kernel.graph, arrays, value) else { continue };
        uses.sort_by_key(|u| u.0);
        let (uses, targets) = uses.into_iter().unzip();
        groups.add(shape, uses, Member { value, leaves, targets }, true);
    }
    let groups = groups.large();
    let mut inside = vec![false; kernel.graph.len()];
    for member in groups.iter().flat_map(|group| &group.members) {
        inside[member.value.index()] = true;
    }
    let (mut rest, mut zeros) = (Vec::new(), Vec::new());
    for (row, root, terms) in rows {
        let own: Vec<(bool, NodeId)> =
            terms.iter().filter(|t| !inside[t.value.index()]).map(|t| (t.negative, t.node)).collect();
        if own.len() == terms.len() {
            rest.push(RestRow { row, terms: vec![(false, root)] });
        } else if own.is_empty() {
            zeros.push(row);
        } else {
            rest.push(RestRow { row, terms: own });
        }
    }
    Grouping { groups, rest, zeros }
}

/// The groups of other kernels: whole values.
fn values(kernel: &Kernel, arrays: &[Array]) -> Grouping {
    let mut groups = Groups::default();
    let mut rest = Vec::new();
    for store in &kernel.stores {
        let row = target(kernel, store.target);
        match shape::of(&kernel.graph, arrays, store.node) {
            Some((shape, leaves)) => {
                let role = arrays[row.0 as usize].role;
                let uses = vec![Use { negative: false, factor: 1f64.to_bits(), role }];
                groups.add(shape, uses, Member { value: store.node, leaves, targets: vec![row] }, false);
            }
            None => rest.push(RestRow { row, terms: vec![(false, store.node)] }),
        }
    }
    let (large, small): (Vec<Group>, Vec<Group>) =
        groups.all.into_iter().partition(|group| group.members.len() >= MIN_MEMBERS);
    for member in small.into_iter().flat_map(|group| group.members) {
        rest.push(RestRow { row: member.targets[0], terms: vec![(false, member.value)] });
    }
    Grouping { groups: large, rest, zeros: Vec::new() }
}

/// The array that a store without loops sets.
fn target(kernel: &Kernel, target: Target) -> ArrayId {
    match target {
        Target::Set(element @ Element::Scalar(_)) => kernel.array(element),
        _ => crate::broken("a kernel without loops adds to an element"),
    }
}
