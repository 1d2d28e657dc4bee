;; Wants 64 MiB of random numbers of the other kind at once.
(import "wasi:random/insecure@0.2.12" "get-insecure-random-bytes" (func $random (param i64 i32)))
(func $run (param i32 i32) (result i32)
  (call $random (i64.const 67108864) (call $alloc (i32.const 8)))
  (call $number (i32.const 1)))
