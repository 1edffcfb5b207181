#!/usr/bin/python3
"""GPT-2 training step: Tidemark beside PyTorch, same graph, tokens and weights.

First asserts equal loss and gradients, then times steps of both in turn and prints medians and the ratio as JSON.
Needs Debian's python3-torch, python3-numpy and libopenblas0-openmp; run it through tests/bench/gpt2_step/run.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True, help="the gpt2_step binary")
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--context", type=int, default=64)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--heads", type=int, default=12)
    parser.add_argument("--width", type=int, default=768)
    parser.add_argument("--vocabulary", type=int, default=50257)
    parser.add_argument("--positions", type=int, default=1024)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=9, help="timed pairs of steps, after two of warm-up")
    parser.add_argument("--tolerance", type=float, default=1e-4)
    return parser.parse_args()


args = parse_args()
os.environ["OMP_NUM_THREADS"] = str(args.threads)

import numpy  # noqa: E402  the thread count must be set before
import torch  # noqa: E402

import safetensors_io  # noqa: E402
from torch_gpt2 import Gpt2  # noqa: E402


class Tidemark:
    """The gpt2_step program, driven line by line."""

    def __init__(self, tokens_path):
        sizes = ["batch", "context", "layers", "heads", "width", "vocabulary", "positions", "threads"]
        command = [args.program, "--tokens", tokens_path]
        for size in sizes:
            command += ["--" + size, str(getattr(args, size))]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit("gpt2_step ended with code %s" % self.process.wait())
        return json.loads(answer)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def relative_error(got, want):
    return float(numpy.linalg.norm(got - want) / max(numpy.linalg.norm(want), 1e-12))


def make_model(weights, padded):
    rows = weights["embedding/tokens"].shape[0] if padded else args.vocabulary
    cut = dict(weights)
    cut["embedding/tokens"] = weights["embedding/tokens"][:rows]
    return Gpt2(cut, args.layers, args.heads, rows)


def check_equal(ours, folder, weights, tokens, targets):
    """Asserts equal loss and gradients; returns the largest relative errors."""
    answer = ours.ask("gradients " + os.path.join(folder, "gradients"))
    gradients = safetensors_io.read(os.path.join(folder, "gradients"))
    model = make_model(weights, padded=False)
    loss = model.loss(tokens, targets)
    loss.backward()
    loss_error = abs(answer["loss"] - loss.item()) / abs(loss.item())
    assert loss_error <= args.tolerance, "loss %r here, %r in PyTorch" % (answer["loss"], loss.item())
    assert len(gradients) == len(model.parameters), "numbers of parameters differ"
    worst = ("", 0.0)
    for name, parameter in model.parameters.items():
        got = gradients[name + "/gradient"]
        assert not got[parameter.shape[0] :].any() if name == "embedding/tokens" else True, "padding has a gradient"
        error = relative_error(got[: parameter.shape[0]], parameter.grad.numpy())
        assert error <= args.tolerance, "gradient of %s differs by %g" % (name, error)
        worst = max(worst, (name, error), key=lambda pair: pair[1])
    return {"loss_relative_error": loss_error, "worst_gradient": worst[0], "worst_gradient_relative_error": worst[1]}


def torch_step(model, optimizer, tokens, targets):
    begin = time.perf_counter()
    optimizer.zero_grad(set_to_none=True)
    model.loss(tokens, targets).backward()
    optimizer.step()
    return time.perf_counter() - begin


def faster_torch(weights, tokens, targets):
    """PyTorch with and without a padded vocabulary: the faster of the two is the peer."""
    best = None
    for padded in (False, True):
        model = make_model(weights, padded)
        optimizer = model.optimizer(1e-4)
        seconds = statistics.median([torch_step(model, optimizer, tokens, targets) for _ in range(4)][1:])
        if best is None or seconds < best[0]:
            best = (seconds, padded, model, optimizer)
    return best[1:]


def main():
    torch.set_num_threads(args.threads)
    generator = numpy.random.default_rng(1)
    data = generator.integers(0, args.vocabulary, (2, args.batch, args.context), dtype=numpy.int32)
    with tempfile.TemporaryDirectory() as folder:
        tokens_path = os.path.join(folder, "tokens")
        data.tofile(tokens_path)
        tokens, targets = torch.from_numpy(data[0]), torch.from_numpy(data[1])
        ours = Tidemark(tokens_path)
        ours.ask("weights " + os.path.join(folder, "weights"))
        weights = safetensors_io.read(os.path.join(folder, "weights"))
        report = {"shape": [args.batch, args.context], "threads": args.threads, "torch": torch.__version__,
                  "blas_core": os.environ.get("OPENBLAS_CORETYPE", "default")}
        report["equal"] = check_equal(ours, folder, weights, tokens, targets)
        padded, model, optimizer = faster_torch(weights, tokens, targets)
        del weights
        pairs = []
        for round_number in range(args.rounds + 2):
            mine = ours.ask("step")["seconds"]
            theirs = torch_step(model, optimizer, tokens, targets)
            if round_number >= 2:
                pairs.append((mine, theirs))
        report["memory"] = ours.ask("memory")
        report["memory_with_clipping"] = ours.ask("memory-clipping")
        ours.close()
    mine, theirs = zip(*pairs)
    report["torch_padded_vocabulary"] = padded
    report["tidemark_seconds"] = {"median": statistics.median(mine), "min": min(mine)}
    report["torch_seconds"] = {"median": statistics.median(theirs), "min": min(theirs)}
    report["ratio"] = {"median_of_pairs": statistics.median(t / m for m, t in pairs), "of_medians": statistics.median(theirs) / statistics.median(mine)}
    print(json.dumps(report, indent=1))


main()
