// The fuzz targets' main() where there is no libFuzzer: reads files, and folders of files.
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <vector>

#include "tests/fuzz/input.h"

namespace {

namespace fs = std::filesystem;

void run(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  std::printf("%s, %zu bytes\n", path.c_str(), bytes.size());
  std::fflush(stdout);  // the last line says which file it was that ended the program
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

/// How many files there were.
int run_all(const fs::path& path) {
  if (!fs::is_directory(path)) {
    run(path);
    return 1;
  }
  int files = 0;
  for (const auto& entry : fs::directory_iterator(path)) {
    run(entry.path());
    ++files;
  }
  return files;
}

}  // namespace

int main(int count, char** words) {
  try {
    int files = 0;
    for (int i = 1; i < count; ++i) files += run_all(words[i]);
    if (files == 0) throw std::runtime_error("name files, or folders that have some");
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
