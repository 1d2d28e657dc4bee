;; Never ends.
(func $run (param i32 i32) (result i32)
  (loop $forever (br $forever))
  unreachable)
