// A world of processes: a control thread per rank, connected to the process that coordinates.
#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <condition_variable>

#include "core/base/awake.h"
#include "core/base/log.h"
#include "core/base/socket_options.h"
#include "core/control/connect.h"
#include "core/control/control.h"
#include "core/control/linked_channels.h"
#include "core/control/served.h"
#include "core/control/service.h"
#include "core/control/session.h"
#include "core/control/stream.h"
#include "core/control/succession.h"
#include "core/control/times.h"
#include "core/settings/interface.h"

namespace rondo {
namespace control {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

constexpr const char* words_of_own_end = "this rank has left the job";
using boost::system::error_code;

tcp::socket adopt(asio::io_context& io, UniqueFd socket) {
  sockaddr_storage name{};
  socklen_t length = sizeof(name);
  ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&name), &length);
  set_socket_options(socket.get());
  end_where_unanswered(socket.get());
  return {io, name.ss_family == AF_INET6 ? tcp::v6() : tcp::v4(), socket.release()};
}

class TcpControl final : public Control,
                         public ControlTransport,
                         public std::enable_shared_from_this<TcpControl> {
 public:
  TcpControl(Joined joined, int rank, const BootstrapPoint& point,
             std::chrono::milliseconds deadline, std::shared_ptr<Service> service)
      : rank_(rank),
        secret_(point.secret),
        deadline_(deadline),
        hosts_(joined.welcome.hosts),
        served_by_(joined.welcome.service),
        service_(std::move(service)),
        succession_(rank, point.secret, joined) {
    begin(std::move(joined), Session(joined.session));
    thread_ = named_thread("rondo-control", [this] { run_handlers(io_); });
  }

  ~TcpControl() override { depart(); }
  TcpControl(const TcpControl&) = delete;
  TcpControl& operator=(const TcpControl&) = delete;

  int rank() const override { return rank_; }
  int ranks() const override { return static_cast<int>(hosts_.size()); }
  const std::vector<HostInfo>& hosts() const override { return hosts_; }
  const Secret& secret() const override { return secret_; }
  std::shared_ptr<ControlChannel> open(std::uint64_t number, std::vector<int> members) override {
    return std::make_shared<MemberChannel>(shared_from_this(), number, std::move(members), rank_);
  }

  void depart() noexcept override {
    try {
      const bool served = post(Bye{});
      succession_.give_up();
      if (served) {
        std::unique_lock lock(mutex_);
        // The service ends the connection, once those know it who would think this rank dead.
        wait_awake(gone_, lock, times::farewell, [&] { return !served_; });
        asio::post(io_, [this] { stream_->finish(); });
      }
    } catch (...) {
      // No memory for it: the service takes this rank for dead.
    }
    end_thread();
    std::shared_ptr<Service> last;  // ends without the lock, in some seconds
    const std::lock_guard lock(mutex_);
    last.swap(service_);
  }

  bool post(const Message& message) override {
    {
      const std::lock_guard lock(mutex_);
      if (!served_) return false;
      leaving_ = leaving_ || std::holds_alternative<Bye>(message);
    }
    asio::post(io_, [this, bytes = Stream::encoded(message)] { stream_->say(bytes); });
    return true;
  }

  void remind(std::uint64_t number) override {
    asio::post(io_, [this, number] { remind_in(times::for_verdict, number); });
  }

  void add(MemberChannel& channel) override { channels_.add(channel); }
  void remove(MemberChannel& channel) override { channels_.remove(channel); }

  HostInfo service() const override {
    const std::lock_guard lock(mutex_);
    return served_by_;
  }
  const std::vector<HostInfo>& world() const override { return hosts_; }
  std::chrono::milliseconds deadline() const override { return deadline_; }

 private:
  void begin(Joined joined, Session session) {
    joined.reader.set_longest(longest_message);
    stream_ = std::make_shared<Stream>(adopt(io_, std::move(joined.socket)),
                                       std::move(joined.reader), true);
    stream_->carry(std::move(session), joined.welcome.received);
    stream_->start({.received = [this](const Message& message) { received(message); },
                    .closed = [this](const Ending& ending) { closed(ending); }});
  }

  /// Step by step, see AwakeClock.
  void remind_in(std::chrono::milliseconds left, std::uint64_t number) {
    const auto timer = std::make_shared<asio::steady_timer>(io_, std::min(left, awake_step));
    timer->async_wait([this, left, number, timer](const error_code&) {
      if (left > awake_step) return remind_in(left - awake_step, number);
      channels_.with(number, [](MemberChannel& channel) { channel.overdue(); });
    });
  }

  /// When a process ends in order, this thread must not work while static objects are destroyed.
  void end_thread() {
    io_.stop();
    if (!thread_.joinable()) return;
    thread_.join();
    post_the_rest();
    bool died = false;  // a moment ago: closed() waits before it says so
    {
      const std::lock_guard lock(mutex_);
      died = !served_ && !leaving_ && !closing_;
      served_ = false;  // nothing is sent any more
    }
    if (died) channels_.conclude(Link::lost);
    channels_.conclude(Link::gone, words_of_own_end);
  }

  /// Posts the goodbyes that the thread has not come to, so that they reach the kernel however late
  /// it was.
  void post_the_rest() {
    try {
      io_.restart();
      io_.poll();
    } catch (const std::exception&) {
      // No memory for it: the service takes this rank for dead.
    }
  }

  void received(const Message& message) {
    if (const auto* const closing = std::get_if<Closing>(&message)) {
      const std::lock_guard lock(mutex_);
      closing_ = *closing;  // what follows is no loss
      // The end of the service's process throws away what has not been read here.
      stream_->say(Closing{});
      return;
    }
    const auto number = communicator_of(message);
    if (!number) return;
    channels_.with(*number, [&](MemberChannel& channel) {
      if (const auto answer = channel.receive(message)) stream_->say(*answer);
    });
  }

  /// The connection has ended; stream_ is closed already. Blocks this thread, which has nothing else
  /// to do without one.
  void closed(const Ending& ending) {
    Standing standing{.presence = Presence::alive};  // nothing is proven where it is not asked
    std::string refused;
    try {
      if (may_come_back(ending)) standing = succession_.come_back(stream_->session());
      if (standing.joined) {
        log(LogLevel::warn, rank_,
            "the control connection had broken" + (ending.why.empty() ? "" : ": " + ending.why));
        return begin(std::move(*standing.joined), std::move(stream_->session()));
      }
    } catch (const Error& failure) {
      if (failure.code() == ErrorCode::bootstrap) refused = failure.message();
    } catch (const std::exception&) {
      // No memory or descriptor for it.
    }
    if (note_unserved()) return channels_.conclude(Link::gone, words_of_own_end);
    if (closing_) {
      channels_.conclude(Link::left);
      return follow(true);
    }
    if (!refused.empty()) {
      channels_.conclude(Link::lost, "it does not take this rank back");
      return channels_.conclude(Link::gone, refused);
    }
    const std::string unproven = why_unproven(ending, standing.presence);
    // As the service does with a rank that is gone.
    const auto timer = std::make_shared<asio::steady_timer>(io_, times::grace);
    timer->async_wait([this, timer, unproven](const error_code&) {
      channels_.conclude(Link::lost, unproven);
      follow(unproven.empty());
    });
  }

  /// Not where this rank or the service has gone in order.
  bool may_come_back(const Ending& ending) {
    const std::lock_guard lock(mutex_);
    const bool has_gone = leaving_ || (closing_ && ending.why.empty());
    return !has_gone && !ending.is_final && stream_->session().may_go_on();
  }

  /// True where this rank ends, too.
  bool note_unserved() {
    const std::lock_guard lock(mutex_);
    served_ = false;
    gone_.notify_all();
    const HostInfo& own = hosts_[static_cast<std::size_t>(rank_)];
    return leaving_ || (closing_ && same_process(served_by_, own));
  }

  static std::string message_of(const std::exception& failure) {
    const auto* const error = dynamic_cast<const Error*>(&failure);
    return error != nullptr ? error->message() : failure.what();
  }

  /// To the next coordinator. `is_dead`: the last one's process has ended.
  void follow(bool is_dead) {
    try {
      if (closing_) {
        succession_.note_left(service(), *closing_);
      } else if (is_dead) {
        succession_.note_dead(service());
      }
      std::optional<Succession::Found> found = succession_.find();
      if (!found) return;
      HostInfo server = found->joined.welcome.service;
      Session session(found->joined.session);
      begin(std::move(found->joined), std::move(session));
      std::shared_ptr<Service> last;  // ends without the lock, in some seconds
      {
        const std::lock_guard lock(mutex_);
        served_by_ = std::move(server);
        if (found->service)
          last = std::exchange(service_, all_served_->join({}, std::move(found->service)));
        served_ = true;  // what is posted from here on follows the news
        closing_.reset();
      }
      for (const Message& news : channels_.link_again()) stream_->say(news);
    } catch (const std::exception& failure) {
      channels_.conclude(Link::gone, message_of(failure));
    }
  }

  const int rank_;
  const Secret secret_;
  const std::chrono::milliseconds deadline_;
  const std::vector<HostInfo> hosts_;

  mutable std::mutex mutex_;
  HostInfo served_by_;  ///< under mutex_
  std::condition_variable gone_;
  std::shared_ptr<Service> service_;  ///< as Served::join() gave it; under mutex_
  bool served_ = true;                ///< under mutex_
  bool leaving_ = false;              ///< under mutex_; this rank has said Bye
  std::optional<Closing> closing_{};  ///< written under mutex_ on thread_; the service may go

  LinkedChannels channels_;
  Succession succession_;
  const std::shared_ptr<Served> all_served_ =
      Served::all();  ///< this thread may outlive the static

  asio::io_context io_{1};
  /// Its thread ends with this, not with the connection.
  asio::executor_work_guard<asio::io_context::executor_type> work_{io_.get_executor()};
  std::shared_ptr<Stream> stream_;  ///< used on thread_ only, and after its end
  std::thread thread_;
};

}  // namespace
}  // namespace control

