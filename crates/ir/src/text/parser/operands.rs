//! Parses types, operands and literals.

use super::{Parsed, Parser};
use crate::text::lexer::TokenKind;
use crate::text::syntax::*;
use crate::types::{MAX_LANES, Scalar, Space, Type};

impl Parser<'_, '_> {
    pub(super) fn at_type(&self) -> bool {
        match self.kind() {
            TokenKind::Sign(b'<') => {
                self.ahead(1) == TokenKind::Number
                    && self.ahead(2) == TokenKind::Word
                    && self.text.text(self.at + 2) == "x"
            }
            TokenKind::Word => {
                let word = self.text.text(self.at);
                scalar_of(word).is_some() || word == "mask"
            }
            _ => false,
        }
    }

    pub(super) fn ty(&mut self) -> Parsed<Type> {
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

    pub(super) fn scalar(&mut self) -> Parsed<Scalar> {
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

    pub(super) fn at_scalar_literal(&self) -> bool {
        match self.kind() {
            TokenKind::Number => true,
            TokenKind::Word => {
                matches!(self.text.text(self.at), "true" | "false" | "null" | "inf" | "nan")
            }
            _ => false,
        }
    }

    pub(super) fn scalar_literal(&mut self) -> Parsed<u32> {
        if self.at_scalar_literal() { Ok(self.bump()) } else { Err(self.unexpected(["a number"])) }
    }

    pub(super) fn at_operand(&self) -> bool {
        match self.kind() {
            TokenKind::Name | TokenKind::Number | TokenKind::Sign(b'<') => true,
            TokenKind::Word => {
                self.at_value()
                    || self.at_type()
                    || self.at_scalar_literal()
                    || matches!(self.text.text(self.at), "poison" | "splat")
            }
            _ => false,
        }
    }

    pub(super) fn operand(&mut self) -> Parsed<OperandItem> {
        let token = self.at;
        let ty = if self.at_type() { Some(self.ty()?) } else { None };
        let start = self.at;
        let form = match self.kind() {
            TokenKind::Name => OperandForm::Global(self.name()?.0),
            TokenKind::Word if self.at_value() => OperandForm::Value(self.entity("v", "a value")?.number),
            TokenKind::Sign(b'<') => {
                self.bump();
                self.list(b'>', |parser| parser.scalar_literal().map(drop))?;
                OperandForm::Literal(start)
            }
            _ if self.at_scalar_literal() || self.word() == Some("poison") => {
                OperandForm::Literal(self.bump())
            }
            _ if self.eat_word("splat") => {
                self.scalar_literal()?;
                OperandForm::Literal(start)
            }
            _ => return Err(self.unexpected(["a value", "a literal", "a global's name"])),
        };
        Ok(OperandItem { token, ty, form })
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
