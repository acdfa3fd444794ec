#include "measure/timing/harness_calls.h"

#include <optional>
#include <utility>

namespace reductio {
namespace {

class FollowedPlan final : public Plan {
 public:
  FollowedPlan(std::unique_ptr<Plan> plan, std::function<void(Stream)> after)
      : plan_(std::move(plan)), after_(std::move(after)) {}
  PlanInfo info() const override { return plan_->info(); }
  void enqueue(void* in, void* out, Stream s) override {
    plan_->enqueue(in, out, s);
    after_(s);
  }
  void finish(void* result, Stream s) override { plan_->finish(result, s); }
  std::optional<ClockReading> clock_reading() override { return plan_->clock_reading(); }

 private:
  std::unique_ptr<Plan> plan_;
  std::function<void(Stream)> after_;
};

}  // namespace

std::unique_ptr<Plan> followed_by(std::unique_ptr<Plan> plan, std::function<void(Stream)> after) {
  return std::make_unique<FollowedPlan>(std::move(plan), std::move(after));
}

}  // namespace reductio
