//! Messages about contradictions: both units, the statements from which they follow, and the missing factor.

use std::collections::{HashMap, HashSet};

use odec_ir::Span;

use super::{Checker, Clash, Kind, Site};
use crate::diagnostic::{Diagnostic, Label, codes};
use crate::report::error;
use crate::syntax::is_operand;
use crate::syntax::tree::{Binary, ExprId, ExprKind};
use crate::units::Units;
use crate::units::pool::UnitId;
use crate::units::rational::Rational;
use crate::units::table;
use crate::units::vector::Vector;

/// Largest number of reported contradictions: one wrong unit contradicts many lines.
const MAX_CLASHES: usize = 5;
/// Largest number of locations in one report; further ones are only counted.
const MAX_PLACES: usize = 24;
/// Largest number of names that a report suggests for a missing factor.
const MAX_OFFERED: usize = 3;
/// Orders of derivatives whose units are written as rates.
const RATES: [i64; 2] = [1, 2];
/// Longest text of a factor of a unit that a message repeats in full.
const MAX_FACTOR: usize = 10;
/// Longest number that a message offers instead of a quotient.
const MAX_QUOTIENT: usize = 6;
/// Powers of a name that a report suggests for a missing factor.
const POWERS: [i64; 4] = [1, -1, 2, -2];

