;; Sets an empty plan {"n":…} times; answers with `done`, or with the first error's message.
(import "aar:host/plan@0.1.0" "set" (func $set (param i32 i32 i32)))
(data (i32.const 64) "done")
(func $run (param $at i32) (param $length i32) (result i32)
  (local $left i32)
  (local.set $left (call $argument (local.get $at) (local.get $length)))
  (loop $more
    (call $set (i32.const 0) (i32.const 0) (i32.const 96))
    (if (i32.load8_u (i32.const 96))
      (then (return (call $text (i32.load offset=12 (i32.const 96)) (i32.load offset=16 (i32.const 96))))))
    (local.set $left (i32.sub (local.get $left) (i32.const 1)))
    (br_if $more (local.get $left)))
  (call $text (i32.const 64) (i32.const 4)))
