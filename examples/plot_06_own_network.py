"""
A network of your own
=====================

Any torch module that returns logits and features can be the classifier of a deep method.
"""

# %%
# Handwritten digits as images of 8 x 8, in bags of 8 of which only the shares are known.
from llpgan import Bags, DLLP
from llpgan.data.bagging import random_bags
from llpgan.data.datasets import load_digits

digits = load_digits()
images = digits.instances.reshape(-1, 1, 8, 8)
bag_of_image = random_bags(len(images), bag_size=8, seed=0)
bags = Bags.from_labels(images, digits.labels, bag_of_image)

# %%
# A small network in two parts: a body that computes features, and a head that computes one logit per class.
# ``settle`` scales its first weights on some instances, so that features differ between images from the start.
import torch
from torch import nn

from llpgan.deep.networks import Classifier, settle_weights

torch.manual_seed(0)
body = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(16, 32, 3, padding=1),
    nn.ReLU(),
    nn.Flatten(),
)
network = Classifier(body, nn.Linear(32 * 4 * 4, 10))
settle_weights(network, torch.from_numpy(images[:256]))

# %%
model = DLLP(
    classifier=network, epochs=12, learning_rate=0.01, random_state=0
).fit_bags(bags)
test = digits.test_instances.reshape(-1, 1, 8, 8)
print(f"test accuracy {model.score(test, digits.test_labels):.3f}, from shares alone")

# %%
# ``history_`` has one row per epoch.
from llpgan.report import LearningCurveDisplay

display = LearningCurveDisplay.from_history(model)
