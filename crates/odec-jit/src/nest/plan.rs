//! What the code of a nest walks along: every address that it needs, as an origin and strides. Addresses that differ by a
//! constant for every extent, such as those of `u[i-1]` and `u[i+1]`, are one walk.

use std::collections::{HashMap, HashSet};

use odec_ir::nest::frame::{Counter, Frame, Place, Stride};
use odec_ir::nest::lift::{self, Lifted};
use odec_ir::nest::schedule::{Body, Schedule, Step};
use odec_ir::nest::{Access, AccessId, AxisId, Edge, Element, Kernel, LoopId, Sub, Subscript, Target};
use odec_ir::{KernelRole, Lowering, Node, NodeId, Program, Role, expand};

use crate::lower::{self, OUT, P, W, Y};
use crate::{JitError, MAX_LOOPS};

/// Where a walk begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Origin {
    /// At the element of this parameter of the function that the word says.
    Buffer(usize, u32),
    /// At the list that the word says.
    List(u32),
}

/// An address that moves with counters.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Walk {
    /// Where it begins.
    pub(crate) origin: Origin,
    /// How it moves, in elements.
    pub(crate) strides: Vec<(Counter, Stride)>,
}

impl Walk {
    /// Logarithm of the bytes of an element.
    pub(crate) fn shift(&self) -> u8 {
        match self.origin {
            Origin::Buffer(..) => 3,
            Origin::List(_) => 2,
        }
    }

    /// True when the counter moves it.
    pub(crate) fn moves(&self, counter: Counter) -> bool {
        self.strides.iter().any(|&(c, _)| c == counter)
    }
}

/// What decides the positions of an access that has a list of them: subscripts, guard and shape of the array.
type Positions<'p> = (Vec<Subscript>, Option<NodeId>, &'p [AxisId]);

/// Where an element lies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Site {
    /// The walk to it, or to the start of its array where a list says how much further it is.
    pub(crate) walk: u32,
    /// Elements beyond the walk.
    pub(crate) delta: i32,
    /// The walk along the list.
    pub(crate) list: Option<u32>,
}

/// A nest ready to be written as code.
pub(crate) struct Plan {
    pub(crate) nest: Kernel,
    pub(crate) frame: Frame,
    pub(crate) schedule: Schedule,
    pub(crate) walks: Vec<Walk>,
    index: HashMap<(Origin, usize), u32>,
    /// By access: as an input, as an element of the direction, as a result.
    sites: Vec<[Option<Site>; 3]>,
    /// By store: the walk along its list of slots.
    pub(crate) slots: Vec<Option<u32>>,
    /// By loop: the walk along the list of its indices, in a shell.
    pub(crate) indices: Vec<Option<u32>>,
    /// For each access that shares another one's walk: access, that other one, distance.
    pub(crate) shared: Vec<(AccessId, AccessId, i64)>,
    /// For each access that shares another one's list: access, that other one.
    pub(crate) alike: Vec<(AccessId, AccessId)>,
    /// Steps in all bodies together.
    pub(crate) steps: usize,
    /// Values that the code computes first and keeps, one after the other in a buffer.
    pub(crate) values: Vec<lift::HoistedValue>,
    /// How many of the first steps of the schedule do that.
    pub(crate) first: usize,
}

/// How an element is used: position in [`Plan::sites`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    Input = 0,
    Direction = 1,
    Result = 2,
}

impl Plan {
    /// Plans a nest.
    ///
    /// # Errors
    /// What no code can be written for.
    pub(crate) fn of(program: &Program, nest: &Kernel) -> Result<Plan, JitError> {
        Plan::with(program, nest, lift::lifted)
    }

    /// Plans a nest that keeps no values: for callers that have no buffer for them.
    ///
    /// # Errors
    /// As [`Plan::of`].
    pub(crate) fn plain(program: &Program, nest: &Kernel) -> Result<Plan, JitError> {
        Plan::with(program, nest, |_| None)
    }

