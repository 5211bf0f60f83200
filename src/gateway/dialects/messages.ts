/**
 * The dialect of `POST /v1/messages`, Anthropic's own API. Streams pass byte for byte.
 */
import type { z } from 'zod';
import { modelOperations } from '../../contract/gateway/operations.ts';
import type { MessageRequest } from '../../contract/gateway/requests.ts';
import { isEffort, thinkingWithin } from '../../vendors/effort.ts';
import { withTakenToolIds } from '../../vendors/tool-ids.ts';
import { anthropicEndpoint } from './anthropic.ts';
import type { AttemptTerms, Dialect, VendorBody } from './dialect.ts';
import { MessageClosing } from './messages-closing.ts';

/** Anthropic's lowest budget for thinking (platform.claude.com/docs/en/build-with-claude/extended-thinking). */
const THINKING_TOKENS_MIN = 1_024;

type Request = z.infer<typeof MessageRequest>;

export const messages: Dialect<typeof modelOperations.createMessage> = {
  operation: modelOperations.createMessage,
  ...anthropicEndpoint('messages'),
  userOf: ({ metadata }) => metadata?.user_id ?? undefined,

  effortAsked(request) {
    const { effort } = request.output_config ?? {};
    if (isEffort(effort)) return effort;
    return thinksNot(request) ? 'none' : undefined;
  },

  thinksNot,

  vendorBody: (request, terms) => ({ ...messageBody(request, terms), messages: withTakenToolIds(request.messages) }),

  streamTransform: () => undefined,
  streamClosing: ({ model }) => new MessageClosing(model),
};

/** The request with the effort and the thinking that it may have. */
export function messageBody(request: Request, terms: AttemptTerms): VendorBody {
  const body: VendorBody = { ...request, model: terms.model };
  const { effort: asked, ...config } = request.output_config ?? {};
  // A model that does not think needs no level, and Anthropic has none for it.
  const isNone = terms.effort === 'none' || thinksNot(request);
  const effort = isNone ? undefined : terms.effort;
  const outputConfig = effort === undefined ? config : { ...config, effort };
  if (effort !== asked) {
    if (Object.keys(outputConfig).length > 0) body.output_config = outputConfig;
    else delete body.output_config;
  }
  return withThinkingUnder(body, request.thinking, terms);
}

/** An effort beside it may be that of thinking. */
function thinksNot({ thinking, output_config }: Request): boolean {
  return thinking?.type === 'disabled' && output_config?.effort == null;
}

/** Under a ceiling the model thinks less, or not at all. */
function withThinkingUnder(
  body: VendorBody,
  thinking: { type: string; budget_tokens?: number | null | undefined } | null | undefined,
  { ceiling }: AttemptTerms,
): VendorBody {
  if (!thinking || thinking.type === 'disabled') return body;
  const asked = thinking.budget_tokens;
  const tokens = asked == null ? null : thinkingWithin(asked, ceiling);
  if (ceiling === 'none' || (tokens !== null && tokens < THINKING_TOKENS_MIN && tokens !== asked)) {
    const { thinking: _thinking, ...rest } = body;
    return rest;
  }
  return tokens === null || tokens === asked ? body : { ...body, thinking: { ...thinking, budget_tokens: tokens } };
}
