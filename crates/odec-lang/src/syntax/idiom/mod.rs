//! Idioms of other languages: `np.exp(x)`, `d(x)/dt`, `for` loops, LaTeX. Each is reported once, with the text to type.
//!
//! The search runs only if a model has errors, and only on lines with errors, so that it never affects a valid model.
//! The text of an idiom is blanked, and the rest is checked without it, so that an idiom causes no further errors.

mod absent;
mod array;
mod arrow;
mod aside;
mod behind;
mod blockless;
mod blocks;
mod borrowed;
mod boundary;
mod bounds;
mod bracket;
mod call;
mod cases;
mod choice;
mod comment;
mod comprehension;
mod connective;
mod counted;
mod declare;
mod digits;
mod dots;
mod doubtful;
mod element;
mod ended;
mod entries;
mod event_sentences;
mod events;
mod expected;
mod foreign;
mod function;
mod given;
mod headings;
mod implicit;
mod indented;
mod instants;
mod kinds;
mod latex;
mod line;
mod loops;
mod machine;
mod method;
mod miscalled;
mod modelica;
mod name;
mod nested;
mod program;
mod ranges;
mod rate;
mod rate_laws;
mod reactants;
mod reaction;
mod remainder;
mod sentence;
mod several;
mod short_forms;
mod sign;
mod slip;
mod subscripts;
mod suffix;
mod tables;
mod text;
mod tool;
mod totals;
mod truth;
mod unit;
mod unneeded;
mod unneeded_heads;
mod values;
mod variable;
mod vector;
mod vensim;
mod whole;
mod xpp;

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use odec_ir::Span;

use super::explain::token::TokenKind;
use crate::diagnostic::{Code, Diagnostic, Fix};
use crate::report::{Build, error};
pub use doubtful::{root_of, rounded};
use line::Line;
pub use name::looks_latin;

/// Texts longer than this are not searched: so long a text is written by a program.
const MAX_SEARCHED: usize = 1 << 20;
/// Longer lines (in bytes) are not searched, because the cost is quadratic in the length.
const MAX_LINE: usize = 2000;
/// Largest number of lines with errors that are searched.
const MAX_LINES: usize = 5000;

/// An occurrence of an idiom.
#[derive(Clone, Debug)]
pub struct IdiomMatch {
    code: &'static Code,
    /// Equal for all occurrences that one diagnostic reports.
    headline: String,
    span: Span,
    label: String,
    help: String,
    /// The text to type, if it cannot change valid parts.
    fixes: Vec<Fix>,
    /// The range that is blanked.
    range: Range<usize>,
    /// Other ranges that are blanked, without a fix.
    also: Vec<Range<usize>>,
}

impl IdiomMatch {
    fn new(code: &'static Code, headline: impl Into<String>, span: Span) -> IdiomMatch {
        IdiomMatch {
            code,
            headline: headline.into(),
            span,
            label: String::new(),
            help: String::new(),
            fixes: Vec::new(),
            range: span.range(),
            also: Vec::new(),
        }
    }

    fn label(mut self, text: impl Into<String>) -> IdiomMatch {
        self.label = text.into();
        self
    }

    fn help(mut self, text: impl Into<String>) -> IdiomMatch {
        self.help = text.into();
        self
    }

    fn fix(mut self, span: Span, text: impl Into<String>) -> IdiomMatch {
        self.fixes.push(Fix { span, text: text.into() });
        self
    }

    /// Adds a replacement of the whole range.
    fn write(self, text: impl Into<String>) -> IdiomMatch {
        let (text, span) = (text.into(), self.span);
        let help = if self.help.is_empty() { format!("write `{text}`") } else { self.help.clone() };
        self.help(help).fix(span, text)
    }

    fn over(mut self, range: Range<usize>) -> IdiomMatch {
        self.range = range;
        self
    }
}