impl<'a> Checker<'a> {
    /// Reports all contradictions; those with the same missing factor become one report.
    pub(super) fn report_clashes(&mut self) {
        let clashes = std::mem::take(&mut self.clashes);
        let mut groups: Vec<(Vector, Vec<&Clash<'a>>)> = Vec::new();
        for clash in &clashes {
            let missing = clash.quotient.dimensions();
            let inverse = Vector::default().quotient(&missing);
            match groups.iter_mut().find(|(other, _)| *other == missing || *other == inverse) {
                Some((_, list)) => list.push(clash),
                None => groups.push((missing, vec![clash])),
            }
        }
        for (_, list) in groups.into_iter().take(MAX_CLASHES) {
            let report = self.clash(list[0]);
            let others = list.iter().skip(1).map(|clash| clash.site.right);
            let report = crate::report::Build::also_some(report, others, "the same factor here", MAX_PLACES);
            self.reports.say(report);
        }
    }

    /// A unit in words.
    pub(super) fn words(&mut self, unit: UnitId) -> String {
        let unit = self.reduced(unit);
        if let Some(written) = self.rate_of_declared(unit) {
            return written;
        }
        let mut names: HashMap<u32, &str> = HashMap::new();
        for quantity in &self.quantities {
            if let Some(variable) = quantity.unit.as_variable() {
                names.entry(variable).or_insert(quantity.name);
            }
        }
        self.units
            .text_with(&self.pool[unit], &|v| names.get(&v).map_or("?".to_owned(), |name| format!("unit of {name}")))
    }

    /// A derivative of a declared unit, as the declaration writes that unit: `[1/mL/day]` and not
    /// `[11.57/(m^3*s)]`. `None` for units that the model writes itself, and for others.
    fn rate_of_declared(&self, unit: UnitId) -> Option<String> {
        let unit = &self.pool[unit];
        if unit.is_open() || self.units.spelled.contains_key(unit) {
            return None;
        }
        let time = self.units.text(&self.units.time);
        if unit.product(&self.units.time).is_one() {
            return Some(format!("1/{time}"));
        }
        RATES.into_iter().find_map(|primes| {
            let base = unit.times(&self.units.time, Rational::whole(primes));
            // a rate of the time itself is written as it is
            let mut names = self.quantities.iter().skip(1);
            let bracket = names.find(|q| q.bracket.is_some() && self.pool[q.unit] == base)?.bracket?;
            if base == self.units.time {
                return None;
            }
            Some(per_time(&bracket.text, &time, primes))
        })
    }

    fn headline(clash: &Clash<'a>, a: &str, b: &str) -> String {
        match clash.site.kind {
            Kind::Sum => format!("odec cannot add [{a}] and [{b}]"),
            Kind::Comparison => format!("odec cannot compare [{a}] and [{b}]"),
            Kind::Branches => format!("the branches of an `if` are in [{a}] and [{b}]"),
            Kind::Alike(what) if what.contains(' ') => format!("{what} are in [{a}] and [{b}]"),
            Kind::Alike(what) => format!("`{what}` of [{a}] and [{b}] is not defined"),
            Kind::Equation => format!("one side of the equation is in [{a}], the other in [{b}]"),
            Kind::Value(name) => format!("`{name}` is in [{a}], but its value is in [{b}]"),
            Kind::Bracket => format!("a value in [{b}] does not fit [{a}]"),
            Kind::Pure(function) => format!("`{function}` takes a pure number, but this is in [{b}]"),
            Kind::Exponent => format!("an exponent must be a pure number, but this one is in [{b}]"),
            Kind::Base => format!("a quantity in [{b}] cannot have a varying exponent"),
            Kind::Argument(name, function) => format!("`{function}` takes `{name}` in [{a}], but this is in [{b}]"),
            Kind::Time => format!("times are in [{a}], but this is in [{b}]"),
            Kind::Change(name) => format!("`{name}` is in [{a}], but receives a value in [{b}]"),
            Kind::Recorded(name) => format!("`{name}` is in [{a}], but is recorded in [{b}]"),
        }
    }

    fn clash(&mut self, clash: &Clash<'a>) -> Diagnostic {
        let typed = self.both_units(clash);
        let (a, b) = (shortened(&typed.0), shortened(&typed.1));
        let headline = Self::headline(clash, &a, &b);
        let site = clash.site;
        let mut report = error(&codes::E0570, headline, site.right, format!("in [{b}]"));
        let one_place = matches!(site.kind, Kind::Pure(_) | Kind::Exponent | Kind::Base);
        if !one_place && site.left != Span::default() && site.left != site.right {
            report = report.label(site.left, format!("in [{a}]"));
        }
        let chain: Vec<(Site<'a>, u32)> = {
            let quotient = self.pool[clash.left].quotient(&self.pool[clash.right]);
            let kept = self.solver.kept();
            self.solver.chain(&quotient).into_iter().map(|k| (kept[k].site, kept[k].variable)).collect()
        };
        for &(link, variable) in &chain {
            let unit = self.variable(variable);
            let named = self.quantities.iter().find(|q| q.unit == unit).map(|q| q.name);
            let text = match named {
                Some(name) => format!("so `{name}` is in [{}]", shortened(&self.words(unit))),
                None => format!("so [{}]", shortened(&self.words(unit))),
            };
            let place = if link.left == Span::default() || link.left.start > link.right.start {
                link.right
            } else {
                link.left.to(link.right)
            };
            report.labels.push(Label { span: place, text });
        }
        let sites = std::iter::once(site).chain(chain.iter().map(|link| link.0));
        let named = |site: &Site<'a>| match site.kind {
            Kind::Change(name) | Kind::Value(name) | Kind::Recorded(name) => Some(name),
            _ => None,
        };
        for name in sites.clone().filter_map(|site| named(&site)) {
            let bracket = self.quantity(name).and_then(|q| q.bracket);
            if let Some(bracket) = bracket.filter(|b| report.labels.iter().all(|label| label.span != b.span)) {
                report.labels.push(Label { span: bracket.span, text: format!("`{name}` is in [{}]", bracket.text) });
            }
        }
        let exprs: Vec<ExprId> = sites.flat_map(|s| [s.left_expr, s.right_expr, s.context]).flatten().collect();
        self.declarations(&mut report, &exprs);
        if report.labels.len() > MAX_PLACES {
            let more = report.labels.len() - MAX_PLACES;
            report.labels.truncate(MAX_PLACES);
            if let Some(last) = report.labels.last_mut() {
                last.text = format!("{} (and {more} more places)", last.text);
            }
        }
        let help = self.missing(clash);
        report.help(match site.kind {
            Kind::Argument(_, name) if self.is_over_time(name) => format!(
                "{help}; if `{name}` is not a table over time, name its argument with its unit: `input {name}(x \
                 [{}]) = table(...)`",
                typed.1
            ),
            _ => help,
        })
    }

    /// True if an input with this name depends on time.
    fn is_over_time(&self, name: &str) -> bool {
        self.names.inputs.get(name).is_some_and(|index| self.names.found.inputs[*index].other.is_none())
    }

