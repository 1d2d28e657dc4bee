;; Answers how many environment variables and arguments it sees.
(import "wasi:cli/environment@0.2.12" "get-environment" (func $environment (param i32)))
(import "wasi:cli/environment@0.2.12" "get-arguments" (func $arguments (param i32)))
(func $run (param i32 i32) (result i32)
  (call $environment (i32.const 64))
  (call $arguments (i32.const 72))
  (call $number (i32.add (i32.load (i32.const 68)) (i32.load (i32.const 76)))))
