// The kernels of lstm and its gradients.
#pragma once

#include "ops/kernel.h"

namespace tidemark::ops {

std::unique_ptr<Kernel> make_lstm_cpu(const KernelRequest& request, std::string& why_not);
std::unique_ptr<Kernel> make_lstm_grad_cpu(const KernelRequest& request, std::string& why_not);
std::unique_ptr<Kernel> make_lstm_grad_weight_cpu(const KernelRequest& request, std::string& why_not);
std::unique_ptr<Kernel> make_packed_row_ids_cpu(const KernelRequest& request, std::string& why_not);

}  // namespace tidemark::ops
