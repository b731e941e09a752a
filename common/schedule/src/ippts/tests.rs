use super::Ippts;
use crate::fixtures::looks_at_what_follows;

#[test]
fn a_task_goes_where_what_follows_ends_first() {
    looks_at_what_follows(&Ippts);
}