std::shared_ptr<Control> meet(const BootstrapPoint& point, int rank, int ranks, bool serving,
                              const HostInfo& host, std::chrono::milliseconds deadline) {
  if (ranks < 1 || rank < 0 || rank >= ranks) {
    throw Error(ErrorCode::bootstrap,
                "rank " + std::to_string(rank) + " of a world of " + std::to_string(ranks) +
                    " ranks: ranks go from 0 to one less than the number of ranks",
                {.rank = rank, .remedy = "correct RANK and WORLD_SIZE"});
  }
  control::Served& served = *control::Served::all();
  auto target = point;
  std::shared_ptr<control::Service> service;
  if (serving && rank == 0) {
    served.end_unused(point.port);
    service = std::make_shared<control::Service>(point, host, ranks);
    target.address = service->address();
    target.port = service->port();
  } else {
    service = served.at(point);
  }
  auto joined = control::join_world(target, {.rank = rank, .ranks = ranks, .host = host}, deadline);
  return std::make_shared<control::TcpControl>(
      std::move(joined), rank, target, deadline,
      service ? served.join(point, std::move(service)) : nullptr);
}

BootstrapPoint serve_bootstrap(const std::string& interface, AddressFamily family) {
  BootstrapPoint point;
  point.address = own_address(interface, family);
  point.secret = random_secret();
  point.by_id = true;
  point.named_by = "unique id";
  auto service = std::make_shared<control::Service>(point, this_host(""));
  point.port = service->port();
  control::Served::all()->add(point, std::move(service));
  return point;
}

}  // namespace rondo
