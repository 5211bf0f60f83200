/**
 * Servers that test files share, because a start costs more than most of their tests. A file asks for a server with its
 * variables; each is started when the first file asks, and stops when all files have run.
 *
 * A file on a shared server brings organizations and vendors of its own. A file that kills its server, removes its
 * storage or changes data that all organizations see starts its own (`startPrepared`).
 */
import { rm } from 'node:fs/promises';
import { json } from 'node:stream/consumers';
import { inject } from 'vitest';
import { serveOnLoopback } from '../vendors/loopback.ts';
import {
  buildClients,
  type Clients,
  type LocalServer,
  type PreparedState,
  preparedState,
  startPrepared,
} from './local-server.ts';

type Vars = Record<string, string>;

export interface SharedServer extends Clients {
  /** The output so far. */
  output(): Promise<string>;
}

interface Offer {
  state: PreparedState;
  output: string;
}

/** The global setup's server: its address, at which files ask for servers. */
export interface OfferedServers {
  url: string;
  stop(): Promise<void>;
}

/** Offers servers on copies of the prepared state. */
export async function offerServers(prepared: string): Promise<OfferedServers> {
  const running = new Map<string, Promise<[PreparedState, LocalServer]>>();
  const start = async (vars: Vars): Promise<[PreparedState, LocalServer]> => {
    const state = await preparedState(vars, prepared);
    return [state, await startPrepared(state)];
  };
  const door = await serveOnLoopback(async (request, response) => {
    const vars = (await json(request)) as Vars;
    const name = JSON.stringify(vars);
    const found = running.get(name) ?? start(vars);
    running.set(name, found);
    await found.then(
      ([state, server]) => response.end(JSON.stringify({ state, output: server.output() } satisfies Offer)),
      (error: Error) => response.writeHead(500).end(error.message),
    );
  });
  return {
    url: door.url,
    async stop() {
      await door.close();
      for (const [{ stateDir }, server] of await Promise.all(running.values())) {
        await server.stop();
        await rm(stateDir, { recursive: true });
      }
    },
  };
}

/** The server with these variables that all files share. */
export async function sharedServer(vars: Vars = {}): Promise<SharedServer> {
  const ask = async (): Promise<Offer> => {
    const response = await fetch(inject('sharedServers'), { method: 'POST', body: JSON.stringify(vars) });
    if (!response.ok) throw new Error(await response.text());
    return (await response.json()) as Offer;
  };
  const { state } = await ask();
  return { ...(await buildClients(state)), output: async () => (await ask()).output };
}
