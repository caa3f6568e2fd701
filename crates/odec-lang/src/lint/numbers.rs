//! Misleading numbers: `x^1/2`, degrees in `sin`.

use std::collections::HashMap;
use std::f64::consts::TAU;

use odec_ir::Span;

use super::Page;
use super::values::Values;
use crate::diagnostic::{Diagnostic, codes};
use crate::report::warning;
use crate::suggest;
use crate::syntax::tree::{Binary, Declared, ExprId, ExprKind, Ident, Index, StatementKind};
use crate::units::Mode;

/// Functions whose argument is an angle in radians.
const ANGLES: [&str; 3] = ["sin", "cos", "tan"];
/// An integer of at least this size is probably in degrees, if it is a multiple of [`DEGREES_STEP`].
const DEGREES_FROM: f64 = 30.0;
/// Angles in degrees are mostly multiples of this.
const DEGREES_STEP: f64 = 15.0;

/// Units of an angle in degrees.
const DEGREES: [&str; 5] = ["deg", "degree", "degrees", "°", "arcdeg"];
pub(super) fn lint(page: &Page<'_>, found: &mut Vec<Diagnostic>) {
    let degrees_declared = declared(page);
    let own = functions_of_angles(page);
    for expr in &page.tree.exprs {
        match &expr.kind {
            ExprKind::Binary(Binary::Div, _, base, below) => found.extend(root(page, *base, *below, expr.span)),
            ExprKind::Call(name, arguments) if ANGLES.contains(&name.name.as_str()) => {
                if let [argument] = arguments.as_slice() {
                    found.extend(degrees(page, &name.name, *argument));
                    found.extend(of_degrees(page, &name.name, *argument, &degrees_declared));
                }
            }
            ExprKind::Call(name, arguments) => found.extend(passed_in_degrees(page, &own, &name.name, arguments)),
            _ => {}
        }
    }
    found.extend(page.tree.statements.iter().filter_map(|statement| rate_in_degrees(page, &statement.kind)));
    let angles = only_in_angles(page);
    given_in_degrees(page, &angles, found);
    elements_in_degrees(page, &angles, found);
    starts_in_degrees(page, found);
    phases_in_degrees(page, found);
}

/// The arguments of the model's functions that these give to a function of angles: function, place of the argument, and
/// the call inside.
fn functions_of_angles<'a>(page: &Page<'a>) -> HashMap<(&'a str, usize), ExprId> {
    let mut found = HashMap::new();
    for statement in &page.tree.statements {
        let StatementKind::Function { name, arguments, body } = &statement.kind else { continue };
        for id in page.tree.nodes_of(*body) {
            let ExprKind::Call(function, list) = &page.expr(id).kind else { continue };
            let [argument] = list.as_slice() else { continue };
            let at = name_of(page, *argument).and_then(|read| arguments.iter().position(|own| own.name == read));
            if let Some(at) = at.filter(|_| ANGLES.contains(&function.name.as_str())) {
                found.insert((name.name.as_str(), at), id);
            }
        }
    }
    found
}

/// `s(90)` of a function `fn s(z) = sin(z)`.
fn passed_in_degrees(
    page: &Page<'_>,
    own: &HashMap<(&str, usize), ExprId>,
    name: &str,
    arguments: &[ExprId],
) -> Option<Diagnostic> {
    let (argument, call) = arguments.iter().enumerate().find_map(|(k, id)| {
        number(page, *id).filter(|x| *x >= DEGREES_FROM && x % DEGREES_STEP == 0.0)?;
        Some((*id, *own.get(&(name, k))?))
    })?;
    let (inside, text) = (page.text(call), page.text(argument));
    let headline = format!("`{inside}` expects an angle in radians");
    let report = warning(&codes::W0502, headline, page.expr(argument).span, "degrees?");
    let report = report.label(page.expr(call).span, "used here");
    Some(report.help(format!("if this is in degrees, write `{text}*pi/180`")))
}

