//! Finds the times at which terms of t alone change rapidly: pulses, fronts, poles.
//!
//! Every stage of a long step sees 0 for `exp(-((t - 50)/0.01)^2)`, and no error estimate detects what lies between
//! them. But the middle of such a pulse is where an expression that is linear in t, here `(t - 50)/0.01`, passes
//! through 0, and nearby values determine its width. So the terms of f that depend only on t and parameters are stored
//! as a list, each after its operands, and analysed before a run. A state with a constant rate (`p' = 1`) is linear in
//! t until an event changes it, and counts as t.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::f64::consts::{FRAC_PI_2, TAU};

use odec_ir::builtin::Op;
use odec_ir::{Element, Kernel, KernelRole, Layout, Node, NodeId, Program, Role, Span, Target};
use odec_ode::accelerated::Narrow;

/// Values of terms that are computed to look at them, some tenths of a second; middles beyond that are left out.
const MAX_VALUES: usize = 20_000_000;
/// Quarter turns of an oscillation in a run: each may end three steps. Of an oscillation with more none ends one.
const MAX_TURNS: f64 = 400_000.0;
/// Values on each side of a middle: at the length of the run, at half of it, and so on.
const VALUES: usize = 45;
/// Part of its largest value by which a term changes in its width.
const CHANGE: f64 = 0.25;
/// Width, as a part of the run, from which on a pulse is not short.
const SHORT: f64 = 0.125;
/// Distance of the two values, as a part of the run, that tell a pole, and the least ratio of them.
const NEAR_POLE: f64 = 1e-9;
const POLE: f64 = 1.9;

/// A term of t alone, or a part of one.
#[derive(Clone, Copy)]
enum Term {
    Number(f64),
    /// At this position of the parameter buffer.
    Parameter(usize),
    Time,
    /// A state that counts time, at this position of the state, and the term that is its rate.
    Clock(usize, u32),
    Call(Op, [u32; 3]),
}

impl Term {
    fn operands(&self) -> &[u32] {
        match self {
            Term::Call(op, operands) => &operands[..usize::from(op.0.arity)],
            _ => &[],
        }
    }
}

/// The form of a term at given parameters.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    Number(f64),
    /// `scale*inner + shift`.
    Scaled {
        scale: f64,
        shift: f64,
        inner: Inner,
    },
    Other,
}

/// The scaled function.
#[derive(Clone, Copy, PartialEq)]
enum Inner {
    Time,
    /// `sin(rate*t + phase)`.
    Wave {
        rate: f64,
        phase: f64,
    },
}

impl Form {
    fn scaled(self, by: f64) -> Form {
        match self {
            Form::Number(v) => Form::Number(by * v),
            Form::Scaled { scale, shift, inner } => Form::Scaled { scale: by * scale, shift: by * shift, inner },
            Form::Other => Form::Other,
        }
    }

    fn sum(self, other: Form) -> Form {
        match (self, other) {
            (Form::Number(a), Form::Number(b)) => Form::Number(a + b),
            (Form::Number(a), Form::Scaled { scale, shift, inner })
            | (Form::Scaled { scale, shift, inner }, Form::Number(a)) => {
                Form::Scaled { scale, shift: shift + a, inner }
            }
            (Form::Scaled { scale, shift, inner }, Form::Scaled { scale: s, shift: b, inner: i }) if inner == i => {
                Form::Scaled { scale: scale + s, shift: shift + b, inner }
            }
            _ => Form::Other,
        }
    }

    /// A sine whose argument has this form; `ahead` is a quarter turn for a cosine.
    fn wave(self, ahead: f64) -> Form {
        match self {
            Form::Number(v) => Form::Number((v + ahead).sin()),
            Form::Scaled { scale, shift, inner: Inner::Time } => {
                let inner = Inner::Wave { rate: scale, phase: shift + ahead };
                Form::Scaled { scale: 1.0, shift: 0.0, inner }
            }
            _ => Form::Other,
        }
    }

