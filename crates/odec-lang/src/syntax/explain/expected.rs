//! The tokens that the grammar would have accepted, in the user's words.

use pest::error::{Error, ErrorVariant};

use crate::syntax::grammar::Rule;

/// "a value", "an operator", ...: what the grammar accepts at the location of the error; never the name of a rule.
pub fn expected(error: &Error<Rule>) -> Vec<&'static str> {
    let ErrorVariant::ParsingError { positives, .. } = &error.variant else { return Vec::new() };
    let mut words: Vec<&'static str> = Vec::new();
    for word in positives.iter().filter_map(|rule| words_for(*rule)) {
        if !words.contains(&word) {
            words.push(word);
        }
    }
    words
}

/// `a`, `b` or `c`.
pub fn list(words: &[&str]) -> String {
    match words {
        [] => "something else".to_string(),
        [one] => (*one).to_string(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

fn words_for(rule: Rule) -> Option<&'static str> {
    Some(match rule {
        Rule::name | Rule::reference | Rule::target | Rule::item | Rule::binder | Rule::index_item => "a name",
        Rule::boundary_item | Rule::input_item | Rule::entry_key | Rule::quantity => "a name",
        Rule::number | Rule::measured | Rule::bracketed | Rule::group | Rule::table | Rule::call => "a value",
        Rule::reduction | Rule::sum | Rule::logic | Rule::expr | Rule::comparison | Rule::conditional => "a value",
        Rule::negation | Rule::minus | Rule::index | Rule::choice => "a value",
        Rule::operator | Rule::compare | Rule::and | Rule::or => "an operator",
        Rule::equals => "`=`",
        Rule::parameters => "`(`",
        Rule::comma => "`,`",
        Rule::at_time => "`(time)`",
        Rule::change => "`:=`",
        Rule::then => "`then`",
        Rule::else_ => "`else`",
        Rule::in_ | Rule::bounds => "`in`",
        Rule::where_ => "`where`",
        Rule::within | Rule::tolerance => "`within`",
        Rule::percent => "`%`",
        Rule::from_ | Rule::from => "`from`",
        Rule::until_ | Rule::until => "`until`",
        Rule::as_ => "`as`",
        Rule::unit => "a unit",
        Rule::range => "a range",
        Rule::text => "a string",
        Rule::law | Rule::law_word => "`mass`, `rate` or `flow`",
        Rule::arrow => "an arrow",
        Rule::side | Rule::participant | Rule::nothing => "a species",
        Rule::EOI => "the end of the line",
        _ => return None,
    })
}