/// The number that a name without a unit has in its declaration as a parameter or constant, with the name there.
fn given<'a>(page: &Page<'a>, name: &str) -> Option<(f64, &'a Ident)> {
    page.tree.statements.iter().find_map(|statement| {
        let (StatementKind::Param(items) | StatementKind::Const(items)) = &statement.kind else { return None };
        let named = |item: &&Declared| item.target.name.name == name && item.target.indices.is_empty();
        let item = items.iter().find(named).filter(|item| item.unit.is_none() && item.target.path.is_empty())?;
        Some((number(page, item.value?)?, &item.target.name))
    })
}

/// `cos(w*t + phase)` where `param phase = 90` is read nowhere else. A plain name as the other summand may be a time.
fn phases_in_degrees(page: &Page<'_>, found: &mut Vec<Diagnostic>) {
    let mut phases: HashMap<&str, (&str, Span, usize)> = HashMap::new();
    for expr in &page.tree.exprs {
        let ExprKind::Call(function, list) = &expr.kind else { continue };
        let [argument] = list.as_slice() else { continue };
        let ExprKind::Binary(Binary::Add | Binary::Sub, _, a, b) = page.expr(*argument).kind else { continue };
        let product = |id: ExprId| matches!(page.expr(id).kind, ExprKind::Binary(Binary::Mul | Binary::Div, ..));
        let name = name_of(page, b).filter(|_| product(a)).or_else(|| name_of(page, a).filter(|_| product(b)));
        if let Some(name) = name.filter(|_| ANGLES.contains(&function.name.as_str())) {
            phases.entry(name).or_insert((&function.name, page.expr(*argument).span, 0)).2 += 1;
        }
    }
    let mut only: Vec<_> = phases.into_iter().collect();
    only.sort_unstable_by_key(|(_, (_, place, _))| *place);
    for (name, (function, place, count)) in only {
        let reads = (0..page.tree.exprs.len()).filter(|k| name_of(page, ExprId(*k as u32)) == Some(name)).count();
        let value = given(page, name).filter(|(x, _)| *x >= DEGREES_FROM && *x <= 360.0 && x % DEGREES_STEP == 0.0);
        let Some((value, ident)) = value.filter(|_| reads == count) else { continue };
        let text = page.source.text.get(place.range()).unwrap_or(name);
        let headline = format!("`{function}({text})` expects an angle in radians");
        let report = warning(&codes::W0502, headline, ident.span, format!("is {value} an angle in degrees?"));
        let report = report.label(place, "used here");
        found.push(report.help(format!("if it is in degrees, write `{name} = {value}*pi/180`")));
    }
}

/// `state theta = 90` whose sine or cosine an equation takes, also with its value in a parameter.
fn starts_in_degrees(page: &Page<'_>, found: &mut Vec<Diagnostic>) {
    let mut angles: HashMap<&str, (&str, Span)> = HashMap::new();
    for expr in &page.tree.exprs {
        let ExprKind::Call(function, list) = &expr.kind else { continue };
        let [argument] = list.as_slice() else { continue };
        if let Some(name) = name_of(page, *argument).filter(|_| ANGLES.contains(&function.name.as_str())) {
            angles.entry(name).or_insert((&function.name, page.expr(*argument).span));
        }
    }
    for statement in page.tree.statements.iter().filter(|_| !angles.is_empty()) {
        let (StatementKind::State(items) | StatementKind::Discrete(items)) = &statement.kind else { continue };
        for item in items {
            let name = item.target.name.name.as_str();
            let plain = item.unit.is_none() && item.target.path.is_empty() && item.target.primes == 0;
            let parameter = item.value.and_then(|value| given(page, name_of(page, value)?));
            let value = item.value.and_then(|value| number(page, value)).or(parameter.map(|(value, _)| value));
            let value = value.filter(|x| plain && *x >= DEGREES_FROM && x % DEGREES_STEP == 0.0);
            let (Some(value), Some((function, place))) = (value, angles.get(name)) else { continue };
            let headline = format!("`{function}({name})` expects an angle in radians, and `{name}` begins at {value}");
            let report = warning(&codes::W0502, headline, item.target.name.span, "degrees?").label(*place, "used here");
            let written = parameter.map_or(name, |(_, ident)| ident.name.as_str());
            found.push(report.help(format!("if these are degrees, write `{written} = {value}*pi/180`")));
        }
    }
}

