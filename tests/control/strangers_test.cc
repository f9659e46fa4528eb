// Who may not join: strangers on the port, and ranks that cannot be what they say.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <vector>

#include "core/base/log.h"
#include "core/control/service.h"
#include "tests/control/sealed.h"
#include "tests/control/speaker.h"

namespace rondo {
namespace {

/// What a rank that was turned away is told, and that the others go on without it.
std::string report_of_intruder(int rank, int ranks) {
  const int port = free_port();
  Child zero([=] { return meet_and_exchange(port, 0, 2, long_enough); });
  const Gate known;
  Child intruder([=, &known] {
    known.pass();
    return meet_and_exchange(port, rank, ranks, long_enough);
  });
  // Rank 0 is the first: only then is there something to contradict.
  {
    Speaker probe(port);
    probe.introduce({});
    probe.next();
    known.open(1);
  }
  const std::string report = intruder.report();
  Child one([=] { return meet_and_exchange(port, 1, 2, long_enough); });
  CHECK(zero.report() == "01");
  CHECK(one.report() == "01");
  return report;
}

TEST_CASE("another world's rank is turned away, and the others meet") {
  const auto report = report_of_intruder(1, 8);
  CHECK(says(report, "rank 1 (host x, pid 77) counts 8 ranks in the world, but those that joined"));
  CHECK(says(report, "count 2"));
  CHECK(says(report, "Try: set the same WORLD_SIZE on every rank"));
}

TEST_CASE("a rank that comes twice is turned away, and the others hear of it when time is up") {
  const int port = free_port();
  Child zero([=] { return meet_and_exchange(port, 0, 3, milliseconds{6000}); });
  std::vector<Child> twice;
  for (int i = 0; i < 2; ++i)
    twice.emplace_back([=] { return meet_and_exchange(port, 1, 3, milliseconds{6000}); });
  const std::string told = "two processes joined as rank 1: host x, pid 77 and host x, pid 77";
  int turned_away = 0;
  for (Child& child : twice) {
    const auto report = child.report();
    CHECK(says(report, told));  // the first one only with the others, at the end
    if (report.find("Try: give every process a RANK of its own") != std::string::npos)
      ++turned_away;
  }
  CHECK(turned_away == 1);
  const auto report = zero.report();
  CHECK(says(report, "rank 2 of 3 did not join at port " + std::to_string(port)));
  CHECK(says(report, "; turned away: " + told));
}

TEST_CASE("strangers on the port do not disturb the bootstrap") {
  const int port = free_port();
  const auto log_file =
      std::filesystem::temp_directory_path() / ("rondo_strangers." + std::to_string(::getpid()));
  Child zero([&] {
    configure_log({.file = log_file.string()});
    return meet_and_exchange(port, 0, 3, long_enough);
  });
  const auto silent = connect_plainly(port);
  const auto web = connect_plainly(port);
  ::send(web.get(), "GET / HTTP/1.1\r\n\r\n", 18, MSG_NOSIGNAL);
  const auto half = connect_plainly(port);
  ::send(half.get(), "RONDO", 5, MSG_NOSIGNAL);
  const auto noise = connect_plainly(port);
  ::send(noise.get(), "\x00\xff\x01\x02", 4, MSG_NOSIGNAL);
  const Speaker huge(port);
  huge.say(encode(control::Preamble{}) + test::sealed({}, 0xffffffff));
  Speaker another_job(port);
  another_job.introduce(secret_from("another job"));
  const Speaker future(port);
  future.say(encode(control::Preamble{.version = control::protocol_version + 1}));
  Speaker nameless(port);
  nameless.introduce({});
  nameless.say(encode(control::Message(control::Bye{})));
  Child one([=] { return meet_and_exchange(port, 1, 3, long_enough); });
  Child two([=] { return meet_and_exchange(port, 2, 3, long_enough); });
  CHECK(zero.report() == "012");
  CHECK(one.report() == "012");
  CHECK(two.report() == "012");
  std::ifstream file(log_file);
  const std::string logged((std::istreambuf_iterator<char>(file)),
                           std::istreambuf_iterator<char>());
  std::filesystem::remove(log_file);
  CHECK(says(logged, "WARN  dropped a connection from 127.0.0.1:"));
  CHECK(says(logged, " that named no rank: it sent 'GET / HTTP/1.1..'"));
  CHECK(says(logged, " that named no rank: it sent a message of 4294967295 bytes"));
  CHECK(says(logged, " that named no rank: it does not know this job's secret"));
  CHECK(says(logged, " that named no rank: it sent something other than its name"));
  CHECK(says(logged, " that named no rank: it speaks version " +
                         std::to_string(control::protocol_version + 1) +
                         " of the control protocol, this job version " +
                         std::to_string(control::protocol_version)));
}

TEST_CASE("who does not know the secret neither joins nor hears anything") {
  BootstrapPoint point = point_at(0);
  point.secret = secret_from("the job's own secret");
  const control::Service service(point, child_host(), 2);
  for (const Secret& wrong : {Secret{}, secret_from("a guess")}) {
    Speaker stranger(service.port());
    stranger.introduce(wrong);
    stranger.say(encode(control::Message(hello_of(0, 2))));
    const auto told = stranger.next();
    REQUIRE(told);
    REQUIRE(std::holds_alternative<control::Refused>(*told));
    CHECK(std::get<control::Refused>(*told).message.empty());
    CHECK_FALSE(stranger.next());
  }
  Speaker rank(service.port());
  rank.introduce(point.secret);
  const auto told = rank.next();
  REQUIRE(told);
  CHECK(std::holds_alternative<control::Credential>(*told));
}

TEST_CASE("the service says nothing before it is spoken to") {
  const control::Service service(point_at(0), child_host());
  const UniqueFd socket = connect_plainly(service.port());
  Speaker other(service.port());
  other.introduce({});
  other.next();  // the service has looked at both
  char byte = 0;
  CHECK(::recv(socket.get(), &byte, 1, MSG_DONTWAIT) < 0);
}

TEST_CASE("ranks with another secret than rank 0's do not join, and say why") {
  const int port = free_port();
  const auto meet_with = [=](int rank, const char* secret, milliseconds deadline) {
    BootstrapPoint point = point_at(port);
    point.secret = secret_from(secret);
    meet(point, rank, 2, rank == 0, child_host(), deadline);
    return std::string("met");
  };
  Child zero([=] { return meet_with(0, "one", long_enough); });
  CHECK(is_told_in_time(
      "the service there has another secret: it is another job's, or RONDO_SECRET differs",
      [=](milliseconds deadline) { return meet_with(1, "another", deadline); }));
  Child one([=] { return meet_with(1, "one", long_enough); });
  CHECK(zero.report() == "met");
  CHECK(one.report() == "met");
}

TEST_CASE("two hundred idle strangers keep no rank from joining") {
  const int port = free_port();
  Child zero([=] { return meet_and_exchange(port, 0, 2, long_enough); });
  std::vector<UniqueFd> idle;
  for (int i = 0; i < 200; ++i) idle.push_back(connect_plainly(port));
  // The oldest makes room: no more than 64 are held.
  char byte = 0;
  CHECK(eventually([&] { return ::recv(idle.front().get(), &byte, 1, MSG_DONTWAIT) == 0; }));
  CHECK(::recv(idle.back().get(), &byte, 1, MSG_DONTWAIT) < 0);
  Child one([=] { return meet_and_exchange(port, 1, 2, long_enough); });
  CHECK(zero.report() == "01");
  CHECK(one.report() == "01");
}

/// A service whose process has no descriptor left takes a rank of a world of so many, which says that
/// its time is over. The answer.
std::optional<control::Message> answer_of_a_full_service(int ranks) {
  const int port = free_port();
  const Gate full;
  const Gate answered;
  Child zero([&] {
    BootstrapPoint point = point_at(port);
    const control::Service service(point, child_host(), ranks);
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    // The hard limit, too: the service raises the soft one when it hears how many ranks there are.
    limit.rlim_cur = limit.rlim_max = std::min<rlim_t>(limit.rlim_cur, 100);
    ::setrlimit(RLIMIT_NOFILE, &limit);
    std::vector<UniqueFd> all;
    do {
      all.emplace_back(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    } while (all.back());
    full.open(1);
    answered.pass();
    return std::string("served");
  });
  full.pass();
  Speaker rank(port);
  rank.introduce({});
  rank.say(encode(control::Message(hello_of(0, ranks))));
  rank.say(encode(control::Message(control::BootstrapExpired{.milliseconds = 1})));
  std::optional<control::Message> message;
  do {
    message = rank.next();
  } while (message && !std::holds_alternative<control::Welcome>(*message) &&
           !std::holds_alternative<control::Refused>(*message));
  answered.open(1);
  CHECK(zero.report() == "served");
  return message;
}

TEST_CASE("a service without a free descriptor takes one rank, and says why it takes no more") {
  const auto only = answer_of_a_full_service(1);
  CHECK((only && std::holds_alternative<control::Welcome>(*only)));
  const auto first = answer_of_a_full_service(2);
  REQUIRE((first && std::holds_alternative<control::Refused>(*first)));
  const auto& refused = std::get<control::Refused>(*first);
  CHECK(says(refused.message, "takes no more connections: Too many open files"));
  CHECK(says(refused.remedy, "ulimit -n"));
}

}  // namespace
}  // namespace rondo
