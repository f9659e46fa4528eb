// When a service waits for ranks to leave, and whom it tells that it may end.
#include "core/control/attendance.h"

#include <thread>

#include "tests/catch.h"

namespace rondo::control {
namespace {

using std::chrono::milliseconds;

/// Sets counts on a thread of its own, as a service does when it has told its ranks.
class Teller {
 public:
  Teller(Attendance& attendance, const Attendance::Counts& after)
      : attendance_(attendance), after_(after) {}
  ~Teller() {
    if (thread_.joinable()) thread_.join();
  }
  Teller(const Teller&) = delete;
  Teller& operator=(const Teller&) = delete;

  void tell() {
    ++told_;
    thread_ = std::thread([this] { attendance_.set(after_); });
  }
  int told() const { return told_; }

 private:
  Attendance& attendance_;
  Attendance::Counts after_;
  int told_ = 0;
  std::thread thread_{};
};

TEST_CASE("where no other process has a rank, nobody is told and nobody is waited for") {
  Attendance attendance;
  attendance.set({.is_over = true});
  attendance.let_others_leave(milliseconds{60'000}, [] { FAIL("nobody is there"); });
  attendance.end([] { FAIL("nobody is there"); });
  CHECK(attendance.is_over());
}

TEST_CASE("ranks that stay are told once that the service may end, and once more that it does") {
  Attendance attendance;
  attendance.set({.present = 1, .others = 1});
  Teller soon(attendance, {.present = 1, .others = 1, .told = true});
  for (int owner = 0; owner < 2; ++owner)
    attendance.let_others_leave(milliseconds{0}, [&] { soon.tell(); });
  CHECK(soon.told() == 1);
  CHECK_FALSE(attendance.is_over());
  Teller now(attendance, {.is_over = true});
  attendance.end([&] { now.tell(); });
  CHECK(now.told() == 1);
  CHECK(attendance.is_over());
}

}  // namespace
}  // namespace rondo::control
