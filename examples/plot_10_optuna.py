"""
Settings by Optuna, without labels
==================================

Optuna proposes settings, and held-out bags tell how good they are. Trials that start badly are stopped early. This
example needs ``pip install optuna``.
"""

# %%
# Digits of scikit-learn in bags of 32; a fifth of the bags is held out to judge settings by.
import optuna

from llpgan import Bags, DLLP
from llpgan.data.bagging import random_bags
from llpgan.data.datasets import load_digits
from llpgan.evaluation import bag_scores
from llpgan.evaluation.splitters import bag_folds

digits = load_digits()
bags = Bags.from_labels(
    digits.instances,
    digits.labels,
    random_bags(len(digits.labels), bag_size=32, seed=0),
)
train, held_out = next(bag_folds(bags, cv=5))

# %%
# A trial proposes settings, reports the cross-entropy of held-out bags after each epoch, and stops if it is
# worse than most trials were at that epoch.


def objective(trial):
    """The cross-entropy of held-out bags; the lower, the better."""
    settings = {
        "learning_rate": trial.suggest_float("learning_rate", 1e-4, 3e-2, log=True),
        "weight_decay": trial.suggest_float("weight_decay", 1e-3, 1.0, log=True),
    }
    errors = []

    def report(model):
        errors.append(
            bag_scores(held_out, model.predict_proba(held_out)).mean_cross_entropy.value
        )
        trial.report(errors[-1], step=len(errors))
        if trial.should_prune():
            raise optuna.TrialPruned
        return {}

    DLLP(epochs=6, random_state=0, **settings).fit_bags(train, monitor=report)
    return errors[-1]


optuna.logging.set_verbosity(optuna.logging.WARNING)
study = optuna.create_study(
    sampler=optuna.samplers.TPESampler(seed=0),
    pruner=optuna.pruners.MedianPruner(n_startup_trials=3, n_warmup_steps=1),
)
study.optimize(objective, n_trials=10)
study.best_params

# %%
# Train on all bags with the best settings. Only now do labels come in, to see how good the model is.
model = DLLP(epochs=6, random_state=0, **study.best_params).fit_bags(bags)
print(f"test accuracy {model.score(digits.test_instances, digits.test_labels):.3f}")

# %%
# Each line is a trial. Those that end early were stopped.
import matplotlib.pyplot as plt

figure, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
for trial in study.trials:
    values = trial.intermediate_values
    stopped = trial.state == optuna.trial.TrialState.PRUNED
    ax.plot(
        list(values),
        list(values.values()),
        "o:" if stopped else "o-",
        label=f"trial {trial.number}",
    )
ax.set(xlabel="epoch", ylabel="cross-entropy of held-out bags")
