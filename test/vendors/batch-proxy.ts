/**
 * A proxy to the vendor on loopback that loses responses: requests pass, and the response to a new batch may be cut
 * off, replaced by a proxy's page or an error, or delayed. It also lists the batches created through it, newest first.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { failureBody } from './answers.ts';
import { serveOnLoopback } from './loopback.ts';

export interface BatchVendor {
  /** `http://127.0.0.1:port`, without a path. */
  url: string;
  /** Ids of the batches that the vendor has. */
  created: string[];
  /** The fates of the next requests for a batch, one each. */
  next: ('lose' | 'page' | 'refuse')[];
  /** Whether batches are listed. */
  lists: boolean;
  /** Holds requests for batches back, once the vendor has begun them, until the returned function is called. */
  hold(): () => void;
  close(): Promise<void>;
}

export async function startBatchVendor(vendorUrl: string): Promise<BatchVendor> {
  const batches: { id: string }[] = [];
  let held: Promise<void> | null = null;
  const { url: address, close } = await serveOnLoopback(respond);
  const vendor: BatchVendor = {
    url: address,
    created: [],
    next: [],
    lists: true,
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>();
      held = promise;
      return () => {
        held = null;
        resolve();
      };
    },
    close,
  };

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = 'GET', url = '/' } = request;
    const { pathname, searchParams } = new URL(url, vendorUrl);
    const creates = method === 'POST' && pathname === '/v1/batches';
    const fate = creates ? vendor.next.shift() : undefined;
    const body = await text(request);
    if (fate === 'refuse') {
      const refused = JSON.stringify(failureBody('openai', 400, 'batch_limit'));
      return void response.writeHead(400, { 'content-type': 'application/json' }).end(refused);
    }
    if (method === 'GET' && pathname === '/v1/batches') {
      if (!vendor.lists) return void response.writeHead(503).end('{}');
      return void response.end(JSON.stringify({ object: 'list', ...page(searchParams) }));
    }
    const headers = Object.fromEntries(
      ['authorization', 'content-type'].flatMap((name) =>
        request.headers[name] === undefined ? [] : [[name, String(request.headers[name])]],
      ),
    );
    const answer = await fetch(`${vendorUrl}${url}`, { method, headers, ...(method === 'POST' && { body }) });
    const answered = await answer.text();
    if (creates && answer.ok) {
      const batch = JSON.parse(answered) as { id: string };
      batches.unshift(batch);
      vendor.created.push(batch.id);
      if (held) await held;
    }
    if (fate === 'lose') response.destroy();
    else if (fate === 'page') response.writeHead(502, { 'content-type': 'text/html' }).end('<html>Bad gateway</html>');
    else
      response
        .writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? 'application/json' })
        .end(answered);
  }

  function page(query: URLSearchParams): { data: object[]; has_more: boolean } {
    const limit = Number(query.get('limit'));
    const start = query.get('after') === null ? 0 : batches.findIndex(({ id }) => id === query.get('after')) + 1;
    return { data: batches.slice(start, start + limit), has_more: batches.length > start + limit };
  }

  return vendor;
}
