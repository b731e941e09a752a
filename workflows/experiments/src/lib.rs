//! Studies of scheduling: graphs, platforms and loads, executed under ideal conditions.

pub mod ideal;
