//! Whole modules: globals, functions that call each other, an entry with its parameters, and inputs for it.

use super::access::FIELD;
use super::input::{ObjectShape, Owner, ProgramInput, input};
use super::random::Random;
use super::ssa::prune;
use super::writer::{
    AllowedFeatures, CallableFunction, FunctionGenerator, MemoryRegion, Reach, Temp, ValueConstraint,
    int_type, interesting_bits, number_type,
};
use super::{GeneratorProfile, ProgramClass};
use heddle_ir::inst::{Access, LaunchDetail};
use heddle_ir::module::{
    Declaration, DeclaredShape, Effects, FunctionKind, Global, GlobalInit, Param, ReturnValue, Signature,
};
use heddle_ir::words::{IntPredicate, SyncScope};
use heddle_ir::{Constant, Detail, Function, InstData, Module, Op, Scalar, Space, Type, Value};
use smallvec::SmallVec;
use std::sync::Arc;

/// Properties of a program by construction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProgramTraits {
    /// The kind of program.
    pub class: ProgramClass,
    /// True if the schedule may change the result: races, or order-dependent atomics.
    pub order_dependent: bool,
    /// True if the program has cross-lane operations.
    pub horizontals: bool,
    /// True if the program has barriers.
    pub barriers: bool,
    /// True if results depend on the rounding of `fmuladd`.
    pub fmuladd: bool,
    /// True if lanes add to shared counters.
    pub counters: bool,
    /// True if some work-items may exit before a barrier that others wait at.
    pub early_exits: bool,
}

/// A generated program.
#[derive(Clone, Debug)]
pub struct GeneratedProgram {
    /// Seed of the program.
    pub seed: u64,
    /// The program.
    pub module: Module,
    /// The function to run.
    pub entry: String,
    /// Properties by construction.
    pub traits: ProgramTraits,
    /// The objects that the entry's pointers point to.
    pub objects: Vec<ObjectShape>,
    /// Inputs to run the program on.
    pub inputs: Vec<ProgramInput>,
}

/// Shape of a parameter's arguments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ShapeKind {
    Object(usize),
    Uniform,
    Linear(i64),
    Varying,
}

/// A parameter of the entry.
#[derive(Clone, Copy, Debug)]
pub(super) struct ShapeParam {
    pub(super) scalar: Scalar,
    pub(super) kind: ShapeKind,
}

/// Constraints on a program's inputs.
#[derive(Clone, Default, Debug)]
pub(super) struct InputShape {
    pub(super) is_kernel: bool,
    /// The lanes, where the program fixes them.
    pub(super) lanes: Option<u32>,
    /// The lanes of the widest launch in it.
    pub(super) widest: u32,
    pub(super) params: Vec<ShapeParam>,
    pub(super) objects: Vec<ObjectShape>,
}

/// The program of this seed.
pub fn generate(seed: u64, profile: &GeneratorProfile) -> GeneratedProgram {
    let mut random = Random::new(seed);
    let class = random.weighted(&profile.classes);
    let (low, high) = random.weighted(&profile.sizes);
    let budget = random.between(low, high) as i32;
    let mut maker =
        ModuleGenerator { random: &mut random, profile, class, module: Module::default(), known: Vec::new() };
    let (entry, shape, mut traits) = match class {
        ProgramClass::Predicated => maker.predicated(budget),
        ProgramClass::Launch => maker.launch(budget),
        ProgramClass::Lanes | ProgramClass::Racy | ProgramClass::Kernel => maker.lanes(budget),
    };
    let module = maker.module;
    note_traits(&module, &mut traits);
    let count = random.between(1, profile.inputs);
    let inputs: Vec<ProgramInput> = (0..count).map(|_| input(&mut random, &shape)).collect();
    GeneratedProgram { seed, module, entry, traits, objects: shape.objects, inputs }
}

fn note_traits(module: &Module, traits: &mut ProgramTraits) {
    for func in &module.functions {
        for block in func.blocks() {
            for inst in func.block_insts(block) {
                match func.inst(inst).op {
                    Op::Barrier => traits.barriers = true,
                    Op::Fmuladd => traits.fmuladd = true,
                    op if op.info().effect == heddle_ir::ops::Effect::Horizontal => traits.horizontals = true,
                    _ => {}
                }
            }
        }
    }
}

