/**
 * The early end of content that Google streams: each candidate that is not finished ends for the reason `MAX_TOKENS`, with
 * the usage so far.
 */
import { serializeEvent } from '../../vendors/event-blocks.ts';
import { type Fields, fieldsOrEmpty, listOrEmpty } from '../../vendors/usage/figures.ts';
import type { Stopped, StreamClosing } from './dialect.ts';

/** The most candidates that are followed; Google makes at most eight. */
const CANDIDATES_MAX = 128;
/** The members that all chunks of an answer share. */
const COMMON = ['modelVersion', 'responseId', 'createTime'];

export class GenerateContentClosing implements StreamClosing {
  readonly #common: Fields;
  readonly #finished = new Map<number, boolean>();

  constructor(model: string, candidates: number) {
    this.#common = { modelVersion: model };
    for (let index = 0; index < Math.min(candidates, CANDIDATES_MAX); index += 1) this.#finished.set(index, false);
  }

  passed(chunk: Fields): void {
    for (const name of COMMON) if (chunk[name] != null) this.#common[name] = chunk[name];
    for (const candidate of listOrEmpty(chunk.candidates)) {
      const { index = 0, finishReason: reason } = fieldsOrEmpty(candidate);
      if (typeof index === 'number' && index < CANDIDATES_MAX && typeof reason === 'string')
        this.#finished.set(index, true);
    }
  }

  close({ code, usage }: Stopped): string {
    const open = [...this.#finished].filter(([, finished]) => !finished).map(([index]) => index);
    const chunk = {
      candidates: open.map((index) => ({ content: { parts: [], role: 'model' }, finishReason: 'MAX_TOKENS', index })),
      ...(usage && { usageMetadata: usageMetadata(usage) }),
      ...this.#common,
      service: { code, ...(usage && { usageSource: usage.source }) },
    };
    return serializeEvent({ data: JSON.stringify(chunk) });
  }
}

function usageMetadata({ figures, costUsd }: NonNullable<Stopped['usage']>): Fields {
  const { inputTokens, cachedInputTokens, responseTokens, reasoningTokens } = figures;
  return {
    promptTokenCount: inputTokens,
    candidatesTokenCount: responseTokens - reasoningTokens,
    totalTokenCount: inputTokens + responseTokens,
    ...(cachedInputTokens > 0 && { cachedContentTokenCount: cachedInputTokens }),
    ...(reasoningTokens > 0 && { thoughtsTokenCount: reasoningTokens }),
    ...(costUsd !== null && { costUsd }),
  };
}
