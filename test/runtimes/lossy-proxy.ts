/**
 * A proxy on loopback that fails as connections do: after `PUT /-/lose/N` the next N answers are lost after the service
 * has made them, and after `PUT /-/hang/N` the next N requests are never answered.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { HOST } from '../../src/cli/server.ts';

export interface LossyProxy {
  url: string;
  stop(): Promise<void>;
}

const ORDER = /^\/-\/(lose|hang)\/(\d)$/;
const NOT_PASSED = /^(host|connection|content-length)$/;

export async function startLossyProxy(target: string): Promise<LossyProxy> {
  const left = { lose: 0, hang: 0 };
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    let body = '';
    for await (const chunk of request) body += chunk;
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
    const text = await answer.text();
    if (left.lose > 0) {
      left.lose -= 1;
      return response.socket?.resetAndDestroy();
    }
    response.writeHead(answer.status, { 'Content-Type': answer.headers.get('content-type') ?? '' }).end(text);
  };
  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, HOST, resolve));
  return {
    url: `http://${HOST}:${(server.address() as AddressInfo).port}`,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
