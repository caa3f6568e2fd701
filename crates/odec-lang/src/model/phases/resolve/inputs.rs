//! Inputs: the table of the name, the words that determine how it is read, and calls of the name.

use crate::diagnostic::codes;
use odec_ir::Span;

use super::terms::Value;
use super::{Allowed, Resolver};
use crate::model::inputs::{Argument, CurveSource, Input, Interpolation, Outside};
use crate::model::{Body, TermKind};
use crate::report::error;
use crate::syntax::tree::{ExprId, ExprKind, Ident};

/// The notation of an input.
const FORM: &str = "write for example `input q(t) = table(\"q.csv\", \"flow\", linear)`";

/// The words of a table found so far.
#[derive(Default)]
struct Words {
    between: Option<(Interpolation, Span)>,
    outside: Option<(Outside, Span)>,
}

impl<'a> Resolver<'a> {
    /// The inputs, in the order of the text.
    pub(super) fn resolve_inputs(&mut self) {
        let names = self.names;
        for item in &names.found.inputs {
            let argument = item.other.as_ref().map(|other| Argument {
                name: other.name.name.clone(),
                unit: other.unit.map(|unit| unit.text.clone()),
            });
            if let Some(input) = self.input_of(item.name, item.value, item.unit.map(|u| u.text.clone()), item.doc) {
                self.model.inputs.push(Input { argument, ..input });
            } else {
                // the mistake has been reported; calls of the input are fine
                let (source, span) = (CurveSource::Lists(Vec::new(), Vec::new()), item.name.span);
                let (between, outside) = (Interpolation::Linear, Outside::Nothing);
                let (name, unit, doc) = (item.name.name.clone(), None, None);
                let place = span;
                self.model.inputs.push(Input { name, argument, unit, doc, span, source, place, between, outside });
            }
        }
    }

    fn input_of(&mut self, name: &Ident, value: ExprId, unit: Option<String>, doc: Option<&str>) -> Option<Input> {
        let tree = self.input.tree;
        let mut expr = value;
        while let ExprKind::Quantity(inner, _) = &tree.exprs[expr.0 as usize].kind {
            expr = *inner;
        }
        let span = self.input.span_of(expr);
        let arguments = match &tree.exprs[expr.0 as usize].kind {
            ExprKind::Call(f, arguments) if f.name == "table" => arguments,
            ExprKind::Call(f, _) if matches!(f.name.as_str(), "csv" | "read" | "load" | "data" | "read_csv") => {
                let report =
                    error(&codes::E0505, format!("an input needs a `table`, but this is a `{}`", f.name), f.span, "");
                self.say(report.help(FORM));
                return None;
            }
            _ => {
                let report = error(&codes::E0505, format!("the input `{}` has no table", name.name), span, "");
                self.say(report.help(format!("{FORM}; write a formula as a definition: `{} = ...`", name.name)));
                return None;
            }
        };
        let (source, rest) = self.source_of(arguments, span)?;
        let words = self.words(rest)?;
        let Some((between, _)) = words.between else {
            let report =
                error(&codes::E0505, format!("`{}` does not specify its values between samples", name.name), span, "");
            self.say(report.help(
                "add a word: `hold` (the value of the previous sample), `linear`, `cubic` (no overshoot) or `spline`",
            ));
            return None;
        };
        let outside = words.outside.map_or(Outside::Nothing, |(outside, _)| outside);
        let (name, span_of, doc) = (name.name.clone(), name.span, doc.map(str::to_owned));
        Some(Input { name, argument: None, unit, doc, span: span_of, source, place: span, between, outside })
    }

