//! Checks before the first run that a system provides what its relations and events need.

use crate::checks::bad;
use crate::hybrid::system::{HybridSystem, Trigger, WriteTarget};
use crate::problem::Refusal;

/// Checks lengths, targets of events, lists of times, and that the system computes the conditions of its events.
///
/// # Errors
/// What the system lacks.
pub(super) fn check(model: &dyn HybridSystem) -> Result<(), Refusal> {
    let (relations, modes) = (model.relations().len(), model.modes().len());
    if modes < relations {
        return Err(bad(format!("the system has {relations} relations, but `modes` has {modes} values")));
    }
    let (n, discretes, lists) = (model.system().shape().n, model.discretes().len(), model.lists());
    for (number, event) in model.events().iter().enumerate() {
        for write in &event.writes {
            let (what, place, count) = match write.target {
                WriteTarget::State(row) => ("unknown", row, n),
                WriteTarget::Discrete(position) => ("discrete", position, discretes),
            };
            if place >= count {
                return Err(bad(format!("event {number} writes {what} {place}, but the system has {count}")));
            }
        }
        if let Trigger::Times(list) = event.trigger
            && list >= lists
        {
            return Err(bad(format!("event {number} happens at the times of list {list}, but the system has {lists}")));
        }
        if let Some(rest) = event.rest.filter(|rest| *rest >= model.events().len()) {
            return Err(bad(format!("event {number} names event {rest} for its end, which does not exist")));
        }
    }
    match unset_condition(model, n) {
        Some(event) => Err(bad(format!("`conditions` does not set the condition of event {event}"))),
        None => Ok(()),
    }
}

/// An event with a condition that the system does not compute: the value stays as it was before.
fn unset_condition(model: &dyn HybridSystem, n: usize) -> Option<usize> {
    let has_condition = |event: &usize| matches!(model.events()[*event].trigger, Trigger::Condition(_));
    let mut with_condition = (0..model.events().len()).filter(has_condition).peekable();
    with_condition.peek()?;
    let y = vec![0.0; n];
    let [from_false, from_true] = [false, true].map(|before| {
        let mut conditions = vec![before; model.events().len()];
        model.conditions(0.0, &y, &mut conditions);
        conditions
    });
    with_condition.find(|event| from_false[*event] != from_true[*event])
}
