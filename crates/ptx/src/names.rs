//! Names, interned: the words first, then what the text has.

use crate::words::Word;
use heddle_ir::entity::Entity as _;
use rustc_hash::FxHashMap;

heddle_ir::entity! {
    /// A name of a module.
    pub Symbol, "name"
}

/// All names of a module.
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
    /// The number of a name.
    pub fn intern(&mut self, name: &'s str) -> Symbol {
        let list = &mut self.list;
        *self.numbers.entry(name).or_insert_with(|| {
            list.push(name);
            Symbol::new(list.len() - 1)
        })
    }

    /// The number of a name that is known already.
    pub fn find(&self, name: &str) -> Option<Symbol> {
        self.numbers.get(name).copied()
    }

    /// The name of a number.
    pub fn text(&self, symbol: Symbol) -> &'s str {
        self.list[symbol.index()]
    }

    /// How many names there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

impl Symbol {
    /// The word that this name is, if it is one.
    pub fn word(self) -> Option<Word> {
        Word::ALL.get(self.index()).copied()
    }
}

impl From<Word> for Symbol {
    fn from(word: Word) -> Symbol {
        Symbol::from_u32(word as u32)
    }
}
