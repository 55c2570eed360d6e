// OpenAI's package for Node: a grade, an eval, a run, and its items page by page.
"use strict";
const OpenAI = require("openai");
const { setTimeout: sleep } = require("node:timers/promises");

const EXACT = {
  type: "string_check",
  name: "exact",
  input: "{{sample.output_text}}",
  reference: "{{item.answer}}",
  operation: "eq",
};
const COUNT = 45;

async function road(client) {
  const graders = client.fineTuning.alpha.graders;
  const validated = await graders.validate({ grader: EXACT });
  const graded = await graders.run({ grader: EXACT, item: { answer: "Paris" }, model_sample: "Paris" });
  const evaluation = await client.evals.create({
    name: "node",
    data_source_config: { type: "custom", item_schema: { type: "object" }, include_sample_schema: true },
    testing_criteria: [EXACT],
  });
  const content = Array.from({ length: COUNT }, (_, number) => ({
    item: { answer: String(number % 2) },
    sample: { output_text: "0" },
  }));
  const created = await client.evals.runs.create(evaluation.id, {
    name: "node",
    data_source: { type: "jsonl", source: { type: "file_content", content } },
  });
  let run = created;
  for (let tries = 0; tries < 1200 && ["queued", "in_progress"].includes(run.status); tries++) {
    await sleep(50);
    run = await client.evals.runs.retrieve(created.id, { eval_id: evaluation.id });
  }
  const positions = [];
  for await (const item of client.evals.runs.outputItems.list(run.id, { eval_id: evaluation.id, limit: 20 })) {
    positions.push(item.datasource_item_id);
  }
  const failing = [];
  const filter = { eval_id: evaluation.id, status: "fail", order: "desc", limit: 10 };
  for await (const item of client.evals.runs.outputItems.list(run.id, filter)) {
    failing.push(item.datasource_item_id);
  }
  const first = await client.evals.runs.outputItems.list(run.id, { eval_id: evaluation.id, limit: 1 });
  const canceled = await client.evals.runs.cancel(run.id, { eval_id: evaluation.id });
  let refused = null;
  try {
    await graders.validate({ grader: { ...EXACT, operation: "equals" } });
  } catch (error) {
    refused = {
      class: error.constructor.name,
      isBadRequest: error instanceof OpenAI.BadRequestError,
      status: error.status,
      param: error.param,
      code: error.code,
      requestID: error.requestID,
    };
  }
  let unknown = null;
  try {
    await client.evals.retrieve("eval_0");
  } catch (error) {
    unknown = error instanceof OpenAI.NotFoundError;
  }
  return {
    validated: validated.grader,
    requestID: validated._request_id,
    reward: graded.reward,
    errors: graded.metadata.errors,
    evaluation: evaluation.id,
    run: { status: run.status, counts: run.result_counts, criteria: run.per_testing_criteria_results },
    criterion: evaluation.testing_criteria[0].id,
    positions,
    failing,
    results: first.data[0].results,
    canceled: canceled.status,
    refused,
    unknown,
    deleted: await client.evals.delete(evaluation.id),
  };
}

async function main() {
  const { SERVER, OPENAI_API_KEY } = process.env;
  const clients = { openai: new OpenAI() };
  delete process.env.OPENAI_BASE_URL; // it and an endpoint exclude each other
  clients.azure = new OpenAI.AzureOpenAI({
    endpoint: SERVER,
    apiKey: OPENAI_API_KEY,
    apiVersion: "2025-04-01-preview",
    deployment: "gpt-4o",
  });
  const facts = {};
  for (const [name, client] of Object.entries(clients)) facts[name] = await road(client);
  console.log(JSON.stringify(facts));
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
