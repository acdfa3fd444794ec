#include "verify/junit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fstream>
#include <ostream>
#include <string_view>

#include "core/error.h"

namespace reductio {
namespace {

/// `text` for attributes and elements alike; control characters, which XML 1.0 cannot hold, become '?'.
std::string xml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\n': out += "&#10;"; break;
      case '\t': out += "&#9;"; break;
      default: out += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
    }
  }
  return out;
}

/// What was not run has not passed: the device stopped working, perhaps for another variant's fault.
bool failed(const VariantResult& r) { return r.failed > 0 || r.not_run > 0; }
bool skipped(const VariantResult& r) { return !failed(r) && r.passed == 0; }

std::string outcome(const VariantResult& r) {
  if (failed(r)) {
    std::string cases;
    for (const Failure& f : r.failures) cases += f.what.describe() + ": " + f.why + "\n";
    return fmt::format("      <failure message=\"{} of {} cases failed{}\">{}</failure>\n", r.failed, r.cases(),
                       r.not_run ? fmt::format(", {} were not run", r.not_run) : "", xml(cases));
  }
  if (skipped(r)) {
    std::string why;
    for (const std::string& reason : r.refusals) why += (why.empty() ? "" : "; ") + reason;
    if (why.empty()) why = "the battery is empty";
    return fmt::format("      <skipped message=\"{}\"/>\n", xml(why));
  }
  return {};
}

std::string body(const VariantResult& r) {
  if (r.left_out == 0) return outcome(r);
  return outcome(r) + fmt::format("      <system-out>{} cases left out: {}</system-out>\n", r.left_out,
                                  xml(fmt::format("{}", fmt::join(r.reasons_left_out, "; "))));
}

}  // namespace

void write_junit(std::ostream& out, std::span<const VariantResult> results) {
  out << "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"reductio verify\">\n";
  for (const DeviceKind device : all_devices()) {
    std::size_t tests = 0, failures = 0, skips = 0;
    double seconds = 0;
    for (const VariantResult& r : results) {
      if (r.device != device) continue;
      ++tests;
      failures += failed(r);
      skips += skipped(r);
      seconds += r.seconds;
    }
    if (tests == 0) continue;
    out << fmt::format(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\" time=\"{:.3f}\">\n",
        name(device), tests, failures, skips, seconds);
    for (const VariantResult& r : results) {
      if (r.device != device) continue;
      out << fmt::format("    <testcase classname=\"reductio.{}\" name=\"{}\" time=\"{:.3f}\">\n{}    </testcase>\n",
                         name(device), xml(r.id), r.seconds, body(r));
    }
    out << "  </testsuite>\n";
  }
  out << "</testsuites>\n";
}

void write_junit(const std::string& path, std::span<const VariantResult> results) {
  std::ofstream file(path, std::ios::trunc);
  if (!file) throw UsageError("cannot write '" + path + "'; name a file in a folder that exists and may be written to");
  write_junit(file, results);
  file.close();
  if (!file) throw UsageError("could not write all of '" + path + "'; is the disk full?");
}

}  // namespace reductio
