// How much memory could still be had, as made-up proc and sys folders say.
#include "core/memory/available.h"

#include <fstream>

#include "tests/catch.h"
#include "tests/support/files.h"

namespace rondo::testing {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
constexpr std::size_t megabyte = std::size_t{1} << 20;

/// A root folder of its own, gone with the object.
class Root {
 public:
  void write(const std::string& file, const std::string& text) const {
    fs::create_directories((path_ / file).parent_path());
    std::ofstream(path_ / file) << text << '\n';
  }
  void write(const std::string& file, std::size_t megabytes) const {
    write(file, std::to_string(megabytes * megabyte));
  }
  /// 1000 MB, and so much swap.
  void machine(std::size_t swap_megabytes = 0) const {
    write("proc/meminfo", "MemTotal:  9999999 kB\nMemAvailable:  1024000 kB\nSwapTotal: 1 kB\n" +
                              std::string("SwapFree: ") + std::to_string(swap_megabytes * 1024) +
                              " kB\nHugePages_Total:       0");
  }
  Available available() const { return available_memory(path_); }
  std::size_t megabytes() const { return available().bytes / megabyte; }

 private:
  const test::TemporaryFolder folder_{};
  const fs::path path_ = folder_.path();
};

}  // namespace

TEST_CASE("memory of the machine counts where no group limits it", "[memory]") {
  const Root root;
  CHECK(root.available().bytes == most);  // nothing is known
  root.machine(24);
  CHECK(root.megabytes() == 1024);
  CHECK(root.available().group.empty());
  root.write("proc/self/cgroup", "0::/user.slice/session-1.scope");
  CHECK(root.megabytes() == 1024);  // no controller of memory
  root.write("sys/fs/cgroup/user.slice/memory.max", "max");
  root.write("sys/fs/cgroup/user.slice/memory.current", 5000);
  CHECK(root.megabytes() == 1024);
  CHECK(root.available().group.empty());
}

TEST_CASE("the least of nested groups counts: version 2", "[memory]") {
  const Root root;
  root.machine();
  root.write("proc/self/cgroup", "0::/job/step/task");
  root.write("sys/fs/cgroup/job/memory.max", 400);
  root.write("sys/fs/cgroup/job/memory.current", 100);
  root.write("sys/fs/cgroup/job/step/memory.max", 500);
  root.write("sys/fs/cgroup/job/step/memory.current", 90);
  root.write("sys/fs/cgroup/job/step/task/memory.max", "max");
  CHECK(root.megabytes() == 300);
  CHECK(root.available().group == "/job");
  root.write("sys/fs/cgroup/job/step/task/memory.max", 200);
  root.write("sys/fs/cgroup/job/step/task/memory.current", 80);
  CHECK(root.megabytes() == 120);
  CHECK(root.available().group == "/job/step/task");
  // Cached files give way, shared memory does not.
  root.write("sys/fs/cgroup/job/step/task/memory.stat",
             "anon 1\nshmem 31457280\nactive_file 10485760\ninactive_file 20971520\n"
             "slab_reclaimable 1048576");
  CHECK(root.megabytes() == 151);
  root.write("sys/fs/cgroup/job/step/task/memory.current", 250);
  CHECK(root.megabytes() == 0);
}

TEST_CASE("swap counts as far as the machine has it and the group may", "[memory]") {
  const Root root;
  root.machine(50);
  root.write("proc/self/cgroup", "0::/job");
  root.write("sys/fs/cgroup/job/memory.max", 200);
  root.write("sys/fs/cgroup/job/memory.current", 100);
  CHECK(root.megabytes() == 150);
  root.write("sys/fs/cgroup/job/memory.swap.max", 40);
  root.write("sys/fs/cgroup/job/memory.swap.current", 10);
  CHECK(root.megabytes() == 130);
  root.write("sys/fs/cgroup/job/memory.swap.max", 0);
  CHECK(root.megabytes() == 100);
}

TEST_CASE("the least of nested groups counts: version 1", "[memory]") {
  const Root root;
  root.machine(50);
  const std::string memory = "sys/fs/cgroup/memory/";
  root.write("proc/self/cgroup", "9:name=systemd:/else\n4:cpu,memory:/pod/box\n0::/");
  root.write(memory + "memory.limit_in_bytes", "9223372036854771712");  // none
  root.write(memory + "memory.usage_in_bytes", 3000);
  root.write(memory + "pod/memory.limit_in_bytes", 300);
  root.write(memory + "pod/memory.usage_in_bytes", 200);
  root.write(memory + "pod/memory.stat", "inactive_file 7\ntotal_inactive_file 10485760");
  root.write(memory + "pod/box/memory.limit_in_bytes", 250);
  root.write(memory + "pod/box/memory.usage_in_bytes", 20);
  CHECK(root.megabytes() == 160);
  CHECK(root.available().group == "/pod");
  // Memory and swap together.
  root.write(memory + "pod/memory.memsw.limit_in_bytes", 320);
  root.write(memory + "pod/memory.memsw.usage_in_bytes", 200);
  CHECK(root.megabytes() == 130);
}

TEST_CASE("in a container the group's own folder is the mount", "[memory]") {
  const Root root;
  root.machine();
  SECTION("version 1 tells its name outside") {
    root.write("proc/self/cgroup", "4:memory:/docker/0123");
    root.write("sys/fs/cgroup/memory/memory.limit_in_bytes", 64);
    root.write("sys/fs/cgroup/memory/memory.usage_in_bytes", 4);
  }
  SECTION("version 2 in a name space of its own") {
    root.write("proc/self/cgroup", "0::/");
    root.write("sys/fs/cgroup/memory.max", 64);
    root.write("sys/fs/cgroup/memory.current", 4);
  }
  SECTION("version 2, moved out of it") {
    root.write("proc/self/cgroup", "0::/../../elsewhere");
    root.write("sys/fs/cgroup/memory.max", 64);
    root.write("sys/fs/cgroup/memory.current", 4);
    root.write("elsewhere/memory.max", 1);
  }
  CHECK(root.megabytes() == 60);
  CHECK(root.available().group == "/");
}

}  // namespace rondo::testing
