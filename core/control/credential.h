// How a rank and the service recognise each other, before either believes anything else.
//
//   rank                                      service
//   preamble: version, nonce            ->
//                                       <-    preamble: version, nonce
//   Credential, Hello                   ->    knows that the rank knows the secret
//   knows that the service does         <-    Credential
//                                       <-    Welcome, once all ranks have come; or Refused
//
// Only somebody who knows the job's secret can compute the credential for the other side's nonce.
#pragma once

#include "core/control/message.h"

namespace rondo::control {

/// Both preambles as they were sent, for the side that shows the credential.
Credential rank_credential(const Secret& secret, const Preamble& rank, const Preamble& service);
Credential service_credential(const Secret& secret, const Preamble& rank, const Preamble& service);

bool is_rank(const Credential& shown, const Secret& secret, const Preamble& rank,
             const Preamble& service);
bool is_service(const Credential& shown, const Secret& secret, const Preamble& rank,
                const Preamble& service);

}  // namespace rondo::control