    fn value(self, t: f64) -> f64 {
        match self {
            Form::Number(v) => v,
            Form::Scaled { scale, shift, inner: Inner::Time } => scale * t + shift,
            Form::Scaled { scale, shift, inner: Inner::Wave { rate, phase } } => {
                scale * (rate * t + phase).sin() + shift
            }
            Form::Other => f64::NAN,
        }
    }
}

/// The terms of f that depend on t and parameters alone.
#[derive(Default)]
pub(crate) struct Timetable {
    terms: Vec<Term>,
    /// The place of each term in the source, if known.
    spans: Vec<Option<Span>>,
    /// Depends on t.
    varies: Vec<bool>,
    /// True if something that is not a term of t uses it.
    exits: Vec<bool>,
    /// The terms that use each, in order.
    users: Vec<Vec<u32>>,
    /// Positions of the states that count time, each with its term.
    clocks: Vec<(usize, u32)>,
}

fn is_state(role: Role) -> bool {
    matches!(role, Role::Position | Role::Velocity | Role::FirstOrder)
}

/// The rapid changes of the terms.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RapidChanges {
    pub narrow: Vec<Narrow>,
    /// The first oscillation with too many cycles to end steps: its place in the source, its period, its quarter
    /// turns.
    pub fast: Option<(Option<Span>, f64, f64)>,
    /// Numbers of middles that were not analysed because there are too many, and of those that were.
    pub left: (usize, usize),
}

impl Timetable {
    /// The terms of a program; none where all of them are linear in t, waves, or sums of these.
    pub(crate) fn of(program: &Program, layout: &Layout) -> Timetable {
        let mut table = Timetable::default();
        table.find_clocks(program, layout);
        for kernel in program.kernels_of(KernelRole::Rhs) {
            table.add(program, layout, kernel);
        }
        let narrow = (0..table.terms.len()).any(|k| table.varies[k] && !table.is_plain(k));
        if !narrow {
            return Timetable::default();
        }
        table.users = vec![Vec::new(); table.terms.len()];
        for (k, term) in table.terms.iter().enumerate() {
            for operand in term.operands() {
                let users = &mut table.users[*operand as usize];
                if users.last() != Some(&(k as u32)) {
                    users.push(k as u32);
                }
            }
        }
        table
    }

    /// True for what [`Form`] may hold, whatever the parameters are.
    fn is_plain(&self, k: usize) -> bool {
        let Term::Call(op, _) = self.terms[k] else { return true };
        let varying = self.terms[k].operands().iter().filter(|i| self.varies[**i as usize]).count();
        match op.0.name {
            "add" | "sub" | "neg" | "sin" | "cos" => true,
            "mul" => varying == 1,
            "div" => self.terms[k].operands().last().is_some_and(|i| !self.varies[*i as usize]),
            _ => false,
        }
    }

    /// Finds the states whose rate is an expression of numbers and parameters.
    fn find_clocks(&mut self, program: &Program, layout: &Layout) {
        if program.kernels_of(KernelRole::Mass).next().is_some() {
            return;
        }
        for kernel in program.kernels_of(KernelRole::Rhs) {
            let mut fixed: Vec<bool> = Vec::new();
            for (id, node) in kernel.live() {
                fixed.resize(fixed.len().max(id.index() + 1), false);
                fixed[id.index()] = match node {
                    Node::Constant(_) => true,
                    Node::Read(Element::Scalar(array)) => !is_state(program.arrays[array.0 as usize].role),
                    Node::Call(..) => node.operands().iter().all(|o| fixed[o.index()]),
                    _ => false,
                };
            }
            for store in &kernel.stores {
                let Target::Set(Element::Scalar(array)) = store.target else { continue };
                let first_order = program.arrays[array.0 as usize].role == Role::FirstOrder;
                if first_order && fixed[store.node.index()] {
                    let rate = self.fixed(layout, kernel, store.node);
                    let position = layout.state(array);
                    let clock = self.push(Term::Clock(position, rate), None);
                    self.clocks.push((position, clock));
                }
            }
        }
    }