/// `param angle = 45` that is only the argument of `cos`: no angle in radians is that large.
fn given_in_degrees(page: &Page<'_>, angles: &HashMap<&str, (&str, Span)>, found: &mut Vec<Diagnostic>) {
    if angles.is_empty() {
        return;
    }
    for statement in &page.tree.statements {
        let (StatementKind::Param(items) | StatementKind::Const(items)) = &statement.kind else { continue };
        for item in items {
            let name = item.target.name.name.as_str();
            let plain = item.unit.is_none() && item.target.path.is_empty();
            let array = !item.target.indices.is_empty();
            let largest = item.value.filter(|_| plain).and_then(|value| largest(page, value, array));
            let (Some(value), Some((function, place))) = (largest.filter(|x| *x > TAU), angles.get(name)) else {
                continue;
            };
            let read = page.source.text.get(place.range()).unwrap_or(name);
            let headline = format!("`{function}({read})` expects an angle in radians");
            let label = if array { format!("an element is {value}") } else { format!("this is {value}") };
            let report =
                warning(&codes::W0502, headline, item.target.name.span, label).label(*place, "used here, and only so");
            let better = match page.model.units.mode {
                _ if array => format!("`{function}({read}*pi/180)`"),
                Mode::Off => format!("`{name} = {value}*pi/180`"),
                _ => format!("`{name} = {value} [deg]`"),
            };
            found.push(report.help(format!("if this is in degrees, write {better}")));
        }
    }
}

/// `sin(a[1])` where the table of `a` has 90 as its first entry, and other entries mean something else.
fn elements_in_degrees(page: &Page<'_>, angles: &HashMap<&str, (&str, Span)>, found: &mut Vec<Diagnostic>) {
    let mut values = None;
    for expr in &page.tree.exprs {
        let ExprKind::Call(function, list) = &expr.kind else { continue };
        let [argument] = list.as_slice() else { continue };
        let ExprKind::Name(element) = &page.expr(*argument).kind else { continue };
        let [Index::At(place)] = element.indices[..] else { continue };
        let name = element.name.name.as_str();
        let given = |item: &&Declared| item.target.name.name == name && item.unit.is_none();
        let statements = page.tree.statements.iter().map(|statement| &statement.kind);
        let declared = |kind: &StatementKind| matches!(kind, StatementKind::Param(_) | StatementKind::Const(_));
        let angle = ANGLES.contains(&function.name.as_str()) && !angles.contains_key(name);
        if !angle || number(page, place).is_none() || element.primes > 0 || !element.path.is_empty() {
            continue;
        }
        let Some(item) = statements.filter(|kind| declared(kind)).flat_map(StatementKind::items).find(given) else {
            continue;
        };
        let values = values.get_or_insert_with(|| Values::of(page));
        let value = values.value(*argument).filter(|x| *x >= DEGREES_FROM && *x <= 360.0 && x % DEGREES_STEP == 0.0);
        let Some(value) = value else { continue };
        let (function, text) = (&function.name, page.text(*argument));
        let headline = format!("`{function}({text})` expects an angle in radians");
        let report = warning(&codes::W0502, headline, page.expr(*argument).span, format!("this is {value}"));
        let report = report.label(item.target.name.span, "declared here");
        found.push(report.help(format!("if this is in degrees, write `{function}({text}*pi/180)`")));
    }
}

/// The largest number of a value; for an array in degrees, whose elements are multiples of 15, that of its table.
fn largest(page: &Page<'_>, value: ExprId, array: bool) -> Option<f64> {
    let ExprKind::Table(entries) = &page.expr(value).kind else { return number(page, value) };
    let numbers: Option<Vec<f64>> = entries.iter().map(|entry| number(page, *entry)).collect();
    let numbers = numbers.filter(|list| array && list.iter().all(|x| x % DEGREES_STEP == 0.0))?;
    numbers.into_iter().reduce(f64::max)
}

