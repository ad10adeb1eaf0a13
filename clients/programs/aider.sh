# aider: the chat format and the native format.
set -e
export AIDER_ANALYTICS=false ANTHROPIC_API_BASE=$ANTHROPIC_BASE_URL
aider="py/bin/aider --no-git --yes-always --no-check-update --no-show-model-warnings --no-pretty"
node "$SNIPPET" .aider.model.settings.yml > .aider.model.settings.yml
py/bin/aider --version
$aider --model openai/claude-opus-5 --message 'Say hello'
$aider --model anthropic/claude-opus-5 --cache-prompts --message 'Say hello'
