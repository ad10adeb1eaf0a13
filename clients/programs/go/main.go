// OpenAI's SDK for Go: plain, streamed, a schema, a tool.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/shared"
)

const model = "claude-opus-5"

func report(check string, usage openai.CompletionUsage) {
	line, _ := json.Marshal(check)
	fmt.Printf("{\"check\":%s,\"usage\":{\"input\":%d,\"output\":%d}}\n", line, usage.PromptTokens, usage.CompletionTokens)
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	ctx := context.Background()
	client := openai.NewClient()
	hello := []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Hello")}

	plain, err := client.Chat.Completions.New(ctx, openai.ChatCompletionNewParams{Model: model, Messages: hello})
	must(err)
	report("New", plain.Usage)

	stream := client.Chat.Completions.NewStreaming(ctx, openai.ChatCompletionNewParams{
		Model:         model,
		Messages:      hello,
		StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)},
	})
	whole := openai.ChatCompletionAccumulator{}
	for stream.Next() {
		whole.AddChunk(stream.Current())
	}
	must(stream.Err())
	report("NewStreaming", whole.Usage)

	schema := map[string]any{
		"type":                 "object",
		"properties":           map[string]any{"city": map[string]any{"type": "string"}},
		"required":             []string{"city"},
		"additionalProperties": false,
	}
	structured, err := client.Chat.Completions.New(ctx, openai.ChatCompletionNewParams{
		Model:    model,
		Messages: hello,
		ResponseFormat: openai.ChatCompletionNewParamsResponseFormatUnion{
			OfJSONSchema: &shared.ResponseFormatJSONSchemaParam{
				JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{Name: "place", Schema: schema, Strict: openai.Bool(true)},
			},
		},
	})
	must(err)
	var place struct{ City *string }
	must(json.Unmarshal([]byte(structured.Choices[0].Message.Content), &place))
	if place.City == nil {
		panic("no city")
	}
	report("json_schema", structured.Usage)

	messages := []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Call get_weather")}
	tools := []openai.ChatCompletionToolUnionParam{
		openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: "get_weather", Parameters: schema}),
	}
	called, err := client.Chat.Completions.New(ctx, openai.ChatCompletionNewParams{Model: model, Messages: messages, Tools: tools})
	must(err)
	report("tool", called.Usage)
	message := called.Choices[0].Message
	messages = append(messages, message.ToParam(), openai.ToolMessage("sunny", message.ToolCalls[0].ID))
	answer, err := client.Chat.Completions.New(ctx, openai.ChatCompletionNewParams{Model: model, Messages: messages, Tools: tools})
	must(err)
	if !strings.Contains(answer.Choices[0].Message.Content, "sunny") {
		panic(answer.Choices[0].Message.Content)
	}
	report("result of the tool", answer.Usage)
}
