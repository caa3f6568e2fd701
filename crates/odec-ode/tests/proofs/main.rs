//! Proofs of the methods: each loops over the table of methods, and the class of a row determines the tests. A proof
//! returns the list of faults, so that `negative_controls` can show that it detects planted faults.

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