    /// Adds labels for the origin of the units: declarations of the names in these expressions, and the numbers with
    /// units in the functions that they call.
    fn declarations(&mut self, report: &mut Diagnostic, exprs: &[ExprId]) {
        let mut derivative = false;
        let mut seen: HashSet<usize> = HashSet::new();
        let mut open: Vec<(ExprId, bool)> = exprs.iter().rev().map(|&expr| (expr, false)).collect();
        let bodies: Vec<ExprId> = self.names.found.functions.iter().map(|f| f.body).collect();
        while let Some((expr, in_function)) = open.pop() {
            let in_function = in_function || bodies.contains(&expr);
            for id in self.input.nodes_of(expr) {
                let (bracket, text) = match &self.input.tree.exprs[id.0 as usize].kind {
                    ExprKind::Name(reference) => {
                        derivative |= reference.primes > 0;
                        let name = reference.name.name.as_str();
                        let Some(bracket) = self.quantity(name).and_then(|q| q.bracket) else { continue };
                        (bracket, format!("`{name}` is in [{}]", bracket.text))
                    }
                    ExprKind::Quantity(_, bracket) if in_function => {
                        (bracket, format!("a number in [{}]", bracket.text))
                    }
                    ExprKind::Call(name, _) if self.names.inputs.contains_key(&name.name) => {
                        let name = name.name.as_str();
                        let Some(bracket) = self.quantity(name).and_then(|q| q.bracket) else { continue };
                        (bracket, format!("`{name}` is in [{}]", bracket.text))
                    }
                    ExprKind::Call(name, _) => {
                        if let Some(&index) = self.names.functions.get(&name.name)
                            && seen.insert(index)
                        {
                            open.push((bodies[index], true));
                        }
                        continue;
                    }
                    _ => continue,
                };
                if report.labels.iter().all(|label| label.span != bracket.span) {
                    report.labels.push(Label { span: bracket.span, text });
                }
            }
        }
        let time = self.quantities.first().and_then(|q| q.bracket);
        if let Some(bracket) = time.filter(|_| derivative)
            && report.labels.iter().all(|label| label.span != bracket.span)
        {
            report.labels.push(Label { span: bracket.span, text: format!("time is in [{}]", bracket.text) });
        }
    }

    /// Help for a number without a unit next to a quantity, which is a pure number with `units strict`.
    fn pure_number(&mut self, clash: &Clash<'a>) -> Option<String> {
        if self.units.mode != crate::units::Mode::Strict || !clash.site.kind.takes_pure() {
            return None;
        }
        let sides = [(clash.left, clash.site.left_expr, clash.right), (clash.right, clash.site.right_expr, clash.left)];
        let bare = |expr: ExprId| {
            let kind = |e: ExprId| &self.input.tree.exprs[e.0 as usize].kind;
            matches!(kind(expr), ExprKind::Number(_))
                || matches!(kind(expr), ExprKind::Neg(inner) if matches!(kind(*inner), ExprKind::Number(_)))
        };
        let (number, unit) = sides.into_iter().find_map(|(own, expr, other)| {
            let expr = expr.filter(|&expr| own == UnitId::ONE && !self.pool[other].is_open() && bare(expr))?;
            Some((self.input.text(self.span(expr)), other))
        })?;
        let vector = self.pool[unit].clone();
        let text = self.words(unit);
        // [mV] from ohms and mA: the number may be in volts
        let other = Some(vector.dimensions()).filter(|_| !self.units.spelled.contains_key(&vector));
        let other = other.and_then(|dimensions| crate::units::named(&dimensions)).filter(|name| *name != text);
        let choice = other.map_or_else(String::new, |name| format!("`{number} [{name}]` or "));
        Some(format!(
            "write {choice}`{number} [{text}]`: with `units strict`, a number without a unit is a pure number"
        ))
    }

