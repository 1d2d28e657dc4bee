;; Wants 64 MiB of random numbers at once.
(import "wasi:random/random@0.2.12" "get-random-bytes" (func $random (param i64 i32)))
(func $run (param i32 i32) (result i32)
  (call $random (i64.const 67108864) (call $alloc (i32.const 8)))
  (call $number (i32.const 1)))
