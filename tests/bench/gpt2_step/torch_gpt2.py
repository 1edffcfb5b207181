"""GPT-2 in PyTorch, the same graph that Tidemark builds: pre-normalisation, tanh GELU, tied head, no dropout."""
import math

import numpy
import torch
import torch.nn.functional as F


class Gpt2:
    """`weights`: Tidemark's tensors by name (numpy, f32). Parameters are leaves in the same order and of the same shapes."""

    def __init__(self, weights, layers, heads, classes):
        self.parameters = {name: torch.tensor(value, requires_grad=True) for name, value in weights.items()}
        self.layers = layers
        self.heads = heads
        self.classes = classes

    def _linear(self, x, name, transposed=True):
        weight = self.parameters[name + "/weight"]
        return F.linear(x, weight if transposed else weight.t(), self.parameters[name + "/bias"])

    def _norm(self, x, name):
        scale = self.parameters[name + "/weight"]
        return F.layer_norm(x, scale.shape, scale, self.parameters[name + "/bias"], 1e-5)

    def _attention(self, x):
        batch, length, _ = x.shape
        q, k, v = x.chunk(3, dim=-1)
        width = q.shape[-1]
        q, k, v = (t.view(batch, length, self.heads, -1).transpose(1, 2) for t in (q, k, v))
        scores = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(width // self.heads))
        mask = torch.ones(length, length, dtype=torch.bool).triu(1)
        out = scores.masked_fill(mask, float("-inf")).softmax(-1) @ v
        return out.transpose(1, 2).reshape(batch, length, width)

    def loss(self, tokens, targets):
        p = self.parameters
        x = F.embedding(tokens, p["embedding/tokens"]) + p["embedding/positions"][: tokens.shape[1]]
        for i in range(self.layers):
            block = "layer%d/" % i
            h = self._norm(x, block + "attention/norm")
            h = self._attention(self._linear(h, block + "attention/qkv"))
            x = x + self._linear(h, block + "attention/out")
            h = self._norm(x, block + "mlp/norm")
            h = F.gelu(self._linear(h, block + "mlp/up"), approximate="tanh")
            x = x + self._linear(h, block + "mlp/down", transposed=False)
        x = self._norm(x, "final_norm")
        # The rows beyond the vocabulary are padding: they take part in the product, never in the softmax.
        logits = F.linear(x, p["embedding/tokens"])[..., : self.classes]
        return F.cross_entropy(logits.reshape(-1, self.classes), targets.reshape(-1).long())

    def optimizer(self, lr):
        return torch.optim.AdamW(list(self.parameters.values()), lr=lr, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.0)
