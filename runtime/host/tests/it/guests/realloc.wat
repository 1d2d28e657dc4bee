;; Asks for random numbers before it says what it offers, and never says where to put them.
(import "wasi:random/random@0.2.12" "get-random-bytes" (func $random (param i64 i32)))
(func $realloc (param i32) (result i32) (loop $forever (br $forever)) unreachable)
(func $list (result i32)
  (call $random (i64.const 32) (i32.const 64))
  (i32.const 0))
(func $run (param i32 i32) (result i32) unreachable)
