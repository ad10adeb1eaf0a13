# llm: a prompt, a streamed one, a continued one and a schema.
set -e
mkdir -p config
export LLM_USER_PATH=$PWD/config
cat > config/extra-openai-models.yaml <<YAML
- model_id: claude
  model_name: claude-opus-5
  api_base: $OPENAI_BASE_URL
  api_key_name: openai
  supports_schema: true
  supports_tools: true
YAML
llm=py/bin/llm
$llm --version
$llm -m claude --no-stream Hello
$llm -m claude Hello
$llm -m claude -c 'And again'
$llm -m claude --schema 'city, people int' Hello | python3 -c \
  'import json, sys; place = json.load(sys.stdin); assert set(place) == {"city", "people"}, place'
