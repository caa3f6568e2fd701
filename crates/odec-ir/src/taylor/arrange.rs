//! Arranges recurrences in groups of lanes: nodes of one kind and depth together if the program has no loops,
//! otherwise the points of the loops that a node depends on.

use std::collections::HashMap;

use super::lanes::{Group, LaneRule, Lanes, SeriesTable, Slopes};
use super::recurrence::{KernelSeries, Recurrences, Rule, Unsuited};
use crate::broken;
use crate::builtin::Op;
use crate::graph::{Node, NodeId};
use crate::layout::Layout;
use crate::nest::arguments::{Address, ArgumentBlock, Counter};
use crate::nest::bind::Words;
use crate::nest::{AccessId, BoundProgram, Element, Kernel, LoopId, ReduceOp, Target};
use crate::program::Program;

/// Largest number of lanes; with 20 orders, a lane takes 160 bytes.
pub const MAX_LANES: usize = 1 << 22;

impl SeriesTable {
    /// The groups of a program at its extents.
    ///
    /// # Errors
    /// [`Unsuited::TooLarge`]: more than [`MAX_LANES`].
    pub fn of(program: &Program, bound: &BoundProgram, recurrences: &Recurrences) -> Result<SeriesTable, Unsuited> {
        let layout = &bound.layout;
        let mut builder = Builder {
            program,
            layout,
            table: SeriesTable { n: layout.n, lanes: layout.n, ..SeriesTable::default() },
            gathered: HashMap::new(),
            varies: vec![true; layout.n],
        };
        for part in recurrences.parts() {
            let kernel = &program.kernels[part.number];
            if part.scalar {
                builder.scalars(part)?;
                continue;
            }
            for run in bound.runs.iter().filter(|run| run.kernel == part.number && run.points > 0) {
                builder.nest(part, kernel, Words { words: &run.words, tables: &bound.tables })?;
            }
        }
        // slopes that set precede slopes that add
        builder.table.slopes.sort_by_key(|slopes| slopes.adds);
        Ok(builder.table)
    }
}

/// Placeholder for an operand that is filled in later.
const LATER: Lanes = Lanes { at: usize::MAX, step: 1 };

struct Builder<'a> {
    program: &'a Program,
    layout: &'a Layout,
    table: SeriesTable,
    /// Existing gathers.
    gathered: HashMap<Vec<u32>, usize>,
    /// For each lane: true if coefficients above order 0 may be nonzero.
    varies: Vec<bool>,
}

