"""Suggestions inside the real brat and the real Label Studio, driven in Chromium: suggest, correct, export, learn.

Each tool is started on 127.0.0.1 in a temporary folder, connected to `gridner serve` with a token, and stopped again. A
tool that is not given is skipped, which is printed. Screenshots and the learned models stay in --output.

    gridner train tiny --train examples --dev examples --output model
    git clone https://github.com/nlplab/brat                                        # needs Python 3.10 or older
    python3 -m venv studio && studio/bin/pip install label-studio
    python benchmarks/annotation_tools.py --model model --output out --brat brat --brat-python python3.10 \
        --label-studio studio/bin/label-studio
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from playwright.sync_api import BrowserContext, Page, sync_playwright

from gridner import read
from gridner.inference.loading import load

CHROMIUM = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]
TOKEN = "hush"
PATIENCE = 300  # seconds, on a machine that does other things as well
MAIL, PASSWORD = "annotator@example.com", "annotator-1"
GRIDNER = [sys.executable, "-m", "gridner"]


def free_port() -> int:
    """Return a port that nobody uses."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


@contextmanager
def running(command: list[str], url: str, log: Path, **options: Any) -> Iterator[None]:
    """Run a server until the end of the block; wait until it answers."""
    with open(log, "wb") as file:
        process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, **options)
    try:
        until(lambda: _answers(url, process, log), f"{url} to answer")
        yield
    finally:
        process.terminate()
        process.wait()


def _answers(url: str, process: subprocess.Popen[bytes], log: Path) -> bool:
    if process.poll() is not None:
        sys.exit(f"{process.args!r} ended:\n{log.read_text(errors='replace')[-2000:]}")
    try:
        urllib.request.urlopen(url, timeout=5).close()
    except OSError:
        return False
    return True


def until(done: Callable[[], bool], what: str) -> None:
    """Wait for something."""
    end = time.monotonic() + PATIENCE
    while not done():
        if time.monotonic() > end:
            sys.exit(f"waited {PATIENCE} seconds for {what}")
        time.sleep(0.5)


def learn(export: Path, model: Path, output: Path) -> None:
    """Let a model learn from an export."""
    command = ["learn", "--from", str(export), "--model", str(model), "--output", str(output)]
    done = subprocess.run([*GRIDNER, *command, "--set", "train.epochs=2"], capture_output=True, text=True, check=False)
    print(done.stdout, done.stderr[-600:], sep="\n")
    if done.returncode:
        sys.exit(f"gridner learn ended with {done.returncode}")


# brat


def set_up_brat(source: Path, folder: Path, model: Path, texts: Path, service: str) -> None:
    """Copy brat, and give it the documents that are worth annotating and the line for tools.conf."""
    shutil.copytree(source, folder, ignore=shutil.ignore_patterns(".git", "external", "example-data", "data", "work"))
    (folder / "work").mkdir()
    template = (folder / "config_template.py").read_text(encoding="utf-8")
    for name, value in (("BASE_DIR", folder), ("DATA_DIR", folder / "data"), ("WORK_DIR", folder / "work")):
        template = template.replace(f"{name} = CHANGE_ME", f"{name} = {str(value)!r}")
    template = template.replace("ADMIN_CONTACT_EMAIL = CHANGE_ME", f"ADMIN_CONTACT_EMAIL = {MAIL!r}")
    template = template.replace("USER_PASSWORD = {", f"USER_PASSWORD = {{'editor': {PASSWORD!r},")
    (folder / "config.py").write_text(template, encoding="utf-8")
    server = folder / "standalone.py"
    own = server.read_text(encoding="utf-8").replace("_DEFAULT_SERVER_ADDR = ''", "_DEFAULT_SERVER_ADDR = '127.0.0.1'")
    server.write_text(own, encoding="utf-8")
    chosen = folder / "data" / "round-1"
    command = ["next", str(texts), "--model", str(model), "-n", "4", "--output", str(chosen)]
    subprocess.run([*GRIDNER, *command], check=True)
    for ann in chosen.glob("*.ann"):
        ann.write_text("")  # here the suggestions come from the service
    line = f"gridner  tool:gridner, model:{model.name}, <URL>:{service}/brat?token={TOKEN}"
    (chosen / "tools.conf").write_text(
        f"[options]\n[search]\n[annotators]\n{line}\n[disambiguators]\n[normalization]\n"
    )


