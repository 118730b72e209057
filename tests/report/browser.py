"""A headless Chromium that tests steer over two pipes, by its DevTools protocol, without another package."""

import fcntl
import json
import os
import shutil
import subprocess
from contextlib import contextmanager

import pytest

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--allow-file-access-from-files"),
    *("--host-resolver-rules=MAP * ~NOTFOUND", "--remote-debugging-pipe", "about:blank"),
)
KEYS = {"Tab": 9, "Enter": 13, "Escape": 27, "Space": 32}


class Browser:
    """One page of a browser: what it shows, says on its console, and asks for."""

    def __init__(self, to_browser, from_browser):
        self._to, self._from, self._number, self._session = to_browser, from_browser, 0, None
        self.events = []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def ask(self, method, **parameters):
        """Send a command, and wait for its answer; what happens meanwhile is kept in ``events``."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        message |= {} if self._session is None else {"sessionId": self._session}
        self._to.write(json.dumps(message).encode() + b"\0")
        self._to.flush()
        while (answer := self._next()).get("id") != self._number:
            self.events.append(answer)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def _next(self):
        received = bytearray()
        while (byte := self._from.read(1)) != b"\0":
            if not byte:
                raise RuntimeError("the browser has ended")
            received += byte
        return json.loads(received)

    def open(self, path, *, width=1000, scheme="light", scripts=True):
        """Load a page, as wide as told."""
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=False)
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.ask("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.events.clear()
        self.ask("Page.navigate", url=path.as_uri())
        self.wait_for("Page.loadEventFired")

    def wait_for(self, method, **parameters):
        """Wait for an event."""
        while not any(
            event.get("method") == method and parameters.items() <= event["params"].items()
            for event in self.events
        ):
            self.events.append(self._next())

    def run(self, code):
        """The value of a script, or of its promise; it also runs where the page's own scripts may not."""
        done = self.ask("Runtime.evaluate", expression=code, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in done:
            raise RuntimeError(done["exceptionDetails"]["exception"].get("description", code))
        return done["result"].get("value")

    def press(self, *keys):
        """Press keys one after another, as a person would; any other text is typed."""
        for key in keys:
            if key not in KEYS:
                self.ask("Input.insertText", text=key)
                continue
            named = {"key": " " if key == "Space" else key, "code": key, "windowsVirtualKeyCode": KEYS[key]}
            text = {"Enter": {"text": "\r"}, "Space": {"text": " "}}.get(key, {})
            self.ask("Input.dispatchKeyEvent", type="keyDown", **named, **text)
            self.ask("Input.dispatchKeyEvent", type="keyUp", **named)

    @property
    def said(self):
        """What was said on the console, and errors of scripts."""
        kinds = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
        return [event for event in self.events if event.get("method") in kinds]

    @property
    def asked_for(self):
        """All addresses that the page asked for, but for its own and those that hold their content themselves."""
        sent = [each["params"] for each in self.events if each.get("method") == "Network.requestWillBeSent"]
        urls = [each["request"]["url"] for each in sent if each.get("type") != "Document"]
        return [url for url in urls if not url.startswith(("data:", "blob:"))]


@contextmanager
def chromium(folder):
    """A browser with a profile in a folder; the test is skipped, in words, where there is none."""
    binary = shutil.which("chromium")
    if binary is None:
        pytest.skip("there is no chromium on this machine")
    commands, to_browser = os.pipe()
    from_browser, answers = os.pipe()

    def hand_over():
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 50) for end in (commands, answers)]  # neither is 3 or 4
        for number, end in enumerate(ends, start=3):
            os.dup2(end, number)

    command = [binary, *FLAGS[:-1], f"--user-data-dir={folder}", FLAGS[-1]]
    kept = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "close_fds": False}
    process = subprocess.Popen(command, preexec_fn=hand_over, **kept)
    os.close(commands)
    os.close(answers)
    try:
        with os.fdopen(to_browser, "wb") as sink, os.fdopen(from_browser, "rb") as source:
            yield Browser(sink, source)
    finally:
        process.terminate()
        process.wait(timeout=30)
