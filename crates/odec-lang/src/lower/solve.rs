//! Equations without indices, all together: a matching determines which equation gives which derivative, and blocks
//! of mutually dependent equations are solved for the right-hand sides.

use std::collections::BTreeMap;

use odec_ir::broken;
use odec_ir::nest::Space;
use odec_ir::{ArrayId, Element, Graph, Node, NodeId, Span, StateElement, stage};

use super::index_reduction::{self, IndexReduction};
use super::linear::{Coefficient, LinearForm, LinearForms, no_form};
use super::quantities::Arrays;
use super::{Fallible, algebraic, explicit, structure, zero_rows};
use crate::diagnostic::{Diagnostic, codes};
use crate::model::{Level, Model, State, TermKind, Values};
use crate::order::components;
use crate::report::{Build, error};

/// Largest block of coupled equations that is solved by determinants when its coefficients change during the run, or
/// its derivatives are used elsewhere. Their number of products grows like the factorial; larger blocks go to the
/// mass matrix.
pub const MAX_COUPLED: usize = 4;

/// The solved system.
pub(super) struct Solved {
    /// f of the row of each state.
    pub rows: Vec<Option<NodeId>>,
    /// The derivatives that need no mass matrix; outputs receive the others as inputs.
    pub rates: Vec<Option<NodeId>>,
    /// Rows of the mass matrix that differ from the identity.
    pub mass: BTreeMap<usize, Vec<(usize, NodeId)>>,
    /// The differentiated constraints of a system of index 2 or more.
    pub reduction: Option<IndexReduction>,
}

impl Solved {
    pub fn nothing(n: usize) -> Solved {
        Solved { rows: vec![None; n], rates: vec![None; n], mass: BTreeMap::new(), reduction: None }
    }
}

/// The context in which the equations are solved.
pub(super) struct Setting<'a> {
    pub model: &'a Model,
    pub values: &'a Values,
    pub arrays: &'a Arrays,
    /// The leaf of the highest derivative of each state.
    pub rates: Vec<Element>,
    /// The leaves of each state, by order.
    pub states: Vec<Vec<Element>>,
    /// The position of each state in its array.
    pub positions: Vec<usize>,
    pub space: &'a Space,
}

impl Setting<'_> {
    pub fn array(&self, element: Element) -> ArrayId {
        match element {
            Element::Scalar(array) => array,
            Element::At(access) => self.space.access(access).array,
        }
    }

    /// A leaf of a state.
    pub fn element(&self, state: usize, leaf: Element) -> StateElement {
        StateElement { array: self.array(leaf), position: self.positions[state] }
    }
}

/// Solves the equations; `sides` are the nodes of both sides.
pub(super) fn solve(setting: &Setting<'_>, graph: &mut Graph, sides: &[(NodeId, NodeId)]) -> Fallible<Solved> {
    let model = setting.model;
    let forms = forms(setting, graph, sides).or_else(|refused| {
        // derivatives that other equations give need not be linear
        let with_values = explicit::substituted(graph, &setting.rates, sides).ok_or(refused.clone())?;
        forms(setting, graph, &with_values).map_err(|_| refused)
    })?;
    let gives = gives(setting, graph, &forms, false);
    let owner = match structure::matching(model, &forms, &gives) {
        Ok(owner) => owner,
        Err(unmatched) => match owners_of_empty_rows(setting, graph, &forms, &gives) {
            Some(owner) => owner,
            None => {
                refuse_empty_rows(model, &forms)?;
                // constraints on states alone may determine unknowns after differentiation
                return index_reduction::reduced(setting, graph, &forms)?.ok_or(unmatched);
            }
        },
    };
    let n = model.states.len();
    let mut solver = Solver {
        setting,
        graph,
        owner: owner.into_iter().map(Some).collect(),
        wanted: wanted(model),
        solved: Solved::nothing(n),
    };
    let edges: Vec<Vec<usize>> =
        (0..n).map(|i| forms[solver.equation(i)].coefficients.keys().copied().collect()).collect();
    let mut errors = Vec::new();
    for block in components(&edges) {
        if let Err(error) = solver.block(&block, &forms) {
            errors.push(*error);
        }
    }
    if errors.is_empty() { Ok(solver.solved) } else { Err(errors) }
}

