//! Order in which nests compute: invariants outside of loops, reductions that share loops, equal code for every extent.

use odec_ir::nest::arguments::Counter;
use odec_ir::nest::schedule::{Body, Schedule, Step};
use odec_ir::nest::{
    Access, AccessId, Affine, Edge, ExtentId, Loop, LoopId, ReduceOp, Region, Space, Store, Sub, Subscript, Target,
};
use odec_ir::{ArrayId, Element, Graph, Kernel, KernelRole, Node, NodeId, Span};

/// A loop over `1..=N`.
fn over(name: &str) -> Loop {
    Loop { name: name.into(), first: Affine::constant(1), last: Affine::extent(ExtentId(0)), span: Span::default() }
}

fn element(space: &mut Space, array: u32, loops: &[LoopId]) -> AccessId {
    let subs = loops.iter().map(|&l| Subscript { sub: Sub::Affine(Affine::index(l)), edge: Edge::Inside }).collect();
    space.intern(Access { array: ArrayId(array), subs, guard: None })
}

fn nest(space: Space, iterates: Vec<LoopId>, graph: Graph, stores: Vec<(AccessId, NodeId)>) -> Kernel {
    let stores = stores.into_iter().map(|(a, node)| Store { target: Target::set(a), node }).collect();
    Kernel { role: KernelRole::Rhs, space, iterates, region: Region::Whole, margins: Vec::new(), graph, stores }
}

/// Steps as text: computed nodes by number, loops in braces, stores as `out`.
fn shown(nest: &Kernel, steps: &[Step]) -> String {
    let mut text = Vec::new();
    for step in steps {
        text.push(match step {
            Step::Compute(id) => match nest.graph.node(*id) {
                Node::Call(op, _) => op.0.name.to_string(),
                Node::Read(Element::At(a)) => format!("#{}", nest.array(a).0),
                Node::Index(l) => nest.space.loops()[l.0 as usize].name.clone(),
                other => format!("{other:?}"),
            },
            Step::Store(k) => format!("out{k}"),
            Step::Loop(Body { counter, reductions, steps }) => {
                let name = match counter {
                    Counter::Points => "points".to_string(),
                    Counter::Loop(l) => nest.space.loops()[l.0 as usize].name.clone(),
                };
                let reductions = if reductions.is_empty() { String::new() } else { format!("/{}", reductions.len()) };
                format!("{name}{reductions}{{{}}}", shown(nest, steps))
            }
        });
    }
    text.join(" ")
}

#[test]
fn loop_invariant_values_are_computed_before_the_loop() {
    let (mut space, mut g) = (Space::new(), Graph::new());
    let [i, j] = ["i", "j"].map(|name| space.push_loop(over(name)));
    let [a, b, k] = [element(&mut space, 0, &[i]), element(&mut space, 1, &[j]), space.scalar(ArrayId(2))];
    let target = element(&mut space, 3, &[i, j]);
    let [a, b, k] = [a, b, k].map(|a| g.read(a));
    let kk = g.mul(k, k);
    let ak = g.add(a, kk);
    let value = g.div(ak, b);
    let nest = nest(space, vec![i, j], g, vec![(target, value)]);
    assert_eq!(shown(&nest, &Schedule::of(&nest).steps), "#2 mul i{#0 add j{#1 div out0}}");
}

#[test]
fn reductions_share_a_loop_unless_one_needs_the_other() {
    let (mut space, mut g) = (Space::new(), Graph::new());
    let [i, j] = ["i", "j"].map(|name| space.push_loop(over(name)));
    let u = element(&mut space, 0, &[j]);
    let (own, out) = (element(&mut space, 0, &[i]), element(&mut space, 1, &[i]));
    let [u, own] = [u, own].map(|a| g.read(a));
    // (max u, sum u; then sum exp(u - max) and sum (u own)): the last two vary with i or need the first.
    let most = g.insert(Node::Reduce(ReduceOp::Max, j, u));
    let total = g.insert(Node::Reduce(ReduceOp::Sum, j, u));
    let shifted = g.sub(u, most);
    let weight = g.apply(&odec_ir::builtin::exponential::EXP, &[shifted]);
    let weights = g.insert(Node::Reduce(ReduceOp::Sum, j, weight));
    let product = g.mul(u, own);
    let pairs = g.insert(Node::Reduce(ReduceOp::Sum, j, product));
    let ratio = g.div(pairs, weights);
    let value = g.add(ratio, total);
    let nest = nest(space, vec![i], g, vec![(out, value)]);
    let text = shown(&nest, &Schedule::of(&nest).steps);
    assert_eq!(text, "j/2{#0} j/1{#0 sub exp} i{#0 j/1{#0 mul} div add out0}");
}

