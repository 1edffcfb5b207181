// What the commands that go on with a text share.
#pragma once

#include "framework/config/load.h"

namespace tidemark::cli {

// The tokens of the configuration's data, for its model. Throws Error(config) at the place of the key if the model does
// not go on with a text or does not fit the data. The data is opened only where its kind needs that.
data::DataInfo text_info(const config::LoadedConfig& loaded);

// train.threads, or all cores.
int threads_of(const config::Config& config);

}  // namespace tidemark::cli
