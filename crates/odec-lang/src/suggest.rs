//! Suggests similar names: the optimal string alignment distance, in which a transposition counts once.

use crate::words::greek_as_latin;

/// Largest number of names in a help text.
const MAX_LISTED: usize = 8;
/// Largest number of names in a row that are read as a product.
const MAX_FACTORS: usize = 4;
/// Names longer than this are compared for equality only: the distance costs the product of the lengths.
const MAX_COMPARED: usize = 64;

/// Number of insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`, if it is at most
/// `limit`. Both have at most [`MAX_COMPARED`] characters.
fn distance<T: PartialEq>(a: &[T], b: &[T], limit: usize) -> Option<usize> {
    if a.len().abs_diff(b.len()) > limit {
        return None;
    }
    // entries farther than `limit` from the diagonal exceed it, so they are not computed
    let far = limit + 1;
    let mut rows = [[far; MAX_COMPARED + 2]; 3];
    for i in 0..=a.len() {
        let (now, last, before) = (i % 3, (i + 2) % 3, (i + 1) % 3);
        let (first, end) = (i.saturating_sub(limit), (i + limit).min(b.len()));
        rows[now][first.saturating_sub(1)] = far;
        rows[now][end + 1] = far;
        for j in first..=end {
            rows[now][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let replaced = rows[last][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                let mut best = replaced.min(rows[last][j] + 1).min(rows[now][j - 1] + 1);
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    best = best.min(rows[before][j - 2] + 1);
                }
                best
            };
        }
    }
    Some(rows[a.len() % 3][b.len()]).filter(|&d| d <= limit)
}

/// The known names of which a name consists, if there is only one way to cut it into three or four: `β`, `S`, `I`.
pub(crate) fn factors<'a>(name: &'a str, known: &dyn Fn(&str) -> bool) -> Option<Vec<&'a str>> {
    let mut ways: Vec<Vec<&str>> = Vec::new();
    let mut open: Vec<(Vec<&str>, &str)> = vec![(Vec::new(), name)];
    while let Some((parts, rest)) = open.pop() {
        if rest.is_empty() {
            ways.push(parts);
            if ways.len() > 1 {
                return None;
            }
            continue;
        }
        if parts.len() == MAX_FACTORS {
            continue;
        }
        for (at, c) in rest.char_indices() {
            let (first, more) = rest.split_at(at + c.len_utf8());
            if known(first) {
                open.push((parts.iter().copied().chain([first]).collect(), more));
            }
        }
    }
    ways.pop().filter(|parts| parts.len() > 2)
}

/// Lower bound on the distance: the number of kinds of letters that only one of the names has.
fn letters_apart(a: &str, b: &str) -> usize {
    let kinds = |text: &str| text.bytes().fold(0u64, |kinds, byte| kinds | 1 << (byte % 64));
    let (a, b) = (kinds(a), kinds(b));
    ((a & !b).count_ones().max((b & !a).count_ones())) as usize
}

/// The distance, if one name may have been meant by the other.
pub(crate) fn near(a: &str, b: &str) -> Option<usize> {
    if a == b {
        return Some(0);
    }
    // the length in bytes excludes most names quickly
    if a.len().abs_diff(b.len()) > 8 {
        return None;
    }
    if a.eq_ignore_ascii_case(b) || !(a.is_ascii() && b.is_ascii()) && a.to_lowercase() == b.to_lowercase() {
        return Some(1);
    }
    if sounds_like(a, b) {
        return Some(1);
    }
    let (n, m) = (a.chars().count(), b.chars().count());
    if n.max(m) > MAX_COMPARED || n.abs_diff(m) > 2 {
        return None;
    }
    let longest = n.max(m);
    let limit = if longest <= 1 {
        0
    } else if longest <= 5 {
        1
    } else {
        2
    };
    if a.is_ascii() && b.is_ascii() {
        return if letters_apart(a, b) > limit { None } else { distance(a.as_bytes(), b.as_bytes(), limit) };
    }
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    distance(&a, &b, limit)
}

/// True if a similar name can replace another one automatically. Names of one letter in two cases, `k` and `K`, are
/// different quantities in most fields.
pub(crate) fn replaces(written: &str) -> bool {
    written.chars().count() > 1
}

/// True if one of two similar names is probably the other, mistyped. Names with different digits, with digits in
/// another order, or with different short endings after `_` belong to two quantities: `k12` and `k21`, `beta` and
/// `beta1`, `tau_h` and `tau_m`.
pub(crate) fn is_slip(a: &str, b: &str) -> bool {
    let digits = |text: &str| text.chars().filter(|c| c.is_numeric()).collect::<Vec<_>>();
    let parts = |text: &str| text.rsplit_once('_').map(|(stem, ending)| (stem.to_owned(), ending.to_owned()));
    let short = |ending: &str| ending.chars().count() <= SHORT_ENDING;
    let endings = match (parts(a), parts(b)) {
        (Some((stem, ending)), Some((other, last))) => stem == other && short(&ending) && short(&last),
        (Some((stem, ending)), None) => stem == b && short(&ending),
        (None, Some((stem, ending))) => stem == a && short(&ending),
        (None, None) => false,
    };
    digits(a) == digits(b) && (!endings || a.eq_ignore_ascii_case(b))
}

