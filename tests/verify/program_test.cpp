// What `reductio verify` prints where it is interrupted.

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "core/variant.h"

namespace reductio {
namespace {

#ifndef REDUCTIO_SANITIZED  // which has no command line
TEST(BatteryApart, the_program_prints_what_it_had_when_interrupted) {
  for (const int signal : {SIGINT, SIGTERM}) {
    Variant v{.id = "stand-in/interrupts",
              .title = "stand-in",
              .cites = "none",
              .how = {},
              .operations = {Operation::sum},
              .types = {ElementType::i32}};
    const Prepare prepare = [=](const Problem& p, const Settings&, const DeviceInfo&) {
      return plan_of({.longest_chain = p.n}, [=](void* in, void* out, Stream) {
        unsigned sum = 0;
        for (std::size_t i = 0; i < p.n; ++i) sum += static_cast<const unsigned*>(in)[i];
        std::memcpy(out, &sum, sizeof sum);
        if (p.n < 100) return;
        kill(getppid(), signal);
        for (;;) pause();
      });
    };
    // In a process of its own, whose registry has the variant, and whose two streams are one.
    const auto program = [&] {
      dup2(STDERR_FILENO, STDOUT_FILENO);
      register_variant(v, DeviceKind::cpu, prepare);
      std::string words[] = {"reductio", "verify", "--device",   "cpu",
                             "--tier",   "quick",  "--variants", "stand-in/inter"};
      std::vector<char*> arguments;
      for (std::string& word : words) arguments.push_back(word.data());
      arguments.push_back(nullptr);
      std::exit(cli::program(static_cast<int>(std::size(words)), arguments.data()));
    };
    EXPECT_EXIT(program(), testing::ExitedWithCode(1),
                "partial +cpu +stand-in/interrupts +[0-9]+ passed, [0-9]+ not run.*"
                "[0-9]+ passed, 0 failed, 0 refused, [0-9]+ not run.*"
                "reductio: not all was verified: [0-9]+ of [0-9]+ cases were run; interrupted on device cpu");
  }
}
#endif

}  // namespace
}  // namespace reductio