/// Generator state of a module.
pub(super) struct ModuleGenerator<'a> {
    pub(super) random: &'a mut Random,
    pub(super) profile: &'a GeneratorProfile,
    pub(super) class: ProgramClass,
    pub(super) module: Module,
    pub(super) known: Vec<CallableFunction>,
}

impl ModuleGenerator<'_> {
    pub(super) fn traits(&self) -> ProgramTraits {
        ProgramTraits {
            class: self.class,
            order_dependent: false,
            horizontals: false,
            barriers: false,
            fmuladd: false,
            counters: false,
            early_exits: false,
        }
    }

    pub(super) fn allowed(&mut self) -> AllowedFeatures {
        let GeneratorProfile { nests, horizontals, atomics, privates, gotos, webs, calls, fmuladd, .. } =
            *self.profile;
        AllowedFeatures {
            control: true,
            horizontals: self.random.chance(horizontals),
            atomics: self.random.chance(atomics),
            privates: self.random.chance(privates),
            gotos: self.random.chance(gotos),
            nests: self.random.chance(nests),
            webs: self.random.chance(webs),
            calls: self.random.chance(calls),
            returns: self.random.chance(60),
            // A reconvergence stack wants post-dominators, and lanes that end nowhere have none.
            unreachable: self.class != ProgramClass::Kernel,
            queries: self.class == ProgramClass::Kernel || self.random.chance(10),
            memory: true,
            fmuladd: self.random.chance(fmuladd),
            lanes: self.profile.lanes >= 100 || self.random.chance(self.profile.lanes),
            aliases: false,
        }
    }

    /// Objects and scalars for an entry.
    pub(super) fn shape(&mut self) -> InputShape {
        let mut shape = InputShape { is_kernel: self.class == ProgramClass::Kernel, ..InputShape::default() };
        let add = |shape: &mut InputShape, name: String, scalar, len, owner, space| {
            let index = shape.objects.len();
            shape.objects.push(ObjectShape { name, space, scalar, len, owner });
            shape.params.push(ShapeParam { scalar: Scalar::Ptr(space), kind: ShapeKind::Object(index) });
        };
        for index in 0..self.random.between(1, 2) {
            let (scalar, len) = (memory_type(self.random), self.random.pick(&[8, 32, FIELD, FIELD]));
            let space = if self.random.chance(15) { Space::Constant } else { Space::Global };
            add(&mut shape, format!("in{index}"), scalar, len, Owner::ReadOnly, space);
        }
        for index in 0..self.random.between(1, 2) {
            let lens = match self.profile {
                GeneratorProfile { row_loops: 1.., .. } => [16, 32, 32, 64],
                GeneratorProfile { walks: 1.., .. } => [2, 16, 16, 32],
                _ => [1, 2, 4, 8],
            };
            let (scalar, len) = (memory_type(self.random), self.random.pick(&lens));
            let owner = Owner::Lane(len * scalar.bytes());
            add(&mut shape, format!("out{index}"), scalar, len, owner, Space::Global);
        }
        if self.class == ProgramClass::Racy {
            for index in 0..self.random.between(1, 2) {
                let (scalar, len) = (memory_type(self.random), self.random.pick(&[2, 4, 8, 16, FIELD]));
                add(&mut shape, format!("shared{index}"), scalar, len, Owner::Shared, Space::Global);
            }
        }
        for _ in 0..self.random.between(1, 3) {
            let scalar = number_type(self.random);
            shape.params.push(ShapeParam { scalar, kind: ShapeKind::Uniform });
        }
        for _ in 0..self.random.between(1, 2) {
            let scalar = number_type(self.random);
            shape.params.push(ShapeParam { scalar, kind: ShapeKind::Varying });
        }
        if self.random.chance(30) {
            let scalar = int_type(self.random);
            let stride = self.random.pick(&[1, 1, 2, 4, -1, 3]);
            shape.params.push(ShapeParam { scalar, kind: ShapeKind::Linear(stride) });
        }
        if self.profile.shared_params {
            for param in &mut shape.params {
                if let ShapeKind::Varying | ShapeKind::Linear(_) = param.kind {
                    param.kind = ShapeKind::Uniform;
                }
            }
        }
        shape
    }

    /// The signature of an entry of this shape.
    pub(super) fn signature(&mut self, shape: &InputShape, results: &[Scalar]) -> Signature {
        let mut params = Vec::new();
        for param in &shape.params {
            let mut declared = Param::new(param.scalar.into());
            declared.shape = Some(match param.kind {
                ShapeKind::Object(_) | ShapeKind::Uniform => DeclaredShape::Uniform,
                ShapeKind::Linear(stride) => DeclaredShape::Linear(SmallVec::from_slice(&[stride])),
                ShapeKind::Varying => DeclaredShape::Varying,
            });
            // Kernel parameters without a declared shape are uniform.
            if let ShapeKind::Varying = param.kind
                && self.random.chance(30)
                && self.class != ProgramClass::Kernel
            {
                declared.shape = None;
            }
            if let ShapeKind::Object(index) = param.kind {
                let object = &shape.objects[index];
                declared.align = self.random.pick(&[1, 4, 16]);
                if self.random.chance(50) {
                    declared.dereferenceable = (object.len * object.scalar.bytes()).into();
                }
                declared.noalias = self.random.chance(50);
                declared.readonly = object.owner == Owner::ReadOnly && self.random.chance(70);
            }
            params.push(declared);
        }
        let results = results.iter().map(|&scalar| ReturnValue { ty: scalar.into(), shape: None }).collect();
        Signature { params, results, effects: Effects::ANY }
    }

    pub(super) fn results(&mut self) -> Vec<Scalar> {
        let count = self.random.weighted(&[(0, 30), (1, 50), (2, 15), (3, 5)]);
        (0..count).map(|_| number_type(self.random)).collect()
    }

    /// Adds a table in constant or global memory to the module.
    pub(super) fn add_global(&mut self) {
        let space = self.random.pick(&[Space::Constant, Space::Constant, Space::Global]);
        let scalar = memory_type(self.random);
        let len = self.random.pick(&[4, 8, 16]);
        let name = Arc::from(format!("table{}", self.module.globals.len()));
        let zeros = if self.random.chance(30) { self.random.between(1, len - 1) } else { 0 };
        let values = (zeros..len).map(|_| interesting_bits(self.random, scalar)).collect();
        let mut init = vec![GlobalInit::Values(scalar, values)];
        if zeros > 0 {
            init.push(GlobalInit::Zero((zeros * scalar.bytes()).into()));
        }
        self.module.globals.push(Global { name, space, align: 16, init });
    }

    /// The functions that others call.
    fn add_callees(&mut self, shape: &InputShape) {
        for index in 0..self.random.between(1, 2) {
            let is_pure = self.random.chance(40);
            let mut places: Vec<Option<(Space, Scalar, u32, Reach)>> = Vec::new();
            let mut params: Vec<Param> = Vec::new();
            for _ in 0..self.random.between(1, 3) {
                places.push(None);
                params.push(Param::new(number_type(self.random).into()));
            }
            if !is_pure {
                for object in &shape.objects {
                    let reach = match object.owner {
                        Owner::ReadOnly => Reach::ReadOnly,
                        Owner::Lane(_) => Reach::Own,
                        Owner::Shared => Reach::Racy,
                        Owner::Counter | Owner::Group => continue,
                    };
                    if self.random.chance(60) {
                        places.push(Some((object.space, object.scalar, object.len, reach)));
                        params.push(Param::new(Type::ptr(object.space)));
                    }
                }
            }
            let results: Vec<Scalar> =
                (0..self.random.between(1, 3)).map(|_| number_type(self.random)).collect();
            let results =
                results.iter().map(|&scalar| ReturnValue { ty: scalar.into(), shape: None }).collect();
            let effects = if is_pure { Effects::PURE } else { Effects::ANY };
            let signature = Signature { params, results, effects };
            let func = Function::new(format!("helper{index}"), signature);
            let mut allowed = if is_pure { AllowedFeatures::PURE } else { self.allowed() };
            allowed.calls &= !self.known.is_empty();
            (allowed.queries, allowed.nests, allowed.aliases) = (false, false, true);
            let budget = self.random.between(3, 9) as i32;
            let globals = self.module.globals.clone();
            let mut writer =
                FunctionGenerator::new(self.random, self.profile, func, &self.known, allowed, budget);
            let values = writer.func.params().to_vec();
            for (&value, place) in values.iter().zip(&places) {
                match *place {
                    Some((space, scalar, len, reach)) => writer.places.push(MemoryRegion {
                        pointer: value,
                        space,
                        scalar,
                        len,
                        reach,
                        base: Some(value),
                        time: 0,
                        clean: true,
                    }),
                    None => {
                        writer.temp(value, true, false);
                    }
                }
            }
            if !is_pure {
                writer.use_globals(&globals);
            }
            writer.body();
            let cost = writer.cost;
            let func = writer.into_function();
            let declaration = Arc::new(func.declaration());
            self.module.functions.push(func);
            self.known.push(CallableFunction { declaration, places, cost: cost.max(1) });
        }
    }

    /// Functions of the mathematical library, which are only declared.
    fn add_math(&mut self) {
        let unary = ["sin", "cos", "exp", "log", "tanh", "cbrt", "atan", "exp2", "log1p", "erf"];
        let binary = ["pow", "atan2", "hypot", "fdim"];
        for _ in 0..self.random.between(1, 2) {
            let (name, arity) = if self.random.chance(70) {
                (self.random.pick(&unary), 1)
            } else {
                (self.random.pick(&binary), 2)
            };
            let (scalar, suffix) = self.random.pick(&[(Scalar::F32, "f"), (Scalar::F64, "")]);
            let name = format!("{name}{suffix}");
            if self.module.declarations.iter().any(|known| known.name == name) {
                continue;
            }
            let ty = Type::from(scalar);
            let signature = Signature { effects: Effects::PURE, ..Signature::new(&vec![ty; arity], &[ty]) };
            let declaration = Arc::new(Declaration { name, kind: FunctionKind::Function, signature });
            self.module.declarations.push(Arc::clone(&declaration));
            self.known.push(CallableFunction { declaration, places: vec![None; arity], cost: 1 });
        }
    }

    /// A function or a kernel over lanes.
    fn lanes(&mut self, budget: i32) -> (String, InputShape, ProgramTraits) {
        let mut shape = self.shape();
        if self.random.chance(30) {
            self.add_global();
        }
        let mut allowed = self.allowed();
        if allowed.calls {
            if self.random.chance(40) {
                self.add_math();
            }
            self.add_callees(&shape);
        }
        let mut add_shared = |name: &str, space, scalar, len, owner| {
            let index = shape.objects.len();
            shape.objects.push(ObjectShape { name: name.into(), space, scalar, len, owner });
            shape.params.push(ShapeParam { scalar: Scalar::Ptr(space), kind: ShapeKind::Object(index) });
        };
        if allowed.atomics && self.random.chance(40) {
            add_shared("counter", Space::Global, Scalar::I32, 1, Owner::Counter);
        }
        if self.class == ProgramClass::Kernel {
            allowed.returns = false;
            if self.random.chance(85) {
                add_shared("scratch", Space::Local, memory_type(self.random), 128, Owner::Group);
            }
        }
        let results = if self.class == ProgramClass::Kernel { Vec::new() } else { self.results() };
        let signature = self.signature(&shape, &results);
        let traits = self.write_entry("main", signature, &shape, allowed, budget);
        ("main".into(), shape, traits)
    }

    /// Writes the function that a brush runs.
    fn write_entry(
        &mut self,
        name: &str,
        signature: Signature,
        shape: &InputShape,
        allowed: AllowedFeatures,
        budget: i32,
    ) -> ProgramTraits {
        let mut traits = self.traits();
        let is_kernel = self.class == ProgramClass::Kernel;
        let mut func = Function::new(name, signature);
        if is_kernel {
            func.kind = FunctionKind::Kernel(None);
        }
        let globals = self.module.globals.clone();
        let mut writer =
            FunctionGenerator::new(self.random, self.profile, func, &self.known, allowed, budget);
        let local = writer.add_params(shape, is_kernel);
        writer.use_globals(&globals);
        match local {
            Some((pointer, scalar)) => writer.kernel_body(pointer, scalar),
            None => writer.body(),
        }
        traits.order_dependent = writer.order_dependent;
        traits.early_exits = writer.exited;
        traits.counters = !writer.counters.is_empty();
        let func = writer.into_function();
        self.module.functions.push(func);
        traits
    }

    /// Sequential code that launches a region, once or several times.
    fn launch(&mut self, budget: i32) -> (String, InputShape, ProgramTraits) {
        let mut shape = self.shape();
        let mut allowed = self.allowed();
        allowed.queries = false;
        let results = self.results();
        let signature = self.signature(&shape, &results);
        let traits = self.write_entry("region", signature.clone(), &shape, allowed, budget);
        let region = Arc::new(self.module.functions[self.module.functions.len() - 1].declaration());

        let inside = shape.params.clone();
        let mut outside = Signature { results: Vec::new(), ..signature };
        for (param, of) in outside.params.iter_mut().zip(&mut shape.params) {
            param.shape = Some(DeclaredShape::Uniform);
            if let ShapeKind::Linear(_) | ShapeKind::Varying = of.kind {
                of.kind = ShapeKind::Uniform;
            }
        }
        let known = Vec::new();
        let allowed = AllowedFeatures { lanes: false, ..AllowedFeatures::PURE };
        let host = Function::new("main", outside);
        let few = self.random.between(3, 10) as i32;
        let mut writer = FunctionGenerator::new(self.random, self.profile, host, &known, allowed, few);
        let params = writer.func.params().to_vec();
        for (&value, param) in params.iter().zip(&shape.params) {
            if !param.scalar.is_ptr() {
                writer.temp(value, true, true);
            }
        }
        writer.declare_slots();
        for _ in 0..writer.random.between(1, 2) {
            writer.sequence(3);
            let brushes: [&[u32]; 6] = [&[2], &[4], &[4], &[8], &[2, 2], &[4, 2]];
            let brush = writer.random.pick(&brushes);
            let lanes: u32 = brush.iter().product();
            shape.widest = shape.widest.max(lanes);
            let mut args: Vec<Value> = Vec::new();
            for (&value, param) in params.iter().zip(&inside) {
                args.push(match param.kind {
                    ShapeKind::Object(_) => value,
                    ShapeKind::Uniform | ShapeKind::Linear(_) => {
                        writer.pick(param.scalar, ValueConstraint::CLEAN).value
                    }
                    ShapeKind::Varying => writer.vector(param.scalar, lanes),
                });
            }
            let masked = writer.random.chance(30);
            if masked {
                let mask = (0..lanes).map(|_| writer.random.below(2) as u128).collect();
                args.push(writer.func.make_const(Constant::Vector(Scalar::I1, mask)));
            }
            let callee = writer.func.make_callee(&region);
            let brush = SmallVec::from_slice(brush);
            let detail = Detail::Launch(Box::new(LaunchDetail { callee, brush, masked }));
            let inst = writer.put(InstData::new(Op::Launch, args, detail), None);
            for result in writer.func.results(inst).to_vec() {
                // Lanes that do not participate leave poison.
                let lane = writer.random.below(lanes as usize);
                let lane = writer.int(Scalar::I32, lane as i128);
                let data = InstData::plain(Op::Extract, [result, lane.value]);
                writer.define(data, None, !masked, true);
            }
        }
        writer.sequence(2);
        writer.place_all_labels();
        writer.finish();
        let func = writer.into_function();
        self.module.functions.push(func);
        shape.lanes = Some(1);
        ("main".into(), shape, traits)
    }
}