/// True if a fix may write `b` for `a` without asking: they differ in `_` or the spelling of a Greek letter, or a word
/// of at least `shortest` letters has two neighbours swapped or a letter doubled. Long words may lack one inner letter.
/// A replaced letter makes another word of the field: `gCa` and `gNa`, `tRNA` and `mRNA`. Quantities may differ in
/// capitals alone, as `shc` and `Shc`; functions do not.
pub(crate) fn is_certain(a: &str, b: &str, shortest: usize) -> bool {
    if !replaces(a) || !is_slip(a, b) {
        return false;
    }
    // `kα` and `ka` may be two quantities
    if !(a.is_ascii() && b.is_ascii()) && greek_as_latin(a) == greek_as_latin(b) {
        return false;
    }
    if a.to_lowercase() == b.to_lowercase() {
        return shortest == SHORTEST_FUNCTION;
    }
    let bare = |text: &str| text.chars().filter(|c| *c != '_').flat_map(char::to_lowercase).collect::<String>();
    if bare(a) == bare(b) || sounds_like(a, b) {
        return true;
    }
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let (short, long) = if a.len() <= b.len() { (&a, &b) } else { (&b, &a) };
    let letters = long.iter().filter(|c| c.is_alphabetic()).count();
    if letters < shortest || long.len() > MAX_COMPARED {
        return false;
    }
    let first = short.iter().zip(long).take_while(|(x, y)| x == y).count();
    match long.len() - short.len() {
        0 => {
            let swapped = first + 1 < long.len() && short[first] == long[first + 1] && short[first + 1] == long[first];
            let words = long[first..].iter().take(2).all(|c| c.is_lowercase());
            swapped && words && short[first + 2..] == long[first + 2..]
        }
        1 => {
            let doubled = first > 0 && long[first] == long[first - 1];
            let inner = (1..short.len()).contains(&first) && letters >= LONG_WORD && long[first].is_lowercase();
            (doubled || inner) && short[first..] == long[first + 1..]
        }
        _ => false,
    }
}

/// Letters of a word that one more or one less does not turn into another word.
const LONG_WORD: usize = 8;
/// Letters of a name with a typing error that a fix corrects.
pub(crate) const SHORTEST_NAME: usize = 5;
/// Letters of a function with a typing error that a fix corrects. There are few functions.
pub(crate) const SHORTEST_FUNCTION: usize = 4;

/// Letters of a short ending, which names one quantity of a family.
const SHORT_ENDING: usize = 2;

/// Greek letters by their names.
const GREEK: [(char, &str); 24] = [
    ('α', "alpha"),
    ('β', "beta"),
    ('γ', "gamma"),
    ('δ', "delta"),
    ('ε', "epsilon"),
    ('ζ', "zeta"),
    ('η', "eta"),
    ('θ', "theta"),
    ('ι', "iota"),
    ('κ', "kappa"),
    ('λ', "lambda"),
    ('μ', "mu"),
    ('ν', "nu"),
    ('ξ', "xi"),
    ('ο', "omicron"),
    ('π', "pi"),
    ('ρ', "rho"),
    ('σ', "sigma"),
    ('τ', "tau"),
    ('υ', "upsilon"),
    ('φ', "phi"),
    ('χ', "chi"),
    ('ψ', "psi"),
    ('ω', "omega"),
];

/// True for one name in two spellings: `α` and `alpha`, `alfa` and `alpha`.
fn sounds_like(a: &str, b: &str) -> bool {
    let spelled = |text: &str| {
        let named = |c: char| GREEK.iter().find(|(letter, _)| *letter == c).map(|(_, name)| *name);
        let lower = text.chars().flat_map(char::to_lowercase);
        let text: String = lower.map(|c| named(c).map_or_else(|| c.to_string(), str::to_string)).collect();
        text.replace("ph", "f")
    };
    let other = |text: &str| !text.is_ascii() || text.contains("ph");
    (other(a) || other(b)) && spelled(a) == spelled(b)
}

/// The names that are most similar to this one, all at the same distance: those that begin with it come first, the
/// others follow in the given order.
pub fn nearest<'a>(name: &str, among: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut best = usize::MAX;
    let mut found = Vec::new();
    for candidate in among {
        if let Some(d) = near(name, candidate) {
            if d < best {
                best = d;
                found.clear();
            }
            if d == best && !found.contains(&candidate) {
                found.push(candidate);
            }
        }
    }
    found.sort_by_key(|candidate| !(name.chars().count() > 2 && candidate.starts_with(name)));
    found
}

