//! The address sequences of a kernel: every address as an origin and strides. Addresses that differ by the same
//! constant for every extent, such as those of `u[i-1]` and `u[i+1]`, share one sequence (a walk).

use std::collections::{HashMap, HashSet};

use odec_ir::nest::arguments::{Address, ArgumentBlock, Counter, Stride};
use odec_ir::nest::invariant::HoistedValue;
use odec_ir::nest::schedule::{Body, Step};
use odec_ir::nest::{Access, AccessId, AxisId, Edge, Element, Kernel, Sub, Subscript, Target};
use odec_ir::{Lowering, Node, NodeId, Primitive, Program};

use super::{Routine, input_buffer};
use crate::abi::{OUT, W};

/// The start of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Origin {
    /// The element given by this word, in the buffer that is this parameter of the function.
    Buffer(usize, u32),
    /// The offset table given by this word.
    Table(u32),
}

/// An address that moves with counters.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Walk {
    /// The start.
    pub(crate) origin: Origin,
    /// The strides, in elements.
    pub(crate) strides: Vec<(Counter, Stride)>,
}

impl Walk {
    /// Base-2 logarithm of the size of an element in bytes.
    pub(crate) fn shift(&self) -> u8 {
        match self.origin {
            Origin::Buffer(..) => 3,
            Origin::Table(_) => 2,
        }
    }

    /// True if the counter moves it.
    pub(crate) fn moves(&self, counter: Counter) -> bool {
        self.strides.iter().any(|&(c, _)| c == counter)
    }
}

/// The facts that determine the positions of an access with an offset table: subscripts, guard and shape of the array.
type Positions<'p> = (Vec<Subscript>, Option<NodeId>, &'p [AxisId]);

/// The address of an element.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Site {
    /// The walk to the element; with an offset table, the walk to the start of its array.
    pub(crate) walk: u32,
    /// Number of elements after the walk.
    pub(crate) delta: i32,
    /// The walk along the offset table.
    pub(crate) table: Option<u32>,
}

/// How an element is used: position in [`Walks::sites`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    Input = 0,
    Direction = 1,
    Result = 2,
}

/// The walks of a kernel, and their uses.
#[derive(Default)]
pub(crate) struct Walks {
    pub(crate) all: Vec<Walk>,
    index: HashMap<(Origin, usize), u32>,
    /// For each access: as an input, as an element of the direction, as a result.
    sites: Vec<[Option<Site>; 3]>,
    /// For each store: the walk along the table of its entries.
    pub(crate) entries: Vec<Option<u32>>,
    /// For each loop: the walk along the offset table of its indices, in a boundary region.
    pub(crate) indices: Vec<Option<u32>>,
    /// For each access that shares the walk of another: access, the other one, distance.
    pub(crate) shared: Vec<(AccessId, AccessId, i64)>,
    /// For each access that shares the offset table of another: access, the other one.
    pub(crate) alike: Vec<(AccessId, AccessId)>,
}

/// The nodes that the code computes: the inputs of stores, and the hoisted values.
pub(super) fn live<'a>(kernel: &'a Kernel, values: &'a [HoistedValue]) -> impl Iterator<Item = (NodeId, Node)> + 'a {
    let stores = kernel.stores.iter().map(|store| store.node);
    kernel.graph.live(stores.chain(values.iter().map(|value| value.node)))
}

/// The elements that a kernel accesses, in the order of their walks.
fn uses(kernel: &Kernel, values: &[HoistedValue]) -> Vec<(AccessId, Use)> {
    let mut uses = Vec::new();
    for (_, node) in live(kernel, values) {
        match node {
            Node::Read(Element::At(access)) => uses.push((access, Use::Input)),
            Node::Direction(Element::At(access)) => uses.push((access, Use::Direction)),
            _ => {}
        }
    }
    for store in &kernel.stores {
        if let Target::Set(Element::At(access)) | Target::Add(Element::At(access)) = store.target {
            uses.push((access, Use::Result));
        }
    }
    uses
}

