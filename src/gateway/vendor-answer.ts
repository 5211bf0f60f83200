/**
 * Reads a vendor's answer: its usage, its error, and whether the vendor did the work. `vendor-result.ts` makes the
 * gateway's answer of it, and `service-calls/unified-call.ts` that of `POST /call`.
 */

import type { VendorKind } from '../domain/vendor-kind.ts';
import { readJson } from '../vendors/json-skim.ts';
import { PassedBody } from '../vendors/passed-body.ts';
import { CLIENT_LEFT, type PassingResult, type WholeResult } from '../vendors/request.ts';
import { withServedTier } from '../vendors/service-tier.ts';
import {
  readFailure,
  readSearches,
  readUsage,
  StreamUsage,
  type VendorFailure,
  type VendorUsage,
} from '../vendors/usage.ts';
import { hasWritten, WrittenTokens } from '../vendors/written-tokens.ts';
import type { GATEWAY_ERRORS } from './error-envelope.ts';

/** The usage and the error in a vendor's answer. */
export interface AnswerFacts {
  /** The usage that the vendor reported for the whole answer; `null` if it reported none. */
  reported: VendorUsage | null;
  /** Web searches. They are known even if the usage is not. */
  searches: number;
  /** The error, in the vendor's words; `null` if there is none. */
  failure: VendorFailure | null;
  /** The vendor sent an error and no output. It did no work, unless it reports usage. */
  refused: boolean;
}

/** An answer that arrived, with any status. */
export interface ReceivedAnswer extends AnswerFacts {
  status: number;
  /** The status is 2xx; otherwise `refused` is true. */
  ok: boolean;
  headers: Headers;
  /** Parsed; `undefined` if it is not JSON. */
  document: unknown;
}

export type VendorAnswer =
  /** `stream` has the events of an answer whose body is a text; `null` for any other body. */
  | (ReceivedAnswer & { kind: 'answer'; body: unknown; stream: StreamUsage | null })
  /** The answer was too large to keep: long texts are missing in `document`. */
  | (ReceivedAnswer & { kind: 'too_large'; message: string })
  /** No answer arrived. `refused`: the vendor cannot have done the work. */
  | { kind: 'none'; code: keyof typeof GATEWAY_ERRORS; message: string; refused: boolean };

/** With `events`, a body that is a text is read as a stream of that model's events. */
export function readVendorAnswer(result: WholeResult, events?: { kind: VendorKind; model: string }): VendorAnswer {
  switch (result.kind) {
    case 'timeout':
      return { kind: 'none', code: 'VENDOR_TIMEOUT', message: 'the vendor did not answer in time', refused: false };
    case 'left':
      return { kind: 'none', code: 'CLIENT_LEFT', message: CLIENT_LEFT, refused: false };
    case 'unreachable':
      return { kind: 'none', code: 'VENDOR_UNREACHABLE', message: result.message, refused: true };
    case 'broken':
      return { kind: 'none', code: 'VENDOR_ANSWER_BROKEN', message: result.message, refused: false };
    case 'too_large': {
      const { reading, ...received } = result;
      const document = reading instanceof PassedBody ? reading.document : undefined;
      return {
        ...{ ...received, document },
        // The usage in an answer that broke off is not the whole usage.
        reported: withServedTier(reading.truncated ? null : reading.usage(), received.headers),
        searches: reading.searches(),
        failure: readFailure(document),
        refused: !received.ok,
      };
    }
    case 'answer': {
      const { ok, headers, body } = result;
      const document = typeof body === 'string' ? readJson(body) : body;
      const stream = events && typeof body === 'string' ? readEvents(body, events) : null;
      const facts = readDocument(document, headers);
      const failure = (ok ? stream?.failed : null) ?? facts.failure;
      const usage = stream?.usage();
      return {
        ...{ ...result, document, stream, failure },
        reported: usage ? withServedTier(usage, headers) : facts.reported,
        searches: stream?.searches() || facts.searches,
        refused: !ok || (stream && !stream.empty ? failure !== null && !stream.hasOutput : facts.refused),
      };
    }
  }
}

/** Reads a parsed answer, or a line of a batch, which has no headers. */
export function readDocument(document: unknown, headers = new Headers()): AnswerFacts {
  const failure = readFailure(document);
  return {
    reported: withServedTier(readUsage(document), headers),
    searches: readSearches(document),
    failure,
    refused: failure !== null && !hasWritten(document),
  };
}

/** The answer of a stream that begins with an error and has no output; `null` for any other stream. */
export function readOpening({
  status,
  headers,
  first,
}: PassingResult): (ReceivedAnswer & { failure: VendorFailure }) | null {
  if (first === null) return null;
  const stream = new StreamUsage({ written: new WrittenTokens('compatible', '') });
  const document = stream.read(first);
  const { failed: failure } = stream;
  if (failure === null || stream.hasOutput) return null;
  const reported = withServedTier(stream.usage(), headers);
  return { status, ok: true, headers, document, reported, searches: readSearches(document), failure, refused: true };
}

function readEvents(text: string, { kind, model }: { kind: VendorKind; model: string }): StreamUsage {
  const stream = new StreamUsage({ written: new WrittenTokens(kind, model) });
  stream.push(text);
  stream.end();
  return stream;
}

/** The failure of an answer that is not ok, if it has no error. */
export function failureOfStatus(status: number): VendorFailure {
  return { code: `VENDOR_HTTP_${status}`, message: `the vendor answered ${status}` };
}
