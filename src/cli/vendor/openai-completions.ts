/**
 * OpenAI's text completions. Each of several prompts gets an answer.
 */
import { type Fields, fieldsOrEmpty, listOrEmpty } from '../../vendors/usage/figures.ts';
import { type Dialect, type Frame, newId, nowSeconds, wrong } from './dialect.ts';
import { positiveInteger, type Read } from './prompt.ts';
import type { Reply } from './reply.ts';

export const COMPLETIONS: Dialect = { read, plain, frames };

/** Source: OpenAI's API reference, `max_tokens` of completions. */
const TOKENS_DEFAULT = 16;

function read(body: Fields): Read {
  const { model, prompt = '' } = body;
  if (typeof model !== 'string' || model === '') return wrong('model', 'must be the name of a model');
  const text = typeof prompt === 'string' ? prompt : listOrEmpty(prompt).map(String).join('\n');
  return {
    ok: true,
    prompt: {
      vendor: 'openai',
      model,
      text,
      last: { by: 'user', text },
      tools: [],
      toolChoice: 'none',
      json: null,
      outputTokensMax: positiveInteger(body.max_tokens) ?? TOKENS_DEFAULT,
    },
  };
}

/** An answer for each prompt, as many as requested. */
function countAnswers({ n, prompt }: Fields): number {
  const prompts = listOrEmpty(prompt).filter((one) => typeof one === 'string').length;
  return Math.min(128, (positiveInteger(n) ?? 1) * Math.max(1, prompts));
}

function envelope({ model }: Reply): Fields {
  return { id: newId('cmpl-'), object: 'text_completion', created: nowSeconds(), model };
}

function completionUsage({ inputTokens, outputTokens }: Reply, answers: number): Fields {
  const completion = outputTokens * answers;
  return { prompt_tokens: inputTokens, completion_tokens: completion, total_tokens: inputTokens + completion };
}

const choice = (index: number, text: string, finish: string | null): Fields => ({
  index,
  text,
  logprobs: null,
  finish_reason: finish,
});

const completionFinishReason = ({ isCutOff }: Reply) => (isCutOff ? 'length' : 'stop');

function plain(reply: Reply, body: Fields): Fields {
  const answers = countAnswers(body);
  const choices = Array.from({ length: answers }, (_, index) =>
    choice(index, reply.text, completionFinishReason(reply)),
  );
  return { ...envelope(reply), choices, usage: completionUsage(reply, answers) };
}

function frames(reply: Reply, body: Fields): Frame[] {
  const answers = countAnswers(body);
  const common = envelope(reply);
  const withUsage = fieldsOrEmpty(body.stream_options).include_usage === true;
  const chunk = (choices: Fields[], usage: unknown = null): Frame => ({
    data: { ...common, choices, ...(withUsage && { usage }) },
  });
  const all = Array.from({ length: answers }, (_, index) => index);
  return [
    ...all.flatMap((index) => reply.pieces.map((piece) => chunk([choice(index, piece, null)]))),
    ...all.map((index) => chunk([choice(index, '', completionFinishReason(reply))])),
    ...(withUsage ? [chunk([], completionUsage(reply, answers))] : []),
    { data: '[DONE]' },
  ];
}
