// Direct access between threads. They share all memory already; only the control block (board) is
// made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/transport/direct_access.h"
#include "core/transport/local_exchange.h"
#include "core/transport/transport.h"

namespace rondo::local {

class LocalAccess final : public DirectAccess {
 public:
  explicit LocalAccess(const TransportSettings& settings) : settings_(settings) {}

  /// Call it once all ranks have joined the exchange.
  void meet();

  std::byte* board(std::size_t bytes) override;
  void check(int peer) override;
  Exposed expose(const void* memory, std::size_t bytes) const override;
  void offer(const Exposed&, std::span<const std::int32_t>) override {}
  std::uint64_t windows_freed() override { return 0; }
  std::byte* map(int peer, const Exposed& place, std::size_t bytes) override;
  void forget(int) override {}
  void wake(int peer) override;

 private:
  TransportSettings settings_;
  std::shared_ptr<std::byte> board_{};
  std::size_t board_bytes_ = 0;
  std::vector<std::shared_ptr<PeerDoorbell>> bells_{};  ///< null: itself, or gone before meet()
};

}  // namespace rondo::local
