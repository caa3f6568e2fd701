//! Expectations of elements that do not exist at other sizes.

use super::SizeCheck;
use crate::diagnostic::{Diagnostic, codes};
use crate::model::{Expect, Model, Overrides};
use crate::report::warning;

impl Model {
    /// Removes the `expect` lines about elements that do not exist with the sizes of these overrides, and returns
    /// notes about them. With its own sizes a model keeps all lines: an element that does not exist then is a mistake.
    pub fn drop_missing_expects(&mut self, overrides: &Overrides) -> Vec<Diagnostic> {
        if !self.has_arrays() || (overrides.values.is_empty() && overrides.params.is_none()) {
            return Vec::new();
        }
        let Ok(values) = self.values(overrides) else { return Vec::new() };
        let mut said = Vec::new();
        let model = &*self;
        let mut exists = |expect: &Expect| {
            let mut sizes =
                SizeCheck { model, values: &values, reports: Vec::new(), terms_left: super::guarded::MAX_TERMS };
            sizes.body(expect.quantity, None);
            let Some(missing) = sizes.reports.into_iter().find(|d| d.code == &codes::E0520) else { return true };
            let headline = format!("this line does not apply: `{}` does not exist with these sizes", expect.name);
            let mut report = warning(&codes::W0403, headline, expect.span, "odec ignores it in this run");
            report.labels.extend(missing.labels.into_iter().skip(1));
            said.push(report.help("run the model with the sizes for which you wrote the line"));
            false
        };
        let kept = model.expects.iter().filter(|e| exists(e)).cloned().collect();
        self.expects = kept;
        said
    }
}
