"""Terms on single instances that a deep method adds to the loss of bags, one file per term.

They combine with any loss of bags, with each other, and with LLP-GAN's game:
``LLPGAN(instance_terms="smoothness")``.
"""

from llpgan.training.instance_terms.entropy_term import Entropy
from llpgan.training.instance_terms.instance_term import InstanceTerm
from llpgan.training.instance_terms.named_terms import INSTANCE_TERMS
from llpgan.training.instance_terms.self_training_term import SelfTraining
from llpgan.training.instance_terms.smoothness_term import Smoothness

__all__ = ["INSTANCE_TERMS", "Entropy", "InstanceTerm", "SelfTraining", "Smoothness"]
