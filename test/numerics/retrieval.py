# Part of Hocket, under the Apache License v2.0.
"""Layers that attend to what was retrieved for the chunks of a text (Retro, arXiv
2112.04426, as Megatron-Core trains it), for the oracle: a loop over chunks, and plain
attention over whole matrices of scores."""

from types import SimpleNamespace

import torch
import torch.nn.functional as F
import two_stacks


def sizes(config):
    given = config.retrieval.get
    layers = given("layers")
    return SimpleNamespace(
        chunk=given("chunk_length", 64),
        neighbors=given("neighbors", 2),
        length=given("retrieved_length", 128),
        encoder_layers=given("encoder_layers", 2),
        layers=layers if isinstance(layers, list) else [layers],
    )


def add_shapes(config, layer, block, add_layer):
    """Those that layer number `layer` has besides: `block(name)` adds those of one more
    attention with its norm, and `add_layer(prefix)` those of a layer."""
    s = sizes(config)
    if layer not in s.layers:
        return
    block(f"layers.{layer}.cross_attention")
    if layer != s.layers[0]:
        return
    for j in range(s.encoder_layers):
        inside = f"layers.{layer}.cross_attention.encoder.layers.{j}."
        add_layer(inside, [inside + "cross_attention"] if j == 0 else [])


def embed(model, weights, neighbors):
    """Of tokens [texts, length], each of which begins at position 0."""
    c = model.config
    x = model.scaled(weights["embedding.weight"][neighbors], c.embedding_scale)
    if c.position == "LEARNED":
        x = x + weights["position_embedding.weight"][: neighbors.shape[1]]
    x = model.rounded(x)
    return model.norm(x, weights, "embedding_norm") if c.embedding_norm else x


class Retriever:
    """Of a call: what each of its layers adds to the stream between attention and
    MLP."""

    def __init__(self, model, weights, neighbors):
        self.model, self.weights, self.sizes = model, weights, sizes(model.config)
        self.neighbors, self.encoded = neighbors, None

    def norm(self, x, name):
        return self.model.norm(x, self.weights, name + "_norm")

    def attend(self, name, queries, keys):
        y = two_stacks.attend(self.model, self.weights, name + ".", queries, keys)
        return self.model.scaled(y, self.model.config.residual_scale)

    def encode(self, name, normed):
        """[sequences, chunks, rows of all neighbours, hidden]; `normed` is what the layer's
        norm has made of the stream."""
        s, model = self.sizes, self.model
        x = embed(model, self.weights, self.neighbors.reshape(-1, s.length))
        chunks = normed.unflatten(1, (-1, s.chunk)).flatten(0, 1)
        chunks = chunks.repeat_interleave(s.neighbors, 0)  # each neighbour's own
        for j in range(s.encoder_layers):
            layer = f"{name}.encoder.layers.{j}."
            y = self.norm(x, layer + "attention")
            x = model.rounded(x + self.attend(layer + "attention", y, y))
            if j == 0:
                y = self.norm(x, layer + "cross_attention")
                x = model.rounded(y + self.attend(layer + "cross_attention", y, chunks))
            y = model.dense(self.norm(x, layer + "mlp"), self.weights, layer + "mlp.")
            x = model.rounded(x + model.scaled(y, model.config.residual_scale))
        return x.reshape(len(normed), -1, s.neighbors * s.length, x.shape[-1])

    def __call__(self, x, layer):
        if layer not in self.sizes.layers:
            return x
        name, m = f"layers.{layer}.cross_attention", self.sizes.chunk
        y = self.norm(x, name)
        if self.encoded is None:
            self.encoded = self.encode(name, y)
        added = [torch.zeros_like(y[:, : m - 1])]
        for chunk in range(y.shape[1] // m):
            first = (chunk + 1) * m - 1
            queries = y[:, first : first + m]
            added.append(self.attend(name, queries, self.encoded[:, chunk]))
        return self.model.rounded(x + torch.cat(added, 1))


def loss(model, weights, batch):
    between = Retriever(model, weights, batch.neighbors)
    x = model.hidden_states(weights, batch.tokens[:, :-1], between=between)
    return F.cross_entropy(model.logits(x, weights), batch.tokens[:, 1:].flatten())
