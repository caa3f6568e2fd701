//! Codes 07: the command line, and files.

use super::Code;

macro_rules! codes {
    ($($code:literal $title:literal)*) => {
        &[$(Code { code: $code, title: $title, page: include_str!(concat!("../../../../../docs/errors/", $code, ".md")) }),*]
    };
}

pub(super) const CODES: &[Code] = codes! {
    "E0701" "a file that cannot be read"
    "E0702" "one file for two outputs"
    "E0703" "a file that cannot be opened for writing"
    "E0704" "an output that cannot be written"
    "E0705" "a value of a flag that makes no sense"
    "E0706" "a name on the command line that is not recorded"
    "E0707" "a code that does not exist"
    "E0708" "a file that exists already"
    "E0709" "a run without an end"
    "E0710" "a run that ends where it starts"
    "E0711" "an unknown kind of picture"
    "E0712" "a command line that cannot be read"
    "E0713" "rows that are too long, or too many"
    "E0714" "a table file that cannot be used"
    "E0715" "a picture with too many axes or curves"
    "E0716" "a sweep of too many runs"
    "E0717" "a constant that cannot vary"
    "E0718" "sensitivities that odec does not compute"
};
