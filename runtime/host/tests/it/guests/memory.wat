;; Takes memory, MiB by MiB, up to 4 GiB; answers how many MiB it got.
(func $run (param i32 i32) (result i32)
  (local $got i32)
  (block $refused
    (loop $more
      (br_if $refused (i32.eq (i32.const -1) (memory.grow (i32.const 16))))
      (local.set $got (i32.add (local.get $got) (i32.const 1)))
      (br_if $more (i32.lt_u (local.get $got) (i32.const 4096)))))
  (call $number (local.get $got)))
