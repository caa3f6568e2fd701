//! Limits on the input, each with its own diagnostic (E0803).

/// Most nodes of the XML: elements, texts, comments. A node takes about a hundred bytes of memory.
pub const MAX_NODES: u32 = 2_000_000;

/// Most attributes of one element. Each is compared with all others.
pub const MAX_ATTRIBUTES: usize = 200;

/// Most namespaces that hold at one place. Each element that declares one copies those around it.
pub const MAX_NAMESPACES: usize = 100;

/// Deepest nesting of elements. Formulas are walked by recursion, so that this bounds the stack too.
pub const MAX_DEPTH: usize = 150;

/// Deepest nesting of brackets in a formula of Level 1.
pub const MAX_BRACKETS: usize = 100;

/// Most parts of formulas that are put in place of calls in the conditions of events; beyond, a call stays.
pub const MAX_INLINED: usize = 50_000;

/// Deepest calls of functions that are put in place of calls in what a delay is of.
pub const MAX_INLINED_CALLS: usize = 50;

/// Most quantities, rules, events and parts of formulas that the submodels of a model, or the copies that its
/// delays need, may come to together.
pub const MAX_FLATTENED: usize = 1_000_000;

/// Deepest nesting of submodels in submodels.
pub const MAX_SUBMODELS: usize = 50;

/// Most rounds in which quantities are found that follow from numbers alone. Those at the end of a longer chain become `discrete`,
/// which has the same values.
pub const MAX_ROUNDS: usize = 100;

/// Most faults that are reported of one file.
pub const MAX_REPORTED: usize = 100;
