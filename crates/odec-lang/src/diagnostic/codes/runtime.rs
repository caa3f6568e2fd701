//! Codes 06: runs that fail, methods that are refused, promises that are not kept.

use super::Code;

macro_rules! codes {
    ($($code:literal $title:literal)*) => {
        &[$(Code { code: $code, title: $title, page: include_str!(concat!("../../../../../docs/errors/", $code, ".md")) }),*]
    };
}

pub(super) const CODES: &[Code] = codes! {
    "E0601" "an equation without a finite value"
    "E0602" "a derivative without a finite value"
    "E0603" "a time derivative without a finite value"
    "E0604" "a step that became too small"
    "E0605" "an implicit step that cannot be solved"
    "E0606" "equations that do not determine a state"
    "E0607" "too many steps"
    "E0608" "a state beyond the range of numbers"
    "E0610" "an initial value that is not finite"
    "E0611" "a method that does not exist"
    "E0612" "a method that is not zero-stable"
    "E0613" "a method that does not suit the model"
    "E0614" "an option that makes no sense"
    "E0615" "a model that cannot be compiled"
    "E0616" "an expectation that is not met"
    "E0617" "a conserved quantity that drifts"
    "E0618" "sample times that make no sense"
    "E0619" "a method that needs every derivative"
    "E0620" "a state without a tolerance"
    "E0621" "runs of a sweep that failed"
    "E0622" "no Taylor series at this point"
    "W0601" "a conserved quantity that drifts"
    "W0602" "an output without a finite value"
};
