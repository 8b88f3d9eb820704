//! Tokens to syntax tree. Nothing here recurses, so no nesting is too deep.
//!
//! After an error in an instruction the next line goes on, after one in a head the next item.

use super::diagnostic::{Errors, Reported, nearest, short};
use super::lexer::{Kind as Tok, Text};
use super::literal::read_scalar;
use super::names::{read_name, read_text};
use super::syntax::*;
use crate::Block;
use crate::function::{Loc, Tag};
use crate::inst::{Blocks, Detail};
use crate::module::{
    DeclaredShape, Effects, Fact, FactPart, File, Global, Init, Kind, Param, Returned, Signature,
};
use crate::ops::{Format, Gives, Op};
use crate::types::{MAX_LANES, Scalar, Space, Type};
use crate::words::{Flag, Flags, FloatPredicate, IntPredicate, Ordering, Reduction, Rmw, Scope};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::sync::Arc;

/// Numbers of values and blocks cost memory up to the largest, so a text has only so many to spend: this many …
const SPARE_NUMBERS: u64 = 1 << 20;
/// … and so many for each token.
const NUMBERS_PER_TOKEN: u64 = 16;

/// Reads the tokens, as far as they make sense.
pub(super) fn parse(text: &Text<'_>, errors: &mut Errors) -> Tree {
    let numbers = SPARE_NUMBERS + NUMBERS_PER_TOKEN * text.tokens.len() as u64;
    let mut parser = Parser { text, errors, at: 0, numbers, body: Body::default(), tree: Tree::default() };
    parser.module();
    parser.tree
}

type Parsed<T> = Result<T, Reported>;

struct Parser<'p, 's> {
    text: &'p Text<'s>,
    errors: &'p mut Errors,
    at: u32,
    /// How many numbers may still be given out.
    numbers: u64,
    /// The body being read.
    body: Body,
    tree: Tree,
}

