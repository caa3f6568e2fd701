//! Recurrences to groups of lanes: nodes of one kind and depth side by side where the program has no loops, the points of the loops
//! that a node depends on where it has.

use std::collections::HashMap;

use super::lanes::{Group, LaneRule, Lanes, Slopes, Table};
use super::recurrence::{KernelSeries, Recurrences, Rule, Unsuited};
use crate::builtin::Op;
use crate::graph::{Node, NodeId};
use crate::layout::Layout;
use crate::nest::bind::{BoundKernel, ListId, Word};
use crate::nest::frame::{Counter, Frame, Place, Stride};
use crate::nest::{AccessId, BoundProgram, Element, Fold, Kernel, LoopId, Target};
use crate::program::{Program, Role};

/// Most lanes: with 20 orders they take 160 bytes each.
pub const MAX_LANES: usize = 1 << 22;

impl Table {
    /// The groups of a program; `bound` is that of its nests, if it has some.
    ///
    /// # Errors
    /// [`Unsuited::TooLarge`]: more than [`MAX_LANES`].
    pub fn of(
        program: &Program,
        layout: &Layout,
        bound: Option<&BoundProgram>,
        recurrences: &Recurrences,
    ) -> Result<Table, Unsuited> {
        let mut builder = Builder {
            program,
            layout,
            table: Table { n: layout.n, lanes: layout.n, ..Table::default() },
            gathered: HashMap::new(),
            varies: vec![true; layout.n],
        };
        for part in recurrences.parts() {
            let kernel = &program.kernels[part.number];
            match (part.straight, bound) {
                (true, _) => builder.scalars(part)?,
                (false, Some(bound)) => {
                    for run in bound.runs.iter().filter(|run| run.kernel == part.number && run.points > 0) {
                        builder.nest(part, kernel, run, &bound.lists)?;
                    }
                }
                (false, None) => {}
            }
        }
        // what sets comes before what adds
        builder.table.slopes.sort_by_key(|slopes| slopes.adds);
        Ok(builder.table)
    }
}

/// In place of an operand that is filled in later.
const LATER: Lanes = Lanes { at: usize::MAX, step: 1 };

struct Builder<'a> {
    program: &'a Program,
    layout: &'a Layout,
    table: Table,
    /// Gathers that exist.
    gathered: HashMap<Vec<u32>, usize>,
    /// By lane: it may have coefficients above order 0.
    varies: Vec<bool>,
}

