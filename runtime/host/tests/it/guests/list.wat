;; Never says what it offers.
(func $list (result i32) (loop $forever (br $forever)) unreachable)
(func $run (param i32 i32) (result i32) unreachable)
