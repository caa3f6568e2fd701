//! Codes 06: runs that fail, methods that are refused, promises that are not kept.

use super::{Class, Code, rows};

rows! {
    E0601 Run "an equation without a finite value"
    E0602 Run "a derivative without a finite value"
    E0603 Run "a time derivative without a finite value"
    E0604 Run "a step that became too small"
    E0605 Run "an implicit step that cannot be solved"
    E0606 Run "equations that do not determine a state"
    E0607 Run "too many steps"
    E0608 Run "a state beyond the range of numbers"
    E0610 Run "an initial value that is not finite"
    E0611 Setting "a method that does not exist"
    E0612 Setting "a method that is not zero-stable"
    E0613 Setting "a method that does not suit the model"
    E0614 Setting "an option that makes no sense"
    E0615 Model "a model that cannot be compiled"
    E0616 Promise "an expectation that is not met"
    E0617 Promise "a conserved quantity that drifts"
    E0618 Setting "sample times that make no sense"
    E0619 Setting "a method that needs every derivative"
    E0620 Setting "a state without a tolerance"
    E0621 Run "runs of a sweep that failed"
    E0622 Run "no Taylor series at this point"
    W0601 Advice "a conserved quantity that drifts"
    W0602 Advice "an output without a finite value"
}
