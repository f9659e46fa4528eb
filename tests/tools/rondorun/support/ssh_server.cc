#include "tests/tools/rondorun/support/ssh_server.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <stdexcept>

namespace rondo::test {
namespace {

/// The folder in which a root's sshd locks itself in. Debian makes it when it boots, but a chroot
/// does not boot. It is left there, since another test's sshd may need it.
constexpr const char* run_folder = "/run/sshd";

/// A port that is free now. sshd says if somebody else takes it first.
int free_port() {
  const UniqueFd socket(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), length);
  ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &length);
  return ntohs(address.sin_port);
}

std::string find_program(const std::string& name) {
  for (const char* folder : {"/usr/sbin/", "/usr/bin/", "/usr/local/sbin/", "/usr/local/bin/"})
    if (::access((folder + name).c_str(), X_OK) == 0) return folder + name;
  return {};
}

std::string configuration(const TemporaryFolder& folder, int port, const std::string& use_pam,
                          const std::string& mark) {
  return "Port " + std::to_string(port) + "\nListenAddress 127.0.0.1\nHostKey " +
         folder / "host_key" + "\nAuthorizedKeysFile " + folder / "authorized_keys" +
         "\nStrictModes no\nPidFile none\nPasswordAuthentication no\n" +
         "KbdInteractiveAuthentication no\nPermitRootLogin yes\nLogLevel VERBOSE\nSetEnv " + mark +
         "\nUsePAM " + use_pam + "\n";
}

}  // namespace

bool SshServer::available() {
  return !find_program("sshd").empty() && !find_program("ssh").empty() &&
         !find_program("ssh-keygen").empty();
}

SshServer::SshServer() {
  make_keys();
  if (::geteuid() == 0) ::mkdir(run_folder, 0755);
  if (!start("no") && !start("yes")) throw std::runtime_error("no login over ssh: " + complaint_);
}

void SshServer::make_keys() const {
  for (const char* name : {"host_key", "user_key", "wrong_key"}) {
    Command keygen;
    keygen.words = {"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder_ / name};
    if (finish(keygen).status != 0) throw std::runtime_error("ssh-keygen failed");
  }
  write_file(folder_ / "authorized_keys", read_file(folder_ / "user_key.pub"));
}

std::string SshServer::client(int port, const std::string& key) const {
  return "ssh -F none -p " + std::to_string(port) + " -i " + folder_ / key +
         " -o IdentitiesOnly=yes -o IdentityAgent=none -o LogLevel=ERROR" +
         " -o StrictHostKeyChecking=no -o UserKnownHostsFile=" + folder_ / "known_hosts";
}

bool SshServer::start(const std::string& use_pam) {
  const int port = free_port();
  mark_ = "RONDORUN_TEST_LOGIN=" + std::to_string(::getpid()) + "." + std::to_string(port);
  write_file(folder_ / "sshd_config", configuration(folder_, port, use_pam, mark_));
  Command command;
  command.words = {find_program("sshd"), "-D", "-e", "-f", folder_ / "sshd_config"};
  server_ = std::make_unique<Process>(command);
  server_->wait_until(
      [&] {
        return server_->error().find("Server listening") != std::string::npos ||
               server_->is_silent();
      },
      "sshd");
  command_ = client(port, "user_key");
  wrong_command_ = client(port, "wrong_key");
  Command login;
  login.words = {"sh", "-c", command_ + " -o BatchMode=yes 127.0.0.1 true"};
  const auto result = finish(login);
  complaint_ += result.error + server_->error();
  return result.status == 0;
}

}  // namespace rondo::test