impl Walks {
    /// Determines the walks of a kernel.
    pub(super) fn of(program: &Program, kernel: &Kernel, arguments: &ArgumentBlock, values: &[HoistedValue]) -> Walks {
        let mut walks = Walks { sites: vec![[None; 3]; kernel.space.accesses().len()], ..Walks::default() };
        // For each use, and each access without the part that may differ: the first such access.
        let mut first: HashMap<(usize, Access), (AccessId, i64)> = HashMap::new();
        // For each combination of subscripts, guard and shape: the first such access and the walk along its offset table.
        let mut listed: HashMap<Positions<'_>, (AccessId, u32)> = HashMap::new();
        for (access, used) in uses(kernel, values) {
            // Hoisted values have no address in the argument block.
            let Some(Some(place)) = arguments.addresses.get(access.0 as usize) else { continue };
            if walks.sites[access.0 as usize][used as usize].is_some() {
                continue;
            }
            let buffer = match used {
                Use::Input => input_buffer(program.arrays[kernel.array(access).0 as usize].role),
                Use::Direction => W,
                Use::Result => OUT,
            };
            let site = if let Some(table) = place.table {
                let walk = Walk { origin: Origin::Buffer(buffer, place.base), strides: Vec::new() };
                let table = Walk { origin: Origin::Table(table), strides: place.strides.clone() };
                // Positions are relative to the start of the array, so arrays of equal shape share them.
                let Access { array, subs, guard } = kernel.space.access(access).clone();
                let axes = &program.arrays[array.0 as usize].axes;
                let (head, known) = *listed.entry((subs, guard, axes)).or_insert_with(|| (access, walks.push(table)));
                if head != access {
                    walks.alike.push((access, head));
                }
                Site { walk: walks.push(walk), delta: 0, table: Some(known) }
            } else if let Some((key, constant)) = neighbourhood(kernel, access) {
                let (head, at) = *first.entry((buffer, key)).or_insert((access, constant));
                let distance = constant - at;
                match (walks.sites[head.0 as usize][used as usize], i32::try_from(distance * 8)) {
                    (Some(site), Ok(_)) => {
                        walks.shared.push((access, head, distance));
                        Site { delta: distance as i32, ..site }
                    }
                    _ => walks.affine(buffer, place),
                }
            } else {
                walks.affine(buffer, place)
            };
            walks.sites[access.0 as usize][used as usize] = Some(site);
        }
        for entries in &arguments.entries {
            let walk = entries.as_ref().map(|entries| {
                walks.push(Walk { origin: Origin::Table(entries.table), strides: entries.strides.clone() })
            });
            walks.entries.push(walk);
        }
        for index in &arguments.index {
            let strides = || vec![(Counter::Points, Stride::One)];
            let walk = index.table.map(|table| walks.push(Walk { origin: Origin::Table(table), strides: strides() }));
            walks.indices.push(walk);
        }
        walks
    }

    /// The address of an access for a use; it exists for all uses in the schedule.
    pub(crate) fn site(&self, element: Element, used: Use) -> Option<Site> {
        self.sites[element.access()?.0 as usize][used as usize]
    }

    /// The buffers of an access, as parameters of the function.
    pub(crate) fn buffers_of(&self, access: AccessId) -> impl Iterator<Item = usize> + '_ {
        let sites = self.sites[access.0 as usize].iter().flatten();
        sites.filter_map(|site| match self.all[site.walk as usize].origin {
            Origin::Buffer(buffer, _) => Some(buffer),
            Origin::Table(_) => None,
        })
    }

    fn affine(&mut self, buffer: usize, place: &Address) -> Site {
        let walk = Walk { origin: Origin::Buffer(buffer, place.base), strides: place.strides.clone() };
        Site { walk: self.push(walk), delta: 0, table: None }
    }

    /// The number of a walk. Its origin identifies it: a word is the base of a single access, and with an offset
    /// table the walk to the array has no strides.
    fn push(&mut self, walk: Walk) -> u32 {
        let next = self.all.len() as u32;
        let known = *self.index.entry((walk.origin, walk.strides.len())).or_insert(next);
        if known == next {
            self.all.push(walk);
        }
        known
    }
}

/// The access without the constant of its last subscript, and that constant: accesses with equal remainders lie at a
/// fixed distance. Elements along the last axis are adjacent.
fn neighbourhood(kernel: &Kernel, access: AccessId) -> Option<(Access, i64)> {
    let mut key = kernel.space.access(access).clone();
    for subscript in &mut key.subs {
        subscript.edge = Edge::Inside;
    }
    let Sub::Affine(last) = &mut key.subs.last_mut()?.sub else { return None };
    let constant = std::mem::take(&mut last.constant);
    (i32::try_from(constant).is_ok()).then_some((key, constant))
}

