//! Every order of what can happen to two changes of one tunable.

use plimsoll_change::apply::apply;
use plimsoll_change::confirm::confirm;
use plimsoll_change::undo;

use crate::world::{SWAPPINESS, World};
use crate::{files, request};

/// What can happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Happens {
    /// A change to this value.
    Apply(&'static str),
    /// A confirmation of the n-th change.
    Confirm(usize),
    Persist(usize),
    Undo(usize),
    /// An administrator writes.
    Write(&'static str),
    Wait,
    Reboot,
}

use Happens::{Apply, Confirm, Persist, Reboot, Undo, Wait, Write};

const ALL: [Happens; 11] = [
    Apply("10"),
    Apply("20"),
    Confirm(0),
    Confirm(1),
    Persist(0),
    Persist(1),
    Undo(0),
    Undo(1),
    Write("33"),
    Wait,
    Reboot,
];

/// What ought to be: who set which value, one over the other.
#[derive(Clone, Debug, Default)]
struct Layers {
    layers: Vec<Layer>,
    /// The ids, in the order in which changes were made.
    ids: Vec<u32>,
}

#[derive(Clone, Debug)]
struct Layer {
    /// The change; none for an administrator.
    id: Option<u32>,
    value: String,
    is_confirmed: bool,
    lasts: bool,
}

impl Layers {
    fn value(&self) -> &str {
        self.layers
            .last()
            .map_or("60", |layer| layer.value.as_str())
    }

    fn find(&mut self, id: u32) -> Option<&mut Layer> {
        self.layers.iter_mut().find(|layer| layer.id == Some(id))
    }

    /// What lasts stays, and below it what it was laid on: that is what it goes back to.
    fn reboot(&mut self) {
        let mut is_below = false;
        let mut kept = vec![];
        for layer in self.layers.drain(..).rev() {
            let is_ground = layer.id.is_none() && is_below;
            if layer.lasts || is_ground {
                is_below = layer.lasts;
                kept.push(layer);
            }
        }
        kept.reverse();
        self.layers = kept;
    }

    fn remove(&mut self, keep: impl Fn(&Layer) -> bool) {
        self.layers.retain(keep);
    }
}

fn happen(world: &mut World, layers: &mut Layers, what: Happens) {
    world.command();
    let id = |layers: &Layers, n: usize| layers.ids.get(n).copied().unwrap_or(99);
    match what {
        Apply(value) => {
            let made = apply(world, &request(&[("vm.swappiness", value)])).expect("applied");
            if let Some(change) = made {
                layers.ids.push(change.id);
                layers.layers.push(Layer {
                    id: Some(change.id),
                    value: value.to_owned(),
                    is_confirmed: false,
                    lasts: false,
                });
            } else {
                assert_eq!(layers.value(), value);
            }
        }
        Confirm(n) | Persist(n) => {
            let (id, lasts) = (id(layers, n), matches!(what, Persist(_)));
            let files = files();
            let done = confirm(world, id, lasts.then_some(&files)).is_ok();
            if let Some(layer) = layers.find(id).filter(|_| done) {
                layer.is_confirmed = true;
                layer.lasts |= lasts;
            }
        }
        Undo(n) => {
            let id = id(layers, n);
            let done = undo::undo(world, id, "asked").is_ok();
            assert_eq!(
                done,
                layers.find(id).is_some(),
                "a change that stands can be undone"
            );
            layers.remove(|layer| layer.id != Some(id));
        }
        Write(value) => {
            world.set(SWAPPINESS, value);
            if layers.value() != value {
                layers.layers.push(Layer {
                    id: None,
                    value: value.to_owned(),
                    is_confirmed: true,
                    lasts: false,
                });
            }
        }
        Wait => {
            world.wait();
            layers.remove(|layer| layer.is_confirmed);
        }
        Reboot => {
            world.reboot();
            layers.reboot();
        }
    }
}

/// Every order of that many things, after a first change.
fn orders(length: u32, mut check: impl FnMut(&[Happens], &mut World, &mut Layers)) {
    let mut start = (World::new(), Layers::default());
    happen(&mut start.0, &mut start.1, Apply("10"));
    let mut order = vec![];
    descend(length, &start, &mut order, &mut check);
}

fn descend(
    length: u32,
    (world, layers): &(World, Layers),
    order: &mut Vec<Happens>,
    check: &mut impl FnMut(&[Happens], &mut World, &mut Layers),
) {
    let (mut end, mut ought) = (world.clone(), layers.clone());
    check(order, &mut end, &mut ought);
    if length == 0 {
        return;
    }
    for what in ALL {
        let mut next = (world.clone(), layers.clone());
        order.push(what);
        happen(&mut next.0, &mut next.1, what);
        descend(length - 1, &next, order, check);
        order.pop();
    }
}

#[test]
fn changes_overlap_and_are_undone_in_any_order() {
    let mut seen = 0_u32;
    orders(4, |order, world, layers| {
        seen += 1;
        let live = &world.live[SWAPPINESS];
        assert_eq!(live, layers.value(), "after {order:?}");
        // Undone from the first to the last: what is left is the administrator's, or the default.
        for id in layers.ids.clone() {
            let _ = undo::undo(world, id, "asked");
            layers.remove(|layer| layer.id != Some(id));
            assert_eq!(
                world.live[SWAPPINESS],
                layers.value(),
                "after {order:?}, {id} undone"
            );
        }
        assert!(world.native.is_empty(), "after {order:?}");
    });
    assert_eq!(seen, 1 + 11 + 121 + 1331 + 14641);
}