    fn with(program: &Program, nest: &Kernel, lift: impl Fn(&Kernel) -> Option<Lifted>) -> Result<Plan, JitError> {
        // The frame is that of the program's nest, which binding knows: expansion may lose accesses.
        let frame = Frame::of(nest);
        let mut nest = expand::expanded(nest);
        readable(program, &nest)?;
        let (mut values, mut start) = (Vec::new(), Vec::new());
        if let Some(lifted) = lift(&nest) {
            start.extend(lifted.before.into_iter().map(Step::Compute));
            start.extend(lifted.loops.into_iter().map(|(l, nodes)| {
                let steps = nodes.into_iter().map(Step::Compute).collect();
                Step::Loop(Body { counter: Counter::Loop(l), folds: Vec::new(), steps })
            }));
            (nest, values) = (lifted.nest, lifted.values);
        }
        let mut schedule = Schedule::of(&nest);
        let first = start.len();
        schedule.steps.splice(0..0, start);
        let steps = size(&schedule.steps, 0)?;
        let accesses = nest.space.accesses().len();
        let mut plan = Plan {
            walks: Vec::new(),
            index: HashMap::new(),
            sites: vec![[None; 3]; accesses],
            slots: vec![None; nest.stores.len()],
            indices: vec![None; nest.space.loops().len()],
            shared: Vec::new(),
            alike: Vec::new(),
            steps,
            nest,
            frame,
            schedule,
            values,
            first,
        };
        plan.find_walks(program);
        Ok(plan)
    }

    /// Where an access of a use lies; the plan has all that the schedule asks for.
    pub(crate) fn site(&self, element: Element, used: Use) -> Option<Site> {
        self.sites[element.access()?.0 as usize][used as usize]
    }

    /// Position of the kept value that an access reads.
    pub(crate) fn kept_at(&self, access: AccessId) -> Option<usize> {
        self.values.iter().position(|value| value.access == access)
    }

    /// Length of the buffer of kept values, given the words of a frame that was checked.
    pub(crate) fn kept(&self, words: &[u64]) -> usize {
        let rounds = |value: &lift::HoistedValue| words[self.count(Counter::Loop(value.over)) as usize] as usize;
        self.values.iter().map(rounds).sum()
    }

    /// What the code computes: what the stores need, and the kept values.
    fn live(&self) -> Vec<bool> {
        let stores = self.nest.stores.iter().map(|store| store.node);
        self.nest.graph.reachable(stores.chain(self.values.iter().map(|value| value.node)))
    }

