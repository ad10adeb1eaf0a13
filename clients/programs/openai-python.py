"""OpenAI's SDK for Python: plain, streamed, its stream helper, parse(), tools, thinking."""

import json

import openai
from pydantic import BaseModel

client = openai.OpenAI()
MODEL = "claude-opus-5"
HELLO = [{"role": "user", "content": "Hello"}]


class Place(BaseModel):
    city: str
    people: int


def report(check, usage):
    tokens = {"input": usage.prompt_tokens, "output": usage.completion_tokens}
    print(json.dumps({"check": check, "usage": tokens}, separators=(",", ":")))


report("create", client.chat.completions.create(model=MODEL, messages=HELLO).usage)

usage = None
for chunk in client.chat.completions.create(
    model=MODEL, messages=HELLO, stream=True, stream_options={"include_usage": True}
):
    usage = chunk.usage or usage
report("stream", usage)

# The helper joins the items of lists by their index, including the items of thinking_blocks.
with client.chat.completions.stream(
    model="claude-opus-4-8",
    messages=HELLO,
    reasoning_effort="high",
    response_format=Place,
    stream_options={"include_usage": True},
) as stream:
    final = stream.get_final_completion()
assert isinstance(final.choices[0].message.parsed, Place)
assert final.choices[0].message.reasoning_content
report("stream helper with thinking and a schema", final.usage)

parsed = client.chat.completions.parse(model=MODEL, messages=HELLO, response_format=Place)
assert isinstance(parsed.choices[0].message.parsed, Place)
report("parse", parsed.usage)

tools = [openai.pydantic_function_tool(Place, name="save_place")]
called = client.chat.completions.parse(
    model=MODEL, messages=[{"role": "user", "content": "Call save_place"}], tools=tools
)
call = called.choices[0].message.tool_calls[0]
assert isinstance(call.function.parsed_arguments, Place)
report("parse with a strict tool", called.usage)
answer = client.chat.completions.create(
    model=MODEL,
    messages=[
        {"role": "user", "content": "Call save_place"},
        called.choices[0].message.model_dump(exclude_none=True),
        {"role": "tool", "tool_call_id": call.id, "content": "saved"},
    ],
    tools=tools,
)
assert "saved" in answer.choices[0].message.content
report("result of the tool", answer.usage)
