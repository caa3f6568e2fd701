//! Codes 07: the command line, and files.

use super::{Class, Code, rows};

rows! {
    E0701 Io "a file that cannot be read"
    E0702 Usage "one file for two outputs"
    E0703 Io "a file that cannot be opened for writing"
    E0704 Io "an output that cannot be written"
    E0705 Usage "an invalid value of a flag"
    E0706 Setting "a name on the command line that is not recorded"
    E0707 Usage "a code that does not exist"
    E0708 Io "a file that already exists"
    E0709 Usage "a run without an end"
    E0710 Usage "a run that ends at its start"
    E0711 Usage "an unknown kind of picture"
    E0712 Usage "a command line that odec does not understand"
    E0713 Usage "rows that are too long, or too many"
    E0714 Model "a table file that cannot be used"
    E0715 Usage "a picture with too many axes or curves"
    E0716 Usage "a sweep with too many runs"
    E0717 Usage "a constant that cannot vary"
    E0718 Usage "sensitivities that odec does not compute"
    E0719 Io "a table file outside the model's folder"
    E0720 Usage "a model or a run that needs more memory than it may use"
    E0900 Internal "a bug in odec"
}
