//! The parser that pest makes of `ode.pest`.

#![allow(missing_docs, reason = "the macro writes no docs")]

use pest_derive::Parser;

#[derive(Parser)]
#[grammar = "syntax/ode.pest"]
pub struct Grammar;
