"""gridner serve"""

from __future__ import annotations

import os
import socket
from typing import Annotated

import typer

from gridner.cli.shared_options import LexiconOption, ModelsOption, limit_to_cores
from gridner.errors import UsageError, needs

TOKEN = "GRIDNER_TOKEN"  # noqa: S105
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


def serve(
    model: ModelsOption = None,
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 for all interfaces.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 chooses a free one.")] = 8000,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads (default and maximum: all cores).")] = None,
    lexicon: LexiconOption = None,
    max_body: Annotated[int, typer.Option(min=1000, help="Maximum bytes per request.")] = 4_000_000,
    max_texts: Annotated[int, typer.Option(min=1, help="Maximum texts per request.")] = 256,
    max_characters: Annotated[int, typer.Option(min=1, help="Maximum characters per text.")] = 200_000,
    max_seconds: Annotated[float, typer.Option(min=0.1, help="Maximum seconds per request.")] = 60.0,
    queue: Annotated[int, typer.Option(min=1, help="Maximum waiting requests; more get an error and can retry.")] = 256,
    origin: Annotated[
        list[str] | None,
        typer.Option("--origin", help="Origin that may call the service from a browser (CORS); repeatable."),
    ] = None,
    name: Annotated[
        list[str] | None,
        typer.Option("--name", help="Host name of the service, beside its address; repeatable."),
    ] = None,
    access_log: Annotated[
        bool, typer.Option("--access-log", help="Log the method, path, status and time of requests.")
    ] = False,
) -> None:
    """Serve a model over HTTP: a web page, and an API.

    If GRIDNER_TOKEN is set, requests need the header Authorization: Bearer TOKEN. Texts are never logged.

    Examples:
    ```
    gridner serve
    gridner serve --model model --port 9000
    gridner serve --model medical --model model
    GRIDNER_TOKEN=secret gridner serve --host 0.0.0.0 --name ner.example.org
    curl localhost:8000/v1/recognize --json '{"text": "pain in left arm and shoulder"}'
    ```

    """
    threads = limit_to_cores("--threads", threads)
    with needs("serve"):
        from gridner.service.server import run
    from gridner.inference.installed_models import find_models
    from gridner.inference.loading import load
    from gridner.inference.model_info import describe_model
    from gridner.service.app import Service
    from gridner.service.limits import Limits

    limits = Limits(body_bytes=max_body, texts=max_texts, characters=max_characters, seconds=max_seconds, queue=queue)
    token = os.environ.get(TOKEN)
    if token is not None and not token.strip():
        raise UsageError(f"{TOKEN} is empty, expected a token; set one or unset the variable")
    folders = find_models(model or None)
    listening = _listen(host, port)
    local = _is_loopback(listening)
    service = Service(
        recognizer=load(model or None, threads=threads, lexicon=lexicon),
        name=next(iter(folders)),
        about={name: describe_model(folder) for name, folder in folders.items()},
        limits=limits,
        token=token.strip() if token else None,
        hosts=frozenset([*LOOPBACK, host.lower(), *(one.lower() for one in name or ())]) if local or name else (),
        origins=origin or (),
        access_log=access_log,
    )
    at = f"[{host}]" if ":" in host else host
    started = f"gridner is at http://{at}:{listening.getsockname()[1]} and finds {', '.join(service.recognizer.types)}"
    typer.echo(f"{started}; Ctrl-C stops it", err=True)
    if not local and token is None:
        typer.echo(f"note: whoever reaches {host} can ask it; {TOKEN} in the environment sets a token", err=True)
    run(service, listening)


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.create_server((host, port), family=family, backlog=2048)
    except (OSError, OverflowError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(
            f"{host}:{port} cannot be listened on ({reason}), expected a free port of this machine"
        ) from None
    listening.setsockopt(
        socket.IPPROTO_TCP, socket.TCP_NODELAY, 1
    )  # else an answer waits 40 ms for the client's system
    return listening


def _is_loopback(listening: socket.socket) -> bool:
    address = str(listening.getsockname()[0])
    return address == "::1" or address.startswith("127.")
