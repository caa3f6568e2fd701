//! The invariants of every kernel. The passes rely on them, lowering establishes them, and the reader of the text form
//! rejects programs that violate them.

use super::depends::Depends;
use super::{Access, Affine, Element, Kernel, LoopId, Region, Space, Sub, Subscript, Target};
use crate::graph::{Graph, Node, NodeId};
use crate::program::{ArrayId, KernelRole, Program, Role};

impl Kernel {
    /// Checks whether the kernel is well formed.
    ///
    /// # Errors
    /// The first violated rule.
    pub fn check(&self, program: &Program) -> Result<(), &'static str> {
        let loops = self.space.loops().len();
        let is_loop = |l: LoopId| (l.0 as usize) < loops;
        if self.space.loops().iter().any(|l| !l.first.loops.is_empty() || !l.last.loops.is_empty()) {
            return Err("the range of a loop may not depend on another");
        }
        let mut iterated = self.iterates.clone();
        iterated.sort_unstable();
        iterated.dedup();
        if iterated.len() != self.iterates.len() || !iterated.iter().all(|&l| is_loop(l)) {
            return Err("iteration loops are loops of the kernel, each once");
        }
        if self.region != Region::Whole && iterated.is_empty() {
            return Err("a kernel without iteration loops has no interior and no boundary region");
        }
        for margin in &self.margins {
            affine(&margin.sub, loops, program)?;
            if margin.axis.0 as usize >= program.axes.len() {
                return Err("a margin is in no axis");
            }
        }
        let scalar = |node: &Node| matches!(node, Node::Read(Element::Scalar(_)) | Node::Direction(Element::Scalar(_)));
        let stored = self.stores.iter().flat_map(|s| s.target.elements()).any(|e| e.scalar().is_some());
        if (stored || self.graph.nodes().iter().any(scalar)) && !program.is_scalar() {
            return Err("with index sets a kernel reads through its accesses");
        }
        self.space.accesses().iter().try_for_each(|a| access(a, &self.space, program))?;
        self.guards(program)?;
        self.nodes(program, &self.graph)?;
        self.reductions()?;
        self.stored(program)
    }

    fn guards(&self, program: &Program) -> Result<(), &'static str> {
        for node in self.space.guards.nodes() {
            let known = match *node {
                Node::Constant(_) | Node::Call(..) => true,
                Node::Index(l) => (l.0 as usize) < self.space.loops().len(),
                Node::Read(Element::At(a)) => self.space.accesses().get(a.0 as usize).is_some_and(|a| {
                    a.guard.is_none() && matches!(role(a.array, program), Some(Role::Size | Role::Table))
                }),
                _ => false,
            };
            if !known {
                return Err("a guard depends on loop indices, sizes and tables alone");
            }
        }
        Ok(())
    }

    fn nodes(&self, program: &Program, graph: &Graph) -> Result<(), &'static str> {
        for node in graph.nodes() {
            match *node {
                Node::Constant(_) | Node::Time | Node::Call(..) => {}
                Node::Index(l) | Node::Reduce(_, l, _) if (l.0 as usize) < self.space.loops().len() => {}
                Node::Index(_) | Node::Reduce(..) => return Err("no such loop"),
                Node::Read(element) | Node::Direction(element) => {
                    let read = self.role_of(element, program);
                    let state = matches!(read, Some(Role::Position | Role::Velocity | Role::FirstOrder));
                    let input = matches!(
                        read,
                        Some(Role::Parameter | Role::Staged | Role::Size | Role::Table | Role::Discrete | Role::Mode)
                    );
                    if !(state || (input && matches!(node, Node::Read(_)))) {
                        return Err("only inputs are read, only states have a direction");
                    }
                }
            }
        }
        Ok(())
    }

    /// Checks that loops of reductions are not iteration loops, every index belongs to a reduction around it, and no
    /// loop is inside itself.
    fn reductions(&self) -> Result<(), &'static str> {
        let reductions = |node: &Node| matches!(node, Node::Reduce(_, l, _) if self.iterates.contains(l));
        if self.graph.nodes().iter().any(reductions) {
            return Err("a reduction is over an iteration loop");
        }
        let depends = Depends::of(self);
        if self.stores.iter().any(|s| !depends.loops(s.node).is_empty()) {
            return Err("a stored value depends on the index of a loop of a reduction");
        }
        if depends.nests_in_itself(self) {
            return Err("the loops of two reductions are inside one another");
        }
        Ok(())
    }

    fn stored(&self, program: &Program) -> Result<(), &'static str> {
        let fits = |e: Element, roles: &[Role]| self.role_of(e, program).is_some_and(|r| roles.contains(&r));
        let states = [Role::Position, Role::Velocity, Role::FirstOrder];
        for store in &self.stores {
            let fine = match (self.role, store.target) {
                // Only stores of straight-line code may add to scalars.
                (_, Target::Add(Element::Scalar(_))) => false,
                (KernelRole::ParameterJacobian, Target::Entry(i, j)) => fits(i, &states) && fits(j, &[Role::Parameter]),
                (role, Target::Entry(i, j)) => role.is_matrix() && fits(i, &states) && fits(j, &states),
                (KernelRole::Prepare, Target::Set(a)) => fits(a, &[Role::Staged]),
                (KernelRole::Outputs, Target::Set(a) | Target::Add(a)) => {
                    fits(a, &[Role::Output, Role::Conserved, Role::Expected])
                }
                (role, Target::Set(a) | Target::Add(a)) => !role.is_matrix() && fits(a, &states),
            };
            if !fine {
                return Err("the kernel does not store this");
            }
            let outside = |a| !self.space.loops_of(a).iter().all(|l| self.iterates.contains(l));
            if store.target.elements().filter_map(Element::access).any(outside) {
                return Err("a store depends on the index of a loop of a reduction");
            }
        }
        Ok(())
    }
}

