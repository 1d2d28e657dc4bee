;; Waits until it is cancelled, and then says so in the log.
(import "aar:host/progress@0.1.0" "cancelled" (func $cancelled (result i32)))
(import "aar:host/log@0.1.0" "emit" (func $emit (param i32 i32 i32 i32)))
(data (i32.const 64) "told to stop")
(func $run (param i32 i32) (result i32)
  (loop $more (br_if $more (i32.eqz (call $cancelled))))
  (call $emit (i32.const 64) (i32.const 0) (i32.const 64) (i32.const 12))
  (call $number (i32.const 1)))