    /// The samples, and the arguments after them.
    fn source_of(&mut self, arguments: &'a [ExprId], span: Span) -> Option<(CurveSource, &'a [ExprId])> {
        let tree = self.input.tree;
        let kind = |e: &ExprId| &tree.exprs[e.0 as usize].kind;
        let texts = arguments.iter().take_while(|e| matches!(kind(e), ExprKind::Text(_))).count();
        let lists = arguments.iter().take_while(|e| matches!(kind(e), ExprKind::Table(_))).count();
        let text = |e: &ExprId| if let ExprKind::Text(text) = kind(e) { text.clone() } else { String::new() };
        let wrong = match (texts, lists) {
            (1 | 2, 0) => {
                let column = arguments.get(1).filter(|_| texts == 2).map(text);
                return Some((CurveSource::Csv { file: text(&arguments[0]), column }, &arguments[texts..]));
            }
            (0, 2) => {
                let times = self.numbers_of(arguments[0])?;
                let values = self.numbers_of(arguments[1])?;
                return Some((CurveSource::Lists(times, values), &arguments[2..]));
            }
            (0, 0) => "a table needs the name of a file, or two lists",
            (0, 1) => "a table in the model needs two lists: times and values",
            (0, _) => "a table has only two lists, times and values",
            _ => "a table has only the name of a file and of one column",
        };
        let report = error(&codes::E0505, wrong, span, "");
        self.say(report.help(format!("{FORM}, or `input q(t) = table([0, 1, 5], [2, 3, 2], linear)`")));
        None
    }

    /// A list of numbers that are known before the run.
    fn numbers_of(&mut self, list: ExprId) -> Option<Vec<Body>> {
        let ExprKind::Table(entries) = &self.input.tree.exprs[list.0 as usize].kind else { return None };
        let mut bodies = Vec::with_capacity(entries.len());
        for &entry in entries {
            if let ExprKind::Table(_) = self.input.tree.exprs[entry.0 as usize].kind {
                let report = error(
                    &codes::E0505,
                    "a list of samples contains only numbers",
                    self.input.span_of(entry),
                    "a list",
                );
                self.say(report.help(
                    "write the times in one list and the values in another: `table([0, 1, 5], [2, 3, 2], linear)`",
                ));
                return None;
            }
            bodies.push(self.within_scope(None, |b| b.body(entry, Allowed::Constant)));
        }
        Some(bodies)
    }

    fn words(&mut self, rest: &[ExprId]) -> Option<Words> {
        let mut found = Words::default();
        for &e in rest {
            let at = self.input.span_of(e);
            let Some(word) = self.input.plain_name(e).map(|name| name.name.as_str()) else {
                let report = error(&codes::E0505, "this does not describe how to read a table", at, "");
                self.say(report.help(
                    "use one of the words `hold`, `linear`, `cubic`, `spline`, and perhaps `clamp` or `periodic`",
                ));
                return None;
            };
            let between = Interpolation::WORDS.iter().find(|known| known.0 == word).map(|known| (known.1, at));
            let outside = Outside::WORDS.iter().find(|known| known.0 == word).map(|known| (known.1, at));
            let before = match (between, outside) {
                (Some(between), _) => found.between.replace(between).map(|before| before.1),
                (_, Some(outside)) => found.outside.replace(outside).map(|before| before.1),
                (None, None) => {
                    self.unknown_word(word, at, found.between.is_none());
                    return None;
                }
            };
            if let Some(before) = before {
                let report = error(&codes::E0505, format!("`{word}` contradicts another word of this table"), at, "");
                let report = report.label(before, "the other word");
                self.say(report.help("keep one word for the values between samples, and one for those outside"));
                return None;
            }
        }
        Some(found)
    }

