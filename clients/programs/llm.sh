# llm: a prompt, a streamed one, a continued one and a schema.
set -e
mkdir -p config
export LLM_USER_PATH=$PWD/config
node "$SNIPPET" extra-openai-models.yaml > config/extra-openai-models.yaml
llm=py/bin/llm
$llm keys set openai --value "$OPENAI_API_KEY"
unset OPENAI_API_KEY
$llm --version
$llm -m claude --no-stream Hello
$llm -m claude Hello
$llm -m claude -c 'And again'
$llm -m claude --schema 'city, people int' Hello | python3 -c \
  'import json, sys; place = json.load(sys.stdin); assert set(place) == {"city", "people"}, place'