impl Kernel {
    /// The role of the array of an element; `None` if there is none, or if a scalar is at an unknown position.
    fn role_of(&self, element: Element, program: &Program) -> Option<Role> {
        match element {
            Element::At(a) => self.space.accesses().get(a.0 as usize).and_then(|a| role(a.array, program)),
            Element::Scalar(array) => role(array, program).filter(|_| self.is_scalar()),
        }
    }
}

fn role(array: ArrayId, program: &Program) -> Option<Role> {
    program.arrays.get(array.0 as usize).map(|a| a.role)
}

fn access(access: &Access, space: &Space, program: &Program) -> Result<(), &'static str> {
    let Access { array, subs, guard } = access;
    if guard.is_some_and(|NodeId(g)| g as usize >= space.guards.len()) {
        return Err("no such guard");
    }
    if let ([from_here], Some(of)) = (subs.as_slice(), program.arrays.get(array.0 as usize))
        && of.axes.is_empty()
        && of.role != Role::Table
    {
        return subscript(from_here, space, program);
    }
    subscripts(*array, subs, space, program)
}

fn subscripts(array: ArrayId, subs: &[Subscript], space: &Space, program: &Program) -> Result<(), &'static str> {
    let Some(of) = program.arrays.get(array.0 as usize) else { return Err("no such array") };
    if of.axes.len() != subs.len() {
        return Err("as many subscripts as the array has axes");
    }
    subs.iter().try_for_each(|s| subscript(s, space, program))
}

fn subscript(s: &Subscript, space: &Space, program: &Program) -> Result<(), &'static str> {
    match &s.sub {
        Sub::Affine(sub) => affine(sub, space.loops().len(), program),
        Sub::Lookup { table, subs, .. } => match role(*table, program) {
            Some(Role::Table) => subscripts(*table, subs, space, program),
            _ => Err("only tables give subscripts"),
        },
    }
}

fn affine(affine: &Affine, loops: usize, program: &Program) -> Result<(), &'static str> {
    let known = affine.loops.iter().all(|(l, _)| (l.0 as usize) < loops)
        && affine.extents.iter().all(|(e, _)| (e.0 as usize) < program.extents.len());
    if known { Ok(()) } else { Err("no such loop or extent") }
}
