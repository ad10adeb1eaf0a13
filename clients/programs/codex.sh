# Codex: a run, and the same conversation resumed. It uses the Responses API.
set -e
export CODEX_HOME="$PWD/codex"
mkdir -p "$CODEX_HOME"
cat > "$CODEX_HOME/config.toml" <<TOML
model = "claude-opus-5"
model_provider = "gateway"

[model_providers.gateway]
name = "gateway"
base_url = "$OPENAI_BASE_URL"
env_key = "OPENAI_API_KEY"
wire_api = "responses"
TOML
node_modules/.bin/codex --version
node_modules/.bin/codex exec --skip-git-repo-check 'Say hello'
node_modules/.bin/codex exec --skip-git-repo-check resume --last 'And again'
