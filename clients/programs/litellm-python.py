"""LiteLLM as a library: the chat, the native and the Responses format, plain and streamed."""

import json
import os
from importlib.metadata import version

import litellm

KEY = os.environ["OPENAI_API_KEY"]
HELLO = [{"role": "user", "content": "Say hello"}]
PLACES = {
    "chat": {"model": "openai/claude-opus-5", "api_base": os.environ["OPENAI_BASE_URL"]},
    "native": {"model": "anthropic/claude-opus-5", "api_base": os.environ["GATEWAY_URL"]},
}


def report(check, sent, received):
    tokens = {"input": sent, "output": received}
    print(json.dumps({"check": check, "usage": tokens}, separators=(",", ":")))


print("litellm", version("litellm"))
for form, place in PLACES.items():
    usage = litellm.completion(**place, api_key=KEY, messages=HELLO).usage
    report(f"{form}", usage.prompt_tokens, usage.completion_tokens)
    options = {"stream": True, "stream_options": {"include_usage": True}}
    chunks = list(litellm.completion(**place, api_key=KEY, messages=HELLO, **options))
    usage = litellm.stream_chunk_builder(chunks).usage
    report(f"{form} stream", usage.prompt_tokens, usage.completion_tokens)
response = litellm.responses(**PLACES["chat"], api_key=KEY, input="Say hello")
report("responses", response.usage.input_tokens, response.usage.output_tokens)