    /// The names in an expression.
    pub(super) fn names_in(&self, expr: ExprId) -> Vec<&'a str> {
        let named = |id: ExprId| Some(self.quantities[self.named[id.0 as usize]? as usize].name);
        self.input.nodes_of(expr).into_iter().filter_map(named).collect()
    }

    /// Help for the argument of a function of pure numbers: `exp((V + 40)/10)` lacks the unit of a divisor, and
    /// `log10(h)` a reference value.
    fn reference_value(&mut self, clash: &Clash<'a>) -> Option<String> {
        if matches!(clash.site.kind, Kind::Base) && !self.pool[clash.right].is_open() {
            let unit = self.words(clash.right);
            let text = operand(self.input.text(clash.site.right));
            return Some(format!("divide the base by a reference value in its unit: `({text}/(1 [{unit}]))`"));
        }
        let (Kind::Pure(function), Some(expr)) = (clash.site.kind, clash.site.right_expr) else { return None };
        let tree = self.input.tree;
        let kind = |e: ExprId| &tree.exprs[e.0 as usize].kind;
        let unit = self.words(clash.right);
        let mut inner = expr;
        while let ExprKind::Neg(a) = kind(inner) {
            inner = *a;
        }
        if let ExprKind::Binary(Binary::Div, _, _, divisor) = kind(inner)
            && matches!(kind(*divisor), ExprKind::Number(_))
        {
            let number = self.input.text(self.span(*divisor));
            return Some(format!("give the divisor its unit: `({number} [{unit}])`"));
        }
        if !matches!(function, "log" | "ln" | "log10" | "log2") || self.pool[clash.right].is_open() {
            return None;
        }
        let text = operand(self.input.text(self.span(expr)));
        Some(format!("divide it by a reference value in the same unit: `{function}({text}/(1 [{unit}]))`"))
    }

    /// Help for `at 1/2 [h]`, where the unit belongs to the number below only.
    fn fraction(&self, clash: &Clash<'a>) -> Option<String> {
        let kind = |e: ExprId| &self.input.tree.exprs[e.0 as usize].kind;
        let number = |e: ExprId| match kind(e) {
            ExprKind::Number(value) => Some((*value, self.input.text(self.span(e)))),
            _ => None,
        };
        let inverse = self.pool[clash.left].dimensions().product(&self.pool[clash.right].dimensions()).is_one();
        let sides = [clash.site.right_expr, clash.site.left_expr];
        let mut quotients = sides.into_iter().flatten().filter(|_| inverse).map(kind);
        let (a, b, unit) = quotients.find_map(|side| match side {
            ExprKind::Binary(Binary::Div, _, a, below) => match kind(*below) {
                ExprKind::Quantity(b, unit) => Some((number(*a)?, number(*b)?, unit.text.trim())),
                _ => None,
            },
            _ => None,
        })?;
        let value = format!("{}", a.0 / b.0);
        let plain = format!(", or `{value} [{unit}]`");
        let plain = if value.len() > MAX_QUOTIENT { String::new() } else { plain };
        Some(format!(
            "the unit belongs to the `{}` alone, and this divides by it: write `({}/{}) [{unit}]`{plain}",
            b.1, a.1, b.1
        ))
    }

    /// Help for `every 1/2 [h]` and `every 10 [Hz]`.
    fn frequency(&self, clash: &Clash<'a>) -> Option<String> {
        if let Some(help) = self.fraction(clash) {
            return Some(help);
        }
        let inverse = clash.quotient.dimensions() == Units::second().power(Rational::whole(2));
        let text = self.input.text(clash.site.right);
        (inverse && matches!(clash.site.kind, Kind::Time))
            .then(|| format!("this is a frequency; a time is its inverse: `1/({text})`"))
    }

    /// Help for `t + phase`, where the phase is an angle.
    fn angle(&mut self, clash: &Clash<'a>) -> Option<String> {
        let Site { kind: Kind::Sum, left, right, .. } = clash.site else { return None };
        let time = &self.names.time.name;
        let (left, right) = (self.input.text(left), self.input.text(right));
        let angle = if left == time { clash.right } else { clash.left };
        let help = format!(
            "multiply `{time}` by an angular frequency: with `param w = 1 [rad/s]`, write `w*{time}` instead of `{time}`"
        );
        let alone = left == time || right == time;
        let words = self.words(angle);
        (alone && matches!(&words[..], "rad" | "deg")).then_some(help)
    }

    /// Help on how to make both units agree.
    fn missing(&mut self, clash: &Clash<'a>) -> String {
        let known = self
            .pure_number(clash)
            .or_else(|| self.reference_value(clash))
            .or_else(|| self.rate_with_number(clash))
            .or_else(|| self.number_in_quotient(clash))
            .or_else(|| self.molar_mass(clash).or_else(|| self.angle(clash)));
        if let Some(help) = known {
            return help;
        }
        let missing = clash.quotient.dimensions();
        if let Some(help) = self.frequency(clash).or_else(|| temperature(&missing).map(str::to_owned)) {
            return help;
        }
        // a value is not divided by itself
        let inside = match clash.site.kind {
            Kind::Pure(_) | Kind::Exponent => clash.site.right_expr.map_or_else(Vec::new, |expr| self.names_in(expr)),
            // nor multiplied by the name that it defines
            Kind::Value(name) => vec![name],
            _ => Vec::new(),
        };
        let wanted = |unit: &Vector, power: i64| unit.dimensions().power(Rational::whole(power)) == missing;
        let time = self.names.time.name.clone();
        for power in POWERS {
            let fits: Vec<&str> = self
                .quantities
                .iter()
                .filter(|q| q.bracket.is_some() && q.name != time && wanted(&self.pool[q.unit], power))
                .filter(|q| !inside.contains(&q.name))
                .map(|q| q.name)
                .take(MAX_OFFERED)
                .collect();
            if fits.is_empty() && wanted(&self.units.time, power) {
                let text = if power.abs() == 1 { "a time" } else { "the square of a time" };
                let unit = self.time_power(power.abs());
                let unit = self.words(unit);
                // an argument has no second side
                if matches!(clash.site.kind, Kind::Pure(_) | Kind::Exponent) {
                    return by_time(power, &time, &unit);
                }
                if power == -1 {
                    let unit = self.time_of_terms(clash);
                    return format!(
                        "{} by something in [{unit}], {text}, would make them agree; a number that is a rate has a \
                         unit: `2 [1/{unit}]`",
                        act(power)
                    );
                }
                return format!("{} by something in [{unit}], {text}, would make them agree", act(power));
            }
            if let Some(first) = fits.first() {
                let unit = self.quantity(first).map_or(UnitId::ONE, |q| q.unit);
                let unit = self.words(unit);
                let squared = if power.abs() == 2 { " twice" } else { "" };
                let names = crate::suggest::any_of(&fits);
                let twice = if power.abs() == 2 {
                    format!(" twice by a quantity in [{unit}]")
                } else {
                    format!(" by a quantity in [{unit}]")
                };
                if matches!(clash.site.kind, Kind::Pure(_) | Kind::Exponent) {
                    let verb = if power > 0 { "multiply" } else { "divide" };
                    return format!("{verb} it{squared} by a quantity in [{unit}], such as {names}");
                }
                return format!("{}{twice}, such as {names}, would make them agree", act(power));
            }
        }
        let factor = self.units.of_dimensions(&missing).unwrap_or_else(|| {
            let missing = self.pool.id(missing.clone());
            self.words(missing)
        });
        if clash.right == UnitId::ONE && matches!(clash.site.kind, Kind::Value(_)) && self.is_writable(clash.left) {
            let unit = self.words(clash.left);
            return format!("multiply the value by a quantity in [{unit}], for example `1 [{unit}]`");
        }
        if clash.left == UnitId::ONE && matches!(clash.site.kind, Kind::Pure(_) | Kind::Exponent) {
            let unit = self.words(clash.right);
            return format!("divide by a quantity in [{unit}]; a number can have this unit, too: `1 [{unit}]`");
        }
        let written = (!self.pool[clash.left].is_open() && !self.pool[clash.right].is_open())
            .then(|| (self.words(clash.left), self.words(clash.right)))
            .and_then(|(left, right)| quotient(&left, &right))
            .filter(|written| words_in(written) <= words_in(&factor));
        format!("they differ by a factor in [{}]", written.unwrap_or(factor))
    }
}

