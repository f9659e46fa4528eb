#include "transports/verbs/discovery.h"

#include <endian.h>
#include <net/if.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <span>
#include <system_error>
#include <tuple>
#include <utility>

#include "core/base/text.h"
#include "rondo/error.h"

namespace rondo::verbs {
namespace {

const std::filesystem::path kernel_classes = "/sys/class/infiniband";

/// ibv_free_device_list() through the table that made it.
struct FreeDeviceList {
  const Library* table;
  void operator()(ibv_device** list) const noexcept { table->free_device_list(list); }
};
using DeviceList = std::unique_ptr<ibv_device*, FreeDeviceList>;
struct CloseThrough {
  const Library* table;
  void operator()(ibv_context* context) const noexcept { table->close_device(context); }
};
using LookingContext = std::unique_ptr<ibv_context, CloseThrough>;

std::string message(int error) { return std::generic_category().message(error); }

/// libibverbs 44 answers ENOENT where access is denied, too, so both hints are given.
std::string opening_trouble(int error) {
  return "it cannot be opened (" + message(error) + "): be root or in the group that owns " +
         "/dev/infiniband/uverbs*; containers need --device /dev/infiniband";
}

/// The number that a file begins with, or `otherwise`.
template <class Number>
Number read_number(const std::filesystem::path& path, Number otherwise) {
  std::ifstream file(path);
  Number number{};
  return file >> number ? number : otherwise;
}

PortState state_of(ibv_port_state state) {
  const bool known = state >= IBV_PORT_NOP && state <= IBV_PORT_ACTIVE_DEFER;
  return known ? static_cast<PortState>(state) : PortState::nop;
}

LinkLayer layer_of(const ibv_device& device, std::uint8_t layer) {
  if (layer == IBV_LINK_LAYER_ETHERNET) return LinkLayer::ethernet;
  // Drivers older than RoCE leave it unspecified.
  const bool before_roce =
      layer == IBV_LINK_LAYER_UNSPECIFIED && device.transport_type == IBV_TRANSPORT_IB;
  return layer == IBV_LINK_LAYER_INFINIBAND || before_roce ? LinkLayer::infiniband
                                                           : LinkLayer::unknown;
}

int mtu_bytes(ibv_mtu mtu) {
  return mtu >= IBV_MTU_256 && mtu <= IBV_MTU_4096 ? 128 << static_cast<int>(mtu) : 0;
}

std::string interface_name(std::uint32_t index) {
  std::array<char, IF_NAMESIZE> name{};
  return index != 0 && ::if_indextoname(index, name.data()) != nullptr ? name.data() : "";
}

Gid gid_of(const ibv_gid_entry& entry) {
  Gid gid{.index = static_cast<int>(entry.gid_index),
          .kind = static_cast<GidKind>(entry.gid_type),
          .interface = interface_name(entry.ndev_ifindex)};
  std::copy_n(entry.gid.raw, gid.bytes.size(), gid.bytes.begin());
  return gid;
}
static_assert(static_cast<int>(GidKind::infiniband) == IBV_GID_TYPE_IB);
static_assert(static_cast<int>(GidKind::roce_v1) == IBV_GID_TYPE_ROCE_V1);
static_assert(static_cast<int>(GidKind::roce_v2) == IBV_GID_TYPE_ROCE_V2);
static_assert(static_cast<int>(PortState::active_defer) == IBV_PORT_ACTIVE_DEFER);

/// Looks at one device.
class Look {
 public:
  Look(const Library& table, ibv_device& device, const std::filesystem::path& classes)
      : table_(table), device_(device), context_(table.open_device(&device), CloseThrough{&table}) {
    const int error = errno;
    blank_.device = table.get_device_name(&device);
    blank_.guid = be64toh(table.get_device_guid(&device));
    blank_.infiniband_transport = device.transport_type == IBV_TRANSPORT_IB;
    folder_ = classes / blank_.device;
    blank_.numa_node = read_number(folder_ / "device" / "numa_node", -1);
    if (context_ == nullptr) blank_.trouble = opening_trouble(error);
  }

  std::vector<Port> ports() const {
    if (context_ == nullptr) return {blank_};
    ibv_device_attr attributes{};
    const int error = table_.query_device(context_.get(), &attributes);
    if (error != 0) return {troubled("its attributes cannot be read", error)};
    std::vector<Port> found;
    for (int number = 1; number <= attributes.phys_port_cnt; ++number)
      found.push_back(port(number));
    read_gids(found);
    return found;
  }

 private:
  Port troubled(const std::string& what, int error) const {
    Port port = blank_;
    port.trouble = what + " (" + message(error) + ")";
    return port;
  }

  Port port(int number) const {
    ibv_port_attr attributes{};
    const int error = query_port(table_, context_.get(), number, attributes);
    Port port = error == 0 ? blank_ : troubled("its port cannot be read", error);
    port.port = number;
    port.state = state_of(attributes.state);
    port.layer = layer_of(device_, attributes.link_layer);
    port.speed = link_speed(attributes.active_width, attributes.active_speed);
    // Links faster than the verbs' codes reach (XDR) show here: "800 Gb/sec (4X XDR)".
    if (port.speed == 0)
      port.speed = read_number(folder_ / "ports" / std::to_string(number) / "rate", 0.0);
    port.mtu = mtu_bytes(attributes.active_mtu);
    port.lid = port.layer == LinkLayer::infiniband ? attributes.lid : std::uint16_t{0};
    port.pkeys = attributes.pkey_tbl_len;
    port.max_message = attributes.max_msg_sz;
    gid_entries_ += static_cast<std::size_t>(std::max(0, attributes.gid_tbl_len));
    return port;
  }

