//! Messages about inputs that are read outside their data.

use odec_lang::blame::Blame;
use odec_lang::diagnostic::{Diagnostic, codes};
use odec_lang::model::Model;

use super::{number, with_term};
use crate::bind::Bound;

/// The message for an input outside its data; `None` if another term is to blame.
pub(super) fn beyond(model: &Model, bound: &Bound, blame: &Blame) -> Option<Diagnostic> {
    let index = blame.input?;
    let input = model.inputs.get(index)?;
    let (first, last) = bound.values.inputs.get(index)?.as_deref()?.span;
    let (name, time) = (&input.name, &model.time.name);
    // a number in the text has no operand
    let at = blame.operands.first().map(|operand| operand.value).filter(|value| value.is_finite())?;
    let (edge, at_edge) = if at - first < last - at { ("begin", first) } else { ("end", last) };
    let headline = format!("the run reads `{name}` outside its data, which {edge} at {}", number(at_edge));
    let data = format!("its data cover {} to {}", number(first), number(last));
    let d = with_term(Diagnostic::error(&codes::E0630, headline), blame).label(input.place, data);
    let argument = blame.operands.first().map(|operand| operand.text.trim()).filter(|text| text != time);
    let kept = argument.map_or("the run".to_owned(), |text| format!("`{text}`"));
    Some(d.help(format!(
        "keep {kept} within {} .. {}; or write after `{}` how the input continues: `clamp` (the first and the last \
         value) or `periodic`{}",
        number(first),
        number(last),
        input.between.word(),
        if argument.is_none() { "" } else { "; or bound its argument" },
    )))
}
