/**
 * `npm run vendor`: the vendor for trying out alone, with a line for each request.
 */
import { parseArgs } from 'node:util';
import { isUsageError, UsageError } from './usage-error.ts';
import { type Entry, SLOW_MS, startTrialVendor } from './vendor/server.ts';

const PORT_DEFAULT = 8788;

const HELP = `npm run vendor [-- --port ${PORT_DEFAULT}] [--json]

Answers as OpenAI, Anthropic and Google do, on this machine and for any key, so that applications run without one of
a real vendor. Its answers are made up; usage is counted in the text that was sent and answered. \`npm start\` runs one
too, and registers it for the demo organization.

  --port     port to serve on (${PORT_DEFAULT}; 0 for any that is free)
  --json     each request as a line of JSON
  --help     this text

What it answers:
  OpenAI      /v1/chat/completions, /v1/responses, /v1/responses/compact, /v1/responses/input_tokens, /v1/embeddings,
              /v1/models, /v1/files, /v1/uploads, /v1/batches,
              /v1/completions, /v1/moderations, /v1/images/generations, /v1/images/edits, /v1/audio/speech,
              /v1/audio/transcriptions, /v1/audio/translations
  Anthropic   /v1/messages, /v1/messages/count_tokens, /v1/models, and OpenAI's form of a chat completion
  Google      /v1beta/models/{model}:generateContent, :streamGenerateContent, :countTokens, :embedContent,
              :batchEmbedContents, /v1beta/models, all of them under /v1 too, and under /v1beta/openai
              chat/completions, embeddings, models
  Jina        /v1/rerank
  Mistral     /v1/libraries/{id}

A prompt whose first line is made of these words asks for more than an answer in prose:
  error 429   that status, as the vendor words it; any from 400 to 599
  slow        an answer after ${SLOW_MS / 1_000} seconds, a stream over as long
  cut         the connection breaks in the middle of the answer
  long        an answer of a thousand numbers
  tool        a call of the request's first tool

A tool is also called if the request demands it, or if the prompt has a word of its name (get_weather: "weather").
If the request has a JSON schema, the answer is a value of it.`;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { port: { type: 'string' }, json: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } },
  });
  if (values.help) return console.log(HELP);
  const port = Number(values.port ?? PORT_DEFAULT);
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new UsageError(`--port must be a port number, not ${values.port}`);
  const isJson = values.json === true;
  const vendor = await startTrialVendor({
    port,
    onAnswer: (entry) => console.log(isJson ? JSON.stringify(entry) : logLine(entry)),
  }).catch((error: Error) => {
    throw new Error(`${error.message}; choose another with --port`);
  });

  // Standard output has only the requests.
  console.error(`A vendor for trying out answers at ${vendor.url}: its answers are made up, and any key will do.

  OPENAI_BASE_URL=${vendor.url}/v1
  ANTHROPIC_BASE_URL=${vendor.url}
  GOOGLE_GEMINI_BASE_URL=${vendor.url}

Ctrl+C stops.`);
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void vendor.stop().then(() => process.exit(0)));
}

function logLine({ method, path, status, model, inputTokens, outputTokens, stream }: Entry): string {
  const used = model === undefined ? '' : `  ${model}: ${inputTokens} tokens in, ${outputTokens} out`;
  return `${method.padEnd(6)} ${path}  ${status}${stream ? ' stream' : ''}${used}`;
}

main().catch((error: Error) => {
  console.error(`The vendor did not start: ${error.message}`);
  process.exitCode = isUsageError(error) ? 2 : 1;
});
