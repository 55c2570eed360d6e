"""The newest openai package: the model on this machine as the judge."""
# mypy: disable-error-code="import-not-found"

from openai import OpenAI

from tests.clients.scripts.facts import tell

client = OpenAI()
COUNT = [{"role": "user", "content": "Count from 1 to 10: 1, 2, 3, 4"}]
# Cold: by chance it may say one word and stop.
asked = {"model": "local/smollm2", "messages": COUNT, "max_tokens": 8, "temperature": 0, "seed": 1, "store": True}
whole = client.chat.completions.create(**asked)
chunks = list(client.chat.completions.create(**asked, stream=True))
run = client.fine_tuning.alpha.graders.run(
    grader={
        "type": "score_model",
        "name": "local",
        "model": "local/smollm2",
        "input": [{"role": "user", "content": "Score from 0 to 1 how correct this is: {{sample.output_text}}"}],
        "sampling_params": {"temperature": 0, "seed": 1},
    },
    model_sample="Paris is the capital of France.",
)
tell(
    {
        "said": whole.choices[0].message.content,
        "streamed": "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices),
        "pieces": len(chunks),
        "stored": [one.choices[0].message.content for one in client.chat.completions.list()],
        "reward": run.reward,
        "errors": [name for name, value in run.metadata.errors.to_dict().items() if value],
        "usage": run.metadata.token_usage,
        "model": run.metadata.sampled_model_name,
    }
)
