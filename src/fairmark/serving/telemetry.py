"""Traces of requests and runs, and an event for every grade, for an OTLP endpoint: where one is set in the environment
and the packages of `fairmark[otel]` are installed. Nothing is sent anywhere otherwise.

What is sent are names and numbers: no text of a row, an answer or a judge leaves this way. It is sent by threads of the
packages, in batches, and dropped where nobody takes it; no request waits for it.
"""

import contextlib
import importlib
import logging
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from fairmark.result import Result

ENDPOINTS = (
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT",
)
EVENT = "gen_ai.evaluation.result"
END_WITHIN_MS = 3000

log = logging.getLogger("fairmark.server")


def open_telemetry(environment: Mapping[str, str]) -> "Telemetry | None":
    """None where the environment asks for none. Where packages are missing that is said once, and all else goes on."""
    if not any(environment.get(name, "").strip() for name in ENDPOINTS):
        return None
    if environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return None
    try:
        return Telemetry()
    except ModuleNotFoundError as error:
        log.warning("traces are not sent, because %s is missing: pip install 'fairmark[otel]'", error.name)
        return None


class Telemetry:
    """Sends to the endpoint, as OpenTelemetry's own variables say."""

    def __init__(self) -> None:
        def module(name: str) -> Any:
            return importlib.import_module(f"opentelemetry.{name}")

        resources = module("sdk.resources")
        resource = resources.Resource.create({"service.name": "fairmark"})
        own_name = resources.OTELResourceDetector().detect()  # OTEL_SERVICE_NAME and the like count more
        resource = resource.merge(own_name)
        tracing, exporting = module("sdk.trace"), module("sdk.trace.export")
        self._traces = tracing.TracerProvider(resource=resource)
        spans = module("exporter.otlp.proto.http.trace_exporter").OTLPSpanExporter()
        self._traces.add_span_processor(exporting.BatchSpanProcessor(spans))
        self._tracer = self._traces.get_tracer("fairmark")
        self._logs = module("sdk._logs").LoggerProvider(resource=resource)
        events = module("exporter.otlp.proto.http._log_exporter").OTLPLogExporter()
        self._logs.add_log_record_processor(module("sdk._logs.export").BatchLogRecordProcessor(events))
        self._events = self._logs.get_logger("fairmark")
        self._record = module("_logs").LogRecord
        self._severity = module("_logs").SeverityNumber.INFO
        self._trace = module("trace")
        self._context = module("context")
        self._incoming = module("trace.propagation.tracecontext").TraceContextTextMapPropagator()

    def begin_request(self, method: str, headers: Mapping[bytes, bytes]) -> Any:
        """What `end_request` wants back."""
        carrier = {
            name: headers[name.encode()].decode("latin-1")
            for name in ("traceparent", "tracestate")
            if name.encode() in headers
        }
        outside = self._incoming.extract(carrier) if carrier else None
        span = self._tracer.start_span(method, outside, kind=self._trace.SpanKind.SERVER)
        self._context.attach(
            self._trace.set_span_in_context(span)
        )  # each request has a task, and so a context, of its own
        return span

    def end_request(self, begun: Any, method: str, route: str, status: int, request_id: str) -> None:
        begun.update_name(f"{method} {route}")
        begun.set_attributes(
            {
                "http.request.method": method,
                "http.route": route,
                "http.response.status_code": status,
                "fairmark.request_id": request_id,
            }
        )
        if status >= 500:
            begun.set_status(self._trace.StatusCode.ERROR)
        begun.end()

    def graded(self, results: Iterable[Result]) -> None:
        now, context = time.time_ns(), self._context.get_current()
        for result in results:
            record = self._record(
                timestamp=now,
                context=context,
                severity_number=self._severity,
                attributes=attributes_of(result),
                event_name=EVENT,
            )
            self._events.emit(record)

    @contextlib.contextmanager
    def run(self, run_id: str, eval_id: str) -> Iterator[None]:
        marks = {"fairmark.run_id": run_id, "fairmark.eval_id": eval_id}
        with self._tracer.start_as_current_span("eval run", attributes=marks):
            yield

    def close(self) -> None:
        """Sends what is left, for a moment at most."""
        for provider in (self._traces, self._logs):
            provider.force_flush(END_WITHIN_MS)
            provider.shutdown()


def attributes_of(result: Result) -> dict[str, Any]:
    """A grade in the words of the semantic conventions for generative AI."""
    spec = result.spec
    attributes: dict[str, Any] = {
        "gen_ai.evaluation.name": getattr(spec, "name", None) or spec.type,
        "gen_ai.evaluation.score.value": float(result.reward),
        "fairmark.grader.type": spec.type,
        "fairmark.grade.status": result.status,
    }
    threshold = getattr(spec, "pass_threshold", None)
    if result.status == "graded" and threshold is not None:
        attributes["gen_ai.evaluation.score.label"] = "pass" if result.reward >= threshold else "fail"
    if result.status == "error":
        attributes["error.type"] = next((flag for flag, is_set in result.errors.items() if is_set), "other_error")
    judgements = result.grade.judgements
    if judgements:
        attributes["gen_ai.request.model"] = judgements[0].model
        attributes["gen_ai.usage.input_tokens"] = sum(judgement.usage.prompt_tokens for judgement in judgements)
        attributes["gen_ai.usage.output_tokens"] = sum(judgement.usage.completion_tokens for judgement in judgements)
    return attributes
