// A child's messages, and each way in which it can end.

#include "core/child.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "core/error.h"

namespace reductio {
namespace {

constexpr double for_ever_s = 1e9;

TEST(Child, messages_arrive_whole_and_in_order) {
  const std::string bytes("a\0\n\xff", 4), large(300'000, 'x');  // more than a pipe holds
  Child child([&](const Child::Send& send) {
    send({});
    send({"", bytes});
    for (int i = 0; i < 1000; ++i) send({std::to_string(i), large.substr(0, static_cast<std::size_t>(i))});
    send({large});
  });
  Child::Message m{"left over"};
  ASSERT_EQ(child.next(m, for_ever_s), Child::Got::message);
  EXPECT_EQ(m, Child::Message{});
  ASSERT_EQ(child.next(m, for_ever_s), Child::Got::message);
  EXPECT_EQ(m, (Child::Message{"", bytes}));
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(child.next(m, for_ever_s), Child::Got::message);
    ASSERT_EQ(m, (Child::Message{std::to_string(i), large.substr(0, static_cast<std::size_t>(i))}));
  }
  ASSERT_EQ(child.next(m, for_ever_s), Child::Got::message);
  EXPECT_EQ(m, Child::Message{large});
  EXPECT_EQ(child.next(m, for_ever_s), Child::Got::done);
}

TEST(Child, what_it_throws_is_thrown_by_its_maker) {
  Child::Message m;
  const auto next_of = [&](auto work) { return Child([=](const Child::Send&) { work(); }).next(m, for_ever_s); };
  EXPECT_THROW(next_of([] { throw UsageError("a"); }), UsageError);
  EXPECT_THROW(next_of([] { throw Unavailable("a"); }), Unavailable);
  EXPECT_THROW(next_of([] { throw Refused("a"); }), Refused);
  EXPECT_THROW(next_of([] { throw NoGpu("a"); }), NoGpu);
  EXPECT_THROW(next_of([] { throw DeviceError("a"); }), DeviceError);
  try {
    next_of([] { throw std::length_error("too long"); });
    ADD_FAILURE() << "nothing was thrown";
  } catch (const std::runtime_error& e) {
    EXPECT_STREQ(e.what(), "too long");
  }
}

TEST(Child, the_end_of_its_memory_is_told_from_an_exit_of_its_own) {
  const auto memory_ended = [](auto die) {
    Child child([&](const Child::Send&) { die(); });
    Child::Message m;
    EXPECT_EQ(child.next(m, for_ever_s), Child::Got::died);
    return child.memory_ended();
  };
  EXPECT_TRUE(memory_ended([] { std::_Exit(memory_end_exit_code()); }));
  EXPECT_FALSE(memory_ended([] { std::_Exit(1); }));
  EXPECT_FALSE(memory_ended([] { std::raise(SIGKILL); }));
  EXPECT_EQ(memory_end_exit_code(), 1) << "of the process that its user started";
}

TEST(Child, how_it_died_is_known_and_what_it_said_before_is_kept) {
  const auto death_of = [](auto die) {
    Child child([&](const Child::Send& send) {
      send({"before"});
      die();
    });
    Child::Message m;
    EXPECT_EQ(child.next(m, for_ever_s), Child::Got::message);
    EXPECT_EQ(m, Child::Message{"before"});
    EXPECT_EQ(child.next(m, for_ever_s), Child::Got::died);
    return child.death();
  };
  EXPECT_EQ(death_of([] { std::_Exit(0); }), "exit(0)");
  EXPECT_EQ(death_of([] { std::_Exit(3); }), "exit(3)");
  EXPECT_EQ(death_of([] { std::raise(SIGKILL); }), "SIGKILL (Killed); the system may have run out of memory");
  EXPECT_EQ(death_of([] { throw 42; }), "SIGABRT (Aborted)") << "googletest, which it was forked from, would catch it";
  // A process that it has started holds the pipe open.
  int alive[2];
  ASSERT_EQ(pipe(alive), 0);
  EXPECT_EQ(death_of([&] {
              if (fork() == 0) {
                char byte;
                close(alive[1]);
                if (read(alive[0], &byte, 1) >= 0) std::_Exit(0);
              }
              std::_Exit(4);
            }),
            "exit(4)");
  close(alive[0]);
  close(alive[1]);
}

TEST(Child, one_that_somebody_else_waited_for_died_by_unknown_means) {
  Child child([](const Child::Send&) { std::_Exit(3); });
  EXPECT_GT(waitpid(-1, nullptr, 0), 0);
  Child::Message m;
  EXPECT_EQ(child.next(m, for_ever_s), Child::Got::died);
  EXPECT_EQ(child.death(), "unknown means");
}

TEST(Child, what_it_printed_before_it_threw_is_printed) {
  std::FILE* const file = std::tmpfile();
  ASSERT_TRUE(file);
  Child child([&](const Child::Send&) {
    std::fputs("before", file);
    throw UsageError("a");
  });
  Child::Message m;
  EXPECT_THROW(child.next(m, for_ever_s), UsageError);
  std::fseek(file, 0, SEEK_END);
  EXPECT_EQ(std::ftell(file), 6);
  std::fclose(file);
}

TEST(Child, one_that_says_nothing_is_late_and_is_killed) {
  Child child([](const Child::Send&) {
    for (;;) pause();
  });
  Child::Message m;
  EXPECT_EQ(child.next(m, 0.01), Child::Got::late);
  EXPECT_TRUE(child.kill());
  EXPECT_TRUE(child.death().starts_with("SIGKILL")) << child.death();
  errno = 0;
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a process is left";
}

TEST(Child, stop_is_asked_while_messages_come_and_while_none_do) {
  Child busy([](const Child::Send& send) {
    for (;;) send({"again"});
  });
  Child silent([](const Child::Send&) {
    for (;;) pause();
  });
  Child::Message m;
  int asked = 0;
  const auto third = [&] { return ++asked == 3; };
  EXPECT_EQ(busy.next(m, for_ever_s, third), Child::Got::message);
  Child::Got got{};
  while ((got = busy.next(m, for_ever_s, third)) == Child::Got::message) {
  }
  EXPECT_EQ(got, Child::Got::stopped);
  EXPECT_EQ(asked, 3);
  asked = 0;
  EXPECT_EQ(silent.next(m, for_ever_s, third), Child::Got::stopped);
}

TEST(Child, what_it_had_sent_when_it_is_stopped_still_counts) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  Child child([&](const Child::Send& send) {
    for (const char* word : {"a", "b"}) send({word});
    if (write(ready[1], "!", 1) == 1)
      for (;;) pause();
  });
  char sent{};
  ASSERT_EQ(read(ready[0], &sent, 1), 1);
  Child::Message m;
  const auto at_once = [] { return true; };
  for (const char* word : {"a", "b"}) {
    EXPECT_EQ(child.next(m, for_ever_s, at_once), Child::Got::message);
    EXPECT_EQ(m, Child::Message{word});
  }
  EXPECT_EQ(child.next(m, for_ever_s, at_once), Child::Got::stopped);
  close(ready[0]);
  close(ready[1]);
}

// Ctrl-C reaches every process of a terminal; what becomes of the child its maker decides.
TEST(Child, signals_are_its_makers) {
  Child child([](const Child::Send& send) {
    for (const int s : {SIGINT, SIGTERM, SIGHUP}) std::raise(s);
    send({"still here"});
  });
  Child::Message m;
  EXPECT_EQ(child.next(m, for_ever_s), Child::Got::message);
  EXPECT_EQ(child.next(m, for_ever_s), Child::Got::done);
}

}  // namespace
}  // namespace reductio
