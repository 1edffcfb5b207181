// Everything that a configuration of this program may choose from.
#pragma once

#include "framework/config/config.h"

namespace tidemark::cli {

config::Lists all_lists();

}  // namespace tidemark::cli
