//! Codes 02 to 05: names, equations, runs, features; their warnings and the note on units.

use super::Code;

macro_rules! codes {
    ($($code:literal $title:literal)*) => {
        &[$(Code { code: $code, title: $title, page: include_str!(concat!("../../../../../docs/errors/", $code, ".md")) }),*]
    };
}

pub(super) const CODES: &[Code] = codes! {
    "E0201" "a name that is not declared"
    "E0202" "a name that is declared twice"
    "E0203" "a function that does not exist"
    "E0204" "a wrong number of arguments"
    "E0205" "a name that is called like a function"
    "E0206" "a function that calls itself"
    "E0207" "a function that uses more than its arguments"
    "E0209" "definitions that depend on themselves"
    "E0210" "a parameter that depends on other values"
    "E0211" "a constant that depends on other values"
    "E0214" "a text in a formula"
    "E0301" "a state on the left without a prime"
    "E0302" "a prime on something that is not a state"
    "E0303" "a state without an equation"
    "E0304" "two equations for one state"
    "E0305" "a missing start value"
    "E0306" "start values that depend on themselves"
    "E0307" "a start value written as an equation"
    "E0308" "an equation that is not linear in its derivative"
    "E0309" "equations that do not determine the derivatives"
    "E0311" "a derivative of too high an order"
    "E0312" "a start value for a derivative that is not free"
    "E0314" "a model without states"
    "E0316" "a start value that depends on a derivative"
    "E0317" "an exact comparison of quantities that change"
    "E0401" "an unknown entry of a run"
    "E0402" "an entry that is given twice"
    "E0403" "an entry with a wrong kind of value"
    "E0404" "a value that is not known before the run"
    "E0405" "a value that makes no sense"
    "E0406" "a tolerance for something that is not a state"
    "E0407" "a value outside of its bounds"
    "E0408" "a name that cannot be set"
    "E0409" "a run that does not exist"
    "E0410" "a parameter set that does not exist"
    "E0503" "algebraic equations"
    "E0504" "events"
    "E0505" "tables and measured inputs"
    "E0506" "use of another file"
    "E0507" "smooth"
    "E0508" "derivatives that are too many"
    "E0509" "functions that expand too far"
    "E0510" "a time in another unit"
    "W0201" "a name that is never used"
    "W0202" "a name that had a meaning"
    "W0301" "a switch that is not located"
    "W0401" "a tolerance that proves nothing"
    "W0402" "numbers in different units"
    "W0403" "an expectation that the run does not reach"
    "N0101" "units are not checked"
};
