//! Parser: tokens to syntax tree. Nothing recurses, so nesting depth is unlimited.
//!
//! After an error in an instruction it resumes at the next line, after one in a head at the next item.

mod instructions;
mod items;
mod operands;

use super::errors::{Reported, SyntaxErrors, nearest, short};
use super::lexer::{TokenKind, TokenizedText};
use super::literal::read_scalar;
use super::names::read_name;
use super::syntax::*;
use crate::Block;
use crate::types::Scalar;
use std::borrow::Cow;

/// Value and block numbers index dense tables, so a text may only use numbers up to a budget: this many …
const SPARE_NUMBERS: u64 = 1 << 20;
/// … plus this many for each token.
const NUMBERS_PER_TOKEN: u64 = 16;

/// Parses the tokens; invalid items and lines are reported and left out.
pub(super) fn parse(text: &TokenizedText<'_>, errors: &mut SyntaxErrors) -> SyntaxTree {
    let numbers = SPARE_NUMBERS + NUMBERS_PER_TOKEN * text.tokens.len() as u64;
    let mut parser =
        Parser { text, errors, at: 0, numbers, body: BodyItem::default(), tree: SyntaxTree::default() };
    parser.module();
    parser.tree
}

type Parsed<T> = Result<T, Reported>;

struct Parser<'p, 's> {
    text: &'p TokenizedText<'s>,
    errors: &'p mut SyntaxErrors,
    at: u32,
    /// Numbers left in the budget.
    numbers: u64,
    /// Body of the current function.
    body: BodyItem,
    tree: SyntaxTree,
}

/// Access to tokens.
impl<'s> Parser<'_, 's> {
    fn kind(&self) -> TokenKind {
        self.text.kind(self.at)
    }

    /// The kind of a token `count` positions ahead.
    fn ahead(&self, count: u32) -> TokenKind {
        self.text.tokens.get((self.at + count) as usize).map_or(TokenKind::End, |token| token.kind)
    }

    fn word(&self) -> Option<&'s str> {
        (self.kind() == TokenKind::Word).then(|| self.text.text(self.at))
    }

    fn bump(&mut self) -> u32 {
        let token = self.at;
        if self.kind() != TokenKind::End {
            self.at += 1;
        }
        token
    }

    fn is_sign(&self, sign: u8) -> bool {
        self.kind() == TokenKind::Sign(sign)
    }

    fn eat_sign(&mut self, sign: u8) -> bool {
        let is_there = self.is_sign(sign);
        if is_there {
            self.at += 1;
        }
        is_there
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let is_there = self.word() == Some(word);
        if is_there {
            self.at += 1;
        }
        is_there
    }

    fn sign(&mut self, sign: u8) -> Parsed<()> {
        if self.eat_sign(sign) { Ok(()) } else { Err(self.unexpected([format!("`{}`", sign as char)])) }
    }

    fn skip_newlines(&mut self) {
        while self.kind() == TokenKind::Newline {
            self.at += 1;
        }
    }

    fn error(&mut self, token: u32, message: impl Into<String>) -> Reported {
        self.errors.push(self.text.span(token), message)
    }

    /// Reports an unexpected token.
    fn unexpected<S: Into<String>>(&mut self, expected: impl IntoIterator<Item = S>) -> Reported {
        let expected: Vec<String> = expected.into_iter().map(Into::into).collect();
        let list = match &expected[..] {
            [first @ .., second, last] => {
                let first: String = first.iter().map(|one| format!("{one}, ")).collect();
                format!("{first}{second} or {last}")
            }
            one => one.concat(),
        };
        let message = format!("expected {list}, found {}", self.found());
        self.errors.push_expecting(self.text.span(self.at), message, expected)
    }

    fn found(&self) -> String {
        match self.kind() {
            TokenKind::Newline => "the end of the line".into(),
            TokenKind::End => "the end of the text".into(),
            _ => {
                let text = self.text.text(self.at);
                let is_open = self.kind() == TokenKind::Stray && text.contains('"');
                format!("{}`{}`", if is_open { "an open quote " } else { "" }, short(text))
            }
        }
    }

    /// Parses one of a set of keywords.
    fn choice<T: Copy>(&mut self, what: &str, all: &[T], name: fn(T) -> &'static str) -> Parsed<T> {
        if let Some(word) = self.word()
            && let Some(&one) = all.iter().find(|&&one| name(one) == word)
        {
            self.at += 1;
            return Ok(one);
        }
        let names = || all.iter().map(|&one| name(one));
        let hint = self.word().and_then(|word| nearest(word, names()));
        let hint = hint.map_or(String::new(), |hint| format!("; did you mean `{hint}`?"));
        let message = format!("expected {what}, found {}{hint}", self.found());
        Err(self.errors.push_expecting(self.text.span(self.at), message, names()))
    }

    /// Parses an unsigned decimal or hexadecimal number.
    fn number<T: TryFrom<u64>>(&mut self, what: &str) -> Parsed<T> {
        if self.kind() != TokenKind::Number || self.text.text(self.at).starts_with('-') {
            return Err(self.unexpected([what]));
        }
        let token = self.bump();
        match read_scalar(self.text.text(token), Scalar::I64).map(|bits| T::try_from(bits as u64)) {
            Ok(Ok(number)) => Ok(number),
            Ok(Err(_)) => {
                Err(self.error(token, format!("`{}` is too large for {what}", short(self.text.text(token)))))
            }
            Err(message) => Err(self.error(token, message)),
        }
    }

    fn signed_number(&mut self, what: &str) -> Parsed<i64> {
        if self.kind() != TokenKind::Number {
            return Err(self.unexpected([what]));
        }
        let token = self.bump();
        let text = self.text.text(token);
        match text.parse() {
            Ok(number) => Ok(number),
            Err(_) => Err(self.error(token, format!("`{}` is not an integer of 64 bits", short(text)))),
        }
    }

    fn name(&mut self) -> Parsed<(u32, Cow<'s, str>)> {
        if self.kind() != TokenKind::Name {
            return Err(self.unexpected(["a name like `@name`"]));
        }
        let token = self.bump();
        match read_name(self.text.text(token)) {
            Ok(name) => Ok((token, name)),
            Err(message) => Err(self.error(token, message)),
        }
    }

    /// Parses items separated by commas up to the closing bracket; line breaks are allowed. The opening one is consumed.
    fn list(&mut self, close: u8, mut item: impl FnMut(&mut Self) -> Parsed<()>) -> Parsed<()> {
        self.skip_newlines();
        if self.eat_sign(close) {
            return Ok(());
        }
        loop {
            item(self)?;
            self.skip_newlines();
            if self.eat_sign(close) {
                return Ok(());
            }
            if !self.eat_sign(b',') {
                return Err(self.unexpected(["`,`".to_string(), format!("`{}`", close as char)]));
            }
            self.skip_newlines();
        }
    }
}

