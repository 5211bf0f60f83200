/**
 * The endpoints whose requests are described, found by the path of a vendor's address: their name in `creditOpen`,
 * their fields, and the kinds of their answers.
 */
import type { FORMS } from '../../contract/credit-open.ts';
import type { VendorKind } from '../../domain/vendor-kind.ts';
import { CHAT } from './fields/chat.ts';
import { ANTHROPIC_CHAT, COMPATIBLE, OPENROUTER } from './fields/common.ts';
import { GENERATE_CONTENT } from './fields/generate-content.ts';
import {
  BATCH_EMBED_CONTENTS,
  COMPLETIONS,
  EMBED_CONTENT,
  EMBEDDINGS,
  IMAGE_EDITS,
  IMAGES,
  MODERATIONS,
  SPEECH,
  TRANSCRIPTIONS,
} from './fields/media.ts';
import { MESSAGES } from './fields/messages.ts';
import { COMPACT, RESPONSES } from './fields/responses.ts';
import type { Members } from './rules.ts';

export type EndpointName = (typeof FORMS)[number];

export interface Endpoint {
  name: EndpointName;
  /** Matches the end of its path. */
  path: RegExp;
  fields: Members;
  /** The kind of the answers. `nothing`: vectors and verdicts. */
  answers: 'text' | 'pictures' | 'sound' | 'transcript' | 'nothing';
}

const ENDPOINTS: readonly Endpoint[] = [
  { name: 'chat', path: /(?:^|\/)chat\/completions$/, fields: CHAT, answers: 'text' },
  { name: 'completions', path: /(?:^|\/)completions$/, fields: COMPLETIONS, answers: 'text' },
  { name: 'responses', path: /(?:^|\/)responses$/, fields: RESPONSES, answers: 'text' },
  { name: 'compact', path: /(?:^|\/)responses\/compact$/, fields: COMPACT, answers: 'text' },
  { name: 'messages', path: /(?:^|\/)messages$/, fields: MESSAGES, answers: 'text' },
  { name: 'generateContent', path: /:(?:streamG|g)enerateContent$/, fields: GENERATE_CONTENT, answers: 'text' },
  { name: 'embeddings', path: /(?:^|\/)embeddings$/, fields: EMBEDDINGS, answers: 'nothing' },
  { name: 'embedContent', path: /:embedContent$/, fields: EMBED_CONTENT, answers: 'nothing' },
  { name: 'embedContent', path: /:batchEmbedContents$/, fields: BATCH_EMBED_CONTENTS, answers: 'nothing' },
  { name: 'images', path: /(?:^|\/)images\/generations$/, fields: IMAGES, answers: 'pictures' },
  { name: 'imageEdits', path: /(?:^|\/)images\/edits$/, fields: IMAGE_EDITS, answers: 'pictures' },
  { name: 'speech', path: /(?:^|\/)audio\/speech$/, fields: SPEECH, answers: 'sound' },
  {
    name: 'transcriptions',
    path: /(?:^|\/)audio\/(?:transcriptions|translations)$/,
    fields: TRANSCRIPTIONS,
    answers: 'transcript',
  },
  { name: 'moderations', path: /(?:^|\/)moderations$/, fields: MODERATIONS, answers: 'nothing' },
];

/**
 * `path` is the path of an address, with or without its origin and its query. Returns `undefined` for any other
 * endpoint.
 */
export function endpointAt(path: string): Endpoint | undefined {
  const plain = path.replace(/[?#].*$/s, '').replace(/\/$/, '');
  return ENDPOINTS.find((endpoint) => endpoint.path.test(plain));
}

/** Fields that vendors of a kind take besides the endpoint's own, in OpenAI's forms. */
const BESIDE: Partial<Record<VendorKind, Members>> = {
  compatible: COMPATIBLE,
  openrouter: OPENROUTER,
  anthropic: ANTHROPIC_CHAT,
};
const OF_OPENAI: ReadonlySet<EndpointName> = new Set(['chat', 'completions', 'responses', 'embeddings']);

/** The fields that an endpoint has at vendors of a kind. */
export function fieldsAt({ name, fields }: Endpoint, kind: VendorKind): Members {
  const beside = OF_OPENAI.has(name) ? BESIDE[kind] : undefined;
  return beside === undefined ? fields : { ...beside, ...fields };
}
