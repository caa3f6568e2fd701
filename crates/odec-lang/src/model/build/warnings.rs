//! The last phase: equations that cannot be solved, and what is probably not meant although the model runs.

use odec_ir::nest::Fold;
use odec_ir::{Graph, KernelRole, Node, NodeId, Span, stage};

use super::Builder;
use crate::lower::Draft;
use crate::model::{EntryValue, Overrides, Symbol, Values};
use crate::report::{Build, error, warning};

impl Builder<'_> {
    /// Builds the program once: equations that cannot be solved for their derivatives, comparisons that are never true.
    pub(super) fn check_program(&mut self) -> Option<Draft> {
        match crate::lower::draft(&self.model, &Overrides::default()) {
            Ok(draft) => {
                self.check_equalities(&draft);
                Some(draft)
            }
            Err(errors) => {
                self.diagnostics.extend(errors);
                None
            }
        }
    }

    /// `==` between quantities that change continuously holds at single instants at most.
    fn check_equalities(&mut self, draft: &Draft) {
        let mut places = Vec::new();
        for role in [KernelRole::Rhs, KernelRole::Outputs] {
            places.extend(continuous(draft, role, |name| matches!(name, "eq" | "ne")));
        }
        places.sort();
        places.dedup();
        if let Some((&first, rest)) = places.split_first() {
            let report = error("E0317", "two quantities that change are never exactly equal", first, "compared here")
                .also_all(rest.iter().copied(), "and here");
            self.say(report.help("compare with `<` or `<=`: `abs(a - b) < 1e-6`"));
        }
    }

    pub(super) fn warn(&mut self, draft: Option<&Draft>) {
        self.warn_unused();
        if let Some(draft) = draft {
            self.warn_switches(draft);
        }
        self.warn_tolerances();
        self.say_units();
    }

    fn warn_unused(&mut self) {
        let mut unused: Vec<(Span, String)> = Vec::new();
        let used = |symbol: Symbol| self.uses.get(&symbol).copied().unwrap_or(0) > 0;
        for (_, p) in self.model.parameters.iter().enumerate().filter(|(i, _)| !used(Symbol::Parameter(*i))) {
            unused.push((p.span, p.name.clone()));
        }
        for (_, c) in self.model.constants.iter().enumerate().filter(|(i, _)| !used(Symbol::Constant(*i))) {
            unused.push((c.span, c.name.clone()));
        }
        for (_, d) in self.model.definitions.iter().enumerate().filter(|(i, _)| !used(Symbol::Definition(*i))) {
            unused.push((d.span, d.name.clone()));
        }
        // The components of a vector are used together, and an array of start values is no name.
        unused.retain(|(_, name)| !name.contains(['.', '\'']) || name.ends_with(".x"));
        for (_, name) in &mut unused {
            if let Some(vector) = name.strip_suffix(".x") {
                *name = vector.to_owned();
            }
        }
        for (i, set) in self.model.index_sets.iter().enumerate() {
            if !used(Symbol::Index(i)) {
                unused.push((set.span, set.name.clone()));
            }
        }
        for (f, _) in self.model.functions.iter().zip(&self.function_uses).filter(|(_, n)| **n == 0) {
            unused.push((f.span, f.name.clone()));
        }
        unused.sort();
        for (span, name) in unused {
            let report = warning("W0201", format!("`{name}` is never used"), span, "");
            self.say(report.help("drop it, or record it: `output ...`"));
        }
    }

    /// One warning for every place where f or its derivative jumps.
    fn warn_switches(&mut self, draft: &Draft) {
        let mut places =
            continuous(draft, KernelRole::Rhs, |name| odec_ir::builtin::find(name).is_some_and(|op| op.0.switches));
        places.sort();
        places.dedup();
        // Of places inside one another the smallest is enough.
        let inner = places.clone();
        places.retain(|p| !inner.iter().any(|q| q != p && p.start <= q.start && q.end <= p.end));
        if let Some((&first, rest)) = places.split_first() {
            let report = warning(
                "W0301",
                "a switch of the equations is not located in this version",
                first,
                "something jumps or bends here",
            )
            .also_all(rest.iter().copied(), "and here");
            self.say(report.help("the steps pass over it, which costs accuracy and steps near it: use a small tolerance, or steps that end at it"));
        }
    }

    fn warn_tolerances(&mut self) {
        let Ok(values) = self.model.values(&Overrides::default()) else { return };
        let mut reports = Vec::new();
        for expect in &self.model.expects {
            let Some(within) = expect.within else { continue };
            let value = self.model.number(expect.value, &values);
            let tolerance = self.model.number(within.value, &values);
            let passes = if within.percent { tolerance >= 100.0 } else { value != 0.0 && tolerance >= value.abs() };
            if passes {
                let report = warning(
                    "W0401",
                    "this line would also pass if the value were 0",
                    within.span,
                    format!("the tolerance is {tolerance}{}", if within.percent { " %" } else { "" }),
                )
                .label(self.model.span(expect.value), format!("the value is {value}"));
                reports.push(
                    report.help("a plain number is absolute: write a smaller one, or a relative one: `within 0.1 %`"),
                );
            }
            if let Some((from, to)) = self.range_of(expect.run, &values) {
                let time = self.model.number(expect.time, &values);
                if time < from.min(to) || time > from.max(to) {
                    let report = warning(
                        "W0403",
                        format!("the run does not reach the time {time} of this line"),
                        self.model.span(expect.time),
                        format!("the run goes from {from} to {to}"),
                    );
                    reports.push(report.help("let the run last longer, or choose an earlier time"));
                }
            }
        }
        self.diagnostics.extend(reports);
    }

    fn range_of(&self, run: Option<usize>, values: &Values) -> Option<(f64, f64)> {
        let run = match run {
            Some(i) => self.model.runs.get(i)?,
            None => self.model.run(None).ok()??,
        };
        run.entries.iter().find_map(|e| match &e.value {
            EntryValue::Range(a, b) if e.key == "t" => {
                Some((self.model.number(*a, values), self.model.number(*b, values)))
            }
            _ => None,
        })
    }
}

