;; Logs a hundred thousand lines of 10 KB.
(import "aar:host/log@0.1.0" "emit" (func $emit (param i32 i32 i32 i32)))
(data (i32.const 64) "warn")
(func $run (param i32 i32) (result i32)
  (local $count i32)
  (memory.fill (i32.const 1024) (i32.const 120) (i32.const 10000))
  (loop $more
    (call $emit (i32.const 64) (i32.const 4) (i32.const 1024) (i32.const 10000))
    (local.set $count (i32.add (local.get $count) (i32.const 1)))
    (br_if $more (i32.lt_u (local.get $count) (i32.const 100000))))
  (call $number (local.get $count)))
