/**
 * Middleware for Express: one call per request.
 *
 * ```ts
 * import express, { type Request } from 'express';
 * import OpenAI from 'openai';
 * import { createClient } from 'callmeter/client';
 * import { callOf, callPerRequest } from 'callmeter/client/express';
 * import { wrapOpenAI } from 'callmeter/client/vendors';
 *
 * const callmeter = createClient({ apiKey: process.env.CALLMETER_KEY, baseUrl: 'http://127.0.0.1:8787' });
 * const app = express();
 * app.use('/chat', callPerRequest({ callmeter, begin: (req: Request) => ({ customerId: req.get('x-customer') ?? '' }) }));
 * app.post('/chat', express.text(), async (req, res) => {
 *   const openai = wrapOpenAI(new OpenAI(), { call: callOf(res) });
 *   const response = await openai.responses.create({ model: 'gpt-6-luna', input: req.body });
 *   res.send(response.output_text);
 * });
 * ```
 *
 * The call ends when the response closes. It ends as FAILED if the status is 500 or above, which includes a handler
 * that throws, or if the client disconnects first.
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

/** The part of Express's response that this middleware uses. */
export interface ExpressResponse {
  // biome-ignore lint/suspicious/noExplicitAny: as Express has it
  locals: Record<string, any>;
  statusCode: number;
  writableFinished: boolean;
  closed: boolean;
  setHeader(name: string, value: string): unknown;
  status(code: number): { json(body: unknown): unknown };
  once(event: 'close', listener: () => void): unknown;
}

export function callPerRequest<Req, Res extends ExpressResponse>(
  options: CallMiddlewareOptions<Req, (req: Req, res: Res, denied: Denied) => void>,
): (req: Req, res: Res, next: (error?: unknown) => void) => Promise<void> {
  const { callmeter, begin, onDenied } = options;
  return async (req, res, next) => {
    let begun: Awaited<ReturnType<typeof beginFor>>;
    try {
      const input = await begin(req);
      if (input === null) return next();
      begun = await beginFor(callmeter, input);
    } catch (error) {
      return next(error);
    }
    if (begun.denied) {
      if (onDenied) return onDenied(req, res, begun.denied);
      const { status, headers, body } = deniedAnswer(begun.denied);
      for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
      res.status(status).json(body);
      return;
    }
    const { call } = begun;
    const end = () => {
      const failure = res.writableFinished ? failureFromStatus(res.statusCode) : DISCONNECTED;
      if (failure) call.fail(failure);
      // A failure is reported to the client's observer.
      call.end().catch(() => undefined);
    };
    res.locals.call = call;
    if (res.closed) return end();
    res.once('close', end);
    next();
  };
}

/** The call of the request that belongs to this response. */
export function callOf(res: { locals: Record<string, unknown> }): CallScope {
  const { call } = res.locals;
  if (!call) throw new Error('this request has no call: callPerRequest must come before its handler');
  return call as CallScope;
}
