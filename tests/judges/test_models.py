"""The registry of models: what names lead to, out of the file and the environment."""

import re
import textwrap
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest

from fairmark.errors import InvalidSettings, UnknownModel
from fairmark.judgement import Usage
from fairmark.judges import models
from fairmark.judges.local import WARNING
from fairmark.judges.models import AZURE_VERSION, OPENAI_URL, Model, ModelRegistry, read_registry
from fairmark.settings import Settings

Read = Callable[..., ModelRegistry]
KEY = "sk-very-secret-0123456789"
VLLM = '[providers.vllm]\nbase_url = "http://127.0.0.1:8000/v1"\n'


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """The registry out of a file with this text and an environment of these variables."""

    def registry(text: str = "", **environment: str) -> ModelRegistry:
        file = tmp_path / "fairmark.toml"
        file.write_text(text)
        return read_registry(file, environment)

    return registry


def where(model: Model) -> tuple[str, str]:
    return model.provider.name, model.real_name


# From the environment


def test_the_variables_of_openais_own_package_are_enough(read: Read) -> None:
    model = read(OPENAI_API_KEY=KEY, OPENAI_ORG_ID="org-1", OPENAI_PROJECT_ID="proj-1").resolve("gpt-4o-mini")
    assert where(model) == ("openai", "gpt-4o-mini")
    assert model.provider.url("chat/completions", model.real_name) == f"{OPENAI_URL}/chat/completions"
    assert model.provider.headers == {
        "Authorization": f"Bearer {KEY}",
        "OpenAI-Organization": "org-1",
        "OpenAI-Project": "proj-1",
    }


def test_a_base_url_without_a_key_is_a_server_that_needs_none(read: Read) -> None:
    model = read(OPENAI_BASE_URL="http://127.0.0.1:8000/v1/").resolve("llama")
    assert model.provider.headers == {}
    assert model.provider.url("embeddings", "llama") == "http://127.0.0.1:8000/v1/embeddings"
    assert not model.provider.is_openai


def test_azures_variables_make_an_endpoint_with_deployments_in_its_urls(read: Read) -> None:
    endpoint = {"AZURE_OPENAI_ENDPOINT": "https://me.openai.azure.com/", "OPENAI_API_VERSION": "2025-01-01"}
    model = read(**endpoint, AZURE_OPENAI_API_KEY=KEY).resolve("my gpt")
    assert model.provider.url("chat/completions", model.real_name) == (
        "https://me.openai.azure.com/openai/deployments/my%20gpt/chat/completions?api-version=2025-01-01"
    )
    assert model.provider.headers == {"api-key": KEY}
    assert model.provider.is_openai
    by_token = read(**endpoint, AZURE_OPENAI_AD_TOKEN=KEY).resolve("my gpt")
    assert by_token.provider.headers == {"Authorization": f"Bearer {KEY}"}
    assert KEY in by_token.provider.secrets


def test_with_openai_and_azure_both_names_without_a_provider_go_to_openai(read: Read) -> None:
    registry = read(OPENAI_API_KEY=KEY, AZURE_OPENAI_ENDPOINT="https://me.openai.azure.com", AZURE_OPENAI_API_KEY="k")
    assert where(registry.resolve("gpt-4o")) == ("openai", "gpt-4o")
    assert where(registry.resolve("azure/gpt-4o")) == ("azure", "gpt-4o")
    assert registry.resolve("azure/gpt-4o").provider.api_version == AZURE_VERSION


def test_a_key_is_freed_of_the_line_end_that_its_file_left(read: Read) -> None:
    assert read(OPENAI_API_KEY=f" {KEY}\r\n").resolve("gpt-4o").provider.headers["Authorization"] == f"Bearer {KEY}"


def test_a_provider_of_the_file_stands_in_for_the_environments_of_the_same_name(read: Read) -> None:
    """Else the file's proxy would be passed by, and rows would go where nobody wants them."""
    registry = read('[providers.openai]\nbase_url = "http://proxy.local/v1"\n', OPENAI_API_KEY=KEY)
    for name in ("gpt-4o", "openai/gpt-4o"):
        assert registry.resolve(name).provider.base_url == "http://proxy.local/v1"


