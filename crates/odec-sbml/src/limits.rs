//! Limits on the input, each with its own diagnostic (E0803).

/// Largest number of nodes of the XML: elements, texts, comments. A node takes about a hundred bytes of memory.
pub const MAX_NODES: u32 = 2_000_000;

/// Largest number of attributes of one element. The parser compares each of them with all others.
pub const MAX_ATTRIBUTES: usize = 200;

/// Largest number of namespaces in scope at one element. Each element that declares one copies those around it.
pub const MAX_NAMESPACES: usize = 100;

/// Deepest nesting of elements. Formulas are processed recursively, so this also limits the stack.
pub const MAX_DEPTH: usize = 150;

/// Deepest nesting of brackets in a formula of Level 1.
pub const MAX_BRACKETS: usize = 100;

/// Largest number of formula nodes that replace calls in the conditions of events; beyond it, a call remains.
pub const MAX_INLINED: usize = 50_000;

/// Largest depth of calls that are inlined in delayed formulas.
pub const MAX_INLINED_CALLS: usize = 50;

/// Largest total number of quantities and formula nodes in a model with its submodels, which are counted before any of
/// them is inserted. A file of 3 KB can ask for 2^50 of them; this many take seconds.
pub const MAX_FLATTENED: usize = 200_000;

/// Largest total number of quantities, rules, events and formula nodes in the copies that the delays of a model need.
pub const MAX_DELAYED: usize = 1_000_000;

/// Deepest nesting of submodels.
pub const MAX_SUBMODELS: usize = 50;

/// Largest number of rounds of the search for quantities that follow from numbers alone. The quantities at the end of
/// a longer chain become `discrete`, which has the same values.
pub const MAX_ROUNDS: usize = 100;

/// Largest number of errors that are reported for one file.
pub const MAX_REPORTED: usize = 100;
