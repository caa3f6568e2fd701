//! Names of quantities as users read them, and the positions of subscripts in them.
//!
//! Subscripts follow the name of an array, before primes and the component of a vector: `u[3]'`, `p[3]'.x`. If an
//! array comes from another file, empty brackets in its name mark the positions of its subscripts: `c[].V` has
//! elements `c[3].V`, `c[].u[,]` has `c[3].u[4,5]`.

/// The letters of components.
const COMPONENTS: [&str; 4] = [".x", ".y", ".z", ".w"];

/// Splits a name into its stem, and its primes and component: `p'.x` into `p` and `'.x`.
pub fn split(name: &str) -> (&str, &str) {
    let component = COMPONENTS.iter().find_map(|letter| name.strip_suffix(letter));
    // `c[].x` is the x of each c, not a component
    let own = |stem: &&str| !stem.is_empty() && (stem.contains('.') || !stem.ends_with(']'));
    let stem = component.filter(own).unwrap_or(name).trim_end_matches('\'');
    name.split_at(stem.len())
}

/// The quantity and the variable in the name of a derivative, `d(u)/d(q[2])`.
pub fn derivative(name: &str) -> Option<(&str, &str)> {
    name.strip_prefix("d(")?.strip_suffix(')')?.rsplit_once(")/d(")
}

/// Empty brackets for this number of subscripts; empty text for none.
pub fn empty_brackets(count: usize) -> String {
    if count == 0 { String::new() } else { format!("[{}]", ",".repeat(count - 1)) }
}

/// A name without empty brackets, as users type it.
pub fn plain(name: &str) -> String {
    if !name.contains('[') {
        return name.to_owned();
    }
    if let Some((own, by)) = derivative(name) {
        // the variable of a derivative is one element, and keeps its subscripts
        return format!("d({})/d({by})", plain(own));
    }
    let mut inside = false;
    let outside = |c: &char| {
        let before = inside;
        inside = (inside || *c == '[') && *c != ']';
        !inside && !before
    };
    name.chars().filter(outside).collect()
}

/// The name of an element: subscripts go into the empty brackets of the name, or into a bracket after its stem.
pub fn element(name: &str, subscripts: &[String]) -> String {
    if subscripts.is_empty() {
        return plain(name);
    }
    if !name.contains('[') {
        let (stem, tail) = name.split_at(name.find(['.', '\'']).unwrap_or(name.len()));
        return format!("{stem}[{}]{tail}", subscripts.join(","));
    }
    let mut subscripts = subscripts.iter();
    let mut out = String::with_capacity(name.len() + 8);
    for c in name.chars() {
        if matches!(c, ']' | ',') {
            out.extend(subscripts.next().map(String::as_str));
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{element, plain, split};

    #[test]
    fn subscripts_stand_in_their_brackets() {
        let subscripts = |list: &[i64]| list.iter().map(i64::to_string).collect::<Vec<_>>();
        for (name, at, expected) in [
            ("u'", &[3][..], "u[3]'"),
            ("p'.x", &[1, 2], "p[1,2]'.x"),
            ("c[].V", &[3], "c[3].V"),
            ("c[].V'", &[3], "c[3].V'"),
            ("c[].u[,]", &[3, 4, 5], "c[3].u[4,5]"),
            ("c.u[]'.x", &[4], "c.u[4]'.x"),
            ("c[].V", &[], "c.V"),
        ] {
            assert_eq!(element(name, &subscripts(at)), expected);
        }
    }

    #[test]
    fn primes_and_components_are_cut_off() {
        for (name, stem) in
            [("p'.x", "p"), ("c.V'", "c.V"), ("c.u[].x", "c.u[]"), ("c[].x", "c[].x"), ("c[].V", "c[].V")]
        {
            assert_eq!(split(name), (stem, &name[stem.len()..]));
        }
        assert_eq!(plain("c[].d[,].V"), "c.d.V");
        assert_eq!(plain("d(c[].V')/d(q[2])"), "d(c.V')/d(q[2])");
    }
}