    /// An expression of numbers and parameters as terms.
    fn fixed(&mut self, layout: &Layout, kernel: &Kernel, root: NodeId) -> u32 {
        let mut places = vec![0; root.index() + 1];
        for (id, node) in kernel.graph.live([root]) {
            let term = match node {
                Node::Constant(bits) => Term::Number(f64::from_bits(bits)),
                Node::Read(Element::Scalar(array)) => Term::Parameter(layout.parameter(array)),
                Node::Call(op, operands) => {
                    Term::Call(op, operands.map(|o| places.get(o.index()).copied().unwrap_or(0)))
                }
                _ => continue,
            };
            places[id.index()] = self.push(term, None);
        }
        places[root.index()]
    }

    fn push(&mut self, term: Term, span: Option<Span>) -> u32 {
        let varies =
            matches!(term, Term::Time | Term::Clock(..)) || term.operands().iter().any(|i| self.varies[*i as usize]);
        self.terms.push(term);
        self.spans.push(span);
        self.varies.push(varies);
        self.exits.push(false);
        (self.terms.len() - 1) as u32
    }

    fn add(&mut self, program: &Program, layout: &Layout, kernel: &Kernel) {
        let mut places: Vec<Option<u32>> = Vec::new();
        for (id, node) in kernel.live() {
            places.resize(places.len().max(id.index() + 1), None);
            let operands: Vec<Option<u32>> = node.operands().iter().map(|o| places[o.index()]).collect();
            let term = match node {
                Node::Constant(bits) => Some(Term::Number(f64::from_bits(bits))),
                Node::Time => Some(Term::Time),
                Node::Read(Element::Scalar(array)) if is_state(program.arrays[array.0 as usize].role) => {
                    let position = layout.state(array);
                    let clock = self.clocks.iter().find(|(clock, _)| *clock == position);
                    places[id.index()] = clock.map(|(_, term)| *term);
                    if clock.is_some() {
                        continue;
                    }
                    None
                }
                Node::Read(Element::Scalar(array)) => Some(Term::Parameter(layout.parameter(array))),
                Node::Call(op, _) if operands.iter().all(Option::is_some) => {
                    let mut own = [0; 3];
                    own.iter_mut().zip(operands.iter().flatten()).for_each(|(own, operand)| *own = *operand);
                    Some(Term::Call(op, own))
                }
                _ => None,
            };
            let span = kernel.graph.spans(id).first().copied();
            if let Some(term) = term {
                places[id.index()] = Some(self.push(term, span));
                continue;
            }
            for operand in operands.iter().flatten() {
                self.exits[*operand as usize] = true;
            }
            // a quotient with a state above the line: what is below it alone may have a zero
            if let (Node::Call(op, _), [None, Some(below)]) = (node, &operands[..])
                && op.0.name == "div"
                && self.varies[*below as usize]
            {
                let one = self.push(Term::Number(1.0), None);
                let quotient = self.push(Term::Call(op, [one, *below, one]), span);
                self.exits[quotient as usize] = true;
            }
        }
        for store in &kernel.stores {
            if let Some(Some(place)) = places.get(store.node.index()) {
                self.exits[*place as usize] = true;
            }
        }
    }

    /// The rapid changes of the terms between two times, the second of which may be infinite; `at` is a time and the
    /// state there.
    pub(crate) fn look(&self, p: &[f64], at: (f64, &[f64]), span: (f64, f64)) -> RapidChanges {
        let mut found = RapidChanges::default();
        if self.terms.is_empty() {
            return found;
        }
        let forms = self.forms(p, at);
        let mut open = vec![false; self.terms.len()];
        for (term, form) in self.terms.iter().zip(&forms) {
            if *form == Form::Other {
                term.operands().iter().for_each(|i| open[*i as usize] = true);
            }
        }
        let mut view = View { table: self, forms: &forms, values: vec![0.0; self.terms.len()], room: MAX_VALUES };
        for u in 0..self.terms.len() {
            let (true, Form::Scaled { scale, shift, inner }) = (open[u], forms[u]) else { continue };
            let cone = self.cone(u);
            match inner {
                Inner::Time => {
                    let middle = -shift / scale;
                    if middle > span.0 && middle < span.1 && view.may_look(&cone, &mut found) {
                        let width = view.width(u, &cone, middle, span);
                        found.narrow.extend(width.map(|width| Narrow { t: middle, width, every: None }));
                    }
                }
                Inner::Wave { rate, phase } => view.waves(u, &cone, (rate, phase), span, &mut found),
            }
        }
        found.narrow.sort_by(|a, b| a.t.total_cmp(&b.t).then(a.width.total_cmp(&b.width)));
        found.narrow.dedup_by_key(|narrow| (narrow.t, narrow.every));
        found
    }

