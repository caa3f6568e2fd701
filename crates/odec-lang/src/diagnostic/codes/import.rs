//! Codes 08: files of other languages that become models, or that models become, and files that rows go into.

use super::{Class, Code, rows};

rows! {
    E0801 Model "a file that is no XML"
    E0802 Model "XML that is no SBML"
    E0803 Model "an SBML file beyond a limit"
    E0804 Model "a part of SBML that is incomplete"
    E0805 Model "an SBML name that stands for nothing"
    E0806 Model "an SBML formula that makes no sense"
    E0807 Model "an SBML formula that cannot be read"
    E0808 Model "a part of SBML that odec does not import"
    E0809 Model "an SBML quantity that is determined twice"
    E0810 Model "an SBML rule that determines nothing"
    E0811 Model "equations that FMI does not hold"
    E0812 Model "an FMU beyond a limit"
    E0826 Model "a part of a model that SBML cannot hold"
    E0827 Model "events whose order SBML leaves to chance"
    E0850 Usage "a kind of file that odec does not write"
    E0851 Usage "rows that are too many for a kind of file"
    E0852 Usage "parts of different sweeps"
    E0853 Io "parts that are missing or damaged"
    W0801 Advice "an SBML quantity without a value"
    W0802 Advice "a part of SBML that is left out"
    W0803 Advice "a part of a model that SBML has no word for"
}