/// Numbered entities.
impl Parser<'_, '_> {
    /// True if the token `count` positions ahead is an entity with this prefix.
    fn entity_ahead(&self, count: u32, prefix: &str) -> bool {
        self.ahead(count) == TokenKind::Word && digits_of(self.text.text(self.at + count), prefix).is_some()
    }

    fn at_value(&self) -> bool {
        self.entity_ahead(0, "v")
    }

    fn entity(&mut self, prefix: &str, what: &str) -> Parsed<EntityToken> {
        let Some(digits) = self.word().and_then(|word| digits_of(word, prefix)) else {
            return Err(self.unexpected([what]));
        };
        let token = self.bump();
        match digits.parse() {
            Ok(number) if number < u32::MAX => Ok(EntityToken { number, token }),
            _ => Err(self.error(token, "the number is too large")),
        }
    }

    /// Parses the value that an instruction or parameter defines.
    fn value_definition(&mut self) -> Parsed<EntityToken> {
        let value = self.entity("v", "a value like `v7`")?;
        let bound = self.spend(value, self.body.value_bound)?;
        self.body.value_bound = bound;
        Ok(value)
    }

    /// Charges a number to the budget and returns the new upper bound.
    fn spend(&mut self, defined: EntityToken, bound: u32) -> Parsed<u32> {
        let more = u64::from((defined.number + 1).saturating_sub(bound));
        if more > self.numbers {
            self.body.is_partial = true;
            let message = format!(
                "the number is too large: this text may go up to {}",
                u64::from(bound) + self.numbers
            );
            return Err(self.error(defined.token, message));
        }
        self.numbers -= more;
        Ok(bound.max(defined.number + 1))
    }

    fn block_use(&mut self) -> Parsed<Block> {
        let block = self.entity("block", "a block like `block3`")?;
        self.body.block_uses.push(block);
        Ok(Block::from_u32(block.number))
    }
}

fn digits_of<'s>(word: &'s str, prefix: &str) -> Option<&'s str> {
    let digits = word.strip_prefix(prefix)?;
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && (digits == "0" || !digits.starts_with('0'))).then_some(digits)
}
