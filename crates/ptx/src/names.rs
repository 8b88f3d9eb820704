//! Interned names: keywords first, then the names of the text.

use crate::words::Word;
use heddle_ir::entity::Entity as _;
use rustc_hash::FxHashMap;

heddle_ir::entity! {
    /// Interned name of a module.
    pub Symbol, "name"
}

/// Interner of the names of a module.
#[derive(Clone, Debug)]
pub struct PtxNames<'s> {
    list: Vec<&'s str>,
    numbers: FxHashMap<&'s str, Symbol>,
}

impl Default for PtxNames<'_> {
    fn default() -> Self {
        let mut names = PtxNames { list: Vec::new(), numbers: FxHashMap::default() };
        for word in Word::ALL {
            names.intern(word.text());
        }
        names
    }
}

impl<'s> PtxNames<'s> {
    /// Interns a name.
    pub fn intern(&mut self, name: &'s str) -> Symbol {
        let list = &mut self.list;
        *self.numbers.entry(name).or_insert_with(|| {
            list.push(name);
            Symbol::new(list.len() - 1)
        })
    }

    /// Returns the symbol of a name that is interned already.
    pub fn find(&self, name: &str) -> Option<Symbol> {
        self.numbers.get(name).copied()
    }

    /// Returns the name of a symbol.
    pub fn text(&self, symbol: Symbol) -> &'s str {
        self.list[symbol.index()]
    }

    /// Gives a symbol a name that no symbol has.
    pub(crate) fn rename(&mut self, symbol: Symbol, name: &'s str) {
        let before = std::mem::replace(&mut self.list[symbol.index()], name);
        self.numbers.remove(before);
        self.numbers.insert(name, symbol);
    }

    /// Returns the number of names.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// True if there are no names.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

impl Symbol {
    /// Returns the keyword that this name is.
    pub fn word(self) -> Option<Word> {
        Word::ALL.get(self.index()).copied()
    }
}

impl From<Word> for Symbol {
    fn from(word: Word) -> Symbol {
        Symbol::from_u32(word as u32)
    }
}
