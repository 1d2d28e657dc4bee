;; Runs `tool` without arguments as many times as {"n":…} says; answers with the first error, or with `done`.
(import "aar:host/process@0.1.0" "run"
  (func $start (param i32 i32 i32 i32 i32 i32 i32 i32 i64 i32 i32 i32)))
(data (i32.const 64) "tool")
(data (i32.const 72) "done")
(func $run (param $at i32) (param $length i32) (result i32)
  (local $left i32)
  (local.set $left (call $argument (local.get $at) (local.get $length)))
  (loop $more
    (call $start (i32.const 64) (i32.const 4) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)
      (i32.const 0) (i64.const 0) (i32.const 0) (i32.const 0) (i32.const 96))
    (if (i32.load8_u (i32.const 96))
      (then (return (call $text (i32.load offset=12 (i32.const 96)) (i32.load offset=16 (i32.const 96))))))
    (local.set $left (i32.sub (local.get $left) (i32.const 1)))
    (br_if $more (local.get $left)))
  (call $text (i32.const 72) (i32.const 4)))
