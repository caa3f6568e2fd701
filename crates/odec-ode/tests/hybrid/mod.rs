//! Hybrid runs of models written by hand, with exact answers.

mod balls;
mod derived;
mod instants;
mod many;
mod model;
mod motions;
mod problems;
mod random;
mod reference;
mod stops;
mod surfaces;
mod systems;
mod touches;
