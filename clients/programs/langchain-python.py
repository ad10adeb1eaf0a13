"""LangChain for Python, with both providers.

Invoke, stream, tools, and structured output by the default method.
"""

import json
import os

from langchain_anthropic import ChatAnthropic
from langchain_openai import ChatOpenAI
from pydantic import BaseModel

MODEL = "claude-opus-5"


class Place(BaseModel):
    """A place."""

    city: str
    people: int


def report(check, message):
    usage = message.usage_metadata
    tokens = {"input": usage["input_tokens"], "output": usage["output_tokens"]}
    print(json.dumps({"check": check, "usage": tokens}, separators=(",", ":")))


models = {
    "ChatOpenAI": ChatOpenAI(
        model=MODEL, base_url=os.environ["OPENAI_BASE_URL"], stream_usage=True
    ),
    "ChatAnthropic": ChatAnthropic(model=MODEL, max_tokens=1000),
}
for name, llm in models.items():
    report(f"{name} invoke", llm.invoke("Hello"))
    whole = None
    for chunk in llm.stream("Hello"):
        whole = chunk if whole is None else whole + chunk
    report(f"{name} stream", whole)
    called = llm.bind_tools([Place]).invoke("Call Place")
    assert len(called.tool_calls) == 1
    report(f"{name} bind_tools", called)
    answer = llm.with_structured_output(Place, include_raw=True).invoke("Hello")
    assert isinstance(answer["parsed"], Place), answer
    report(f"{name} with_structured_output", answer["raw"])