/// The names that are nothing but arguments of functions of angles, each with the function and the place of one use.
fn only_in_angles<'a>(page: &Page<'a>) -> HashMap<&'a str, (&'a str, Span)> {
    let mut uses: HashMap<&str, (&str, Span, usize)> = HashMap::new();
    for expr in &page.tree.exprs {
        let ExprKind::Call(function, list) = &expr.kind else { continue };
        let [argument] = list.as_slice() else { continue };
        if let Some(name) = name_of(page, *argument).filter(|_| ANGLES.contains(&function.name.as_str())) {
            uses.entry(name).or_insert((&function.name, page.expr(*argument).span, 0)).2 += 1;
        }
    }
    if uses.is_empty() {
        return HashMap::new();
    }
    for k in 0..page.tree.exprs.len() {
        let name = name_of(page, ExprId(k as u32)).and_then(|name| uses.get_mut(name));
        if let Some((.., left)) = name {
            *left = left.wrapping_sub(1);
        }
    }
    uses.into_iter()
        .filter(|(_, (.., left))| *left == 0)
        .map(|(name, (function, place, _))| (name, (function, place)))
        .collect()
}

/// `omega' = -g/l*sin(theta)` with theta in degrees, where nothing on the right declares a unit: odec takes the right side in
/// degrees, and the formula is one for radians.
fn rate_in_degrees(page: &Page<'_>, statement: &StatementKind) -> Option<Diagnostic> {
    let StatementKind::Equation { lhs, rhs, .. } = statement else { return None };
    let ExprKind::Name(target) = &page.expr(*lhs).kind else { return None };
    let in_degrees = |name: &str| {
        let text = page.model.units.text_of(name, &page.model.time.name).unwrap_or_default();
        text.split(|c: char| !c.is_alphabetic() && c != '°').any(|unit| DEGREES.contains(&unit))
    };
    if target.primes == 0 || !in_degrees(&target.name.name) {
        return None;
    }
    let nodes = page.tree.nodes_of(*rhs);
    let names = |id: ExprId| page.tree.nodes_of(id).into_iter().filter_map(|id| name_of(page, id));
    let turned = nodes.iter().any(|id| match &page.expr(*id).kind {
        ExprKind::Call(function, arguments) if ANGLES.contains(&function.name.as_str()) => {
            arguments.iter().any(|argument| names(*argument).any(&in_degrees))
        }
        _ => false,
    });
    let given = page.model.parameters.iter().chain(&page.model.constants);
    let given: Vec<_> = given.filter(|given| names(*rhs).any(|name| name == given.name)).collect();
    if !turned || given.is_empty() || given.iter().any(|given| given.unit.is_some()) {
        return None;
    }
    let open = suggest::list(given.iter().map(|given| given.name.as_str()));
    let left = page.text(*lhs);
    let headline = format!("`{left}` is in degrees, but its formula looks like one for radians");
    let report = warning(
        &codes::W0502,
        headline,
        page.expr(*rhs).span,
        "odec takes this to be in degrees and does not convert it",
    );
    Some(report.help(format!("declare the units of {open} and of `{}`, or write angles in radians", target.name.name)))
}

fn name_of<'a>(page: &Page<'a>, id: ExprId) -> Option<&'a str> {
    match &page.expr(id).kind {
        ExprKind::Name(reference) => Some(&reference.name.name),
        _ => None,
    }
}

/// Names that are declared in degrees.
fn declared<'a>(page: &Page<'a>) -> HashMap<&'a str, Span> {
    let mut in_degrees = HashMap::new();
    for item in page.tree.statements.iter().flat_map(|statement| statement.kind.items()) {
        let name = &item.target.name;
        if item.target.primes == 0 && item.unit.as_ref().is_some_and(|unit| DEGREES.contains(&unit.text.trim())) {
            in_degrees.insert(name.name.as_str(), name.span);
        }
    }
    in_degrees
}

