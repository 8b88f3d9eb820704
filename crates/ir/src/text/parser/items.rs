//! Parses the items of a module, up to a function's head.

use super::{Parsed, Parser, digits_of};
use crate::module::{
    DeclaredShape, Effects, FunctionKind, Global, GlobalInit, MetadataNode, MetadataOperand, Param,
    ReturnValue, Signature,
};
use crate::text::lexer::TokenKind;
use crate::text::literal::read_scalar;
use crate::text::names::read_text;
use crate::text::syntax::*;
use crate::types::Scalar;
use smallvec::SmallVec;
use std::sync::Arc;

impl Parser<'_, '_> {
    pub(super) fn module(&mut self) {
        loop {
            self.skip_newlines();
            let start = self.at;
            if self.kind() == TokenKind::End || self.errors.is_full() {
                return;
            }
            if self.item().is_err() {
                self.skip_to_item(start);
            }
        }
    }

    pub(super) fn at_item(&self) -> bool {
        match self.kind() {
            TokenKind::Word => {
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
        let is_first = |parser: &Self| parser.text.kind(parser.at - 1) == TokenKind::Newline;
        while self.kind() != TokenKind::End && !(is_first(self) && self.at_item()) {
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
            TokenKind::Newline | TokenKind::End => Ok(()),
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
        if self.kind() != TokenKind::Text {
            return Err(self.unexpected(["a text between quotes"]));
        }
        let name = self.quoted()?;
        self.tree.files.push(name);
        Ok(())
    }

    /// Parses a string literal.
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

    /// Parses an operand of the metadata node of this number.
    fn fact_part(&mut self, number: usize) -> Parsed<MetadataOperand> {
        if self.kind() == TokenKind::Text {
            return Ok(MetadataOperand::Text(self.quoted()?));
        }
        if self.entity_ahead(0, "fact") {
            let part = self.entity("fact", "a fact")?;
            return match (part.number as usize) < number {
                true => Ok(MetadataOperand::Node(MetadataNode::from_u32(part.number))),
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
            Ok(bits) => Ok(MetadataOperand::Number(scalar, bits)),
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

    /// Parses a piece of an initializer, or one more value of the preceding piece.
    fn init(&mut self, init: &mut Vec<GlobalInit>, uses: &mut Vec<(Arc<str>, u32)>) -> Parsed<()> {
        if self.at_scalar_literal()
            && let Some(GlobalInit::Values(scalar, values)) = init.last_mut()
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
            TokenKind::Name => {
                let (token, name) = self.name()?;
                let name: Arc<str> = name.into();
                let sign = self.at;
                let is_negative = match self.kind() {
                    TokenKind::Sign(b'+') => Some(false),
                    TokenKind::Sign(b'-') => Some(true),
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
                init.push(GlobalInit::Address(name, offset));
                Ok(())
            }
            TokenKind::Word if self.eat_word("zero") => {
                let bytes = self.number("a number of bytes")?;
                init.push(GlobalInit::Zero(bytes));
                Ok(())
            }
            TokenKind::Word if self.eat_word("poison") => {
                let bytes = self.number("a number of bytes")?;
                init.push(GlobalInit::Poison(bytes));
                Ok(())
            }
            TokenKind::Word if self.eat_word("extern") => {
                let bytes = self.number("a number of bytes")?;
                init.push(GlobalInit::Extern(bytes));
                Ok(())
            }
            TokenKind::Word if self.at_type() => {
                let scalar = self.scalar()?;
                init.push(GlobalInit::Values(scalar, Vec::new()));
                if !self.at_scalar_literal() {
                    return Err(self.unexpected(["a number"]));
                }
                self.init(init, uses)
            }
            _ => Err(self.unexpected(["a typed value", "`zero`", "`poison`", "`extern`", "a global's name"])),
        }
    }

    pub(super) fn function(&mut self, has_body: bool) -> Parsed<()> {
        let kind = match self.word() {
            Some("kernel") => {
                self.bump();
                FunctionKind::Kernel(if self.eat_sign(b'(') { Some(self.group_size()?) } else { None })
            }
            Some("func") if has_body => {
                self.bump();
                FunctionKind::Function
            }
            _ => FunctionKind::Function,
        };
        let (token, name) = self.name()?;
        let index = self.tree.functions.len();
        let name = name.into_owned();
        self.tree.functions.push(FunctionItem { name, token, kind, signature: None, body: None });
        self.body = BodyItem::default();
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
        if self.kind() == TokenKind::Arrow {
            self.bump();
            loop {
                let ty = self.ty()?;
                let shape = self.shape()?;
                results.push(ReturnValue { ty, shape });
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
