//! `axis` statements: determines the index set of each coordinate.

use super::{Resolver, Use, UseKind};
use crate::diagnostic::codes;
use crate::model::{Coordinate, Model, Symbol};
use crate::report::error;
use crate::syntax::tree::Declared;

impl<'a> Resolver<'a> {
    /// Resolves `axis x[i] = ...`, `axis x[i]`, or `axis x` for an array over one index.
    pub(super) fn resolve_axis(&mut self, item: &'a Declared) {
        let name = &item.target.name;
        let Some(&symbol) = self.model.symbols.get(&name.name) else {
            self.note_undeclared(&name.name, Use { span: name.span, kind: UseKind::Value });
            return;
        };
        self.uses.mark(symbol);
        let span = item.target.span;
        let example = "write a coordinate for each index, for example `axis x[i] = i*dx`";
        let axes = self.model.indexed(symbol).map(|indexed| indexed.axes.clone()).unwrap_or_default();
        let wrong = |headline: String, label: &str| error(&codes::E0540, headline, span, label).help(example);
        let given = matches!(symbol, Symbol::Definition(_) | Symbol::Parameter(_) | Symbol::Constant(_));
        let report = match axes.as_slice() {
            _ if !given => {
                let what = Model::kind_of(symbol);
                wrong(format!("`{}` is {what}, not a coordinate of an index", name.name), what)
            }
            _ if self.shapes.dim(&name.name) > 0 => {
                wrong(format!("the coordinate `{}` is a vector", name.name), "an axis needs a number for each index")
            }
            [axis] => {
                if let (Some(index), None) = (axis.index, &axis.range) {
                    let first = self.model.axes.iter().find(|a| a.index == index).map(|a| a.span);
                    let Some(first) = first else {
                        self.model.axes.push(Coordinate { index, array: symbol, span });
                        return;
                    };
                    error(&codes::E0540, format!("the index `{}` has two axes", axis.name), span, "again here")
                        .label(first, "first here")
                        .help("keep one of them, and remove the word `axis` from the other")
                } else {
                    let headline =
                        format!("`{}` has its own range, so it is not the coordinate of an index", name.name);
                    wrong(headline, "give it the whole range of an index")
                }
            }
            [] => wrong(format!("`{}` has no index, but an axis needs one", name.name), "a single value"),
            more => {
                let headline = format!("`{}` has {} indices, but an axis needs one", name.name, more.len());
                wrong(headline, "an axis needs one number for each index")
            }
        };
        self.say(report);
    }
}
