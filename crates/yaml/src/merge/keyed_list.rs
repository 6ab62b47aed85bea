//! A list while another is merged into it.

use std::collections::HashMap;

use crate::Node;

/// In each place the elements that came there, found by name.
pub(super) struct KeyedList<'s> {
    pub(super) places: Vec<Vec<Node<'s>>>,
    /// The places of a name, and whether the list above was put there already.
    known: HashMap<String, (Vec<usize>, bool)>,
}

impl<'s> KeyedList<'s> {
    pub(super) fn new(items: Vec<Node<'s>>, name: impl Fn(&Node<'_>) -> Option<String>) -> Self {
        let mut known: HashMap<String, (Vec<usize>, bool)> = HashMap::new();
        for (at, item) in items.iter().enumerate() {
            if let Some(name) = name(item) {
                known.entry(name).or_default().0.push(at);
            }
        }
        let places = items.into_iter().map(|item| vec![item]).collect();
        Self { places, known }
    }

    pub(super) fn nodes(&self) -> impl Iterator<Item = &Node<'s>> {
        self.places.iter().flatten()
    }

    pub(super) fn count(&self, name: &str) -> usize {
        let places = self.known.get(name).map_or(&[][..], |(places, _)| places);
        places.iter().map(|at| self.places[*at].len()).sum()
    }

    /// Puts an element at the end.
    pub(super) fn push(&mut self, name: Option<String>, node: Node<'s>) {
        if let Some(name) = name {
            self.known.insert(name, (vec![self.places.len()], true));
        }
        self.places.push(vec![node]);
    }

    pub(super) fn remove(&mut self, name: &str) {
        for at in self.known.remove(name).map_or_else(Vec::new, |(places, _)| places) {
            self.places[at].clear();
        }
    }

    /// Changes the one element of a name.
    pub(super) fn change(&mut self, name: &str, change: impl FnOnce(Node<'s>) -> Node<'s>) {
        let at = self.known.get(name).and_then(|(places, _)| places.first());
        let below = at.and_then(|at| Some((at, self.places[*at].pop()?)));
        if let Some((at, below)) = below {
            self.places[*at].push(change(below));
        }
    }

    /// Puts an element where those of its name are: the first in their place, further ones behind it.
    pub(super) fn replace(&mut self, name: String, node: Node<'s>) {
        let (places, replaced) = self.known.entry(name).or_default();
        let Some(first) = places.first().copied() else { return };
        if !std::mem::replace(replaced, true) {
            places.iter().for_each(|at| self.places[*at].clear());
            places.truncate(1);
        }
        self.places[first].push(node);
    }
}
