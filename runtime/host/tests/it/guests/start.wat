;; Never ends, and does so before any function of it is called.
(func $forever (loop $again (br $again)))
(start $forever)
(func $run (param i32 i32) (result i32) unreachable)