/// Equations without a derivative take the rows of states whose derivatives other equations share, such as those of both ends of a
/// capacitor: their rows of the mass matrix are empty. `None` if unknowns are left over, which constraints may give.
fn owners_of_empty_rows(
    setting: &Setting<'_>,
    graph: &Graph,
    forms: &[LinearForm],
    narrow: &[Vec<usize>],
) -> Option<Vec<usize>> {
    let model = setting.model;
    if structure::missing(model, forms, narrow).into_iter().any(|i| model.states[i].algebraic) {
        return None;
    }
    structure::matching(model, forms, &gives(setting, graph, forms, true)).ok()
}

/// In a model without algebraic unknowns, an equation without a derivative that takes no row is one too many.
fn refuse_empty_rows(model: &Model, forms: &[LinearForm]) -> Fallible<()> {
    if model.states.iter().any(|s| s.algebraic) {
        return Ok(());
    }
    let empty = forms.iter().zip(&model.equations).filter(|(form, _)| form.coefficients.is_empty());
    let errors: Vec<Diagnostic> = empty.map(|(_, equation)| algebraic(equation.span, "x' = ...")).collect();
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

fn forms(setting: &Setting<'_>, graph: &mut Graph, sides: &[(NodeId, NodeId)]) -> Fallible<Vec<LinearForm>> {
    let rates = setting.rates.iter().enumerate().map(|(i, &rate)| (rate, i)).collect();
    let roots: Vec<NodeId> = sides.iter().flat_map(|s| [s.0, s.1]).collect();
    let both = LinearForms::new(rates).of(graph, &roots);
    let mut forms = Vec::with_capacity(sides.len());
    let mut errors = Vec::new();
    for (pair, equation) in both.chunks(2).zip(&setting.model.equations) {
        let (lhs, rhs) = match (&pair[0], &pair[1]) {
            (Ok(lhs), Ok(rhs)) => (lhs.clone(), rhs.clone()),
            (Err(why), _) | (_, Err(why)) => {
                errors.push(no_form(*why, graph, equation.span));
                continue;
            }
        };
        let cancel = !(lhs.coefficients.is_empty() && rhs.coefficients.is_empty());
        let form = lhs.balanced(rhs, graph);
        if !form.coefficients.is_empty() || !cancel || zero_rows::is_written(setting.model, setting.values, equation) {
            forms.push(form);
        } else {
            let headline = "the derivatives in this equation cancel";
            let report = error(&codes::E0309, headline, equation.span, "their coefficients add up to zero");
            errors.push(report.help("check the coefficients of the derivatives"));
        }
    }
    if errors.is_empty() { Ok(forms) } else { Err(errors) }
}

/// The unknowns for which each equation may be solved: the states whose derivatives it contains, then the algebraic
/// unknowns that it reads; with `states`, an equation without a derivative also the states of first order that it reads.
fn gives(setting: &Setting<'_>, graph: &Graph, forms: &[LinearForm], states: bool) -> Vec<Vec<usize>> {
    let model = setting.model;
    let counts = |state: &State| state.algebraic || (states && state.order == 1);
    let all = model.states.iter().enumerate().filter(|(_, state)| counts(state));
    let unknowns: BTreeMap<Element, usize> = all.map(|(i, _)| (setting.states[i][0], i)).collect();
    let mut met = vec![usize::MAX; if unknowns.is_empty() { 0 } else { graph.len() }];
    let mut reads = |number: usize, form: &LinearForm| -> Vec<usize> {
        let mut open: Vec<NodeId> = if unknowns.is_empty() { Vec::new() } else { Vec::from_iter(form.rest) };
        let mut read = Vec::new();
        // only the nodes that this equation reaches: the graph contains all equations
        while let Some(id) = open.pop() {
            if std::mem::replace(&mut met[id.index()], number) == number {
                continue;
            }
            let node = graph.node(id);
            if let Node::Read(element) = node {
                let of = |i: &&usize| model.states[**i].algebraic || form.coefficients.is_empty();
                read.extend(unknowns.get(&element).filter(of));
            }
            open.extend(node.operands());
        }
        read.sort_unstable();
        read.dedup();
        read
    };
    let all = forms.iter().enumerate();
    all.map(|(k, form)| form.coefficients.keys().copied().chain(reads(k, form)).collect()).collect()
}

/// States whose highest derivative is used outside of the equations.
fn wanted(model: &Model) -> Vec<Option<Span>> {
    let mut wanted = vec![None; model.states.len()];
    let outside = model.outputs.iter().map(|o| o.value);
    let outside =
        outside.chain(model.conserved.iter().map(|c| c.value)).chain(model.expects.iter().map(|e| e.quantity));
    let levels = model.definitions.iter().zip(&model.definition_levels);
    let outside = outside.chain(levels.filter(|(_, l)| **l == Level::Rate).map(|(d, _)| d.value));
    for body in outside {
        for term in &model.terms[body.range()] {
            if let TermKind::State(i, k) = term.kind
                && k == model.states[i].order
            {
                wanted[i].get_or_insert(term.span);
            }
        }
    }
    wanted
}

/// State, right-hand side, and unknown derivatives on the left.
type BlockRow = (usize, NodeId, Vec<(usize, Coefficient)>);

pub(super) struct Solver<'a> {
    pub setting: &'a Setting<'a>,
    pub graph: &'a mut Graph,
    /// The equation of each state. An unknown may have none if only derivatives are solved for.
    pub owner: Vec<Option<usize>>,
    /// Source locations of uses of a derivative, which must then be available as a node.
    pub wanted: Vec<Option<Span>>,
    pub solved: Solved,
}

