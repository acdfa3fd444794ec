#pragma once
/// Switching from one stack to another. Boost.Context's own switch also keeps the floating-point control words, and
/// returns by a jump, after which the processor mispredicts the returns that follow; where a switch costs as much as
/// the work between two of them that halves the speed. So on x86-64 the few instructions are here; elsewhere it is
/// Boost's. -DREDUCTIO_BOOST_SWITCH takes Boost's everywhere.

#include <cstddef>

namespace reductio::sim {

/// A place at which `entry` begins, on the `bytes` of stack from `lowest`. `entry` must not return.
void* make_context(std::byte* lowest, std::size_t bytes, void (*entry)());

/// Whether each stack keeps the rounding mode in which it began.
#if defined(__x86_64__) && !defined(REDUCTIO_BOOST_SWITCH)
inline constexpr bool switch_keeps_rounding = false;
#else
inline constexpr bool switch_keeps_rounding = true;
#endif

/// Keeps this place in *save and continues at `context`. Returns when another switch leads to the saved place, which is
/// then no longer valid.
void switch_context(void** save, void* context) asm("reductio_sim_switch_context");

}  // namespace reductio::sim
