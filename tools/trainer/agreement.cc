#include "tools/trainer/agreement.h"

#include <array>
#include <string>
#include <vector>

namespace rondo::train {
namespace {

// An error's code, message and remedy, in the form in which they are sent.
struct Words {
  std::uint64_t code = static_cast<std::uint64_t>(ErrorCode::internal);
  std::string message{}, remedy{};
};

Words words_of(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    return {static_cast<std::uint64_t>(error.code()), error.message(), error.remedy()};
  } catch (const std::bad_alloc&) {
    return {static_cast<std::uint64_t>(ErrorCode::out_of_memory),
            "this machine's memory does not suffice", "a smaller model or batch"};
  } catch (const std::exception& error) {
    return {static_cast<std::uint64_t>(ErrorCode::internal), error.what(), ""};
  }
}

void share(Communicator& world, Words& words, int root) {
  std::array<std::uint64_t, 3> head{words.code, words.message.size(), words.remedy.size()};
  world.broadcast(head.data(), head.data(), head.size(), DataType::uint64, root);
  words.code = head[0];
  words.message.resize(head[1]);
  words.remedy.resize(head[2]);
  for (std::string* text : {&words.message, &words.remedy}) {
    world.broadcast(text->data(), text->data(), text->size(), DataType::uint8, root);
  }
}

}  // namespace

void agree(Communicator& world, const std::exception_ptr& failure) {
  std::int32_t first = failure ? world.rank() : world.size();
  world.all_reduce(&first, &first, 1, DataType::int32, ReduceOperator::min);
  if (first == world.size()) return;
  Words words;
  if (first == world.rank()) words = words_of(failure);
  share(world, words, first);
  throw AgreedError(static_cast<ErrorCode>(words.code), words.message,
                    {.rank = first, .remedy = words.remedy});
}

void require_equal(Communicator& world, std::uint64_t value, const std::string& what) {
  std::uint64_t smallest = value;
  std::uint64_t largest = value;
  world.all_reduce(&smallest, &smallest, 1, DataType::uint64, ReduceOperator::min);
  world.all_reduce(&largest, &largest, 1, DataType::uint64, ReduceOperator::max);
  if (smallest == largest) return;
  throw AgreedError(ErrorCode::invalid_argument, "the ranks do not have the same " + what,
                    {.remedy = "the same options and files on every host"});
}

}  // namespace rondo::train