impl Routine {
    /// The walks that steps use, without duplicates: their own walks, and the walks of loops inside.
    pub(crate) fn walks_of(&self, steps: &[Step]) -> [Vec<u32>; 2] {
        let mut found = [Vec::new(), Vec::new()];
        let mut seen = HashSet::new();
        self.find_walks_of(steps, 0, &mut |nested, walk| {
            if seen.insert((nested, walk)) {
                found[nested].push(walk);
            }
        });
        found
    }

    fn find_walks_of(&self, steps: &[Step], nested: usize, note: &mut dyn FnMut(usize, u32)) {
        for step in steps {
            if let Step::Loop(body) = step {
                self.find_walks_of(&body.steps, 1, note);
            }
            let (site, more) = self.walks_of_step(step);
            let site = site.into_iter().flat_map(|site| [Some(site.walk), site.table]).flatten();
            site.chain(more).for_each(|walk| note(nested, walk));
        }
    }

    fn walks_of_step(&self, step: &Step) -> (Option<Site>, Option<u32>) {
        match step {
            Step::Compute(node) => match self.kernel.graph.node(*node) {
                Node::Read(element) => (self.walks.site(element, Use::Input), None),
                Node::Direction(element) => (self.walks.site(element, Use::Direction), None),
                Node::Index(l) => (None, self.walks.indices[l.0 as usize]),
                _ => (None, None),
            },
            Step::Store(k) => match self.kernel.stores[*k as usize].target {
                Target::Set(element) | Target::Add(element) => (self.walks.site(element, Use::Result), None),
                Target::Entry(..) => (None, self.walks.entries[*k as usize]),
            },
            Step::Loop(_) => (None, None),
        }
    }

    /// True if a body can run two rounds at a time: it contains no loop and only operations with a vector form, and
    /// more of its elements are adjacent than have to be gathered.
    pub(crate) fn pairs(&self, body: &Body) -> bool {
        let (mut gain, mut loss) = (0usize, 0usize);
        let mut count = |site: Option<Site>| {
            let Some(site) = site else { return };
            let walk = &self.walks.all[site.walk as usize];
            let unit = |&(c, stride): &(Counter, Stride)| c == body.counter && stride == Stride::One;
            if site.table.is_none() && walk.strides.iter().any(unit) { gain += 1 } else { loss += 1 }
        };
        let mut calls = 0;
        for step in &body.steps {
            match step {
                Step::Loop(_) => return false,
                Step::Compute(node) => match self.kernel.graph.node(*node) {
                    Node::Call(op, _) => match op.0.lowering {
                        Lowering::Primitive(Primitive::Floor | Primitive::Ceil | Primitive::Fma)
                        | Lowering::Libm(_)
                        | Lowering::Expand(_)
                        | Lowering::Lookup(_) => return false,
                        Lowering::Primitive(_) => calls += 1,
                    },
                    Node::Index(l) if self.walks.indices[l.0 as usize].is_some() => return false,
                    Node::Read(_) | Node::Direction(_) => count(self.walks_of_step(step).0),
                    _ => {}
                },
                Step::Store(_) => count(self.walks_of_step(step).0),
            }
        }
        let few = self.rounds(body.counter).is_some_and(|rounds| rounds < MIN_VECTOR_ROUNDS);
        !few && calls > 0 && gain + calls > loss
    }

    /// The number of rounds of a loop with constant bounds.
    fn rounds(&self, counter: Counter) -> Option<i64> {
        let Counter::Loop(l) = counter else { return None };
        let l = &self.kernel.space.loops()[l.0 as usize];
        let number = l.first.extents.is_empty() && l.last.extents.is_empty();
        number.then(|| l.last.constant.saturating_sub(l.first.constant).saturating_add(1))
    }

    /// The nodes that a body computes.
    pub(crate) fn computed(body: &Body) -> HashSet<NodeId> {
        let nodes = body.steps.iter();
        nodes.filter_map(|step| if let Step::Compute(node) = step { Some(*node) } else { None }).collect()
    }
}

/// Smallest number of rounds for which a loop gets a vectorised form.
const MIN_VECTOR_ROUNDS: i64 = 8;