/// A unit whose factor has few digits, for text that nobody types: `2.778e-10 kg/s`.
fn shortened(unit: &str) -> String {
    match unit.split_once(' ').and_then(|(factor, rest)| Some((factor, factor.parse::<f64>().ok()?, rest))) {
        Some((factor, value, rest)) if factor.len() > MAX_FACTOR => format!("{value:.3e} {rest}"),
        _ => unit.to_owned(),
    }
}

/// The number of words of a unit: 2 for `m/s`.
fn words_in(unit: &str) -> usize {
    unit.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty()).count()
}

/// The quotient of two units in the words of both: `1/h` by `mg/L` is `L/(h*mg)`. `None` if one is not a plain product
/// of powers.
fn quotient(left: &str, right: &str) -> Option<String> {
    let mut powers: Vec<(&str, i64)> = Vec::new();
    for (unit, sign) in [(left, 1), (right, -1)] {
        let (above, below) = unit.split_once('/').unwrap_or((unit, ""));
        let below = below.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).unwrap_or(below);
        for (part, sign) in [(above, sign), (below, -sign)] {
            for factor in part.split('*').filter(|factor| !matches!(*factor, "" | "1")) {
                let (word, power) = factor.split_once('^').unwrap_or((factor, "1"));
                let power = sign * power.parse::<i64>().ok()?;
                if word.is_empty() || !word.chars().all(char::is_alphabetic) {
                    return None;
                }
                match powers.iter_mut().find(|(known, _)| *known == word) {
                    Some((_, sum)) => *sum += power,
                    None => powers.push((word, power)),
                }
            }
        }
    }
    let part = |sign: i64| {
        let raised = |&(word, power): &(&str, i64)| match power * sign {
            ..=0 => None,
            1 => Some(word.to_owned()),
            power => Some(format!("{word}^{power}")),
        };
        let mut part: Vec<String> = powers.iter().filter_map(raised).collect();
        part.sort_unstable();
        part
    };
    let (above, below) = (part(1), part(-1));
    let head = if above.is_empty() { "1".to_owned() } else { above.join("*") };
    Some(match below.as_slice() {
        [] => head,
        [one] => format!("{head}/{one}"),
        many => format!("{head}/({})", many.join("*")),
    })
}

