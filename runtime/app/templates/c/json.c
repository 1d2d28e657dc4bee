// Reads one text out of a JSON object. The host sends valid JSON only.

#include "json.h"

#include <string.h>

static unsigned hex(const char *digits) {
  unsigned value = 0;
  for (int i = 0; i < 4; i++) {
    char c = digits[i];
    value = value * 16 + (unsigned)(c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
  }
  return value;
}

static size_t utf8(unsigned code, char *out) {
  if (code < 0x80) {
    out[0] = (char)code;
    return 1;
  }
  size_t more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  static const unsigned FIRST[] = {0, 0xC0, 0xE0, 0xF0};
  out[0] = (char)(FIRST[more] | code >> 6 * more);
  for (size_t i = 1; i <= more; i++) {
    out[i] = (char)(0x80 | (code >> 6 * (more - i) & 0x3F));
  }
  return more + 1;
}

// Reads the text whose opening quote is at `*at`, into `out` unless that is null, and leaves `*at` behind it.
static size_t text(const char *json, size_t *at, char *out) {
  size_t len = 0;
  char piece[4];
  for (++*at; json[*at] != '"'; ++*at) {
    size_t size = 1;
    piece[0] = json[*at];
    if (piece[0] == '\\') {
      char c = json[++*at];
      if (c == 'u') {
        unsigned code = hex(json + *at + 1);
        *at += 4;
        if (code >= 0xD800 && code < 0xDC00 && json[*at + 1] == '\\' && json[*at + 2] == 'u') {
          code = 0x10000 + ((code - 0xD800) << 10) + (hex(json + *at + 3) - 0xDC00);
          *at += 6;
        }
        size = utf8(code, piece);
      } else {
        static const char SHORT[] = "bfnrt", MEANT[] = "\b\f\n\r\t";
        const char *found = memchr(SHORT, c, sizeof SHORT - 1);
        piece[0] = found ? MEANT[found - SHORT] : c;
      }
    }
    if (out) {
      memcpy(out + len, piece, size);
    }
    len += size;
  }
  ++*at;
  return len;
}

static bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

bool json_text(const char *json, size_t json_len, const char *key, char *out, size_t *len) {
  int depth = 0;
  for (size_t at = 0; at < json_len;) {
    char c = json[at];
    if (c != '"') {
      depth += (c == '{' || c == '[') - (c == '}' || c == ']');
      at++;
      continue;
    }
    size_t begin = at;
    bool same = text(json, &at, NULL) == strlen(key) && memcmp(json + begin + 1, key, strlen(key)) == 0;
    while (at < json_len && is_space(json[at])) {
      at++;
    }
    if (depth != 1 || !same || at >= json_len || json[at] != ':') {
      continue;
    }
    for (at++; at < json_len && is_space(json[at]); at++) {
    }
    if (at >= json_len || json[at] != '"') {
      return false;
    }
    *len += text(json, &at, out + *len);
    return true;
  }
  return false;
}
