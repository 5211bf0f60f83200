/**
 * The vendors' official SDKs, wrapped, between vendors on loopback and a service that answers as a test tells it.
 */
import Anthropic from '@anthropic-ai/sdk';
import { GoogleGenAI } from '@google/genai';
import OpenAI from 'openai';
import { type Client, createClientIn } from '../../src/client/client.ts';
import { systemRuntime } from '../../src/client/runtime.ts';
import { type MeterEach, wrapAnthropic, wrapGoogle, wrapOpenAI } from '../../src/client/vendors.ts';
import { countWords, type FakeVendor, startVendor } from '../vendors/vendor.ts';
import { FailingServer } from './failing-server.ts';

export const NOTHING = {
  standard: false,
  premium: false,
  audio: false,
  image: false,
  search: false,
  reasoningLevel: 'NONE',
};
const HINTS = { suggestedModelTier: 'standard', reasoningLevel: 'HIGH', policy: 'NONE' };

export const PROMPT = 'say hello [reply:6] [reasoning:4] [cached:2] [written:1] [searches:3]';
export const REPLY = 'héllo 世界 👋🏽 wörld héllo 世界';
/** The usage of PROMPT that the vendor reports. */
export const USED = {
  inputTokens: countWords(PROMPT),
  cachedInputTokens: 2,
  cacheWriteInputTokens: 1,
  responseTokens: 10,
  reasoningTokens: 4,
};
export const openaiUsed = { modelUsed: 'gpt-5.2', providerUsed: 'openai', ...USED };

export const user = (content: string) => [{ role: 'user' as const, content }];
export const chat = { model: 'gpt-5.2', messages: user(PROMPT) };

export class MeteredSdks {
  readonly vendor: FakeVendor;
  readonly server: FailingServer;
  readonly callmeter: Client;
  /** The answer to the next begins. */
  allowed: object = {};
  hints: object = {};
  readonly plainOpenai: OpenAI;
  readonly #anthropic: Anthropic;
  readonly #google: GoogleGenAI;

  private constructor(vendor: FakeVendor, server: FailingServer) {
    this.vendor = vendor;
    this.server = server;
    this.callmeter = createClientIn(
      { ...systemRuntime, sleep: async () => undefined },
      { apiKey: 'utk-test', baseUrl: server.url },
    );
    this.plainOpenai = new OpenAI({ apiKey: 'sk-test', baseURL: `${vendor.url}/v1` });
    this.#anthropic = new Anthropic({ apiKey: 'sk-ant-test', baseURL: vendor.url });
    this.#google = new GoogleGenAI({ apiKey: 'AIza-test', httpOptions: { baseUrl: vendor.url } });
  }

  static async start(): Promise<MeteredSdks> {
    const server = await FailingServer.start(({ operation, key, body }) =>
      operation === 'beginCall'
        ? { callId: key, allowed: sdks.allowed, entitlementHints: sdks.hints }
        : { callId: body?.callId, status: body?.error ? 'FAILED' : 'COMPLETED', costUSD: 0.5 },
    );
    const sdks = new MeteredSdks(await startVendor(), server);
    sdks.reset();
    return sdks;
  }

  /** Everything is allowed in the standard tier, and nothing was seen yet. */
  reset(): void {
    this.allowed = { ...NOTHING, standard: true };
    this.hints = HINTS;
    this.server.script();
    this.vendor.requests.length = 0;
  }

  async stop(): Promise<void> {
    await Promise.all([this.vendor.close(), this.server.stop()]);
  }

  openai(more: Partial<MeterEach> = {}, maxRetries = 0): OpenAI {
    return wrapOpenAI(this.plainOpenai.withOptions({ maxRetries }), this.#options(more));
  }

  anthropic(more: Partial<MeterEach> = {}, maxRetries = 0): Anthropic {
    return wrapAnthropic(this.#anthropic.withOptions({ maxRetries }), this.#options(more));
  }

  google(more: Partial<MeterEach> = {}): GoogleGenAI {
    return wrapGoogle(this.#google, this.#options(more));
  }

  begins() {
    return this.server.seen.filter(({ operation }) => operation === 'beginCall').map(({ body }) => body);
  }

  /** The reports, without the ids. */
  ends() {
    return this.server.seen
      .filter(({ operation }) => operation === 'endCall')
      .map(({ body }) => ({ ...body, callId: undefined }));
  }

  /** The models that the vendors were asked for. */
  sentModels(): unknown[] {
    return this.vendor.requests.map(({ body, path }) => body.model ?? /models\/([^:]+)/.exec(path)?.[1]);
  }

  #options(more: Partial<MeterEach>): MeterEach {
    return { callmeter: this.callmeter, customerId: 'alice', ...more };
  }
}

export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}