    fn forms(&self, p: &[f64], (t, y): (f64, &[f64])) -> Vec<Form> {
        let mut forms: Vec<Form> = Vec::with_capacity(self.terms.len());
        for term in &self.terms {
            let of = |k: usize| forms[term.operands()[k] as usize];
            forms.push(match *term {
                Term::Number(v) => Form::Number(v),
                Term::Parameter(place) => Form::Number(p[place]),
                Term::Time => Form::Scaled { scale: 1.0, shift: 0.0, inner: Inner::Time },
                Term::Clock(position, rate) => match (forms[rate as usize], y.get(position)) {
                    (Form::Number(0.0), Some(y)) => Form::Number(*y),
                    (Form::Number(rate), Some(y)) => {
                        Form::Scaled { scale: rate, shift: y - rate * t, inner: Inner::Time }
                    }
                    _ => Form::Other,
                },
                Term::Call(op, _) => {
                    let known: Vec<f64> = (0..usize::from(op.0.arity))
                        .map_while(|k| if let Form::Number(v) = of(k) { Some(v) } else { None })
                        .collect();
                    match op.0.name {
                        _ if known.len() == usize::from(op.0.arity) => Form::Number((op.0.value)(&known)),
                        "add" => of(0).sum(of(1)),
                        "sub" => of(0).sum(of(1).scaled(-1.0)),
                        "neg" => of(0).scaled(-1.0),
                        "sin" => of(0).wave(0.0),
                        "cos" => of(0).wave(FRAC_PI_2),
                        "mul" => match (of(0), of(1)) {
                            (Form::Number(by), form) | (form, Form::Number(by)) => form.scaled(by),
                            _ => Form::Other,
                        },
                        "div" => match (of(0), of(1)) {
                            (form, Form::Number(by)) => form.scaled(1.0 / by),
                            _ => Form::Other,
                        },
                        _ => Form::Other,
                    }
                }
            });
        }
        forms
    }

    /// The nodes that depend on t only through one term, without that term, in order.
    fn cone(&self, u: usize) -> Vec<usize> {
        let mut cone: Vec<usize> = Vec::new();
        let mut next: BinaryHeap<Reverse<u32>> = self.users[u].iter().copied().map(Reverse).collect();
        while let Some(Reverse(k)) = next.pop() {
            let k = k as usize;
            if cone.last() == Some(&k) {
                continue;
            }
            let inside = |i: usize| i == u || !self.varies[i] || cone.binary_search(&i).is_ok();
            if self.terms[k].operands().iter().all(|i| inside(*i as usize)) {
                cone.push(k);
                next.extend(self.users[k].iter().copied().map(Reverse));
            }
        }
        cone
    }
}

/// The terms at given parameters.
struct View<'a> {
    table: &'a Timetable,
    forms: &'a [Form],
    values: Vec<f64>,
    /// Values that may still be computed.
    room: usize,
}

