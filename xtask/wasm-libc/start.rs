//! The start of a command. Debian's leaves the constructors (one of them finds the folders that were handed in) to a
//! wrapper of the linker's, which is not made once std names `__wasm_call_ctors`.
#![no_std]
unsafe extern "C" {
    fn __wasm_call_ctors();
    fn __main_void() -> i32;
    fn __wasm_call_dtors();
    fn exit(code: i32) -> !;
}
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _start() {
    unsafe {
        __wasm_call_ctors();
        let code = __main_void();
        __wasm_call_dtors();
        if code != 0 {
            exit(code)
        }
    }
}
