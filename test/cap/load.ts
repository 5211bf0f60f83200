/**
 * The requests of the cap suite: each is sent once, in the way of the service's clients, and its result is noted under
 * the marker that names it at the vendor and in the record.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { MEDIA_TYPE } from '../../src/contract/envelope.ts';
import { computeCharge, INPUT_TOKENS, MODEL, PROVIDER } from './price.ts';
import { type Fault, writePrompt } from './vendor.ts';
import { type Attempt, HELD, SPENT, TOO_OFTEN } from './verdict.ts';
import type { Customer, World } from './world.ts';

/**
 * `begin-hold` and `begin-estimate` are pairs of `call_begin` and `call_end`, the first with `holdUsd`, the second with
 * an `estimate`, `begin-plain` with neither. `unified` is `POST /call`.
 */
export type Kind = 'plain' | 'stream' | 'begin-hold' | 'begin-estimate' | 'begin-plain' | 'unified' | 'increment';

export interface Ask {
  kind: Kind;
  customer: Customer;
  outputTokens: number;
  /** The bound in the request; `null` for none. */
  outputTokensMax: number | null;
  durationMs: number;
  fault?: Fault | undefined;
  provider?: string;
  /** The caller goes away after this time. */
  leaveAfterMs?: number;
  /** With an idempotency key. Calls that begin and end apart always have one. */
  keyed?: boolean;
}

/** An application's report of a call that it made itself. */
interface OwnReport {
  marker: string;
  inputTokens: number;
  outputTokens: number;
}

export interface Journal {
  attempts: Attempt[];
  reports: OwnReport[];
}

interface Answer {
  status: number;
  text: string;
  headers: Headers;
}

/** Codes of refusals for lack of budget, and of a plan's own refusals. */
const REFUSAL = new RegExp(`^(${HELD}|${SPENT}|${TOO_OFTEN}|ENTITLEMENT_DENIED)\\b`);
const RETRY_MS = 1_000;
/** A request without an answer is sent again after this time, if its key makes that safe. */
const RESEND_MS = 100;
const RESEND_MS_MAX = 30_000;
const REQUEST_MS_MAX = 60_000;

export class Load {
  readonly journal: Journal = { attempts: [], reports: [] };
  readonly #world: World;
  #serial = 0;

  constructor(world: World) {
    this.#world = world;
  }

  /** One request. */
  async send(ask: Ask): Promise<Attempt> {
    this.#serial += 1;
    const attempt: Attempt = {
      marker: `${ask.customer.customerId}-${String(this.#serial).padStart(6, '0')}`,
      customerId: ask.customer.customerId,
      kind: ask.kind,
      sentAtMs: Date.now(),
      answeredAtMs: null,
      outcome: 'lost',
      code: null,
      streamEnd: null,
    };
    this.journal.attempts.push(attempt);
    await this.#carryOut(ask, attempt);
    return attempt;
  }

  /**
   * Sends in the way of an SDK: if a hold of open calls refused the request, it is sent again after the time in the
   * answer. Returns the last attempt.
   */
  async sendUntilServed(ask: Ask, retriesMax: number, signal: AbortSignal): Promise<Attempt> {
    for (let retries = 0; ; retries += 1) {
      const attempt = await this.send(ask);
      if (attempt.code !== HELD || retries >= retriesMax || signal.aborted) return attempt;
      await sleep(RETRY_MS);
    }
  }

