//! Short inline lists of entities: operands, targets, a φ's predecessors.
//!
//! Every instruction has one or two of them, and memory bandwidth bounds a pass over a large function. So a list
//! takes 16 bytes: up to three entities inline, more on the heap.

use crate::entity::Entity;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::{Deref, DerefMut};

/// Number of entities stored inline.
const IN_PLACE: usize = 3;

/// List of entities, optimized for three or fewer.
#[derive(Clone)]
pub struct EntityList<T: Entity>(Items<T>);

#[derive(Clone)]
enum Items<T> {
    /// Number of entities in use; the other slots are unspecified.
    Few(u8, [T; IN_PLACE]),
    /// Boxed vector: one pointer wide, since long lists are rare.
    #[expect(clippy::box_collection)]
    Many(Box<Vec<T>>),
}

impl<T: Entity> EntityList<T> {
    /// An empty list.
    pub fn new() -> EntityList<T> {
        EntityList(Items::Few(0, [T::new(0); IN_PLACE]))
    }

    /// Appends an entity.
    pub fn push(&mut self, item: T) {
        match &mut self.0 {
            Items::Few(count, items) if usize::from(*count) < IN_PLACE => {
                items[usize::from(*count)] = item;
                *count += 1;
            }
            Items::Few(_, items) => {
                let mut many = Vec::with_capacity(2 * IN_PLACE);
                many.extend_from_slice(items);
                many.push(item);
                self.0 = Items::Many(Box::new(many));
            }
            Items::Many(items) => items.push(item),
        }
    }

    /// Removes and returns the last entity.
    pub fn pop(&mut self) -> Option<T> {
        let last = *self.last()?;
        self.truncate(self.len() - 1);
        Some(last)
    }

    /// Inserts an entity at this index.
    ///
    /// # Panics
    /// If the index is beyond the end.
    pub fn insert(&mut self, index: usize, item: T) {
        self.push(item);
        self[index..].rotate_right(1);
    }

    /// Removes and returns the entity at this index.
    ///
    /// # Panics
    /// If the index is out of bounds.
    pub fn remove(&mut self, index: usize) -> T {
        let item = self[index];
        self[index..].rotate_left(1);
        self.truncate(self.len() - 1);
        item
    }

    /// Keeps the first `len` entities.
    pub fn truncate(&mut self, len: usize) {
        match &mut self.0 {
            Items::Few(count, _) => *count = len.min((*count).into()) as u8,
            Items::Many(items) => items.truncate(len),
        }
    }

    /// Removes all entities.
    pub fn clear(&mut self) {
        self.truncate(0);
    }
}

impl<T: Entity> Deref for EntityList<T> {
    type Target = [T];
    #[inline]
    fn deref(&self) -> &[T] {
        match &self.0 {
            Items::Few(count, items) => &items[..usize::from(*count)],
            Items::Many(items) => items,
        }
    }
}

impl<T: Entity> DerefMut for EntityList<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        match &mut self.0 {
            Items::Few(count, items) => &mut items[..usize::from(*count)],
            Items::Many(items) => items,
        }
    }
}

impl<T: Entity> Default for EntityList<T> {
    fn default() -> EntityList<T> {
        EntityList::new()
    }
}

impl<T: Entity> Extend<T> for EntityList<T> {
    #[inline]
    fn extend<I: IntoIterator<Item = T>>(&mut self, items: I) {
        items.into_iter().for_each(|item| self.push(item));
    }
}

impl<T: Entity> FromIterator<T> for EntityList<T> {
    #[inline]
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> EntityList<T> {
        let mut items = items.into_iter().fuse();
        // Built as a whole: growing would load slots again before their stores complete.
        let few: [Option<T>; IN_PLACE] = std::array::from_fn(|_| items.next());
        let count = few.iter().flatten().count() as u8;
        let mut list = EntityList(Items::Few(count, few.map(|item| item.unwrap_or(T::new(0)))));
        list.extend(items);
        list
    }
}

