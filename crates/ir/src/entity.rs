//! Entities: dense `u32` references to the parts of a function, and the maps that they index.
//!
//! An entity's `Display` is its syntax in the text format: `block3`, `v7`. A [`PrimaryMap`] owns the items and
//! allocates entities; a [`SecondaryMap`] attaches data to entities that another map owns.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// A typed dense index.
pub trait Entity: Copy + Eq + fmt::Debug {
    /// The entity with this number.
    fn new(index: usize) -> Self;
    /// The number of this entity.
    fn index(self) -> usize;
}

/// Declares an entity type: an index below `u32::MAX` that prints as its prefix and number. It is stored plus one, so
/// an `Option` of it takes no more space.
#[macro_export]
macro_rules! entity {
    ($(#[$meta:meta])* $vis:vis $name:ident, $prefix:literal) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $vis struct $name(::std::num::NonZeroU32);

        impl $crate::entity::Entity for $name {
            #[inline]
            fn new(index: usize) -> Self {
                debug_assert!(index < u32::MAX as usize);
                Self::from_u32(index as u32)
            }
            #[inline]
            fn index(self) -> usize {
                self.as_u32() as usize
            }
        }

        impl $name {
            /// The entity with this number. `u32::MAX` is no valid number and gives the one before it.
            #[inline]
            $vis const fn from_u32(number: u32) -> Self {
                Self(::std::num::NonZeroU32::MIN.saturating_add(number))
            }
            /// The number of this entity.
            #[inline]
            $vis const fn as_u32(self) -> u32 {
                self.0.get() - 1
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                write!(f, concat!($prefix, "{}"), self.as_u32())
            }
        }

        impl ::std::fmt::Debug for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                ::std::fmt::Display::fmt(self, f)
            }
        }
    };
}

/// Owns one `V` per entity and allocates the entities.
#[derive(Clone, PartialEq, Eq)]
pub struct PrimaryMap<K: Entity, V> {
    items: Vec<V>,
    key: PhantomData<K>,
}

impl<K: Entity, V> PrimaryMap<K, V> {
    /// An empty map.
    pub const fn new() -> Self {
        Self { items: Vec::new(), key: PhantomData }
    }
    /// Adds an item and returns its entity.
    pub fn push(&mut self, item: V) -> K {
        let key = self.next_key();
        self.items.push(item);
        key
    }
    /// The entity that the next `push` will return.
    pub fn next_key(&self) -> K {
        K::new(self.items.len())
    }
    /// The number of entities.
    pub fn len(&self) -> usize {
        self.items.len()
    }
    /// True if there is no entity.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
    /// Returns the item, if the entity exists.
    pub fn get(&self, key: K) -> Option<&V> {
        self.items.get(key.index())
    }
    /// True if the entity exists.
    pub fn contains(&self, key: K) -> bool {
        key.index() < self.items.len()
    }
    /// All entities, in order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = K> + ExactSizeIterator + use<K, V> {
        (0..self.items.len()).map(K::new)
    }
    /// All items, in order.
    pub fn values(&self) -> std::slice::Iter<'_, V> {
        self.items.iter()
    }
    /// All items, in order, mutably.
    pub fn values_mut(&mut self) -> std::slice::IterMut<'_, V> {
        self.items.iter_mut()
    }
    /// All entities with their items, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (K, &V)> + ExactSizeIterator {
        self.items.iter().enumerate().map(|(index, item)| (K::new(index), item))
    }
}

impl<K: Entity, V> Default for PrimaryMap<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Entity, V> Index<K> for PrimaryMap<K, V> {
    type Output = V;
    #[inline]
    fn index(&self, key: K) -> &V {
        &self.items[key.index()]
    }
}

impl<K: Entity, V> IndexMut<K> for PrimaryMap<K, V> {
    #[inline]
    fn index_mut(&mut self, key: K) -> &mut V {
        &mut self.items[key.index()]
    }
}

impl<K: Entity, V> FromIterator<V> for PrimaryMap<K, V> {
    fn from_iter<I: IntoIterator<Item = V>>(iter: I) -> Self {
        Self { items: iter.into_iter().collect(), key: PhantomData }
    }
}

impl<K: Entity, V: fmt::Debug> fmt::Debug for PrimaryMap<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

