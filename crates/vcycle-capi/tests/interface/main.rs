//! The C interface, called as C calls it.

mod calls;
mod common;
mod header;
mod misuse;