    /// The buffers that an access is looked for in, as positions of parameters.
    pub(crate) fn buffers_of(&self, access: AccessId) -> impl Iterator<Item = usize> + '_ {
        let sites = self.sites[access.0 as usize].iter().flatten();
        sites.filter_map(|site| match self.walks[site.walk as usize].origin {
            Origin::Buffer(buffer, _) => Some(buffer),
            Origin::List(_) => None,
        })
    }

    /// Whether the code reads the list of indices that this walk goes along.
    pub(crate) fn indices_used(&self, walk: u32) -> bool {
        let mut live = self.nest.graph.nodes().iter().zip(self.live()).filter(|(_, live)| *live);
        live.any(|(node, _)| matches!(node, Node::Index(l) if self.indices[l.0 as usize] == Some(walk)))
    }

    fn find_walks(&mut self, program: &Program) {
        // By use and by the access without what may differ: the first such access.
        let mut first: HashMap<(usize, Access), (AccessId, i64)> = HashMap::new();
        // By subscripts, guard and shape: the first such access and the walk along its list.
        let mut listed: HashMap<Positions<'_>, (AccessId, u32)> = HashMap::new();
        let mut uses = Vec::new();
        let live = self.live();
        for (_, node) in self.nest.graph.nodes().iter().enumerate().filter(|(i, _)| live[*i]) {
            match *node {
                Node::Read(Element::At(access)) => uses.push((access, Use::Input)),
                Node::Direction(Element::At(access)) => uses.push((access, Use::Direction)),
                _ => {}
            }
        }
        for store in &self.nest.stores {
            if let Target::Set(Element::At(access)) | Target::Add(Element::At(access)) = store.target {
                uses.push((access, Use::Result));
            }
        }
        for (access, used) in uses {
            // Kept values have no place in the frame.
            let Some(Some(place)) = self.frame.places.get(access.0 as usize) else { continue };
            if self.sites[access.0 as usize][used as usize].is_some() {
                continue;
            }
            let buffer = match used {
                Use::Input => input_buffer(program.arrays[self.nest.array(access).0 as usize].role),
                Use::Direction => W,
                Use::Result => OUT,
            };
            let site = if let Some(list) = place.list {
                let walk = Walk { origin: Origin::Buffer(buffer, place.base), strides: Vec::new() };
                let list = Walk { origin: Origin::List(list), strides: place.strides.clone() };
                // Positions count from the start of the array, so that arrays of one shape have them in common.
                let Access { array, subs, guard } = self.nest.space.access(access).clone();
                let axes = &program.arrays[array.0 as usize].axes;
                let (head, known) = *listed.entry((subs, guard, axes)).or_insert_with(|| (access, self.push(list)));
                if head != access {
                    self.alike.push((access, head));
                }
                let (walk, list) = (self.push(walk), known);
                Site { walk, delta: 0, list: Some(list) }
            } else if let Some((key, constant)) = self.neighbourhood(access) {
                let (head, at) = *first.entry((buffer, key)).or_insert((access, constant));
                let distance = constant - at;
                match (self.sites[head.0 as usize][used as usize], i32::try_from(distance * 8)) {
                    (Some(site), Ok(_)) => {
                        self.shared.push((access, head, distance));
                        Site { delta: distance as i32, ..site }
                    }
                    _ => self.straight(buffer, &place.clone()),
                }
            } else {
                self.straight(buffer, &place.clone())
            };
            self.sites[access.0 as usize][used as usize] = Some(site);
        }
        for (k, slots) in self.frame.slots.clone().into_iter().enumerate() {
            self.slots[k] =
                slots.map(|slots| self.push(Walk { origin: Origin::List(slots.list), strides: slots.strides }));
        }
        for (l, index) in self.frame.index.clone().into_iter().enumerate() {
            let strides = vec![(Counter::Points, Stride::One)];
            self.indices[l] = index.list.map(|list| self.push(Walk { origin: Origin::List(list), strides }));
        }
    }

    fn straight(&mut self, buffer: usize, place: &Place) -> Site {
        let walk = Walk { origin: Origin::Buffer(buffer, place.base), strides: place.strides.clone() };
        Site { walk: self.push(walk), delta: 0, list: None }
    }

    /// The number of a walk. Its origin says where it goes: a word is the base of one access alone, whose array has the
    /// strides of none if a list has those.
    fn push(&mut self, walk: Walk) -> u32 {
        let next = self.walks.len() as u32;
        let known = *self.index.entry((walk.origin, walk.strides.len())).or_insert(next);
        if known == next {
            self.walks.push(walk);
        }
        known
    }

    /// The access without the constant of its last subscript, and that constant: equal ones lie at a fixed distance. The
    /// last axis goes from one element to the next.
    fn neighbourhood(&self, access: AccessId) -> Option<(Access, i64)> {
        let mut key = self.nest.space.access(access).clone();
        for subscript in &mut key.subs {
            subscript.edge = Edge::Inside;
        }
        let Sub::Affine(last) = &mut key.subs.last_mut()?.sub else { return None };
        let constant = std::mem::take(&mut last.constant);
        (i32::try_from(constant).is_ok()).then_some((key, constant))
    }

    /// The walks that steps use, once each: their own, and those of the loops in them.
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
            let site = site.into_iter().flat_map(|site| [Some(site.walk), site.list]).flatten();
            site.chain(more).for_each(|walk| note(nested, walk));
        }
    }

    fn walks_of_step(&self, step: &Step) -> (Option<Site>, Option<u32>) {
        match step {
            Step::Compute(node) => match self.nest.graph.node(*node) {
                Node::Read(element) => (self.site(element, Use::Input), None),
                Node::Direction(element) => (self.site(element, Use::Direction), None),
                Node::Index(l) => (None, self.indices[l.0 as usize]),
                _ => (None, None),
            },
            Step::Store(k) => match self.nest.stores[*k as usize].target {
                Target::Set(element) | Target::Add(element) => (self.site(element, Use::Result), None),
                Target::Entry(..) => (None, self.slots[*k as usize]),
            },
            Step::Loop(_) => (None, None),
        }
    }

    /// The word of the number of rounds of a counter.
    pub(crate) fn count(&self, counter: Counter) -> u32 {
        match counter {
            Counter::Points => self.frame.points.unwrap_or(0),
            Counter::Loop(LoopId(l)) => self.frame.count[l as usize],
        }
    }

    /// True when a body may run two rounds at a time: it has no loop in it and only operations with a form for two, and
    /// the elements that lie side by side outweigh those that have to be gathered.
    pub(crate) fn pairs(&self, body: &Body) -> bool {
        let (mut gain, mut loss) = (0usize, 0usize);
        let mut count = |site: Option<Site>| {
            let Some(site) = site else { return };
            let walk = &self.walks[site.walk as usize];
            let unit = |&(c, stride): &(Counter, Stride)| c == body.counter && stride == Stride::One;
            if site.list.is_none() && walk.strides.iter().any(unit) { gain += 1 } else { loss += 1 }
        };
        let mut calls = 0;
        for step in &body.steps {
            match step {
                Step::Loop(_) => return false,
                Step::Compute(node) => match self.nest.graph.node(*node) {
                    Node::Call(op, _) => match op.0.lowering {
                        Lowering::Primitive(
                            odec_ir::Primitive::Floor | odec_ir::Primitive::Ceil | odec_ir::Primitive::Fma,
                        ) => return false,
                        Lowering::Primitive(_) => calls += 1,
                        _ => return false,
                    },
                    Node::Index(l) if self.indices[l.0 as usize].is_some() => return false,
                    Node::Read(_) | Node::Direction(_) => count(self.walks_of_step(step).0),
                    _ => {}
                },
                Step::Store(k) => match self.nest.stores[*k as usize].target {
                    Target::Set(_) | Target::Add(_) => count(self.walks_of_step(step).0),
                    Target::Entry(..) => count(None),
                },
            }
        }
        let few = self.rounds(body.counter).is_some_and(|rounds| rounds < FEW_ROUNDS);
        !few && calls > 0 && gain + calls > loss
    }

    /// The number of rounds of a loop whose bounds are numbers.
    fn rounds(&self, counter: Counter) -> Option<i64> {
        let Counter::Loop(l) = counter else { return None };
        let l = &self.nest.space.loops()[l.0 as usize];
        let number = l.first.extents.is_empty() && l.last.extents.is_empty();
        number.then(|| l.last.constant.saturating_sub(l.first.constant).saturating_add(1))
    }

    /// The nodes that a body computes.
    pub(crate) fn computed(body: &Body) -> HashSet<NodeId> {
        let nodes = body.steps.iter();
        nodes.filter_map(|step| if let Step::Compute(node) = step { Some(*node) } else { None }).collect()
    }
}