impl Builder<'_> {
    /// Adds a group; returns its first lane.
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

    /// An operand: these lanes if they are consecutive, otherwise copies of them.
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

    /// The lane rule of a rule; `lanes` finds the operands. [`Builder::late`] fills in slopes of chains and
    /// conditions: they may come later in the graph, because the rule does not need their current order.
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
            Rule::Fixed | Rule::Time | Rule::State(_) | Rule::Reduce(..) => LaneRule::Fixed,
        })
    }

    /// Fills in late operand number `k` of a group.
    fn late(&mut self, group: usize, k: usize, lanes: Vec<u32>) -> Result<(), Unsuited> {
        let found = self.whole(lanes)?;
        match &mut self.table.groups[group].kind {
            LaneRule::Chain(terms) => terms[k].0 = found,
            LaneRule::Choose(condition, ..) => *condition = found,
            other => broken(&format!("{other:?} has no late operand")),
        }
        Ok(())
    }

    /// An operand with one lane for each lane of the result, even if it does not vary.
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

    /// Creates the lanes of a scalar kernel: nodes of one kind whose operands have equal depth form a group.
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
            // leaves first, then groups by kind, in the order of their first node
            let mut kinds: Vec<(String, Op, Vec<usize>)> = Vec::new();
            for i in of_level {
                match nodes[i] {
                    Node::Constant(bits) => {
                        lane[i] = self.push(1, LaneRule::Given(vec![f64::from_bits(bits)]), None)? as u32;
                    }
                    Node::Time => lane[i] = self.push(1, LaneRule::Time, None)? as u32,
                    Node::Read(Element::Scalar(array)) if self.program.arrays[array.0 as usize].role.is_state() => {
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
                    other => broken(&format!("{other:?} is in a kernel without loops")),
                }
            }
            for (_, op, mut members) in kinds {
                // neighbouring operands have neighbouring results
                members
                    .sort_by_key(|&i| operands(&part.rules[&i], nodes[i]).iter().map(|&a| lane[a]).collect::<Vec<_>>());
                let first = &part.rules[&members[0]];
                // the k-th operand of each member
                let nth: HashMap<usize, Vec<u32>> = if first == &Rule::Fixed {
                    HashMap::new()
                } else {
                    let own: Vec<Vec<usize>> = members.iter().map(|i| named(&part.rules[i])).collect();
                    let column = |k: usize| own.iter().map(|o| lane[o[k]]).collect();
                    own[0].iter().enumerate().map(|(k, &a)| (a, column(k))).collect()
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

    /// Creates the lanes of a nest: every node has a lane for each round of the loops that it depends on.
    fn nest(&mut self, part: &KernelSeries, nest: &Kernel, words: Words<'_>) -> Result<(), Unsuited> {
        let arguments = ArgumentBlock::of(nest);
        let rounds = Rounds { nest, arguments: &arguments, words };
        let mut known = Spreads(vec![None; part.graph.len()]);
        let mut open = Vec::new();
        for (&i, rule) in &part.rules {
            let spread = match part.graph.nodes()[i] {
                Node::Reduce(reduction, over, term) => {
                    // a chosen index and a sum of constants have no coefficients above order 0
                    let chosen =
                        matches!(reduction, ReduceOp::ArgMin | ReduceOp::ArgMax) || matches!(rule, Rule::Fixed);
                    self.reduced((reduction, over, chosen), known.of(term.index()), &rounds)?
                }
                Node::Call(op, _) => {
                    let spread = self.called((part, i, op), &known, &rounds)?;
                    let group = self.table.groups.len() - 1;
                    let late = late(rule).into_iter().enumerate();
                    open.extend(late.map(|(k, node)| (group, k, node, spread.over.clone())));
                    spread
                }
                leaf => self.leaf(leaf, &rounds)?,
            };
            known.0[i] = Some(spread);
        }
        for (group, k, node, over) in open {
            self.late(group, k, rounds.spread(known.of(node), &over)?)?;
        }
        let points = nest.counters();
        for store in &nest.stores {
            let (access, adds) = match store.target {
                Target::Set(Element::At(access)) => (access, false),
                Target::Add(Element::At(access)) => (access, true),
                target => broken(&format!("f stores to {target:?}")),
            };
            let lanes = rounds.spread(known.of(store.node.index()), &points)?;
            self.table.slopes.push(Slopes { lanes, rows: rounds.positions(access, &points), adds });
        }
        Ok(())
    }

    /// The lanes of a node without operands.
    fn leaf(&mut self, node: Node, rounds: &Rounds<'_>) -> Result<Spread, Unsuited> {
        let (over, rule, len) = match node {
            Node::Constant(bits) => (Vec::new(), LaneRule::Given(vec![f64::from_bits(bits)]), 1),
            Node::Time => (Vec::new(), LaneRule::Time, 1),
            Node::Index(l) => {
                let (over, values) = rounds.index(l);
                let len = values.len();
                (over, LaneRule::Given(values), len)
            }
            Node::Read(Element::At(access)) => {
                let over = rounds.sorted(rounds.nest.counters_of(access));
                if rounds.count(&over) > MAX_LANES {
                    return Err(Unsuited::TooLarge);
                }
                let positions = rounds.positions(access, &over);
                if self.program.arrays[rounds.nest.array(access).0 as usize].role.is_state() {
                    return Ok(Spread { over, lanes: positions });
                }
                let len = positions.len();
                (over, LaneRule::Parameters(positions), len)
            }
            other => broken(&format!("{other:?} is in a loop nest of f")),
        };
        let at = self.push(len, rule, None)?;
        Ok(Spread { over, lanes: consecutive(at, len) })
    }

    /// The lanes of a reduction over a loop; `chosen`: coefficients above order 0 are zero.
    fn reduced(
        &mut self,
        (reduction, over, chosen): (ReduceOp, LoopId, bool),
        inner: &Spread,
        rounds: &Rounds<'_>,
    ) -> Result<Spread, Unsuited> {
        let counter = Counter::Loop(over);
        let outer: Vec<Counter> = inner.over.iter().copied().filter(|c| *c != counter).collect();
        let mut ordered = outer.clone();
        ordered.push(counter);
        let (count, len) = (rounds.rounds(counter), rounds.count(&outer));
        let of = self.whole(rounds.spread(inner, &ordered)?)?;
        let first = rounds.words.integer(rounds.arguments.index[over.0 as usize].first);
        let at = self.push(len, LaneRule::ReduceOp { reduction, count, of, first }, None)?;
        if chosen {
            self.varies[at..].fill(false);
        }
        Ok(Spread { over: outer, lanes: consecutive(at, len) })
    }

    /// The lanes of a call, except for operands that [`Builder::late`] fills in.
    fn called(
        &mut self,
        (part, i, op): (&KernelSeries, usize, Op),
        known: &Spreads,
        rounds: &Rounds<'_>,
    ) -> Result<Spread, Unsuited> {
        let (rule, node) = (&part.rules[&i], part.graph.nodes()[i]);
        let operands = operands(rule, node);
        let over = rounds.sorted(operands.iter().flat_map(|&a| known.of(a).over.iter().copied()).collect());
        let mut aligned: HashMap<usize, Vec<u32>> = HashMap::new();
        for a in operands {
            aligned.insert(a, rounds.spread(known.of(a), &over)?);
        }
        let fixed = |i: usize| matches!(part.rules[&i], Rule::Fixed);
        let kind = self.kind(rule, fixed, |node| aligned[&node].clone())?;
        let mut zeroth = Vec::new();
        for a in node.operands() {
            zeroth.push(self.operand(aligned[&a.index()].clone())?);
        }
        let len = rounds.count(&over);
        let at = self.push(len, kind, Some((op, zeroth)))?;
        Ok(Spread { over, lanes: consecutive(at, len) })
    }
}

/// `len` consecutive lanes from `at` on.
fn consecutive(at: usize, len: usize) -> Vec<u32> {
    (at as u32..(at + len) as u32).collect()
}

/// The nodes that a rule or order 0 refers to.
fn operands(rule: &Rule, node: Node) -> Vec<usize> {
    let mut all = named(rule);
    all.extend(node.operands().iter().map(|a: &NodeId| a.index()));
    all
}

/// The operands that a rule needs only at lower orders.
fn late(rule: &Rule) -> Vec<usize> {
    match rule {
        Rule::Chain(terms) => terms.iter().map(|term| term.0).collect(),
        &Rule::Choose(condition, ..) => vec![condition],
        _ => Vec::new(),
    }
}

/// The operands that a rule needs at the current order.
fn named(rule: &Rule) -> Vec<usize> {
    match rule {
        Rule::Fixed | Rule::Time | Rule::State(_) => Vec::new(),
        &Rule::Neg(a) | &Rule::Root(a) | &Rule::Reduce(_, a) => vec![a],
        &Rule::Add(a, b)
        | &Rule::Sub(a, b)
        | &Rule::Product(a, b)
        | &Rule::Quotient(a, b)
        | &Rule::Length(a, b)
        | &Rule::Power(a, b)
        | &Rule::Choose(_, a, b) => vec![a, b],
        Rule::Chain(terms) => terms.iter().map(|term| term.1).collect(),
    }
}

/// The common form of the lanes of a group: the rule, and which operands are equal or constant.
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
        Rule::Time | Rule::State(_) | Rule::Reduce(..) => "leaf",
    };
    let named = named(rule);
    let equal = |k: usize| named.iter().position(|a| *a == named[k]).unwrap_or(k);
    let operands: Vec<String> =
        (0..named.len()).map(|k| format!("{}{}", equal(k), if fixed(named[k]) { "f" } else { "" })).collect();
    format!("{name} {}", operands.join(" "))
}

