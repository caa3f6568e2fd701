//! Strongly connected components without recursion (R. Tarjan, Depth-first search and linear graph algorithms, 1972).

/// Components of the graph with edges `i -> successors[i]`, each after its successors; members ascending.
pub(crate) fn components(successors: &[Vec<usize>]) -> Vec<Vec<usize>> {
    const UNSEEN: usize = usize::MAX;
    let n = successors.len();
    let mut number = vec![UNSEEN; n];
    let mut low = vec![0; n];
    let mut open = vec![false; n];
    let mut path = Vec::new();
    let mut walk: Vec<(usize, usize)> = Vec::new();
    let mut found = Vec::new();
    let mut count = 0;
    for root in 0..n {
        if number[root] != UNSEEN {
            continue;
        }
        walk.push((root, 0));
        while let Some(&mut (i, ref mut next)) = walk.last_mut() {
            if *next == 0 && number[i] == UNSEEN {
                number[i] = count;
                low[i] = count;
                count += 1;
                open[i] = true;
                path.push(i);
            }
            if let Some(&j) = successors[i].get(*next) {
                *next += 1;
                if number[j] == UNSEEN {
                    walk.push((j, 0));
                } else if open[j] {
                    low[i] = low[i].min(number[j]);
                }
                continue;
            }
            walk.pop();
            if let Some(&(parent, _)) = walk.last() {
                low[parent] = low[parent].min(low[i]);
            }
            if low[i] == number[i] {
                let mut members = Vec::new();
                while let Some(j) = path.pop() {
                    open[j] = false;
                    members.push(j);
                    if j == i {
                        break;
                    }
                }
                members.sort_unstable();
                found.push(members);
            }
        }
    }
    found
}

/// True if the members of a component depend on each other.
pub(crate) fn is_cycle(component: &[usize], successors: &[Vec<usize>]) -> bool {
    component.len() > 1 || component.iter().any(|&i| successors[i].contains(&i))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_come_first_and_cycles_stay_together() {
        let edges = vec![vec![1], vec![2], vec![1, 3], vec![], vec![4], vec![0]];
        assert_eq!(components(&edges), vec![vec![3], vec![1, 2], vec![0], vec![4], vec![5]]);
        assert!(is_cycle(&[1, 2], &edges) && is_cycle(&[4], &edges) && !is_cycle(&[0], &edges));
    }

    #[test]
    fn a_long_chain_needs_no_stack() {
        let n = 200_000;
        let edges: Vec<Vec<usize>> = (0..n).map(|i| if i + 1 < n { vec![i + 1] } else { vec![] }).collect();
        assert_eq!(components(&edges).first(), Some(&vec![n - 1]));
    }
}
