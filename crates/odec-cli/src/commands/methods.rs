//! `odec methods`: the table of methods.

use odec_ode::method;
use odec_sim::Error;

use crate::exit::Exit;
use crate::rows::print;

/// Prints the table.
pub fn methods() -> Result<Exit, Error> {
    let head = ["name", "order", "stability", "steps", "about"].map(String::from);
    let mut rows = vec![head];
    let auto = &method::auto::METHOD;
    for m in std::iter::once(auto).chain(method::table().iter().copied().filter(|m| m.name != auto.name)) {
        let mut about = m.about.to_string();
        if !m.aliases.is_empty() {
            about.push_str(&format!(" (also {})", m.aliases.join(", ")));
        }
        rows.push([m.name.to_string(), m.order.to_string(), m.stability.to_string(), m.adaptive.to_string(), about]);
    }
    let last = rows[0].len() - 1;
    let widths: Vec<usize> = (0..last).map(|c| rows.iter().map(|r| r[c].chars().count()).max().unwrap_or(0)).collect();
    let mut text = String::new();
    for row in &rows {
        for (cell, width) in row.iter().zip(&widths) {
            text.push_str(&format!("{cell:width$}  "));
        }
        text.push_str(&row[last]);
        text.push('\n');
    }
    text.push_str(
        "\nstability: an L- or A-stable method is stable in the whole left half-plane, an A(60)-stable one in a \
         sector of 60 degrees about the axis.\n",
    );
    text.push_str(
        "steps: how the method controls the error; with `--step`, every method except bdf and abm takes constant \
         steps.\n",
    );
    print(&text)
}