# From the file


def test_a_provider_has_its_key_and_headers_from_the_environment(read: Read) -> None:
    text = """
        [providers.house]
        base_url = "https://models.example.org/v1"
        key_env = "HOUSE_KEY"
        organization = "org"
        project = "proj"
        headers = {"X-Team" = "${TEAM}-${TEAM}", "X-Plain" = "dev", "X-None" = "${UNSET}"}
    """
    provider = read(text, HOUSE_KEY=KEY, TEAM="blue").providers["house"]
    assert provider.headers == {
        "Authorization": f"Bearer {KEY}",
        "OpenAI-Organization": "org",
        "OpenAI-Project": "proj",
        "X-Team": "blue-blue",
        "X-Plain": "dev",
        "X-None": "",
    }
    assert provider.hide(f"{KEY} of blue in dev") == "*** of blue in dev"


def test_an_azure_provider_sends_its_key_the_azure_way(read: Read) -> None:
    text = '[providers.a]\nkind = "azure"\nbase_url = "https://a.example"\nkey_env = "K"\napi_version = "v9"\n'
    provider = read(text, K=KEY).providers["a"]
    assert provider.headers == {"api-key": KEY}
    assert provider.url("embeddings", "m") == "https://a.example/openai/deployments/m/embeddings?api-version=v9"


def test_a_model_is_asked_as_its_table_says(read: Read) -> None:
    text = f"""{VLLM}
        [models.strict]
        provider = "vllm"
        model = "meta/llama-3"
        structured_output = "json_object"
        temperature = false
        vision = false
        concurrency = 4
        requests_per_minute = 30
    """
    model = read(text).resolve("strict")
    assert where(model) == ("vllm", "meta/llama-3")
    assert (model.name, model.structured_output, model.temperature, model.vision) == (
        "strict",
        "json_object",
        False,
        False,
    )
    assert (model.concurrency, model.requests_per_minute, model.audio) == (4, 30, None)


def test_a_model_without_a_name_of_its_own_is_called_as_its_table(read: Read) -> None:
    registry = read(f'{VLLM}[models.llama]\nprovider = "vllm"\n[models."vllm/qwen"]\nprovider = "vllm"\n')
    assert registry.resolve("llama").real_name == "llama"
    assert registry.resolve("vllm/qwen").real_name == "qwen"


@pytest.mark.parametrize("name", ["o3-mini", "gpt-5", "azure/gpt-5-mini", "judge"])
def test_openais_reasoning_models_take_an_effort_and_no_temperature(read: Read, name: str) -> None:
    text = '[models.judge]\nprovider = "openai"\nmodel = "o1"\n'
    model = read(text, OPENAI_API_KEY=KEY, AZURE_OPENAI_ENDPOINT="https://me.openai.azure.com").resolve(name)
    assert (model.temperature, model.reasoning_effort) == (False, True)


def test_a_pattern_knows_a_reasoning_model_by_the_name_that_fits_it(read: Read) -> None:
    registry = read('[models."*"]\nprovider = "openai"\nprice_in = 2\nreasoning_effort = false\n', OPENAI_API_KEY=KEY)
    reasoning, plain = registry.resolve("o3"), registry.resolve("gpt-4o")
    assert (reasoning.temperature, plain.temperature) == (False, True)
    # What the table says, nobody guesses.
    assert (reasoning.reasoning_effort, plain.reasoning_effort) == (False, False)
    assert (reasoning.price_in, reasoning.real_name) == (2, "o3")


def test_the_embedded_model_carries_its_warning_under_any_name(read: Read) -> None:
    registry = read('[models.mine]\nprovider = "local"\nmodel = "smollm2"\n[models."smol*"]\nprovider = "local"\n')
    for name in ("local/smollm2", "mine", "smollm2"):
        assert registry.resolve(name).warning == WARNING
    assert registry.resolve("local/other").warning is None


# Which name leads where