/// The lanes of a node, one for each round of these counters; the last counter varies fastest.
#[derive(Clone)]
struct Spread {
    over: Vec<Counter>,
    lanes: Vec<u32>,
}

/// The known lanes of the nodes of a kernel.
struct Spreads(Vec<Option<Spread>>);

impl Spreads {
    fn of(&self, node: usize) -> &Spread {
        self.0[node].as_ref().unwrap_or_else(|| broken("a node has no lanes yet"))
    }
}

/// A nest at its extents.
struct Rounds<'a> {
    nest: &'a Kernel,
    arguments: &'a ArgumentBlock,
    words: Words<'a>,
}

impl Rounds<'_> {
    /// The number of rounds of a counter.
    fn rounds(&self, counter: Counter) -> usize {
        usize::try_from(self.words.integer(self.arguments.rounds(counter)))
            .unwrap_or_else(|_| broken("a negative count"))
    }

    fn count(&self, over: &[Counter]) -> usize {
        over.iter().fold(1, |product: usize, &c| product.saturating_mul(self.rounds(c)))
    }

    /// Iteration counters in their order, then reduction loops, without duplicates.
    fn sorted(&self, mut over: Vec<Counter>) -> Vec<Counter> {
        let own = self.nest.counters();
        over.sort_by_key(|c| (own.iter().position(|o| o == c).unwrap_or(own.len()), *c));
        over.dedup();
        over
    }

    /// The offset of each round of `over`, from strides along some counters.
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
        Ok(offsets.into_iter().map(|x| spread.lanes[x as usize]).collect())
    }

    /// Buffer positions of an access.
    fn positions(&self, access: AccessId, over: &[Counter]) -> Vec<u32> {
        let Address { base, table, strides } = self.arguments.address(access);
        let base = self.words.integer(*base);
        let strides: Vec<(Counter, i64)> =
            strides.iter().map(|&(counter, stride)| (counter, self.words.stride(stride))).collect();
        let table = table.map(|word| self.words.table(word));
        let place = |offset: i64| match table {
            Some(table) => base + i64::from(table[offset as usize]),
            None => base + offset,
        };
        let offsets = self.offsets(over, &strides).into_iter();
        offsets
            .map(|offset| u32::try_from(place(offset)).unwrap_or_else(|_| broken("a position is too large")))
            .collect()
    }

    /// The values of a loop's index.
    fn index(&self, l: LoopId) -> (Vec<Counter>, Vec<f64>) {
        let place = self.arguments.index[l.0 as usize];
        let first = self.words.integer(place.first);
        if let Some(word) = place.table {
            let values = self.words.table(word).iter().map(|&x| (first + i64::from(x)) as f64).collect();
            (vec![Counter::Points], values)
        } else {
            let counter = Counter::Loop(l);
            (vec![counter], (0..self.rounds(counter) as i64).map(|k| (first + k) as f64).collect())
        }
    }
}
