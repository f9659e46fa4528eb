#include "tools/trainer/agreement.h"

#include <algorithm>
#include <sstream>
#include <string>

#include "bench/common/gather.h"

namespace rondo::train {
namespace {

/// An error in the form in which it is sent: code, message and remedy, a zero byte after each.
std::string words_of(const std::exception_ptr& failure) {
  const auto words = [](ErrorCode code, const std::string& message, const std::string& remedy) {
    return std::to_string(static_cast<int>(code)) + '\0' + message + '\0' + remedy + '\0';
  };
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    return words(error.code(), error.message(), error.remedy());
  } catch (const std::bad_alloc&) {
    return words(ErrorCode::out_of_memory, "this machine's memory does not suffice",
                 "a smaller model or batch");
  } catch (const std::exception& error) {
    return words(ErrorCode::internal, error.what(), "");
  }
}

}  // namespace

void agree(Communicator& world, const std::exception_ptr& failure) {
  std::int32_t first = failure ? world.rank() : world.size();
  world.all_reduce(first, ReduceOperator::min);
  if (first == world.size()) return;
  std::string words;
  if (first == world.rank()) words = words_of(failure);
  broadcast_whole(world, words, first);
  std::istringstream parts(words);
  std::string code, message, remedy;
  for (std::string* const part : {&code, &message, &remedy}) std::getline(parts, *part, '\0');
  throw AgreedError(static_cast<ErrorCode>(std::stoi(code)), message,
                    {.rank = first, .remedy = remedy});
}

void require_equal(Communicator& world, std::uint64_t value, const std::string& what) {
  const auto all = bench::gather_all(world, value);
  if (std::ranges::count(all, value) == world.size()) return;
  reject_together("the ranks do not have the same " + what,
                  "the same options and files on every host");
}

}  // namespace rondo::train
