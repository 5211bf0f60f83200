/**
 * The usage of a streamed completion, of chat or of text: the vendor is asked for it. A caller that did not ask for it
 * does not see it; one that did also gets the cost.
 */
import { parseAnswer } from '../../platform/json.ts';
import type { StreamEvent } from '../../vendors/event-blocks.ts';
import type { Transform } from '../../vendors/tee.ts';
import type { VendorUsage } from '../../vendors/usage.ts';
import type { AttemptTerms, StreamCost, VendorBody } from './dialect.ts';

/** A chunk whose usage is an object; most chunks say `"usage":null`, or have no usage. */
const HAS_USAGE = /"usage"\s*:\s*\{/;

interface StreamRequest {
  stream?: boolean | null | undefined;
  stream_options?: { include_usage?: boolean | null | undefined } | null | undefined;
}

/** Makes the body ask for the usage of a stream if its caller did not and the terms say so. */
export function withUsageAsked(
  body: VendorBody,
  { stream, stream_options }: StreamRequest,
  { addsUsage }: Pick<AttemptTerms, 'addsUsage'>,
): VendorBody {
  if (!addsUsage || stream !== true || stream_options?.include_usage === true) return body;
  return { ...body, stream_options: { ...stream_options, include_usage: true } };
}

export function usageInStream(
  { stream_options }: StreamRequest,
  cost: StreamCost,
  addsUsage: boolean,
): Transform | undefined {
  const includeUsage = stream_options?.include_usage === true;
  if (!includeUsage && !addsUsage) return undefined;
  return (event, reading) => {
    if (!HAS_USAGE.test(event.data)) return event;
    const chunk = parseAnswer(event.data) as { usage?: unknown; choices?: unknown } | null | undefined;
    if (chunk == null || typeof chunk.usage !== 'object' || chunk.usage === null) return event;
    if (!includeUsage) {
      const hasChoices = Array.isArray(chunk.choices) && chunk.choices.length > 0;
      return hasChoices ? event : null;
    }
    return withCost(event, { ...chunk, usage: chunk.usage }, reading.usage(), cost);
  };
}

/** The event with the cost of the usage so far, if it is known. */
async function withCost(
  event: StreamEvent,
  chunk: { usage: object },
  usage: VendorUsage | null,
  cost: StreamCost,
): Promise<StreamEvent> {
  const costUsd = usage && (await cost(usage));
  if (costUsd === null) return event;
  return { ...event, data: JSON.stringify({ ...chunk, usage: { ...chunk.usage, cost_usd: costUsd } }) };
}
