/**
 * Reads what came of a request to a vendor: what was used, what failed, and whether the vendor did the work. What the
 * caller is told of it is decided by `vendor-result.ts` for the gateway, and by `service-calls/unified-call.ts`.
 */

import type { VendorKind } from '../domain/vendor-kind.ts';
import { readJson } from '../vendors/json-skim.ts';
import { PassedBody } from '../vendors/passed-body.ts';
import { CLIENT_LEFT, type VendorResult, type WholeResult } from '../vendors/request.ts';
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

/** What an answer says of itself. */
export interface Said {
  /** The usage that the vendor reported of its whole answer. */
  reported: VendorUsage | null;
  /** Web searches, which are known even if the usage is not. */
  searches: number;
  /** The error in it, in the vendor's words; `null` if there is none. */
  failure: VendorFailure | null;
  /** It has an error in place of output: nothing was done, unless it reports usage. */
  refused: boolean;
}

/** An answer that came, whatever its status. One that is not ok is refused. */
export interface AnswerThatCame extends Said {
  status: number;
  ok: boolean;
  headers: Headers;
  /** Parsed; `undefined` if it is not JSON. */
  document: unknown;
}

export type VendorAnswer =
  /** `stream` has read the events of an answer that was held as text. */
  | (AnswerThatCame & { kind: 'answer'; body: unknown; stream: StreamUsage | null })
  /** It could not be held: its document lacks long texts. */
  | (AnswerThatCame & { kind: 'too_large'; message: string })
  /** `refused` if the vendor cannot have done the work. */
  | { kind: 'none'; code: keyof typeof GATEWAY_ERRORS; message: string; refused: boolean };

/** `events` tells of which model the events in a text are; without it, a text is no stream. */
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
      const { reading, ...came } = result;
      const document = reading instanceof PassedBody ? reading.document : undefined;
      return {
        ...{ ...came, document },
        // What was reported of an answer that broke off is not all of it.
        reported: withServedTier(reading.truncated ? null : reading.usage(), came.headers),
        searches: reading.searches(),
        failure: readFailure(document),
        refused: !came.ok,
      };
    }
    case 'answer': {
      const { ok, headers, body } = result;
      const document = typeof body === 'string' ? readJson(body) : body;
      const stream = events && typeof body === 'string' ? readEvents(body, events) : null;
      const said = readDocument(document, headers);
      const failure = (ok ? stream?.failed : null) ?? said.failure;
      const usage = stream?.usage();
      return {
        ...{ ...result, document, stream, failure },
        reported: usage ? withServedTier(usage, headers) : said.reported,
        searches: stream?.searches() || said.searches,
        refused: !ok || (stream && !stream.empty ? failure !== null && !stream.hasOutput : said.refused),
      };
    }
  }
}

/** Reads a parsed answer, or a line of a batch, which has no headers. */
export function readDocument(document: unknown, headers = new Headers()): Said {
  const failure = readFailure(document);
  return {
    reported: withServedTier(readUsage(document), headers),
    searches: readSearches(document),
    failure,
    refused: failure !== null && !hasWritten(document),
  };
}

/** The answer of a stream that begins with an error and nothing else; `null` of any other. */
export function readOpening({
  status,
  headers,
  first,
}: VendorResult & { kind: 'stream' }): (AnswerThatCame & { failure: VendorFailure }) | null {
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

/** The failure of an answer that is not ok and has no error in it. */
export function failureOfStatus(status: number): VendorFailure {
  return { code: `VENDOR_HTTP_${status}`, message: `the vendor answered ${status}` };
}
