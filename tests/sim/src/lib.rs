//! The test grid: whole grids under faults, thousands of seeds, and the rules that must hold at
//! every step of every one of them.
//!
//! It is not the simulator (that is `simulator`) and knows nothing of how the cores keep their
//! books: a rule is judged by what is on disks, what leaves and arrives, which commands run and
//! what users are told. What a process should come to is computed by [`mod@reference`], which shares no
//! code with the cores.
//! Read [`run_seed`] first, then [`Known`] and the rules, a file each.

mod again;
pub mod allocator;
pub mod held;
pub mod known;
pub mod large;
pub mod mangled;
pub mod mutants;
pub mod reach;
pub mod recorded;
pub mod reference;
pub mod rules;
pub mod seeds;

pub use known::Known;
pub use seeds::{Failed, Passed, run_seed};
