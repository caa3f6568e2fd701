//! Codes 08: import from and export to other languages, files for rows, and data for fits.
//! models are fitted to.

use super::{Class, Code, rows};

rows! {
    E0801 Model "a file that is not XML"
    E0802 Model "XML that is not SBML"
    E0803 Model "an SBML file beyond a limit"
    E0804 Model "an incomplete SBML element"
    E0805 Model "an SBML name without a meaning"
    E0806 Model "an invalid SBML formula"
    E0807 Model "an SBML formula that cannot be read"
    E0808 Model "a part of SBML that odec does not import"
    E0809 Model "an SBML quantity that two rules determine"
    E0810 Model "an SBML rule that determines nothing"
    E0811 Model "equations that FMI does not support"
    E0812 Model "an FMU beyond a limit"
    E0813 Model "an element or attribute that SBML does not have"
    E0814 Model "an SBML constant that something changes"
    E0826 Model "a part of a model that SBML does not support"
    E0827 Model "events that SBML executes in random order"
    E0850 Usage "a file format that odec does not write"
    E0851 Usage "too many rows for a file format"
    E0852 Usage "parts of different sweeps"
    E0853 Io "parts that are missing or damaged"
    E0854 Usage "data that do not fit the model"
    E0855 Usage "a fit that cannot start"
    W0801 Advice "an SBML quantity without a value"
    W0802 Advice "an SBML element that odec ignores"
    W0803 Advice "a part of a model that SBML cannot express"
    W0804 Advice "an SBML attribute that is missing"
    W0805 Advice "a condition that is equal only for an instant"
    W0854 Advice "a fit that did not converge"
    W0855 Advice "parameters that the data do not determine"
    W0856 Advice "a parameter at the end of its range"
}
