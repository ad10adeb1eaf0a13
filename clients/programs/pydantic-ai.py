"""pydantic-ai: a tool, an output type and a stream, in all three formats."""

import asyncio
import json
import os
from importlib.metadata import version

from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider
from anthropic import AsyncAnthropic

NAME = "claude-opus-5"
KEY = os.environ["OPENAI_API_KEY"]
OPENAI = OpenAIProvider(base_url=os.environ["OPENAI_BASE_URL"], api_key=KEY)
NATIVE = AnthropicProvider(
    anthropic_client=AsyncAnthropic(base_url=os.environ["GATEWAY_URL"], api_key=KEY)
)
MODELS = {
    "chat": OpenAIChatModel(NAME, provider=OPENAI),
    "responses": OpenAIResponsesModel(NAME, provider=OPENAI),
    "native": AnthropicModel(NAME, provider=NATIVE),
}


class Place(BaseModel):
    city: str
    people: int


def report(check, usage):
    tokens = {"input": usage.input_tokens, "output": usage.output_tokens}
    print(json.dumps({"check": check, "usage": tokens}, separators=(",", ":")))


async def run(form, model):
    weather = Agent(model)

    @weather.tool_plain
    def get_weather(city: str) -> str:
        """The weather of a city."""
        return "sunny"

    result = await weather.run("Call get_weather")
    assert "sunny" in result.output, result.output
    report(f"{form} tool", result.usage())
    typed = await Agent(model, output_type=Place).run("Invent a place")
    assert isinstance(typed.output, Place)
    report(f"{form} output type", typed.usage())
    async with Agent(model).run_stream("Say hello") as streamed:
        assert await streamed.get_output() != ""
        report(f"{form} stream", streamed.usage())


print("pydantic-ai", version("pydantic-ai-slim"))
for form, model in MODELS.items():
    asyncio.run(run(form, model))
