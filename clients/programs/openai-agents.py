"""
openai-agents: a tool, an output type, a handoff and a streamed run, in both of its formats. With a
model that checks what precedes its thinking: a forced tool, a handoff to other instructions, hosted
tools beside functions, and the tools that the SDK runs itself.
"""

import asyncio
import json

from agents import (
    Agent,
    ApplyPatchTool,
    CodeInterpreterTool,
    FileSearchTool,
    ModelSettings,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    Runner,
    ShellTool,
    WebSearchTool,
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


async def run_with_bound_thinking(form, model):
    forced = Agent(
        name="Forced",
        model=model,
        tools=[get_weather],
        model_settings=ModelSettings(tool_choice="required"),
    )
    result = await Runner.run(forced, "Call get_weather")
    assert "sunny" in result.final_output
    report(f"{form} forced tool", result)

    other = Agent(name="Other", instructions="Be brief.", model=model)
    triage = Agent(name="Triage", instructions="Hand off.", model=model, handoffs=[other])
    result = await Runner.run(triage, "Call transfer_to_other")
    assert result.last_agent is other
    report(f"{form} handoff with other instructions", result)


async def run_hosted_tools(model):
    interpreter = {"type": "code_interpreter", "container": {"type": "auto"}}
    tools = [
        get_weather,
        WebSearchTool(),
        CodeInterpreterTool(tool_config=interpreter),
        FileSearchTool(vector_store_ids=["vs_1"]),
    ]
    hosted = Agent(name="Hosted", model=model, tools=tools)
    result = await Runner.run(hosted, "Call get_weather")
    assert "sunny" in result.final_output
    report("hosted tools beside a function", result)

    result = await Runner.run(hosted, "search for Bern")
    assert "The web is simulated" in result.final_output
    report("web search beside a function", result)


class Editor:
    """Takes new files only."""

    def __init__(self):
        self.diffs = []

    def create_file(self, operation):
        self.diffs.append((operation.path, operation.diff))


async def run_local_tools(model):
    commands = []

    def shell(request):
        commands.extend(request.data.action.commands)
        return "done"

    editor = Editor()
    tools = [ShellTool(executor=shell), ApplyPatchTool(editor=editor)]
    local = Agent(name="Local", model=model, tools=tools)
    result = await Runner.run(local, 'Do:\ntool:shell {"commands":["ls"]}')
    assert commands == ["ls"]
    report("shell", result)

    patch = {"type": "create_file", "path": "a.txt", "diff": "+Hello"}
    result = await Runner.run(local, f"Do:\ntool:apply_patch {json.dumps(patch)}")
    assert editor.diffs == [("a.txt", "+Hello")]
    report("patch tool", result)


async def main():
    for form, model in MODELS.items():
        await run(form, model(model="claude-opus-5", openai_client=AsyncOpenAI()))
        bound = model(model="claude-opus-5-5", openai_client=AsyncOpenAI())
        await run_with_bound_thinking(form, bound)
    bound = OpenAIResponsesModel(model="claude-opus-5-5", openai_client=AsyncOpenAI())
    await run_hosted_tools(bound)
    await run_local_tools(bound)


asyncio.run(main())
