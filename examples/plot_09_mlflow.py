"""
Tracking runs with MLflow
=========================

MLflow keeps parameters, metrics by epoch and files of each run. A monitor that ``fit_bags`` calls after each
epoch is all that is needed. This example needs ``pip install mlflow-skinny sqlalchemy alembic``.
"""

# %%
# Keep the runs in a local database.
import tempfile
from pathlib import Path

import mlflow

folder = Path(tempfile.mkdtemp())
mlflow.set_tracking_uri(f"sqlite:///{folder / 'runs.db'}")
experiment = mlflow.create_experiment(
    "digits", artifact_location=(folder / "files").as_uri()
)

# %%
# Digits of scikit-learn in bags of 16; a fifth of the bags is held out.
from llpgan import Bags, DLLP, save
from llpgan.data.bagging import random_bags
from llpgan.data.datasets import load_digits
from llpgan.evaluation import bag_scores
from llpgan.evaluation.splitters import bag_folds

digits = load_digits()
bags = Bags.from_labels(
    digits.instances,
    digits.labels,
    random_bags(len(digits.labels), bag_size=16, seed=0),
)
train, held_out = next(bag_folds(bags, cv=5))

# %%
# The monitor is called after each epoch with the model as it is then. What it returns also goes into ``history_``.


def log_epoch(model):
    """Send the error of held-out bags to MLflow."""
    error = bag_scores(
        held_out, model.predict_proba(held_out)
    ).mean_total_variation.value
    mlflow.log_metric("held_out_bag_error", error, step=len(mlflow_steps))
    mlflow_steps.append(error)
    return {"held_out_bag_error": error}


for learning_rate in (0.001, 0.003, 0.01):
    mlflow_steps = []
    with mlflow.start_run(experiment_id=experiment, run_name=f"rate {learning_rate}"):
        model = DLLP(epochs=5, learning_rate=learning_rate, random_state=0)
        mlflow.log_params(
            {name: repr(value) for name, value in model.get_params().items()}
        )
        model.fit_bags(train, monitor=log_epoch)
        save(model, folder / "model", overwrite=True)
        mlflow.log_artifacts(folder / "model", "model")

# %%
# Find the best run, and load its model from the files that MLflow kept.
from llpgan import load

runs = mlflow.tracking.MlflowClient().search_runs(
    [experiment], order_by=["metrics.held_out_bag_error"]
)
for run in runs:
    print(run.info.run_name, round(run.data.metrics["held_out_bag_error"], 4))
best = load(
    mlflow.artifacts.download_artifacts(
        run_id=runs[0].info.run_id, artifact_path="model"
    )
)
print(f"test accuracy {best.score(digits.test_instances, digits.test_labels):.3f}")

# %%
# The curves of all runs, as MLflow has them.
import matplotlib.pyplot as plt

figure, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
for run in runs:
    history = mlflow.tracking.MlflowClient().get_metric_history(
        run.info.run_id, "held_out_bag_error"
    )
    ax.plot(
        [each.step + 1 for each in history],
        [each.value for each in history],
        "o-",
        label=run.info.run_name,
    )
ax.set(xlabel="epoch", ylabel="error of held-out bags", xticks=range(1, 6))
ax.legend()