/// The facts about names from the lines of a file, without the grammar.
struct Scene<'a> {
    lines: Vec<Line<'a>>,
    /// All names with a meaning in the model.
    declared: HashSet<&'a str>,
    /// See [`name::by_looks`].
    alike: HashMap<String, &'a str>,
    states: HashSet<&'a str>,
    /// Names whose derivative an equation determines.
    rates: HashSet<&'a str>,
    indices: HashSet<&'a str>,
    functions: HashSet<&'a str>,
    inputs: HashSet<&'a str>,
    /// Names that are declared with indices.
    arrays: HashMap<&'a str, Vec<&'a str>>,
    time: &'a str,
    run: bool,
    /// True if a line declares the time, and if one uses a part.
    timed: bool,
    parts: bool,
    /// Names with a charge that a line declares: `k+` of `param k+ = 1`.
    charged: HashSet<&'a str>,
}

impl<'a> Scene<'a> {
    fn of(masked: &'a str) -> Scene<'a> {
        let mut scene = Scene {
            lines: line::lines(masked),
            declared: HashSet::from(["t", "pi", "inf"]),
            alike: HashMap::new(),
            states: HashSet::new(),
            rates: HashSet::new(),
            indices: HashSet::new(),
            functions: HashSet::new(),
            inputs: HashSet::new(),
            arrays: HashMap::new(),
            time: "t",
            run: false,
            timed: false,
            parts: false,
            charged: HashSet::new(),
        };
        for at in 0..scene.lines.len() {
            scene.declare(at);
            scene.differentiate(at);
        }
        scene.alike = name::by_looks(&scene.declared);
        scene
    }

    fn is_declared(&self, name: &str) -> bool {
        self.declared.contains(name)
    }

    /// A state and an index for a chain of states.
    fn names_of_chain(&self) -> [&'static str; 2] {
        [self.free_name(&["z", "w", "q", "chain"]), self.free_name(&["i", "j", "k", "stage"])]
    }

    /// The first of these names that the model does not use.
    fn free_name(&self, names: &[&'static str]) -> &'static str {
        let free = names.iter().find(|name| !self.declared.contains(**name) && !self.rates.contains(**name));
        free.or(names.last()).copied().unwrap_or("w")
    }

    /// Records the derivative that a line determines: `x' = ...`, `dx/dt = ...`, `der(x) = ...`.
    fn differentiate(&mut self, at: usize) {
        let line = &self.lines[at];
        let first = line.text(0);
        let end = line.operand_end(0).unwrap_or(1);
        // `x'[t] == ...` of Mathematica
        let primes = (1..line.tokens.len()).take_while(|&k| line.kind(k) == Some(TokenKind::Prime)).count();
        let timed = line.is_name(0) && primes > 0 && line.reads(1 + primes, &["[", "t", "]"]);
        if timed || line.is_name(0) && line.kind(end.max(1) - 1) == Some(TokenKind::Prime) && line.text(end) == "=" {
            self.rates.insert(first);
        } else if line.reads(0, &["d", "("]) && line.is_name(2) && line.reads(3, &[")", "/"]) && line.text(6) == "=" {
            // d(A)/dt = ...
            self.rates.insert(line.text(2));
        } else if line.is_name(0) && line.text(1) == "/" && line.text(2).starts_with('d') && line.text(3) == "=" {
            self.rates.extend(first.strip_prefix('d'));
        } else if matches!(first, "der" | "D") && line.text(1) == "(" && line.is_name(2) && line.text(3) == ")" {
            self.rates.insert(line.text(2));
        }
    }

    /// Records the declarations of a line.
    fn declare(&mut self, at: usize) {
        let line = &self.lines[at];
        let first = line.text(0);
        let mut names: Vec<usize> = Vec::new();
        self.parts |= first == "use";
        self.timed |= first == "time" && line.is_name(1);
        match first {
            "param" | "const" | "state" | "output" | "index" | "discrete" | "unknown" | "input" if line.is_name(1) => {
                let (mut depth, mut fresh) = (0usize, true);
                for k in 1..line.tokens.len() {
                    match line.kind(k) {
                        Some(TokenKind::Open) => depth += 1,
                        Some(TokenKind::Close) => depth = depth.saturating_sub(1),
                        Some(TokenKind::Comma) if depth == 0 => fresh = true,
                        Some(TokenKind::Name) if fresh => {
                            if !(declare::is_type(line.text(k)) && line.is_name(k + 1)) {
                                names.push(k);
                            }
                            fresh = false;
                        }
                        _ => {}
                    }
                }
            }
            "fn" => {
                self.functions.insert(line.text(1));
                names.extend([1, 3]);
            }
            "time" if line.is_name(1) => self.time = line.text(1),
            "run" => self.run = true,
            _ => {
                let end = line.operand_end(0).unwrap_or(0);
                let round = matches!(line.text(1), "(" | "[") && line.touches(0) && !line.is_name(2);
                let round = round || line.text(1) == "(";
                if line.is_name(0) && line.text(end) == "=" && line.text(end.max(1) - 1) != "'" && !round {
                    names.push(0);
                }
            }
        }
        for k in names.into_iter().filter(|&k| line.is_name(k)) {
            let name = line.text(k);
            self.declared.insert(name);
            if matches!(line.text(k + 1), "+" | "-") && line.touches(k) && line.text(k + 2) == "=" {
                self.charged.insert(line.slice(k, k + 2));
            }
            if first == "state" {
                self.states.insert(name);
            }
            if first == "input" {
                self.inputs.insert(name);
            }
            if first == "index" {
                self.indices.insert(name);
            }
            if line.text(k + 1) == "["
                && line.touches(k)
                && let Some(arguments) = line.arguments(k + 1)
            {
                let indices = arguments.into_iter().map(|r| line.text(r.start)).collect();
                self.arrays.insert(name, indices);
            }
        }
    }

    /// True if a name is a function of the language or of the model.
    fn is_function(&self, name: &str) -> bool {
        name == "log" || self.functions.contains(name) || odec_ir::builtin::find_function(name).is_some()
    }

    /// True for a declared name that is no state, no index and no function: its derivative is `e'` too.
    fn is_definition(&self, name: &str) -> bool {
        let other = self.states.contains(name) || self.indices.contains(name) || self.is_function(name);
        self.is_declared(name) && !other
    }
}

/// The result of a search: diagnostics, and the remaining text to check.
pub struct IdiomSearch {
    /// One diagnostic for all occurrences of an idiom.
    pub diagnostics: Vec<Diagnostic>,
    /// The text with blanked idioms; positions do not change.
    pub text: String,
    /// Names in the blanked text: other messages about them may follow from it.
    pub names: Vec<String>,
}

/// Searches for idioms in the lines with errors. `None` if there are none.
pub fn take(masked: &str, errors: &[Span]) -> Option<IdiomSearch> {
    if masked.len() > MAX_SEARCHED || errors.is_empty() {
        return None;
    }
    let scene = Scene::of(masked);
    let errors = Places::of(errors.iter().map(|span| span.range()));
    let mut found = Vec::new();
    program::search(&scene, &mut found);
    found.retain(|idiom: &IdiomMatch| errors.touch(&idiom.range));
    let blocks = Places::of(found.iter().map(|idiom| idiom.range.clone()));
    let wanted =
        scene.lines.iter().enumerate().filter(|(_, line)| {
            line.range.len() <= MAX_LINE && errors.touch(&line.range) && !blocks.overlap(&line.range)
        });
    for (at, _) in wanted.take(MAX_LINES) {
        on_line(&scene, at, &mut found);
    }
    if found.is_empty() {
        return None;
    }
    Some(blank(&scene, masked, found))
}

/// The alternative to a function of other languages.
pub fn foreign_function(name: &str) -> Option<String> {
    call::help_for(name)
}

/// The message about a call of a function without a counterpart, `delay(x, 2)`, in a text that is not searched.
pub fn absent_function(call: &str, place: Span, names: [&str; 2]) -> Option<Diagnostic> {
    let line = Line::new(call, 0..call.len(), 0);
    let found = absent::absent(&line, 0, 0, names)?;
    Some(error(found.code, found.headline, place, found.label).help(found.help))
}

/// The text without brackets around the whole of it.
pub fn without_brackets(text: &str) -> &str {
    line::bare(text)
}

/// True for a number, a name with its subscripts and primes, or a bracket.
pub(crate) fn is_operand(text: &str) -> bool {
    line::operand(text) == text
}

fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

/// Ranges of a text in order, merged where they overlap, so that a search among them takes logarithmic time.
struct Places(Vec<Range<usize>>);

impl Places {
    fn of(ranges: impl Iterator<Item = Range<usize>>) -> Places {
        let mut ordered: Vec<Range<usize>> = ranges.collect();
        ordered.sort_unstable_by_key(|range| (range.start, range.end));
        let mut merged: Vec<Range<usize>> = Vec::with_capacity(ordered.len());
        for range in ordered {
            match merged.last_mut() {
                Some(last) if range.start < last.end || range == *last => last.end = last.end.max(range.end),
                _ => merged.push(range),
            }
        }
        Places(merged)
    }

    /// True if one of them overlaps this range.
    fn overlap(&self, range: &Range<usize>) -> bool {
        let first = self.0.partition_point(|place| place.end <= range.start);
        self.0[first..].iter().take_while(|place| place.start < range.end).any(|place| overlap(place, range))
    }

    /// True if one of them overlaps this range or has an end in common with it.
    fn touch(&self, range: &Range<usize>) -> bool {
        let first = self.0.partition_point(|place| place.end < range.start);
        self.0.get(first).is_some_and(|place| place.start <= range.end)
    }
}

/// A search for idioms in a line.
type Search = fn(&Scene<'_>, &Line<'_>, &mut Vec<IdiomMatch>);

/// All searches; an earlier one comes first.
const SEARCHES: [Search; 44] = [
    ended::search,
    modelica::search,
    vector::search,
    vensim::search,
    suffix::search,
    borrowed::search,
    instants::search,
    given::search,
    truth::search,
    implicit::search,
    event_sentences::search,
    expected::search,
    blockless::search,
    rate_laws::search,
    aside::search,
    values::search,
    unneeded_heads::search,
    miscalled::search,
    subscripts::search,
    unit::search,
    machine::search,
    method::search,
    entries::search,
    xpp::search,
    digits::search,
    several::search,
    tables::search,
    foreign::search,
    sentence::search,
    cases::search,
    choice::search,
    slip::search,
    events::search,
    latex::search,
    whole::search,
    unneeded::search,
    declare::search,
    rate::search,
    array::search,
    name::search,
    call::search,
    sign::search,
    whole::parts,
    event_sentences::plain,
];

/// All idioms of one line; of two at one position, the first one counts.
fn on_line(scene: &Scene<'_>, at: usize, found: &mut Vec<IdiomMatch>) {
    let line = &scene.lines[at];
    let first = found.len();
    // words of a comment are not idioms
    if let Some(idiom) = comment::remark(scene, line).filter(|_| !unit::has_entity(line)) {
        let range = blanked(line, &idiom);
        found.push(idiom.over(range));
        return;
    }
    for search in SEARCHES {
        let mut more = Vec::new();
        search(scene, line, &mut more);
        for idiom in more {
            let mut idiom = nested::throughout(scene, idiom);
            let taken = found[first..].iter().any(|other| {
                overlap(&other.span.range(), &idiom.span.range())
                    || other.fixes.iter().any(|a| idiom.fixes.iter().any(|b| overlap(&a.span.range(), &b.span.range())))
            });
            if !taken {
                let whole = idiom.range.start <= line.range.start && idiom.range.end >= line.range.end;
                idiom.range = blanked(line, &idiom);
                found.push(idiom);
                // the whole line is removed
                if whole {
                    return;
                }
            }
        }
    }
    let operators = connective::all(line);
    if found.len() > first || operators.len() > 1 {
        let factors = (0..line.tokens.len()).filter_map(|at| digits::factor(scene, line, at)).chain(operators);
        let apart = |idiom: &IdiomMatch, found: &[IdiomMatch]| {
            found[first..].iter().all(|other| !overlap(&other.span.range(), &idiom.span.range()))
        };
        for mut idiom in factors {
            if apart(&idiom, found) {
                idiom.range = blanked(line, &idiom);
                found.push(idiom);
            }
        }
        connective::joined(line, &mut found[first..]);
    }
}

/// The range that is blanked for an idiom: its line, or the entry of a block if a brace in the line belongs to the block.
fn blanked(line: &Line<'_>, idiom: &IdiomMatch) -> Range<usize> {
    if idiom.range != idiom.span.range() {
        return idiom.range.clone();
    }
    let edge = |k: &usize| matches!(line.text(*k), "{" | "}" | ";") && line.tokens[*k].kind != TokenKind::Text;
    let count = |sign: &str| (0..line.tokens.len()).filter(|&k| line.text(k) == sign).count();
    if count("{") == count("}") {
        return line.range.clone();
    }
    let here = line.tokens.partition_point(|token| token.start < idiom.span.start as usize);
    let before = (0..here).rev().find(edge).map_or(line.range.start, |k| line.tokens[k].end);
    let after = (here..line.tokens.len()).find(edge).map_or(line.range.end, |k| line.tokens[k].start);
    before.min(idiom.span.start as usize)..after.max(idiom.span.end as usize)
}

/// Merges idioms with one headline, and blanks them.
fn blank(scene: &Scene<'_>, masked: &str, found: Vec<IdiomMatch>) -> IdiomSearch {
    let mut text = masked.as_bytes().to_vec();
    let mut names = Vec::new();
    let mut diagnostics: Vec<Diagnostic> = Vec::new();
    // the place in `diagnostics`, and the other places of the idiom, by code and headline
    let mut known: HashMap<(&'static Code, String, bool), usize> = HashMap::new();
    let mut again: Vec<Vec<(Span, String)>> = Vec::new();
    let mut fixed: Vec<HashSet<(Span, String)>> = Vec::new();
    let key = |fix: &Fix| (fix.span, fix.text.clone());
    // several idioms of a line have one range
    let mut done: HashSet<(usize, usize)> = HashSet::new();
    for idiom in found {
        // a fix may affect other lines that use the same name
        let reached = idiom.fixes.iter().map(|fix| fix.span.range()).filter(|range| !overlap(range, &idiom.range));
        let others = reached.filter_map(|fix| {
            let first = scene.lines.partition_point(|line| line.range.end <= fix.start);
            scene.lines.get(first).filter(|line| overlap(&line.range, &fix))
        });
        let ranges: Vec<Range<usize>> = std::iter::once(&idiom.range)
            .chain(&idiom.also)
            .cloned()
            .chain(others.map(|line| line.range.clone()))
            .collect();
        for range in ranges.into_iter().filter(|range| done.insert((range.start, range.end))) {
            for token in super::explain::token::tokens(&masked[range.clone()]) {
                if token.kind == TokenKind::Name {
                    names.push(super::build::normal(&masked[range.start + token.start..range.start + token.end]));
                }
            }
            text[range].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
        }
        // a place without a fix has a message of its own: it must not block the fixes of the other ones
        let kind = (idiom.code, idiom.headline.clone(), idiom.fixes.is_empty());
        if let Some(&k) = known.get(&kind) {
            let diagnostic = &mut diagnostics[k];
            let other = diagnostic.help.as_deref() != Some(idiom.help.as_str()) && !idiom.help.is_empty();
            again[k]
                .push((idiom.span, if other { format!("and here: {}", idiom.help) } else { "and here".to_owned() }));
            diagnostic.fixes.extend(idiom.fixes.into_iter().filter(|fix| fixed[k].insert(key(fix))));
        } else {
            known.insert(kind, diagnostics.len());
            again.push(Vec::new());
            fixed.push(idiom.fixes.iter().map(key).collect());
            let mut diagnostic = error(idiom.code, idiom.headline, idiom.span, idiom.label);
            diagnostic.help = Some(idiom.help).filter(|help| !help.is_empty());
            diagnostic.fixes = idiom.fixes;
            diagnostics.push(diagnostic);
        }
    }
    let diagnostics = diagnostics.into_iter().zip(again).map(|(report, places)| also(report, &places)).collect();
    let text = String::from_utf8(text).unwrap_or_else(|_| masked.to_string());
    IdiomSearch { diagnostics, text, names }
}

/// The message with its other places; each says what to write there, unless the help says it.
fn also(report: Diagnostic, places: &[(Span, String)]) -> Diagnostic {
    let mut report = report.also_all(places.iter().map(|(span, _)| *span), "and here");
    for label in report.labels.iter_mut().skip(1) {
        if let Some((_, text)) = places.iter().find(|(span, _)| *span == label.span) {
            label.text = label.text.replacen("and here", text, 1);
        }
    }
    report
}
