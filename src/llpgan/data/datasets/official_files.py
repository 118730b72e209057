"""Where the official files are, and their checksums."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Source:
    """A file to download: its address, and its checksum as ``algorithm:hexadecimal digits``."""

    url: str
    checksum: str

    @property
    def name(self) -> str:
        """The file's name, the end of its address."""
        return self.url.rsplit("/", 1)[-1]


def _sources(site: str, checksums: dict[str, str]) -> tuple[Source, ...]:
    return tuple(Source(site + name, checksum) for name, checksum in checksums.items())


SOURCES: dict[str, tuple[Source, ...]] = {
    "mnist": _sources(
        "https://ossci-datasets.s3.amazonaws.com/mnist/",
        {
            "train-images-idx3-ubyte.gz": "md5:f68b3c2dcbeaaa9fbdd348bbdeb94873",
            "train-labels-idx1-ubyte.gz": "md5:d53e105ee54ea40749a09fcbcd1e9432",
            "t10k-images-idx3-ubyte.gz": "md5:9fb629c4189551a2d022fa330f9573f3",
            "t10k-labels-idx1-ubyte.gz": "md5:ec29112dd5afa0611ce80d1b7f02629c",
        },
    ),
    "fashion-mnist": _sources(
        "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
        {
            "train-images-idx3-ubyte.gz": "md5:8d4fb7e6c68d591d4c3dfef9ec88bf0d",
            "train-labels-idx1-ubyte.gz": "md5:25c81989df183df01b3e8a0aad5dffbe",
            "t10k-images-idx3-ubyte.gz": "md5:bef4ecab320f06d8554ea6380940ec79",
            "t10k-labels-idx1-ubyte.gz": "md5:bb300cfdad3c16e7a12a480ee83cd310",
        },
    ),
    "cifar10": _sources(
        "https://www.cs.toronto.edu/~kriz/",
        {"cifar-10-python.tar.gz": "md5:c58f30108f718f92721af3b95e74349a"},
    ),
    "cifar100": _sources(
        "https://www.cs.toronto.edu/~kriz/",
        {"cifar-100-python.tar.gz": "md5:eb9058c3a382ffc7106e4002c42a8d85"},
    ),
    "svhn": _sources(
        "http://ufldl.stanford.edu/housenumbers/",
        {
            "train_32x32.mat": "md5:e26dedcc434d2e4c54c9b2d4a06d8373",
            "test_32x32.mat": "md5:eb5a983be6a315427106f1b164d9cef3",
        },
    ),
    "adult": _sources(
        "https://archive.ics.uci.edu/ml/machine-learning-databases/adult/",
        {
            "adult.data": "sha256:5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
            "adult.test": "sha256:a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
        },
    ),
}
