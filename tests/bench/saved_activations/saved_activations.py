#!/usr/bin/python3
"""Bytes that PyTorch saves for the backward pass of gpt_text and of the residual net, beside Tidemark's plans.

PyTorch: every storage that autograd saves, counted once, without parameters and the batch itself. Tidemark: planned peak
less what persists (weights, optimizer, statistics) and gradients; workspaces and the arena's gaps are included, so the
comparison leans to PyTorch's side. Needs Debian's python3-torch; run it through tests/bench/saved_activations/run.
"""
import argparse
import json
import math
import subprocess
import sys

import torch
import torch.nn.functional as F


class Saved:
    """Counts what autograd saves while it is active."""

    def __init__(self, known):
        self.known = {tensor.storage().data_ptr() for tensor in known}
        self.storages = {}

    def _pack(self, tensor):
        storage = tensor.storage()
        if storage.data_ptr() not in self.known:
            self.storages[storage.data_ptr()] = (storage.nbytes(), tensor)  # kept alive: addresses stay unique
        return tensor

    def bytes_of(self, loss_function):
        with torch.autograd.graph.saved_tensors_hooks(self._pack, lambda tensor: tensor):
            loss = loss_function()
        total = sum(size for size, _ in self.storages.values())
        loss.backward()
        return total


def parameter(parameters, *shape):
    tensor = torch.randn(*shape, requires_grad=True)
    parameters.append(tensor)
    return tensor


def gpt(batch=32, layers=6, heads=6, width=192, context=128, classes=256, dropout=0.1):
    """configs/gpt_text.yaml. Attention as a program without a fused kernel writes it."""
    params = []
    make = lambda *shape: parameter(params, *shape)
    table, positions = make(classes, width), make(context, width)
    blocks = [
        {name: make(*shape) for name, shape in
         {"n1w": (width,), "n1b": (width,), "qkv": (3 * width, width), "qkvb": (3 * width,), "out": (width, width),
          "outb": (width,), "n2w": (width,), "n2b": (width,), "up": (4 * width, width), "upb": (4 * width,),
          "down": (width, 4 * width), "downb": (width,)}.items()}
        for _ in range(layers)]
    nw, nb = make(width), make(width)
    tokens = torch.randint(0, classes, (batch, context))
    targets = torch.randint(0, classes, (batch, context))
    mask = torch.ones(context, context, dtype=torch.bool).triu(1)

    def attention(x):
        q, k, v = (t.view(batch, context, heads, -1).transpose(1, 2) for t in x.chunk(3, dim=-1))
        scores = (q @ k.transpose(-2, -1)) / math.sqrt(width // heads)
        out = scores.masked_fill(mask, float("-inf")).softmax(-1) @ v
        return out.transpose(1, 2).reshape(batch, context, width)

    def loss():
        x = F.dropout(F.embedding(tokens, table) + positions, dropout)
        for b in blocks:
            h = F.layer_norm(x, (width,), b["n1w"], b["n1b"])
            h = F.linear(attention(F.linear(h, b["qkv"], b["qkvb"])), b["out"], b["outb"])
            x = x + F.dropout(h, dropout)
            h = F.layer_norm(x, (width,), b["n2w"], b["n2b"])
            h = F.linear(F.gelu(F.linear(h, b["up"], b["upb"]), approximate="tanh"), b["down"], b["downb"])
            x = x + F.dropout(h, dropout)
        logits = F.linear(F.layer_norm(x, (width,), nw, nb), table)
        return F.cross_entropy(logits.view(-1, classes), targets.view(-1))

    return params + [tokens, targets, mask], loss


def resnet(batch=128, width=16, blocks=(3, 3, 3), side=28):
    """configs/fashion_mnist_resnet.yaml with model.blocks=[3,3,3], as torchvision writes its blocks (relu in place)."""
    params = []

    def conv_norm(inputs, outputs, kernel=3, stride=1):
        weight = parameter(params, outputs, inputs, kernel, kernel)
        scale, shift = parameter(params, outputs), parameter(params, outputs)
        mean, variance = torch.zeros(outputs), torch.ones(outputs)
        params.extend([mean, variance])
        return lambda x: F.batch_norm(F.conv2d(x, weight, stride=stride, padding=kernel // 2), mean, variance, scale,
                                      shift, True)

    stem = conv_norm(1, width)
    stages, inputs = [], width
    for stage, count in enumerate(blocks):
        for block in range(count):
            outputs, stride = width << stage, 2 if stage > 0 and block == 0 else 1
            shortcut = conv_norm(inputs, outputs, 1, stride) if inputs != outputs or stride != 1 else None
            stages.append((conv_norm(inputs, outputs, 3, stride), conv_norm(outputs, outputs), shortcut))
            inputs = outputs
    head, bias = parameter(params, 10, inputs), parameter(params, 10)
    images, labels = torch.randn(batch, 1, side, side), torch.randint(0, 10, (batch,))

    def loss():
        x = F.relu(stem(images), inplace=True)
        for first, second, shortcut in stages:
            h = second(F.relu(first(x), inplace=True))
            h += shortcut(x) if shortcut else x
            x = F.relu(h, inplace=True)
        return F.cross_entropy(F.linear(x.mean((2, 3)), head, bias), labels)

    return params + [images, labels], loss


def plan(arguments, config, settings):
    command = [arguments.program, "plan", "-c", config, "--json", "--set", "checkpoint.dir="]
    for setting in settings:
        command += ["--set", setting]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit("tidemark plan ended with %d: %s" % (done.returncode, done.stderr))
    return json.loads(done.stdout)


def activation_bytes(planned):
    held = planned["categories"]
    return planned["planned_peak_bytes"] - sum(held.get(name, 0) for name in ("weights", "optimizer", "statistics", "gradients"))


def compare(arguments, name, net, config, settings, budgets):
    known, loss = net
    torch_bytes = Saved(known).bytes_of(loss)
    plain = activation_bytes(plan(arguments, config, settings + ["memory.recompute=none"]))
    result = {"net": name, "torch_saved_bytes": torch_bytes, "plain_activation_bytes": plain,
              "torch_by_plain": round(torch_bytes / plain, 2), "budgets": []}
    for budget in budgets:
        planned = plan(arguments, config, settings + ["memory.budget=" + budget])
        activations = activation_bytes(planned)
        result["budgets"].append({"budget": budget, "activation_bytes": activations,
                                  "plain_by_this": round(plain / activations, 2),
                                  "torch_by_this": round(torch_bytes / activations, 2),
                                  "predicted_overhead": round(planned["recompute_overhead"], 4)})
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True, help="the tidemark binary")
    parser.add_argument("--configs", required=True, help="the folder configs/")
    arguments = parser.parse_args()
    torch.manual_seed(1)
    results = [
        compare(arguments, "gpt_text", gpt(), arguments.configs + "/gpt_text.yaml", [], ["140MiB", "101MiB"]),
        compare(arguments, "resnet [3,3,3]", resnet(), arguments.configs + "/fashion_mnist_resnet.yaml",
                ["model.blocks=[3,3,3]"], ["51MiB"]),
    ]
    print(json.dumps({"torch": torch.__version__, "nets": results}, indent=1))


main()
