// Shapes: how they are written, what they are of n elements, and the exact sums of their rows, columns and segments.

#include "core/shape.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <set>

#include "core/dataset.h"
#include "core/error.h"
#include "core/outputs.h"
#include "tests/error_of.h"

namespace reductio {
namespace {

Problem only(Operation operation, ElementType type, const std::string& shape, std::size_t n = 0) {
  return problem_with_shape(operation, type, n, shape);
}

TEST(Shapes, AreReadAsTheyAreWritten) {
  for (const char* text : {"3x4", "1000x24/32", "0x5", "5x0", "1048576x2"})
    EXPECT_EQ(only(Operation::row_sums, ElementType::f32, text).shape.text(), text);
  EXPECT_EQ(parse_shapes("2^4:2^6x3").size(), 3u);
  const Problem p = only(Operation::row_sums, ElementType::f32, "1000x24/32");
  EXPECT_EQ(p.n, 24000u);
  EXPECT_EQ(p.extent(), 999u * 32 + 24);
  EXPECT_EQ(p.outputs(), 1000u);
  EXPECT_EQ(only(Operation::column_sums, ElementType::f32, "1000x24").outputs(), 24u);
}

TEST(Shapes, FillWhatIsLeftOpen) {
  const auto of = [](const char* text, std::size_t n) { return shape_of(parse_shapes(text).front(), n).text(); };
  EXPECT_EQ(of("1000x*", 1 << 16), "1000x65");
  EXPECT_EQ(of("*x32", 1 << 16), "2048x32");
  EXPECT_EQ(of("*x*", 1 << 16), "256x256");
  EXPECT_EQ(of("*x*", 0), "0x0");
  EXPECT_EQ(problems_of(Operation::row_sums, ElementType::f32, {10, 100}, {.matrices = parse_shapes("3x4,*x5")}).size(),
            3u)
      << "what leaves nothing open comes once";
}

TEST(Shapes, SayWhatIsWrongWithThem) {
  const auto why = [](const char* text) { return error_of<UsageError>([&] { parse_shapes(text); }); };
  EXPECT_NE(why("12").find("malformed shape '12'"), std::string::npos);
  EXPECT_NE(why("3x4x5").find("malformed shape"), std::string::npos);
  EXPECT_EQ(why("2^40x2^40"), "shape '2^40x2^40' has more than 2^60 elements; give fewer rows or columns");
  EXPECT_EQ(why("2^30x1/2^40"), "shape '2^30x1/2^40' has more than 2^60 elements; give fewer rows or columns");
  EXPECT_EQ(why("10x100/50"),
            "shape '10x100/50': a row has 100 elements, more than the pitch, 50; give a pitch that holds a row");
  EXPECT_NE(error_of<UsageError>([] { shape_of(parse_shapes("10x*/50").front(), 1000); }).find("more than the pitch"),
            std::string::npos);
  for (const char* text : {"uniform", "uniform:0", "uniform:1.5", "powerlaw:1", "powerlaw:x", "giant"})
    EXPECT_NE(error_of<UsageError>([&] { parse_segments(text); }).find("unknown segments"), std::string::npos) << text;
  EXPECT_NE(error_of<UsageError>([] { ragged("uniform:1", std::size_t{1} << 30); }).find("more than 2^28"),
            std::string::npos);
}

TEST(Shapes, SegmentsHoldAllElements) {
  for (const char* lengths : {"uniform:1", "uniform:32", "powerlaw:2.1", "powerlaw:1.2", "one-giant", "empty-many"})
    for (const std::size_t n : {0, 1, 33, 4099, 100003}) {
      const InputShape shape = ragged(lengths, n);
      ASSERT_EQ(shape.offsets->size(), *shape.segments + 1);
      EXPECT_EQ(shape.offsets->front(), 0);
      EXPECT_EQ(shape.offsets->back(), static_cast<std::int64_t>(n)) << lengths;
      EXPECT_TRUE(std::is_sorted(shape.offsets->begin(), shape.offsets->end()));
    }
  const auto empty = ragged("empty-many", 4096);
  EXPECT_EQ(*empty.segments, 128u * 10 + 1);
  EXPECT_GE(longest_line(only(Operation::segment_sums, ElementType::f32, "one-giant", 4099)), 2049u);
}

const std::vector<Problem> various = [] {
  std::vector<Problem> out;
  for (const ElementType type : {ElementType::i32, ElementType::f32, ElementType::f64, ElementType::bf16}) {
    for (const char* shape : {"37x129/131", "1x5000", "5000x1", "9x0", "0x9"}) {
      out.push_back(only(Operation::row_sums, type, shape));
      out.push_back(only(Operation::column_sums, type, shape));
    }
    out.push_back(only(Operation::segment_sums, type, "powerlaw:1.5", 3001));
    out.push_back(only(Operation::segment_sums, type, "empty-many", 3001));
  }
  return out;
}();

/// The elements of each output, one after the other.
std::vector<std::vector<std::size_t>> lines_of(const Problem& p) {
  std::vector<std::vector<std::size_t>> out(p.outputs());
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (p.operation == Operation::row_sums)
      for (std::size_t c = 0; c < p.columns(); ++c) out[i].push_back(i * p.pitch() + c);
    else if (p.operation == Operation::column_sums)
      for (std::size_t r = 0; r < p.rows(); ++r) out[i].push_back(r * p.pitch() + i);
    else
      for (auto k = (*p.shape.offsets)[i]; k < (*p.shape.offsets)[i + 1]; ++k)
        out[i].push_back(static_cast<std::size_t>(k));
  }
  return out;
}

/// The right result by references of each output alone, of an input whose tile is shorter than it.
std::vector<std::byte> right_result(const Problem& p, const std::vector<std::byte>& tile) {
  const std::size_t size = size_of(p.type), acc = size_of(p.accumulator());
  std::vector<std::byte> out;
  for (const auto& line : lines_of(p)) {
    std::vector<std::byte> gathered;
    for (const std::size_t i : line) {
      const auto at = tile.begin() + static_cast<std::ptrdiff_t>(i * size % tile.size());
      gathered.insert(gathered.end(), at, at + static_cast<std::ptrdiff_t>(size));
    }
    const Reference want = reference(Operation::sum, p.type, gathered, line.size());
    std::byte value[16];
    const auto single = static_cast<float>(want.value);
    std::memcpy(value, want.type == ElementType::f32   ? static_cast<const void*>(&single)
                       : want.type == ElementType::f64 ? static_cast<const void*>(&want.value)
                                                       : static_cast<const void*>(&want.integer), acc);
    out.insert(out.end(), value, value + acc);
  }
  return out;
}

TEST(ExactOutputs, AreThoseOfEachLineAlone) {
  for (const Problem& p : various)
    for (const char* dataset : {"random", "exact", "ill-conditioned", "infinity"}) {
      if (!has_dataset(dataset, p.type)) continue;
      auto tile = make_tile(dataset, p.type, p.extent(), 3);
      if (tile.size() > 997 * size_of(p.type)) tile.resize(997 * size_of(p.type));
      const ExactOutputs exact(p, tile);
      const std::vector<std::byte> right = right_result(p, tile);
      const Check c = exact.check(right.data(), nullptr, 100, false);
      EXPECT_TRUE(c.ok) << name(p.operation) << " " << name(p.type) << " " << p.shape.text() << " " << dataset << c.why;
      EXPECT_EQ(c.text, hash_of(right));
      if (p.outputs() == 0) continue;
      EXPECT_EQ(exact.first().type, p.accumulator());
    }
}

TEST(ExactOutputs, FindEachWrongOneAndNameIt) {
  for (const Problem& p : various) {
    if (p.outputs() < 2 || p.n == 0) continue;
    const auto tile = make_tile("exact", p.type, p.extent(), 1);
    const ExactOutputs exact(p, tile);
    EXPECT_TRUE(exact.all_exact());
    const std::vector<std::byte> right = right_result(p, tile);
    const std::size_t acc = size_of(p.accumulator());
    for (const std::size_t i : {std::size_t{0}, p.outputs() / 2, p.outputs() - 1}) {
      std::vector<std::byte> wrong = right;
      wrong[i * acc + acc - 2] ^= std::byte{0x10};
      const Check c = exact.check(wrong.data(), nullptr, 100, false, right.data());
      EXPECT_FALSE(c.ok) << name(p.operation) << " " << p.shape.text() << " " << i;
      EXPECT_NE(c.why.find(" " + std::to_string(i) + " of " + std::to_string(p.outputs())), std::string::npos) << c.why;
      EXPECT_FALSE(exact.check(wrong.data(), nullptr, 100, false).ok);
    }
  }
}

TEST(ExactOutputs, AChangedElementChangesItsOutputAlone) {
  std::mt19937_64 random(1);
  for (const Problem& p : various) {
    if (p.n == 0) continue;
    auto tile = make_tile("random", p.type, p.extent(), 1);
    const ExactOutputs exact(p, tile);
    const std::vector<std::byte> before = right_result(p, tile);
    const auto lines = lines_of(p);
    int drawn = 0;
    for (int k = 0; k < 6 && drawn < 3; ++k) {
      const auto c = exact.draw_change(tile, random, 100);
      if (!c) continue;  // an output that is one zero
      ++drawn;
      const auto& line = lines[c->output];
      EXPECT_TRUE(std::find(line.begin(), line.end(), c->index) != line.end());
      EXPECT_FALSE(exact.check(before.data(), &*c, 100, false).ok) << "the result as it was before";
      std::vector<std::byte> changed = tile;
      std::memcpy(changed.data() + c->index * c->bytes, c->is.data(), c->bytes);
      const auto after = right_result(p, changed);
      const Check right = exact.check(after.data(), &*c, 100, false, before.data());
      EXPECT_TRUE(right.ok) << right.why;
    }
    EXPECT_EQ(drawn, 3) << p.shape.text();
  }
}

// Else a failing case would need those before it.
TEST(ExactOutputs, WhatIsDrawnFollowsFromTheSeedAlone) {
  const Problem p = only(Operation::row_sums, ElementType::f32, "64x5000");
  const auto tile = make_tile("random", p.type, p.extent(), 1);
  const ExactOutputs met(p, tile);
  std::set<std::size_t> outputs;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    std::mt19937_64 random(seed), again(seed);
    const auto drawn = met.draw_change(tile, random, 100), of_new = ExactOutputs(p, tile).draw_change(tile, again, 100);
    EXPECT_EQ(drawn->index, of_new->index) << seed;
    EXPECT_EQ(drawn->is, of_new->is) << seed;
    outputs.insert(drawn->output);
  }
  EXPECT_GT(outputs.size(), 5u);
  std::mt19937_64 random(1);
  int stays = 0;
  for (int i = 0; i < 20; ++i) stays += met.draw_change(tile, random, 100, 7)->output == 7;
  EXPECT_GT(stays, 10) << "long outputs cost a pass each";
}