  /// One call tells the entries of all ports that are not empty.
  void read_gids(std::vector<Port>& ports) const {
    std::vector<ibv_gid_entry> entries(gid_entries_);
    if (entries.empty()) return;
    const auto count = table_.query_gid_table(context_.get(), entries.data(), entries.size(), 0,
                                              sizeof(ibv_gid_entry));
    if (count < 0) {
      for (Port& port : ports) {
        if (port.trouble.empty())
          port.trouble = "its GIDs cannot be read (" + message(static_cast<int>(-count)) + ")";
      }
      return;
    }
    entries.resize(static_cast<std::size_t>(count));
    for (const ibv_gid_entry& entry : entries) {
      const auto owner = std::ranges::find(ports, static_cast<int>(entry.port_num), &Port::port);
      if (owner != ports.end()) owner->gids.push_back(gid_of(entry));
    }
    for (Port& port : ports) std::ranges::sort(port.gids, {}, &Gid::index);
  }

  const Library& table_;
  ibv_device& device_;
  LookingContext context_;
  std::filesystem::path folder_{};  ///< the kernel's, of this device
  Port blank_{};
  mutable std::size_t gid_entries_ = 0;
};

/// What the kernel knows, for the message where libibverbs knows nothing.
std::string kernel_devices(const std::filesystem::path& classes) {
  std::error_code ignored;  // no such folder: the modules are not loaded
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(classes, ignored))
    names.push_back(entry.path().filename());
  std::ranges::sort(names);
  return join(std::vector<std::string_view>(names.begin(), names.end()), ", ");
}

Discovery nothing(const std::filesystem::path& classes) {
  const std::string devices = kernel_devices(classes);
  if (devices.empty()) {
    return {.obstacle = "the kernel shows no RDMA device",
            .remedy =
                "load the adapter's driver (modprobe mlx5_ib and the like). If the machine has no "
                "adapter, let Soft-RoCE make one of a network interface: modprobe rdma_rxe && "
                "rdma link add rxe0 type rxe netdev eth0"};
  }
  return {.obstacle = "the kernel has RDMA devices (" + devices + ") but libibverbs shows none",
          .remedy =
              "apt install ibverbs-providers; modprobe ib_uverbs; give a container "
              "--device /dev/infiniband"};
}

}  // namespace

double link_speed(std::uint8_t width, std::uint8_t speed) {
  constexpr std::array<std::pair<int, int>, 5> widths{{{1, 1}, {2, 4}, {4, 8}, {8, 12}, {16, 2}}};
  // SDR, DDR, QDR, FDR-10, FDR, EDR, HDR, NDR, by the bit that stands for each.
  constexpr std::array<double, 8> lanes{2.5, 5, 10, 10, 14, 25, 50, 100};
  const auto found =
      std::ranges::find(widths, static_cast<int>(width), &std::pair<int, int>::first);
  if (found == widths.end() || speed == 0 || (speed & (speed - 1)) != 0) return 0;
  std::size_t bit = 0;
  while (speed >> bit != 1) ++bit;
  return found->second * lanes[bit];
}

Discovery discover(const Library& table, const std::filesystem::path& classes) {
  int count = 0;
  const DeviceList list(table.get_device_list(&count), FreeDeviceList{&table});
  if (list == nullptr || count <= 0) return nothing(classes);
  Discovery result;
  for (ibv_device* const device : std::span(list.get(), static_cast<std::size_t>(count))) {
    auto ports = Look(table, *device, classes).ports();
    std::ranges::move(ports, std::back_inserter(result.ports));
  }
  std::ranges::sort(result.ports, {}, [](const Port& port) {
    return std::tuple(std::string_view(port.device), port.port);
  });
  if (result.ports.empty()) result.obstacle = "the RDMA devices of this machine have no ports";
  return result;
}

Discovery discover() {
  if (!loaded().usable) {
    return {.obstacle = loaded().obstacle,
            .remedy =
                "apt install libibverbs1 ibverbs-providers (the library is loaded at run "
                "time; rondo need not be built again)"};
  }
  return discover(loaded().table, kernel_classes);
}

void CloseContext::operator()(ibv_context* context) const noexcept {
  // A failure leaves nothing to do: the device went away, and its descriptor with it.
  (void)loaded().table.close_device(context);
}

Context open(const Port& port) {
  const Library& table = library();
  int count = 0;
  const DeviceList list(table.get_device_list(&count), FreeDeviceList{&table});
  for (int i = 0; list != nullptr && i < count; ++i) {
    ibv_device* const device = list.get()[i];
    if (port.device != table.get_device_name(device)) continue;
    Context context(table.open_device(device));
    if (context != nullptr) return context;
    throw Error(ErrorCode::system, port.device + ": " + opening_trouble(errno),
                {.remedy = "run `rondo rdma`, which tries the same"});
  }
  throw Error(ErrorCode::configuration, "the RDMA device " + port.device + " is not there any more",
              {.remedy = "look at `rondo rdma` and the kernel's log"});
}

}  // namespace rondo::verbs