/// Tokens.
impl<'s> Parser<'_, 's> {
    fn kind(&self) -> Tok {
        self.text.kind(self.at)
    }

    /// The kind of the token so many further.
    fn ahead(&self, count: u32) -> Tok {
        self.text.tokens.get((self.at + count) as usize).map_or(Tok::End, |token| token.kind)
    }

    fn word(&self) -> Option<&'s str> {
        (self.kind() == Tok::Word).then(|| self.text.text(self.at))
    }

    fn bump(&mut self) -> u32 {
        let token = self.at;
        if self.kind() != Tok::End {
            self.at += 1;
        }
        token
    }

    fn is_sign(&self, sign: u8) -> bool {
        self.kind() == Tok::Sign(sign)
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
        while self.kind() == Tok::Newline {
            self.at += 1;
        }
    }

    fn error(&mut self, token: u32, message: impl Into<String>) -> Reported {
        self.errors.push(self.text.span(token), message)
    }

    /// Reports that something else was expected here.
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
            Tok::Newline => "the end of the line".into(),
            Tok::End => "the end of the text".into(),
            _ => {
                let text = self.text.text(self.at);
                let is_open = self.kind() == Tok::Stray && text.contains('"');
                format!("{}`{}`", if is_open { "an open quote " } else { "" }, short(text))
            }
        }
    }

    /// A word of a vocabulary.
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

    /// A decimal or hexadecimal number without sign.
    fn number<T: TryFrom<u64>>(&mut self, what: &str) -> Parsed<T> {
        if self.kind() != Tok::Number || self.text.text(self.at).starts_with('-') {
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
        if self.kind() != Tok::Number {
            return Err(self.unexpected([what]));
        }
        let token = self.bump();
        let text = self.text.text(token);
        match text.parse() {
            Ok(number) => Ok(number),
            Err(_) => Err(self.error(token, format!("`{}` is no integer of 64 bits", short(text)))),
        }
    }

    fn name(&mut self) -> Parsed<(u32, Cow<'s, str>)> {
        if self.kind() != Tok::Name {
            return Err(self.unexpected(["a name like `@name`"]));
        }
        let token = self.bump();
        match read_name(self.text.text(token)) {
            Ok(name) => Ok((token, name)),
            Err(message) => Err(self.error(token, message)),
        }
    }

    /// Items between brackets, the opening one of which is read already, with commas between; lines may end inside.
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

/// Names with numbers.
impl Parser<'_, '_> {
    /// The digits of the entity that the token so many further names, if it names one of this prefix.
    fn entity_ahead(&self, count: u32, prefix: &str) -> bool {
        self.ahead(count) == Tok::Word && digits_of(self.text.text(self.at + count), prefix).is_some()
    }

    fn at_value(&self) -> bool {
        self.entity_ahead(0, "v")
    }

    fn entity(&mut self, prefix: &str, what: &str) -> Parsed<Numbered> {
        let Some(digits) = self.word().and_then(|word| digits_of(word, prefix)) else {
            return Err(self.unexpected([what]));
        };
        let token = self.bump();
        match digits.parse() {
            Ok(number) if number < u32::MAX => Ok(Numbered { number, token }),
            _ => Err(self.error(token, "the number is too large")),
        }
    }

    /// Reads the name of a value that is defined here.
    fn value_definition(&mut self) -> Parsed<Numbered> {
        let value = self.entity("v", "a value like `v7`")?;
        let bound = self.spend(value, self.body.value_bound)?;
        self.body.value_bound = bound;
        Ok(value)
    }

    /// The bound of the numbers, once this one is among them.
    fn spend(&mut self, defined: Numbered, bound: u32) -> Parsed<u32> {
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

/// Types, operands and literals.
impl Parser<'_, '_> {
    fn at_type(&self) -> bool {
        match self.kind() {
            Tok::Sign(b'<') => {
                self.ahead(1) == Tok::Number
                    && self.ahead(2) == Tok::Word
                    && self.text.text(self.at + 2) == "x"
            }
            Tok::Word => {
                let word = self.text.text(self.at);
                scalar_of(word).is_some() || word == "mask"
            }
            _ => false,
        }
    }

    fn ty(&mut self) -> Parsed<Type> {
        if self.eat_word("mask") {
            self.sign(b'<')?;
            let lanes = self.lanes()?;
            self.sign(b'>')?;
            return Ok(Type::mask(lanes));
        }
        if self.eat_sign(b'<') {
            let lanes = self.lanes()?;
            if !self.eat_word("x") {
                return Err(self.unexpected(["`x`"]));
            }
            let scalar = self.scalar()?;
            self.sign(b'>')?;
            return Ok(Type::Vector(scalar, lanes));
        }
        self.scalar().map(Type::Scalar)
    }

    fn lanes(&mut self) -> Parsed<u16> {
        let token = self.at;
        match self.number("a number of lanes")? {
            lanes if lanes == 0 || u32::from(lanes) > MAX_LANES => {
                Err(self.error(token, format!("a vector has 1 to {MAX_LANES} lanes")))
            }
            lanes => Ok(lanes),
        }
    }

    fn scalar(&mut self) -> Parsed<Scalar> {
        let Some(scalar) = self.word().and_then(scalar_of) else {
            return Err(self.unexpected(["a type"]));
        };
        self.at += 1;
        if scalar.is_ptr() && self.eat_sign(b'(') {
            let space = self.choice("a space", &Space::ALL, Space::name)?;
            self.sign(b')')?;
            return Ok(Scalar::Ptr(space));
        }
        Ok(scalar)
    }

    fn at_scalar_literal(&self) -> bool {
        match self.kind() {
            Tok::Number => true,
            Tok::Word => {
                matches!(self.text.text(self.at), "true" | "false" | "null" | "inf" | "nan")
            }
            _ => false,
        }
    }

    fn scalar_literal(&mut self) -> Parsed<u32> {
        if self.at_scalar_literal() { Ok(self.bump()) } else { Err(self.unexpected(["a number"])) }
    }

    fn at_operand(&self) -> bool {
        match self.kind() {
            Tok::Name | Tok::Number | Tok::Sign(b'<') => true,
            Tok::Word => {
                self.at_value()
                    || self.at_type()
                    || self.at_scalar_literal()
                    || matches!(self.text.text(self.at), "poison" | "splat")
            }
            _ => false,
        }
    }

    fn operand(&mut self) -> Parsed<Operand> {
        let token = self.at;
        let ty = if self.at_type() { Some(self.ty()?) } else { None };
        let start = self.at;
        let what = match self.kind() {
            Tok::Name => OperandItem::Global(self.name()?.0),
            Tok::Word if self.at_value() => OperandItem::Value(self.entity("v", "a value")?.number),
            Tok::Sign(b'<') => {
                self.bump();
                self.list(b'>', |parser| parser.scalar_literal().map(drop))?;
                OperandItem::Literal(start)
            }
            _ if self.at_scalar_literal() || self.word() == Some("poison") => {
                OperandItem::Literal(self.bump())
            }
            _ if self.eat_word("splat") => {
                self.scalar_literal()?;
                OperandItem::Literal(start)
            }
            _ => return Err(self.unexpected(["a value", "a literal", "a global's name"])),
        };
        Ok(Operand { token, ty, what })
    }
}

fn scalar_of(word: &str) -> Option<Scalar> {
    Some(match word {
        "i1" => Scalar::I1,
        "i8" => Scalar::I8,
        "i16" => Scalar::I16,
        "i32" => Scalar::I32,
        "i64" => Scalar::I64,
        "i128" => Scalar::I128,
        "f16" => Scalar::F16,
        "bf16" => Scalar::BF16,
        "f32" => Scalar::F32,
        "f64" => Scalar::F64,
        "ptr" => Scalar::Ptr(Space::Generic),
        _ => return None,
    })
}

/// Items of a module.
impl Parser<'_, '_> {
    fn module(&mut self) {
        loop {
            self.skip_newlines();
            let start = self.at;
            if self.kind() == Tok::End || self.errors.is_full() {
                return;
            }
            if self.item().is_err() {
                self.skip_to_item(start);
            }
        }
    }

    fn at_item(&self) -> bool {
        match self.kind() {
            Tok::Word => {
                let word = self.text.text(self.at);
                matches!(word, "func" | "kernel" | "declare" | "global")
                    || ["file", "fact"].iter().any(|prefix| digits_of(word, prefix).is_some())
            }
            _ => false,
        }
    }

    fn skip_to_item(&mut self, start: u32) {
        if self.at == start {
            self.bump();
        }
        let is_first = |parser: &Self| parser.text.kind(parser.at - 1) == Tok::Newline;
        while self.kind() != Tok::End && !(is_first(self) && self.at_item()) {
            self.bump();
        }
    }

    fn item(&mut self) -> Parsed<()> {
        match self.word() {
            Some("func" | "kernel") => self.function(true)?,
            Some("declare") => {
                self.bump();
                self.function(false)?;
            }
            Some("global") => self.global()?,
            _ if self.entity_ahead(0, "file") => self.file()?,
            _ if self.entity_ahead(0, "fact") => self.fact()?,
            _ => {
                let expected = ["`func`", "`kernel`", "`declare`", "`global`", "`file0`", "`fact0`"];
                return Err(self.unexpected(expected));
            }
        }
        match self.kind() {
            Tok::Newline | Tok::End => Ok(()),
            _ => Err(self.unexpected(["the end of the line"])),
        }
    }

    fn file(&mut self) -> Parsed<()> {
        let file = self.entity("file", "a file")?;
        let next = self.tree.files.len();
        if file.number as usize != next {
            self.error(file.token, format!("files are numbered in order: this is file{next}"));
        }
        self.sign(b'=')?;
        if self.kind() != Tok::Text {
            return Err(self.unexpected(["a text between quotes"]));
        }
        let name = self.quoted()?;
        self.tree.files.push(name);
        Ok(())
    }

    /// The text that stands here between quotes.
    fn quoted(&mut self) -> Parsed<String> {
        let token = self.bump();
        match read_text(self.text.text(token)) {
            Ok(text) => Ok(text.into_owned()),
            Err(message) => Err(self.error(token, message)),
        }
    }

    fn fact(&mut self) -> Parsed<()> {
        let fact = self.entity("fact", "a fact")?;
        let next = self.tree.facts.len();
        if fact.number as usize != next {
            self.error(fact.token, format!("facts are numbered in order: this is fact{next}"));
        }
        self.sign(b'=')?;
        self.sign(b'{')?;
        let mut parts = Vec::new();
        self.list(b'}', |parser| {
            parts.push(parser.fact_part(next)?);
            Ok(())
        })?;
        self.tree.facts.push(parts);
        Ok(())
    }

    /// One part of the fact of this number.
    fn fact_part(&mut self, number: usize) -> Parsed<FactPart> {
        if self.kind() == Tok::Text {
            return Ok(FactPart::Text(self.quoted()?));
        }
        if self.entity_ahead(0, "fact") {
            let part = self.entity("fact", "a fact")?;
            return match (part.number as usize) < number {
                true => Ok(FactPart::Fact(Fact::from_u32(part.number))),
                false => Err(self.error(part.token, format!("fact{} does not come before", part.number))),
            };
        }
        if !self.at_type() {
            return Err(self.unexpected(["a text between quotes", "a fact", "a typed value"]));
        }
        let scalar = self.scalar()?;
        if !self.at_scalar_literal() {
            return Err(self.unexpected(["a number"]));
        }
        let token = self.bump();
        match read_scalar(self.text.text(token), scalar) {
            Ok(bits) => Ok(FactPart::Number(scalar, bits)),
            Err(message) => Err(self.error(token, message)),
        }
    }

    fn global(&mut self) -> Parsed<()> {
        self.bump();
        let (token, name) = self.name()?;
        let name: Arc<str> = name.into();
        let index = self.tree.globals.len();
        self.tree.globals.push(GlobalItem { name: Arc::clone(&name), token, global: None, uses: Vec::new() });
        self.sign(b':')?;
        let Scalar::Ptr(space) = self.scalar()? else {
            self.at -= 1;
            return Err(self.unexpected(["`ptr`", "`ptr(space)`"]));
        };
        let align = if self.eat_word("align") { self.number("an alignment")? } else { 1 };
        self.sign(b'=')?;
        self.sign(b'[')?;
        let mut init = Vec::new();
        let mut uses = Vec::new();
        self.list(b']', |parser| parser.init(&mut init, &mut uses))?;
        let item = &mut self.tree.globals[index];
        item.global = Some(Global { name, space, align, init });
        item.uses = uses;
        Ok(())
    }

    /// One entry of a global's contents: a run, or one more value of the run before.
    fn init(&mut self, init: &mut Vec<Init>, uses: &mut Vec<(Arc<str>, u32)>) -> Parsed<()> {
        if self.at_scalar_literal()
            && let Some(Init::Values(scalar, values)) = init.last_mut()
        {
            let (token, scalar) = (self.at, *scalar);
            self.at += 1;
            return match read_scalar(self.text.text(token), scalar) {
                Ok(bits) => {
                    values.push(bits);
                    Ok(())
                }
                Err(message) => Err(self.error(token, message)),
            };
        }
        match self.kind() {
            Tok::Name => {
                let (token, name) = self.name()?;
                let name: Arc<str> = name.into();
                let sign = self.at;
                let is_negative = match self.kind() {
                    Tok::Sign(b'+') => Some(false),
                    Tok::Sign(b'-') => Some(true),
                    _ => None,
                };
                let mut offset = 0;
                if let Some(is_negative) = is_negative {
                    self.bump();
                    let distance = i128::from(self.number::<u64>("an offset")?);
                    match i64::try_from(if is_negative { -distance } else { distance }) {
                        Ok(fits) => offset = fits,
                        Err(_) => return Err(self.error(sign + 1, "the offset does not fit 64 bits")),
                    }
                }
                uses.push((Arc::clone(&name), token));
                init.push(Init::Address(name, offset));
                Ok(())
            }
            Tok::Word if self.eat_word("zero") => {
                let bytes = self.number("a number of bytes")?;
                init.push(Init::Zero(bytes));
                Ok(())
            }
            Tok::Word if self.eat_word("poison") => {
                let bytes = self.number("a number of bytes")?;
                init.push(Init::Poison(bytes));
                Ok(())
            }
            Tok::Word if self.at_type() => {
                let scalar = self.scalar()?;
                init.push(Init::Values(scalar, Vec::new()));
                if !self.at_scalar_literal() {
                    return Err(self.unexpected(["a number"]));
                }
                self.init(init, uses)
            }
            _ => Err(self.unexpected(["a typed value", "`zero`", "`poison`", "a global's name"])),
        }
    }

    fn function(&mut self, has_body: bool) -> Parsed<()> {
        let kind = match self.word() {
            Some("kernel") => {
                self.bump();
                Kind::Kernel(if self.eat_sign(b'(') { Some(self.group_size()?) } else { None })
            }
            Some("func") if has_body => {
                self.bump();
                Kind::Function
            }
            _ => Kind::Function,
        };
        let (token, name) = self.name()?;
        let index = self.tree.functions.len();
        let name = name.into_owned();
        self.tree.functions.push(FunctionItem { name, token, kind, signature: None, body: None });
        self.body = Body::default();
        self.sign(b'(')?;
        let mut params = Vec::new();
        self.list(b')', |parser| {
            if has_body {
                let value = parser.value_definition()?;
                parser.body.params.push(value);
                parser.sign(b':')?;
            }
            params.push(parser.param()?);
            Ok(())
        })?;
        let mut results = Vec::new();
        if self.kind() == Tok::Arrow {
            self.bump();
            loop {
                let ty = self.ty()?;
                let shape = self.shape()?;
                results.push(Returned { ty, shape });
                if !self.eat_sign(b',') {
                    break;
                }
                self.skip_newlines();
            }
        }
        let effects = self.effects()?;
        if has_body {
            self.sign(b'{')?;
        }
        self.tree.functions[index].signature = Some(Signature { params, results, effects });
        if has_body {
            let read = self.body();
            self.tree.functions[index].body = Some(std::mem::take(&mut self.body));
            read?;
        }
        Ok(())
    }

    fn group_size(&mut self) -> Parsed<[u32; 3]> {
        let mut size = [1; 3];
        for (index, dim) in size.iter_mut().enumerate() {
            if index > 0 {
                self.sign(b',')?;
            }
            *dim = self.number("a size")?;
        }
        self.sign(b')')?;
        Ok(size)
    }

    fn param(&mut self) -> Parsed<Param> {
        let mut param = Param::new(self.ty()?);
        loop {
            match self.word() {
                Some("noalias") => {
                    self.bump();
                    param.noalias = true;
                }
                Some("readonly") => {
                    self.bump();
                    param.readonly = true;
                }
                Some("align") => {
                    self.bump();
                    param.align = self.number("an alignment")?;
                }
                Some("dereferenceable") => {
                    self.bump();
                    param.dereferenceable = self.number("a number of bytes")?;
                }
                _ => match self.shape()? {
                    None => return Ok(param),
                    shape => param.shape = shape,
                },
            }
        }
    }

    fn shape(&mut self) -> Parsed<Option<DeclaredShape>> {
        Ok(Some(match self.word() {
            Some("uniform") => {
                self.bump();
                DeclaredShape::Uniform
            }
            Some("varying") => {
                self.bump();
                DeclaredShape::Varying
            }
            Some("linear") => {
                self.bump();
                self.sign(b'(')?;
                let mut strides = SmallVec::new();
                self.list(b')', |parser| {
                    strides.push(parser.signed_number("a stride")?);
                    Ok(())
                })?;
                DeclaredShape::Linear(strides)
            }
            _ => return Ok(None),
        }))
    }

    fn effects(&mut self) -> Parsed<Effects> {
        if self.eat_word("pure") {
            return Ok(Effects::PURE);
        }
        if !self.eat_word("effects") {
            return Ok(Effects::ANY);
        }
        let mut effects = Effects::PURE;
        self.sign(b'(')?;
        self.list(b')', |parser| {
            let names = Effects::PURE.words().map(|(name, _)| name);
            let name = parser.choice("an effect", &names, |name| name)?;
            *effects.word_mut(name).expect("the word is from the list") = true;
            Ok(())
        })?;
        Ok(effects)
    }
}

/// Blocks and instructions.
impl Parser<'_, '_> {
    fn body(&mut self) -> Parsed<()> {
        let mut is_homeless_reported = false;
        loop {
            self.skip_newlines();
            match self.kind() {
                Tok::Sign(b'}') => {
                    self.bump();
                    return Ok(());
                }
                _ if self.errors.is_full() => return Err(Reported),
                Tok::End => return Err(self.unexpected(["an instruction", "`}`"])),
                _ if self.at_item() => return Err(self.unexpected(["an instruction", "`}`"])),
                Tok::Word
                    if self.entity_ahead(0, "block") && matches!(self.ahead(1), Tok::Sign(b':' | b'[')) =>
                {
                    if self.block().is_err() {
                        self.skip_line();
                    }
                }
                _ => {
                    if self.body.blocks.is_empty() && !self.body.is_partial && !is_homeless_reported {
                        self.unexpected(["a block like `block0:`"]);
                        is_homeless_reported = true;
                    }
                    self.line();
                }
            }
        }
    }

    /// Goes to the end of the line, or to the brace that ends the function.
    fn skip_line(&mut self) {
        let mut depth = 0;
        loop {
            match self.kind() {
                Tok::Newline | Tok::End => return,
                Tok::Sign(b'}') if depth == 0 => return,
                Tok::Sign(b'}') => depth -= 1,
                Tok::Sign(b'{') => depth += 1,
                _ => {}
            }
            self.at += 1;
        }
    }

    fn block(&mut self) -> Parsed<()> {
        let block = self.entity("block", "a block")?;
        let start = self.body.insts.len();
        let bound = self.spend(block, self.body.block_bound)?;
        self.body.block_bound = bound;
        self.body.blocks.push(BlockItem {
            block: Block::from_u32(block.number),
            token: block.token,
            predicate: None,
            insts: start..start,
        });
        if self.eat_sign(b'[') {
            let predicate = self.operand()?;
            self.sign(b']')?;
            self.body.blocks.last_mut().expect("it was just pushed").predicate = Some(predicate);
        }
        self.sign(b':')
    }

    fn line(&mut self) {
        let mut item = InstItem { results: SmallVec::new(), token: self.at, what: None };
        match self.instruction(&mut item) {
            Ok(what) => item.what = Some(Box::new(what)),
            Err(Reported) => self.skip_line(),
        }
        self.body.insts.push(item);
        let end = self.body.insts.len();
        if let Some(block) = self.body.blocks.last_mut() {
            block.insts.end = end;
        }
    }

    fn instruction(&mut self, item: &mut InstItem) -> Parsed<What> {
        if self.at_value() {
            loop {
                let result = self.value_definition()?;
                item.results.push(result);
                if !self.eat_sign(b',') {
                    break;
                }
            }
            self.sign(b'=')?;
        }
        item.token = self.at;
        let (op, before) = self.op()?;
        let flags = self.flags();
        let mut what = What {
            op,
            flags,
            written: None,
            operands: SmallVec::new(),
            detail: DetailItem::Known(Detail::None),
            loc: None,
            tags: SmallVec::new(),
        };
        self.details(&mut what, before)?;
        if self.eat_word("total") {
            what.flags = what.flags.with(Flag::Total);
        }
        if self.eat_word("at") {
            what.loc = Some(self.loc()?);
        }
        if self.eat_sign(b'!') {
            self.sign(b'{')?;
            self.list(b'}', |parser| {
                let tag = parser.choice("a kind of fact", Tag::ALL, Tag::name)?;
                let fact = parser.entity("fact", "a fact like `fact0`")?;
                parser.tree.fact_uses.push(fact);
                what.tags.push((tag, Fact::from_u32(fact.number)));
                Ok(())
            })?;
            what.tags.sort();
        }
        match self.kind() {
            Tok::Newline | Tok::End | Tok::Sign(b'}') => Ok(what),
            _ if self.at_operand() => Err(self.unexpected(["`,`", "the end of the line"])),
            _ => Err(self.unexpected(["the end of the line"])),
        }
    }

    fn op(&mut self) -> Parsed<(Op, bool)> {
        let Some(word) = self.word() else { return Err(self.unexpected(["an op"])) };
        let (op, before) = match word {
            "scan_before" => (Some(Op::Scan), true),
            word => (Op::from_name(word), false),
        };
        if let Some(op) = op {
            self.at += 1;
            return Ok((op, before));
        }
        let names = Op::ALL.iter().map(|op| op.name()).chain(["scan_before"]);
        let hint = nearest(word, names);
        let message = format!("there is no op {}", self.found());
        let message = message + &hint.map_or(String::new(), |hint| format!("; did you mean `{hint}`?"));
        Err(self.errors.push_expecting(self.text.span(self.at), message, hint))
    }

    fn flags(&mut self) -> Flags {
        let mut flags = Flags::NONE;
        while let Some(word) = self.word() {
            flags = match Flag::from_name(word) {
                None if word == "fast" => flags.union(Flags::FAST),
                None | Some(Flag::Total) => break,
                Some(flag) => flags.with(flag),
            };
            self.at += 1;
        }
        flags
    }

    fn loc(&mut self) -> Parsed<Loc> {
        let file = self.entity("file", "a file like `file0`")?;
        self.tree.file_uses.push(file);
        self.sign(b':')?;
        let line = self.number("a line")?;
        let column = if self.eat_sign(b':') { self.number("a column")? } else { 0 };
        Ok(Loc { file: File::from_u32(file.number), line, column })
    }

    /// Operands with commas between them, one at least.
    fn operands(&mut self, what: &mut What) -> Parsed<()> {
        loop {
            what.operands.push(self.operand()?);
            if !self.eat_sign(b',') {
                return Ok(());
            }
        }
    }

    /// Everything between the flags and `total`: the op's table row tells what.
    fn details(&mut self, what: &mut What, before: bool) -> Parsed<()> {
        let info = what.op.info();
        let mut rmw = Rmw::Add;
        let mut detail = match info.format {
            Format::IntCompare => {
                Detail::IntCompare(self.choice("a predicate", IntPredicate::ALL, IntPredicate::name)?)
            }
            Format::FloatCompare => {
                Detail::FloatCompare(self.choice("a predicate", FloatPredicate::ALL, FloatPredicate::name)?)
            }
            Format::Reduce => Detail::Reduce(self.reduction()?),
            Format::Scan => Detail::Scan { by: self.reduction()?, before },
            Format::Rmw => {
                rmw = self.choice("an atomic operation", Rmw::ALL, Rmw::name)?;
                Detail::None
            }
            Format::Fence => {
                let ordering = self.ordering()?;
                Detail::Fence(ordering, self.scope()?)
            }
            Format::Barrier => Detail::Barrier(self.scope()?),
            Format::Alloca => {
                let bytes = self.number("a number of bytes")?;
                if !self.eat_word("align") {
                    return Err(self.unexpected(["`align`"]));
                }
                Detail::Alloca { bytes, align: self.number("an alignment")? }
            }
            _ => Detail::None,
        };
        if let Gives::Written(_) = info.gives {
            what.written = Some(self.ty()?);
            if !info.operands.is_empty() {
                self.sign(b',')?;
            }
        }
        match info.format {
            Format::Dimension => {
                let dimension = if self.eat_sign(b',') { Some(self.number("a dimension")?) } else { None };
                detail = Detail::Dimension(dimension);
            }
            Format::FloatClass => {
                what.operands.push(self.operand()?);
                self.sign(b',')?;
                detail = Detail::FloatClass(self.number("a mask of float classes")?);
            }
            Format::Phi => detail = self.phi(what)?,
            Format::Branch => detail = self.branch(what)?,
            Format::Switch => {
                what.detail = self.switch(what)?;
                return Ok(());
            }
            Format::Return => {
                if self.at_operand() {
                    self.operands(what)?;
                }
            }
            Format::Call => {
                let (callee, _) = self.name()?;
                self.passed(what)?;
                what.detail = DetailItem::Call(callee);
                return Ok(());
            }
            Format::Launch => {
                let brush = self.brush()?;
                let (callee, _) = self.name()?;
                self.passed(what)?;
                let masked = self.eat_word("if");
                if masked {
                    what.operands.push(self.operand()?);
                }
                what.detail = DetailItem::Launch { callee, brush, masked };
                return Ok(());
            }
            _ if info.operands.is_empty() => {}
            _ => self.operands(what)?,
        }
        what.detail = match info.format {
            Format::Access => DetailItem::Access(self.access()?),
            Format::Transfer => {
                let write = self.access()?;
                let read = if self.eat_sign(b',') { self.access()? } else { AccessItem::default() };
                DetailItem::Transfer([write, read])
            }
            Format::Rmw => {
                let mut access = self.access()?;
                let ordering = self.ordering()?;
                access.atomic = Some((ordering, self.scope()?));
                DetailItem::Rmw(rmw, access)
            }
            Format::CompareExchange => {
                let mut access = self.access()?;
                let success = self.ordering()?;
                self.sign(b',')?;
                let failure = self.ordering()?;
                access.atomic = Some((success, self.scope()?));
                DetailItem::CompareExchange(access, failure)
            }
            Format::Permute => {
                let mut indices = Vec::new();
                self.sign(b'[')?;
                self.list(b']', |parser| {
                    indices.push(parser.number("the index of a lane")?);
                    Ok(())
                })?;
                DetailItem::Known(Detail::Permute(indices.into()))
            }
            _ => DetailItem::Known(detail),
        };
        Ok(())
    }

    fn reduction(&mut self) -> Parsed<Reduction> {
        self.choice("a reduction", Reduction::ALL, Reduction::name)
    }

    fn ordering(&mut self) -> Parsed<Ordering> {
        self.choice("a memory ordering", Ordering::ALL, Ordering::name)
    }

    fn scope(&mut self) -> Parsed<Scope> {
        self.choice("a scope", Scope::ALL, Scope::name)
    }

    fn access(&mut self) -> Parsed<AccessItem> {
        let mut access = AccessItem::default();
        loop {
            match self.word() {
                Some("align") => {
                    self.bump();
                    access.align = Some(self.number("an alignment")?);
                }
                Some("dereferenceable") => {
                    self.bump();
                    access.dereferenceable = self.number("a number of bytes")?;
                }
                Some("base") => {
                    self.bump();
                    access.base = Some(self.operand()?);
                }
                Some("atomic") => {
                    self.bump();
                    let ordering = self.ordering()?;
                    access.atomic = Some((ordering, self.scope()?));
                }
                _ => return Ok(access),
            }
        }
    }

    fn phi(&mut self, what: &mut What) -> Parsed<Detail> {
        let mut blocks = Blocks::new();
        let mut needs_more = false;
        while needs_more || self.is_sign(b'[') {
            self.sign(b'[')?;
            blocks.push(self.block_use()?);
            self.sign(b':')?;
            what.operands.push(self.operand()?);
            self.sign(b']')?;
            needs_more = self.eat_sign(b',');
            if needs_more {
                self.skip_newlines();
            }
        }
        if self.eat_word("shadow") {
            self.sign(b'(')?;
            what.operands.push(self.operand()?);
            self.sign(b')')?;
        }
        Ok(Detail::Phi(blocks))
    }

    fn branch(&mut self, what: &mut What) -> Parsed<Detail> {
        if !self.entity_ahead(0, "block") {
            if !self.at_operand() {
                return Err(self.unexpected(["a block", "a condition"]));
            }
            what.operands.push(self.operand()?);
            self.sign(b',')?;
        }
        let mut targets = Blocks::from([self.block_use()?]);
        while self.eat_sign(b',') {
            targets.push(self.block_use()?);
        }
        let mut weights = None;
        if self.eat_word("weights") {
            self.sign(b'(')?;
            let first = self.number("a weight")?;
            self.sign(b',')?;
            weights = Some(Box::new([first, self.number("a weight")?]));
            self.sign(b')')?;
        }
        Ok(Detail::Branch(targets, weights))
    }

    fn switch(&mut self, what: &mut What) -> Parsed<DetailItem> {
        what.operands.push(self.operand()?);
        self.sign(b',')?;
        let mut targets = vec![self.block_use()?];
        let mut cases = Vec::new();
        self.sign(b'[')?;
        self.list(b']', |parser| {
            cases.push(parser.scalar_literal()?);
            parser.sign(b':')?;
            targets.push(parser.block_use()?);
            Ok(())
        })?;
        Ok(DetailItem::Switch(cases, targets))
    }

    /// The arguments of a call.
    fn passed(&mut self, what: &mut What) -> Parsed<()> {
        self.sign(b'(')?;
        self.list(b')', |parser| {
            what.operands.push(parser.operand()?);
            Ok(())
        })
    }

    fn brush(&mut self) -> Parsed<SmallVec<[u32; 3]>> {
        if self.kind() != Tok::Number {
            return Err(self.unexpected(["a number of lanes like `8` or `4x2`"]));
        }
        let token = self.bump();
        let text = self.text.text(token);
        let is_decimal = |dim: &str| dim.bytes().all(|byte| byte.is_ascii_digit());
        let dims: Option<SmallVec<[u32; 3]>> =
            text.split('x').map(|dim| dim.parse().ok().filter(|_| is_decimal(dim))).collect();
        match dims {
            Some(dims) if dims.len() <= 3 => Ok(dims),
            _ => {
                Err(self.error(token, format!("`{}` is no brush: write `8`, `4x2` or `4x2x2`", short(text))))
            }
        }
    }
}
