;; Calls itself {"n":…} times; answers with that.
(func $deeper (param $left i32) (result i32)
  (if (i32.eqz (local.get $left)) (then (return (i32.const 0))))
  (i32.add (call $deeper (i32.sub (local.get $left) (i32.const 1))) (i32.const 1)))
(func $run (param $at i32) (param $length i32) (result i32)
  (call $number (call $deeper (call $argument (local.get $at) (local.get $length)))))
