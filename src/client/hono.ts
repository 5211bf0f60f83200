/**
 * Middleware for Hono: one call per request.
 *
 * ```ts
 * import { Hono } from 'hono';
 * import OpenAI from 'openai';
 * import { createClient } from 'callmeter/client';
 * import { type CallVariables, callPerRequest } from 'callmeter/client/hono';
 * import { wrapOpenAI } from 'callmeter/client/vendors';
 *
 * const callmeter = createClient({ apiKey: process.env.CALLMETER_KEY, baseUrl: 'http://127.0.0.1:8787' });
 * const app = new Hono<{ Variables: CallVariables }>();
 * app.use('/chat', callPerRequest({ callmeter, begin: (c) => ({ customerId: c.req.header('x-customer') ?? '' }) }));
 * app.post('/chat', async (c) => {
 *   const openai = wrapOpenAI(new OpenAI(), { call: c.get('call') });
 *   const response = await openai.responses.create({ model: 'gpt-6-luna', input: await c.req.text() });
 *   return c.text(response.output_text);
 * });
 * ```
 *
 * The call ends with the response; for a streamed response, after its last byte was read. It ends as FAILED if the
 * handler throws, the status is 500 or above, or the client disconnects. On Workers, `waitUntil` keeps the report alive
 * after the response.
 */
import type { CallScope } from './call.ts';
import {
  beginFor,
  type CallMiddlewareOptions,
  type Denied,
  DISCONNECTED,
  deniedAnswer,
  failureFromStatus,
} from './middleware.ts';

export type { CallMiddlewareOptions, Denied } from './middleware.ts';

/** Variables of the context: `c.get('call')` is the call. */
export interface CallVariables {
  call: CallScope;
}

/**
 * The part of Hono's context that this middleware uses, and what an application usually needs to identify the customer.
 * For the full context write `callPerRequest<Context<Env>>`.
 */
export interface HonoContext {
  req: {
    raw: Request;
    method: string;
    path: string;
    header(name: string): string | undefined;
    query(name: string): string | undefined;
  };
  res: Response;
  error: Error | undefined;
  executionCtx: { waitUntil(promise: Promise<unknown>): void };
  // biome-ignore lint/suspicious/noExplicitAny: as Hono has it
  get(key: string): any;
  set(key: never, value: unknown): void;
}

export function callPerRequest<C extends HonoContext>(
  options: CallMiddlewareOptions<C, (c: C, denied: Denied) => Response | Promise<Response>>,
): (c: C, next: () => Promise<void>) => Promise<Response | undefined> {
  const { callmeter, begin, onDenied } = options;
  return async (c, next) => {
    const input = await begin(c);
    if (input === null) {
      await next();
      return undefined;
    }
    const begun = await beginFor(callmeter, input);
    if (begun.denied) {
      if (onDenied) return onDenied(c, begun.denied);
      const { body, ...init } = deniedAnswer(begun.denied);
      return Response.json(body, init);
    }
    const { call } = begun;
    c.set('call' as never, call);
    const end = endLater(c, call);
    try {
      await next();
    } catch (error) {
      call.fail(failureFromStatus(500) ?? DISCONNECTED);
      await end();
      throw error;
    }
    const failure = failureFromStatus(c.error ? 500 : c.res.status);
    if (failure) call.fail(failure);
    if (c.req.raw.signal?.aborted) call.fail(DISCONNECTED);
    const { res } = c;
    if (!res.body) await end();
    else if (!res.body.locked) {
      // Hono would merge the headers of the previous response into the new one; here both have the same.
      (c as { res: Response | undefined }).res = undefined;
      c.res = new Response(watched(res.body, call, end), res);
    }
    return undefined;
  };
}

/** Ends the call. `waitUntil` waits for the report if it exists, otherwise the response does. */
function endLater(c: HonoContext, call: CallScope): () => Promise<void> {
  return async () => {
    const reported = call.end().then(
      () => undefined,
      () => undefined,
    );
    const waitUntil = findWaitUntil(c);
    if (waitUntil) waitUntil(reported);
    else await reported;
  };
}

/** `null` if the runtime has no execution context, for which Hono throws. */
function findWaitUntil(c: HonoContext): ((promise: Promise<unknown>) => void) | null {
  try {
    const { executionCtx } = c;
    return (promise) => executionCtx.waitUntil(promise);
  } catch {
    return null;
  }
}

function watched(
  body: ReadableStream<Uint8Array>,
  call: CallScope,
  end: () => Promise<void>,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const failed = async (failure: Parameters<CallScope['fail']>[0]) => {
    call.fail(failure);
    await end();
  };
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (!done) return controller.enqueue(value);
          await end();
          controller.close();
        } catch (error) {
          await failed({ code: 'RESPONSE_BROKE_OFF', message: 'the stream of the response failed' });
          controller.error(error);
        }
      },
      async cancel(reason) {
        await reader.cancel(reason).catch(() => undefined);
        await failed(DISCONNECTED);
      },
    },
    { highWaterMark: 0 },
  );
}
