;; Takes table elements, a thousand at a time, up to ten millions; answers how many thousands it got.
(table $things 0 funcref)
(func $run (param i32 i32) (result i32)
  (local $got i32)
  (block $refused
    (loop $more
      (br_if $refused (i32.eq (i32.const -1) (table.grow $things (ref.null func) (i32.const 1000))))
      (local.set $got (i32.add (local.get $got) (i32.const 1)))
      (br_if $more (i32.lt_u (local.get $got) (i32.const 10000)))))
  (call $number (local.get $got)))
