//! Sorts the nodes of an expression by their positions.

use super::tree::ExprId;

/// Sorts nodes, without duplicates. Operands have smaller positions than their expression `top`, and most are close to
/// it, so that the distances are the bits of a number.
pub(super) fn sort(top: ExprId, nodes: &mut Vec<ExprId>) {
    let distance = |id: &ExprId| top.0.checked_sub(id.0).filter(|distance| *distance < u64::BITS);
    let bits = nodes.iter().try_fold(0u64, |bits, id| Some(bits | 1 << distance(id)?));
    let Some(mut bits) = bits else {
        nodes.sort_unstable();
        nodes.dedup();
        return;
    };
    nodes.clear();
    while bits != 0 {
        let furthest = bits.ilog2();
        nodes.push(ExprId(top.0 - furthest));
        bits &= !(1 << furthest);
    }
}

#[cfg(test)]
mod tests {
    use super::{ExprId, sort};

    #[test]
    fn nodes_are_sorted_near_and_far_and_kept_once() {
        for far in [0, 1, 63, 64, 1000] {
            let mut nodes = vec![ExprId(2000), ExprId(2000 - far), ExprId(1990), ExprId(1995), ExprId(1990)];
            let mut sorted = nodes.clone();
            sorted.sort_unstable();
            sorted.dedup();
            sort(ExprId(2000), &mut nodes);
            assert_eq!(nodes, sorted, "{far}");
        }
    }
}
