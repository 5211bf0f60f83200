/**
 * An HTTP server on a free port of loopback: every vendor for tests listens there, and every other stand-in for a
 * foreign machine. A handler that throws breaks its connection, like a machine that fails.
 */
import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Loopback {
  /** `http://127.0.0.1:port`, without a path. */
  url: string;
  /** Also ends the connections that are open. */
  close(): Promise<void>;
}

/** Longer than any test: a connection that ends while a client takes it up again would fail that client's request. */
const KEEP_ALIVE_MS = 600_000;

type Handler = (...exchange: Parameters<RequestListener>) => unknown;

export async function serveOnLoopback(
  handler: Handler,
  options: { keepAliveTimeout?: number } = {},
): Promise<Loopback> {
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS, ...options }, (request, response) => {
    const handled = async () => handler(request, response);
    handled().catch((error: Error) => response.destroy(error));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Until the other side takes more, or is gone. */
export function writable(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      response.off('drain', done).off('close', done);
      resolve();
    };
    response.on('drain', done).on('close', done);
  });
}
