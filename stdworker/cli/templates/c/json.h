// Reads JSON in place: a value is a slice of the text as it was written, so no number ever loses a digit.
// The text must be well-formed (the host sends nothing else); nothing is read beyond its end in any case.
#ifndef JSON_H
#define JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

// A part of the text. `size` 0: absent.
typedef struct {
  const char *at;
  size_t size;
} json;

static inline json json_text(const char *at, size_t size) { return (json){at, size}; }

static inline bool json_is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

static inline json json_from(json text, size_t offset) {
  while (offset < text.size && json_is_blank(text.at[offset])) offset++;
  return offset < text.size ? json_text(text.at + offset, text.size - offset) : json_text(NULL, 0);
}

// The size of the string at the start of the text, its quotes counted.
static inline size_t json_string_size(json text) {
  size_t i = 1;
  while (i < text.size && text.at[i] != '"') i += text.at[i] == '\\' ? 2 : 1;
  return i < text.size ? i + 1 : text.size;
}

// The size of the value at the start of the text, whatever it is.
static inline size_t json_value_size(json text) {
  size_t depth = 0;
  for (size_t i = 0; i < text.size;) {
    char c = text.at[i];
    if (c == '"') {
      i += json_string_size(json_text(text.at + i, text.size - i));
      if (depth == 0) return i;
      continue;
    }
    if (depth == 0 && (c == ',' || c == '}' || c == ']' || json_is_blank(c))) return i;
    if (c == '{' || c == '[') depth++;
    i++;
    if ((c == '}' || c == ']') && --depth == 0) return i;
  }
  return text.size;
}

// The value of a member of an object: absent if there is none, or if the text is no object. Keys are compared as they
// are written: one with escapes is not found.
static inline json json_member(json text, const char *name) {
  size_t name_size = strlen(name);
  json rest = json_from(text, 0);
  if (rest.size == 0 || rest.at[0] != '{') return json_text(NULL, 0);
  rest = json_from(rest, 1);
  while (rest.size > 0 && rest.at[0] == '"') {
    json key = json_text(rest.at, json_string_size(rest));
    rest = json_from(rest, key.size);
    rest = json_from(rest, 1); // the colon
    json value = json_text(rest.at, json_value_size(rest));
    if (key.size == name_size + 2 && memcmp(key.at + 1, name, name_size) == 0) return value;
    rest = json_from(rest, value.size);
    rest = json_from(rest, 1); // the comma
  }
  return json_text(NULL, 0);
}

static inline bool json_is_string(json value) { return value.size >= 2 && value.at[0] == '"'; }

// What is between the quotes of a string, escapes as they were written; absent if it is none, or empty.
static inline json json_inner(json value) {
  return json_is_string(value) ? json_text(value.at + 1, value.size - 2) : json_text(NULL, 0);
}

static inline bool json_equals(json value, const char *text) {
  json inner = json_inner(value);
  return inner.size == strlen(text) && memcmp(inner.at, text, inner.size) == 0;
}

#endif