/// `a`, `b` and `c`, in backquotes.
pub fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut rest = names;
    let shown: Vec<String> = rest.by_ref().take(MAX_LISTED).map(|name| format!("`{name}`")).collect();
    match (&shown[..], rest.count()) {
        ([], _) => "none".to_owned(),
        ([one], _) => one.clone(),
        ([most @ .., last], 0) => format!("{} and {last}", most.join(", ")),
        (_, more) => format!("{} and {more} more", shown.join(", ")),
    }
}

/// `a`, `b` or `c`, in backquotes.
pub fn any_of(names: &[&str]) -> String {
    list(names.iter().copied()).replacen(" and ", " or ", 1)
}

/// Longer texts are not searched for macros.
const MAX_TEXT: usize = 64 << 10;

/// What to type for a function that nothing defines. A `#define` of C is a comment.
pub(crate) fn undefined_function(name: &str, text: &str) -> String {
    let head = format!("#define {name}(");
    let mut lines = text.lines().filter(|_| text.len() <= MAX_TEXT);
    if let Some((arguments, value)) = lines.find_map(|line| line.trim().strip_prefix(&head)?.split_once(')')) {
        return format!("a line with `#` is a comment: write `fn {name}({arguments}) = {}`", value.trim());
    }
    match name.rsplit_once('.') {
        Some((value, method)) => format!("a function takes its value in brackets: `{method}({value})`"),
        None => format!("define it, `fn {name}(x) = ...`; the manual lists the builtin functions"),
    }
}

#[cfg(test)]
mod tests {
    use super::{is_certain, is_slip, nearest};

    #[test]
    fn names_of_a_family_are_no_slips() {
        for (a, b) in
            [("gama1", "gamma1"), ("rates", "rate"), ("delt", "delta"), ("tau_syn", "tau_sin"), ("v_M", "v_m")]
        {
            assert!(is_slip(a, b) && is_slip(b, a), "{a} {b}");
        }
        for (a, b) in [
            ("alpha1", "alpha2"),
            ("k12", "k21"),
            ("k_ab", "k_ba"),
            ("tau_h", "tau_m"),
            ("beta", "beta1"),
            ("g_K", "g"),
        ] {
            assert!(!is_slip(a, b) && !is_slip(b, a), "{a} {b}");
        }
    }

    #[test]
    fn fixes_replace_no_word_by_another() {
        for (a, b) in [
            ("taum", "tau_m"),
            ("kon", "k_on"),
            ("sigam", "sigma"),
            ("gama1", "gamma1"),
            ("temprature", "temperature"),
            ("alfa", "alpha"),
        ] {
            assert!(is_certain(a, b, 5) && is_certain(b, a, 5), "{a} {b}");
        }
        for (a, b) in [
            ("gCa", "gNa"),
            ("Vreset", "Vrest"),
            ("Vres", "Vrest"),
            ("tRNA", "mRNA"),
            ("RNA", "mRNA"),
            ("tau_n", "tau_m"),
            ("alpha_h", "alpha_m"),
            ("hill2", "hill1"),
            ("u_1", "u_0"),
            ("kcat", "kact"),
            ("K", "k"),
            ("shc", "Shc"),
            ("v_M", "v_m"),
            ("Rate", "rate"),
            ("substrateA", "substrate"),
            ("inhibited", "uninhibited"),
        ] {
            assert!(!is_certain(a, b, 5) && !is_certain(b, a, 5), "{a} {b}");
        }
        assert!(is_certain("Sin", "sin", 4) && is_certain("tahn", "tanh", 4) && is_certain("coss", "cos", 4));
        for (a, b) in
            [("acot", "acos"), ("map", "max"), ("ld", "ln"), ("abs2", "abs"), ("erfcx", "erfc"), ("expi", "exp")]
        {
            assert!(!is_certain(a, b, 4), "{a} {b}");
        }
        assert!(!is_certain("atan2d", "atan2", 4) && !is_certain("med", "mod", 4) && !is_certain("ln2", "ln", 4));
    }

    #[test]
    fn a_name_that_is_cut_off_comes_first() {
        let methods = ["rodas3", "rodas4", "rodas5p"];
        assert_eq!(nearest("rodas5", methods.into_iter()), ["rodas5p", "rodas3", "rodas4"]);
        assert_eq!(nearest("rodas", methods.into_iter()), ["rodas3", "rodas4"]);
    }

    #[test]
    fn names_in_another_spelling_are_near() {
        let near = |name: &str, other: &'static str| nearest(name, [other].into_iter()) == [other];
        for (name, other) in [("alpha", "α"), ("Ω0", "omega0"), ("alfa", "alpha"), ("alfa", "α"), ("fi_1", "phi_1")]
        {
            assert!(near(name, other) && near(other, name), "{name} {other}");
        }
        for (name, other) in [("alpha", "β"), ("gamma", "alpha"), ("ab", "xy"), ("f", "ph")] {
            assert_eq!(near(name, other), (name, other) == ("f", "ph"), "{name} {other}");
        }
    }
}
