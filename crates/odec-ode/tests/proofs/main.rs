//! The proofs of the methods: each loops over the table of methods, and the class of a row decides what is proved of it.
//! A proof answers with the list of what is wrong, so that `negative_controls` can show that it sees planted faults.

mod coefficients;
mod dense;
mod faults;
mod mechanics;
mod multistep;
mod negative_controls;
mod order;
mod problems;
mod random;
mod rational;
mod run;
mod stability;
mod tolerance;
mod trees;
