//! The limits of a definition. Each limit has its unit in its name or its doc line, and
//! exists so that a file from outside cannot use up the memory or the stack of a manager.

/// Nodes of one definition: a million activities with their controllers.
pub const NODES_MAX: usize = 2_000_000;
/// Links of one definition.
pub const LINKS_MAX: usize = 8_000_000;
/// Items of one for-each. Each costs the process manager some 300 bytes for each activity of its body, and
/// some 2 KiB while that runs.
pub const ITEMS_MAX: usize = 200_000;
/// Steps of the evaluation of one list and the names of its items: enough for the longest list, some 100 ms.
pub const LIST_STEPS_MAX: u64 = 20 * ITEMS_MAX as u64;
/// Steps of the places and conditions by which the bodies of one list pick among the outputs of others: enough for two
/// inputs of each item of the longest list, some 300 ms.
pub const PICK_STEPS_MAX: u64 = 60 * ITEMS_MAX as u64;
/// Iterations of one loop that says nothing of them...
pub const ITERATIONS: u32 = 10_000;
/// ...and the most that it may allow. The last ones cost the process manager as much as an item, those before
/// some 70 bytes for each node of the body.
pub const ITERATIONS_MAX: u32 = 200_000;
/// Bytes of the key of an item, which is part of the names of activities and files.
pub const KEY_BYTES_MAX: usize = 100;
/// Bytes of the name that a given file had: no file system of Linux takes more.
pub const FILE_NAME_BYTES_MAX: usize = 255;
/// Controllers within each other.
pub const DEPTH_MAX: usize = 64;
/// Bytes of a name.
pub const NAME_BYTES_MAX: usize = 200;
/// Bytes of an expression's source.
pub const EXPRESSION_BYTES_MAX: usize = 4 * 1_024;
/// Bytes of a text with expressions in it: a command line, an argument, an environment variable.
pub const TEMPLATE_BYTES_MAX: usize = 128 * 1_024;
/// Bytes of a path in an activity's directory.
pub const PATH_BYTES_MAX: usize = 1_024;
/// Arguments, environment variables, inputs, outputs or labels of one activity: enough for the
/// widest join that was ever recorded, little enough for one message.
pub const PARTS_MAX: usize = 65_536;
/// Files and directories that are laid into the directory of one activity: as many as it may declare, and
/// an output of each item of the longest list beside them. One takes its manager and its machine some
/// 200 bytes until it is there.
pub const STAGED_MAX: usize = PARTS_MAX + ITEMS_MAX;
/// Inputs, outputs, variables or files of one process.
pub const DECLARED_MAX: usize = 4_096;
/// Bytes of the values of all inputs, of all variables and of all outputs of one process, each: they
/// are in the memory of its manager and in each snapshot. Larger data are files.
pub const VALUES_BYTES_MAX: usize = 16 << 20;
/// Bytes that a value counts for itself, beside its text and what is in it. A number of its own, so that
/// limits do not move with the layout of a value in memory, which takes a few bytes more.
pub const VALUE_BYTES: usize = 48;
/// Lists and maps within each other in one value, as many as JSON is read with: whoever goes through
/// a value has a stack.
pub const VALUE_DEPTH_MAX: usize = 128;
/// Edges that are followed to see that whoever reads an output runs after its producer, where no
/// link between the two and no sequence says so: about a second.
pub const ORDER_STEPS_MAX: usize = 100_000_000;
/// Machines that keep a copy of what an activity has produced, beside the one that made it.
pub const COPIES_MAX: u32 = 1;
/// The greatest priority, and as a negative number the least.
pub const PRIORITY_MAX: i32 = 1_000;
/// Rounds of a machine: beyond that, a round is seldom more than one activity.
pub const ROUNDS_MAX: u32 = 1_000;
/// The largest threshold and reward of rounds: beyond that nothing changes any more.
pub const PARAMETER_MAX: u32 = 100;
/// Attempts at one activity that are started at once: each costs as much as the activity, and the first of four is
/// seldom late.
pub const REPLICAS_MAX: u32 = 4;
/// Tries of one activity.
pub const ATTEMPTS_MAX: u32 = 1_000;
/// The least growth of the memory of a try, in percent: less would take many tries for nothing...
pub const MEMORY_PERCENT_MIN: u32 = 110;
/// ...and the most.
pub const MEMORY_PERCENT_MAX: u32 = 1_000;
/// Named limits of one process or one process manager, and of one activity: each is counted whenever
/// something is sent.
pub const NAMED_LIMITS_MAX: usize = 64;
/// Units of a named limit.
pub const LIMIT_UNITS_MAX: u32 = 1_000_000;
/// Slots that one activity may ask for.
pub const CORES_MAX: u32 = 65_536;
/// Problems that are named at once; a file with more has the first ones named.
pub const PROBLEMS_MAX: usize = 200;
