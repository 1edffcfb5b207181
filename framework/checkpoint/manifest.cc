#include "framework/checkpoint/manifest.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "base/sha256.h"

namespace tidemark::checkpoint {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kFormatVersion = 1;
constexpr const char* kDigestKey = "manifest_sha256";

Json without_digest(const Manifest& m) {
  return {{"format_version", kFormatVersion},
          {"step", m.step},
          {"sampler", {{"epoch", m.sampler.epoch}, {"offset", m.sampler.offset}}},
          {"seed", m.seed},
          {"optimizer", m.optimizer},
          {"plan_digest", m.plan_digest},
          {"kernels_digest", m.kernels_digest},
          {"threads", m.threads},
          {"device", m.device},
          {"state", m.state},
          {"config_sha256", sha256_hex(m.config_yaml)},
          {"config_yaml", m.config_yaml},
          {"tensors_sha256", m.tensors_sha256}};
}

// A path in the configuration may hold bytes that are no UTF-8; JSON may not.
std::string dump(const Json& json, int indent) { return json.dump(indent, ' ', false, Json::error_handler_t::replace); }

Manifest from_json(const Json& json) {
  Manifest m;
  m.step = json.at("step").get<int64_t>();
  m.sampler = {json.at("sampler").at("epoch").get<int64_t>(), json.at("sampler").at("offset").get<int64_t>()};
  m.seed = json.at("seed").get<uint64_t>();
  m.optimizer = json.at("optimizer").get<std::string>();
  m.plan_digest = json.at("plan_digest").get<std::string>();
  m.kernels_digest = json.at("kernels_digest").get<std::string>();
  m.threads = json.at("threads").get<int64_t>();
  m.device = json.at("device").get<std::string>();
  m.state = json.at("state").get<std::map<std::string, std::string>>();
  m.config_yaml = json.at("config_yaml").get<std::string>();
  m.tensors_sha256 = json.at("tensors_sha256").get<std::string>();
  return m;
}

// "train.lr" -> "0.001", of text that config::to_yaml printed: sections at the margin, keys indented, values on one
// line.
std::map<std::string, std::string> settings(const std::string& yaml) {
  std::map<std::string, std::string> result;
  std::string section;
  std::istringstream lines(yaml);
  for (std::string line; std::getline(lines, line);) {
    const bool in_section = line.starts_with("  ");
    const size_t begin = in_section ? 2 : 0;
    const size_t colon = line.find(':', begin);
    if (colon == std::string::npos) continue;
    const std::string key = line.substr(begin, colon - begin);
    const std::string value = colon + 2 <= line.size() ? line.substr(colon + 2) : "";
    if (!in_section) section = value.empty() ? key + "." : "";
    if (in_section || !value.empty()) result[section + key] = value;
  }
  return result;
}

// Keys that change when or where things happen, never what is computed; threads and device are reported by themselves.
bool never_changes_results(std::string_view key) {
  constexpr std::array<std::string_view, 15> kKeys = {
      "train.threads",    "train.eval_every", "train.eval_samples", "train.log_every",     "train.early_stop",
      "memory.budget",    "memory.growth",    "memory.planner",     "memory.headroom",     "memory.debug",
      "memory.recompute", "memory.cost_file", "memory.watermark",   "memory.idle_release", "device"};
  return key.starts_with("metrics.") || key.starts_with("checkpoint.") ||
         std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end();
}

// The length of a run changes the learning rate of every step, unless the rate is constant.
bool is_length(std::string_view key) { return key == "train.steps" || key == "train.epochs"; }

bool rate_is_constant(const std::map<std::string, std::string>& config) {
  const auto found = config.find("train.schedule");
  return found != config.end() && found->second == "constant";
}

std::string shown(const std::string& text) { return text.empty() ? "none" : text; }

}  // namespace

std::string to_json(const Manifest& manifest) {
  Json json = without_digest(manifest);
  json[kDigestKey] = sha256_hex(dump(json, -1));
  return dump(json, 2) + "\n";
}

Manifest manifest_from_json(std::string_view text, const std::string& path) {
  try {
    Json json = Json::parse(text);
    const int64_t version = json.at("format_version").get<int64_t>();
    if (version != kFormatVersion) {
      throw Error(ErrorCode::data, path + ": format version " + std::to_string(version) + ", this program reads " +
                                       std::to_string(kFormatVersion));
    }
    const auto digest = json.at(kDigestKey).get<std::string>();
    json.erase(kDigestKey);
    if (digest != sha256_hex(dump(json, -1)))
      throw Error(ErrorCode::data, path + ": the manifest was changed or is damaged");
    return from_json(json);
  } catch (const nlohmann::json::exception& e) {
    throw Error(ErrorCode::data, path + ": no whole manifest: " + e.what());
  }
}

std::vector<std::string> differences(const Manifest& saved, const Manifest& now) {
  std::vector<std::string> lines;
  const auto compare = [&](const std::string& what, const std::string& before, const std::string& after) {
    if (before != after) lines.push_back(what + ": saved " + shown(before) + ", now " + shown(after));
  };
  compare("threads", std::to_string(saved.threads), std::to_string(now.threads));
  compare("device", saved.device, now.device);
  compare("kernels", saved.kernels_digest, now.kernels_digest);
  const auto before = settings(saved.config_yaml);
  const auto after = settings(now.config_yaml);
  const bool any_length = rate_is_constant(before) && rate_is_constant(after);
  const auto counts = [&](const std::string& key) {
    return !never_changes_results(key) && !(any_length && is_length(key));
  };
  for (const auto& [key, value] : before) {
    const auto found = after.find(key);
    if (counts(key)) compare(key, value, found == after.end() ? "" : found->second);
  }
  for (const auto& [key, value] : after) {
    if (!before.contains(key) && counts(key)) compare(key, "", value);
  }
  return lines;
}

}  // namespace tidemark::checkpoint