/// `sin(theta)` of a name that is declared in degrees.
fn of_degrees(page: &Page<'_>, name: &str, argument: ExprId, declared: &HashMap<&str, Span>) -> Option<Diagnostic> {
    // if units are checked, an angle in degrees is converted
    if page.model.units.mode != Mode::Off {
        return None;
    }
    let ExprKind::Name(reference) = &page.expr(argument).kind else { return None };
    let span = declared.get(reference.name.name.as_str())?;
    let text = page.text(argument);
    let headline = format!("`{name}({text})` expects an angle in radians");
    let report =
        warning(&codes::W0502, headline, page.expr(argument).span, "this is in degrees").label(*span, "declared here");
    Some(report.help(format!("write `{name}({text}*pi/180)`")))
}

fn number(page: &Page<'_>, id: ExprId) -> Option<f64> {
    match page.expr(id).kind {
        ExprKind::Number(value) => Some(value),
        _ => None,
    }
}

/// `x^1/2` is `(x^1)/2`, `x^-1/2` is `(x^-1)/2`, also after factors: `k*x^1/2`.
fn root(page: &Page<'_>, above: ExprId, below: ExprId, span: Span) -> Option<Diagnostic> {
    let (mut base, mut divides) = (above, false);
    loop {
        base = match page.expr(base).kind {
            // a minus sign applies to the whole power
            ExprKind::Neg(inner) => inner,
            ExprKind::Binary(Binary::Div, _, _, last) => {
                divides = true;
                last
            }
            ExprKind::Binary(Binary::Mul, _, _, last) => last,
            _ => break,
        };
    }
    let ExprKind::Binary(Binary::Pow, _, x, exponent) = page.expr(base).kind else { return None };
    let (sign, exponent) = match page.expr(exponent).kind {
        ExprKind::Neg(exponent) => ("-", exponent),
        _ => ("", exponent),
    };
    // a power of 1 has no effect, whatever divides it
    let named = name_of(page, below).is_some() && sign.is_empty() && !divides;
    let whole = number(page, below).is_some_and(|n| n.fract() == 0.0 && n > 1.0);
    let (one, end, below) = (number(page, exponent)?, page.expr(below).span.end, page.text(below));
    let power = page.expr(base).span;
    let rest = page.source.text.get(power.end as usize..).unwrap_or_default();
    // an exponent in brackets is intended
    let bare = rest.trim_start_matches([' ', '\t']).starts_with('/') && !page.text(base).ends_with(')');
    (one == 1.0 && (whole || named) && bare).then(|| {
        let text = page.text(x);
        let place = Span { start: power.start, end, ..span };
        if divides {
            let place = Span { end, ..span };
            let headline = format!("`{}` divides by `{text}` and by `{below}`", clean(page, place));
            let report = warning(&codes::W0501, headline, place, "a power binds more tightly than a division");
            return report.help(format!("write `{text}^({sign}1/{below})`, or leave out the power of 1"));
        }
        warning(
            &codes::W0501,
            format!("`{}` is `({text}^{sign}1)/{below}`", clean(page, place)),
            place,
            "a power binds more tightly than a division",
        )
        .help(if sign.is_empty() {
            format!("write `{text}^(1/{below})`, or `{text}/{below}`")
        } else {
            format!("write `{text}^(-1/{below})`, or `1/({below}*{text})`")
        })
    })
}

fn clean(page: &Page<'_>, span: Span) -> String {
    page.source.text.get(span.range()).unwrap_or_default().split_whitespace().collect()
}

