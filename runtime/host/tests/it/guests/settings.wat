;; Answers with its settings.
(import "aar:host/settings@0.1.0" "get" (func $get (param i32)))
(func $run (param i32 i32) (result i32)
  (call $get (i32.const 64))
  (call $text (i32.load (i32.const 64)) (i32.load (i32.const 68))))
