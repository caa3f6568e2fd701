//! Hybrid runs of models written by hand, with exact answers.

mod balls;
mod instants;
mod model;
mod motions;
mod problems;
mod random;
mod stops;
mod surfaces;