  #carryOut(ask: Ask, attempt: Attempt): Promise<void> {
    switch (ask.kind) {
      case 'plain':
      case 'stream':
        return this.#complete(ask, attempt);
      case 'unified':
        return this.#unify(ask, attempt);
      case 'increment':
        return this.#increment(ask, attempt);
      default:
        return this.#pair(ask, attempt);
    }
  }

  async #complete(ask: Ask, attempt: Attempt): Promise<void> {
    const { customer, kind, provider = PROVIDER, leaveAfterMs, keyed = false } = ask;
    const body = {
      ...vendorBody(ask, attempt.marker),
      model: `${provider}/${MODEL}`,
      customer: customer.customerId,
      tags: [attempt.marker],
    };
    const headers = keyed ? { 'Idempotency-Key': attempt.marker } : {};
    const leaving = leaveAfterMs === undefined ? null : AbortSignal.timeout(leaveAfterMs);
    const answer = await this.#request('/v1/chat/completions', body, headers, leaving);
    if (answer === null) {
      if (leaving?.aborted) attempt.outcome = 'left';
      return;
    }
    attempt.answeredAtMs = Date.now();
    if (answer.status === 200) {
      attempt.outcome = 'served';
      if (kind === 'stream') attempt.streamEnd = streamEndOf(answer.text);
      return;
    }
    this.#fail(attempt, answer);
  }

  async #unify(ask: Ask, attempt: Attempt): Promise<void> {
    const { vendor } = this.#world;
    const { customer, durationMs } = ask;
    const body = {
      customerId: customer.customerId,
      requested: { premium: true },
      tags: [attempt.marker],
      vendor: {
        url: `${vendor.baseUrl}/chat/completions`,
        provider: PROVIDER,
        headers: { Authorization: 'Bearer sk-caller' },
        body: { ...vendorBody({ ...ask, kind: 'plain' }, attempt.marker), model: MODEL },
        timeoutMs: 2 * durationMs + 2_000,
      },
    };
    const answer = await this.#request('/call', body, { 'Idempotency-Key': attempt.marker });
    if (answer === null) return;
    attempt.answeredAtMs = Date.now();
    const data = readData(answer);
    if (data === null) this.#fail(attempt, answer);
    else if (!this.#isDenied(attempt, data.begin)) {
      attempt.outcome = data.vendor?.ok ? 'served' : 'failed';
      if (!data.vendor?.ok) attempt.code = String(data.vendor?.status);
    }
  }

  async #pair(ask: Ask, attempt: Attempt): Promise<void> {
    const { customer, kind, outputTokens, outputTokensMax, durationMs } = ask;
    const { marker } = attempt;
    const headers = { 'Idempotency-Key': marker };
    const maxOutputTokens = outputTokensMax ?? outputTokens;
    const begin = await this.#untilAnswered(
      '/call_begin',
      {
        customerId: customer.customerId,
        requested: { premium: true },
        tags: [marker],
        ...(kind === 'begin-hold' && { holdUsd: Number(holdOf(ask)) / 1e9 }),
        ...(kind === 'begin-estimate' && {
          estimate: { model: `${PROVIDER}/${MODEL}`, inputTokens: INPUT_TOKENS, maxOutputTokens },
        }),
      },
      headers,
    );
    if (begin === null) return;
    const beginData = readData(begin);
    if (beginData === null || this.#isDenied(attempt, beginData)) {
      attempt.answeredAtMs = Date.now();
      if (beginData === null) this.#fail(attempt, begin);
      return;
    }
    await sleep(durationMs);
    const tokens = Math.min(outputTokens, maxOutputTokens);
    const end = await this.#untilAnswered(
      '/call_end',
      {
        callId: marker,
        providerUsed: PROVIDER,
        modelUsed: MODEL,
        inputTokens: INPUT_TOKENS,
        responseTokens: tokens,
      },
      headers,
    );
    if (end === null) return;
    attempt.answeredAtMs = Date.now();
    if (readData(end) === null) return this.#fail(attempt, end);
    attempt.outcome = 'served';
    this.journal.reports.push({ marker, inputTokens: INPUT_TOKENS, outputTokens: tokens });
  }

  async #increment({ customer }: Ask, attempt: Attempt): Promise<void> {
    const { marker } = attempt;
    const body = { customerId: customer.customerId, meterSlot: 'CUSTOM1', amount: 1, tags: [marker] };
    const answer = await this.#untilAnswered('/custom_meter', body, { 'Idempotency-Key': marker });
    if (answer === null) return;
    attempt.answeredAtMs = Date.now();
    const data = readData(answer);
    if (data === null) return this.#fail(attempt, answer);
    attempt.outcome = data.blocked ? 'refused' : 'served';
    if (data.blocked) attempt.code = 'BLOCKED';
  }

  #fail(attempt: Attempt, answer: Answer): void {
    attempt.code = answerCode(answer);
    attempt.outcome = REFUSAL.test(attempt.code) ? 'refused' : 'failed';
  }

  /** Whether a begin denied the call, and then notes why. */
  #isDenied(attempt: Attempt, { allowed, denial }: Json): boolean {
    if (allowed?.premium) return false;
    attempt.outcome = 'refused';
    attempt.code = denial?.code ?? 'NO_DENIAL_CODE';
    return true;
  }

  /** Sends again, over restarts of the server, until an answer arrives; `null` if none arrives in time. */
  async #untilAnswered(path: string, body: object, headers: Record<string, string>): Promise<Answer | null> {
    for (const giveUpAtMs = Date.now() + RESEND_MS_MAX; Date.now() < giveUpAtMs; await sleep(RESEND_MS)) {
      const answer = await this.#request(path, body, headers);
      if (answer !== null && answer.status < 500) return answer;
    }
    return null;
  }

  /** `null` if the caller left, or no whole answer arrived. */
  async #request(
    path: string,
    body: object,
    headers: Record<string, string>,
    leaving: AbortSignal | null = null,
  ): Promise<Answer | null> {
    const { server, apiKey } = this.#world;
    const late = AbortSignal.timeout(REQUEST_MS_MAX);
    try {
      const response = await fetch(server.url + path, {
        method: 'POST',
        headers: {
          Authorization: `Bearer ${apiKey}`,
          Accept: path.startsWith('/v1') ? '*/*' : MEDIA_TYPE,
          'Content-Type': 'application/json',
          ...headers,
        },
        body: JSON.stringify(body),
        signal: leaving ? AbortSignal.any([leaving, late]) : late,
      });
      return { status: response.status, text: await response.text(), headers: response.headers };
    } catch {
      return null;
    }
  }
}