impl Builder<'_> {
    /// Adds a group; the first of its lanes.
    fn push(&mut self, len: usize, kind: LaneRule, zeroth: Option<(Op, Vec<Lanes>)>) -> Result<usize, Unsuited> {
        let at = self.table.lanes;
        if len > MAX_LANES || at + len > MAX_LANES {
            return Err(Unsuited::TooLarge);
        }
        let varies = match &kind {
            LaneRule::Given(_) | LaneRule::Parameters(_) | LaneRule::Fixed => false,
            LaneRule::Gather(lanes) => lanes.iter().any(|l| self.varies[*l as usize]),
            _ => true,
        };
        self.table.lanes += len;
        self.varies.extend(std::iter::repeat_n(varies, len));
        self.table.groups.push(Group { at, len, kind, zeroth });
        Ok(at)
    }

    /// An operand: these lanes as they lie, where they do so one after the other, else copies.
    fn operand(&mut self, lanes: Vec<u32>) -> Result<Lanes, Unsuited> {
        let first = lanes.first().map_or(0, |&l| l as usize);
        if lanes.iter().enumerate().all(|(e, &l)| l as usize == first + e) {
            return Ok(Lanes { at: first, step: 1 });
        }
        if !self.varies[first] && lanes.iter().all(|&l| l as usize == first) {
            return Ok(Lanes { at: first, step: 0 });
        }
        if let Some(&at) = self.gathered.get(&lanes) {
            return Ok(Lanes { at, step: 1 });
        }
        let at = self.push(lanes.len(), LaneRule::Gather(lanes.clone()), None)?;
        self.gathered.insert(lanes, at);
        Ok(Lanes { at, step: 1 })
    }

    /// The kind of a rule, with operands found by `lanes`. The slopes of a chain and conditions are filled in by [`Builder::late`]: they may
    /// come later in the graph, since of the order at hand they are not needed.
    fn kind(
        &mut self,
        rule: &Rule,
        fixed: impl Fn(usize) -> bool,
        lanes: impl Fn(usize) -> Vec<u32>,
    ) -> Result<LaneRule, Unsuited> {
        let mut of = |node: usize| self.operand(lanes(node));
        Ok(match *rule {
            Rule::Add(a, b) => LaneRule::Add(of(a)?, of(b)?),
            Rule::Sub(a, b) => LaneRule::Sub(of(a)?, of(b)?),
            Rule::Neg(a) => LaneRule::Neg(of(a)?),
            Rule::Product(a, b) if fixed(a) => LaneRule::Scale { by: of(a)?, of: of(b)? },
            Rule::Product(a, b) if fixed(b) => LaneRule::Scale { by: of(b)?, of: of(a)? },
            Rule::Product(a, b) if a == b => LaneRule::Square(of(a)?),
            Rule::Product(a, b) => LaneRule::Product(of(a)?, of(b)?),
            Rule::Quotient(a, b) if fixed(b) => LaneRule::Ratio { of: of(a)?, by: of(b)? },
            Rule::Quotient(a, b) => LaneRule::Quotient(of(a)?, self.whole(lanes(b))?),
            Rule::Root(u) => LaneRule::Root(of(u)?),
            Rule::Length(x, y) => LaneRule::Length(self.whole(lanes(x))?, self.whole(lanes(y))?),
            Rule::Power(u, a) => LaneRule::Power(self.whole(lanes(u))?, self.operand(lanes(a))?),
            Rule::Chain(ref terms) => {
                let mut sums = Vec::new();
                for &(_, u) in terms {
                    sums.push((LATER, self.whole(lanes(u))?));
                }
                LaneRule::Chain(sums)
            }
            Rule::Choose(_, a, b) => LaneRule::Choose(LATER, of(a)?, of(b)?),
            Rule::Fixed | Rule::Time | Rule::State(_) | Rule::Fold(..) => LaneRule::Fixed,
        })
    }

    /// Fills in late operand number `k` of a group.
    fn late(&mut self, group: usize, k: usize, lanes: Vec<u32>) -> Result<(), Unsuited> {
        let found = self.whole(lanes)?;
        match &mut self.table.groups[group].kind {
            LaneRule::Chain(terms) => terms[k].0 = found,
            LaneRule::Choose(condition, ..) => *condition = found,
            _ => {}
        }
        Ok(())
    }

    /// An operand with a lane for each lane of the result, also where it does not vary.
    fn whole(&mut self, lanes: Vec<u32>) -> Result<Lanes, Unsuited> {
        let found = self.operand(lanes.clone())?;
        if found.step == 1 {
            return Ok(found);
        }
        let at = match self.gathered.get(&lanes) {
            Some(&at) => at,
            None => self.push(lanes.len(), LaneRule::Gather(lanes.clone()), None)?,
        };
        self.gathered.insert(lanes, at);
        Ok(Lanes { at, step: 1 })
    }

    fn is_state(&self, role: Role) -> bool {
        matches!(role, Role::Position | Role::Velocity | Role::FirstOrder)
    }

    /// Nodes of one kind whose operands are equally deep are lanes of one group.
    fn scalars(&mut self, part: &KernelSeries) -> Result<(), Unsuited> {
        let nodes = part.graph.nodes();
        let mut lane: Vec<u32> = vec![u32::MAX; nodes.len()];
        let mut level: Vec<u32> = vec![0; nodes.len()];
        let mut levels: Vec<Vec<usize>> = Vec::new();
        for (&i, rule) in &part.rules {
            let needs = operands(rule, nodes[i]);
            level[i] = needs.iter().map(|&a| level[a] + 1).max().unwrap_or(0);
            if levels.len() <= level[i] as usize {
                levels.resize(level[i] as usize + 1, Vec::new());
            }
            levels[level[i] as usize].push(i);
        }
        let fixed = |i: usize| matches!(part.rules[&i], Rule::Fixed);
        let mut open: Vec<(usize, usize, Vec<usize>)> = Vec::new();
        for of_level in levels {
            // leaves, then groups by what they are, in the order of their first node
            let mut kinds: Vec<(String, Op, Vec<usize>)> = Vec::new();
            for i in of_level {
                match nodes[i] {
                    Node::Constant(bits) => {
                        lane[i] = self.push(1, LaneRule::Given(vec![f64::from_bits(bits)]), None)? as u32;
                    }
                    Node::Time => lane[i] = self.push(1, LaneRule::Time, None)? as u32,
                    Node::Read(Element::Scalar(array)) if self.is_state(self.program.arrays[array.0 as usize].role) => {
                        lane[i] = self.layout.state(array) as u32;
                    }
                    Node::Read(Element::Scalar(array)) => {
                        let place = self.layout.parameter(array) as u32;
                        lane[i] = self.push(1, LaneRule::Parameters(vec![place]), None)? as u32;
                    }
                    Node::Call(op, _) => {
                        let shape = shape(&part.rules[&i], fixed);
                        match kinds.iter_mut().find(|(other, call, _)| *call == op && *other == shape) {
                            Some((_, _, members)) => members.push(i),
                            None => kinds.push((shape, op, vec![i])),
                        }
                    }
                    _ => lane[i] = self.push(1, LaneRule::Given(vec![f64::NAN]), None)? as u32,
                }
            }
            for (_, op, mut members) in kinds {
                // neighbours in the operands are neighbours here
                members
                    .sort_by_key(|&i| operands(&part.rules[&i], nodes[i]).iter().map(|&a| lane[a]).collect::<Vec<_>>());
                let first = &part.rules[&members[0]];
                // operand number k of each member
                let nth: HashMap<usize, Vec<u32>> = match first {
                    Rule::Fixed => HashMap::new(),
                    _ => {
                        let own: Vec<Vec<usize>> = members.iter().map(|i| named(&part.rules[i])).collect();
                        let column = |k: usize| own.iter().map(|o| lane[o[k]]).collect();
                        own[0].iter().enumerate().map(|(k, &a)| (a, column(k))).collect()
                    }
                };
                let kind = self.kind(first, fixed, |node| nth[&node].clone())?;
                let mut zeroth = Vec::new();
                for k in 0..nodes[members[0]].operands().len() {
                    let lanes = members.iter().map(|&i| lane[nodes[i].operands()[k].index()]).collect();
                    zeroth.push(self.operand(lanes)?);
                }
                let at = self.push(members.len(), kind, Some((op, zeroth)))?;
                for (e, &i) in members.iter().enumerate() {
                    lane[i] = (at + e) as u32;
                }
                let group = self.table.groups.len() - 1;
                let late_ones: Vec<Vec<usize>> = members.iter().map(|i| late(&part.rules[i])).collect();
                open.extend((0..late_ones[0].len()).map(|k| (group, k, late_ones.iter().map(|o| o[k]).collect())));
            }
        }
        for (group, k, members) in open {
            self.late(group, k, members.into_iter().map(|i| lane[i]).collect())?;
        }
        let lanes = part.rows.iter().map(|(_, node)| lane[node.index()]).collect();
        let rows = part.rows.iter().map(|(row, _)| self.layout.state(*row) as u32).collect();
        self.table.slopes.push(Slopes { lanes, rows, adds: false });
        Ok(())
    }

    /// Every node has a lane for each round of the loops that it depends on.
    fn nest(
        &mut self,
        part: &KernelSeries,
        nest: &Kernel,
        run: &BoundKernel,
        lists: &[Vec<u32>],
    ) -> Result<(), Unsuited> {
        let frame = Frame::of(nest);
        let rounds = Rounds { nest, frame: &frame, words: &run.words, lists };
        let nowhere = self.push(1, LaneRule::Given(vec![f64::NAN]), None)? as u32;
        let nodes = part.graph.nodes();
        let mut places: Vec<Option<Spread>> = vec![None; nodes.len()];
        let mut open = Vec::new();
        let fixed = |i: usize| matches!(part.rules[&i], Rule::Fixed);
        for (&i, rule) in &part.rules {
            let whole = |at: usize, len: usize| (at as u32..(at + len) as u32).collect::<Vec<u32>>();
            let spread = match nodes[i] {
                Node::Constant(bits) => {
                    let at = self.push(1, LaneRule::Given(vec![f64::from_bits(bits)]), None)?;
                    Spread { over: Vec::new(), lanes: whole(at, 1) }
                }
                Node::Time => Spread { over: Vec::new(), lanes: whole(self.push(1, LaneRule::Time, None)?, 1) },
                Node::Index(l) => {
                    let (over, values) = rounds.index(l);
                    let len = values.len();
                    Spread { over, lanes: whole(self.push(len, LaneRule::Given(values), None)?, len) }
                }
                Node::Read(Element::At(access)) => {
                    let over = rounds.sorted(nest.counters_of(access));
                    if rounds.count(&over) > MAX_LANES {
                        return Err(Unsuited::TooLarge);
                    }
                    let positions = rounds.positions(access, &over);
                    let role = self.program.arrays[nest.array(access).0 as usize].role;
                    let lanes = if self.is_state(role) {
                        let n = self.layout.n;
                        positions.iter().map(|&x| if (x as usize) < n { x } else { nowhere }).collect()
                    } else {
                        let len = positions.len();
                        whole(self.push(len, LaneRule::Parameters(positions), None)?, len)
                    };
                    Spread { over, lanes }
                }
                Node::Fold(fold, over, term) => {
                    let Some(inner) = &places[term.index()] else { return Err(Unsuited::TooLarge) };
                    let counter = Counter::Loop(over);
                    let outer: Vec<Counter> = inner.over.iter().copied().filter(|c| *c != counter).collect();
                    let mut ordered = outer.clone();
                    ordered.push(counter);
                    let count = rounds.rounds(counter);
                    let len = rounds.count(&outer);
                    let lanes = rounds.spread(inner, &ordered)?;
                    let of = self.whole(lanes)?;
                    let first = rounds.integer(frame.index[over.0 as usize].first);
                    // the choice of an index has no coefficients above order 0, nor has a sum of what does not vary
                    let kind = LaneRule::Fold { fold, count, of, first };
                    let chosen = matches!(fold, Fold::ArgMin | Fold::ArgMax) || matches!(rule, Rule::Fixed);
                    let at = self.push(len, kind, None)?;
                    if chosen {
                        self.varies[at..].fill(false);
                    }
                    Spread { over: outer, lanes: whole(at, len) }
                }
                Node::Call(op, _) => {
                    let over = rounds.sorted(
                        operands(rule, nodes[i])
                            .iter()
                            .filter_map(|&a| places[a].as_ref())
                            .flat_map(|s| s.over.iter().copied())
                            .collect(),
                    );
                    let lanes_of = |node: usize| match &places[node] {
                        Some(spread) => rounds.spread(spread, &over),
                        None => Ok(vec![nowhere; rounds.count(&over)]),
                    };
                    let mut aligned: HashMap<usize, Vec<u32>> = HashMap::new();
                    for a in operands(rule, nodes[i]) {
                        aligned.insert(a, lanes_of(a)?);
                    }
                    let kind = self.kind(rule, fixed, |node| aligned[&node].clone())?;
                    let mut zeroth = Vec::new();
                    for a in nodes[i].operands() {
                        zeroth.push(self.operand(aligned[&a.index()].clone())?);
                    }
                    let len = rounds.count(&over);
                    let at = self.push(len, kind, Some((op, zeroth)))?;
                    let group = self.table.groups.len() - 1;
                    open.extend(late(rule).into_iter().enumerate().map(|(k, node)| (group, k, node, over.clone())));
                    Spread { lanes: whole(at, len), over }
                }
                Node::Read(Element::Scalar(_)) | Node::Direction(_) => {
                    Spread { over: Vec::new(), lanes: vec![nowhere] }
                }
            };
            places[i] = Some(spread);
        }
        for (group, k, node, over) in open {
            if let Some(spread) = &places[node] {
                self.late(group, k, rounds.spread(spread, &over)?)?;
            }
        }
        let points = nest.counters();
        for store in &nest.stores {
            let (access, adds) = match store.target {
                Target::Set(Element::At(access)) => (access, false),
                Target::Add(Element::At(access)) => (access, true),
                _ => continue,
            };
            let Some(spread) = &places[store.node.index()] else { continue };
            let (lanes, rows) = (rounds.spread(spread, &points)?, rounds.positions(access, &points));
            let n = self.layout.n;
            let (lanes, rows) = lanes.into_iter().zip(rows).filter(|(_, row)| (*row as usize) < n).unzip();
            self.table.slopes.push(Slopes { lanes, rows, adds });
        }
        Ok(())
    }
}

