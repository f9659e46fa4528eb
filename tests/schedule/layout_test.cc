// Layouts and partitions: every element is in exactly one chunk, in order, evenly.
#include "core/schedule/layout.h"

#include "core/schedule/collective.h"
#include "rondo/error.h"
#include "tests/catch.h"

using namespace rondo;

TEST_CASE("parts cover each block in order and differ by rounding only") {
  for (const std::size_t element_bytes : {1, 2, 4, 8})
    for (const int blocks : {1, 2, 5})
      for (const int parts : {1, 2, 3, 7, 64})
        for (const std::size_t count : {0, 1, 2, 63, 64, 65, 1000, 4096, 100003}) {
          INFO(blocks << " blocks of " << count << " in " << parts << " parts");
          const Partition partition({blocks, parts}, count, element_bytes);
          const std::size_t line = 64 / element_bytes;
          CHECK(partition.offset(0) == 0);
          CHECK(partition.elements() == count * static_cast<std::size_t>(blocks));
          std::size_t least = count;
          std::size_t most = 0;
          for (int chunk = 0; chunk < blocks * parts; ++chunk) {
            REQUIRE(partition.offset(chunk) <= partition.offset(chunk + 1));
            if (chunk % parts == 0)
              REQUIRE(partition.offset(chunk) == count * static_cast<std::size_t>(chunk / parts));
            least = std::min(least, partition.size(chunk));
            most = std::max(most, partition.size(chunk));
          }
          CHECK(most - least < 2 * line);
          if (count < 8 * static_cast<std::size_t>(parts) * line) CHECK(most - least <= 1);
        }
}

TEST_CASE("large blocks are cut at cache lines") {
  const Partition partition({1, 7}, 100000, 4);
  for (int chunk = 0; chunk < 7; ++chunk) CHECK(partition.offset(chunk) % 16 == 0);
}

TEST_CASE("counts beyond 2^32 keep their places") {
  const std::size_t count = std::size_t{1} << 40;
  const Partition partition({3, 4}, count, 1);
  CHECK(partition.offset(4) == count);
  CHECK(partition.offset(10) == 2 * count + count / 2);
  CHECK(partition.elements() == 3 * count);
}

TEST_CASE("ragged blocks lie one after the other") {
  const Partition partition({4, 2}, std::vector<std::size_t>{3, 0, 10, 1}, 4);
  CHECK(partition.offset(2) == 3);
  CHECK(partition.offset(4) == 3);
  CHECK(partition.offset(6) == 13);
  CHECK(partition.elements() == 14);
  CHECK(partition.size(0) + partition.size(1) == 3);
  CHECK(partition.size(4) == 5);
}

TEST_CASE("a range of every block has what each block has of it") {
  const Partition ragged({4, 1}, std::vector<std::size_t>{3, 0, 10, 5}, 4);
  const Partition part = ragged.range(2, 6);
  CHECK(part.size(0) == 1);
  CHECK(part.size(1) == 0);
  CHECK(part.size(2) == 6);
  CHECK(part.offset(3) == 7);
  CHECK(part.size(3) == 3);
  CHECK(ragged.range(10, 5).elements() == 0);
  CHECK(Partition({3, 1}, 10, 4).range(8, 5).elements() == 6);
}

TEST_CASE("slices of ragged blocks are as long as fits for every run of blocks") {
  const std::vector<std::size_t> counts{100, 0, 7, 40, 1, 1000};
  const Partition ragged({6, 1}, counts, 1);
  for (int run = 1; run <= 6; ++run)
    for (const std::size_t elements : {6, 30, 64, 200, 1148, 5000}) {
      const auto fits = [&](std::size_t slice) {
        for (std::size_t first = 0; first < 6; ++first) {
          std::size_t together = 0;
          for (std::size_t i = 0; i < static_cast<std::size_t>(run); ++i)
            together += std::min(slice, counts[(first + i) % 6]);
          if (together > elements) return false;
        }
        return true;
      };
      const std::size_t slice = ragged.longest_slice(run, elements);
      INFO("runs of " << run << " in " << elements);
      CHECK(fits(slice));
      CHECK((slice == elements || !fits(slice + 1)));
      CHECK(Partition({6, 1}, 100, 1).longest_slice(run, elements) ==
            elements / static_cast<std::size_t>(run));
    }
}

TEST_CASE("runs wrap after the last chunk") {
  const Partition partition({5, 1}, std::vector<std::size_t>{1, 2, 3, 4, 5}, 4);
  for (int first = 0; first < 5; ++first)
    for (int count = 1; count <= 5; ++count) {
      std::size_t sum = 0;
      for (int i = 0; i < count; ++i) sum += partition.size((first + i) % 5);
      CHECK(partition.size(input(first, count)) == sum);
    }
}

TEST_CASE("what the user's buffers hold, and what they must hold at the end") {
  for (const CollectiveInfo& collective : collectives)
    for (const int ranks : {1, 2, 5})
      for (const int parts : {1, 3})
        for (int root = 0; root < ranks; ++root)
          for (int rank = 0; rank < ranks; ++rank) {
            const Schedule schedule{.collective = collective.collective,
                                    .ranks = ranks,
                                    .root = root,
                                    .layout = make_layout(collective.collective, ranks, parts)};
            CHECK_NOTHROW(check_header(schedule));
            const ChunkSpan span =
                held(collective.collective, Buffer::output, schedule.layout, rank, root);
            for (int chunk = 0; chunk < schedule.layout.chunks(); ++chunk) {
              const bool inside = chunk >= span.first && chunk < span.first + span.count;
              const std::optional<Expectation> wanted = expected(schedule, rank, chunk);
              CHECK(holds(schedule, rank, output(chunk)) == inside);
              if (wanted) CHECK(inside);
              if (!wanted) continue;
              // A rank that contributes has the chunk in its input.
              for (int from = 0; from < ranks; ++from)
                if (wanted->contributes(from))
                  CHECK(holds(schedule, from, input(wanted->source_chunk)));
            }
          }
}
