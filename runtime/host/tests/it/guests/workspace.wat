;; Reads the text file {"p":"…"} through the host, or answers with the error's message.
(import "aar:host/workspace@0.1.0" "read-text" (func $read (param i32 i32 i32 i32 i32 i32 i32)))
(func $run (param $at i32) (param $length i32) (result i32)
  (call $read (i32.add (local.get $at) (i32.const 6)) (i32.sub (local.get $length) (i32.const 8))
    (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 96))
  (if (i32.load8_u (i32.const 96))
    (then (return (call $text (i32.load offset=12 (i32.const 96)) (i32.load offset=16 (i32.const 96))))))
  (call $text (i32.load offset=4 (i32.const 96)) (i32.load offset=8 (i32.const 96))))
