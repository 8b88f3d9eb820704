//! Each scalar operation against a slow and obvious reference that computes in another way: native integers, lists of
//! bits, exact rational arithmetic, tables of corner cases.

mod arithmetic;
mod class;
mod compare;
mod convert;
mod exact;
mod integer;
mod integral;
mod minmax;
mod sample;
