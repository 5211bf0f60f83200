/**
 * A proxy on loopback that fails as connections do: after `PUT /-/lose/N` the next N answers are lost after the service
 * has made them, and after `PUT /-/hang/N` the next N requests are never answered.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { type Loopback, serveOnLoopback } from '../vendors/loopback.ts';

const ORDER = /^\/-\/(lose|hang)\/(\d)$/;
const NOT_PASSED = /^(host|connection|content-length)$/;

export function startLossyProxy(target: string): Promise<Loopback> {
  const left = { lose: 0, hang: 0 };
  return serveOnLoopback(async (request: IncomingMessage, response: ServerResponse) => {
    const body = await text(request);
    const { method = 'GET', url = '/', headers } = request;
    const [, order, count] = ORDER.exec(url) ?? [];
    if (order === 'lose' || order === 'hang') {
      left[order] = Number(count);
      return response.end();
    }
    if (left.hang > 0) {
      left.hang -= 1;
      return;
    }
    const passed = Object.entries(headers).filter(([name]) => !NOT_PASSED.test(name)) as [string, string][];
    const answer = await fetch(target + url, { method, headers: passed, ...(body !== '' && { body }) });
    const answered = await answer.text();
    if (left.lose > 0) {
      left.lose -= 1;
      return response.socket?.resetAndDestroy();
    }
    response.writeHead(answer.status, { 'Content-Type': answer.headers.get('content-type') ?? '' }).end(answered);
  });
}
