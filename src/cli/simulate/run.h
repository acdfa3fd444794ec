#pragma once
/// One run of a program on the simulated device, in a process of its own.

#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "device/sim/schedule.h"

namespace reductio::cli {

struct Finding {
  std::string kind;  ///< sim::FaultKind's name; "timeout", "crash", "output differs"
  std::string kernel{};
  std::size_t block = 0;
  std::vector<unsigned> threads{};
  std::string file{};  ///< empty if not known, as in the next two
  int line = 0, column = 0;
  std::string message;  ///< one line that holds all of the above
};

/// As print_json() writes it, and as the process that finds it tells it.
void to_json(nlohmann::json&, const Finding&);
void from_json(const nlohmann::json&, Finding&);

/// How a program is run.
struct Way {
  sim::Order order;
  std::string order_name, optimization;
  std::filesystem::path object;  ///< compiled_for_simulation()
};

struct RunHow {
  std::vector<std::string> arguments;  ///< argv, its name first
  std::uint64_t seed = 1;
  bool goes_on = false;   ///< after a fault
  double timeout_s = 60;
  std::size_t at_once = 1;  ///< runs
};

struct Run {
  Way way;
  int exit_code = 0;
  double seconds = 0;
  std::vector<Finding> findings{};
  std::vector<Finding> failed_calls{};  ///< of CUDA's runtime: place and message
  std::string cannot_start{};  ///< why main() was not called
  std::string output{};  ///< its stdout, what kernels print between marks (device/sim/runtime.h)
  bool ran_out_of_memory() const;
};

/// A run that is under way.
class Running {
 public:
  /// `show`: its output is printed as it comes, and so is its stderr; else both are kept from the user.
  Running(Way, const RunHow&, bool show);
  ~Running();
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  /// Waits up to 0.1 s for what it says. True when it has ended.
  bool listen();
  Run& result() { return run_; }

 private:
  void read_output();
  void read_findings();
  void end(int status);
  std::string where_it_is();

  Run run_;
  bool show_;
  double timeout_s_, started_s_;
  int pid_ = -1, output_ = -1, findings_ = -1;
  std::string said_;  ///< on findings_, not yet whole
};

/// An output without the marks around what kernels print.
std::string without_marks(std::string output);
/// The lines of an output, those that a kernel printed sorted: its threads print in no order.
std::vector<std::string> lines_in_any_order(const std::string& output);

}  // namespace reductio::cli