ORDER = """
[providers.vllm]
base_url = "http://127.0.0.1:8000/v1"
[models]
"exact" = {provider = "vllm", model = "by exact name"}
"both" = {provider = "vllm", model = "by exact name"}
"vllm/described" = {provider = "vllm", model = "by exact name"}
"vllm/tuned-*" = {provider = "vllm", price_in = 7}
"pat-*" = {provider = "vllm", model = "by pattern"}
[aliases]
"both" = "vllm/by alias"
"other" = "vllm/by alias"
"pat-alias" = "vllm/by alias"
"vllm/old" = "vllm/by alias"
"pat-*" = "vllm/by pattern of aliases"
"retired-*" = "vllm/by pattern of aliases"
"""


@pytest.mark.parametrize(
    ("name", "real_name"),
    [
        ("exact", "by exact name"),
        ("both", "by exact name"),
        ("vllm/described", "by exact name"),
        ("other", "by alias"),
        ("pat-alias", "by alias"),
        ("vllm/old", "by alias"),
        ("vllm/anything", "anything"),
        ("vllm/pat-1", "pat-1"),
        ("vllm/tuned-1", "tuned-1"),
        ("vllm/org/model", "org/model"),
        ("pat-1", "by pattern"),
        ("retired-gpt", "by pattern of aliases"),
        ("nobody-knows", "nobody-knows"),
    ],
)
def test_names_are_looked_for_in_their_order(read: Read, name: str, real_name: str) -> None:
    model = read(ORDER, OPENAI_API_KEY=KEY).resolve(name)
    assert (model.name, model.real_name) == (name, real_name)
    assert model.provider.name == ("openai" if name == "nobody-knows" else "vllm")
    assert model.price_in == (7 if name == "vllm/tuned-1" else None)


def test_one_line_maps_every_retired_name_and_leaves_the_configured_ones(read: Read) -> None:
    text = f'{VLLM}[models]\nllama = {{provider = "vllm"}}\n[aliases]\n"*" = "llama"\n'
    registry = read(text, OPENAI_API_KEY=KEY)
    for retired in ("gpt-4o", "o3-mini", "claude/opus", "text-embedding-3-large"):
        assert where(registry.resolve(retired)) == ("vllm", "llama")
    assert where(registry.resolve("local/smollm2")) == ("local", "smollm2")
    assert where(registry.resolve("vllm/qwen")) == ("vllm", "qwen")
    assert where(registry.resolve("openai/gpt-4o")) == ("openai", "gpt-4o")


def test_a_pattern_of_a_model_does_not_catch_what_another_provider_is_asked_for(read: Read) -> None:
    registry = read(f'{VLLM}[models."*"]\nprovider = "vllm"\nprice_in = 3\n', OPENAI_API_KEY=KEY)
    assert (where(registry.resolve("gpt-4o")), registry.resolve("gpt-4o").price_in) == (("vllm", "gpt-4o"), 3)
    assert where(registry.resolve("local/smollm2")) == ("local", "smollm2")
    assert where(registry.resolve("openai/gpt-4o")) == ("openai", "gpt-4o")


@pytest.mark.parametrize("target", ["local/smollm2", "gpt-5-mini"])
def test_one_line_may_lead_to_what_no_table_describes(read: Read, target: str) -> None:
    registry = read(f'[aliases]\n"*" = "{target}"\n', OPENAI_API_KEY=KEY)
    assert registry.resolve("gpt-4o").real_name == target.removeprefix("local/")
    assert registry.resolve(target).real_name == target.removeprefix("local/")


def test_aliases_of_aliases_lead_to_their_end_under_the_name_that_was_asked(read: Read) -> None:
    registry = read('[aliases]\na = "b"\nb = "c"\n"c*" = "local/x"\n')
    model = registry.resolve("a")
    assert (model.name, model.real_name) == ("a", "x")


def test_aliases_that_go_in_a_circle_are_told_with_the_circle(read: Read) -> None:
    registry = read('[aliases]\na = "b"\nb = "c"\nc = "a"\nself = "self"\n')
    with pytest.raises(UnknownModel) as error:
        registry.resolve("a")
    assert str(error.value) == 'model "a": its aliases go in a circle: a → b → c → a.'
    with pytest.raises(UnknownModel, match="self → self"):
        registry.resolve("self")


