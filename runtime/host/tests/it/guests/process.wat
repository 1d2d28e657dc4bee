;; Runs the command line {"p":"…"}, split at its spaces; answers with all that it wrote, or with the error's message.
(import "aar:host/process@0.1.0" "run"
  (func $start (param i32 i32 i32 i32 i32 i32 i32 i32 i64 i32 i32 i32)))
(func $run (param $at i32) (param $length i32) (result i32)
  (local $begin i32) (local $end i32) (local $cursor i32) (local $list i32)
  (local.set $begin (i32.add (local.get $at) (i32.const 6)))
  (local.set $end (i32.sub (i32.add (local.get $at) (local.get $length)) (i32.const 2)))
  (local.set $list (i32.const 1024))
  (loop $words
    (local.set $cursor (local.get $begin))
    (block $space
      (loop $letters
        (br_if $space (i32.ge_u (local.get $cursor) (local.get $end)))
        (br_if $space (i32.eq (i32.load8_u (local.get $cursor)) (i32.const 32)))
        (local.set $cursor (i32.add (local.get $cursor) (i32.const 1)))
        (br $letters)))
    (i32.store (local.get $list) (local.get $begin))
    (i32.store offset=4 (local.get $list) (i32.sub (local.get $cursor) (local.get $begin)))
    (local.set $list (i32.add (local.get $list) (i32.const 8)))
    (local.set $begin (i32.add (local.get $cursor) (i32.const 1)))
    (br_if $words (i32.lt_u (local.get $cursor) (local.get $end))))
  (call $start (i32.load (i32.const 1024)) (i32.load (i32.const 1028)) (i32.const 1032)
    (i32.div_u (i32.sub (local.get $list) (i32.const 1032)) (i32.const 8)) (i32.const 0) (i32.const 0) (i32.const 0)
    (i32.const 0) (i64.const 0) (i32.const 0) (i32.const 0) (i32.const 96))
  (if (i32.load8_u (i32.const 96))
    (then (return (call $text (i32.load offset=12 (i32.const 96)) (i32.load offset=16 (i32.const 96))))))
  (call $text (i32.load offset=20 (i32.const 96)) (i32.load offset=24 (i32.const 96))))
