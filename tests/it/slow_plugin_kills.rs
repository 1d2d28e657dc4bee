//! Installing and updating, killed at a hundred moments.

use super::plugin_store::killed;

#[test]
fn a54_what_is_killed_at_a_hundred_moments_is_whole_each_time() {
    killed(100);
}
