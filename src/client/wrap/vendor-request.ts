/**
 * Vendor requests: whether a request runs a model, which one, and the same request for another model.
 *
 * OpenAI and Anthropic name the model in the body, Google in the URL.
 */
import { type Effort, isEffort } from '../../vendors/effort.ts';
import { requestedServiceTier } from '../../vendors/service-tier.ts';
import { type Fields, fieldsOrEmpty, isFields } from '../../vendors/usage/figures.ts';

/** The facts that a request states before it is sent. */
export interface ModelRequest {
  /** The caller's model name, or a name made by `modelByTier`. */
  model: string;
  provider: 'anthropic' | 'google' | undefined;
  streamed: boolean;
  /** The vendor would send the usage only in a chunk that the caller did not request. */
  hidesUsage: boolean;
  effort: Effort | undefined;
  /** The requested service tier, in the vendor's word. */
  serviceTier: string | undefined;
}

/** Matches with or without a version prefix, but not `/v1/threads/{id}/messages`. */
const BODY_PATH = /^(?:.*\/)?(?:chat\/completions|completions|embeddings|responses|v1\/messages)$/;
const GOOGLE_PATH = /^(.*\/(?:models|tunedModels)\/)([^/:]+)(:(?:generateContent|streamGenerateContent))$/;
const COMPLETION_PATH = /\/completions$/;

/** `null` if the request runs no model. `path` may include a query. */
export function parseModelRequest(method: string, path: string, body: unknown): ModelRequest | null {
  const pathname = path.replace(/[?#].*$/s, '');
  if (method.toUpperCase() !== 'POST' || !isFields(body)) return null;
  const google = GOOGLE_PATH.exec(pathname);
  if (google) {
    const streamed = google[3] === ':streamGenerateContent';
    return {
      model: decodeURIComponent(google[2] ?? ''),
      provider: 'google',
      streamed,
      hidesUsage: false,
      effort: undefined,
      serviceTier: requestedServiceTier(body.config ?? body),
    };
  }
  if (!BODY_PATH.test(pathname) || typeof body.model !== 'string') return null;
  const effort = body.reasoning_effort ?? fieldsOrEmpty(body.reasoning).effort;
  const streamed = body.stream === true;
  return {
    model: body.model,
    provider: pathname.endsWith('/messages') ? 'anthropic' : undefined,
    streamed,
    hidesUsage: streamed && COMPLETION_PATH.test(pathname) && fieldsOrEmpty(body.stream_options).include_usage !== true,
    effort: isEffort(effort) ? effort : undefined,
    serviceTier: requestedServiceTier(body),
  };
}

/** The body for the model that runs. For a streamed completion it requests the usage, which is otherwise absent. */
export function bodyFor(modelRequest: ModelRequest, body: Fields, model: string): Fields {
  if (modelRequest.provider === 'google') return body;
  const options = modelRequest.hidesUsage
    ? { stream_options: { ...fieldsOrEmpty(body.stream_options), include_usage: true } }
    : {};
  return { ...body, model, ...options };
}

/** The URL for the model that runs. */
export function addressFor(modelRequest: ModelRequest, url: string, model: string): string {
  if (modelRequest.provider !== 'google') return url;
  const address = new URL(url);
  address.pathname = address.pathname.replace(GOOGLE_PATH, (_, before: string, _model, verb: string) => {
    return before + encodeURIComponent(model) + verb;
  });
  return address.href;
}
