//! Parser of PTX. Recovers after the next semicolon and reports up to 20 errors.

use crate::lexer::{PtxLexer, PtxToken, PtxTokenKind};
use crate::module::{
    DebugLine, Directives, Linkage, NumberValue, PtxFunction, PtxGuard, PtxInitializer, PtxInstruction,
    PtxItem, PtxModule, PtxNumber, PtxOperand, PtxStatement, PtxVariable,
};
use crate::names::{PtxNames, Symbol};
use crate::table;
use crate::words::Word;
use heddle_ir::diagnostic::{Code, Diagnostic};
use smallvec::SmallVec;

/// Maximum number of errors reported for a text.
pub(crate) const MAX_ERRORS: usize = 20;
/// Maximum nesting of operands: a list of vectors within an address.
const MAX_DEPTH: u32 = 4;

/// Parses a module.
pub fn parse(source: &str) -> Result<PtxModule<'_>, Vec<Diagnostic>> {
    let mut lexer = PtxLexer::new(source);
    let token = lexer.next();
    let mut parser = PtxParser { source, lexer, token, names: PtxNames::default(), errors: Vec::new() };
    let mut items = Vec::new();
    while parser.token.kind != PtxTokenKind::End && parser.errors.len() < MAX_ERRORS {
        let before = parser.token.at;
        if parser.item(&mut items).is_err() {
            parser.skip_item(before);
        }
    }
    if parser.errors.is_empty() {
        Ok(PtxModule { source, names: parser.names, items })
    } else {
        Err(parser.errors)
    }
}

/// Marker: the error has been reported.
struct ErrorReported;

type ParseResult<T> = Result<T, ErrorReported>;

struct PtxParser<'s> {
    source: &'s str,
    lexer: PtxLexer<'s>,
    token: PtxToken<'s>,
    names: PtxNames<'s>,
    errors: Vec<Diagnostic>,
}

impl<'s> PtxParser<'s> {
    // Tokens.

