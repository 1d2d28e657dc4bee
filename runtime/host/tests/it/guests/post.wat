;; Sends two headers and a body of 8 bytes to {"p":"…"} through the host; answers with `done`, or with the error's message.
(import "aar:host/http@0.1.0" "send" (func $send
  (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i64 i32 i32 i32)))
(data (i32.const 64) "POST")
(data (i32.const 72) "x-one")
(data (i32.const 80) "x-two")
(data (i32.const 88) "the body")
(data (i32.const 96) "done")
;; Two headers, each with the text `the body`.
(data (i32.const 128) "\48\00\00\00\05\00\00\00\58\00\00\00\08\00\00\00\50\00\00\00\05\00\00\00\58\00\00\00\08\00\00\00")
(func $run (param $at i32) (param $length i32) (result i32)
  (call $send (i32.const 64) (i32.const 4)
    (i32.add (local.get $at) (i32.const 6)) (i32.sub (local.get $length) (i32.const 8))
    (i32.const 128) (i32.const 2) (i32.const 88) (i32.const 8)
    (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 0) (i64.const 0) (i32.const 0) (i32.const 0)
    (i32.const 192))
  (if (i32.load8_u (i32.const 192))
    (then (return (call $text (i32.load offset=12 (i32.const 192)) (i32.load offset=16 (i32.const 192))))))
  (call $text (i32.const 96) (i32.const 4)))