/// Where a kernel or nest of a role applies an operation whose operands change during the run.
fn continuous(draft: &Draft, role: KernelRole, wanted: impl Fn(&str) -> bool) -> Vec<Span> {
    let mut places = Vec::new();
    for kernel in draft.kernels.iter().filter(|k| k.role == role) {
        let stages = stage::of(&kernel.graph, &draft.arrays);
        let roots: Vec<NodeId> = kernel.stores.iter().map(|s| s.node).collect();
        places.extend(continuous_in(&kernel.graph, &stages, &roots, &wanted));
    }
    for nest in draft.nests.iter().filter(|n| n.role == role) {
        let stages = stage::of_nest(nest, &draft.arrays);
        let roots: Vec<NodeId> = nest.stores.iter().map(|s| s.node).collect();
        places.extend(continuous_in(&nest.graph, &stages, &roots, &wanted));
    }
    places
}

fn continuous_in(graph: &Graph, stages: &[stage::Stage], roots: &[NodeId], wanted: impl Fn(&str) -> bool) -> Vec<Span> {
    let live = graph.reachable(roots.iter().copied());
    let stepwise = stepwise(graph, stages);
    let mut places = Vec::new();
    for (i, node) in graph.nodes().iter().enumerate() {
        if let Node::Fold(Fold::Min | Fold::Max, _, term) = node
            && live[i]
            && wanted("max")
            && stages[term.index()] >= stage::Stage::Time
        {
            places.extend(graph.spans(NodeId(i as u32)).first());
        }
        let Node::Call(op, operands) = node else { continue };
        // A choice is a switch of its condition; what joins conditions switches where they do.
        let follows = match op.0.name {
            "if" => is_condition(graph, operands[0]) || stages[operands[0].index()] <= stage::Stage::Parameter,
            "and" | "or" | "not" => true,
            _ => false,
        };
        let exact = matches!(op.0.name, "eq" | "ne") && operands[..2].iter().all(|o| stepwise[o.index()]);
        if live[i] && !exact && wanted(op.0.name) && !follows && stages[i] >= stage::Stage::Time {
            places.extend(graph.spans(NodeId(i as u32)).first());
        }
    }
    places
}

/// Nodes whose values change by jumps only, so that two of them may well be equal for a while.
fn stepwise(graph: &Graph, stages: &[stage::Stage]) -> Vec<bool> {
    let mut known: Vec<bool> = Vec::with_capacity(graph.len());
    for (node, stage) in graph.nodes().iter().zip(stages) {
        let jumps = match node {
            Node::Call(op, _) => {
                matches!(
                    op.0.name,
                    "floor" | "ceil" | "round" | "sign" | "lt" | "le" | "eq" | "ne" | "and" | "or" | "not"
                ) || node.operands().iter().all(|o| known[o.index()])
            }
            _ => false,
        };
        known.push(jumps || *stage <= stage::Stage::Parameter);
    }
    known
}

fn is_condition(graph: &Graph, node: NodeId) -> bool {
    matches!(graph.node(node), Node::Call(op, _) if matches!(op.0.name, "lt" | "le" | "eq" | "ne" | "and" | "or" | "not"))
}