/// Data of entities that another map owns; entities without an entry have the default.
#[derive(Clone, PartialEq, Eq)]
pub struct SecondaryMap<K: Entity, V: Clone> {
    items: Vec<V>,
    default: V,
    key: PhantomData<K>,
}

impl<K: Entity, V: Clone + Default> SecondaryMap<K, V> {
    /// An empty map whose default is `V::default()`.
    pub fn new() -> Self {
        Self::with_default(V::default())
    }
    /// A map of `len` entities, all at `V::default()`.
    pub fn with_len(len: usize) -> Self {
        Self::filled(V::default(), len)
    }
}

impl<K: Entity, V: Clone> SecondaryMap<K, V> {
    /// An empty map with this default.
    pub fn with_default(default: V) -> Self {
        Self { items: Vec::new(), default, key: PhantomData }
    }
    /// A map of `len` entities at this default.
    pub fn filled(default: V, len: usize) -> Self {
        Self { items: vec![default.clone(); len], default, key: PhantomData }
    }
    /// The entities up to the last one written, with their data.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (K, &V)> + ExactSizeIterator {
        self.items.iter().enumerate().map(|(index, item)| (K::new(index), item))
    }
    /// Resets all entities to the default.
    pub fn clear(&mut self) {
        self.items.clear();
    }
}

impl<K: Entity, V: Clone + Default> Default for SecondaryMap<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Entity, V: Clone> Index<K> for SecondaryMap<K, V> {
    type Output = V;
    #[inline]
    fn index(&self, key: K) -> &V {
        self.items.get(key.index()).unwrap_or(&self.default)
    }
}

impl<K: Entity, V: Clone> IndexMut<K> for SecondaryMap<K, V> {
    #[inline]
    fn index_mut(&mut self, key: K) -> &mut V {
        if key.index() >= self.items.len() {
            self.items.resize(key.index() + 1, self.default.clone());
        }
        &mut self.items[key.index()]
    }
}

impl<K: Entity, V: Clone + fmt::Debug> fmt::Debug for SecondaryMap<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

/// A set of entities, one bit each.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct EntitySet<K: Entity> {
    words: Vec<u64>,
    len: usize,
    key: PhantomData<K>,
}

impl<K: Entity> EntitySet<K> {
    /// The empty set.
    pub const fn new() -> Self {
        Self { words: Vec::new(), len: 0, key: PhantomData }
    }
    /// Adds the entity; returns true if it was absent.
    pub fn insert(&mut self, key: K) -> bool {
        let (word, bit) = (key.index() / 64, 1u64 << (key.index() % 64));
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        let is_new = self.words[word] & bit == 0;
        self.words[word] |= bit;
        self.len += usize::from(is_new);
        is_new
    }
    /// Removes the entity; returns true if it was present.
    pub fn remove(&mut self, key: K) -> bool {
        let (word, bit) = (key.index() / 64, 1u64 << (key.index() % 64));
        let was_there = self.contains(key);
        if was_there {
            self.words[word] &= !bit;
            self.len -= 1;
        }
        was_there
    }
    /// True if the entity is in the set.
    #[inline]
    pub fn contains(&self, key: K) -> bool {
        self.words.get(key.index() / 64).is_some_and(|word| word >> (key.index() % 64) & 1 == 1)
    }
    /// The number of entities in the set.
    pub fn len(&self) -> usize {
        self.len
    }
    /// True if the set is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// Removes all entities.
    pub fn clear(&mut self) {
        self.words.clear();
        self.len = 0;
    }
    /// The members, in order.
    pub fn iter(&self) -> impl Iterator<Item = K> + '_ {
        self.words.iter().enumerate().flat_map(|(index, &word)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                (rest != 0).then(|| {
                    let bit = rest.trailing_zeros() as usize;
                    rest &= rest - 1;
                    K::new(index * 64 + bit)
                })
            })
        })
    }
}

impl<K: Entity> FromIterator<K> for EntitySet<K> {
    fn from_iter<I: IntoIterator<Item = K>>(iter: I) -> Self {
        let mut set = Self::new();
        for key in iter {
            set.insert(key);
        }
        set
    }
}

impl<K: Entity> fmt::Debug for EntitySet<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}