/// The nodes that a rule or order 0 refers to.
fn operands(rule: &Rule, node: Node) -> Vec<usize> {
    let mut all = named(rule);
    all.extend(node.operands().iter().map(|a: &NodeId| a.index()));
    all
}

/// The nodes of which a rule needs lower orders alone.
fn late(rule: &Rule) -> Vec<usize> {
    match rule {
        Rule::Chain(terms) => terms.iter().map(|term| term.0).collect(),
        &Rule::Choose(condition, ..) => vec![condition],
        _ => Vec::new(),
    }
}

/// The nodes of which a rule needs the order at hand.
fn named(rule: &Rule) -> Vec<usize> {
    match rule {
        Rule::Fixed | Rule::Time | Rule::State(_) => Vec::new(),
        &Rule::Neg(a) | &Rule::Root(a) | &Rule::Fold(_, a) => vec![a],
        &Rule::Add(a, b)
        | &Rule::Sub(a, b)
        | &Rule::Product(a, b)
        | &Rule::Quotient(a, b)
        | &Rule::Length(a, b)
        | &Rule::Power(a, b) => vec![a, b],
        Rule::Chain(terms) => terms.iter().map(|term| term.1).collect(),
        &Rule::Choose(_, a, b) => vec![a, b],
    }
}

/// What lanes of one group share: the rule, and which operands are equal or do not vary.
fn shape(rule: &Rule, fixed: impl Fn(usize) -> bool) -> String {
    let name = match rule {
        Rule::Fixed => "fixed",
        Rule::Add(..) => "add",
        Rule::Sub(..) => "sub",
        Rule::Neg(_) => "neg",
        Rule::Product(..) => "product",
        Rule::Quotient(..) => "quotient",
        Rule::Root(_) => "root",
        Rule::Length(..) => "length",
        Rule::Power(..) => "power",
        Rule::Chain(_) => "chain",
        Rule::Choose(..) => "choose",
        Rule::Time | Rule::State(_) | Rule::Fold(..) => "leaf",
    };
    let named = named(rule);
    let equal = |k: usize| named.iter().position(|a| *a == named[k]).unwrap_or(k);
    let operands: Vec<String> =
        (0..named.len()).map(|k| format!("{}{}", equal(k), if fixed(named[k]) { "f" } else { "" })).collect();
    format!("{name} {}", operands.join(" "))
}

