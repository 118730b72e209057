"""Networks without chance in them, so that a step can be recomputed by hand."""

from functools import partial

from llpgan.deep.networks import mlp_classifier

plain_mlp = partial(mlp_classifier, input_dropout=0, dropout=0)
