/**
 * The public model lookup, compared with a Worker that responds with constant JSON.
 */
import { join } from 'node:path';
import { freePort, HOST } from '../../src/cli/server.ts';
import { loadSteps } from './load.ts';
import { printed } from './report.ts';
import { measureRates, RATE_COLUMNS, type Target } from './rounds.ts';
import { startService } from './service.ts';
import type { Suite } from './suite.ts';

const PATH = '/v1/model-alternatives/openai/gpt-4o';

export const lookup: Suite = {
  about: 'the public model lookup against a route that returns a constant JSON',
  rounds: 5,
  seconds: 2,
  async run(options) {
    options.progress('starting');
    const port = await freePort(0);
    const beside = { script: join(import.meta.dirname, 'floor-worker.js'), port };
    const { url, pid } = await startService(options.scope, { beside });
    const etag = (await fetch(url + PATH)).headers.get('ETag') ?? '';
    const floor = 'floor: constant JSON';
    const of = (address: string, path: string, status: number, headers: Record<string, string> = {}) => {
      const steps = [{ path, status, request: { headers } }];
      return (seconds: number) => loadSteps(address, steps, seconds);
    };
    const targets: Target[] = [
      { name: floor, pid, load: of(`http://${HOST}:${port}`, '/', 200) },
      { name: 'light', pid, load: of(url, `${PATH}?response=light`, 200), floor, promised: { atLeast: 0.8 } },
      {
        name: 'not modified (304)',
        pid,
        load: of(url, PATH, 304, { 'If-None-Match': etag }),
        floor,
        promised: { atLeast: 0.85 },
      },
      { name: 'full', pid, load: of(url, PATH, 200), floor, promised: { atLeast: 0.5 } },
    ];
    const rows = await measureRates(targets, options);
    return printed('The public model lookup against a constant', [
      { title: 'rates, 16 connections', columns: RATE_COLUMNS, rows },
    ]);
  },
};
