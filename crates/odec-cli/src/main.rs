//! The command `odec`.

fn main() {}
