/**
 * Google's generateContent, its stream, and countTokens.
 */
import { type Fields, fieldsOrEmpty, listOrEmpty } from '../../vendors/usage/figures.ts';
import { type Dialect, type Frame, newId, wrong } from './dialect.ts';
import { collectText, positiveInteger, type Read, sentText, type ToolChoice } from './prompt.ts';
import { type Reply, tokensAfterEach } from './reply.ts';

export const CONTENT: Dialect = {
  read,
  plain: (reply) => buildAnswer(reply, newId(''), [contentPart(reply)], reply.outputTokens, true),
  frames,
};

export const COUNT_TOKENS: Dialect = {
  // The counted content is in the body, or is a whole request within it.
  read: ({ generateContentRequest, ...body }, model) =>
    read(generateContentRequest === undefined ? body : fieldsOrEmpty(generateContentRequest), model),
  plain: ({ inputTokens }) => ({ totalTokens: inputTokens, promptTokensDetails: ofText(inputTokens) }),
  frames: () => [],
};

const ofText = (tokenCount: number) => [{ modality: 'TEXT', tokenCount }];

function read(body: Fields, model = ''): Read {
  const contents = listOrEmpty(body.contents).map(fieldsOrEmpty);
  if (contents.length === 0) return wrong('contents', 'must have at least one content');
  const said = contents.findLast(({ role }) => role !== 'model') ?? {};
  const results = listOrEmpty(said.parts).flatMap((part) => fieldsOrEmpty(part).functionResponse ?? []);
  const tools = listOrEmpty(body.tools)
    .flatMap((tool) => listOrEmpty(fieldsOrEmpty(tool).functionDeclarations))
    .map(fieldsOrEmpty)
    .map(({ name, parameters, parametersJsonSchema }) => ({
      name: String(name),
      schema: parametersJsonSchema ?? parameters,
    }));
  const config = fieldsOrEmpty(body.generationConfig);
  return {
    ok: true,
    prompt: {
      vendor: 'google',
      model,
      text: sentText([body.systemInstruction ?? body.system_instruction, ...contents], tools),
      last:
        results.length > 0
          ? { by: 'tool', text: collectText(results.map((result) => fieldsOrEmpty(result).response)) }
          : { by: 'user', text: collectText(said.parts) },
      tools,
      toolChoice: choiceIn(fieldsOrEmpty(fieldsOrEmpty(body.toolConfig).functionCallingConfig)),
      json:
        config.responseMimeType === 'application/json'
          ? { schema: config.responseJsonSchema ?? config.responseSchema }
          : null,
      outputTokensMax: positiveInteger(config.maxOutputTokens),
    },
  };
}

function choiceIn({ mode, allowedFunctionNames }: Fields): ToolChoice {
  if (mode === 'NONE') return 'none';
  if (mode !== 'ANY') return 'auto';
  const [name] = listOrEmpty(allowedFunctionNames);
  return typeof name === 'string' ? { name } : 'required';
}

function contentPart({ text, tool }: Reply): Fields {
  return tool === null ? { text } : { functionCall: { name: tool.name, args: tool.input } };
}

function buildAnswer(reply: Reply, id: string, parts: Fields[], candidateTokens: number, isLast: boolean): Fields {
  const { model, inputTokens, isCutOff } = reply;
  const finishReason = isCutOff ? 'MAX_TOKENS' : 'STOP';
  return {
    candidates: [{ content: { parts, role: 'model' }, ...(isLast && { finishReason }), index: 0 }],
    usageMetadata: {
      promptTokenCount: inputTokens,
      // A zero is left out, as in Google's own answers.
      ...(candidateTokens > 0 && { candidatesTokenCount: candidateTokens }),
      totalTokenCount: inputTokens + candidateTokens,
      promptTokensDetails: ofText(inputTokens),
    },
    modelVersion: model,
    responseId: id,
  };
}

/** Each piece has the tokens so far; a function call comes whole. */
function frames(reply: Reply): Frame[] {
  const id = newId('');
  if (reply.tool !== null || reply.pieces.length === 0)
    return [{ data: buildAnswer(reply, id, [contentPart(reply)], reply.outputTokens, true) }];
  const tokens = tokensAfterEach('google', reply);
  return reply.pieces.map((text, index) => {
    const isLast = index === reply.pieces.length - 1;
    return { data: buildAnswer(reply, id, [{ text }], tokens[index] ?? 0, isLast) };
  });
}