def test_aliases_of_the_environment_win_over_the_files(read: Read) -> None:
    registry = read('[aliases]\na = "local/file"\n', FAIRMARK_MODEL_ALIASES=" a = local/environment, b=local/x ,,")
    assert [registry.resolve(name).real_name for name in "ab"] == ["environment", "x"]


def test_an_unknown_model_is_told_with_all_that_is_configured(read: Read) -> None:
    text = f'{VLLM}[models]\nllama = {{provider = "vllm"}}\n"q*" = {{provider = "vllm"}}\n[aliases]\nold = "gone"\n'
    with pytest.raises(UnknownModel) as error:
        read(text).resolve("gpt-4o")
    assert str(error.value) == (
        'unknown model "gpt-4o". Configured: llama, q*, old, local/…, vllm/…. Set OPENAI_API_KEY, or name the model '
        "or an alias for it in fairmark.toml."
    )
    with pytest.raises(UnknownModel, match=r'unknown model "gone" \(alias of "old"\)'):
        read(text).resolve("old")


def test_a_name_that_is_a_template_is_not_sent_to_anybody(read: Read) -> None:
    with pytest.raises(UnknownModel, match="unknown model"):
        read(OPENAI_API_KEY=KEY).resolve("{{ item.model }}")


# What is wrong


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("providers = 5", "providers: found a number (5). It takes a table."),
        ('models = "x"', 'models: found a string ("x"). It takes a table.'),
        ("aliases = []", "aliases: found a list of 0. It takes a table."),
        ("[providers]\nvllm = 5", "providers.vllm: found a number (5). It takes a table."),
        (
            "[providers.vllm]",
            'providers.vllm.base_url: missing. It takes a URL such as "http://127.0.0.1:8000/v1".',
        ),
        (
            '[providers.vllm]\nurl = "x"',
            "providers.vllm.url: unknown. Use: base_url, key_env, kind, headers, organization, project, api_version.",
        ),
        ("[providers.vllm]\nbase_url = 5", "providers.vllm.base_url: found a number (5). It takes a string."),
        (
            '[providers.vllm]\nbase_url = "127.0.0.1:8000"',
            'providers.vllm.base_url: found "127.0.0.1:8000". It takes a URL: https://host/v1.',
        ),
        (
            '[providers.vllm]\nbase_url = "http://[::1/v1"',
            'providers.vllm.base_url: found "http://[::1/v1". It takes a URL: https://host/v1.',
        ),
        (
            '[providers.vllm]\nbase_url = "http://host:port/v1"',
            'providers.vllm.base_url: found "http://host:port/v1". It takes a URL: https://host/v1.',
        ),
        (
            '[providers.vllm]\nbase_url = "http://h/v1"\nkind = "anthropic"',
            'providers.vllm.kind: found a string ("anthropic"). Use one of: openai, azure.',
        ),
        (
            '[providers.vllm]\nbase_url = "http://h/v1"\nheaders = "x"',
            'providers.vllm.headers: found a string ("x"). It takes a table.',
        ),
        (
            '[providers.vllm]\nbase_url = "http://h/v1"\nheaders = {X = 5}',
            "providers.vllm.headers.X: found a number (5). It takes a string.",
        ),
        (
            '[providers.vllm]\nbase_url = "http://h/v1"\nheaders = {X = "a\\nY: b"}',
            "providers.vllm.headers.X: it holds characters that no header can.",
        ),
        (
            '[providers."a/b"]\nbase_url = "http://h/v1"',
            "providers.a/b: a provider needs a name of its own, without a slash.",
        ),
        (
            '[providers.local]\nbase_url = "http://h/v1"',
            "providers.local: a provider needs a name of its own, without a slash.",
        ),
        ("[models]\nm = 5", "models.m: found a number (5). It takes a table."),
        ("[models.m]", 'models."m".provider: missing. Use one of: local.'),
        ('[models.m]\nprovider = "x"', 'models."m".provider: unknown provider "x". Use one of: local.'),
        ("[models.m]\nprovider = 5", 'models."m".provider: found a number (5). It takes a string.'),
        (
            '[models.m]\nprovider = "local"\ntemprature = true',
            'models."m".temprature: unknown. Use: provider, model, structured_output, temperature, reasoning_effort, '
            "vision, audio, logprobs, price_in, price_cached, price_out, requests_per_minute, tokens_per_minute, "
            "concurrency.",
        ),
        (
            '[models.m]\nprovider = "local"\nstructured_output = "yaml"',
            'models."m".structured_output: found "yaml". Use one of: json_schema, tools, json_object, text.',
        ),
        (
            '[models.m]\nprovider = "local"\nvision = "yes"',
            'models."m".vision: found a string ("yes"). It takes true or false.',
        ),
        (
            '[models.m]\nprovider = "local"\nprice_in = "2"',
            'models."m".price_in: found a string ("2"). It takes a number.',
        ),
        ('[models.m]\nprovider = "local"\nprice_in = true', 'models."m".price_in: found true. It takes a number.'),
        (
            '[models.m]\nprovider = "local"\nprice_out = -1',
            'models."m".price_out: found -1. It takes a number, 0 or more.',
        ),
        (
            '[models.m]\nprovider = "local"\ntokens_per_minute = nan',
            'models."m".tokens_per_minute: found nan. It takes a number, 0 or more.',
        ),
        (
            '[models.m]\nprovider = "local"\nconcurrency = 1.5',
            'models."m".concurrency: found a number (1.5). It takes a whole number.',
        ),
        ("[aliases]\na = 5", 'aliases."a": found a number (5). It takes the name of a model.'),
        ('[aliases]\na = ""', 'aliases."a": found a string (""). It takes the name of a model.'),
        ("models = ", "not TOML: Invalid value (at end of document)"),
    ],
)
def test_a_wrong_file_is_told_with_place_finding_and_what_is_allowed(
    read: Read, tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(InvalidSettings) as error:
        read(text)
    assert str(error.value) == f"{tmp_path}/fairmark.toml: {message}"


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        (
            {"OPENAI_BASE_URL": "localhost"},
            'OPENAI_BASE_URL: found "localhost". It takes a URL: https://host/v1.',
        ),
        (
            {"OPENAI_BASE_URL": "http://127.0.0.1:8000/v1/chat/completions/"},
            'OPENAI_BASE_URL: found "http://127.0.0.1:8000/v1/chat/completions/". It takes what stands before that '
            "path: http://127.0.0.1:8000/v1.",
        ),
        (
            {"AZURE_OPENAI_ENDPOINT": "ftp://host"},
            'AZURE_OPENAI_ENDPOINT: found "ftp://host". It takes a URL: https://host/v1.',
        ),
        (
            {"FAIRMARK_MODEL_ALIASES": "a=b,c"},
            'FAIRMARK_MODEL_ALIASES: found "c". It takes NAME=MODEL,NAME=MODEL.',
        ),
    ],
)
def test_a_wrong_variable_is_told_with_what_is_allowed(read: Read, environment: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidSettings) as error:
        read(**environment)
    assert str(error.value) == message


