;; Calls itself without end.
(func $deeper (param $level i32) (result i32)
  (i32.add (call $deeper (i32.add (local.get $level) (i32.const 1))) (local.get $level)))
(func $run (param i32 i32) (result i32)
  (call $number (call $deeper (i32.const 0))))