/// The lanes of a node, one for each round of these counters, the last fastest.
#[derive(Clone)]
struct Spread {
    over: Vec<Counter>,
    lanes: Vec<u32>,
}

/// A nest at its extents.
struct Rounds<'a> {
    nest: &'a Kernel,
    frame: &'a Frame,
    words: &'a [Word],
    lists: &'a [Vec<u32>],
}

impl Rounds<'_> {
    fn integer(&self, word: u32) -> i64 {
        match self.words.get(word as usize) {
            Some(Word::Integer(x)) => *x,
            _ => 0,
        }
    }

    fn list(&self, word: u32) -> &[u32] {
        match self.words.get(word as usize) {
            Some(Word::List(ListId(id))) => self.lists.get(*id as usize).map_or(&[], Vec::as_slice),
            _ => &[],
        }
    }

    /// How often a counter counts.
    fn rounds(&self, counter: Counter) -> usize {
        let word = match counter {
            Counter::Points => self.frame.points,
            Counter::Loop(l) => self.frame.count.get(l.0 as usize).copied(),
        };
        word.map_or(0, |word| usize::try_from(self.integer(word)).unwrap_or(0))
    }

    fn count(&self, over: &[Counter]) -> usize {
        over.iter().fold(1, |product: usize, &c| product.saturating_mul(self.rounds(c)))
    }

    /// Iteration counters in their order, then the loops of folds, each once.
    fn sorted(&self, mut over: Vec<Counter>) -> Vec<Counter> {
        let own = self.nest.counters();
        over.sort_by_key(|c| (own.iter().position(|o| o == c).unwrap_or(own.len()), *c));
        over.dedup();
        over
    }

    /// The offset of each round of `over`, by strides along some counters.
    fn offsets(&self, over: &[Counter], strides: &[(Counter, i64)]) -> Vec<i64> {
        let mut offsets = vec![0];
        for &counter in over {
            let stride = strides.iter().find(|(c, _)| *c == counter).map_or(0, |(_, s)| *s);
            let rounds = self.rounds(counter) as i64;
            offsets = offsets.iter().flat_map(|x| (0..rounds).map(move |k| x + k * stride)).collect();
        }
        offsets
    }

    /// The lanes of a node over more counters, or in another order.
    fn spread(&self, spread: &Spread, over: &[Counter]) -> Result<Vec<u32>, Unsuited> {
        if spread.over == over {
            return Ok(spread.lanes.clone());
        }
        if self.count(over) > MAX_LANES {
            return Err(Unsuited::TooLarge);
        }
        let mut strides = Vec::new();
        let mut stride = 1;
        for &counter in spread.over.iter().rev() {
            strides.push((counter, stride));
            stride *= self.rounds(counter) as i64;
        }
        let offsets = self.offsets(over, &strides);
        Ok(offsets.into_iter().filter_map(|x| spread.lanes.get(x as usize).copied()).collect())
    }

    /// Positions in its buffer of what an access names; beyond every buffer where the frame has none.
    fn positions(&self, access: AccessId, over: &[Counter]) -> Vec<u32> {
        let Some(Some(Place { base, list, strides })) = self.frame.places.get(access.0 as usize) else {
            return vec![u32::MAX; self.count(over)];
        };
        let base = self.integer(*base);
        let step = |stride: Stride| match stride {
            Stride::One => 1,
            Stride::Word(word) => self.integer(word),
        };
        let strides: Vec<(Counter, i64)> = strides.iter().map(|&(counter, stride)| (counter, step(stride))).collect();
        let list = list.map(|word| self.list(word));
        let place = |offset: i64| {
            let offset = match list {
                Some(list) => i64::from(*list.get(usize::try_from(offset).ok()?)?),
                None => offset,
            };
            u32::try_from(base + offset).ok()
        };
        self.offsets(over, &strides).into_iter().map(|offset| place(offset).unwrap_or(u32::MAX)).collect()
    }

    /// The values of a loop's index.
    fn index(&self, l: LoopId) -> (Vec<Counter>, Vec<f64>) {
        let place = self.frame.index[l.0 as usize];
        let first = self.integer(place.first);
        match place.list {
            Some(word) => {
                let values = self.list(word).iter().map(|&x| (first + i64::from(x)) as f64).collect();
                (vec![Counter::Points], values)
            }
            None => {
                let counter = Counter::Loop(l);
                (vec![counter], (0..self.rounds(counter) as i64).map(|k| (first + k) as f64).collect())
            }
        }
    }
}
