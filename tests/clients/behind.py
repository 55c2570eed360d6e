"""A provider behind the server that is a judge where one is asked, and says things again otherwise."""

from tests.clients.judge import RuleBasedModel
from tests.completions.provider import Provider
from tests.judges.faults import Request, Status, Wire


class JudgeAndProvider:
    def __init__(self) -> None:
        self._judge = RuleBasedModel()
        self._provider = Provider(refuses={"file_search"})

    async def play(self, wire: Wire, request: Request) -> None:
        body = request.body if isinstance(request.body, dict) else {}
        asks = request.path.endswith("/chat/completions") and "result" in str(body.get("response_format"))
        try:
            await (self._judge if asks else self._provider).play(wire, request)
        except (KeyError, TypeError, AttributeError, IndexError):
            await Status(400, "that is not what this API takes").play(wire, request)