/// Help for an argument that lacks a power of a time.
fn by_time(power: i64, time: &str, unit: &str) -> String {
    match power {
        1 => format!("multiply it by a time, such as `{time}`"),
        2.. => format!("multiply it by the square of a time, such as `{time}^2`"),
        _ => format!("divide it by a quantity in [{unit}]; a number can have this unit, too: `1 [{unit}]`"),
    }
}

/// A text as an operand: in brackets unless it is one already.
fn operand(text: &str) -> String {
    if is_operand(text) { text.to_owned() } else { format!("({text})") }
}

/// A unit divided by a power of the unit of time.
fn per_time(unit: &str, time: &str, power: i64) -> String {
    let (above, before) = match unit.strip_suffix(time).and_then(|rest| rest.strip_suffix('/')) {
        // `m/s` per second is `m/s^2`
        Some(above) if !above.is_empty() => (above, 1),
        _ => (unit, 0),
    };
    // only the unit after a `/` divides
    let above = if above.contains('/') && above.contains(['*', ' ']) { format!("({above})") } else { above.to_owned() };
    match power + before {
        1 => format!("{above}/{time}"),
        power => format!("{above}/{time}^{power}"),
    }
}

/// Help for a symbol of an electric unit that was meant as a scale of temperature.
fn temperature(missing: &Vector) -> Option<&'static str> {
    if stands_for_kelvin("F", missing) {
        return Some(
            "`[F]` is the farad; convert a temperature to kelvin, `(77 + 459.67)*5/9 [K]`, and a difference of \
             temperatures, `10*5/9 [K]`",
        );
    }
    stands_for_kelvin("C", missing).then_some(
        "`[C]` is the coulomb; write a temperature as `celsius(20)`, which is in [K], and a difference of temperatures \
         in [K]",
    )
}

/// True if this unit stands where kelvins belong, to some power: `C`, the coulomb, was meant as degrees Celsius.
fn stands_for_kelvin(symbol: &str, missing: &Vector) -> bool {
    let (Some(other), Some(kelvin)) = (table::find(symbol), table::find("K")) else { return false };
    let per = other.quotient(&kelvin).dimensions();
    POWERS.iter().any(|&power| per.power(Rational::whole(power)) == *missing)
}

/// Words for what to do with the second of two units.
fn act(power: i64) -> &'static str {
    if power > 0 { "multiplying the second" } else { "dividing the second" }
}
