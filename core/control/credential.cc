#include "core/control/credential.h"

namespace rondo::control {
namespace {

constexpr std::string_view of_rank = "rondo control: rank";
constexpr std::string_view of_service = "rondo control: service";

std::string said(const Preamble& rank, const Preamble& service) {
  return encode(rank) + encode(service);
}

}  // namespace

Credential rank_credential(const Secret& secret, const Preamble& rank, const Preamble& service) {
  return {prove(secret, of_rank, said(rank, service))};
}

Credential service_credential(const Secret& secret, const Preamble& rank, const Preamble& service) {
  return {prove(secret, of_service, said(rank, service))};
}

bool is_rank(const Credential& shown, const Secret& secret, const Preamble& rank,
             const Preamble& service) {
  return proves(shown.proof, secret, of_rank, said(rank, service));
}

bool is_service(const Credential& shown, const Secret& secret, const Preamble& rank,
                const Preamble& service) {
  return proves(shown.proof, secret, of_service, said(rank, service));
}

}  // namespace rondo::control