#[test]
fn an_inner_reduction_is_hoisted_as_far_as_it_goes() {
    let (mut space, mut g) = (Space::new(), Graph::new());
    let [a, b, c] = ["a", "b", "c"].map(|name| space.push_loop(over(name)));
    let out = space.scalar(ArrayId(9));
    let [x, y, xy] = [element(&mut space, 0, &[a]), element(&mut space, 1, &[b]), element(&mut space, 2, &[a, b])];
    let z = element(&mut space, 3, &[c]);
    let [x, y, xy, z] = [x, y, xy, z].map(|a| g.read(a));
    let alone = g.insert(Node::Reduce(ReduceOp::Sum, c, z));
    let yz = g.mul(y, alone);
    let both = g.mul(xy, yz);
    let xx = g.mul(x, x);
    let term = g.add(xx, both);
    let inner = g.insert(Node::Reduce(ReduceOp::Sum, b, term));
    let scaled = g.mul(inner, x);
    let outer = g.insert(Node::Reduce(ReduceOp::Sum, a, scaled));
    let nest = nest(space, vec![], g, vec![(out, outer)]);
    let text = shown(&nest, &Schedule::of(&nest).steps);
    assert_eq!(text, "c/1{#3} a/1{#0 mul b/1{#2 #1 mul mul add} mul} out0");
}

/// `a_c[i] = sum(j_c where j_c != i: m[j_c]*(x_c[j_c] - x_c[i])/r^3)` for three components c, with separate loops or
/// one common loop.
fn bodies(one_loop: bool) -> Kernel {
    let (mut space, mut g) = (Space::new(), Graph::new());
    let i = space.push_loop(over("i"));
    let common = space.push_loop(over("j"));
    let mut stores = Vec::new();
    for c in 0..3 {
        let j = if one_loop || c == 0 { common } else { space.push_loop(over("j")) };
        let mut away = Vec::new();
        for k in 0..3 {
            let [at_j, at_i] = [j, i].map(|l| element(&mut space, k, &[l])).map(|a| g.read(a));
            away.push(g.sub(at_j, at_i));
        }
        let squares: Vec<NodeId> = away.iter().map(|&x| g.mul(x, x)).collect();
        let sum = g.add(squares[0], squares[1]);
        let square = g.add(sum, squares[2]);
        let distance = g.apply(&odec_ir::builtin::exponential::SQRT, &[square]);
        let cube = g.mul(square, distance);
        let mass = g.read(element(&mut space, 6, &[j]));
        let pull = g.div(mass, cube);
        let force = g.mul(pull, away[c]);
        let [here, there] = [i, j].map(|l| g.insert(Node::Index(l)));
        let other = g.apply(&odec_ir::builtin::logic::NE, &[here, there]);
        let zero = g.constant(0.0);
        let term = g.apply(&odec_ir::builtin::logic::IF, &[other, force, zero]);
        let out = element(&mut space, 3 + c as u32, &[i]);
        stores.push((out, g.insert(Node::Reduce(ReduceOp::Sum, j, term))));
    }
    nest(space, vec![i], g, stores)
}

#[test]
fn reductions_over_equal_loops_share_loop_and_terms() {
    let (apart, together) = (bodies(false), odec_ir::nest::fused(bodies(false)));
    assert_eq!(shown(&apart, &Schedule::of(&apart).steps).matches("div").count(), 3);
    let (text, expected) = (shown(&together, &Schedule::of(&together).steps), bodies(true));
    assert_eq!(text, shown(&expected, &Schedule::of(&expected).steps));
    assert_eq!(together.space.loops().len(), 2);
    assert_eq!(text.matches("j/3{").count(), 1);
    assert_eq!((text.matches("div").count(), text.matches("sqrt").count()), (1, 1));
    assert_eq!(Schedule::of(&together).calls(&together), 3 + 3 + 2 + 2 + 1 + 3 + 1 + 3);
}