impl View<'_> {
    /// True where there is room to look at one more middle.
    fn may_look(&mut self, cone: &[usize], found: &mut RapidChanges) -> bool {
        let values = (2 * VALUES + 3) * cone.len().max(1);
        let may = values <= self.room;
        if may {
            self.room -= values;
            found.left.1 += 1;
        } else {
            found.left.0 += 1;
        }
        may
    }

    /// The values of a cone at a time.
    fn evaluate(&mut self, u: usize, cone: &[usize], t: f64) -> Vec<f64> {
        self.values[u] = self.forms[u].value(t);
        let mut found = Vec::with_capacity(cone.len());
        for &k in cone {
            let Term::Call(op, operands) = self.table.terms[k] else { continue };
            let arguments = operands.map(|i| match self.forms[i as usize] {
                Form::Number(v) => v,
                _ => self.values[i as usize],
            });
            self.values[k] = (op.0.value)(&arguments[..usize::from(op.0.arity)]);
            found.push(self.values[k]);
        }
        found
    }

    /// The shortest time in which a term of the cone changes around its middle, where that is short; 0 at a pole.
    fn width(&mut self, u: usize, cone: &[usize], middle: f64, (from, to): (f64, f64)) -> Option<f64> {
        let length = if to.is_finite() { to - from } else { middle - from };
        let there = self.evaluate(u, cone, middle);
        let poles = |view: &mut Self, near: &[f64]| {
            let nearer = view.evaluate(u, cone, middle + 0.5 * NEAR_POLE * length);
            let grows = |k: usize| !there[k].is_finite() && nearer[k].abs() >= POLE * near[k].abs();
            (0..cone.len()).any(|k| view.table.exits[cone[k]] && grows(k))
        };
        if there.iter().any(|v| !v.is_finite()) {
            let near = self.evaluate(u, cone, middle + NEAR_POLE * length);
            if poles(self, &near) {
                return Some(0.0);
            }
        }
        let mut beside: Vec<(f64, Vec<f64>)> = Vec::with_capacity(2 * VALUES);
        for k in (0..VALUES).rev() {
            let away = length * 0.5_f64.powi(k as i32);
            for t in [middle - away, middle + away] {
                if t >= from && t <= to && t != middle {
                    beside.push((away, self.evaluate(u, cone, t)));
                }
            }
        }
        let of_term = |(k, own): (usize, &f64)| {
            let finite = beside.iter().map(|(_, values)| values[k].abs()).filter(|v| v.is_finite());
            let size = finite.fold(own.abs(), f64::max);
            let changed = |values: &[f64]| (values[k] - own).abs() >= CHANGE * size;
            let width = beside.iter().find(|(_, values)| changed(values)).map(|(away, _)| *away);
            width.filter(|_| own.is_finite() && size > 0.0)
        };
        let widths = there.iter().enumerate().filter_map(of_term);
        Some(widths.fold(f64::INFINITY, f64::min)).filter(|width| *width < SHORT * length)
    }

    /// The zeros and extremes of a wave: those of a kind are as wide as the first one, and come again after each period.
    fn waves(
        &mut self,
        u: usize,
        cone: &[usize],
        (rate, phase): (f64, f64),
        span: (f64, f64),
        found: &mut RapidChanges,
    ) {
        let turns = |t: f64| (rate * t + phase) / FRAC_PI_2;
        let (start, count) = (turns(span.0), (turns(span.1) - turns(span.0)).abs());
        let period = TAU / rate.abs();
        if count.is_finite() && count > MAX_TURNS {
            found.fast.get_or_insert((self.table.spans[u], period, count));
            return;
        }
        for k in 0..4 {
            let turn = if rate > 0.0 { start.floor() + 1.0 + f64::from(k) } else { start.ceil() - 1.0 - f64::from(k) };
            let middle = (turn * FRAC_PI_2 - phase) / rate;
            if !(middle > span.0 && middle < span.1 && self.may_look(cone, found)) {
                continue;
            }
            let to = if span.1.is_finite() { span.1 } else { middle + period };
            let width = self.width(u, cone, middle, (span.0, to));
            found.narrow.extend(width.map(|width| Narrow { t: middle, width, every: Some(period) }));
        }
    }
}

/// Whether the builtins that [`Form`] knows are there under their names.
#[cfg(test)]
mod tests {
    use odec_ir::builtin;

    #[test]
    fn the_builtins_of_forms_are_there() {
        for name in ["add", "sub", "neg", "mul", "div", "sin", "cos"] {
            assert!(builtin::find(name).is_some(), "{name}");
        }
    }
}
