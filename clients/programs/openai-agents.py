"""openai-agents: a tool, an output type, a handoff and a streamed run, in both of its formats."""

import asyncio
import json

from agents import (
    Agent,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    Runner,
    function_tool,
    set_tracing_disabled,
)
from openai import AsyncOpenAI
from pydantic import BaseModel

set_tracing_disabled(True)
MODELS = {
    "responses": OpenAIResponsesModel,
    "chat": OpenAIChatCompletionsModel,
}


class Place(BaseModel):
    city: str
    people: int


@function_tool
def get_weather(city: str) -> str:
    """The weather of a city."""
    return "sunny"


def report(check, result):
    usage = result.context_wrapper.usage
    tokens = {"input": usage.input_tokens, "output": usage.output_tokens}
    print(json.dumps({"check": check, "usage": tokens}, separators=(",", ":")))


async def run(form, model):
    weather = Agent(name="Weather", model=model, tools=[get_weather])
    result = await Runner.run(weather, "Call get_weather")
    assert "sunny" in result.final_output
    report(f"{form} tool", result)

    typed = Agent(name="Typed", model=model, output_type=Place)
    result = await Runner.run(typed, "Hello")
    assert isinstance(result.final_output, Place)
    report(f"{form} output_type", result)

    triage = Agent(name="Triage", model=model, handoffs=[typed])
    result = await Runner.run(triage, "Call transfer_to_typed")
    assert isinstance(result.final_output, Place)
    report(f"{form} handoff", result)

    streamed = Runner.run_streamed(Agent(name="Plain", model=model), "Hello")
    async for _event in streamed.stream_events():
        pass
    assert streamed.final_output
    report(f"{form} run_streamed", streamed)


async def main():
    for form, model in MODELS.items():
        await run(form, model(model="claude-opus-5", openai_client=AsyncOpenAI()))


asyncio.run(main())
