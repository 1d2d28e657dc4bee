// Reads one text out of a JSON object. For more than that take a library: every `*.c` in this folder is compiled.

#ifndef JSON_H
#define JSON_H

#include <stdbool.h>
#include <stddef.h>

// Appends the text that the object `json` has under `key` to `out`, which has room for `json_len` more bytes, and
// adds its length to `len`. Answers whether it is there. Only the object's own keys count.
bool json_text(const char *json, size_t json_len, const char *key, char *out, size_t *len);

#endif
