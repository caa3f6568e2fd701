//! Writes a program in another language, one file per target.
