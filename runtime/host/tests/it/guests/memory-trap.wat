;; Wants 4 GiB at once and gives up when it does not get them.
(func $run (param i32 i32) (result i32)
  (if (i32.eq (i32.const -1) (memory.grow (i32.const 65000))) (then unreachable))
  (call $number (i32.const 1)))
