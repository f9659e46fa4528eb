#include "core/control/message.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <map>
#include <span>
#include <type_traits>
#include <utility>

#include "core/base/checksum.h"
#include "rondo/error.h"

namespace rondo {
namespace {

template <class Enum>
void check(Enum value, std::size_t count) {
  if (static_cast<std::size_t>(value) >= count) throw Malformed("a kind of call that is not known");
}

}  // namespace

// fields_of(value, archive) names the fields of each struct once, for both ways.

template <class Archive>
void fields_of(const Call& call, Archive& archive) {
  archive(call.sequence, call.count, static_cast<std::uint8_t>(call.collective),
          static_cast<std::uint8_t>(call.type), static_cast<std::uint8_t>(call.op), call.root,
          static_cast<std::uint8_t>(call.accumulate),
          static_cast<std::uint8_t>((call.reproducible ? 1 : 0) | (call.on_devices ? 2 : 0)),
          call.operator_code, call.blocks);
}

template <class Archive>
void fields_of(Call& call, Archive& archive) {
  std::uint8_t collective = 0;
  std::uint8_t type = 0;
  std::uint8_t op = 0;
  std::uint8_t accumulate = 0;
  std::uint8_t marks = 0;
  archive(call.sequence, call.count, collective, type, op, call.root, accumulate, marks,
          call.operator_code, call.blocks);
  check(collective, collectives.size());
  check(type, data_types.size());
  check(op, reduce_operators.size());
  check(accumulate, data_types.size());
  check(marks, 4);
  call.collective = static_cast<Collective>(collective);
  call.type = static_cast<DataType>(type);
  call.op = static_cast<ReduceOperator>(op);
  call.accumulate = static_cast<DataType>(accumulate);
  call.reproducible = (marks & 1) != 0;
  call.on_devices = (marks & 2) != 0;
}

template <class Host, class Archive>
requires std::is_same_v<std::remove_const_t<Host>, HostInfo>
void fields_of(Host& host, Archive& archive) {
  archive(host.host, host.hostname, host.process, host.pid, host.rdma, host.no_rdma);
}

namespace control {
namespace {

/// A list of which many elements are equal: each of them once, and which of them stands where.
template <class Element>
struct Packed {
  std::vector<Element> distinct{};
  std::vector<std::uint32_t> places{};
};

template <class Element, class Key>
Packed<Element> pack(const std::vector<Element>& list, const Key& key) {
  Packed<Element> packed;
  std::map<std::string, std::uint32_t> known;
  for (const Element& each : list) {
    const auto next = static_cast<std::uint32_t>(packed.distinct.size());
    const auto [found, is_new] = known.try_emplace(key(each), next);
    if (is_new) packed.distinct.push_back(each);
    packed.places.push_back(found->second);
  }
  return packed;
}

template <class Element>
std::vector<Element> unpacked(const Packed<Element>& packed) {
  std::vector<Element> list;
  for (const std::uint32_t place : packed.places) {
    if (place >= packed.distinct.size()) throw Malformed("a list that names what it does not have");
    list.push_back(packed.distinct[place]);
  }
  return list;
}

/// What the processes of a host have in common, and what tells them apart.
struct Process {
  std::uint64_t process = 0;
  std::int64_t pid = 0;
};
static_assert(sizeof(Process) == 16);

std::string key_of(const HostInfo& host) {
  std::string key;
  FieldWriter writer(key);
  writer(host.host, host.hostname, host.rdma, host.no_rdma);
  return key;
}

template <class Archive>
void fields_of_hosts(const std::vector<HostInfo>& hosts, Archive& archive) {
  std::vector<Process> processes;
  for (const HostInfo& host : hosts) processes.push_back({host.process, host.pid});
  const Packed<HostInfo> packed = pack(hosts, key_of);
  archive(packed.distinct, packed.places, processes);
}

template <class Archive>
void fields_of_hosts(std::vector<HostInfo>& hosts, Archive& archive) {
  std::vector<Process> processes;
  Packed<HostInfo> packed;
  archive(packed.distinct, packed.places, processes);
  hosts = unpacked(packed);
  if (hosts.size() != processes.size()) throw Malformed("as many processes as hosts are missing");
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    hosts[i].process = processes[i].process;
    hosts[i].pid = static_cast<int>(processes[i].pid);
  }
}

template <class Archive>
void fields_of_texts(const std::vector<std::string>& texts, Archive& archive) {
  const Packed<std::string> packed = pack(texts, [](const std::string& text) { return text; });
  archive(packed.distinct, packed.places);
}

template <class Archive>
void fields_of_texts(std::vector<std::string>& texts, Archive& archive) {
  Packed<std::string> packed;
  archive(packed.distinct, packed.places);
  texts = unpacked(packed);
}

template <class Archive>
void fields_of_standbys(const std::vector<Standby>& standbys, Archive& archive) {
  std::vector<std::string> addresses;
  std::vector<std::uint16_t> ports;
  for (const Standby& standby : standbys) {
    addresses.push_back(standby.address);
    ports.push_back(standby.port);
  }
  fields_of_texts(std::as_const(addresses), archive);
  archive(ports);
}

template <class Archive>
void fields_of_standbys(std::vector<Standby>& standbys, Archive& archive) {
  std::vector<std::string> addresses;
  std::vector<std::uint16_t> ports;
  fields_of_texts(addresses, archive);
  archive(ports);
  if (addresses.size() != ports.size()) throw Malformed("as many ports as addresses are missing");
  for (std::size_t i = 0; i < ports.size(); ++i)
    standbys.push_back({.address = addresses[i], .port = ports[i]});
}

}  // namespace

template <class Value, class Archive>
void fields_of(Value& value, Archive& archive) {
  using T = std::remove_const_t<Value>;
  if constexpr (std::is_same_v<T, CallReport>) {
    archive(value.begun, value.completed, value.calls);
  } else if constexpr (std::is_same_v<T, Credential>) {
    archive(value.proof);
  } else if constexpr (std::is_same_v<T, Hello>) {
    archive(value.rank, value.ranks, value.host, value.standby, value.session, value.received);
  } else if constexpr (std::is_same_v<T, Standby>) {
    archive(value.address, value.port);
  } else if constexpr (std::is_same_v<T, BootstrapExpired>) {
    archive(value.milliseconds);
  } else if constexpr (std::is_same_v<T, Welcome>) {
    fields_of_hosts(value.hosts, archive);
    archive(value.service);
    fields_of_standbys(value.standbys, archive);
    archive(value.received);
  } else if constexpr (std::is_same_v<T, Refused>) {
    archive(value.retry, value.peer, value.message, value.remedy);
  } else if constexpr (std::is_same_v<T, Received>) {
    archive(value.count);
  } else if constexpr (std::is_same_v<T, Open>) {
    archive(value.communicator, value.members, value.again);
  } else if constexpr (std::is_same_v<T, Blob>) {
    archive(value.communicator, value.round, value.of_all, value.bytes);
  } else if constexpr (std::is_same_v<T, Blobs>) {
    archive(value.communicator, value.round, value.missing, value.refusal);
    fields_of_texts(value.bytes, archive);
  } else if constexpr (std::is_same_v<T, ExchangeExpired>) {
    archive(value.communicator, value.milliseconds);
  } else if constexpr (std::is_same_v<T, Stall>) {
    archive(value.communicator, value.from, value.to, value.milliseconds, value.peer, value.what,
            value.expired, value.mismatch, value.timeout_from_program);
  } else if constexpr (std::is_same_v<T, Answer>) {
    archive(value.communicator, value.diagnosis, value.report);
  } else if constexpr (std::is_same_v<T, Leave> || std::is_same_v<T, Compare>) {
    archive(value.communicator, value.report);
  } else if constexpr (std::is_same_v<T, Query>) {
    archive(value.communicator, value.diagnosis, value.from, value.to);
  } else if constexpr (std::is_same_v<T, Departed>) {
    archive(value.communicator, value.ranks, value.reports);
  } else if constexpr (std::is_same_v<T, Closing>) {
    archive(value.left, value.dead);
  } else if constexpr (std::is_same_v<T, Alike>) {
    archive(value.communicator);
  } else if constexpr (std::is_same_v<T, Note>) {
    archive(value.communicator, value.text);
  } else if constexpr (std::is_same_v<T, Failure>) {
    archive(value.communicator, value.code, value.peer, value.message, value.call, value.remedy);
  } else {
    static_assert(std::is_empty_v<T>, "a message whose fields are not named here");
  }
}

namespace {

constexpr std::string_view protocol_word = "RONDOCTL";

struct FrameHeader {
  std::uint32_t length = 0;
  std::uint32_t checksum = 0;
  std::uint32_t of_header = 0;
};
static_assert(sizeof(FrameHeader) == 12);

std::uint32_t checksum_of(const FrameHeader& header) {
  return crc32c(std::as_bytes(std::span(&header, 1)).first(offsetof(FrameHeader, of_header)));
}

FrameHeader header_of(std::string_view kind_and_fields) {
  FrameHeader header{.length = static_cast<std::uint32_t>(kind_and_fields.size()),
                     .checksum = crc32c(std::as_bytes(std::span(kind_and_fields)))};
  header.of_header = checksum_of(header);
  return header;
}

/// The message whose kind is `kind`, default made.
template <std::size_t index = 0>
Message make(std::size_t kind) {
  if constexpr (index < std::variant_size_v<Message>) {
    if (kind == index) return Message(std::in_place_index<index>);
    return make<index + 1>(kind);
  } else {
    throw NotRondo("a message of kind " + std::to_string(kind));
  }
}

/// At most a few letters of what came instead, for people.
std::string quoted(std::string_view bytes) {
  std::string text = "'";
  for (const char byte : bytes.substr(0, 16)) text += byte >= ' ' && byte <= '~' ? byte : '.';
  return text + "'";
}

}  // namespace

const Call* CallReport::find(std::uint64_t sequence) const {
  const auto found = std::find_if(calls.begin(), calls.end(),
                                  [&](const Call& call) { return call.sequence == sequence; });
  return found == calls.end() ? nullptr : &*found;
}

std::optional<std::uint64_t> communicator_of(const Message& message) {
  return std::visit(
      [](const auto& value) -> std::optional<std::uint64_t> {
        if constexpr (requires { value.communicator; }) return value.communicator;
        return std::nullopt;
      },
      message);
}

std::string encode(const Preamble& preamble) {
  std::string bytes(protocol_word);
  FieldWriter writer(bytes);
  writer(preamble.version, std::uint32_t{0}, preamble.nonce);
  return bytes;
}

std::string encode(const Message& message) {
  std::string bytes(sizeof(FrameHeader), '\0');
  bytes += static_cast<char>(message.index());
  FieldWriter writer(bytes);
  std::visit([&](const auto& value) { writer(value); }, message);
  const FrameHeader header = header_of(std::string_view(bytes).substr(sizeof(header)));
  std::memcpy(bytes.data(), &header, sizeof(header));
  return bytes;
}

std::optional<Preamble> FrameReader::preamble() {
  const auto seen = std::string_view(bytes_).substr(start_, preamble_bytes);
  const auto word = seen.substr(0, protocol_word.size());
  if (word != protocol_word.substr(0, word.size())) throw NotRondo(quoted(seen));
  if (seen.size() < preamble_bytes) return std::nullopt;
  Preamble preamble;
  std::uint32_t zero = 0;
  FieldReader reader(seen.substr(protocol_word.size()));
  reader(preamble.version, zero, preamble.nonce);
  if (zero != 0) throw NotRondo(quoted(seen));
  drop(preamble_bytes);
  return preamble;
}

std::optional<Message> FrameReader::next() {
  const auto seen = std::string_view(bytes_).substr(start_);
  FrameHeader header;
  if (seen.size() < sizeof(header)) return std::nullopt;
  std::memcpy(&header, seen.data(), sizeof(header));
  const char* const changed = "a message that was changed on the way: its checksum is wrong";
  if (checksum_of(header) != header.of_header) throw NotRondo(changed);
  if (header.length == 0 || header.length > longest_)
    throw NotRondo("a message of " + std::to_string(header.length) + " bytes");
  const auto body = seen.substr(sizeof(header), header.length);
  if (body.size() < header.length) return std::nullopt;
  if (crc32c(std::as_bytes(std::span(body))) != header.checksum) throw NotRondo(changed);
  auto message = make(static_cast<unsigned char>(body.front()));
  FieldReader reader(body.substr(1));
  std::visit([&](auto& value) { reader(value); }, message);
  if (!reader.at_end()) throw NotRondo("a message that is too long for its kind");
  drop(sizeof(header) + header.length);
  return message;
}

void FrameReader::drop(std::size_t count) {
  start_ += count;
  // Amortised: moving the rest down costs no more than what was taken.
  if (start_ * 2 < bytes_.size()) return;
  bytes_.erase(0, start_);
  start_ = 0;
}

}  // namespace control
}  // namespace rondo