impl Solver<'_> {
    /// The equation of a state.
    fn equation(&self, state: usize) -> usize {
        self.owner[state].unwrap_or_else(|| broken("a derivative is solved for, but no equation contains it"))
    }

    /// The right-hand side of an equation after known derivatives are moved there; the others keep their coefficients.
    pub fn reduced(&mut self, form: &LinearForm) -> (NodeId, Vec<(usize, Coefficient)>) {
        let mut rest = form.rest;
        let mut left = Vec::new();
        for (&j, &k) in &form.coefficients {
            match self.solved.rates[j] {
                None => left.push((j, k)),
                Some(rate) => {
                    rest = Some(match (rest, k) {
                        (Some(r), Coefficient::MinusOne) => self.graph.add(r, rate),
                        (Some(r), k) => {
                            let product = k.times(rate, self.graph);
                            self.graph.sub(r, product)
                        }
                        (None, k) => {
                            let product = k.times(rate, self.graph);
                            self.graph.neg(product)
                        }
                    });
                }
            }
        }
        (rest.unwrap_or_else(|| self.graph.constant(0.0)), left)
    }

    /// Solves the equations of these states together.
    pub fn block(&mut self, block: &[usize], forms: &[LinearForm]) -> Result<(), Box<Diagnostic>> {
        let rows: Vec<BlockRow> = block
            .iter()
            .map(|&i| {
                let (rest, left) = self.reduced(&forms[self.equation(i)]);
                (i, rest, left)
            })
            .collect();
        if let [(i, rest, left)] = &rows[..]
            && let [(j, k)] = left[..]
            && j == *i
        {
            return self.single(*i, *rest, k);
        }
        let derivatives = block.iter().all(|&i| !self.setting.model.states[i].algebraic);
        let inside = derivatives && rows.iter().all(|(_, _, left)| left.iter().all(|(j, _)| block.contains(j)));
        let solvable = inside && block.len() <= MAX_COUPLED;
        let used = block.iter().any(|&i| self.wanted[i].is_some());
        let constant = solvable && self.constant(&rows);
        if !solvable || (constant && !used) {
            for (i, rest, left) in rows {
                self.solved.rows[i] = Some(rest);
                let row = left.into_iter().map(|(j, k)| (j, k.node(self.graph))).collect();
                self.solved.mass.insert(i, row);
            }
            return Ok(());
        }
        self.by_determinants(block, &rows, constant)
    }

    /// The coefficients of these rows follow from parameters.
    fn constant(&self, rows: &[BlockRow]) -> bool {
        let role = |e: Element| self.setting.arrays.list[self.setting.array(e).0 as usize].role;
        let stages = stage::of_graph(self.graph, role);
        let fixed = |k: &Coefficient| match k {
            Coefficient::Node(n) => stages[n.index()] <= stage::Stage::Parameter,
            _ => true,
        };
        rows.iter().all(|(_, _, left)| left.iter().all(|(_, k)| fixed(k)))
    }

    /// Cramer's rule.
    fn by_determinants(&mut self, block: &[usize], rows: &[BlockRow], constant: bool) -> Result<(), Box<Diagnostic>> {
        let matrix: Vec<Vec<Option<NodeId>>> = rows
            .iter()
            .map(|(_, _, left)| {
                let entry = |j: &usize| left.iter().find(|l| l.0 == *j).map(|l| l.1);
                block.iter().map(|j| entry(j).map(|k| k.node(self.graph))).collect()
            })
            .collect();
        let Some(bottom) = determinant(self.graph, &matrix) else {
            return Err(Box::new(self.singular(block)));
        };
        if constant && self.number(bottom) == Some(0.0) {
            return Err(Box::new(self.singular(block)));
        }
        for (column, &i) in block.iter().enumerate() {
            let mut replaced = matrix.clone();
            for (entries, row) in replaced.iter_mut().zip(rows) {
                entries[column] = Some(row.1);
            }
            let top = match determinant(self.graph, &replaced) {
                Some(top) => top,
                None => self.graph.constant(0.0),
            };
            let span = self.setting.model.equations[self.equation(i)].span;
            let rate = self.graph.div(top, bottom);
            self.graph.add_span(rate, span);
            self.solved.rows[i] = Some(rate);
            self.solved.rates[i] = Some(rate);
        }
        Ok(())
    }

    fn single(&mut self, i: usize, rest: NodeId, k: Coefficient) -> Result<(), Box<Diagnostic>> {
        let rate = match k {
            Coefficient::One => rest,
            Coefficient::MinusOne => self.graph.neg(rest),
            Coefficient::Node(n) => {
                if self.graph.as_constant(n) == Some(0.0) {
                    return Err(Box::new(self.singular(&[i])));
                }
                if zero_rows::vanishes(self.graph, n, |leaf| {
                    &self.setting.arrays.list[self.setting.array(leaf).0 as usize]
                }) {
                    self.solved.rows[i] = Some(rest);
                    self.solved.mass.insert(i, vec![(i, n)]);
                    return Ok(());
                }
                let rate = self.graph.div(rest, n);
                let span = self.setting.model.equations[self.equation(i)].span;
                self.graph.with_span(rate, span)
            }
        };
        self.solved.rows[i] = Some(rate);
        self.solved.rates[i] = Some(rate);
        Ok(())
    }

    /// The value of a node at the defaults of the parameters; `None` if it depends on more than scalars among them.
    fn number(&self, root: NodeId) -> Option<f64> {
        let Setting { arrays, values, .. } = self.setting;
        let mut known: Vec<Option<f64>> = Vec::with_capacity(root.index() + 1);
        for node in &self.graph.nodes()[..=root.index()] {
            known.push(match node {
                Node::Constant(bits) => Some(f64::from_bits(*bits)),
                Node::Read(element) => {
                    let array = self.setting.array(*element);
                    if !arrays.list[array.0 as usize].axes.is_empty() {
                        return None;
                    }
                    let i = arrays.parameters.iter().position(|a| *a == array);
                    i.and_then(|i| values.parameters.get(i)).copied()
                }
                Node::Call(op, _) => {
                    let operands: Option<Vec<f64>> = node.operands().iter().map(|o| known[o.index()]).collect();
                    operands.map(|operands| (op.0.value)(&operands))
                }
                _ => None,
            });
        }
        known[root.index()]
    }

    fn singular(&self, block: &[usize]) -> Diagnostic {
        let state = &self.setting.model.states[block[0]];
        let equations = block.iter().map(|&i| self.setting.model.equations[self.equation(i)].span);
        let mut equations = equations.collect::<Vec<_>>().into_iter();
        let first = equations.next().unwrap_or(state.span);
        let headline = format!("the equations do not determine `{}`", state.derivative(state.order));
        let report = error(
            &codes::E0309,
            headline,
            first,
            "its coefficient, or the determinant of the coefficients, is \
                                                      zero",
        )
        .also_all(equations, "together with this one");
        let used = block.iter().find_map(|&i| self.wanted[i]);
        let report = match used {
            Some(span) => report.label(span, "its value is needed here"),
            None => report,
        };
        report.help("check the coefficients of the derivatives")
    }
}

/// Expands by the first row; a structural zero creates no nodes.
fn determinant(graph: &mut Graph, matrix: &[Vec<Option<NodeId>>]) -> Option<NodeId> {
    let Some((first, below)) = matrix.split_first() else { return Some(graph.constant(1.0)) };
    if below.is_empty() {
        return first[0];
    }
    let mut sum: Option<NodeId> = None;
    for (j, entry) in first.iter().enumerate() {
        let Some(entry) = *entry else { continue };
        let minor: Vec<Vec<Option<NodeId>>> = below
            .iter()
            .map(|row| row.iter().enumerate().filter(|(c, _)| *c != j).map(|(_, x)| *x).collect())
            .collect();
        let Some(minor) = determinant(graph, &minor) else { continue };
        let product = graph.mul(entry, minor);
        sum = Some(match (sum, j % 2 == 0) {
            (None, true) => product,
            (None, false) => graph.neg(product),
            (Some(s), true) => graph.add(s, product),
            (Some(s), false) => graph.sub(s, product),
        });
    }
    sum
}
