/**
 * One request to an endpoint: a signed event in the form of Standard Webhooks, and the reply.
 */

import { openWebhookSecrets } from '../../config/webhook-secrets.ts';
import type { WebhookRow } from '../../config/webhooks.ts';
import type { Env } from '../../env.ts';
import { SERVICE_VERSION } from '../../platform/version.ts';
import { slackMessage } from '../slack.ts';
import { checkWebhookUrl } from './address.ts';
import { signatures } from './signature.ts';

/** The timeout of the whole answer, including its body. */
const TIMEOUT_MS = 10_000;
/** The most bytes of an answer's body that are read. */
const ANSWER_BYTES_MAX = 4_096;
/** The most characters of it that are stored. */
const ANSWER_LENGTH_MAX = 300;
/** Characters that no page can show. */
const CONTROL = /\p{Cc}+/gu;
const USER_AGENT = `Callmeter-Webhooks/${SERVICE_VERSION}`;

export interface Message {
  eventId: string;
  type: string;
  atMs: number;
  /** JSON text. */
  data: string;
}

/** The reply. Without a status, `answer` is the reason. */
export interface Reply {
  status: number | null;
  answer: string;
}

/** Sends an event. Throws only if the webhook's secret cannot be read at the moment. */
export async function sendMessage(env: Env, webhook: WebhookRow, message: Message, nowMs: number): Promise<Reply> {
  const allowed = checkWebhookUrl(webhook.url, webhook.registeredBy);
  if (!allowed.ok) return { status: null, answer: `the address is refused: ${allowed.reason}` };
  const secrets = await openWebhookSecrets(env, webhook, nowMs);
  if (secrets.length === 0) return { status: null, answer: 'the secret cannot be read: rotate it' };
  const body = renderBody(webhook, message);
  const timestamp = Math.floor(nowMs / 1_000);
  const headers = {
    'content-type': 'application/json',
    'user-agent': USER_AGENT,
    'webhook-id': message.eventId,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': await signatures(secrets, message.eventId, timestamp, body),
  };
  return post(allowed.url, headers, body);
}

/** The text is the same at each attempt, so that a receiver may compare. */
function renderBody({ format, organizationId, consoleOrigin }: WebhookRow, { type, atMs, data }: Message): string {
  if (format === 'slack') {
    const consoleUrl = consoleOrigin === null ? null : `${consoleOrigin}/console/organizations/${organizationId}`;
    return slackMessage(type, JSON.parse(data), consoleUrl);
  }
  return `{"type":${JSON.stringify(type)},"timestamp":"${new Date(atMs).toISOString()}","data":${data}}`;
}

async function post(url: URL, headers: Record<string, string>, body: string): Promise<Reply> {
  const controller = new AbortController();
  const late = Promise.withResolvers<'late'>();
  const timer = setTimeout(() => {
    late.resolve('late');
    controller.abort();
  }, TIMEOUT_MS);
  try {
    const request = fetch(url, { method: 'POST', headers, body, redirect: 'manual', signal: controller.signal });
    const reply = await Promise.race([awaitReply(request), late.promise]);
    return reply === 'late' ? { status: null, answer: `no answer within ${TIMEOUT_MS / 1_000} s` } : reply;
  } finally {
    clearTimeout(timer);
  }
}

async function awaitReply(request: Promise<Response>): Promise<Reply> {
  try {
    const response = await request;
    return { status: response.status, answer: await readExcerpt(response.body) };
  } catch {
    // The runtime's message about a failed connection names addresses, and does not help.
    return { status: null, answer: 'the connection failed' };
  }
}

/** The first characters of a body; the rest is not read. */
async function readExcerpt(body: ReadableStream<Uint8Array> | null): Promise<string> {
  if (!body) return '';
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  try {
    for (let bytes = 0; bytes < ANSWER_BYTES_MAX; ) {
      const { done, value } = await reader.read();
      if (done) break;
      bytes += value.byteLength;
      text += decoder.decode(value.subarray(0, ANSWER_BYTES_MAX), { stream: true });
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
  return text.replace(CONTROL, ' ').trim().slice(0, ANSWER_LENGTH_MAX);
}
