//! `axis` statements: which index set a coordinate belongs to.

use super::{Resolver, Use, UseKind};
use crate::model::{Coordinate, Model, Symbol};
use crate::report::error;
use crate::syntax::tree::Declared;

impl<'a> Resolver<'a> {
    /// `axis x[i] = ...`, `axis x[i]` or `axis x` of what is declared over one index.
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
        let wrong = |headline: String, label: &str| error("E0540", headline, span, label).help(example);
        let given = matches!(symbol, Symbol::Definition(_) | Symbol::Parameter(_) | Symbol::Constant(_));
        let report = match axes.as_slice() {
            _ if !given => {
                let what = Model::kind_of(symbol);
                wrong(format!("`{}` is {what}, and no coordinate of an index", name.name), what)
            }
            _ if self.shapes.dim(&name.name) > 0 => {
                wrong(format!("the coordinate `{}` is a vector", name.name), "a number for each index is needed")
            }
            [axis] => {
                if let (Some(index), None) = (axis.index, &axis.range) {
                    let first = self.model.axes.iter().find(|a| a.index == index).map(|a| a.span);
                    let Some(first) = first else {
                        self.model.axes.push(Coordinate { index, array: symbol, span });
                        return;
                    };
                    error("E0540", format!("the index `{}` has two axes", axis.name), span, "here again")
                        .label(first, "here first")
                        .help("keep one of them; the other remains a definition without the word `axis`")
                } else {
                    let headline = format!("`{}` has a range of its own, and is the coordinate of no index", name.name);
                    wrong(headline, "give it the whole range of an index")
                }
            }
            [] => wrong(format!("`{}` has no index, and an axis needs one", name.name), "one value"),
            more => {
                let headline = format!("`{}` has {} indices, and an axis needs one", name.name, more.len());
                wrong(headline, "one number for each index is needed")
            }
        };
        self.say(report);
    }
}
