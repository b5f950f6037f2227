# SPDX-License-Identifier: MIT
"""A small client of the WebDriver protocol: headless Chromium through Debian's chromedriver, without other packages."""
import base64
import json
import os
import re
import shutil
import subprocess
import tempfile
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
ARGUMENTS = ["--headless=new", "--disable-gpu", "--no-first-run", "--disable-component-update", "--disable-background-networking",
             "--hide-scrollbars", "--force-device-scale-factor=1"]


class Browser:
    """A browser with one window. Elements are named by CSS selectors."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="bloomfile-web-")
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        port = next(match[1] for line in self.driver.stdout if (match := re.search(r"on port (\d+)\.", line)))
        self.url = f"http://127.0.0.1:{port}"
        arguments = [*ARGUMENTS, f"--user-data-dir={self.folder}"] + (["--no-sandbox"] if os.getuid() == 0 else [])
        options = {"browserName": "chrome", "goog:chromeOptions": {"args": arguments}, "timeouts": {"script": 240000}, "goog:loggingPrefs": {"browser": "ALL"}}
        answer = self.call("POST", "/session", {"capabilities": {"alwaysMatch": options}})
        self.session = f"/session/{answer['sessionId']}"

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=300) as response:
                return json.load(response)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(json.load(error)["value"]["message"]) from None

    def post(self, path, **body):
        return self.call("POST", self.session + path, body)

    def open(self, url):
        self.post("/url", url=url)

    def run(self, script, *arguments):
        """Runs a function body; it may await. Returns its result."""
        return self.post("/execute/async", args=list(arguments), script=f"""
            const done = arguments[arguments.length - 1];
            (async (...args) => {{ {script} }})(...arguments).then((value) => done([value]), (error) => done(String(error)));
        """)

    def value(self, script, *arguments):
        result = self.run(script, *arguments)
        if not isinstance(result, list):
            raise AssertionError(result)
        return result[0]

    def find(self, selector):
        return "/element/" + self.post("/element", using="css selector", value=selector)[ELEMENT]

    def click(self, selector):
        self.post(self.find(selector) + "/click")

    def type(self, selector, text):
        """Presses keys as a user does."""
        self.post(self.find(selector) + "/value", text=text)

    def clear(self, selector):
        self.post(self.find(selector) + "/clear")

    def text(self, selector):
        return self.call("GET", self.session + self.find(selector) + "/text")

    def press(self, *keys):
        """Presses and releases keys in the element that has the focus."""
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self.post("/actions", actions=[{"type": "key", "id": "keyboard", "actions": actions}])

    def devtools(self, command, **parameters):
        return self.post("/goog/cdp/execute", cmd=command, params=parameters)

    def log(self):
        """What the browser wrote to its console since the last call."""
        return self.post("/se/log", type="browser")

    def resize(self, width, height):
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500)

    def colour_scheme(self, name):
        self.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def screenshot(self, path):
        image = self.devtools("Page.captureScreenshot", captureBeyondViewport=True)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(image))

    def close(self):
        try:
            self.call("DELETE", self.session)
        finally:
            self.driver.terminate()
            self.driver.wait()
            self.driver.stdout.close()
            shutil.rmtree(self.folder, ignore_errors=True)