def use_brat(page: Page, address: str, folder: Path, pictures: Path) -> None:
    """Log in, and for each document ask for suggestions and delete one of them."""
    page.set_default_timeout(1000 * PATIENCE)
    page.on("dialog", lambda dialog: dialog.accept())
    documents = sorted(path.stem for path in folder.glob("*.txt"))
    page.goto(f"{address}/index.xhtml#/round-1/{documents[0]}")
    page.wait_for_function("document.querySelectorAll('#svg text').length > 3")
    press(page, "#auth_button")
    page.locator("#auth_user").fill("editor")
    page.locator("#auth_pass").fill(PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_function("document.querySelector('#auth_button').value.startsWith('Logout')")
    for name in documents:
        ann = folder / f"{name}.ann"
        page.goto("about:blank")
        page.goto(f"{address}/index.xhtml#/round-1/{name}")
        page.wait_for_function("document.querySelectorAll('#svg text').length > 3")
        press(page, "#data_button")
        press(page, "#tag_gridner_button")
        until(partial(has_entities, ann), f"suggestions in {name}")
        close = page.locator(".ui-dialog:visible button:has-text('Cancel'), .ui-dialog:visible button:has-text('OK')")
        if close.count():
            close.first.click()
        span = page.locator("#svg rect[data-span-id]").first
        span.wait_for()
        page.wait_for_timeout(1500)  # its messages fade
        page.screenshot(path=pictures / f"brat-{name}.png")
        suggested = entities_in(ann)
        span.dispatch_event("dblclick")
        page.locator("#span_form_delete").wait_for()
        page.locator("#span_form_delete").click()
        until(partial(has_entities, ann, suggested - 1), f"a deletion in {name}")
        print(f"brat: {name}: {suggested} suggestions, one deleted")


def entities_in(ann: Path) -> int:
    """Return how many entities an .ann file has."""
    return len(re.findall(r"^T\d+\t", ann.read_text(encoding="utf-8"), re.MULTILINE))


def has_entities(ann: Path, count: int | None = None) -> bool:
    """Return whether an .ann file has so many entities, or any."""
    return entities_in(ann) == count if count is not None else entities_in(ann) > 0


def press(page: Page, selector: str) -> None:
    """Click on a button, wherever brat has put it."""
    page.locator(selector).wait_for(state="attached")
    page.locator(selector).evaluate("button => button.click()")


# Label Studio


def api(context: BrowserContext, method: str, url: str, data: Any = None) -> Any:
    """Call Label Studio's API as the user who is logged in."""
    cookies = {cookie["name"]: cookie["value"] for cookie in context.cookies()}
    headers = {"X-CSRFToken": cookies.get("csrftoken", ""), "Referer": url}
    done = context.request.fetch(url, method=method, data=data, headers=headers, timeout=1000 * PATIENCE)
    if not done.ok:
        sys.exit(f"Label Studio: {method} {url}: {done.status} {done.text()[:500]}")
    return done.json() if done.body() else None


def use_label_studio(
    page: Page, address: str, texts: Path, types: tuple[str, ...], service: str, pictures: Path
) -> Path:
    """Set a project up, connect the backend, delete a suggestion in each task, submit; return the export."""
    page.set_default_timeout(1000 * PATIENCE)
    page.goto(f"{address}/user/login/")
    page.locator("input[name=email]").fill(MAIL)
    page.locator("input[name=password]").fill(PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_url(lambda url: "/user/login" not in url)
    context = page.context
    labels = "".join(f'<Label value="{type}"/>' for type in types)
    config = f'<View><Labels name="label" toName="text">{labels}</Labels><Text name="text" value="$text"/>'
    config += '<Relations><Relation value="fragment"/></Relations></View>'
    project = api(context, "POST", f"{address}/api/projects", {"title": "Notes", "label_config": config})["id"]
    backend = {"url": service, "project": project, "title": "gridner", "auth_method": "BASIC_AUTH"}
    backend |= {"basic_auth_user": "gridner", "basic_auth_pass": TOKEN}
    connected = api(context, "POST", f"{address}/api/ml", backend)
    print(f"Label Studio: backend {connected['readable_state'] or connected['state']}, {connected['model_version']!r}")
    settings = {"evaluate_predictions_automatically": True, "show_collab_predictions": True, "model_version": "gridner"}
    api(context, "PATCH", f"{address}/api/projects/{project}", settings)
    tasks = [
        {"text": path.read_bytes().decode()} for path in sorted(texts.glob("*.txt")) if "no-entities" not in path.name
    ]
    api(context, "POST", f"{address}/api/projects/{project}/import", tasks)
    found = api(context, "GET", f"{address}/api/tasks?project={project}&fields=all")["tasks"]
    for task in found:
        page.goto(f"{address}/projects/{project}/data?task={task['id']}")
        regions = page.locator(".lsf-outliner-item")
        regions.first.wait_for()
        page.wait_for_timeout(2000)  # arrows are drawn late
        page.screenshot(path=pictures / f"label-studio-{task['id']}.png")
        regions.first.click()
        page.keyboard.press("Backspace")
        with page.expect_response(lambda done: "/annotations" in done.url and done.request.method == "POST"):
            page.get_by_label("Submit current annotation").click()
    exported = api(context, "GET", f"{address}/api/projects/{project}/export?exportType=JSON&download_all_tasks=true")
    for task, before in zip(sorted(exported, key=lambda one: one["id"]), found, strict=True):
        (annotation,) = task["annotations"]
        kinds = [one["type"] for one in annotation["result"]]
        suggested = [one["type"] for one in before["predictions"][0]["result"]]
        print(f"Label Studio: task {task['id']}: {counted(suggested)} suggested, {counted(kinds)} submitted")
    api(context, "POST", f"{address}/api/ml/{connected['id']}/train", {})
    (backend,) = api(context, "GET", f"{address}/api/ml?project={project}")
    print(f"Label Studio: after Start Training: {backend['readable_state']}, {backend['error_message']}")
    (pictures / "export.json").write_text(json.dumps(exported), encoding="utf-8")
    return pictures / "export.json"


def counted(kinds: list[str]) -> str:
    """Return how many regions and relations there are."""
    return f"{kinds.count('labels')} regions and {kinds.count('relation')} relations"


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="model folder that gridner train wrote")
    parser.add_argument("--texts", type=Path, default=Path("examples"), help="corpus to annotate")
    parser.add_argument("--output", type=Path, required=True, help="new folder for screenshots and models")
    parser.add_argument("--brat", type=Path, help="brat's repository")
    parser.add_argument("--brat-python", default="python3.10", help="Python 3.10 or older, which brat needs")
    parser.add_argument("--label-studio", help="the command label-studio")
    asked = parser.parse_args()
    asked.output.mkdir(parents=True)
    model = asked.model.absolute()
    service = f"http://127.0.0.1:{free_port()}"
    serve = [*GRIDNER, "serve", "--model", str(model), "--port", service.rpartition(":")[2], "--threads", "1"]
    with tempfile.TemporaryDirectory() as temporary, sync_playwright() as playwright:
        work = Path(temporary)
        plain = work / "texts"
        plain.mkdir()
        for document in read(asked.texts):
            (plain / f"{document.id}.txt").write_text(document.text, encoding="utf-8", newline="")
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=CHROMIUM)
        with running(serve, f"{service}/healthz", work / "serve.log", env={**os.environ, "GRIDNER_TOKEN": TOKEN}):
            if asked.brat is None:
                print("brat: skipped, --brat names its repository")
            else:
                folder = work / "brat"
                set_up_brat(asked.brat, folder, model, plain, service)
                address = f"http://127.0.0.1:{free_port()}"
                command = [asked.brat_python, "-W", "ignore", "standalone.py", address.rpartition(":")[2]]
                with running(command, f"{address}/index.xhtml", work / "brat.log", cwd=folder):
                    page = browser.new_page(viewport={"width": 1200, "height": 700})
                    use_brat(page, address, folder / "data" / "round-1", asked.output)
                    page.close()
                learn(folder / "data" / "round-1", model, asked.output / "learned-from-brat")
            if asked.label_studio is None:
                print("Label Studio: skipped, --label-studio names its command")
            else:
                address = f"http://127.0.0.1:{free_port()}"
                data = work / "studio"
                command = [asked.label_studio, "start", "--no-browser", "--internal-host", "127.0.0.1"]
                command += ["--port", address.rpartition(":")[2], "--data-dir", str(data)]
                command += ["--username", MAIL, "--password", PASSWORD]
                quiet = {
                    **os.environ,
                    "ML_BLOCK_LOCAL_IP": "false",
                    "SSRF_PROTECTION_ENABLED": "false",
                    "COLLECT_ANALYTICS": "false",
                    "SENTRY_DSN": "",
                    "FRONTEND_SENTRY_DSN": "",
                }
                quiet["LABEL_STUDIO_BASE_DATA_DIR"] = str(data)
                with running(command, f"{address}/health", work / "studio.log", env=quiet):
                    page = browser.new_page(viewport={"width": 1400, "height": 800})
                    types = load(model).scheme.types
                    export = use_label_studio(page, address, plain, types, service, asked.output)
                learn(export, model, asked.output / "learned-from-label-studio")
        browser.close()
        print((work / "serve.log").read_text())
    print(json.dumps(sorted(path.name for path in asked.output.iterdir())))


if __name__ == "__main__":
    main()
