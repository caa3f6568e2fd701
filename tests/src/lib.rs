//! End-to-end tests of odec; see the files beside this one.
