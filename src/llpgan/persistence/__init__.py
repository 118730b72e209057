"""Saving and loading of trained models; loading never runs code from a file.

>>> import tempfile
>>> from llpgan import MeanMap, load, save
>>> model = MeanMap().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1], groups=[0, 1, 2, 3])
>>> with tempfile.TemporaryDirectory() as folder:
...     save(model, f"{folder}/model")
...     loaded = load(f"{folder}/model")
>>> loaded.predict([[0.5], [2.5]])
array([0, 1])
"""

from llpgan.persistence.model import load, save

__all__ = ["load", "save"]