/// Local array of the group, and the lane's position in it.
#[derive(Clone, Copy)]
struct GroupArray {
    array: Value,
    scalar: Scalar,
    index: Temp,
    size: Temp,
}

/// A type that memory holds.
pub(super) fn memory_type(random: &mut Random) -> Scalar {
    loop {
        let scalar = number_type(random);
        if scalar != Scalar::I1 {
            return scalar;
        }
    }
}

impl FunctionGenerator<'_> {
    /// A vector: any constant one, or one value in all lanes.
    fn vector(&mut self, scalar: Scalar, lanes: u32) -> Value {
        if self.random.chance(60) {
            let bits = (0..lanes).map(|_| interesting_bits(self.random, scalar)).collect();
            return self.func.make_const(Constant::Vector(scalar, bits));
        }
        let value = self.pick(scalar, ValueConstraint::CLEAN).value;
        let ty = Type::Vector(scalar, lanes as u16);
        let inst = self.put(InstData::plain(Op::Splat, [value]), Some(ty));
        self.func.results(inst)[0]
    }

    /// The index of the lane among all lanes of the launch.
    pub(super) fn own_index(&mut self, is_kernel: bool) -> Temp {
        let scalar = self.random.pick(&[Scalar::I32, Scalar::I64]);
        let query = |writer: &mut Self, op, dimension| {
            let data = InstData::new(op, [], Detail::Dimension(dimension));
            writer.define(data, Some(scalar), true, op != Op::Lane && op != Op::GlobalId)
        };
        if !is_kernel {
            return query(self, Op::Lane, None);
        }
        let mut index = query(self, Op::GlobalId, Some(2));
        for dimension in [1, 0] {
            let size = query(self, Op::GlobalSize, Some(dimension));
            let scaled = self.op(Op::Mul, &[index, size]);
            let id = query(self, Op::GlobalId, Some(dimension));
            index = self.op(Op::Add, &[scaled, id]);
        }
        index
    }

    /// Adds the entry's parameters as values and regions; returns the local array.
    pub(super) fn add_params(&mut self, shape: &InputShape, is_kernel: bool) -> Option<(Value, Scalar)> {
        let own = self.own_index(is_kernel);
        let mut local = None;
        for (value, param) in self.func.params().to_vec().into_iter().zip(&shape.params) {
            match param.kind {
                ShapeKind::Object(index) => {
                    let object = &shape.objects[index];
                    match object.owner {
                        Owner::Group => local = Some((value, object.scalar)),
                        Owner::Counter => self.counters.push(value),
                        _ => self.add_object(value, object, own),
                    }
                }
                ShapeKind::Uniform => {
                    self.temp(value, true, true);
                }
                ShapeKind::Linear(_) | ShapeKind::Varying => {
                    self.temp(value, true, false);
                }
            }
        }
        local
    }

    /// Adds an object as a region of the entry; for a lane-owned object, the lane's part.
    fn add_object(&mut self, value: Value, object: &ObjectShape, own: Temp) {
        let (pointer, reach) = match object.owner {
            Owner::ReadOnly => (value, Reach::ReadOnly),
            Owner::Shared | Owner::Counter | Owner::Group => (value, Reach::Racy),
            Owner::Lane(bytes) => {
                let offset = self.op_int(Op::Mul, own, bytes.into());
                let data = InstData::plain(Op::PtrAdd, [value, offset.value]);
                (self.define(data, None, true, false).value, Reach::Own)
            }
        };
        self.places.push(MemoryRegion {
            pointer,
            space: object.space,
            scalar: object.scalar,
            len: object.len,
            reach,
            base: Some(value),
            time: self.clock,
            clean: true,
        });
        self.clock += 1;
    }

    /// Adds the module's tables as regions.
    pub(super) fn use_globals(&mut self, globals: &[Global]) {
        for global in globals {
            let Some(GlobalInit::Values(scalar, values)) = global.init.first() else { continue };
            let pointer = self.func.make_const(Constant::Address(global.space, Arc::clone(&global.name)));
            let len = (global.bytes() / u64::from(scalar.bytes())) as u32;
            debug_assert!(values.len() as u32 <= len);
            self.places.push(MemoryRegion {
                pointer,
                space: global.space,
                scalar: *scalar,
                len,
                reach: Reach::ReadOnly,
                base: Some(pointer),
                time: 0,
                clean: true,
            });
        }
        self.places.sort_by_key(|place| place.time);
    }

    /// Variables, and private arrays where there may be some.
    pub(super) fn prelude(&mut self) {
        self.declare_slots();
        if self.allowed.privates {
            for _ in 0..self.random.between(0, 2) {
                self.allocate();
            }
        }
    }

    /// Generates the function after its parameters.
    pub(super) fn body(&mut self) {
        if self.random.chance(70) {
            self.load_something();
        }
        self.prelude();
        let budget = self.budget as u32;
        if self.allowed.nests {
            let first = self.random.between(0, 2);
            self.sequence(first);
            self.nest();
        }
        while self.budget > 0 {
            self.sequence(budget);
        }
        self.end();
    }

    /// Completes the function: pending labels, final stores, return.
    fn end(&mut self) {
        self.place_all_labels();
        self.consume(0);
        self.show();
        self.finish();
    }

    /// Stores what the variables hold, so that it counts.
    fn show(&mut self) {
        if !self.allowed.memory {
            return;
        }
        for index in 0..self.slots.len() {
            let slot = self.slots[index];
            if !slot.clean || (index > 0 && !self.random.chance(70)) {
                continue;
            }
            let Some(place) = self.place(|place| place.reach == Reach::Own) else { return };
            let value = self.read(slot);
            let value = self.convert(value, place.scalar);
            self.store(value, place);
        }
    }

    /// Generates phases between barriers: each lane writes its part of the local array, all wait, each reads any part.
    fn kernel_body(&mut self, array: Value, scalar: Scalar) {
        let (index, size) = self.local_index();
        let local = GroupArray { array, scalar, index, size };
        self.prelude();
        let phases = self.random.between(1, 3);
        let share = (self.budget as u32 / phases).max(1);
        if self.profile.early_exits > 0 && self.random.chance(2 * self.profile.early_exits) {
            // Work-items that exit later leave an element that others may read.
            self.phase(local);
            self.exits = self.profile.early_exits;
        }
        for _ in 0..phases {
            self.sequence(share);
            if std::mem::take(&mut self.allowed.nests) {
                self.nest();
            }
            self.place_all_labels();
            self.early_exit(local);
            if self.random.chance(25) {
                self.repeated_phase(local);
            } else if self.profile.conditional_phases > 0
                && self.random.chance(self.profile.conditional_phases)
            {
                self.conditional_phase(local);
            } else {
                self.phase(local);
            }
        }
        self.end();
    }

    /// A loop of phases, the same number of trips for all.
    fn repeated_phase(&mut self, local: GroupArray) {
        let trips = self.random.between(1, 3);
        let zero = self.int(Scalar::I32, 0);
        let counter = self.declare(zero, true, true);
        let [body, leave] = [(); 2].map(|()| self.func.new_block());
        let scope = self.scope();
        self.jump(body);
        self.start(body);
        let weight = self.weight;
        self.weight *= trips.max(1);
        self.sequence(2);
        self.place_all_labels();
        self.early_exit(local);
        self.phase(local);
        self.weight = weight;
        let count = self.read(counter);
        let next = self.op_int(Op::Add, count, 1);
        self.write(counter, next);
        let trips = self.int(Scalar::I32, trips.into());
        let goes_on = self.icmp(IntPredicate::Ult, next, trips);
        self.branch(goes_on.value, body, leave);
        self.seal(body);
        self.leave_scope(scope);
        self.start_sealed(leave);
    }

    /// Generates a phase that all lanes of a group execute, or none.
    fn conditional_phase(&mut self, local: GroupArray) {
        let GroupArray { size, .. } = local;
        let bound = self.random.between(1, 40);
        let bound = self.int(Scalar::I32, bound.into());
        let group = self.define(
            InstData::new(Op::GroupId, [], Detail::Dimension(Some(0))),
            Some(Scalar::I32),
            true,
            true,
        );
        let sum = self.op(Op::Add, &[size, group]);
        let condition = self.icmp(IntPredicate::Ult, sum, bound);
        let [then, after] = [(); 2].map(|()| self.func.new_block());
        let scope = self.scope();
        self.branch(condition.value, then, after);
        self.start_sealed(then);
        self.sequence(2);
        self.place_all_labels();
        self.early_exit(local);
        self.phase(local);
        self.jump(after);
        self.leave_scope(scope);
        self.start_sealed(after);
    }

    /// Lets some work-items return, by their index or by what they have computed.
    fn early_exit(&mut self, local: GroupArray) {
        if self.exits == 0 || !self.random.chance(self.exits) {
            return;
        }
        let bound = self.random.between(1, 40);
        let bound = self.int(Scalar::I32, bound.into());
        let operand = match self.random.below(3) {
            0 => self.pick_known(Scalar::I32, ValueConstraint::CLEAN),
            1 => self.op(Op::Mul, &[local.index, local.size]),
            _ => local.index,
        };
        let predicate = self.random.pick(&[IntPredicate::Ult, IntPredicate::Uge, IntPredicate::Eq]);
        let condition = self.icmp(predicate, operand, bound);
        let [exit, after] = [(); 2].map(|()| self.func.new_block());
        let scope = self.scope();
        self.branch(condition.value, exit, after);
        self.start_sealed(exit);
        self.divergence += 1;
        self.sequence(1);
        self.place_all_labels();
        self.show();
        self.divergence -= 1;
        self.put(InstData::plain(Op::Ret, []), None);
        self.here = None;
        self.leave_scope(scope);
        self.start_sealed(after);
        self.exited = true;
    }

    /// The lane's linear index in its group, and the group's size.
    fn local_index(&mut self) -> (Temp, Temp) {
        let query = |writer: &mut Self, op, dimension| {
            let data = InstData::new(op, [], Detail::Dimension(Some(dimension)));
            writer.define(data, Some(Scalar::I32), true, op == Op::LocalSize)
        };
        let mut index = query(self, Op::LocalId, 2);
        let mut size = query(self, Op::LocalSize, 2);
        for dimension in [1, 0] {
            let along = query(self, Op::LocalSize, dimension);
            let scaled = self.op(Op::Mul, &[index, along]);
            let id = query(self, Op::LocalId, dimension);
            index = self.op(Op::Add, &[scaled, id]);
            size = self.op(Op::Mul, &[size, along]);
        }
        (index, size)
    }

    fn phase(&mut self, local: GroupArray) {
        let GroupArray { array, scalar, index, size } = local;
        let access = Detail::Access(Access::aligned(scalar.bytes()));
        let element = |writer: &mut Self, index: Temp| {
            let offset = writer.op_int(Op::Mul, index, scalar.bytes().into());
            let data = InstData::plain(Op::PtrAdd, [array, offset.value]);
            writer.define(data, None, true, false).value
        };
        let value = self.pick_known(scalar, ValueConstraint::CLEAN);
        let address = element(self, index);
        self.put(InstData::new(Op::Store, [value.value, address], access.clone()), None);
        self.put(InstData::new(Op::Barrier, [], Detail::Barrier(SyncScope::Group)), None);
        let other = self.pick_known(Scalar::I32, ValueConstraint::CLEAN);
        let other = self.op(Op::Urem, &[other, size]);
        let address = element(self, other);
        let data = InstData::new(Op::Load, [address], access);
        let read = self.define(data, Some(scalar), true, false);
        if let Some(&slot) = self.slots.iter().find(|slot| slot.scalar == scalar && !slot.uniform) {
            self.write(slot, read);
        }
        if let Some(place) = self.place(|place| place.reach == Reach::Own) {
            let read = self.convert(read, place.scalar);
            self.store(read, place);
        }
        self.put(InstData::new(Op::Barrier, [], Detail::Barrier(SyncScope::Group)), None);
    }

    /// Calls the function with arguments that it can work with, if there are such.
    pub(super) fn call_known(&mut self, known: &CallableFunction) {
        let declaration = Arc::clone(&known.declaration);
        let mut args: Vec<Value> = Vec::new();
        for (param, place) in declaration.signature.params.iter().zip(&known.places) {
            let arg = match *place {
                None => self.pick(param.ty.scalar(), ValueConstraint::CLEAN).value,
                Some((space, scalar, len, reach)) => {
                    let fits = |place: &MemoryRegion| {
                        (place.space, place.scalar, place.reach, place.clean) == (space, scalar, reach, true)
                            && place.len >= len
                    };
                    let Some(place) = self.place(fits) else { return };
                    self.order_dependent |= reach == Reach::Racy;
                    place.pointer
                }
            };
            args.push(arg);
        }
        self.cost += self.weight * known.cost;
        let callee = self.func.make_callee(&declaration);
        let inst = self.put(InstData::new(Op::Call, args, Detail::Call(callee)), None);
        for value in self.func.results(inst).to_vec() {
            self.temp(value, true, false);
        }
    }

    /// The function, complete.
    pub(super) fn into_function(mut self) -> Function {
        self.ssa.seal_all(&mut self.func);
        if !self.random.chance(self.profile.trivial_phis) {
            prune(&mut self.func);
        }
        self.func
    }
}