/// Right sums of whole numbers, by plain additions.
std::vector<float> plain_sums(const Problem& p, const std::vector<std::byte>& tile) {
  std::vector<float> all(tile.size() / sizeof(float)), out(p.outputs());
  std::memcpy(all.data(), tile.data(), tile.size());
  const bool rows = p.operation == Operation::row_sums;
  for (std::size_t r = 0; r < p.rows(); ++r)
    for (std::size_t c = 0; c < p.columns(); ++c) out[rows ? r : c] += all[(r * p.pitch() + c) % all.size()];
  return out;
}

TEST(ExactOutputs, OfManyEachIsCheckedByWhicheverThread) {
  for (const auto& [operation, shape] : {std::pair{Operation::row_sums, "100000x2"},
                                         {Operation::row_sums, "70000x3/5"},
                                         {Operation::column_sums, "2x100001"},
                                         {Operation::column_sums, "2500x97"},
                                         {Operation::column_sums, "50000x7/9"}}) {
    const Problem p = only(operation, ElementType::f32, shape);
    std::vector<std::byte> tile = make_tile("exact", p.type, p.extent(), 1);
    tile.resize(std::min<std::size_t>(tile.size(), 4 * 19997));  // columns of more than a period, too
    const ExactOutputs exact(p, tile);
    const std::vector<float> right = plain_sums(p, tile);
    const Check whole = exact.check(right.data(), nullptr, 100, false);
    EXPECT_TRUE(whole.ok) << shape << ": " << whole.why;
    for (const std::size_t wrong : {std::size_t{0}, right.size() / 3, right.size() - 1}) {
      std::vector<float> off = right;
      off[wrong] += 1;
      off.back() += 1;
      for (const float* known : {static_cast<const float*>(nullptr), right.data()}) {
        const Check c = exact.check(off.data(), nullptr, 100, false, known);
        EXPECT_FALSE(c.ok) << shape << " " << wrong;
        EXPECT_NE(c.why.find(" " + std::to_string(wrong) + " of "), std::string::npos) << "the first: " << c.why;
      }
    }
  }
}

