//! Faults planted into passes and analyses, one for each of their rules: the harness notices every one.
#![forbid(unsafe_code)]

mod analyses;
mod arrays;
mod boscc;
mod canonicalize;
mod flatten;
mod fuse;
mod inline;
mod linearize;
mod loops;
mod specialize;
mod ssrqp;
mod strips;
mod tiles;
mod tidy;
mod vectorizations;
mod widen;