    fn unknown_word(&mut self, word: &str, at: Span, between_samples: bool) {
        if word == "nearest" && between_samples {
            let headline = "odec does not interpolate with the nearest sample";
            let report = error(&codes::E0505, headline, at, "").help(
                "use `hold`, the value of the previous sample, and give as times the points where the value changes; or \
                 `linear`, `cubic` or `spline`",
            );
            return self.say(report);
        }
        if word == "extrapolate" {
            let report = error(&codes::E0505, "odec does not extrapolate a table", at, "").help(
                "add a sample at the end of the run; or write `clamp`, and the table keeps the values of its first and \
                 last sample outside",
            );
            return self.say(report);
        }
        if matches!(word, "zero" | "zeros" | "none") && !between_samples {
            let report = error(&codes::E0505, "a table does not become 0 outside of its samples", at, "").help(
                "add samples with the value 0 at the ends, and write `clamp`: the table keeps the values of its first \
                 and last sample outside",
            );
            return self.say(report);
        }
        let meant = match word {
            // the word after that for the values between samples
            "constant" | "hold" | "const" | "last" if !between_samples => "clamp",
            "constant" | "step" | "previous" | "zoh" | "left" | "locf" | "forward" => "hold",
            "line" | "lin" => "linear",
            "pchip" | "akima" | "monotone" | "hermite" => "cubic",
            "natural" | "splines" => "spline",
            "constant_outside" | "nearest" | "flat" | "edge" | "extend" => "clamp",
            "repeat" | "cyclic" | "wrap" | "loop" | "cycle" => "periodic",
            _ => {
                let words = Interpolation::WORDS.iter().map(|w| w.0).chain(Outside::WORDS.iter().map(|w| w.0));
                crate::suggest::nearest(word, words).first().copied().unwrap_or("")
            }
        };
        let report = error(&codes::E0505, format!("`{word}` does not describe how to read a table"), at, "");
        self.say(if meant.is_empty() {
            report.help("use `hold`, `linear`, `cubic` or `spline` between samples, and `clamp` or `periodic` outside")
        } else {
            report.help(format!("did you mean `{meant}`?")).fix(at, meant)
        });
    }

    /// `table(...)` in a formula: messages about its arguments are dropped.
    pub(super) fn input_in_formula(&mut self, span: Span) {
        let inside = |at: Span| span.start <= at.start && at.end <= span.end;
        self.reports.retain(|report| !report.span().is_some_and(inside));
        for uses in self.uses.undeclared.values_mut() {
            uses.retain(|used| !inside(used.span));
        }
        self.uses.undeclared.retain(|_, uses| !uses.is_empty());
        let report = error(&codes::E0529, "a table cannot be part of a formula", span, "");
        let time = &self.model.time.name;
        self.say(
            report.help(format!(
                "declare it as an input, and call the input: `input q({time}) = table(...)`, `q({time})`"
            )),
        );
    }

    /// `q(t)`, if it is an input.
    pub(super) fn input_call(
        &mut self,
        name: &'a Ident,
        arguments: &'a [ExprId],
        place: Allowed<'a>,
        span: Span,
    ) -> Option<Value> {
        let index = *self.names.inputs.get(&name.name)?;
        self.uses.inputs.insert(index);
        let declared = self.names.found.inputs[index].name.span;
        let time = self.model.time.name.clone();
        let [argument] = arguments else {
            let headline = format!("`{}` takes 1 argument but receives {}", name.name, arguments.len());
            let report = error(&codes::E0204, headline, span, "").label(declared, "declared here");
            self.say(report.help(format!("write `{}({time})`", name.name)));
            return Some(self.nothing(span));
        };
        let refused = match place {
            Allowed::Anywhere | Allowed::Function(..) => None,
            Allowed::Default(_) => Some((&codes::E0210, "the default of a parameter")),
            Allowed::Constant => Some((&codes::E0211, "a constant value")),
            Allowed::Extent => Some((&codes::E0516, "a range of indices")),
        };
        if let Some((code, what)) = refused {
            let report = error(code, format!("{what} reads the input `{}`", name.name), span, "");
            let help = format!("write a definition: `name = {}({time})`", name.name);
            self.say(report.label(declared, "the input").help(help));
            return Some(self.nothing(span));
        }
        let argument = self.term_of(*argument);
        Some(Value::Scalar(self.push(TermKind::Input(index, argument), span)))
    }
}
