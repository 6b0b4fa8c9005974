// A request is a line of stdin, its response a line of stdout with the same id; one after the other until stdin ends.
// What goes to stderr is log.
#define _POSIX_C_SOURCE 200809L

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "json.h"

// A response is built of slices of the request, so that names and numbers stay as they were written.
static void put(json slice) {
  if (slice.size > 0) fwrite(slice.at, 1, slice.size, stdout);
}

static void begin(json request) {
  fputs("{\"id\":", stdout);
  put(json_member(request, "id"));
}

static void end(void) { fputs("}\n", stdout); }

// Answers that trying again can't help. The reason is one CamelCase word; neither text needs escapes.
static void refuse(json request, const char *reason, const char *message) {
  begin(request);
  printf(",\"error\":{\"reason\":\"%s\",\"message\":\"%s\",\"terminal\":true}", reason, message);
  end();
}

static void log_debug(json request, const char *what) {
  printf("{\"log\":{\"level\":\"debug\",\"message\":\"%s ", what);
  put(json_inner(json_member(request, "name")));
  fputs(", generation ", stdout);
  put(json_member(request, "generation"));
  fputs("\"}}\n", stdout);
}

// Makes the world what the spec says. It may run again for the same uid and generation: look first, then act.
static void work(json request) {
  json name = json_inner(json_member(json_member(request, "spec"), "name"));
  json greeting = json_inner(json_member(json_member(request, "config"), "greeting"));
  if (json_from(name, 0).size == 0) {
    refuse(request, "NameMissing", "spec.name must say whom to greet");
    return;
  }

  log_debug(request, "greeting for");

  begin(request);
  fputs(",\"status\":{\"text\":\"", stdout);
  put(greeting.size > 0 ? greeting : json_text("Hello", 5));
  fputs(", ", stdout);
  put(name);
  fputs("!\"},\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\",\"reason\":\"Greeted\"}]", stdout);
  end();
}

// Takes back what work made. It may run again, and when nothing is there any more.
static void teardown(json request) {
  log_debug(request, "goodbye to");

  begin(request);
  end();
}

static void answer(json request) {
  json reaction = json_member(request, "reaction");
  if (json_equals(reaction, "work")) {
    work(request);
  } else if (json_equals(reaction, "delete")) {
    teardown(request);
  } else {
    refuse(request, "UnknownReaction", "greeter has no such reaction");
  }
}

int main(void) {
  char *line = NULL;
  size_t capacity = 0;
  ssize_t size;
  while ((size = getline(&line, &capacity, stdin)) > 0) {
    answer(json_text(line, (size_t)size));
    if (fflush(stdout) != 0) { // an answer that stays in the buffer is no answer
      perror("stdout");
      return EXIT_FAILURE;
    }
  }
  free(line);
  return ferror(stdin) ? EXIT_FAILURE : EXIT_SUCCESS;
}
