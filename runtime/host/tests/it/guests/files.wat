;; Does to a path in its first folder what the first letter says, {"p":"r…"}: `r` reads, `w` makes a file, `s` makes a
;; link to it, `h` makes a hard link of `inside.txt`, `d` makes a folder. Answers with the text read, `done`, or the
;; number of the error.
(import "wasi:filesystem/preopens@0.2.12" "get-directories" (func $folders (param i32)))
(import "wasi:filesystem/types@0.2.12" "[method]descriptor.open-at"
  (func $open (param i32 i32 i32 i32 i32 i32 i32)))
(import "wasi:filesystem/types@0.2.12" "[method]descriptor.read" (func $read (param i32 i64 i64 i32)))
(import "wasi:filesystem/types@0.2.12" "[method]descriptor.symlink-at" (func $symlink (param i32 i32 i32 i32 i32 i32)))
(import "wasi:filesystem/types@0.2.12" "[method]descriptor.link-at"
  (func $link (param i32 i32 i32 i32 i32 i32 i32 i32)))
(import "wasi:filesystem/types@0.2.12" "[method]descriptor.create-directory-at" (func $mkdir (param i32 i32 i32 i32)))
(data (i32.const 64) "done")
(data (i32.const 80) "new-link")
(data (i32.const 96) "inside.txt")
(data (i32.const 112) "no folder")
(func $run (param $at i32) (param $length i32) (result i32)
  (local $verb i32) (local $folder i32)
  (local.set $verb (i32.load8_u offset=6 (local.get $at)))
  (local.set $at (i32.add (local.get $at) (i32.const 7)))
  (local.set $length (i32.sub (local.get $length) (i32.const 9)))
  (call $folders (i32.const 128))
  (if (i32.eqz (i32.load (i32.const 132))) (then (return (call $text (i32.const 112) (i32.const 9)))))
  ;; the last one: what is writable comes after what is readable
  (local.set $folder (i32.load (i32.add (i32.load (i32.const 128))
    (i32.mul (i32.const 12) (i32.sub (i32.load (i32.const 132)) (i32.const 1))))))
  (if (i32.eq (local.get $verb) (i32.const 115)) (then
    (call $symlink (local.get $folder) (local.get $at) (local.get $length) (i32.const 80) (i32.const 8) (i32.const 192))
    (if (i32.load8_u (i32.const 192)) (then (return (call $number (i32.load8_u (i32.const 193))))))
    (return (call $text (i32.const 64) (i32.const 4)))))
  (if (i32.eq (local.get $verb) (i32.const 104)) (then
    (call $link (local.get $folder) (i32.const 0) (i32.const 96) (i32.const 10) (local.get $folder) (local.get $at)
      (local.get $length) (i32.const 192))
    (if (i32.load8_u (i32.const 192)) (then (return (call $number (i32.load8_u (i32.const 193))))))
    (return (call $text (i32.const 64) (i32.const 4)))))
  (if (i32.eq (local.get $verb) (i32.const 100)) (then
    (call $mkdir (local.get $folder) (local.get $at) (local.get $length) (i32.const 192))
    (if (i32.load8_u (i32.const 192)) (then (return (call $number (i32.load8_u (i32.const 193))))))
    (return (call $text (i32.const 64) (i32.const 4)))))
  (if (i32.eq (local.get $verb) (i32.const 119))
    (then (call $open (local.get $folder) (i32.const 1) (local.get $at) (local.get $length) (i32.const 1) (i32.const 2)
      (i32.const 192)))
    (else (call $open (local.get $folder) (i32.const 1) (local.get $at) (local.get $length) (i32.const 0) (i32.const 1)
      (i32.const 192))))
  (if (i32.load8_u (i32.const 192)) (then (return (call $number (i32.load8_u (i32.const 196))))))
  (if (i32.eq (local.get $verb) (i32.const 119)) (then (return (call $text (i32.const 64) (i32.const 4)))))
  (call $read (i32.load (i32.const 196)) (i64.const 4096) (i64.const 0) (i32.const 224))
  (if (i32.load8_u (i32.const 224)) (then (return (call $number (i32.load8_u (i32.const 228))))))
  (call $text (i32.load (i32.const 228)) (i32.load (i32.const 232))))