impl<T: Entity, const N: usize> From<[T; N]> for EntityList<T> {
    #[inline]
    fn from(items: [T; N]) -> EntityList<T> {
        items.into_iter().collect()
    }
}

impl<T: Entity> From<Vec<T>> for EntityList<T> {
    fn from(items: Vec<T>) -> EntityList<T> {
        match items.len() {
            0..=IN_PLACE => items.into_iter().collect(),
            _ => EntityList(Items::Many(Box::new(items))),
        }
    }
}

impl<T: Entity> IntoIterator for EntityList<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;
    fn into_iter(self) -> IntoIter<T> {
        IntoIter { list: self, next: 0 }
    }
}

/// Owning iterator over a list.
#[derive(Clone, Debug)]
pub struct IntoIter<T: Entity> {
    list: EntityList<T>,
    next: usize,
}

impl<T: Entity> Iterator for IntoIter<T> {
    type Item = T;
    fn next(&mut self) -> Option<T> {
        let item = self.list.get(self.next).copied();
        self.next += usize::from(item.is_some());
        item
    }
}

impl<'a, T: Entity> IntoIterator for &'a EntityList<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, T: Entity> IntoIterator for &'a mut EntityList<T> {
    type Item = &'a mut T;
    type IntoIter = std::slice::IterMut<'a, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl<T: Entity> PartialEq for EntityList<T> {
    fn eq(&self, other: &EntityList<T>) -> bool {
        **self == **other
    }
}

impl<T: Entity> Eq for EntityList<T> {}

impl<T: Entity + Hash> Hash for EntityList<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl<T: Entity> fmt::Debug for EntityList<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Value;

    /// Applies random operations to a list and to a vector.
    #[test]
    fn a_list_is_what_a_vector_is() {
        let mut random = 1u64;
        let mut below = |limit: usize| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) as usize % limit
        };
        let (mut list, mut vector): (EntityList<Value>, Vec<Value>) = (EntityList::new(), Vec::new());
        let mut longest = 0;
        for step in 0..20_000 {
            let item = Value::new(step);
            match below(7) {
                0 | 1 => {
                    list.push(item);
                    vector.push(item);
                }
                2 => assert_eq!(list.pop(), vector.pop()),
                3 => {
                    let at = below(vector.len() + 1);
                    list.insert(at, item);
                    vector.insert(at, item);
                }
                4 if !vector.is_empty() => {
                    let at = below(vector.len());
                    assert_eq!(list.remove(at), vector.remove(at));
                }
                5 if below(20) == 0 => {
                    let len = below(6);
                    list.truncate(len);
                    vector.truncate(len);
                }
                _ => list.iter_mut().zip(&mut vector).for_each(|(a, b)| {
                    assert_eq!(a, b);
                    (*a, *b) = (item, item);
                }),
            }
            longest = longest.max(vector.len());
            assert_eq!(*list, *vector);
            assert_eq!(list, vector.iter().copied().collect());
        }
        assert!(longest > 2 * IN_PLACE, "only {longest} long");
    }

    #[test]
    fn what_stands_behind_the_end_means_nothing() {
        let values = |count| (0..count).map(Value::new);
        for long in 0..6 {
            for short in 0..=long {
                let mut cut: EntityList<Value> = values(long).collect();
                cut.truncate(short);
                let list: EntityList<Value> = values(short).collect();
                assert_eq!(cut, list);
                let hash = |list: &EntityList<Value>| {
                    let mut hasher = rustc_hash::FxHasher::default();
                    list.hash(&mut hasher);
                    hasher.finish()
                };
                assert_eq!(hash(&cut), hash(&list));
                assert_eq!(format!("{cut:?}"), format!("{:?}", values(short).collect::<Vec<_>>()));
            }
        }
        assert_eq!(size_of::<EntityList<Value>>(), 16);
    }
}