// biome-ignore lint/suspicious/noExplicitAny: answers are read as they come
type Json = any;

function vendorBody({ kind, outputTokens, outputTokensMax, durationMs, fault }: Ask, marker: string): object {
  // Both names of the bound are in use.
  const name = marker.endsWith('1') ? 'max_completion_tokens' : 'max_tokens';
  return {
    messages: [{ role: 'user', content: writePrompt({ marker, outputTokens, durationMs, fault }) }],
    ...(outputTokensMax !== null && { [name]: outputTokensMax }),
    ...(kind === 'stream' && { stream: true }),
  };
}

/** The hold of `begin-hold`: its charge. */
function holdOf({ customer, outputTokens, outputTokensMax }: Ask): bigint {
  return computeCharge(INPUT_TOKENS, outputTokensMax ?? outputTokens, customer.markupPercent);
}

function streamEndOf(text: string): Attempt['streamEnd'] {
  if (text.includes('"BALANCE_EXHAUSTED"') && /"finish_reason":\s*"length"/.test(text)) return 'balance';
  return /"finish_reason":\s*"\w/.test(text) ? 'vendor' : 'nothing';
}

/** The data of a success; `null` for any other answer. */
function readData({ status, text }: Answer): Json {
  return status === 200 ? parsed(text)?.data : null;
}

/** The code of an error. A refusal that does not say whether to come back has more than that. */
function answerCode({ status, text, headers }: Answer): string {
  const code = String(parsed(text)?.error?.code ?? status);
  const retry = headers.get('x-should-retry');
  if (code === HELD && !(status === 429 && retry === 'true' && headers.has('retry-after')))
    return `${code} as ${status} with x-should-retry ${retry}`;
  if (code === SPENT && !(status === 402 && retry === 'false'))
    return `${code} as ${status} with x-should-retry ${retry}`;
  return code;
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
