//! The fully implicit Radau IIA method of order 5: table, transformation, and driver.

mod driver;
pub mod radau5;
mod transformation;
