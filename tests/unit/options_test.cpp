#include "tensorpager/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <map>

namespace tensorpager {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

ReadSettings from_environment(const std::vector<std::string>& entries, const std::string& file = "/nonexistent") {
  std::vector<const char*> environment;
  for (const std::string& entry : entries) environment.push_back(entry.c_str());
  environment.push_back(nullptr);
  OptionSources sources;
  sources.environment = environment.data();
  sources.default_file = file;
  sources.policies = {"observe", "lru"};
  return read_settings(sources);
}

std::vector<std::string> messages(const ReadSettings& read) {
  std::vector<std::string> out;
  for (const Problem& problem : read.problems) out.push_back(problem.message);
  return out;
}

std::string written(const ReadSettings& read, std::size_t option) {
  return read.settings.origins[option].text;
}

class File {
 public:
  explicit File(std::string_view text) : path_(::testing::TempDir() + "options_test.conf") {
    std::ofstream(path_) << text;
  }
  ~File() { std::remove(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Every setting: values that it takes, and values that it refuses with a part of the reason.

struct Refused {
  std::string value, reason;
};
struct Case {
  std::vector<std::string> accepted;
  std::vector<Refused> refused;
};

const Refused kEmpty{"", "is empty. Write"};

const std::map<std::string, Case> kCases = {
    {"disable",
     {{"1", "0", "true", "False", "on", "off", "yes", "no"},
      {{"2", "neither yes nor no"}, {"10", "neither yes nor no"}}}},
    {"policy",
     {{"observe", "lru"}, {{"lur", "Did you mean \"lru\"?"}, {"nothing-like-it", "is none of: observe, lru."}}}},
    {"budget",
     {{"20GiB", "1.5GiB", "12 gib", "80%", "12.5%", "100%", "1B", "8388607TiB", "500MB", "4K"},
      {{"20", "has no unit. Write 20GiB (or 80%)."},
       {"1.5", "has no unit. Write 1.5GiB (or 80%)."},
       {"0", "is out of range. The least is 1B."},
       {"-1GiB", "is no number with a unit"},
       {"GiB", "is no number with a unit"},
       {"20GiBs", "unknown unit \"GiBs\". Write 20GiB"},
       {"1.2.3GiB", "unknown unit"},
       {"8388608TiB", "is too large"},
       {"99999999999999999999999B", "is too large"},
       {"18446744073709551616B", "is too large"},
       {"1.5B", "more digits than its unit can hold"},
       {"0%", "is out of range. Write 1% to 100%."},
       {"101%", "is out of range. Write 1% to 100%."},
       {"%", "is no percentage"},
       {"5x%", "is no percentage"}}}},
    {"host_budget",
     {{"0", "64GiB", "50%"}, {{"64", "has no unit. Write 64GiB (or 80%)."}, {"9000000TiB", "is too large"}}}},
    {"min_block",
     {{"0", "2MiB"},
      {{"2", "has no unit. Write 2GiB."}, {"50%", "unknown unit \"%\""}, {"9000000TiB", "is too large"}}}},
    {"driver_reserve",
     {{"0", "16MiB"}, {{"16", "has no unit"}, {"x", "is no number"}, {"9000000TiB", "is too large"}}}},
    {"victim_wait",
     {{"0", "10s", "500ms", "20us", "1.5s"},
      {{"10", "has no unit. Write 10s."},
       {"10h", "unknown unit \"h\""},
       {"1001s", "the most is 1000s"},
       {"99999999999s", "is too large"}}}},
    {"allocator", {{"auto", "keep"}, {{"kep", "Did you mean \"keep\"?"}, {"1", "is none of: auto, keep."}}}},
    {"driver", {{"/opt/driver/libcuda.so.1"}, {}}},
    {"log", {{"error", "warn", "info", "debug"}, {{"warning", "Did you mean \"warn\"?"}, {"3", "is none of"}}}},
    {"log_file",
     {{"/tmp/log.%p", "%h-100%%"}, {{"log.%x", "unknown letter after %"}, {"log.%", "unknown letter after %"}}}},
    {"stats", {{"stats.%p.json"}, {{"%q", "unknown letter after %"}}}},
    {"conf_file", {{}, {{"/nonexistent/file", "cannot be read: No such file or directory"}}}},
};

TEST(Options, TheTableOfCasesIsWhole) {
  for (const Option& option : kOptions) EXPECT_TRUE(kCases.contains(std::string(option.key))) << option.key;
  EXPECT_EQ(kCases.size(), kOptions.size());
}

TEST(Options, EverySettingTakesItsValuesFromAVariable) {
  for (const auto& [key, values] : kCases) {
    const std::size_t index = *option_reading::find_option(key);
    const std::string name = option_reading::variable_name(kOptions[index]);
    for (const std::string& value : values.accepted) {
      const ReadSettings read = from_environment({name + "=" + value});
      EXPECT_THAT(messages(read), IsEmpty());
      EXPECT_EQ(written(read, index), value);
      EXPECT_EQ(read.settings.origins[index].where, name);
    }
  }
}

TEST(Options, EverySettingRefusesBadValuesAndNamesTheVariable) {
  for (const auto& [key, values] : kCases) {
    const std::string name = option_reading::variable_name(kOptions[*option_reading::find_option(key)]);
    std::vector<Refused> refused = values.refused;
    refused.push_back(kEmpty);
    for (const Refused& bad : refused) {
      const ReadSettings read = from_environment({name + "=" + bad.value});
      ASSERT_EQ(read.problems.size(), 1u) << name << "=" << bad.value;
      EXPECT_TRUE(read.problems[0].is_error());
      EXPECT_FALSE(read.usable());
      EXPECT_THAT(read.problems[0].message, HasSubstr(bad.reason));
      const std::string named = key == "conf_file" && !bad.value.empty() ? bad.value : name + "=" + bad.value;
      EXPECT_THAT(read.problems[0].message, HasSubstr(named));
    }
  }
}

TEST(Options, EverySettingIsReadFromConfToo) {
  for (const auto& [key, values] : kCases) {
    const std::size_t index = *option_reading::find_option(key);
    for (const std::string& value : values.accepted)
      EXPECT_EQ(written(from_environment({"TENSORPAGER_CONF=" + key + ":" + value}), index), value);
    for (const Refused& bad : values.refused) {
      const ReadSettings read = from_environment({"TENSORPAGER_CONF=log:warn," + key + ":" + bad.value});
      ASSERT_EQ(read.problems.size(), key == "log" ? 2u : 1u) << key << ":" << bad.value;
      EXPECT_THAT(read.problems.back().message, HasSubstr(bad.reason));
      EXPECT_FALSE(read.usable());
    }
  }
}

TEST(Options, EveryDefaultHolds) {
  const ReadSettings read = from_environment({});
  EXPECT_THAT(messages(read), IsEmpty());
  for (const Settings::Origin& origin : read.settings.origins) EXPECT_EQ(origin.where, "default");
  EXPECT_FALSE(read.settings.disable);
  EXPECT_FALSE(read.settings.budget.has_value());
  EXPECT_EQ(read.settings.driver_reserve, 16u << 20);
  EXPECT_EQ(read.settings.victim_wait, 10s);
  EXPECT_EQ(read.settings.log, "warn");
  EXPECT_EQ(read.settings.effective_policy(), "observe");
}

TEST(Options, SizesAreExact) {
  const std::pair<const char*, std::uint64_t> cases[] = {
      {"1.5GiB", 3ull << 29},
      {"1GB", 1'000'000'000},
      {"2K", 2048},
      {"2KB", 2000},
      {"2kib", 2048},
      {"3M", 3ull << 20},
      {"3MB", 3'000'000},
      {"1T", 1ull << 40},
      {"1TB", 1'000'000'000'000},
      {"7b", 7},
      {"0.5KiB", 512},
      {"8388607TiB", 8388607ull << 40},
  };
  for (const auto& [text, bytes] : cases)
    EXPECT_EQ(from_environment({std::string("TENSORPAGER_BUDGET=") + text}).settings.budget->of(1), bytes) << text;
  EXPECT_EQ(from_environment({"TENSORPAGER_BUDGET=12.5%"}).settings.budget->of(800), 100u);
  EXPECT_EQ(from_environment({"TENSORPAGER_VICTIM_WAIT=1.5ms"}).settings.victim_wait, 1500us);
}

TEST(Options, ABudgetAloneSelectsLru) {
  EXPECT_EQ(from_environment({"TENSORPAGER_BUDGET=1GiB"}).settings.effective_policy(), "lru");
  EXPECT_EQ(from_environment({"TENSORPAGER_BUDGET=1GiB", "TENSORPAGER_POLICY=observe"}).settings.effective_policy(),
            "observe");
}

TEST(Options, PrecedenceIsCommandLineVariableConfFileDefault) {
  const File file("budget:1GiB\nmin_block:1MiB, driver_reserve:1MiB\nhost_budget:1GiB  # of 8\n# log:debug\n");
  const char* const environment[] = {"TENSORPAGER_CONF=budget:2GiB,min_block:2MiB,driver_reserve:2MiB",
                                     "TENSORPAGER_MIN_BLOCK=3MiB", "TENSORPAGER_BUDGET=3GiB", nullptr};
  const ReadSettings read = read_settings({{{"budget", "4GiB", "--budget 4GiB"}}, environment, file.path(), {}});
  EXPECT_THAT(messages(read), IsEmpty());
  const Settings& settings = read.settings;
  EXPECT_EQ(settings.budget->bytes, 4ull << 30);
  EXPECT_EQ(settings.origin(OptionId::budget).by, SetBy::command_line);
  EXPECT_EQ(settings.min_block, 3u << 20);
  EXPECT_EQ(settings.origin(OptionId::min_block).where, "TENSORPAGER_MIN_BLOCK");
  EXPECT_EQ(settings.driver_reserve, 2u << 20);
  EXPECT_EQ(settings.origin(OptionId::driver_reserve).where, "TENSORPAGER_CONF");
  EXPECT_EQ(settings.host_budget->bytes, 1u << 30);
  EXPECT_EQ(settings.origin(OptionId::host_budget).where, file.path());
  EXPECT_EQ(settings.log, "warn");
}

TEST(Options, AFileIsNamedByTheSetting) {
  const File file("budget : 1GiB,\nlog:info");
  const ReadSettings read = from_environment({"TENSORPAGER_CONF_FILE=" + file.path()});
  EXPECT_THAT(messages(read), IsEmpty());
  EXPECT_EQ(read.settings.budget->bytes, 1u << 30);
  EXPECT_EQ(read.settings.log, "info");
}

TEST(Options, AFilesErrorsNameTheLine) {
  const File file("\nbudget:1\nconf_file:/x\nbudgt:1GiB\n");
  EXPECT_THAT(
      messages(from_environment({}, file.path())),
      ElementsAre("budget:1 in " + file.path() + " (line 2) has no unit. Write 1GiB (or 80%).",
                  "conf_file:/x in " + file.path() + " (line 3) cannot stand in a file. Set TENSORPAGER_CONF_FILE.",
                  "unknown setting \"budgt\" in " + file.path() +
                      " (line 4). Did you mean \"budget\"?  See: tensorpager config"));
}

TEST(Options, DisabledReadsNoFile) {
  const ReadSettings read = from_environment({"TENSORPAGER_DISABLE=1", "TENSORPAGER_CONF_FILE=/nonexistent/file"});
  EXPECT_THAT(messages(read), IsEmpty());
  EXPECT_TRUE(read.settings.disable);
}

// The messages of facts on usability, word for word.

TEST(Options, UnknownKeyHasAPositionAndASuggestion) {
  const ReadSettings read = from_environment({"TENSORPAGER_CONF=policy:lru,budgt:20GiB"});
  EXPECT_THAT(messages(read),
              ElementsAre("unknown setting \"budgt\" in TENSORPAGER_CONF (position 12). Did you mean \"budget\"?"
                          "  See: tensorpager config"));
  EXPECT_FALSE(read.usable());
}

TEST(Options, MissingUnitIsNamed) {
  const char* const none[] = {nullptr};
  EXPECT_THAT(messages(read_settings({{{"budget", "20", "--budget 20"}}, none, "/nonexistent", {}})),
              ElementsAre("--budget 20 has no unit. Write 20GiB (or 80%)."));
  EXPECT_THAT(messages(from_environment({"TENSORPAGER_CONF= log:info , budget:20"})),
              ElementsAre("budget:20 in TENSORPAGER_CONF (position 13) has no unit. Write 20GiB (or 80%)."));
}

TEST(Options, LaterDuplicateHoldsWithAWarning) {
  const ReadSettings read = from_environment({"TENSORPAGER_CONF=budget:1GiB,budget:2GiB"});
  EXPECT_THAT(messages(read),
              ElementsAre("budget is set twice in TENSORPAGER_CONF (position 13). The later one holds: budget:2GiB."));
  EXPECT_TRUE(read.usable());
  EXPECT_EQ(read.settings.budget->bytes, 2u << 30);
}

TEST(Options, MalformedEntries) {
  EXPECT_THAT(
      messages(from_environment({"TENSORPAGER_CONF=budget=2GiB"})),
      ElementsAre(
          "\"budget=2GiB\" in TENSORPAGER_CONF (position 1) is no setting. Write key:value, as in budget:20GiB."));
  EXPECT_FALSE(from_environment({"TENSORPAGER_CONF=log:info,,budget:1GiB"}).usable());
  EXPECT_FALSE(from_environment({"TENSORPAGER_CONF=budget:"}).usable());
  EXPECT_TRUE(from_environment({"TENSORPAGER_CONF="}).usable());
}

TEST(Options, UnknownVariablesWarn) {
  const ReadSettings read =
      from_environment({"TENSORPAGER_BUDGT=1GiB", "TENSORPAGER_INTERNAL_HELLO=7", "TENSORPAGER_LIB=/x",
                        "TENSORPAGER_budget=1GiB", "TENSORPAGER_XYZZY=1", "TENSORPAGE=1"});
  EXPECT_THAT(
      messages(read),
      ElementsAre("unknown variable TENSORPAGER_BUDGT. Did you mean TENSORPAGER_BUDGET?  See: tensorpager config",
                  "unknown variable TENSORPAGER_budget.  See: tensorpager config",
                  "unknown variable TENSORPAGER_XYZZY.  See: tensorpager config"));
  EXPECT_TRUE(read.usable());
}

TEST(Options, AnOverruledBadValueIsStillReported) {
  const ReadSettings read = from_environment({"TENSORPAGER_BUDGET=1GiB", "TENSORPAGER_CONF=budget:7"});
  EXPECT_FALSE(read.usable());
  EXPECT_EQ(read.settings.budget->bytes, 1u << 30);
}

TEST(Options, PatternsExpand) {
  EXPECT_EQ(expand_pattern("/tmp/%h-%p-100%%", 42, "node1"), "/tmp/node1-42-100%");
  EXPECT_EQ(expand_pattern("plain", 42, "node1"), "plain");
}

}  // namespace
}  // namespace tensorpager
