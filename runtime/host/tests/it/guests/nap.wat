;; Sleeps for a quarter of a second, and wakes up.
(import "wasi:clocks/monotonic-clock@0.2.12" "subscribe-duration" (func $later (param i64) (result i32)))
(import "wasi:io/poll@0.2.12" "[method]pollable.block" (func $block (param i32)))
(func $run (param i32 i32) (result i32)
  (call $block (call $later (i64.const 250000000)))
  (call $number (i32.const 250)))