    fn advance(&mut self) -> PtxToken<'s> {
        let next = self.lexer.next();
        std::mem::replace(&mut self.token, next)
    }

    fn is_sign(&self, sign: u8) -> bool {
        self.token.kind == PtxTokenKind::Sign(sign)
    }

    fn accept(&mut self, sign: u8) -> bool {
        let found = self.is_sign(sign);
        if found {
            self.advance();
        }
        found
    }

    fn expect(&mut self, sign: u8) -> ParseResult<()> {
        if self.accept(sign) { Ok(()) } else { self.unexpected(&[&format!("`{}`", sign as char)]) }
    }

    fn is_dotted(&self, word: &str) -> bool {
        self.token.kind == PtxTokenKind::Dotted && self.token.text == word
    }

    fn accept_dotted(&mut self, word: &str) -> bool {
        let found = self.is_dotted(word);
        if found {
            self.advance();
        }
        found
    }

    fn unexpected<T>(&mut self, expected: &[&str]) -> ParseResult<T> {
        let found = match self.token.kind {
            PtxTokenKind::End => "unexpected end of the text".to_string(),
            PtxTokenKind::Dotted => format!("unexpected `.{}`", self.token.text),
            PtxTokenKind::Text => "unexpected string".to_string(),
            _ => format!("unexpected `{}`", self.token.text.escape_debug()),
        };
        let list = expected.join(" or ");
        self.error(self.token.span(), format!("{found}; expected {list}"))
    }

    fn error<T>(&mut self, span: std::ops::Range<usize>, text: impl Into<String>) -> ParseResult<T> {
        if self.errors.len() < MAX_ERRORS {
            let error = Diagnostic::error(Code::Syntax, text).in_text(self.source.as_bytes(), span);
            self.errors.push(error);
        }
        Err(ErrorReported)
    }

    fn name(&mut self) -> ParseResult<Symbol> {
        if self.token.kind != PtxTokenKind::Name {
            return self.unexpected(&["a name"]);
        }
        let token = self.advance();
        Ok(self.names.intern(token.text))
    }

    /// Skips to the start of the next item.
    fn skip_item(&mut self, before: usize) {
        if self.token.at == before {
            self.advance();
        }
        let mut depth = 0u32;
        loop {
            match self.token.kind {
                PtxTokenKind::End => return,
                PtxTokenKind::Sign(b'{') => depth += 1,
                PtxTokenKind::Sign(b'}') => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        self.advance();
                        return;
                    }
                }
                PtxTokenKind::Sign(b';') if depth == 0 => {
                    self.advance();
                    return;
                }
                _ => {}
            }
            self.advance();
        }
    }

    /// Skips to the next statement of a body.
    fn skip_statement(&mut self, before: usize) {
        if self.token.at == before && !matches!(self.token.kind, PtxTokenKind::Sign(b'}' | b'{')) {
            self.advance();
        }
        while !matches!(self.token.kind, PtxTokenKind::End | PtxTokenKind::Sign(b'}' | b'{')) {
            if self.advance().kind == PtxTokenKind::Sign(b';') {
                return;
            }
        }
    }

    // Numbers.

    fn unsigned(&mut self) -> ParseResult<u64> {
        let token = self.token;
        match self.number()?.value {
            NumberValue::Int(value) => Ok(value),
            _ => self.error(token.span(), "a count is an integer"),
        }
    }

    fn number(&mut self) -> ParseResult<PtxNumber<'s>> {
        let mut negative = false;
        while self.is_sign(b'-') || self.is_sign(b'+') {
            negative ^= self.advance().kind == PtxTokenKind::Sign(b'-');
        }
        if self.token.kind != PtxTokenKind::Number {
            return self.unexpected(&["a number"]);
        }
        let token = self.advance();
        match number_value(token.text, negative) {
            Some(value) => Ok(PtxNumber { text: token.text, negative, value }),
            None => self.error(
                token.span(),
                format!("`{}` is not a number of at most 64 bits: integers are written `12`, `0x1f`, `0b1`, floats `0f3F800000`, `1.5`", token.text),
            ),
        }
    }

    // Items.

    fn item(&mut self, items: &mut Vec<PtxItem<'s>>) -> ParseResult<()> {
        if self.token.kind != PtxTokenKind::Dotted {
            return self.unexpected(&["a directive such as `.version`, `.visible` or `.entry`"]);
        }
        let token = self.token;
        let item = match token.text {
            "version" => {
                self.advance();
                if self.token.kind != PtxTokenKind::Number {
                    return self.unexpected(&["a version such as `8.8`"]);
                }
                PtxItem::Version(self.advance().text)
            }
            "target" => {
                self.advance();
                let mut words = Vec::new();
                loop {
                    if self.token.kind != PtxTokenKind::Name {
                        return self.unexpected(&["a target such as `sm_75`"]);
                    }
                    words.push(self.advance().text);
                    if !self.accept(b',') {
                        break PtxItem::Target(words);
                    }
                }
            }
            "address_size" => {
                self.advance();
                PtxItem::AddressSize(self.unsigned()?)
            }
            "file" => self.file()?,
            "section" => self.section()?,
            "pragma" => PtxItem::Pragma(self.pragma()?),
            "alias" => {
                self.advance();
                let name = self.name()?;
                self.expect(b',')?;
                let of = self.name()?;
                self.expect(b';')?;
                PtxItem::Alias(name, of)
            }
            _ => {
                let linkage = Linkage::from_text(token.text);
                if linkage.is_some() {
                    self.advance();
                }
                match self.token.text {
                    "entry" | "func" if self.token.kind == PtxTokenKind::Dotted => {
                        PtxItem::Function(self.function(token.at, linkage)?)
                    }
                    _ => {
                        return self.declaration(token.at, linkage, |variable| {
                            items.push(PtxItem::Variable(variable));
                        });
                    }
                }
            }
        };
        items.push(item);
        Ok(())
    }

    fn text(&mut self) -> ParseResult<&'s str> {
        if self.token.kind != PtxTokenKind::Text {
            return self.unexpected(&["a text in quotes"]);
        }
        let text = self.advance().text;
        Ok(&text[1..text.len() - 1])
    }

    fn file(&mut self) -> ParseResult<PtxItem<'s>> {
        self.advance();
        let number = self.unsigned()?;
        let mut name = self.text()?;
        let mut folder = None;
        if self.token.kind == PtxTokenKind::Text {
            folder = Some(std::mem::replace(&mut name, self.text()?));
        }
        let mut stamp = None;
        if self.accept(b',') {
            let time = self.unsigned()?;
            self.expect(b',')?;
            stamp = Some((time, self.unsigned()?));
        }
        Ok(PtxItem::File { number, folder, name, stamp })
    }

    fn pragma(&mut self) -> ParseResult<Vec<&'s str>> {
        self.advance();
        let mut texts = vec![self.text()?];
        while self.accept(b',') {
            texts.push(self.text()?);
        }
        self.expect(b';')?;
        Ok(texts)
    }

    fn section(&mut self) -> ParseResult<PtxItem<'s>> {
        self.advance();
        if self.token.kind != PtxTokenKind::Dotted {
            return self.unexpected(&["the name of a section, with its dot"]);
        }
        let name = self.advance().text;
        self.expect(b'{')?;
        let mut lines = Vec::new();
        while !self.accept(b'}') {
            match self.token.kind {
                PtxTokenKind::Name => {
                    let label = self.advance().text;
                    self.expect(b':')?;
                    lines.push(DebugLine::Label(label));
                }
                PtxTokenKind::Dotted => {
                    let ty = self.word()?;
                    let mut values = vec![self.debug_value()?];
                    while self.accept(b',') {
                        values.push(self.debug_value()?);
                    }
                    lines.push(DebugLine::Data(ty, values));
                }
                _ => return self.unexpected(&["data such as `.b8 1, 2`", "`}`"]),
            }
        }
        Ok(PtxItem::Section(name, lines))
    }

    /// Parses `12`, `name`, `.debug_line+4`, `a-b`.
    fn debug_value(&mut self) -> ParseResult<SmallVec<[&'s str; 4]>> {
        let mut parts: SmallVec<[&'s str; 4]> = SmallVec::new();
        while self.is_sign(b'-') {
            parts.push(self.advance().text);
        }
        loop {
            match self.token.kind {
                PtxTokenKind::Name | PtxTokenKind::Number | PtxTokenKind::Dotted => {
                    let token = self.advance();
                    parts.push(&self.source[token.span()]);
                }
                _ => return self.unexpected(&["a value"]),
            }
            if !self.is_sign(b'+') && !self.is_sign(b'-') {
                return Ok(parts);
            }
            while self.is_sign(b'+') || self.is_sign(b'-') {
                parts.push(self.advance().text);
            }
        }
    }

    /// Parses a known keyword after a dot.
    fn word(&mut self) -> ParseResult<Word> {
        if self.token.kind != PtxTokenKind::Dotted {
            return self.unexpected(&["a type such as `.u32`"]);
        }
        let word = self.names.find(self.token.text).and_then(Symbol::word);
        match word {
            Some(word) => {
                self.advance();
                Ok(word)
            }
            None => self.unexpected(&["a type or a space that PTX has"]),
        }
    }

    fn attribute(&mut self) -> ParseResult<Option<&'s str>> {
        if !self.is_dotted("attribute") {
            return Ok(None);
        }
        let start = self.advance().at;
        self.expect(b'(')?;
        while !self.is_sign(b')') {
            if self.token.kind == PtxTokenKind::End {
                return self.unexpected(&["`)`"]);
            }
            self.advance();
        }
        let end = self.advance().at + 1;
        Ok(Some(&self.source[start..end]))
    }

    /// Parses a variable, without its semicolon.
    fn variable(&mut self, at: usize, linkage: Option<Linkage>) -> ParseResult<PtxVariable<'s>> {
        let kind = self.declaration_prefix(at, linkage)?;
        self.declarator(kind)
    }

    /// Parses a declaration of one or more variables of one type, to its semicolon.
    fn declaration(
        &mut self,
        at: usize,
        linkage: Option<Linkage>,
        mut put: impl FnMut(PtxVariable<'s>),
    ) -> ParseResult<()> {
        let kind = self.declaration_prefix(at, linkage)?;
        let mut at = at;
        loop {
            put(self.declarator(PtxVariable { at, ..kind.clone() })?);
            if !self.accept(b',') {
                break;
            }
            // The offset identifies a variable, so each has its own.
            at = self.token.at;
        }
        self.expect(b';')
    }

    /// Parses the part of a declaration before the name.
    fn declaration_prefix(&mut self, at: usize, linkage: Option<Linkage>) -> ParseResult<PtxVariable<'s>> {
        let token = self.token;
        let space = self.word()?;
        if !matches!(space, Word::Reg | Word::Param | Word::Local | Word::Global | Word::Shared | Word::Const)
        {
            return self.error(token.span(), format!("`.{space}` is not a space for a variable: write `.reg`, `.param`, `.local`, `.global`, `.shared` or `.const`"));
        }
        let attribute = self.attribute()?;
        let mut align = None;
        let mut vector = None;
        let ty = loop {
            if self.accept_dotted("align") {
                align = Some(self.unsigned()?);
                continue;
            }
            let token = self.token;
            let word = self.word()?;
            match word {
                Word::V2 | Word::V4 | Word::V8 => vector = Some(word),
                _ if word.is_type() => break word,
                _ => return self.error(token.span(), format!("unknown type `.{word}`")),
            }
        };
        let token = self.token;
        if align.is_some_and(|align| !align.is_power_of_two() || align > 1 << 20) {
            return self.error(token.span(), "an alignment is a power of two of at most 2^20");
        }
        let mut pointer = None;
        if self.accept_dotted("ptr") {
            let mut to = None;
            let mut bytes = None;
            loop {
                if self.accept_dotted("align") {
                    bytes = Some(self.unsigned()?);
                } else if self.token.kind == PtxTokenKind::Dotted {
                    to = Some(self.word()?);
                } else {
                    break;
                }
            }
            pointer = Some((to, bytes));
        }
        let (name, dims) = (Symbol::from(space), SmallVec::new());
        Ok(PtxVariable {
            at,
            linkage,
            space,
            attribute,
            align,
            vector,
            ty,
            pointer,
            name,
            range: None,
            dims,
            init: None,
        })
    }

    /// Parses name, dimensions and initial value of a variable.
    fn declarator(&mut self, mut variable: PtxVariable<'s>) -> ParseResult<PtxVariable<'s>> {
        variable.name = self.name()?;
        if self.accept(b'<') {
            variable.range = Some(self.unsigned()?);
            self.expect(b'>')?;
        }
        while self.accept(b'[') {
            let dim = if self.is_sign(b']') { None } else { Some(self.unsigned()?) };
            variable.dims.push(dim);
            self.expect(b']')?;
        }
        if self.accept(b'=') {
            variable.init = Some(self.initializer()?);
        }
        Ok(variable)
    }

    fn initializer(&mut self) -> ParseResult<Vec<PtxInitializer<'s>>> {
        let mut parts = Vec::new();
        let mut depth = 0u32;
        loop {
            match self.token.kind {
                PtxTokenKind::Sign(b'{') => {
                    self.advance();
                    depth += 1;
                    parts.push(PtxInitializer::Open);
                    continue;
                }
                PtxTokenKind::Sign(b'}') if depth > 0 => {}
                PtxTokenKind::Name => {
                    let token = self.advance();
                    let generic = token.text == "generic" && self.accept(b'(');
                    let name = if generic { self.name()? } else { self.names.intern(token.text) };
                    if generic {
                        self.expect(b')')?;
                    }
                    let signed = self.is_sign(b'+') || self.is_sign(b'-');
                    let offset = if signed { Some(self.number()?) } else { None };
                    parts.push(PtxInitializer::Address { name, offset, generic });
                }
                _ => parts.push(PtxInitializer::Number(self.number()?)),
            }
            while depth > 0 && self.accept(b'}') {
                depth -= 1;
                parts.push(PtxInitializer::Close);
            }
            if depth == 0 {
                return Ok(parts);
            }
            self.expect(b',')?;
        }
    }

    fn variables(&mut self) -> ParseResult<Vec<PtxVariable<'s>>> {
        let mut list = Vec::new();
        self.expect(b'(')?;
        if self.accept(b')') {
            return Ok(list);
        }
        loop {
            let at = self.token.at;
            list.push(self.variable(at, None)?);
            if !self.accept(b',') {
                break;
            }
        }
        self.expect(b')')?;
        Ok(list)
    }

    fn directives(&mut self) -> ParseResult<Directives<'s>> {
        let mut list = Vec::new();
        while self.token.kind == PtxTokenKind::Dotted && self.token.text != "pragma" {
            let name = self.token.text;
            const KNOWN: [&str; 12] = [
                "maxntid",
                "reqntid",
                "minnctapersm",
                "maxnctapersm",
                "maxnreg",
                "noreturn",
                "explicitcluster",
                "reqnctapercluster",
                "maxclusterrank",
                "blocksareclusters",
                "abi_preserve",
                "abi_preserve_control",
            ];
            if !KNOWN.contains(&name) {
                return self.unexpected(&["a directive of functions such as `.maxntid`", "`{`", "`;`"]);
            }
            self.advance();
            let mut numbers = SmallVec::new();
            while self.token.kind == PtxTokenKind::Number {
                numbers.push(self.unsigned()?);
                if !self.accept(b',') {
                    break;
                }
            }
            list.push((name, numbers));
        }
        Ok(list)
    }

    fn function(&mut self, at: usize, linkage: Option<Linkage>) -> ParseResult<PtxFunction<'s>> {
        let is_kernel = self.advance().text == "entry";
        let attribute = self.attribute()?;
        let returns = if self.is_sign(b'(') { self.variables()? } else { Vec::new() };
        let name = self.name()?;
        let params = if self.is_sign(b'(') { self.variables()? } else { Vec::new() };
        let mut directives = Vec::new();
        let mut pragmas = Vec::new();
        loop {
            directives.extend(self.directives()?);
            if !self.is_dotted("pragma") {
                break;
            }
            pragmas.push(self.pragma()?);
        }
        let body = if self.accept(b';') { None } else { Some(self.body()?) };
        Ok(PtxFunction {
            at,
            linkage,
            attribute,
            is_kernel,
            returns,
            name,
            params,
            directives,
            pragmas,
            body,
        })
    }

    fn body(&mut self) -> ParseResult<Vec<PtxStatement<'s>>> {
        self.expect(b'{')?;
        let mut body = Vec::new();
        let mut depth = 0usize;
        loop {
            let before = self.token.at;
            match self.token.kind {
                PtxTokenKind::Sign(b'{') => {
                    self.advance();
                    depth += 1;
                    body.push(PtxStatement::Open);
                }
                PtxTokenKind::Sign(b'}') => {
                    self.advance();
                    if depth == 0 {
                        return Ok(body);
                    }
                    depth -= 1;
                    body.push(PtxStatement::Close);
                }
                PtxTokenKind::End => return self.unexpected(&["`}`"]),
                _ => match self.statement(&mut body) {
                    Ok(()) => {}
                    Err(ErrorReported) if self.errors.len() >= MAX_ERRORS => return Err(ErrorReported),
                    Err(ErrorReported) => self.skip_statement(before),
                },
            }
        }
    }

    fn place(&mut self) -> ParseResult<[u64; 3]> {
        Ok([self.unsigned()?, self.unsigned()?, self.unsigned()?])
    }

    fn statement(&mut self, body: &mut Vec<PtxStatement<'s>>) -> ParseResult<()> {
        let token = self.token;
        let statement = match token.kind {
            PtxTokenKind::Dotted => match token.text {
                "loc" => {
                    self.advance();
                    let place = self.place()?;
                    let mut inlined = None;
                    if self.accept(b',') {
                        let word = self.name()?;
                        if self.names.text(word) != "function_name" {
                            return self.unexpected(&["`function_name`"]);
                        }
                        let name = self.name()?;
                        let added = if self.accept(b'+') { Some(self.unsigned()?) } else { None };
                        self.expect(b',')?;
                        let word = self.name()?;
                        if self.names.text(word) != "inlined_at" {
                            return self.unexpected(&["`inlined_at`"]);
                        }
                        inlined = Some((name, added, self.place()?));
                    }
                    PtxStatement::Loc { place, inlined }
                }
                "pragma" => PtxStatement::Pragma(self.pragma()?),
                word => {
                    let linkage = Linkage::from_text(word);
                    if linkage.is_some() {
                        self.advance();
                    }
                    return self.declaration(token.at, linkage, |variable| {
                        body.push(PtxStatement::Variable(variable));
                    });
                }
            },
            PtxTokenKind::Name => {
                self.advance();
                if self.accept(b':') {
                    let name = self.names.intern(token.text);
                    body.push(self.after_label(name, token.at)?);
                    return Ok(());
                }
                self.instruction(token, token.at, None)?
            }
            PtxTokenKind::Sign(b'@') => {
                self.advance();
                let negated = self.accept(b'!');
                let register = self.name()?;
                if self.token.kind != PtxTokenKind::Name {
                    return self.unexpected(&["an instruction"]);
                }
                let mnemonic = self.advance();
                self.instruction(mnemonic, token.at, Some(PtxGuard { register, negated }))?
            }
            _ => return self.unexpected(&["an instruction, a directive or a label"]),
        };
        body.push(statement);
        Ok(())
    }

    fn after_label(&mut self, name: Symbol, at: usize) -> ParseResult<PtxStatement<'s>> {
        let is_targets = self.is_dotted("branchtargets") || self.is_dotted("calltargets");
        if is_targets {
            let calls = self.advance().text == "calltargets";
            let mut list = vec![self.name()?];
            while self.accept(b',') {
                list.push(self.name()?);
            }
            self.expect(b';')?;
            return Ok(PtxStatement::Targets { at, name, calls, list });
        }
        if self.accept_dotted("callprototype") {
            let returns = if self.is_sign(b'(') { self.variables()? } else { Vec::new() };
            self.name()?;
            let params = self.variables()?;
            let directives = self.directives()?;
            self.expect(b';')?;
            return Ok(PtxStatement::Prototype { name, returns, params, directives });
        }
        Ok(PtxStatement::Label(name, at))
    }

    // Instructions.

    fn instruction(
        &mut self,
        token: PtxToken<'s>,
        at: usize,
        guard: Option<PtxGuard>,
    ) -> ParseResult<PtxStatement<'s>> {
        let mnemonic = self.names.intern(token.text);
        let mut modifiers: SmallVec<[Symbol; 6]> = SmallVec::new();
        let mut words: SmallVec<[Option<Word>; 12]> = SmallVec::new();
        while self.token.kind == PtxTokenKind::Dotted {
            let token = self.advance();
            let symbol = self.names.intern(token.text);
            modifiers.push(symbol);
            words.push(symbol.word());
        }
        table::put_in_order(token.text, &mut words);
        let Some(forms) = table::forms_of(token.text) else {
            return self.unknown(at, format!("unknown instruction `{}`", token.text));
        };
        let form = forms.iter().copied().find(|&form| table::fits(table::pattern(form), &words));
        let Some(form) = form else {
            let known: Vec<String> = forms
                .iter()
                .map(|&form| table::FORMS[usize::from(form)].pattern)
                .filter(|pattern| *pattern != "*")
                .map(|pattern| format!("`{pattern}`"))
                .collect();
            let name = token.text;
            let reason = format!("unknown form of `{name}`: it is followed by {}", known.join(", "));
            return self.unknown(at, reason);
        };
        let mut operands = SmallVec::new();
        if !self.is_sign(b';') {
            loop {
                operands.push(self.operand(0)?);
                if !self.accept(b',') {
                    break;
                }
            }
        }
        self.expect(b';')?;
        Ok(PtxStatement::Instruction(Box::new(PtxInstruction {
            at,
            guard,
            mnemonic,
            modifiers,
            operands,
            form,
        })))
    }

    /// Takes an unknown instruction up to its semicolon.
    fn unknown(&mut self, at: usize, reason: String) -> ParseResult<PtxStatement<'s>> {
        let mut depth = 0usize;
        loop {
            let end = self.token.at;
            match self.token.kind {
                PtxTokenKind::Sign(b';') if depth == 0 => {
                    self.advance();
                    return Ok(PtxStatement::Unknown { at, text: self.source[at..end].trim_end(), reason });
                }
                PtxTokenKind::Sign(b'{') => depth += 1,
                PtxTokenKind::Sign(b'}') if depth > 0 => depth -= 1,
                PtxTokenKind::Sign(b'}' | b';') | PtxTokenKind::End => return self.error(at..end, reason),
                _ => {}
            }
            self.advance();
        }
    }

    fn operands(&mut self, close: u8, depth: u32) -> ParseResult<Vec<PtxOperand<'s>>> {
        let mut list = Vec::new();
        if self.accept(close) {
            return Ok(list);
        }
        loop {
            list.push(self.operand(depth)?);
            if !self.accept(b',') {
                break;
            }
        }
        self.expect(close)?;
        Ok(list)
    }

    fn operand(&mut self, depth: u32) -> ParseResult<PtxOperand<'s>> {
        let token = self.token;
        if depth > MAX_DEPTH {
            return self.error(token.span(), "operands are nested too deeply");
        }
        match token.kind {
            PtxTokenKind::Name => {
                let name = self.name()?;
                match self.token.kind {
                    PtxTokenKind::Dotted if self.token.at == token.span().end => {
                        let component = self.advance().text;
                        Ok(PtxOperand::Component(name, self.names.intern(component)))
                    }
                    PtxTokenKind::Sign(b'|') => {
                        self.advance();
                        Ok(PtxOperand::Pair(name, self.name()?))
                    }
                    PtxTokenKind::Sign(b'+' | b'-') => Ok(PtxOperand::Sum(name, self.number()?)),
                    PtxTokenKind::Sign(b'[') => {
                        self.advance();
                        let index = self.number()?;
                        self.expect(b']')?;
                        Ok(PtxOperand::Element(name, index))
                    }
                    _ => Ok(PtxOperand::Name(name)),
                }
            }
            PtxTokenKind::Number | PtxTokenKind::Sign(b'-' | b'+') => self.number().map(PtxOperand::Number),
            PtxTokenKind::Sign(b'!') => {
                self.advance();
                self.name().map(PtxOperand::Not)
            }
            PtxTokenKind::Sign(b'{') => {
                self.advance();
                self.operands(b'}', depth + 1).map(PtxOperand::Vector)
            }
            PtxTokenKind::Sign(b'(') => {
                self.advance();
                self.operands(b')', depth + 1).map(PtxOperand::List)
            }
            PtxTokenKind::Sign(b'[') => {
                self.advance();
                let base = self.operand(depth + 1)?;
                let (base, offset) = match base {
                    PtxOperand::Sum(name, number) => (PtxOperand::Name(name), Some(number)),
                    base => (base, None),
                };
                let more = if self.accept(b',') {
                    self.operands(b']', depth + 1)?
                } else {
                    self.expect(b']')?;
                    Vec::new()
                };
                Ok(PtxOperand::Address { base: Box::new(base), offset, more })
            }
            _ => self.unexpected(&["an operand"]),
        }
    }
}

