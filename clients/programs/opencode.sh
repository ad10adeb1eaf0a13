# opencode: the chat format and the native format.
set -e
cat > opencode.json <<JSON
{
  "provider": {
    "gateway": {
      "npm": "@ai-sdk/openai-compatible",
      "options": { "baseURL": "$OPENAI_BASE_URL", "apiKey": "$OPENAI_API_KEY" },
      "models": { "claude-opus-5": {} }
    },
    "native": {
      "npm": "@ai-sdk/anthropic",
      "options": { "baseURL": "$OPENAI_BASE_URL", "apiKey": "$OPENAI_API_KEY" },
      "models": { "claude-opus-5": {} }
    }
  }
}
JSON
node_modules/.bin/opencode --version
node_modules/.bin/opencode run -m gateway/claude-opus-5 'Say hello'
node_modules/.bin/opencode run -m native/claude-opus-5 'Say hello'