#[test]
fn a_loop_is_not_merged_with_one_around_it() {
    // sum(a: x[a]*sum(b: y[b]*sum(c: x[c]*z[a,b,c]))) + sum(d: y[d]), all over one range; d is merged with a only.
    let (mut space, mut g) = (Space::new(), Graph::new());
    let [a, b, c, d] = ["a", "b", "c", "d"].map(|name| space.push_loop(over(name)));
    let out = space.scalar(ArrayId(9));
    let mut value = NodeId(0);
    for (array, loops) in [(0, &[a, b, c][..]), (1, &[a, b][..]), (2, &[a][..])] {
        let own = g.read(element(&mut space, array, loops));
        let term = if array == 0 { own } else { g.mul(value, own) };
        value = g.insert(Node::Reduce(ReduceOp::Sum, loops[loops.len() - 1], term));
    }
    let y = g.read(element(&mut space, 2, &[d]));
    let alone = g.insert(Node::Reduce(ReduceOp::Sum, d, y));
    let sum = g.add(value, alone);
    let merged = odec_ir::nest::fused(nest(space, vec![], g, vec![(out, sum)]));
    assert_eq!(merged.space.loops().len(), 3);
    let text = shown(&merged, &Schedule::of(&merged).steps);
    assert_eq!(text, "a/2{b/1{c/1{#0} #1 mul} #2 mul} add out0");
}

/// Values that vary only with the loop of a sum are moved out of the loop over the rows: the remaining loops compute
/// the values that vary with both, and the moved values have separate loops, after the values outside that they need.
#[test]
fn values_of_the_loop_of_a_sum_are_taken_out() {
    use odec_ir::nest::invariant::hoisted;
    use odec_ir::nest::schedule::{Body, Schedule, Step};
    use odec_ir::{Kernel, Node, expand, testing::models};

    fn innermost(steps: &[Step], found: &mut Vec<Body>) {
        for step in steps {
            let Step::Loop(body) = step else { continue };
            if body.steps.iter().any(|s| matches!(s, Step::Loop(_))) {
                innermost(&body.steps, found);
            } else {
                found.push(body.clone());
            }
        }
    }
    let names = |nest: &Kernel, ids: &[odec_ir::NodeId]| {
        let name = |id: &odec_ir::NodeId| match nest.graph.node(*id) {
            Node::Call(op, _) => Some(op.0.name),
            _ => None,
        };
        ids.iter().filter_map(name).collect::<Vec<_>>()
    };
    let model = models::neurons(5);
    let nest = model.program.kernels_of(KernelRole::Rhs).next().unwrap();
    let nest = expand::expanded(nest);
    let out = hoisted(&nest).unwrap();
    assert_eq!(out.values.len(), 2);
    assert!(names(&out.nest, &out.before).contains(&"exp"));
    let loops: Vec<Vec<&str>> = out.loops.iter().map(|(_, nodes)| names(&out.nest, nodes)).collect();
    assert!(loops.iter().any(|names| names.contains(&"tanh")) && loops.iter().any(|names| names.contains(&"div")));
    assert!(
        out.loops.iter().zip(&out.values).all(|((l, nodes), value)| *l == value.over && nodes.contains(&value.node))
    );
    let mut bodies = Vec::new();
    innermost(&Schedule::of(&out.nest).steps, &mut bodies);
    for body in bodies {
        let ids = body.steps.iter().filter_map(|s| if let Step::Compute(id) = s { Some(*id) } else { None });
        assert_eq!(names(&out.nest, &ids.collect::<Vec<_>>()), ["mul"]);
    }

    // If there is only one loop, or if a value is cheaper to compute than to store, nothing is moved.
    let rod = models::heat(5);
    for nest in rod.program.kernels_of(KernelRole::Rhs) {
        assert!(hoisted(&expand::expanded(nest)).is_none());
    }
}
