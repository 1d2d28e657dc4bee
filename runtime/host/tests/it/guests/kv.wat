;; Stores values of 1,000,000 bytes under new keys, up to as many as {"n":…} says; answers with the error, or with the
;; version of the last one.
(import "aar:host/kv@0.1.0" "set"
  (func $set (param i32 i32 i32 i32 i32 i32 i32 i64 i32)))
(data (i32.const 64) "project")
(func $run (param $at i32) (param $length i32) (result i32)
  (local $left i32) (local $value i32)
  (local.set $left (call $argument (local.get $at) (local.get $length)))
  (local.set $value (call $alloc (i32.const 1000000)))
  (loop $more
    (i32.store8 (i32.const 80) (i32.add (i32.const 64) (local.get $left)))
    (call $set (i32.const 64) (i32.const 7) (i32.const 80) (i32.const 1) (local.get $value) (i32.const 1000000)
      (i32.const 0) (i64.const 0) (i32.const 96))
    (if (i32.load8_u (i32.const 96))
      (then (return (call $text (i32.load offset=16 (i32.const 96)) (i32.load offset=20 (i32.const 96))))))
    (local.set $left (i32.sub (local.get $left) (i32.const 1)))
    (br_if $more (local.get $left)))
  (call $number (i32.load offset=8 (i32.const 96))))
