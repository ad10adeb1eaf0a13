"""A notebook whose cells use the SDKs of Anthropic and OpenAI, and show why a budget refuses them."""

import json
import os

import nbformat
from nbclient import NotebookClient

MODEL = "claude-opus-5"
ASK = f'model="{MODEL}", max_tokens=100, messages=[{{"role": "user", "content": "Hello"}}]'


def run(*cells, may_fail=False):
    """Returns the last output of each cell."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    NotebookClient(notebook, timeout=120, kernel_name="python3", allow_errors=may_fail).execute()
    return [cell.outputs[-1] if cell.outputs else None for cell in notebook.cells]


def report(check, usage):
    print(json.dumps({"check": check, "usage": usage}, separators=(",", ":")))


_, native, chat = run(
    "import anthropic, json, openai",
    f"""
usage = anthropic.Anthropic().messages.create({ASK}).usage
print(json.dumps({{"input": usage.input_tokens, "output": usage.output_tokens}}))
""",
    f"""
usage = openai.OpenAI().chat.completions.create({ASK}).usage
print(json.dumps({{"input": usage.prompt_tokens, "output": usage.completion_tokens}}))
""",
)
report("anthropic", json.loads(native.text))
report("openai", json.loads(chat.text))

# The reason stands in the error below the cell, which a user reads.
os.environ["ANTHROPIC_API_KEY"] = os.environ["OPENAI_API_KEY"] = os.environ["SPENT_API_KEY"]
_, native, chat = run(
    "import anthropic, openai",
    f"anthropic.Anthropic().messages.create({ASK})",
    f"openai.OpenAI().chat.completions.create({ASK})",
    may_fail=True,
)
for sdk, output in (("anthropic", native), ("openai", chat)):
    assert output.output_type == "error"
    print(output.ename, output.evalue)
    for part in ('the budget "the thesis" of the member ', "is used up", "ask chair@example.com"):
        assert part in output.evalue, part
    report(f"spent student, {sdk}", {"input": 0, "output": 0})