# Secrets


@pytest.mark.parametrize(
    "environment",
    [
        {"OPENAI_BASE_URL": f"https://user:{KEY}@host/v1"},
        {"OPENAI_BASE_URL": f"https://host/v1?key={KEY}"},
        {"OPENAI_API_KEY": f"{KEY}\n{KEY}"},
    ],
)
def test_a_key_in_the_wrong_place_is_refused_without_showing_it(read: Read, environment: dict[str, str]) -> None:
    with pytest.raises(InvalidSettings) as error:
        read(**environment)
    assert KEY not in str(error.value)


def test_keys_stand_in_nothing_that_is_shown(read: Read) -> None:
    text = f"""
        [providers.house]
        base_url = "https://models.example.org/v1"
        key_env = "HOUSE_KEY"
        headers = {{"X-Other" = "${{OTHER}}", "X-Api-Key" = "{KEY}-written-down"}}
        [models.m]
        provider = "house"
    """
    other = f"{KEY}-other"
    registry = read(text, HOUSE_KEY=KEY, OTHER=other, OPENAI_API_KEY=KEY, AZURE_OPENAI_ENDPOINT="https://a.example")
    shown = [*registry.providers.values(), registry.resolve("m"), registry.resolve("gpt-4o"), registry.resolve("m").key]
    assert KEY not in " ".join(f"{each!r} {each}" for each in shown)
    # A secret that begins with another one must not leave its end behind.
    said = registry.providers["house"].hide(f"bad key {other}, bad key {KEY}-written-down, bad key {KEY}")
    assert said == "bad key ***, bad key ***, bad key ***"