/// Returns the value of a number; none if it is malformed or too large.
fn number_value(text: &str, negative: bool) -> Option<NumberValue> {
    let signed = |value: u64| NumberValue::Int(if negative { value.wrapping_neg() } else { value });
    let bytes = text.as_bytes();
    if bytes.len() > 2 && bytes[0] == b'0' {
        let digits = &text[2..];
        let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        match bytes[1] {
            b'f' | b'F' if digits.len() == 8 && is_hex => {
                let bits = u32::from_str_radix(digits, 16).ok()?;
                return Some(NumberValue::Single(if negative { bits ^ 1 << 31 } else { bits }));
            }
            b'd' | b'D' if digits.len() == 16 && is_hex => {
                let bits = u64::from_str_radix(digits, 16).ok()?;
                return Some(NumberValue::Double(if negative { bits ^ 1 << 63 } else { bits }));
            }
            b'x' | b'X' => {
                return u64::from_str_radix(digits.strip_suffix('U').unwrap_or(digits), 16).ok().map(signed);
            }
            b'b' | b'B' => {
                return u64::from_str_radix(digits.strip_suffix('U').unwrap_or(digits), 2).ok().map(signed);
            }
            _ => {}
        }
    }
    if text.contains('.') || text.contains(['e', 'E']) {
        let value: f64 = text.parse().ok()?;
        return Some(NumberValue::Double(if negative { -value } else { value }.to_bits()));
    }
    let digits = text.strip_suffix('U').unwrap_or(text);
    if digits.len() > 1 && digits.starts_with('0') {
        return u64::from_str_radix(digits, 8).ok().map(signed);
    }
    digits.parse().ok().map(signed)
}
