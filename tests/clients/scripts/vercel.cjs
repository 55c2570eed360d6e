// Vercel's AI SDK with its OpenAI provider, pointed at the server: whole answers, streams, tools, embeddings.
"use strict";
const { embed, generateText, streamText, tool } = require("ai");
const { createOpenAI } = require("@ai-sdk/openai");
const { z } = require("zod");

const openai = createOpenAI({ baseURL: `${process.env.SERVER}/v1`, apiKey: process.env.OPENAI_API_KEY });
const look = tool({ description: "Look a city up.", inputSchema: z.object({ city: z.string() }) });

async function ways(model) {
  const { text } = await generateText({ model, prompt: "hello" });
  const pieces = [];
  for await (const piece of streamText({ model, prompt: "hello" }).textStream) pieces.push(piece);
  const called = await generateText({ model, prompt: "hello", tools: { look } });
  return {
    text,
    streamed: pieces.join(""),
    pieces: pieces.length,
    called: called.toolCalls.map((call) => [call.toolName, call.input]),
  };
}

async function refused() {
  try {
    await generateText({ model: openai.chat("no{model"), prompt: "hello", maxRetries: 0 });
  } catch (error) {
    return error.statusCode;
  }
  return 200;
}

async function main() {
  const facts = {
    chat: await ways(openai.chat("luna")),
    responses: await ways(openai.responses("luna")),
    embedded: (await embed({ model: openai.textEmbeddingModel("luna"), value: "hello" })).embedding,
    refused: await refused(),
  };
  console.log(JSON.stringify(facts));
}

main();
