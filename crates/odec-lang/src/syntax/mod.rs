//! From text to tree: masking, logical lines, the pest grammar, and the syntax tree.

pub mod tree;
