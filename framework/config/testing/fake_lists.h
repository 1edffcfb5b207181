// A few kinds with keys of every type, for tests of the configuration that need no real model or data set.
#pragma once

#include "framework/config/config.h"

namespace tidemark::config {

// Models "tiny" {layers, width} and "norm" {stages: list, wide: bool}, the latter with batch norm; data kinds "noise"
// {samples} and "file" {path, share, limit}; planners "best", "quick".
Lists fake_lists();

}  // namespace tidemark::config