# Prices


@pytest.mark.parametrize(
    ("prices", "usage", "cost"),
    [
        ("price_in = 2\nprice_out = 8", Usage(1000, 500, 1500), 0.006),
        ("price_in = 2\nprice_out = 8", Usage(1000, 500, 1500, 800), 0.006),
        ("price_in = 2\nprice_cached = 0.5\nprice_out = 8", Usage(1000, 500, 1500, 800), 0.0048),
        ("price_in = 2\nprice_cached = 0\nprice_out = 8", Usage(1000, 0, 1000, 1000), 0.0),
        ("price_in = 2", Usage(1000, 500, 1500), 0.002),
        ("price_out = 8", Usage(1000, 500, 1500), 0.004),
        ("price_in = 2", Usage(0, 0, 0, 1000), 0.002),  # nonsense of a server; it must not earn us money
        ("price_in = 0\nprice_out = 0", Usage(1000, 500, 1500), 0.0),
        ("", Usage(1000, 500, 1500), None),
    ],
)
def test_the_cost_is_tokens_by_price_and_unknown_without_one(
    read: Read, prices: str, usage: Usage, cost: float | None
) -> None:
    model = read(f'[models.m]\nprovider = "local"\n{prices}\n').resolve("m")
    assert model.cost(usage) == (None if cost is None else pytest.approx(cost))


def test_a_models_key_tells_providers_endpoints_and_models_apart_and_nothing_else(read: Read) -> None:
    def key(url: str, name: str, **environment: str) -> str:
        text = f'[providers.p]\nbase_url = "{url}"\nkey_env = "K"\n[aliases]\nalias = "p/a"\n'
        return read(text, **environment).resolve(name).key

    assert key("http://a/v1", "p/a", K="1") == key("http://a/v1", "alias", K="2")
    assert len({key("http://a/v1", "p/a"), key("http://b/v1", "p/a"), key("http://a/v1", "p/b")}) == 3


# The page


def test_the_example_in_the_docs_does_what_its_comments_say(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "models.md").read_text()
    (example,) = re.findall(r"^    # Servers.*?(?=^\S)", page, flags=re.DOTALL | re.MULTILINE)
    file = tmp_path / "fairmark.toml"
    file.write_text(textwrap.dedent(example))
    registry = read_registry(file, {"HOUSE_KEY": KEY, "TEAM": "blue", "CLOUD_KEY": "k"})
    careful = registry.resolve("gpt-4o")
    assert where(careful) == ("house", "large-2026-02")
    assert careful.provider.headers["X-Team"] == "blue"
    assert careful.told == models._MODEL_KEYS.keys() - {"provider", "model"}  # every key there is
    assert where(registry.resolve("o3-mini")) == ("house", "reasoning-2026")
    assert where(registry.resolve("retired")) == ("vllm", "llama-3.3-70b")
    assert where(registry.resolve("local/smollm2")) == ("local", "smollm2")
    assert registry.resolve("cloud/x").provider.kind == "azure"
    assert all(f"\n    {key} = " in example for key in models._PROVIDER_KEYS)


def test_every_judge_setting_is_on_its_page_with_its_default() -> None:
    page = (Path(__file__).parents[2] / "docs" / "judges.md").read_text()
    for field in fields(Settings):
        if field.name.startswith("judge_"):
            default = field.default if isinstance(field.default, str) else f"{field.default:g}"
            assert f"| `FAIRMARK_{field.name.upper()}` | {default} |" in page