/// A loop of fewer rounds than this is not worth two forms.
const FEW_ROUNDS: i64 = 8;

fn input_buffer(role: Role) -> usize {
    match role {
        Role::Position | Role::Velocity | Role::FirstOrder => Y,
        _ => P,
    }
}

/// Steps in all bodies; refuses loops nested too deeply to walk them.
fn size(steps: &[Step], depth: usize) -> Result<usize, JitError> {
    if depth > MAX_LOOPS {
        return Err(JitError::TooManyLoops);
    }
    let mut sum = steps.len();
    for step in steps {
        if let Step::Loop(body) = step {
            sum += size(&body.steps, depth + 1)?;
        }
    }
    Ok(sum)
}

/// Refuses nests that read what callers do not give them, or that call what must not be called.
fn readable(program: &Program, nest: &Kernel) -> Result<(), JitError> {
    use KernelRole::{Initial, MassJacobian, MassTimeDerivative, Outputs, Prepare, Tangent};
    let role = nest.role;
    let malformed = || Err(JitError::Malformed(format!("a {role:?} nest reads an input it is not given")));
    let stateless = matches!(role, Prepare | Initial);
    let directed = matches!(role, Tangent | MassJacobian | MassTimeDerivative | Outputs);
    let live = nest.graph.reachable(nest.stores.iter().map(|store| store.node));
    for (_, node) in nest.graph.nodes().iter().enumerate().filter(|(i, _)| live[*i]) {
        match *node {
            Node::Read(Element::Scalar(_)) | Node::Direction(Element::Scalar(_)) => return malformed(),
            Node::Read(element) | Node::Direction(element) => {
                let array = nest.array(element);
                let direction = matches!(node, Node::Direction(_));
                let given = match program.arrays[array.0 as usize].role {
                    Role::Position | Role::Velocity | Role::FirstOrder => !stateless && (directed || !direction),
                    Role::Parameter | Role::Size | Role::Table => !direction,
                    // What `Prepare` writes, into the buffer that it reads.
                    Role::Staged => !direction && role != Prepare,
                    Role::Output | Role::Conserved | Role::Expected => false,
                };
                if !given {
                    return malformed();
                }
            }
            Node::Call(op, _) => {
                if matches!(op.0.lowering, Lowering::Expand(_)) {
                    return Err(JitError::Malformed(format!("`{}` still has to be expanded", op.0.name)));
                }
                lower::callable(op)?;
            }
            Node::Constant(_) | Node::Time | Node::Index(_) | Node::Fold(..) => {}
        }
    }
    Ok(())
}
