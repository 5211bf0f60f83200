/**
 * The dialect of `POST /v1/messages`, Anthropic's own API. Streams pass byte for byte.
 */
import { modelOperations } from '../../contract/gateway/operations.ts';
import { isEffort, thinkingWithin } from '../../vendors/effort.ts';
import { anthropicEndpoint } from './anthropic.ts';
import type { AttemptTerms, Dialect, VendorBody } from './dialect.ts';
import { MessageClosing } from './messages-closing.ts';

/** Anthropic's lowest budget for thinking (platform.claude.com/docs/en/build-with-claude/extended-thinking). */
const THINKING_TOKENS_MIN = 1_024;

export const messages: Dialect<typeof modelOperations.createMessage> = {
  operation: modelOperations.createMessage,
  ...anthropicEndpoint('messages'),
  sessionFields: null,
  userOf: ({ metadata }) => metadata?.user_id ?? undefined,

  effortAsked({ output_config, thinking }) {
    if (isEffort(output_config?.effort)) return output_config.effort;
    return thinking?.type === 'disabled' ? 'none' : undefined;
  },

  vendorBody(request, terms) {
    const body: VendorBody = { ...request, model: terms.model };
    const { effort: asked, ...config } = request.output_config ?? {};
    // A model that does not think needs no level, and Anthropic has none for it.
    const isNone = terms.effort === 'none' || (asked === undefined && request.thinking?.type === 'disabled');
    const effort = isNone ? undefined : terms.effort;
    const outputConfig = effort === undefined ? config : { ...config, effort };
    if (effort !== asked) {
      if (Object.keys(outputConfig).length > 0) body.output_config = outputConfig;
      else delete body.output_config;
    }
    return withThinkingUnder(body, request.thinking, terms);
  },

  streamTransform: () => undefined,
  streamClosing: ({ model }) => new MessageClosing(model),
};

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
