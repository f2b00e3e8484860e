"""The service as an ASGI application: settings, middleware, and the endpoints of the modules beside this one."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from typing import Any, cast

from fastapi import FastAPI
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware

from gridner.inference.base_recognizer import BaseRecognizer
from gridner.inference.model_description import TypeAbout
from gridner.inference.recognizer import Recognizer
from gridner.inference.several_models import CombinedRecognizer
from gridner.service import brat, label_studio, operations, page, recognition, schema
from gridner.service.error_handlers import add_error_handlers
from gridner.service.limits import Limits
from gridner.service.middleware import Guard, Monitor
from gridner.service.openapi import describe
from gridner.service.runtime import Runtime

TOOL_PATHS = (brat.PATH, *label_studio.PATHS)  # of annotation tools, which show only the status of an error
OPEN_PATHS = ("/", *operations.HEALTH_PATHS, *(f"/page/{name}" for name in page.ASSETS))  # without a token
PATHS = ("/", recognition.PATH, *operations.PATHS, *page.POST_PATHS, *TOOL_PATHS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """The models and the settings of a service."""

    recognizer: BaseRecognizer
    name: str = "model"  # of the model, if there is one
    about: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # from `describe_model`, by name of the model
    limits: Limits = field(default_factory=Limits)
    token: str | None = None
    hosts: Collection[str] = ()  # host names that it answers to; any if empty
    origins: Sequence[str] = ()  # of other pages that may send requests
    access_log: bool = False

    @property
    def version(self) -> str:
        """Names of models with a part of their fingerprints: other weights or settings have another version."""
        prints = {name: self.about.get(name, {}).get("fingerprint", "")[:8] for name in self.models}
        return "+".join("-".join(filter(None, item)) for item in prints.items())

    @property
    def models(self) -> Mapping[str, Recognizer]:
        """The recognizer of each model by name."""
        if isinstance(self.recognizer, CombinedRecognizer):
            return self.recognizer.models
        return {self.name: cast(Recognizer, self.recognizer)}


def create_app(service: Service) -> FastAPI:
    """Return the application, for any ASGI server."""
    runtime = Runtime(service.recognizer, service.models, service.limits)
    app = FastAPI(
        title="gridner",
        summary="Discontinuous named-entity recognition",
        version=version("gridner"),
        docs_url=None,  # FastAPI's page loads scripts from other servers
        redoc_url=None,
        lifespan=runtime.running,
        middleware=_middleware(service, runtime),
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
    )
    add_error_handlers(app)
    recognition.add_recognition(app, runtime)
    operations.add_operations(app, runtime, [_model(service, name) for name in service.models])
    page.add_page(app, runtime)
    brat.add_brat(app, runtime)
    label_studio.add_label_studio(app, runtime, service.version)
    describe(
        app,
        service.recognizer.types,
        list(service.models),
        service.limits,
        needs_token=service.token is not None,
        open_paths=operations.HEALTH_PATHS,
    )
    return app


def _middleware(service: Service, runtime: Runtime) -> list[Middleware]:
    """Return what every request passes, from the outside in."""
    monitor = Middleware(
        Monitor,
        metrics=runtime.metrics,
        paths=PATHS,
        explain=TOOL_PATHS,
        access=service.access_log,
        private=not service.origins,
    )
    cors = Middleware(
        CORSMiddleware,
        allow_origins=service.origins,
        allow_headers=["Authorization"],
        allow_methods=["GET", "POST"],
    )
    guard = Middleware(
        Guard,
        limits=service.limits,
        check=runtime.queue.check,
        token=service.token,
        hosts=service.hosts,
        open_paths=OPEN_PATHS,
        health_paths=operations.HEALTH_PATHS,
        json_paths=(recognition.PATH, *page.POST_PATHS, *label_studio.POST_PATHS),
        token_in_query=(brat.PATH,),
    )
    return [monitor, cors, guard] if service.origins else [monitor, guard]


def _model(service: Service, name: str) -> schema.Model:
    """Return what `GET /v1/models` says of a model."""
    recognizer, about = service.models[name], service.about.get(name, {})
    return schema.Model(
        name=name,
        description=about.get("description", ""),
        language=about.get("language", ""),
        license=about.get("license", ""),
        engine=about.get("engine", "unknown"),
        types=about.get("types") or [asdict(TypeAbout(type)) for type in recognizer.types],
        names=len(recognizer.lexicon),
        threshold=recognizer.threshold,
        written_by=about.get("written by", f"gridner {version('gridner')}"),
        dev_f1=about.get("dev F1", {}),
        settings={key: about[key] for key in ("model", "decoding") if key in about},
    )