/// `sin(30)`, `sin(360*t)`, `sin(t + 90)`, `cos(theta*180/pi)`
fn degrees(page: &Page<'_>, name: &str, argument: ExprId) -> Option<Diagnostic> {
    let looks = |x: f64| x >= DEGREES_FROM && x % DEGREES_STEP == 0.0;
    let (expr, text) = (page.expr(argument), page.text(argument));
    let headline = format!("`{name}({text})` expects an angle in radians");
    if in_degrees(page, argument) {
        let report = warning(&codes::W0502, headline, expr.span, "`180/pi` converts radians to degrees");
        return Some(report.help("leave out the factor `180/pi`; to convert degrees to radians, write `pi/180`"));
    }
    let alone = number(page, argument).filter(|x| looks(*x));
    let turns = |id: ExprId| number(page, id).filter(|x| *x == 360.0 || *x == 180.0);
    let factor = match expr.kind {
        ExprKind::Binary(Binary::Mul, _, a, b) => turns(a).or_else(|| turns(b)),
        _ => None,
    };
    let factor = factor.or_else(|| whole_turn(page, argument)).filter(|_| !reads_pi(page, argument));
    // a phase of more than a turn is pointless in radians; `t - 30` may be the time since an event
    let phase = match expr.kind {
        ExprKind::Binary(Binary::Add, _, a, b) => number(page, b).or_else(|| number(page, a)),
        ExprKind::Binary(Binary::Sub, _, _, b) => number(page, b).filter(|x| x % 90.0 == 0.0),
        _ => None,
    };
    if let Some(phase) = phase.filter(|x| looks(*x) && *x <= 360.0) {
        let report = warning(&codes::W0502, headline, expr.span, format!("is {phase} an angle in degrees?"));
        return Some(report.help(format!("if it is in degrees, write `{phase}*pi/180` for it")));
    }
    alone.or(factor)?;
    let better = if alone.is_some() { format!("{name}({text}*pi/180)") } else { format!("{name}(({text})*pi/180)") };
    Some(
        warning(&codes::W0502, headline, expr.span, "degrees?").help(format!("if these are degrees, write `{better}`")),
    )
}

/// The factors of a product, and true for those of a denominator.
fn factors(page: &Page<'_>, product: ExprId) -> Vec<(ExprId, bool)> {
    let (mut open, mut list) = (vec![(product, false)], Vec::new());
    while let Some((id, divides)) = open.pop() {
        match &page.expr(id).kind {
            ExprKind::Binary(Binary::Mul, _, a, b) => open.extend([(*a, divides), (*b, divides)]),
            ExprKind::Binary(Binary::Div, _, a, b) => open.extend([(*a, divides), (*b, !divides)]),
            ExprKind::Tuple(one) if one.len() == 1 => open.push((one[0], divides)),
            ExprKind::Neg(a) => open.push((*a, divides)),
            _ => list.push((id, divides)),
        }
    }
    list
}

/// 360 among the factors of `360*(t - 15)/365`, `360/24*t`, `2*180*f*t`. A division by as much takes it back.
fn whole_turn(page: &Page<'_>, argument: ExprId) -> Option<f64> {
    let (mut numbers, mut others) = (Vec::new(), 0);
    for (id, divides) in factors(page, argument) {
        match page.expr(id).kind {
            ExprKind::Number(value) => numbers.push((value, divides)),
            _ => others += 1,
        }
    }
    let has = |wanted: f64, below: bool| numbers.contains(&(wanted, below));
    let turn = has(360.0, false) || has(180.0, false) && has(2.0, false);
    (turn && others > 0 && !has(360.0, true) && !has(180.0, true)).then_some(360.0)
}

fn reads_pi(page: &Page<'_>, id: ExprId) -> bool {
    page.tree.nodes_of(id).into_iter().any(|id| matches!(name_of(page, id), Some("pi" | "π")))
}

/// True for a product with the factor 180/pi, and without other numbers.
fn in_degrees(page: &Page<'_>, argument: ExprId) -> bool {
    let (mut above, mut below) = (false, false);
    for (id, divides) in factors(page, argument) {
        match &page.expr(id).kind {
            ExprKind::Number(value) if *value == 180.0 && !divides => above = true,
            ExprKind::Number(_) => return false,
            ExprKind::Name(_) if matches!(name_of(page, id), Some("pi" | "π")) => {
                if !divides {
                    return false;
                }
                below = true;
            }
            _ => {}
        }
    }
    above && below
}
