#include "bench/common/side_program.h"

#include <string>

#include "bench/common/command.h"
#include "bench/common/size.h"

namespace rondo::bench {
namespace {

void add_size(CLI::App& app, const char* name, std::size_t& size, std::size_t least,
              const char* text) {
  app.add_option_function<std::string>(
         name,
         [&size, name, least](const std::string& word) {
           const auto bytes = parse_size(word);
           if (!bytes || *bytes < least)
             throw CLI::ValidationError(name, "'" + word + "' is no size of at least " +
                                                  std::to_string(least) + ", such as 64K");
           size = *bytes;
         },
         text)
      ->type_name("SIZE");
}

}  // namespace

void Sizes::each(const std::function<void(std::size_t)>& visit) const {
  for (std::size_t size = smallest;; size *= factor) {
    visit(size);
    if (size > largest / factor) break;
  }
}

void add_sizes(CLI::App& app, Sizes& sizes, std::size_t least) {
  add_size(app, "-b,--minbytes", sizes.smallest, least, "smallest size, such as 64K");
  add_size(app, "-e,--maxbytes", sizes.largest, least, "largest size, such as 16M");
  app.add_option("-f,--stepfactor", sizes.factor, "each size is so many times the last")
      ->check(CLI::Range(2, 1 << 20));
  app.callback([&sizes] {
    if (sizes.smallest > sizes.largest)
      throw CLI::ValidationError("-b,--minbytes", "is more than -e,--maxbytes");
  });
}

int run_side_program(CLI::App& app, int argc, char** argv, const std::function<void()>& body) {
  Ending ending;
  parse(app, argc, argv, ending);
  return run_command(app.get_name(), ending, body);
}

}  // namespace rondo::bench
