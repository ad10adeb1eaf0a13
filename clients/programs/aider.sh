# aider: the chat format and the native format.
set -e
export AIDER_ANALYTICS=false ANTHROPIC_API_BASE=$ANTHROPIC_BASE_URL
aider="py/bin/aider --no-git --yes-always --no-check-update --no-show-model-warnings --no-pretty"
py/bin/aider --version
$aider --model openai/claude-opus-5 --message 'Say hello'
# aider sends a temperature in the native format, which the newest models refuse.
$aider --model anthropic/claude-sonnet-4-6 --cache-prompts --message 'Say hello'
