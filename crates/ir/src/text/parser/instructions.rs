//! Parses blocks and instructions.

use super::{Parsed, Parser};
use crate::Block;
use crate::function::{MetadataKind, SourceLoc};
use crate::inst::{BlockList, Detail};
use crate::module::{File, MetadataNode};
use crate::ops::{InstFormat, Op, ResultConstraint};
use crate::text::errors::{Reported, nearest, short};
use crate::text::lexer::TokenKind;
use crate::text::syntax::*;
use crate::types::MAX_DIMENSIONS;
use crate::words::{AtomicOrdering, Flag, Flags, FloatPredicate, IntPredicate, Reduction, Rmw, SyncScope};
use smallvec::SmallVec;

impl Parser<'_, '_> {
    pub(super) fn body(&mut self) -> Parsed<()> {
        let mut is_homeless_reported = false;
        loop {
            self.skip_newlines();
            match self.kind() {
                TokenKind::Sign(b'}') => {
                    self.bump();
                    return Ok(());
                }
                _ if self.errors.is_full() => return Err(Reported),
                TokenKind::End => return Err(self.unexpected(["an instruction", "`}`"])),
                _ if self.at_item() => return Err(self.unexpected(["an instruction", "`}`"])),
                TokenKind::Word
                    if self.entity_ahead(0, "block")
                        && matches!(self.ahead(1), TokenKind::Sign(b':' | b'[')) =>
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

    /// Skips to the end of the line, or to the brace that ends the function.
    fn skip_line(&mut self) {
        let mut depth = 0;
        loop {
            match self.kind() {
                TokenKind::Newline | TokenKind::End => return,
                TokenKind::Sign(b'}') if depth == 0 => return,
                TokenKind::Sign(b'}') => depth -= 1,
                TokenKind::Sign(b'{') => depth += 1,
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
        let mut item = InstItem { results: SmallVec::new(), token: self.at, spec: None };
        match self.instruction(&mut item) {
            Ok(spec) => item.spec = Some(Box::new(spec)),
            Err(Reported) => self.skip_line(),
        }
        self.body.insts.push(item);
        let end = self.body.insts.len();
        if let Some(block) = self.body.blocks.last_mut() {
            block.insts.end = end;
        }
    }

    fn instruction(&mut self, item: &mut InstItem) -> Parsed<InstSpec> {
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
        let mut spec = InstSpec {
            op,
            flags,
            written: None,
            operands: SmallVec::new(),
            detail: DetailItem::Known(Detail::None),
            loc: None,
            tags: SmallVec::new(),
        };
        self.details(&mut spec, before)?;
        if self.eat_word("total") {
            spec.flags = spec.flags.with(Flag::Total);
        }
        if self.eat_word("at") {
            spec.loc = Some(self.loc()?);
        }
        if self.eat_sign(b'!') {
            self.sign(b'{')?;
            self.list(b'}', |parser| {
                let tag = parser.choice("a kind of fact", MetadataKind::ALL, MetadataKind::name)?;
                let fact = parser.entity("fact", "a fact like `fact0`")?;
                parser.tree.fact_uses.push(fact);
                spec.tags.push((tag, MetadataNode::from_u32(fact.number)));
                Ok(())
            })?;
            spec.tags.sort();
        }
        match self.kind() {
            TokenKind::Newline | TokenKind::End | TokenKind::Sign(b'}') => Ok(spec),
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
        let message = format!("unknown op {}", self.found());
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

    fn loc(&mut self) -> Parsed<SourceLoc> {
        let file = self.entity("file", "a file like `file0`")?;
        self.tree.file_uses.push(file);
        self.sign(b':')?;
        let line = self.number("a line")?;
        let column = if self.eat_sign(b':') { self.number("a column")? } else { 0 };
        Ok(SourceLoc { file: File::from_u32(file.number), line, column })
    }

    /// Parses a non-empty list of operands.
    fn operands(&mut self, spec: &mut InstSpec) -> Parsed<()> {
        loop {
            spec.operands.push(self.operand()?);
            if !self.eat_sign(b',') {
                return Ok(());
            }
        }
    }

    /// Parses everything between the flags and `total`, by the op's format.
    fn details(&mut self, spec: &mut InstSpec, before: bool) -> Parsed<()> {
        let info = spec.op.info();
        let mut rmw = Rmw::Add;
        let mut detail = match info.format {
            InstFormat::IntCompare => {
                Detail::IntCompare(self.choice("a predicate", IntPredicate::ALL, IntPredicate::name)?)
            }
            InstFormat::FloatCompare => {
                Detail::FloatCompare(self.choice("a predicate", FloatPredicate::ALL, FloatPredicate::name)?)
            }
            InstFormat::Reduce => Detail::Reduce(self.reduction()?),
            InstFormat::Scan => Detail::Scan { by: self.reduction()?, before },
            InstFormat::Rmw => {
                rmw = self.choice("an atomic operation", Rmw::ALL, Rmw::name)?;
                Detail::None
            }
            InstFormat::Fence => {
                let ordering = self.ordering()?;
                Detail::Fence(ordering, self.scope()?)
            }
            InstFormat::Barrier => Detail::Barrier(self.scope()?),
            InstFormat::Alloca => {
                let bytes = self.number("a number of bytes")?;
                if !self.eat_word("align") {
                    return Err(self.unexpected(["`align`"]));
                }
                Detail::Alloca { bytes, align: self.number("an alignment")? }
            }
            _ => Detail::None,
        };
        if let ResultConstraint::Written(_) = info.gives {
            spec.written = Some(self.ty()?);
            if !info.operands.is_empty() {
                self.sign(b',')?;
            }
        }
        match info.format {
            InstFormat::Dimension => {
                let dimension = if self.eat_sign(b',') { Some(self.number("a dimension")?) } else { None };
                detail = Detail::Dimension(dimension);
            }
            InstFormat::FloatClass => {
                spec.operands.push(self.operand()?);
                self.sign(b',')?;
                detail = Detail::FloatClass(self.number("a mask of float classes")?);
            }
            InstFormat::Phi => detail = self.phi(spec)?,
            InstFormat::Branch => detail = self.branch(spec)?,
            InstFormat::Switch => {
                spec.detail = self.switch(spec)?;
                return Ok(());
            }
            InstFormat::Return => {
                if self.at_operand() {
                    self.operands(spec)?;
                }
            }
            InstFormat::Call => {
                let (callee, _) = self.name()?;
                self.passed(spec)?;
                spec.detail = DetailItem::Call(callee);
                return Ok(());
            }
            InstFormat::Launch => {
                let brush = self.brush()?;
                let (callee, _) = self.name()?;
                self.passed(spec)?;
                let masked = self.eat_word("if");
                if masked {
                    spec.operands.push(self.operand()?);
                }
                spec.detail = DetailItem::Launch { callee, brush, masked };
                return Ok(());
            }
            _ if info.operands.is_empty() => {}
            _ => self.operands(spec)?,
        }
        spec.detail = match info.format {
            InstFormat::Access => DetailItem::Access(self.access()?),
            InstFormat::Transfer => {
                let write = self.access()?;
                let read = if self.eat_sign(b',') { self.access()? } else { AccessItem::default() };
                DetailItem::Transfer([write, read])
            }
            InstFormat::Rmw => {
                let mut access = self.access()?;
                let ordering = self.ordering()?;
                access.atomic = Some((ordering, self.scope()?));
                DetailItem::Rmw(rmw, access)
            }
            InstFormat::CompareExchange => {
                let mut access = self.access()?;
                let success = self.ordering()?;
                self.sign(b',')?;
                let failure = self.ordering()?;
                access.atomic = Some((success, self.scope()?));
                DetailItem::CompareExchange(access, failure)
            }
            InstFormat::Permute => {
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

    fn ordering(&mut self) -> Parsed<AtomicOrdering> {
        self.choice("a memory ordering", AtomicOrdering::ALL, AtomicOrdering::name)
    }

    fn scope(&mut self) -> Parsed<SyncScope> {
        self.choice("a scope", SyncScope::ALL, SyncScope::name)
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

    fn phi(&mut self, spec: &mut InstSpec) -> Parsed<Detail> {
        let mut blocks = BlockList::new();
        let mut needs_more = false;
        while needs_more || self.is_sign(b'[') {
            self.sign(b'[')?;
            blocks.push(self.block_use()?);
            self.sign(b':')?;
            spec.operands.push(self.operand()?);
            self.sign(b']')?;
            needs_more = self.eat_sign(b',');
            if needs_more {
                self.skip_newlines();
            }
        }
        if self.eat_word("shadow") {
            self.sign(b'(')?;
            spec.operands.push(self.operand()?);
            self.sign(b')')?;
        }
        Ok(Detail::Phi(blocks))
    }

    fn branch(&mut self, spec: &mut InstSpec) -> Parsed<Detail> {
        if !self.entity_ahead(0, "block") {
            if !self.at_operand() {
                return Err(self.unexpected(["a block", "a condition"]));
            }
            spec.operands.push(self.operand()?);
            self.sign(b',')?;
        }
        let mut targets = BlockList::from([self.block_use()?]);
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

    fn switch(&mut self, spec: &mut InstSpec) -> Parsed<DetailItem> {
        spec.operands.push(self.operand()?);
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

    /// Parses the arguments of a call.
    fn passed(&mut self, spec: &mut InstSpec) -> Parsed<()> {
        self.sign(b'(')?;
        self.list(b')', |parser| {
            spec.operands.push(parser.operand()?);
            Ok(())
        })
    }

    fn brush(&mut self) -> Parsed<SmallVec<[u32; 3]>> {
        if self.kind() != TokenKind::Number {
            return Err(self.unexpected(["a number of lanes like `8` or `4x2`"]));
        }
        let token = self.bump();
        let text = self.text.text(token);
        let is_decimal = |dim: &str| dim.bytes().all(|byte| byte.is_ascii_digit());
        let dims: Option<SmallVec<[u32; 3]>> =
            text.split('x').map(|dim| dim.parse().ok().filter(|_| is_decimal(dim))).collect();
        match dims {
            Some(dims) if dims.len() <= MAX_DIMENSIONS => Ok(dims),
            _ => {
                Err(self
                    .error(token, format!("`{}` is not a brush: write `8`, `4x2` or `4x2x2`", short(text))))
            }
        }
    }
}
