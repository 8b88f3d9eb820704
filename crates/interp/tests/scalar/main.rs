//! Each scalar operation against a twin that is slow, obvious, and computes in another way: native integers,
//! lists of bits, exact rational arithmetic, and tables of corner cases.

mod arithmetic;
mod class;
mod compare;
mod convert;
mod exact;
mod integer;
mod integral;
mod minmax;
mod sample;
