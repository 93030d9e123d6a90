#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

struct Options {
  long steps = 120;
  long batch = 64;
  long streams = 1;         ///< 2: weight gradients on a stream of their own
  long checksum_every = 0;  ///< steps between checksums of the weights; 0: only at the end
  long seed = 1;
  std::string data;
  std::string json;  ///< empty: none
  bool quiet = false;
};

inline void print_usage(FILE* out, const Options& defaults) {
  std::fprintf(out,
               "digits_cnn: trains a convolutional network on the UCI handwritten digits.\n"
               "  --steps N            training steps (%ld)\n"
               "  --batch N            images a step (%ld)\n"
               "  --streams 1|2        2: weight gradients on a second stream (%ld)\n"
               "  --checksum-every N   checksum of the weights every N steps; 0: at the end only (%ld)\n"
               "  --seed N             initial weights and order of the batches (%ld)\n"
               "  --data FILE          the digits, gzip or plain (%s)\n"
               "  --json FILE          results as JSON\n"
               "  --quiet              no line for each step\n",
               defaults.steps, defaults.batch, defaults.streams, defaults.checksum_every, defaults.seed,
               defaults.data.c_str());
}

[[noreturn]] inline void usage_error(const char* what, const char* value) {
  std::fprintf(stderr, "digits_cnn: %s: %s. See: digits_cnn --help\n", what, value);
  std::exit(2);
}

inline long parse_number(const char* option, const char* text, long low, long high) {
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  if (end == text || *end != '\0' || value < low || value > high) usage_error(option, text);
  return value;
}

inline bool set_option(Options& options, const char* name, const char* value) {
  const auto is = [name](const char* known) { return std::strcmp(name, known) == 0; };
  if (is("--steps")) return options.steps = parse_number(name, value, 1, 1000000), true;
  if (is("--batch")) return options.batch = parse_number(name, value, 2, 1437), true;
  if (is("--streams")) return options.streams = parse_number(name, value, 1, 2), true;
  if (is("--checksum-every")) return options.checksum_every = parse_number(name, value, 0, 1000000), true;
  if (is("--seed")) return options.seed = parse_number(name, value, 0, 1000000000), true;
  if (is("--data")) return options.data = value, true;
  if (is("--json")) return options.json = value, true;
  return false;
}

/// Ends the program: with 0 after --help, with 2 after a mistake.
inline Options parse_options(int argc, char** argv, const std::string& default_data) {
  Options options;
  options.data = default_data;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--help") == 0) {
      print_usage(stdout, options);
      std::exit(0);
    }
    if (std::strcmp(argv[i], "--quiet") == 0) {
      options.quiet = true;
      continue;
    }
    if (i + 1 == argc) usage_error("unknown option, or its value is missing", argv[i]);
    if (!set_option(options, argv[i], argv[i + 1])) usage_error("unknown option", argv[i]);
    ++i;
  }
  return options;
}
