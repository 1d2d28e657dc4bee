// {{title}}: an acp-runtime plugin with one tool.
//
// `plugin.h` is made from `wit/` when the plugin is built, into `dist/parts/bindings`. What a function answers is freed
// by what is generated, so it has to be allocated.

#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "plugin.h"

// The model sees this schema, and every call is checked against it before the plugin is asked.
static const char GREET_SCHEMA[] =
    "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\",\"description\":\"Whom to greet.\"}},"
    "\"required\":[\"name\"],\"additionalProperties\":false}";

static bool is(const plugin_string_t *text, const char *word) {
  return text->len == strlen(word) && memcmp(text->ptr, word, text->len) == 0;
}

void exports_aar_tool_tool_list_tools(exports_aar_tool_tool_list_tool_def_t *ret) {
  exports_aar_tool_tool_tool_def_t *greet = calloc(1, sizeof *greet);
  plugin_string_dup(&greet->name, "greet");
  greet->title.is_some = true;
  plugin_string_dup(&greet->title.val, "Greet");
  plugin_string_dup(&greet->description, "Greets somebody by name.");
  plugin_string_dup(&greet->input_schema, GREET_SCHEMA);
  greet->side_effects.ptr = calloc(1, sizeof *greet->side_effects.ptr);
  greet->side_effects.len = 1;
  plugin_string_dup(&greet->side_effects.ptr[0], "none");
  ret->ptr = greet;
  ret->len = 1;
}

// Answers whether it was done: `ret` is filled in then, and else `err`.
bool exports_aar_tool_tool_call(plugin_string_t *name, exports_aar_tool_tool_json_t *arguments,
                                exports_aar_tool_tool_call_context_t *context,
                                exports_aar_tool_tool_outcome_t *ret, exports_aar_tool_tool_error_t *err) {
  (void)context;
  memset(ret, 0, sizeof *ret);
  memset(err, 0, sizeof *err);
  if (!is(name, "greet")) {
    plugin_string_dup(&err->kind, "std:not-found");
    plugin_string_dup(&err->message, "there is no such tool");
    return false;
  }
  static const char BEFORE[] = "Hello, ";
  char *text = malloc(sizeof BEFORE + arguments->len + 1);
  memcpy(text, BEFORE, sizeof BEFORE - 1);
  size_t len = sizeof BEFORE - 1;
  if (!json_text((const char *)arguments->ptr, arguments->len, "name", text, &len)) {
    free(text);
    plugin_string_dup(&err->kind, "std:invalid-args");
    plugin_string_dup(&err->message, "`name` is not a text");
    return false;
  }
  text[len++] = '!';
  exports_aar_tool_tool_content_t *content = calloc(1, sizeof *content);
  plugin_string_dup(&content->mime, "text/plain");
  content->text.is_some = true;
  plugin_string_dup_n(&content->text.val, text, len);
  free(text);
  ret->content.ptr = content;
  ret->content.len = 1;
  return true;
}