TEST(KnownOutputs, AreMadeOnceAndThoseUsedLastAreKept) {
  constexpr std::size_t n = 4096, room = 2 * 36 * n + 36 * n / 2;  // a tile of f32, and two exact sums of each element
  const auto of = [](KnownOutputs& known, const char* shape, std::uint64_t seed) {
    return known.of(only(Operation::row_sums, ElementType::f32, shape), "random", seed,
                    make_tile("random", ElementType::f32, n, seed));
  };
  KnownOutputs known(room);
  const auto first = of(known, "64x64", 1);
  EXPECT_EQ(of(known, "64x64", 1), first);
  for (int shape = 0; shape < 4; ++shape)
    EXPECT_NE(of(known, std::array{"128x32", "32x128", "16x256", "8x512"}[shape], 1), first);
  EXPECT_EQ(of(known, "64x64", 1), first) << "all of one tile share what is large";
  const auto second = of(known, "64x64", 2);
  EXPECT_NE(second, first);
  EXPECT_EQ(of(known, "64x64", 1), first) << "two tiles fit";
  of(known, "64x64", 3);
  EXPECT_EQ(second.use_count(), 1) << "dropped there, and whole here";
  EXPECT_EQ(of(known, "64x64", 1), first) << "used after the one that had to go";
  KnownOutputs none(0);
  EXPECT_FALSE(of(none, "64x64", 1)->check(std::vector<std::byte>(256).data(), nullptr, 100, false).ok);
}

TEST(ExactOutputs, WorstErrorIsThatOfAllOutputs) {
  const Problem p = only(Operation::row_sums, ElementType::f32, "3x1000");
  const auto tile = make_tile("random", p.type, p.extent(), 1);
  std::vector<std::byte> result = right_result(p, tile);
  float value;
  std::memcpy(&value, result.data() + 4, 4);
  const float off = std::nextafter(std::nextafter(value, 1e9f), 1e9f);
  std::memcpy(result.data() + 4, &off, 4);
  const Check c = ExactOutputs(p, tile).check(result.data(), nullptr, 1000, false);
  EXPECT_TRUE(c.ok) << c.why;
  EXPECT_GE(c.abs_error, std::abs(static_cast<double>(off) - static_cast<double>(value)) / 2);
  EXPECT_GT(c.error_bound, c.abs_error);
}

}  // namespace
}  // namespace reductio
