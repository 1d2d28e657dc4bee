;; Counts its calls in its memory; traps for {"n":0}.
(global $calls (mut i32) (i32.const 0))
(func $run (param $at i32) (param $length i32) (result i32)
  (if (i32.eqz (call $argument (local.get $at) (local.get $length))) (then unreachable))
  (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
  (call $number (global.get $calls)))
